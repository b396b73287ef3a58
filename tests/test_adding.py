"""Follows each checklist of CONTRIBUTING.md in a copy of the package, and runs a program that uses what was added."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import tnp

pytest.importorskip("torch")
pytest.importorskip("llvmlite")

PACKAGE = Path(tnp.__file__).parent
PAGE = (PACKAGE.parent / "CONTRIBUTING.md").read_text()

#: ``1. `file`, after `line`: …`` or ``1. A new file `name` in `folder`: …``, and the lines that go there
STEP = re.compile(
    r"^\d\. (?:`(?P<file>[^`]+)`, (?P<where>after|before|in place of) `(?P<anchor>[^`]+)`|"
    r"A new file `(?P<name>[^`]+)` in `(?P<folder>[^`]+)`).*?^   ```(?:python)?\n(?P<text>.*?)^   ```$",
    re.MULTILINE | re.DOTALL,
)


def steps_of(title):
    """The steps of a checklist, each with a block of lines."""
    _, section = PAGE.split(f"\n### {title}\n")
    section = re.split(r"^##", section, maxsplit=1, flags=re.MULTILINE)[0]
    found = list(STEP.finditer(section))
    assert len(found) == section.count("   ```") // 2 == len(re.findall(r"^\d\. ", section, re.MULTILINE)) > 0
    return found


def place(lines, anchor, path):
    """The number of the one line that begins with ``anchor``."""
    found = [i for i, line in enumerate(lines) if line.strip().startswith(anchor)]
    assert len(found) == 1, f"{len(found)} lines of {path} begin with {anchor}"
    return found[0]


def do(step, tree):
    """Changes a file below ``tree``, or makes it. Two empty lines part what goes before a line from it."""
    text = textwrap.dedent(step["text"])
    if step["name"]:
        path = tree / step["folder"] / step["name"]
        assert not path.exists()
        path.write_text(text)
        return
    path = tree / step["file"]
    lines = path.read_text().splitlines(keepends=True)
    at = place(lines, step["anchor"], step["file"])
    line = lines[at].rstrip()
    deeper = step["where"] == "after" and line[-1] in "({[:"
    indented = textwrap.indent(text, line[: len(line) - len(line.lstrip())] + "    " * deeper)
    if step["where"] == "in place of":
        lines[at] = indented
    else:
        lines.insert(at + (step["where"] == "after"), indented + "\n\n" * (step["where"] == "before"))
    path.write_text("".join(lines))


GAMMA = """
import importlib.util, math
import numpy as np, tnp
from tnp.core import dtypes, prims
from tnp.testing.__main__ import main
from tnp.testing.gradients import check_gradients

main(["prims.gamma", "--dtype", "float32"])  # the OpInfo, on all executors of the CPU
gamma, x = prims.registry["gamma"], np.array([0.3, 1.0, 2.5, 7.0, -1.5])
expected = [math.gamma(v) for v in x]
for executors in (["numpy"], ["llvm"], ["torch_functions[prims]"]):
    f = tnp.jit(lambda a: gamma(a) * 2, executors=executors)
    np.testing.assert_allclose(f(x) / 2, expected, rtol=1e-12)
f = tnp.jit(lambda n: math.gamma(n) + n)
assert [f(float(n)) for n in range(1, 9)] == [math.gamma(n) + n for n in range(1, 9)]
check_gradients(lambda a: gamma(a).sum(), [x[:4]])


