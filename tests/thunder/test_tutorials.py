"""The code of the tutorials in ``../shared/spec`` runs, and its traces hold what theirs do. A test a text."""

import ast
import functools
import importlib.util
import os
import subprocess
import sys
import types
from collections.abc import Sequence
from numbers import Number
from pathlib import Path

import pytest

import tnp.thunder
from tests import tutorials
from tnp.transforms.autodiff import grad_rules

torch = pytest.importorskip("torch")

#: torch's answer to ``np.multiply(tensor, tensor)``, which the tutorials do
pytestmark = pytest.mark.filterwarnings("ignore:__array_wrap__ must accept context:DeprecationWarning")

STAND_INS = Path(__file__).parents[1] / "stand_ins"


@pytest.fixture(autouse=True)
def thunder(monkeypatch):
    """``import thunder`` means tnp, and Apex is there, for a test."""
    if importlib.util.find_spec("xentropy_cuda") is None:
        monkeypatch.syspath_prepend(STAND_INS)
        __import__("xentropy_cuda")
        sys.path.remove(str(STAND_INS))
    tnp.thunder.install()
    yield tnp.thunder
    for name in [n for n in sys.modules if n.partition(".")[0] == "thunder"]:
        del sys.modules[name]


def operations(f):
    """What the program that ``f`` compiled last runs: names of operations, and who runs them."""
    body = tnp.last_traces(f)[-1].body
    return [b.sym.name for b in body], [b.sym.executor.name for b in body]


def names(f):
    return operations(f)[0]


def test_extending(tmp_path):
    text = "extending.txt"
    first = tutorials.code(
        text,
        (7, 33),
        (38, 56),
        (80, 81),
        replace=[("        d: Number | TensorProxy,\n", "        d: Number | TensorProxy):\n")],
    )
    n = tutorials.run(first, tmp_path / "extending_1.py")
    assert operations(n["cfoo"]) == (["multimul"], ["myex"])
    program = tnp.last_traces(n["cfoo"])[-1].body[0]
    assert [s.sym.qualified_name for s in program.subsymbols] == ["ltorch.mul", "ltorch.mul"]
    a, b = n["a"], n["b"]
    torch.testing.assert_close(n["cfoo"](a, b, a, b), (a * b, a * b))
    found = n["cfoo_grad"](a, b, a, b)
    assert isinstance(found, list) and len(found) == 4
    torch.testing.assert_close(found, [b, a, b, a])
    assert operations(n["cfoo_grad"]) == (["full"] * 2 + ["mul"] * 4, ["torch"] * 6)

    second = tutorials.code(text, (117, 141), (154, 159))
    n = tutorials.run(second, tmp_path / "extending_2.py", **_own(n))
    assert operations(n["cbar"]) == (["multimul"], ["myex"])
    assert "(t0, _) = multimul(a, b, 0, 0)" in str(tnp.last_traces(n["cbar"])[-1])
    torch.testing.assert_close(n["cbar"](a, b), a * b)
    assert operations(n["cbar_grad"]) == (["full", "multimul", "multimul"], ["torch", "myex", "myex"])
    torch.testing.assert_close(n["cbar_grad"](a, b), [b, a])

    third = tutorials.code(text, (184, 197))
    n = tutorials.run(third, tmp_path / "extending_3.py", **_own(n))
    assert operations(n["cbar_grad"]) == (["full", "multimul"], ["torch", "myex"])
    torch.testing.assert_close(n["cbar_grad"](a, b), [b, a])

    # And it is the rule of backward programs that torch's autograd calls.
    x, y = a.clone().requires_grad_(), b.clone().requires_grad_()
    trained = tnp.jit(n["bar"], executors=[n["myex"]])
    trained(x, y).sum().backward()
    torch.testing.assert_close((x.grad, y.grad), (b, a))
    assert [f.sym.name for f in tnp.thunder.last_backward_traces(trained)[-1].body].count("multimul") == 1
    assert tnp.thunder.compile_stats(trained).cache_misses == 1

    fourth = tutorials.code(text, (218, 231))
    n = tutorials.run(fourth, tmp_path / "extending_4.py", **_own(n))
    assert operations(n["ccaz"]) == (["contiguous", "contiguous", "multimul"], ["torch_functions"] * 2 + ["myex"])
    torch.testing.assert_close(n["ccaz"](a.T, b), a.T * b)

    fifth = tutorials.code(text, (257, 268), (281, 283), replace=[("2048", "12"), ("50257", "40")])
    n = tutorials.run(fifth, tmp_path / "extending_5.py", **_own(n))
    assert operations(n["cfoo"]) == (["apex_cross_entropy"], ["apex"])
    found = names(n["cfoo_grad"])
    assert found.count("apex_cross_entropy") == found.count("apex_cross_entropy_backward") == 1
    assert "contiguous" in found[found.index("apex_cross_entropy") : found.index("apex_cross_entropy_backward")]
    logits, labels = n["logits"].requires_grad_(), n["labels"]
    for ignored in (0, 4):
        labels[:ignored] = -1
        loss = n["foo"](logits, labels)
        (expected,) = torch.autograd.grad(loss, logits)
        with torch.no_grad():
            torch.testing.assert_close(n["cfoo"](logits, labels), loss.detach())
            torch.testing.assert_close(n["cfoo_grad"](logits.detach(), labels), [expected])


