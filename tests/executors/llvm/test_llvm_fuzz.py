"""Random programs under the llvm executor and under NumPy: the same results, arguments, aliasing and errors.

``make fuzz`` runs thousands (``TNP_FUZZ_EXAMPLES`` says how many, ``TNP_FUZZ_SEED`` which). What fails is printed as a script.
"""

import importlib
import mmap
import os
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import tnp
from tests.fuzzing import SMALL_BLOCKS, Tally, first_failure, layout, minimised, random_program
from tests.kernel_bounds import within_bounds
from tnp.testing import assert_same

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

EXAMPLES = int(os.environ.get("TNP_FUZZ_EXAMPLES", "40"))
SEED = os.environ.get("TNP_FUZZ_SEED")
#: programs are made smaller by :func:`fuzzing.minimised`, which knows what they are
SETTINGS = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    database=None,
    phases=[Phase.generate],
)


def seeded(test):
    return test if SEED is None else seed(int(SEED))(test)


#: of the programs that do not raise, the least share that is compiled
COMPILED = 0.8


@pytest.fixture
def tally():
    """Counts how a test's programs are run."""
    counts = Tally()
    yield counts
    counts.check(COMPILED)


def check(random, executors, tally):
    program = random_program(random)
    failure = first_failure(program, executors, tally)
    if failure is not None:
        program, failure = minimised(program, failure, executors)
        pytest.fail(f"{failure}\n\n{program.script(executors)}", pytrace=False)


@pytest.mark.parametrize("executors", [("llvm[everything]",), None], ids=["llvm[everything]", "default"])
@seeded
@SETTINGS
@given(st.randoms(use_true_random=False))
def test_random_program(executors, tally, random):
    check(random, executors, tally)


@seeded
@SETTINGS
@given(st.randoms(use_true_random=False))
def test_random_program_in_small_blocks(tally, random):
    """Blocks, tiles, threads and memory from the heap where the arrays would not need them, and no access beyond any of it."""
    with pytest.MonkeyPatch.context() as patched:
        for module, constants in SMALL_BLOCKS.items():
            for name, value in constants.items():
                patched.setattr(importlib.import_module(f"tnp.executors.llvm.{module}"), name, value)
        with within_bounds():
            check(random, ("llvm[everything]",), tally)


# What the fuzzer has found