def scalars_of(name):  # of executors whose libraries are not here
    spec = importlib.util.spec_from_file_location(name, f"{tnp.__path__[0]}/executors/{name}/scalars.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


assert scalars_of("cupy").spell("gamma", dtypes.float64, ["a"]) == "tgamma(a)"
assert scalars_of("triton").spell("gamma", dtypes.float64, dtypes.float64, ["a"]) == "libdevice.tgamma(a)"
"""

NORM = """
import numpy as np, tnp
from tnp.testing.__main__ import main
from tnp.testing.gradients import check_gradients

main(["prims.norm", "--dtype", "float32"])
x = np.random.default_rng(0).normal(size=(4, 600))


def norms(a):
    return np.hypot.reduce(a, axis=1), np.hypot.reduce(a[:, :1], axis=1), np.hypot.reduce(a[:0])


for executors in (["numpy[prims]"], ["llvm"], ["torch_functions[prims]"]):
    f = tnp.jit(norms, executors=executors, strict=True)
    for found, expected in zip(f(x), norms(x), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-13)
    text = str(tnp.last_traces(f)[0])
    assert text.count("prims.norm(") == 3
any_size = tnp.jit(lambda a: np.hypot.reduce(a[a > 0]), strict=True)
np.testing.assert_allclose(any_size(x), np.hypot.reduce(x[x > 0]), rtol=1e-13)
check_gradients(lambda a: (np.hypot.reduce(a, axis=1) * np.arange(4.0)).sum(), [x[:, :5]])
mapped = tnp.vmap(lambda row: np.hypot.reduce(row))
np.testing.assert_allclose(mapped(x), np.hypot.reduce(x, axis=1), rtol=1e-13)
"""

POLY = """
import numpy as np, tnp
from tnp.testing import opinfos
from tnp.testing.checks import check_op
from tnp.testing.gradients import check_gradients

(info,) = (i for i in opinfos.family("signal") if i.name == "poly")
assert sum(check_op(info, executor, info.dtypes[1]) for executor in ("numpy", "numpy[prims]", "llvm")) == 9
f, x = tnp.jit(np.poly, strict=True), np.array([0.5, 2.0, -1.5])
np.testing.assert_allclose(f(x), np.poly(x), rtol=1e-14)
assert "= lnp.poly(" in str(tnp.last_traces(f)[0])
check_gradients(lambda a: (np.poly(a) * np.arange(4.0)).sum(), [x])
matrix = np.array([[2.0, 1.0], [1.0, 3.0]])
np.testing.assert_allclose(tnp.jit(np.poly)(matrix), np.poly(matrix))
"""

BILINEAR = """
import torch, tnp

args = [torch.randn(s, dtype=torch.float64, requires_grad=True) for s in ((3, 4), (3, 5), (2, 4, 5), (2,))]
constants = [a.detach() for a in args]
decomposed = ["llvm[everything]", "torch_functions[prims]"]
for function, executors in ((torch.bilinear, None), (torch.nn.functional.bilinear, decomposed)):
    f = tnp.jit(lambda *a: function(*a), executors=executors, strict=True)
    torch.testing.assert_close(f(*constants), function(*constants))
    assert "= ltorch.bilinear(" in str(tnp.last_traces(f)[0])
    for found, expected in zip(*(torch.autograd.grad(g(*args).square().sum(), args) for g in (f, function)), strict=True):
        torch.testing.assert_close(found, expected)
torch.testing.assert_close(f(*constants[:3], None), torch.bilinear(*constants[:3], None))
"""

RADIX = """
import numpy as np, tnp

f = tnp.jit(lambda a: np.sort(a) + 1, executors=["radix"], strict=True)
for dtype, name in (("int16", "radix_sort"), ("uint8", "radix_sort"), ("int64", "sort"), ("float32", "sort")):
    a = np.random.default_rng(0).integers(0, 100, (3, 50)).astype(dtype)
    found = f(a)
    assert found.dtype == a.dtype and (found == np.sort(a) + 1).all()
    assert name in [b.sym.name for b in tnp.last_traces(f)[-1].body]
"""

BLOCKWISE = """
import numpy as np, tnp
from tnp.testing.gradients import check_gradients


def chain(x, y):
    return np.sqrt(np.exp(x) + y * y) - x


f = tnp.jit(chain, executors=["blockwise"], strict=True)
for shape in ((40_000,), (3, 5), (0,), ()):
    for dtype in ("float32", "float64"):
        x, y = np.random.default_rng(0).normal(size=(2, *shape)).astype(dtype)
        found, expected = f(x, y), chain(x, y)
        assert found.dtype == expected.dtype and found.shape == expected.shape and (found == expected).all()
    names = [b.sym.name for b in tnp.last_traces(f)[-1].body]
    fused = int(0 not in shape)  # nothing computes elements that are not there
    assert names.count("blockwise_fusion0") == fused and not {"exp", "sqrt", "subtract"} & {*names}
x, y = np.ones((2, 3))
grad = tnp.grad(tnp.jit(lambda x, y: chain(x, y).sum(), executors=["blockwise"]))
np.testing.assert_allclose(grad(x, y), tnp.grad(lambda x, y: chain(x, y).sum())(x, y))
"""

DOUBLING = """
import numpy as np, tnp


def doubled(x):
    for _ in range(3):
        x = 2 * x + x * 2
    return x * 2.0


f, g = tnp.jit(doubled, executors=["numpy[prims]"], strict=True), tnp.jit(lambda x: x * 2, executors=["numpy[prims]"])
for x in (np.arange(4.0), np.arange(4, dtype="float32"), np.float64(0.1)):
    assert (f(x) == doubled(x)).all() and f(x).dtype == x.dtype
    assert "add(" in str(tnp.last_traces(f)[-1]) and "multiply(" not in str(tnp.last_traces(f)[-1])
assert (g(np.arange(4)) == 2 * np.arange(4)).all() and "multiply(" in str(tnp.last_traces(g)[-1])
assert sum("Constructed by Doubling" in str(t) for t in tnp.last_traces(f)) == 1
assert (tnp.grad(lambda x: doubled(x).sum())(np.ones(2)) == 128).all()
"""

#: the checklist → how what it adds is used
PROGRAMS = {
    "An elementwise operation": GAMMA,
    "A reduction": NORM,
    "A NumPy function": POLY,
    "A torch function": BILINEAR,
    "An operator executor": RADIX,
    "A fusing executor": BLOCKWISE,
    "A transform": DOUBLING,
}


@pytest.mark.parametrize("title", PROGRAMS)
def test_checklist(title, tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "tnp")
    for step in steps_of(title):
        do(step, tmp_path)
    program = tmp_path / "program.py"
    program.write_text(PROGRAMS[title])
    ran = subprocess.run(
        [sys.executable, "-W", "error", str(program)],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_every_checklist_is_tried():
    section = re.split(r"^## ", PAGE.split("\n## Adding things\n")[1], maxsplit=1, flags=re.MULTILINE)[0]
    assert [t for t in re.findall(r"^### (.*)", section, re.MULTILINE) if t != "Other additions"] == [*PROGRAMS]
    for path in re.findall(r"`((?:core|executors|transforms|lang|testing)/[\w/]+\.py)`", section):
        assert (PACKAGE / path).exists(), path
