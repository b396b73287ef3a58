"""The IR of whole loops, interpreted: with it in the place of machine code, programs do what they do eagerly."""

import ctypes
import warnings
from random import Random

import numpy as np
import pytest

import tnp
from tests.executors.llvm.program_interpreter import Failed, Left, Unsupported, interpret
from tests.fuzzing import define
from tests.fuzzing.loops import compare_loops, random_loops
from tests.programs import programs
from tnp.core.proxies import NumberProxy
from tnp.executors.llvm.lowering import Refused
from tnp.executors.llvm.program import region
from tnp.executors.llvm.region import _key
from tnp.runtime import engine, launcher
from tnp.testing import assert_same

try:
    engine.target()
except engine.Unavailable as unavailable:  # no loop is lowered without a compiler, so there is no IR to interpret
    pytest.skip(str(unavailable), allow_module_level=True)

EVERYTHING = ["llvm[everything]", "numpy"]
#: what numbers are in the slots of a call
_KINDS = {"bool": np.int64, "int": np.int64, "float": np.float64, "complex": np.complex128}


def _slot(p, x):
    """The memory of an argument."""
    return np.array([x], _KINDS[p.python_type.__name__]) if isinstance(p, NumberProxy) else np.asarray(x)


def _result(spec, memory):
    """What the launcher makes of the memory of a result."""
    if spec.kind in _KINDS:
        return {"int": int, "float": float, "bool": bool, "complex": complex}[spec.kind](memory[0])
    memory = memory.reshape(spec.shape)
    return memory[()] if spec.kind == "scalar" else memory


@pytest.fixture
def interpreted(monkeypatch):
    """Loops are interpreted; the list of those that were."""
    ran = []

    def slow(self, *args):
        key = tuple(_key(p, a) for p, a in zip(self.region.inputs, args))
        if None in key:
            return self._run_singly(*args)
        inputs, outputs = self.region.inputs, self.region.outputs
        try:
            program = region._write(
                "interpreted", self.bsym, inputs, outputs, self.updates, key, failures=[], fast=False
            ).program
        except Refused:
            return self._run_singly(*args)
        specs = [o for k, p in enumerate(outputs) if k not in self.updates for o in region._outputs(p)]
        results = [np.zeros(o.shape or 1, _KINDS.get(o.kind, o.dtype)) for o in specs]
        memory = [*map(_slot, inputs, args), *results]
        slots = (ctypes.c_void_p * max(len(memory), launcher.RECORD_WORDS))(*(m.ctypes.data for m in memory))
        try:
            interpret(program, ctypes.addressof(slots))
        except (Left, Unsupported):
            return self._run_singly(*args)
        except Failed as failed:
            number, *values = failed.args
            raise program.failures[number][0](*values) from None
        ran.append(self.bsym.sym.name)
        found = tuple(map(_result, specs, results))
        return found[0] if len(found) == 1 else found

    monkeypatch.setattr(region.ProgramRegion, "_slow", slow)
    return ran


def test_a_loop_is_interpreted(interpreted):
    @tnp.jit
    def f(x, n):
        for i in range(1, n):
            x[i] += x[i - 1]

    x = np.arange(6.0)
    f(x, 6)
    assert interpreted == ["for_loop"]
    np.testing.assert_array_equal(x, np.cumsum(np.arange(6.0)))
    with pytest.raises(IndexError, match="index 6 is out of bounds for axis 0 with size 6"):
        f(x, 7)


@pytest.mark.parametrize("seed", range(5))
def test_random_loops(interpreted, seed):
    text = random_loops(Random(3000 + seed))
    program = define(text)
    jitted = tnp.jit(program, executors=EVERYTHING, dynamic=False)
    compare_loops(program, jitted, seed, (5, 0), text)


#: modules of programs whose time is in loops
LOOPS = ("branches", "clustering", "linear_algebra", "loops", "sequence", "solvers", "stencils")


@pytest.mark.parametrize("name", [name for name in sorted(programs) if name.split(".")[0] in LOOPS])
def test_programs(interpreted, name):
    program = programs[name]
    calls = [program.make_inputs(np.random.default_rng(5)) for _ in range(2)]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = program.make()(*calls[0].args, **calls[0].kwargs)
        actual = tnp.jit(program.make(), executors=EVERYTHING, dynamic=False)(*calls[1].args, **calls[1].kwargs)
    assert_same(actual, expected)