def _own(n):
    return {k: v for k, v in n.items() if not k.startswith("__")}


def test_adding_an_operator_executor(tmp_path, capsys):
    text = "adding_an_operator_executor.txt"
    n = tutorials.run(
        tutorials.code(text, (6, 8), (11, 56), (59, 61), (64, 66), (69, 71), (90, 96), (113, 115)),
        tmp_path / "adding_1.py",
    )
    said = capsys.readouterr().out
    for line in (
        't1 = ltorch.mul(b, a)  # t1: "cpu f32[2, 2]"',
        '# t0 = prims.broadcast_in_dim(b, (2, 2), (0, 1))  # t0: "cpu f32[2, 2]"',
        "Bound symbol with id=PrimIDs.UNPACK_TRIVIAL is represented in the trace as |# a: ",
        "Bound symbol with id=torch.mul is represented in the trace as |t1 = ltorch.mul(b, a)",
        "  It has the following subsymbols:\n    id=PrimIDs.BROADCAST_IN_DIM  |t0 = prims.broadcast_in_dim(",
        "    id=PrimIDs.MUL  |t1 = prims.mul(t0, a)",
        "    id=PrimIDs.ADD  |t2 = prims.add(a, t1)",
        "Help on function add_operator_executor in module ",
    ):
        assert line in said, line
    try:
        _add_executor(text, tmp_path, capsys, n)
    finally:
        tnp.extend.deregister_executor("custom_add_executor")


def _add_executor(text, tmp_path, capsys, n):
    lines = ((134, 139), (142, 149), (152, 158), (161, 166), (171, 173), (176, 178), (181, 183), (186, 189))
    n = tutorials.run(tutorials.code(text, *lines), tmp_path / "adding_2.py", **_own(n))
    said = capsys.readouterr().out
    assert said.startswith(
        'Could not find executor for bound symbol t1 = ltorch.mul(b, a)  # t1: "cpu f32[2, 2]"\n'
        '  # t0 = prims.broadcast_in_dim(b, (2, 2), (0, 1))  # t0: "cpu f32[2, 2]"\n'
        '  # t1 = prims.mul(t0, a)  # t1: "cpu f32[2, 2]"'
    )
    n = tutorials.run(tutorials.code(text, (199, 199), (202, 202), (224, 225)), tmp_path / "adding_3.py", **_own(n))
    said = capsys.readouterr().out
    seen = "(TensorProxy(name=a, shape=(2, 2), dtype=float32, device=cpu), TensorProxy(name=t1, shape=(2, 2), dtype=float32, device=cpu))"
    assert f"call checker_add_numpy{seen}\n|<- checker_add_numpy = True" in said
    assert (
        "call executor_add_numpy(Tensor(shape=torch.Size([2, 2]), stride=(2, 1), dtype=torch.float32, device=cpu)"
        in said
    )
    assert operations(n["cfun"]) == (["mul", "add_numpy"], ["torch_functions", "custom_add_executor"])
    # The results agree, on the sample of the OpInfo, too; it is not for the executor's checker.
    lines = ((242, 246), (263, 266), (278, 281))
    n = tutorials.run(tutorials.code(text, *lines), tmp_path / "adding_4.py", **_own(n))
    said = capsys.readouterr().out
    assert "[SampleInput args=(tensor([[" in said and "|<- checker_add_numpy = False" in said
    lines = ((289, 292), (309, 311), (314, 316))
    n = tutorials.run(tutorials.code(text, *lines), tmp_path / "adding_5.py", **_own(n))
    assert operations(n["cfun_torch_first"]) == (["mul", "add"], ["torch_functions"] * 2)
    assert operations(n["cfun"]) == (["mul", "add"], ["torch_functions"] * 2)
    torch.testing.assert_close(n["cfun"](n["a"], n["b"]), n["fun"](n["a"], n["b"]))


