"""Code for other processors than this one, as far as it runs here: ``TNP_CPU`` chooses, and parts of the tests of code generation run so.

All of them: ``TNP_CPU=x86-64 make test``.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tnp
from tnp.runtime import engine

try:
    HOST = engine._host_features()
except engine.Unavailable as unavailable:
    pytest.skip(str(unavailable), allow_module_level=True)

TESTS = Path(__file__).parent / "llvm"


def lacks(level):
    """What this machine has not of a level, and of those below it."""
    names = list(engine.LEVELS)
    return [f for name in names[: names.index(level) + 1] for f in engine.LEVELS[name] if not HOST.get(f)]


def runs(level):
    missing = lacks(level)
    return pytest.param(level, marks=pytest.mark.skipif(bool(missing), reason=f"this machine has no {missing}"))


def run(command, level, **environment):
    return subprocess.run(
        [sys.executable, *command], env=os.environ | {"TNP_CPU": level} | environment, capture_output=True, text=True
    )


#: files, and what runs of each: elements of all dtypes, and random programs of regions and of loops
PARTS = {
    "test_llvm_scalars.py": "float16_is_converted or conversions or (rows_are and (atan or exp or pow or fmod or maximum)) or (bfloat16 and atan)",
    "test_loop_nests.py": "random",
    "test_llvm_fuzz.py": "random_program",
}


@pytest.mark.parametrize("level", [runs(level) for level in ("x86-64", "x86-64-v3", "x86-64-v4")])
def test_code_for_other_processors(level):
    if os.environ.get("TNP_CPU", "native") != "native":
        pytest.skip("all tests run for a processor that was chosen")
    ids = [str(TESTS / file) for file in PARTS]
    chosen = " or ".join(f"({part})" for part in PARTS.values())
    ran = run(
        ["-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "-k", chosen, *ids], level,
        TNP_FUZZ_EXAMPLES="2",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-1000:]


@pytest.mark.parametrize(
    "level, bits, half", [("x86-64", 128, False), ("x86-64-v3", 256, True), ("x86-64-v4", 512, True)]
)
def test_a_level_is_what_code_is_made_for(level, bits, half, tmp_path):
    if lacks(level):
        pytest.skip(f"this machine has no {lacks(level)}")
    program = "import numpy as np, tnp\nfrom tnp.runtime import engine\n" + (
        "tnp.jit(lambda x: np.sqrt(x * 2 + 1) / (x + 1))(np.arange(100.0))\n"
        "t = engine.target(); print(t.cpu, t.vector_bits, t.converts_half)"
    )
    ran = run(["-c", program], level, TNP_DUMP="asm", TNP_DUMP_DIR=str(tmp_path))
    assert ran.stdout.split() == [level, str(bits), str(half)], ran.stderr
    machine_code = "".join(file.read_text() for file in tmp_path.glob("llvm*.s"))
    used = max((register for register in ("xmm", "ymm", "zmm") if f"%{register}" in machine_code), default="")
    assert used == {128: "xmm", 256: "ymm", 512: "zmm"}[bits]


def test_levels_do_not_share_code(tmp_path, monkeypatch):
    if lacks("x86-64-v3"):
        pytest.skip(f"this machine has no {lacks('x86-64-v3')}")
    program = (
        "from tnp.runtime import engine; print(engine.compile_ir('define void @f() { ret void }', 'f').from_cache)"
    )
    found = [
        run(["-c", program], level, TNP_CACHE_DIR=str(tmp_path)).stdout.strip()
        for level in ("x86-64", "x86-64-v3", "x86-64")
    ]
    assert found == ["False", "False", "True"]


PROGRAM = "import numpy as np, tnp; tnp.jit(lambda x: np.sin(x) + 1)(np.ones(3))"


def test_a_level_that_does_not_run_here_is_an_error():
    missing = lacks("x86-64-v4")
    if not missing:
        pytest.skip("this machine has all levels")
    ran = run(["-c", PROGRAM], "x86-64-v4")
    assert ran.returncode
    assert ran.stderr.splitlines()[-1].endswith(
        f"NoDeviceError: TNP_CPU=x86-64-v4: this processor has no {', '.join(missing)}"
    )
    ran = run(["-m", "tnp", "info"], "x86-64-v4")
    assert ran.returncode and "TNP_CPU=x86-64-v4: this processor has no" in ran.stderr


def test_what_is_no_processor_is_an_error():
    ran = run(["-c", PROGRAM], "pentium")
    assert ran.returncode
    expected = "ValueError: TNP_CPU is native, x86-64, x86-64-v2, x86-64-v3 or x86-64-v4, and not 'pentium'"
    assert ran.stderr.splitlines()[-1] == expected


def test_the_default_is_this_processor(monkeypatch):
    monkeypatch.delenv("TNP_CPU", raising=False)
    engine._cpu.cache_clear()
    try:
        assert engine._cpu()[0] == engine._binding().get_host_cpu_name()
    finally:
        engine._cpu.cache_clear()
    assert tnp.jit(lambda x: np.sin(x) + 1)(np.zeros(3)).tolist() == [1.0] * 3