def test_rows_of_several_loops_in_small_blocks(monkeypatch):
    """Sums over the axis that lies first in memory, of an array whose other axes are swapped."""

    def softmax(a):
        e = np.exp(a - a.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    for module, constants in SMALL_BLOCKS.items():
        for name, value in constants.items():
            monkeypatch.setattr(importlib.import_module(f"tnp.executors.llvm.{module}"), name, value)
    a = np.random.default_rng(0).random((8, 7, 2), dtype=np.float32).swapaxes(0, 2)
    assert_same(tnp.jit(softmax, executors=["llvm[everything]"])(a), softmax(a))


def test_rows_of_a_flat_array_have_places_of_their_own(monkeypatch):
    """Every second row of an array that lies flat in memory: its places are ``32 * i + j``."""

    def f(a):
        rows = a.reshape((-1, 16))
        rows[None, :50:2, :] = rows.max()
        return a

    for module, constants in SMALL_BLOCKS.items():
        for name, value in constants.items():
            monkeypatch.setattr(importlib.import_module(f"tnp.executors.llvm.{module}"), name, value)
    a = np.random.default_rng(0).random(800, dtype=np.float32)
    assert_same(tnp.jit(f, executors=["llvm[everything]"])(a.copy()), f(a.copy()))


def state_of_an_array(a, empty):
    a += 7
    b = np.hstack([empty | a, a])
    a *= 3
    return b


def test_arrays_that_kernels_do_not_take_keep_states_that_are_read_later():
    def arguments():
        return [layout("misaligned", np.arange(5, dtype=np.int32)[:1]), np.zeros(0, bool)]

    mine, eagers = arguments(), arguments()
    assert_same(tnp.jit(state_of_an_array, executors=["llvm[everything]"])(*mine), state_of_an_array(*eagers))
    assert_same(mine, eagers, what="arguments")


def test_tiles_are_not_longer_than_rows(monkeypatch):
    for name, value in SMALL_BLOCKS["loop_ir.nests"].items():
        monkeypatch.setattr(f"tnp.executors.llvm.loop_ir.nests.{name}", value)
    a = np.arange(48).reshape(4, 12) % 5 == 0
    with within_bounds():
        np.testing.assert_array_equal(
            tnp.jit(lambda a: a.max(axis=0), executors=["llvm[everything]"])(a), a.max(axis=0)
        )


def center_scan(a):
    rising = np.maximum.accumulate(a, -1)
    return np.maximum.accumulate(
        (rising - rising.mean(axis=-2, keepdims=True)) / (1 + rising.std(axis=-2, keepdims=True)), -2
    )


def write_to_taken(a):
    taken = a[np.array([0, 0, 1])]
    taken[0] = 7
    return taken


def write_to_broadcast(a):
    wide = np.broadcast_to(a, (3, *a.shape)).reshape(-1)
    wide[0] = 7
    return wide


def write_to_reshaped(a):
    copied = a.T.reshape(-1)
    copied[0] = 7
    return copied


def accumulate_down(a):
    return np.cumsum(a, 0)


@pytest.mark.parametrize(
    ("function", "argument"),
    [
        pytest.param(center_scan, np.sin(np.arange(18_000.0).reshape(9, 40, 50)), id="a scan that shares only some outer loops"),
        pytest.param(write_to_taken, np.arange(6.0).reshape(2, 3), id="what was taken twice is written"),
        pytest.param(write_to_broadcast, np.arange(6.0).reshape(2, 3), id="what was broadcast is written"),
        pytest.param(write_to_reshaped, np.arange(6.0).reshape(2, 3), id="what was reshaped to a copy is written"),
        pytest.param(accumulate_down, np.broadcast_to(np.float32(-np.inf), (400, 4)), id="equal infinities are accumulated"),
    ],
)  # fmt: skip
def test_found(function, argument):
    mine, eagers = argument.copy(order="K"), argument.copy(order="K")
    if 0 in argument.strides:
        mine = eagers = argument
    assert_same(tnp.jit(function, executors=["llvm[everything]"])(mine), function(eagers))
    assert_same(mine, eagers, exact=True, what="the argument")


def test_negative_powers_of_integers():
    def power(a, b):
        return (a + a) ** b

    f = tnp.jit(power, executors=["llvm[everything]"])
    a = np.arange(1, 5)
    np.testing.assert_array_equal(f(a, a), power(a, a))
    with pytest.raises(ValueError, match="negative integer powers"):
        f(a, -a)


# Offsets beyond 2 GiB: most of the memory is never touched


GIB = 1 << 30


@pytest.fixture(scope="module")
def sparse():
    """9 GiB of zeros."""
    if sys.maxsize < 2**32 or not hasattr(mmap, "MAP_ANONYMOUS"):
        pytest.skip("no room for 9 GiB of addresses")
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
    try:
        return mmap.mmap(-1, 9 * GIB, flags=flags)
    except OSError as error:
        pytest.skip(f"the system refuses 9 GiB of addresses: {error}")


def compute(x):
    return x * 2 + 1, x.sum(axis=0), x.max(axis=1), np.cumsum(x, 0), x[::-1] + x[:, ::-1]


def change(x):
    x[1:] += 3
    x[::-1] *= 2
    return x.T + 1


def gather(x):
    return x[np.array([0, -1, 1])] + 1, x[:, np.array([-1, 0])]


@pytest.mark.parametrize("function", [compute, change, gather])
@pytest.mark.parametrize("dtype", ["float64", "int8"])
@pytest.mark.parametrize(
    ("strides", "offset"),
    [
        ((2 * GIB + 64, None), 0),
        ((None, 2 * GIB + 128), 0),
        ((-2 * GIB - 64, None), 8 * GIB),
        ((4 * GIB - 64, GIB // 2), 0),
    ],
    ids=str,
)
def test_large_strides(sparse, function, dtype, strides, offset):
    size = np.dtype(dtype).itemsize
    base = np.frombuffer(sparse, dtype, 1, offset)
    x = np.lib.stride_tricks.as_strided(base, (3, 3), [size if s is None else s for s in strides])
    x[...] = np.arange(9).reshape(3, 3)
    expected_x = x.copy()
    expected = function(expected_x)
    actual = tnp.jit(function, executors=["llvm[everything]"])(x)
    assert_same(actual, expected)
    assert_same(x, expected_x, what="the argument")


def test_elements_beyond_two_gigabytes(sparse):
    def program(x, i):
        x[4 * GIB + 1 : 4 * GIB + 5] += 3
        x[:: 2 * GIB + 11] += 2
        return x[i] * 2, x[-5:] + 1, x[4 * GIB : 4 * GIB + 8] * 3

    x = np.frombuffer(sparse, np.uint8)
    at = np.array([3 * GIB + 5, -1, 4 * GIB + 3, 2 * GIB + 11])
    touched = [slice(4 * GIB, 4 * GIB + 8), slice(None, None, 2 * GIB + 11)]

    def outcome(f):
        for part in touched:
            x[part] = 7
        return [*f(x, at), *(x[part].copy() for part in touched)]

    assert_same(outcome(tnp.jit(program, executors=["llvm[everything]"])), outcome(program))
