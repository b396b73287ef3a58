"""The pool of memory for large arrays: what it gives out again, what it gives back, and who may free when."""

import ctypes
import gc
import mmap
import os
import random
import subprocess
import sys
import threading
import tracemalloc

import numpy as np
import pytest

from tnp.runtime import allocator, launcher
from tnp.runtime.engine import Unavailable, compile_ir

try:
    from numpy._core.multiarray import get_handler_name
except ImportError:  # a private name
    get_handler_name = None

#: the name of the handler that is in force otherwise
DEFAULT = get_handler_name and get_handler_name()

MB = 1 << 20

if launcher._foreign() or not hasattr(mmap, "MAP_ANONYMOUS"):
    pytest.skip("this interpreter or system is known to have no pool", allow_module_level=True)


def test_there_is_a_pool():
    """Everywhere else; were there none, what follows would test nothing."""
    assert not isinstance(allocator._pool(), Unavailable), allocator._pool()


@pytest.fixture(autouse=True)
def pool():
    """The pool, empty, and with room for 64 MB."""
    pool = allocator._pool()
    limit = pool["limit"]
    pool["limit"] = 64 * MB
    gc.collect()  # arrays of tests before, which would come into the pool later
    allocator.trim()
    yield pool
    assert not get_handler_name or get_handler_name() == DEFAULT
    allocator.trim()
    pool["limit"] = limit


def address(a):
    return a.__array_interface__["data"][0]


def held():
    info = allocator.pool_info()
    return info["blocks"], info["held_bytes"] // MB


# Arrays


@pytest.mark.parametrize(
    ("shape", "dtype", "order"),
    [
        (0, float, "C"),
        (3, float, "C"),
        ((), "i4", "F"),
        ((2**17,), "f8", "C"),
        ((512, 1024), np.complex64, "F"),
        ([np.int64(1024), 2048], np.float32, "C"),
        (5 * MB, bool, "F"),
        ((0, 2**40), "f8", "C"),
        (200_000, [("x", "f8"), ("y", "i4")], "C"),
        (100_000, "(4,)f8", "C"),
        (200_000, object, "C"),
        (10**6, "U3", "C"),
        ((1000, 1000), ">f8", "F"),
    ],
    ids=str,
)
def test_empty_is_as_numpys(shape, dtype, order):
    a, b = allocator.empty(shape, dtype, order), np.empty(shape, dtype, order)
    assert type(a) is np.ndarray
    assert (a.shape, a.strides, a.dtype) == (b.shape, b.strides, b.dtype)
    assert a.base is None and (a.flags == b.flags)
    a[...] = np.zeros((), dtype)
    a[...] = a.copy()


@pytest.mark.parametrize("shape", [(-1,), 2**62, (2**31, 2**31), (2**44,), (1,) * 65, "ab", 1.5])
def test_empty_raises_as_numpys(shape):
    with pytest.raises((ValueError, TypeError, MemoryError)) as error:
        np.empty(shape)
    with pytest.raises(error.type):
        allocator.empty(shape)


@pytest.mark.parametrize("size", [MB, MB + 8, 3 * MB, 4 * MB, 4 * MB + 8, 9 * MB, 32 * MB])
def test_large_blocks_are_aligned_and_whole(size):
    a = allocator.empty(size, np.uint8)
    assert address(a) % (allocator.HUGE_PAGE if size >= allocator.HUGE else 64) == 0
    a[:] = 1
    a[-1] = 2
    assert a.sum(dtype=np.int64) == size + 1


@pytest.mark.skipif(get_handler_name is None, reason="this NumPy does not tell an array's handler")
def test_the_handler_is_in_force_for_our_arrays_only():
    assert get_handler_name(allocator.empty(MB)) == "tnp_pool"
    assert get_handler_name(allocator.empty(10)) == DEFAULT
    assert get_handler_name(np.empty(MB)) == get_handler_name(allocator.empty(MB).copy()) == DEFAULT


# Using blocks again