def test_extending_operator_map(tmp_path):
    text = "extending_operator_map.txt"
    source = tutorials.code(
        text, (11, 24), (32, 48), (52, 54), (58, 61),
        replace=[("label_smoothing, half_to_float)", "label_smoothing, False)\n      return losses.mean()")],
    )  # fmt: skip
    n = tutorials.run("if True:\n" + source, tmp_path / "operator_map.py")
    before = tnp.get_default_executors()
    n["register_apex_xentropyex"](add_to_default_executors=True)
    try:
        assert tnp.get_default_executors()[0].name == "apex_xentropy"
        f = tnp.jit(torch.nn.functional.cross_entropy)
        logits, labels = torch.randn(5, 7), torch.tensor([0, 1, 2, 3, 6])
        torch.testing.assert_close(f(logits, labels), torch.nn.functional.cross_entropy(logits, labels))
        assert operations(f) == (["apex_xentropy"], ["apex_xentropy"])
    finally:
        tnp.extend.deregister_executor("apex_xentropy")
    assert tnp.get_default_executors() == before


def test_additional_executors(tmp_path):
    small = [("2048", "12"), ("50257", "40")]
    text = "additional_executors.txt"
    source = tutorials.code(text, (46, 60), indent=[(50, 52)], replace=small)
    n = tutorials.run(source, tmp_path / "additional_apex.py")
    assert operations(n["jitted_xentropy"]) == (["apex_cross_entropy"], ["apex"])
    expected = torch.nn.functional.cross_entropy(n["logits"], n["labels"])
    torch.testing.assert_close(n["jitted_xentropy"](n["logits"], n["labels"]), expected)
    # Triton reads when it is imported whether it interprets, and torch asks for it, too: a process of its own.
    program = tmp_path / "additional_triton.py"
    program.write_text(
        "import tnp.thunder\ntnp.thunder.install()\n"
        + tutorials.code(text, (7, 27), indent=[(11, 13)], replace=small)
        + TRITON_CHECKS
    )
    root = Path(tnp.__file__).parents[1]
    env = {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{STAND_INS}", "TRITON_INTERPRET": "1", "TNP_CHECK": "1"}
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    assert "triton_crossentropy(logits, labels, weight, None, " in done.stdout
    assert "None, 'sum', 0.0)" in done.stdout
    assert "all agree" in done.stdout


def test_contributing(tmp_path, monkeypatch):
    import thunder
    from thunder.core import utils
    from thunder.tests.opinfos import OpInfo, SampleInput

    import tnp.lang.torch.registry as language
    from tnp.core import languages
    from tnp.testing import check_errors, check_op

    F = torch.nn.functional
    text, prims, ltorch = "contributing.txt", thunder.core.prims, thunder.torch
    executor = thunder.extend.OperatorExecutor("of_the_tutorial")

    def register_torch_operation(name, module=torch):
        like = getattr(ltorch, name, None) if module is torch else None
        how = {"meta": lambda *args: None} if like is None else {"like": like}
        return executor.register_operator(name, fn=getattr(module, name), **how)

    names = {
        "ELEMENTWISE": None, "utils": utils, "prims": prims, "ltorch": ltorch, "torch": torch, "executor": executor,
        "PrimIDs": prims.PrimIDs, "pids": prims.PrimIDs, "OpTags": prims.OpTags, "make_prim": prims.make_prim,
        "TensorProxy": thunder.core.proxies.TensorProxy, "clangop": thunder.extend.clangop, "partial": functools.partial,
        "maybe_broadcast": thunder.clang.maybe_broadcast, "maybe_convert_to_dtype": thunder.clang.maybe_convert_to_dtype,
        "_register_torch_operation": register_torch_operation, "_register_implementation": executor.register_implementation,
        "_always_executable": lambda *args, **kwargs: True, "Sequence": Sequence, "Number": Number, "OpInfo": OpInfo,
        "devices": thunder.devices, "dtypes": thunder.dtypes, "datatypes": thunder.dtypes, "pytest": pytest,
        "to_torch_device": ltorch.to_torch_device, "to_torch_dtype": ltorch.to_torch_dtype, "SampleInput": SampleInput,
        **{n: getattr(thunder.tests.opinfos, n) for n in ("DecorateInfo", "make_tensor", "elementwise_unary_generator")},
        **{n: getattr(thunder.core.transforms, n) for n in ("get_grad", "put_grad", "register_grad")},
        "torchctx": ltorch.torchctx, "torchsymbol": ltorch.torchsymbol, "TensorLike": ltorch.TensorLike, "relu6": ltorch.relu6,
        "shape_ops": [], "elementwise_unary_ops": [], "_elementwise_unary_torch": lambda f: f,
    }  # fmt: skip

    # The core language: its own ``add``, defined anew.
    with monkeypatch.context() as patch:
        patch.delitem(languages.core.methods, "add")
        n = tutorials.run(tutorials.numbered(text, 57, 71), tmp_path / "contributing_1.py", **names)
        assert languages.core.methods["add"] is n["add"]
    total = executor.register_operator("total", like=n["add"], fn=lambda a, b: a + b)
    f = thunder.jit(lambda x: total(x, torch.ones(3, 1, dtype=torch.int64)))
    x = torch.rand(2)
    torch.testing.assert_close(f(x), x + torch.ones(3, 1))
    assert "prims.convert_element_type" in str(tnp.last_traces(f)[0])

    # A primitive, its implementation, and its OpInfo.
    monkeypatch.delitem(prims.registry, "unfold")  # tnp has it by this name and id
    n = tutorials.run(tutorials.numbered(text, 120, 137, [(3099, 0)]), tmp_path / "contributing_2.py", **_own(n))
    source = tutorials.numbered(text, 167, 167) + tutorials.numbered(text, 170, 170)
    n["prims"] = types.SimpleNamespace(unfold=n["unfold"])
    n["clang"] = types.SimpleNamespace(unfold=n["unfold"])
    n = tutorials.run(source, tmp_path / "contributing_3.py", **_own(n))
    n["prims"] = prims
    levels = [(3009, 2), (3012, 0), (3024, 2), (3027, 0), (3032, 0), (3034, 0), (2997, 0)]
    n = tutorials.run(tutorials.numbered(text, 228, 265, levels), tmp_path / "contributing_4.py", **_own(n))
    thunder.extend.add_default_executor(executor)
    try:
        (info,) = n["shape_ops"]
        assert check_op(info, "default", torch.float32) == 5
        assert check_errors(info) == 5
    finally:
        thunder.extend.remove_default_executor(executor)

    # An execution transform.
    n["full"] = register_torch_operation("full")
    n = tutorials.run(tutorials.numbered(text, 202, 209), tmp_path / "contributing_5.py", **_own(n))
    g = thunder.jit(lambda x: x * torch.full((2,), 3.0), executors=[executor])
    torch.testing.assert_close(g(x), x * 3)
    assert operations(g) == (["full", "mul"], ["of_the_tutorial", "torch_functions"])

    # Test directives. (tnp has no complex32.)
    source = tutorials.numbered(text, 284, 299, replace=[("complex32)", "complex64)")])
    n = tutorials.run(source, tmp_path / "contributing_6.py", **_own(n))
    (info,) = n["elementwise_unary_ops"]
    (directive,) = info.test_directives
    assert directive.applies("test_consistency", "default", "cpu", thunder.dtypes.float16)
    assert check_op(info, "default", torch.float32)

    # A gradient rule in the place of tnp's own.
    monkeypatch.setitem(grad_rules, prims.topk.id, grad_rules[prims.topk.id])
    source = tutorials.numbered(text, 324, 342, replace=[(", out=out", "")])
    n = tutorials.run(source, tmp_path / "contributing_7.py", **_own(n))
    y = torch.tensor([3.0, 1.0, 2.0, 5.0])
    made = tnp.grad(lambda y: (torch.topk(y, 2)[0] * torch.tensor([10.0, 20.0])).sum())(y)
    torch.testing.assert_close(made, torch.tensor([20.0, 0, 0, 10]))

    # A function of torch's.
    monkeypatch.setitem(language._by_function, F.hardswish, language.symbol_of(F.hardswish))
    try:
        n = tutorials.run(tutorials.numbered(text, 359, 367), tmp_path / "contributing_8.py", **_own(n))
        h = thunder.jit(lambda x: F.hardswish(x))
        torch.testing.assert_close(h(y), F.hardswish(y))
        assert [b.sym.id for b in tnp.last_traces(h)[0].body] == ["torch.hardswish"]
        with pytest.raises(
            RuntimeError, match="not implemented for 'Long'"
        ):  # the definition raises, and torch says what eager does
            h(torch.arange(3))
    finally:
        language.by_id.pop("torch.hardswish", None)


TRITON_CHECKS = """
def check(jitted, *args):
    expected = jitted.__tnp_function__(*args)
    assert torch.allclose(jitted(*args), expected, rtol=1e-4, atol=1e-5, equal_nan=True)
    (program,) = thunder.last_traces(jitted)[-1].body
    assert program.sym.name == "triton_crossentropy", program

check(jitted_xentropy, logits, labels, weight, reduction, ignore_index)
cases = [
    # dtype, classes, reduction, whether there are weights, how much is smoothed
    (torch.float32, 1, "mean", False, 0.0),
    (torch.float32, 7, "none", True, 0.3),
    (torch.float64, 33, "mean", True, 0.0),
    (torch.float64, 7, "sum", False, 0.3),
    (torch.float64, 8, "mean", True, 1.0),
]
for dtype, classes, reduction, weighted, smoothing in cases:
    def f(logits, labels, weight):
        return torch.nn.functional.cross_entropy(
            logits, labels, weight, reduction=reduction, ignore_index=3, label_smoothing=smoothing
        )
    labels = torch.randint(0, classes, [6])
    labels[2] = 3
    weight = torch.rand(classes, dtype=dtype) if weighted else None
    check(thunder.jit(f, executors=[triton_cross_entropy_ex]), torch.randn(6, classes, dtype=dtype) * 5, labels, weight)
wrong = thunder.jit(lambda x, t: torch.nn.functional.cross_entropy(x, t, reduction="none"), executors=[triton_cross_entropy_ex])
try:
    wrong(torch.zeros(2, 3), torch.tensor([1, 5]))
except IndexError as error:
    assert "out of bounds" in str(error)
else:
    raise AssertionError("5 is no class")
print("all agree")
"""


#: what programs written for Thunder import, below ``thunder``
NAMES = """
jit trace compile last_traces last_prologue_traces last_backward_traces compile_stats cache_hits cache_misses prims.PrimIDs.ADD
dtypes.float32 devices.DeviceType.CPU torch.to_torch_dtype torch.cross_entropy torch.mul numpy.multiply clang.add core.proxies.TensorProxy
core.proxies.NumberProxy core.devices.DeviceType core.dtypes.float32 core.prims.PrimIDs core.prims.OpTags core.prims.make_prim
core.transforms.grad core.transforms.value_and_grad core.transforms.vjp core.transforms.jvp core.transforms.vmap core.transforms.get_grad
core.transforms.put_grad core.transforms.put_grads core.transforms.register_grad core.transform_common.dce core.transform_common.cse
core.trace.TraceCtx core.symbol.Symbol core.utils.check extend.OperatorExecutor extend.FusionExecutor extend.register_executor
extend.deregister_executor extend.get_executor extend.get_all_executors extend.get_default_executors extend.get_always_executors
extend.set_default_executors extend.set_always_executors extend.add_default_executor extend.add_always_executor
extend.remove_default_executor extend.remove_always_executor executors.TORCH executors.NUMPY executors.add_operator_executor
executors.apexex.apex_ex executors.apex_entropyex.apex_ex executors.apex_entropyex.register_apex_entropyex tests.opinfos.add_opinfo
tests.opinfos.OpInfo tests.opinfos.SampleInput tests.opinfos.DecorateInfo examine.examine
""".split()


def test_names():
    """Modules are found by ``import``, and what is in them as attributes."""
    for name in NAMES:
        path, found = "thunder", sys.modules["thunder"]
        for part in name.split("."):
            path, found = f"{path}.{part}", getattr(found, part)
            if isinstance(found, types.ModuleType) and path not in (
                "thunder.prims",
                "thunder.dtypes",
                "thunder.devices",
            ):
                assert sys.modules[path] is found
        assert found is not None


def test_the_layer_holds_names_only():
    """But for the functions of its own name: everything else is defined elsewhere in tnp."""
    own = {
        "__getattr__",
        "compile",
        "CompileStats",
        "compile_stats",
        "cache_hits",
        "cache_misses",
        "install",
        "_is_here",
    }
    for path in Path(tnp.thunder.__file__).parent.rglob("*.py"):
        defined = {n.name for n in ast.parse(path.read_text()).body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
        assert defined <= own, path