@pytest.mark.parametrize("size", [MB, 8 * MB])
def test_a_free_block_is_given_out_again(size):
    a = allocator.empty(size, np.uint8)
    first, hits = address(a), allocator.pool_info()["hits"]
    assert held() == (0, 0)
    del a
    assert held() == (1, size // MB)
    b = allocator.empty(size, np.uint8)
    assert address(b) == first and allocator.pool_info()["hits"] == hits + 1
    assert held() == (0, 0)


def test_of_blocks_that_fit_the_smallest_then_the_latest_is_taken():
    sizes = [12, 10, 11, 10]
    arrays = [allocator.empty(n * MB, np.uint8) for n in sizes]
    addresses = [address(a) for a in arrays]
    while arrays:
        arrays.pop(0)
    assert held() == (4, 43) or held() == (4, 44)
    arrays = [allocator.empty(10 * MB, np.uint8) for _ in sizes]
    assert [address(a) for a in arrays] == [addresses[i] for i in (3, 1, 2, 0)]


def test_much_larger_blocks_are_not_wasted():
    a = allocator.empty(10 * MB, np.uint8)
    first = address(a)
    del a
    small = allocator.empty(7 * MB, np.uint8)
    assert address(small) != first
    fitting = allocator.empty(9 * MB, np.uint8)
    assert address(fitting) == first


def test_the_pool_gives_up_the_oldest_beyond_its_limit(pool):
    arrays = [allocator.empty(16 * MB, np.uint8) for _ in range(6)]
    addresses = [address(a) for a in arrays]
    while arrays:
        arrays.pop(0)
        assert allocator.pool_info()["held_bytes"] <= 64 * MB
    assert held() == (4, 64)
    again = [allocator.empty(16 * MB, np.uint8) for _ in range(4)]
    assert {address(a) for a in again} == set(addresses[2:])


def test_blocks_larger_than_the_limit_are_given_back():
    a = allocator.empty(80 * MB, np.uint8)
    del a
    assert held() == (0, 0)


def test_the_table_is_bounded(pool):
    pool["limit"] = 1 << 40
    arrays = [allocator.empty(MB, np.uint8) for _ in range(allocator.ENTRIES + 10)]
    del arrays
    assert held() == (allocator.ENTRIES, allocator.ENTRIES)


def test_trim():
    arrays = [allocator.empty(n * MB, np.uint8) for n in (8, 10, 12)]
    while arrays:
        arrays.pop(0)
    allocator.trim(25 * MB)
    assert held() == (2, 22)
    allocator.trim(12 * MB)
    assert held() == (1, 12)
    allocator.trim()
    assert held() == (0, 0)
    with pytest.raises(ValueError):
        allocator.trim(-1)


def test_a_limit_of_zero_switches_the_pool_off(pool):
    pool["limit"] = 0
    a = allocator.empty(8 * MB, np.uint8)
    del a
    assert held() == (0, 0)
    assert allocator.pooled_array(8 * MB) is None


# Arrays that change


@pytest.mark.parametrize("n", [10, MB // 8, 3 * MB, 5 * MB, 20 * MB])
def test_resize(n):
    a = allocator.empty(4 * MB)
    a[:] = np.arange(4 * MB)
    a.resize(n, refcheck=False)
    common = min(n, 4 * MB)
    assert (a[:common] == np.arange(common)).all() and not a[common:].any()


def test_views_keep_their_block():
    view = allocator.empty(4 * MB)[5:]
    view[:] = 7
    gc.collect()
    assert held()[0] == 0 and (view == 7).all()
    del view
    assert held()[0] == 1


def test_arrays_are_traced_by_tracemalloc():
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        a = allocator.empty(8 * MB, np.uint8)
        assert tracemalloc.get_traced_memory()[0] - before >= 8 * MB
        del a
        assert tracemalloc.get_traced_memory()[0] - before < MB
    finally:
        tracemalloc.stop()


def test_nothing_is_left_behind():
    dtype = np.dtype(np.float64)
    watched = [allocator._pool().capsule, dtype, np.ndarray]
    allocator.empty(MB)
    gc.collect()
    before = [sys.getrefcount(w) for w in watched]
    tracemalloc.start()
    try:
        start = tracemalloc.get_traced_memory()[0]
        for _ in range(20_000):
            allocator.empty((2, MB // 8), dtype)
        for _ in range(100):
            with pytest.raises(ValueError):
                allocator.empty((2**59,), np.int8)[0] = allocator.empty((2,) * 65)
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - start
    finally:
        tracemalloc.stop()
    assert [sys.getrefcount(w) for w in watched] == before
    assert grown < 50_000


# The native functions


class Native:
    """The handler's functions, called without Python's lock."""

    def __init__(self, pool):
        handler = allocator._Handler.from_address(pool.address + ctypes.sizeof(pool.state))
        p, n = ctypes.c_void_p, ctypes.c_size_t
        signatures = [(p, p, n), (p, p, n, n), (p, p, p, n), (None, p, p, n)]
        functions = [ctypes.CFUNCTYPE(*s)(f) for s, f in zip(signatures, handler.functions)]
        self.malloc, self.calloc, self.realloc, self.free = (self._bound(f, handler.context) for f in functions)

    @staticmethod
    def _bound(function, context):
        return lambda *args: function(context, *args)


@pytest.fixture
def native(pool):
    return Native(pool)


@pytest.mark.parametrize("size", [0, 1, 63, 100_000, MB - 1, MB, 4 * MB - 1, 4 * MB, 7 * MB])
def test_native_blocks(native, size):
    data = native.malloc(size)
    assert data and data % 64 == 0
    ctypes.memset(data, 0xAB, size)
    native.free(data, size)
    data = native.calloc(1, size)
    assert ctypes.string_at(data, size) == bytes(size)
    native.free(data, 12345)  # NumPy's idea of the size may be wrong


def test_native_realloc(native):
    data = native.realloc(None, 100)
    content = b""
    for size in (100, 5000, MB, 2 * MB, 9 * MB, 8 * MB, MB, 20, 0, 6 * MB):
        data = native.realloc(data, size)
        kept = min(len(content), size)
        assert ctypes.string_at(data, kept) == content[:kept]
        content = random.Random(size).randbytes(size)
        ctypes.memmove(data, content, size)
    native.free(data, size)
    native.free(None, 0)


@pytest.mark.parametrize("size", [2**46 * 2, 2**60, 2**63, 2**64 - 1, 2**64 - 64])
def test_native_requests_that_cannot_be_met(native, pool, size):
    block = native.malloc(8 * MB)
    native.free(block, 8 * MB)
    assert native.malloc(size) is None
    assert native.calloc(size, 1) is None and native.calloc(2**40, 2**40) is None
    keep = native.malloc(100)
    assert native.realloc(keep, size) is None
    native.free(keep, 100)


def test_a_busy_table_is_passed_by(native, pool):
    block = native.malloc(8 * MB)
    native.free(block, 8 * MB)
    pool["lock"] = 1
    try:
        one, two = native.malloc(8 * MB), native.malloc(2 * MB)
        native.free(one, 0)
        native.free(two, 0)
    finally:
        pool["lock"] = 0
    assert held() == (1, 8)


def test_threads_never_share_a_block(native):
    """Many threads, a pool that is always too small, and each block marked by who has it."""
    wrong = []

    def work(seed):
        rng = random.Random(seed)
        mine = {}
        for step in range(1500):
            if mine and (len(mine) > 4 or rng.random() < 0.5):
                data, (size, mark) = mine.popitem()
                last = ctypes.c_uint64.from_address(data + size - 8).value
                if ctypes.c_uint64.from_address(data).value != mark or last != mark:
                    wrong.append((seed, step))
                native.free(data, size)
            else:
                size = rng.choice([1, 2, 3, 4, 5, 6, 8]) * MB + 64 * rng.randrange(100)
                data, mark = native.malloc(size), seed << 32 | step
                ctypes.c_uint64.from_address(data).value = mark
                ctypes.c_uint64.from_address(data + size - 8).value = mark
                mine[data] = size, mark
        for data, (size, _) in mine.items():
            native.free(data, size)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
    allocator.trim()
    assert held() == (0, 0)


# The launcher's outputs

FILL = """
define i64 @fill(ptr %slots) {
  %x.at = load ptr, ptr %slots
  %out.at = getelementptr ptr, ptr %slots, i64 1
  %out = load ptr, ptr %out.at
  %x = load double, ptr %x.at
  %last = getelementptr double, ptr %out, i64 1048575
  store double %x, ptr %out
  store double %x, ptr %last
  %negative = fcmp olt double %x, 0.0
  %code = zext i1 %negative to i64
  ret i64 %code
}
"""


def test_the_launchers_large_outputs_come_from_the_pool(pool):
    compiled = compile_ir(FILL, "fill")
    fill = launcher.make_launcher("fill", lambda *args: args)
    large = launcher.Output("array", (1024, 1024), np.dtype(float))
    fill.install(launcher.Spec([launcher.Input("float")], [large], True), compiled.address("fill"), owner=compiled)
    seen = set()

    def calls():
        for i in range(1000):
            result = fill.function(float(i))
            seen.add(address(result))
            if result[0, 0] != i or result[-1, -1] != i or fill.function(-1.0) != (-1.0,):
                return i  # of the second call the kernel refuses the result, whose memory is free again
        return None

    before = sys.getrefcount(pool.capsule)
    wrong = calls()
    after = sys.getrefcount(pool.capsule)
    assert wrong is None and after == before
    assert len(seen) <= 3 and allocator.pool_info()["blocks"] >= 1
    assert not get_handler_name or get_handler_name(fill.function(1.0)) == "tnp_pool"


def test_outputs_that_the_pool_cannot_allocate_send_the_call_to_slow():
    compiled = compile_ir(FILL, "fill")
    fill = launcher.make_launcher("fill", lambda *args: "slow")
    outputs = [launcher.Output("array", (n,), np.dtype(float)) for n in (2**20, 2**44)]
    fill.install(launcher.Spec([launcher.Input("float")], outputs), compiled.address("fill"), owner=compiled)
    for _ in range(100):
        assert fill.function(1.0) == "slow"


def test_allocations_that_fail_leave_nothing_behind(pool):
    testing = pytest.importorskip("_testcapi", reason="this interpreter cannot be told to run out of memory")
    dtype, failures = np.dtype(np.float32), 0
    before = sys.getrefcount(dtype), sys.getrefcount(pool.capsule)
    shape = (ctypes.c_ssize_t * 1)(MB)
    for n in (1, 3):
        for start in range(30):
            try:
                testing.set_nomemory(start, start + n)
                pool.array(pool.address, dtype, 1, shape, None, 4 * MB, allocator.NEW_ARRAY["C"])
            except (MemoryError, ctypes.ArgumentError):
                failures += 1
            finally:
                testing.remove_mem_hooks()
    assert failures
    allocator.empty(MB)
    after = sys.getrefcount(dtype), sys.getrefcount(pool.capsule)
    assert after == before


# Processes, and the end

PROGRAM = """
import builtins, gc, os, sys, threading
import numpy as np
from tnp.runtime import allocator
from tnp.runtime.allocator import empty, pool_info, trim
MB = 1 << 20
"""


def run(program, **environment):
    """Runs ``PROGRAM`` and ``program`` in a process of their own."""
    command = [sys.executable, "-X", "faulthandler", "-W", "ignore::DeprecationWarning", "-c", PROGRAM + program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=os.environ | environment)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_arrays_may_be_freed_at_the_interpreters_end():
    run("""
class Late:
    def __del__(self, empty=empty):
        self.more = empty(MB)
a = sys.a = builtins.b = np.c = empty(MB)
cycle = [empty(3 * MB)]; cycle.append(cycle)
d = sys.late = empty(2 * MB); e = Late()
free = empty(2 * MB); del free
gc.disable()
leaked = empty(MB)
import ctypes
ctypes.PYFUNCTYPE(None, ctypes.py_object)(("Py_IncRef", ctypes.pythonapi))(leaked)
def forever():
    while True:
        empty(MB)[0] = 1
for _ in range(3):
    threading.Thread(target=forever, daemon=True).start()
""")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_children_of_a_fork_have_the_pool():
    run("""
stop = False
def work():
    while not stop:
        allocator._pool().trim(allocator._pool().address, 8 * MB)
        empty(MB)[0] = 1
threads = [threading.Thread(target=work) for _ in range(3)]
for t in threads:
    t.start()
a = empty(MB); a[:] = 3
for _ in range(30):
    child = os.fork()
    if not child:
        assert not allocator._pool()["lock"]
        assert (a == 3).all()
        del a
        for _ in range(3):
            empty(MB)[:] = 5
        assert pool_info()["blocks"] >= 1
        trim()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
assert (a == 3).all()
stop = True
""")


@pytest.mark.parametrize(("setting", "limit"), [("0", 0), ("5", 5 * MB), ("0.5", MB // 2), ("-3", 0)])
def test_the_limit_is_set_by_the_environment(setting, limit):
    program = "a = empty(MB); a[:] = 1; del a; print(pool_info()['limit_bytes'], pool_info()['blocks'])"
    assert run(program, TNP_POOL_MB=setting).split() == [str(limit), "0"]


def test_a_wrong_limit_is_reported_and_ignored():
    assert "TNP_POOL_MB='much' is no number" in run("pool_info()", TNP_POOL_MB="much")
