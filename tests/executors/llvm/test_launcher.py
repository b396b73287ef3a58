"""Builtins around hand-written kernels: what they accept, what they return, and what they leave behind."""

import gc
import os
import subprocess
import sys
import threading
import tracemalloc
import weakref

import numpy as np
import pytest

from tnp.runtime.ctypes_launcher import make_ctypes_launcher
from tnp.runtime.engine import Unavailable, compile_ir
from tnp.runtime.launcher import Input, Output, Spec, _foreign, make_launcher

MAKERS = [make_ctypes_launcher] if _foreign() else [make_launcher, make_ctypes_launcher]

F8 = np.dtype(np.float64)

SLOTS = "".join(
    f"  %s{i}.at = getelementptr ptr, ptr %slots, i64 {i}\n  %s{i} = load ptr, ptr %s{i}.at\n" for i in range(3)
)

#: each takes three slots
KERNELS = f"""
; s2[0] = s0[0] + s1[0]
define i64 @add(ptr %slots) {{
{SLOTS}
  %a = load double, ptr %s0
  %b = load double, ptr %s1
  %c = fadd double %a, %b
  store double %c, ptr %s2
  ret i64 0
}}

; s1 and s2 get the first 16 bytes of s0
define i64 @copy(ptr %slots) {{
{SLOTS}
  %x = load <2 x i64>, ptr %s0, align 1
  store <2 x i64> %x, ptr %s1, align 1
  store <2 x i64> %x, ptr %s2, align 1
  ret i64 0
}}

; refuses a negative s0[0], else as @add
define i64 @careful(ptr %slots) {{
{SLOTS}
  %a = load double, ptr %s0
  %negative = fcmp olt double %a, 0.0
  br i1 %negative, label %refuse, label %accept
accept:
  %code = call i64 @add(ptr %slots)
  ret i64 %code
refuse:
  ret i64 7
}}

; waits until s0[0] is not 0
define i64 @wait(ptr %slots) {{
entry:
{SLOTS}
  br label %again
again:
  %x = load atomic i64, ptr %s0 acquire, align 8
  %waiting = icmp eq i64 %x, 0
  br i1 %waiting, label %again, label %done
done:
  ret i64 0
}}

define i64 @nothing(ptr %slots) {{
  ret i64 0
}}
"""


@pytest.fixture(scope="module")
def kernels():
    try:
        return compile_ir(KERNELS, "test_kernels")
    except Unavailable as e:
        pytest.skip(str(e))


@pytest.fixture(params=MAKERS, ids=lambda make: make.__name__)
def make(request):
    return request.param


def array_input(a, writeable=False):
    return Input("array", a.shape, a.strides, a.dtype, writeable)


ONE = array_input(np.ones(1))
ADD = Spec([ONE, ONE], [Output("array", (1,), F8)], single=True)


class Slow:
    """Records what it was called with."""

    def __init__(self):
        self.calls = []

    def __call__(self, *args):
        self.calls.append(args)
        return "slow"


def launch(make, kernels, kernel, spec, slow=None, **kwargs):
    launcher = make(kernel, slow or Slow())
    launcher.install(spec, kernels.address(kernel), owner=kernels, **kwargs)
    return launcher.function


# Inputs


def test_before_a_kernel_is_installed_slow_runs(make):
    slow = Slow()
    f = make("f", slow).function
    assert f(1, "a") == "slow" and f() == "slow"
    assert slow.calls == [(1, "a"), ()]
    assert f.__name__ == "f"


def test_fitting_arrays_go_to_the_kernel(make, kernels):
    slow = Slow()
    f = launch(make, kernels, "add", ADD, slow)
    result = f(np.array([1.5]), np.array([2.0]))
    assert type(result) is np.ndarray and result.dtype == F8 and result.shape == (1,) and result[0] == 3.5
    assert result.flags.owndata and result.flags.writeable and not slow.calls


class Subclass(np.ndarray):
    pass


def misaligned(n=4):
    return np.zeros(8 * n + 1, np.int8)[1:].view(F8)


def readonly(n=4):
    a = np.zeros(n)
    a.flags.writeable = False
    return a


@pytest.mark.parametrize(
    "arg",
    [
        np.zeros(3),
        np.zeros((4, 1)),
        np.zeros((2, 2)),
        np.zeros(8)[::2],
        np.zeros(4)[::-1],
        np.zeros(4, np.int64),
        np.zeros(4, np.float32),
        np.zeros(4, ">f8"),
        np.zeros(4).view(Subclass),
        np.ma.zeros(4),
        misaligned(),
        np.float64(1),
        1.0,
        None,
        [0.0] * 4,
    ],
    ids=lambda a: f"{type(a).__name__}-{getattr(a, 'dtype', '')}-{getattr(a, 'strides', '')}",
)
def test_other_arrays_go_to_slow(make, kernels, arg):
    slow = Slow()
    f = launch(make, kernels, "nothing", Spec([array_input(np.zeros(4))], []), slow)
    assert f(np.zeros(4)) == () and not slow.calls
    assert f(arg) == "slow"
    assert len(slow.calls) == 1 and slow.calls[0][0] is arg


def test_only_written_arrays_need_be_writeable(make, kernels):
    read = launch(make, kernels, "nothing", Spec([array_input(np.zeros(4))], []))
    written = launch(make, kernels, "nothing", Spec([array_input(np.zeros(4), writeable=True)], []))
    assert read(readonly()) == ()
    assert written(np.zeros(4)) == ()
    assert written(readonly()) == "slow"


def test_strides_of_dimensions_of_one_element_do_not_matter(make, kernels):
    expected = np.zeros((1, 4))
    f = launch(make, kernels, "nothing", Spec([array_input(expected)], []))
    other = np.lib.stride_tricks.as_strided(np.zeros(4), (1, 4), (-800, 8))
    assert other.strides != expected.strides
    assert f(other) == ()


def test_views_are_read_where_they_are(make, kernels):
    base = np.arange(24.0).reshape(4, 6)
    view = base[1::2, ::-1]
    f = launch(make, kernels, "add", Spec([array_input(view), Input("float")], [Output("scalar", dtype=F8)], True))
    assert f(view, 0.25) == view[0, 0] + 0.25


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,) * 32])
def test_any_rank(make, kernels, shape):
    a = np.zeros(shape)
    f = launch(make, kernels, "nothing", Spec([array_input(a)], [Output("array", shape, F8)], single=True))
    assert f(a).shape == shape


def test_equal_dtypes_need_not_be_identical(make, kernels):
    dtype = np.dtype("f8").newbyteorder("=")
    a = np.ones(1, np.dtype({"names": ["x"], "formats": ["f8"]}))["x"]
    assert launch(make, kernels, "add", ADD)(a, np.ones(1, dtype)) == 2
    longlong, long = np.zeros(1, np.longlong), np.zeros(1, np.int_)
    f = launch(make, kernels, "nothing", Spec([array_input(long)], []))
    assert f(longlong) == ()


NUMBERS = [
    ("int", 2**63 - 1),
    ("int", -(2**63)),
    ("int", 0),
    ("float", -0.0),
    ("float", float("inf")),
    ("bool", True),
    ("bool", False),
    ("complex", complex(1.5, -2.5)),
]


@pytest.mark.parametrize(("kind", "value"), NUMBERS)
def test_python_numbers_in_and_out(make, kernels, kind, value):
    f = launch(make, kernels, "copy", Spec([Input(kind)], [Output(kind), Output(kind)]))
    for result in f(value):
        assert type(result) is type(value) and repr(result) == repr(value)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int", 2**63),
        ("int", -(2**63) - 1),
        ("int", 10**30),
        ("int", True),
        ("int", 1.0),
        ("int", np.int64(1)),
        ("float", 1),
        ("float", np.float64(1)),
        ("bool", 1),
        ("bool", np.True_),
        ("complex", 1.0),
        ("complex", np.complex128(1)),
        ("float", None),
        ("int", np.zeros(1)),
    ],
)
def test_other_numbers_go_to_slow(make, kernels, kind, value):
    f = launch(make, kernels, "copy", Spec([Input(kind)], [Output(kind), Output(kind)]))
    assert f(value) == "slow"


def test_integers_outside_their_bounds_go_to_slow(make, kernels):
    f = launch(make, kernels, "copy", Spec([Input("int", low=-3, high=5)], [Output("int"), Output("int")]))
    assert [f(i) for i in (-4, -3, 5, 6)] == ["slow", (-3, -3), (5, 5), "slow"]


SCALARS = [np.bool_, np.int8, np.uint16, np.int32, np.int64, np.uint64, np.float16, np.float32, np.float64]


@pytest.mark.parametrize("scalar", [*SCALARS, np.complex64, np.complex128], ids=lambda t: t.__name__)
def test_numpy_scalars_in_and_out(make, kernels, scalar):
    out = Output("scalar", dtype=np.dtype(scalar))
    f = launch(make, kernels, "copy", Spec([Input("scalar", dtype=np.dtype(scalar))], [out, out]))
    for result in f(scalar(1)):
        assert type(result) is scalar and result == 1
    assert f(1) == "slow" and f(np.ones((), scalar)) == "slow" and f(np.longdouble(1)) == "slow"


def test_another_number_of_arguments_goes_to_slow(make, kernels):
    def slow(a, b):
        raise AssertionError("not reached")

    f = launch(make, kernels, "add", ADD, slow)
    for n in (0, 1, 3):
        with pytest.raises(TypeError, match="argument"):
            f(*[np.ones(1)] * n)
    with pytest.raises(TypeError, match="keyword"):
        f(np.ones(1), b=np.ones(1))


# Outputs


def test_results_come_in_a_tuple(make, kernels):
    one = Output("array", (1,), F8)
    assert launch(make, kernels, "add", Spec([ONE, ONE], [one]))(np.ones(1), np.ones(1)) == (np.full(1, 2.0),)
    assert launch(make, kernels, "nothing", Spec([], []))() == ()


def test_new_arrays_are_contiguous(make, kernels):
    spec = Spec([Input("float")], [Output("array", (2, 3, 4), F8), Output("array", (), np.dtype("c16"))])
    a, b = launch(make, kernels, "copy", spec)(1.0)
    assert a.shape == (2, 3, 4) and a.flags.c_contiguous and a.base is None and a.flat[0] == 1
    assert type(b) is np.ndarray and b.shape == () and b.dtype == "c16"


@pytest.mark.parametrize("shape", [(2, 3, 4), (60, 70, 80), (3, 1, 4)], ids=str)
@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 1, 0), (0, 2, 1), (1, 0, 2)])
def test_new_arrays_lie_in_memory_as_is_asked(make, kernels, shape, axes):
    like = np.empty([shape[a] for a in axes]).transpose(np.argsort(axes))
    assert like.shape == shape
    spec = Spec([Input("float")], [Output("array", shape, F8, strides=like.strides)], single=True)
    a = launch(make, kernels, "nothing", spec)(1.0)
    assert (a.shape, a.strides, a.flags.owndata, a.flags.writeable) == (shape, like.strides, True, True)
    assert (a.flags.c_contiguous, a.flags.f_contiguous) == (like.flags.c_contiguous, like.flags.f_contiguous)


def test_an_input_written_in_place_is_returned_itself(make, kernels):
    spec = Spec([array_input(np.zeros(2)), array_input(np.zeros(2), True)], [Output("input", index=1)], single=True)
    a, b = np.array([1.0, 2.0]), np.zeros(2)
    assert launch(make, kernels, "copy", spec)(a, b) is b
    assert b.tolist() == [1, 2]


def test_an_exception_of_slow_propagates(make, kernels):
    def slow(*args):
        raise ZeroDivisionError("from slow")

    f = launch(make, kernels, "careful", ADD, slow)
    for args in ((), (1, 2), (-np.ones(1), np.ones(1))):
        with pytest.raises(ZeroDivisionError, match="from slow"):
            f(*args)
    assert f(np.ones(1), np.ones(1)) == 2


def test_a_call_that_the_kernel_refuses_goes_to_slow(make, kernels):
    slow = Slow()
    f = launch(make, kernels, "careful", ADD, slow)
    a, b = -np.ones(1), np.ones(1)
    assert f(b, b) == 2 and f(a, b) == "slow"
    assert slow.calls[0][0] is a and slow.calls[0][1] is b


@pytest.mark.parametrize("n", [2**44, 2**60], ids=["more than memory", "more than addresses"])
def test_a_call_whose_results_cannot_be_allocated_goes_to_slow(make, kernels, n):
    spec = Spec([Input("float")], [Output("array", (3,), F8), Output("array", (n,), np.dtype("i8"))])
    f = launch(make, kernels, "copy", spec)
    assert f(1.0) == "slow"


# Installing


def test_several_kernels_are_kept_for_their_arguments(make, kernels):
    slow = Slow()
    launcher = make("f", slow)
    base = np.arange(8.0)
    views = [base[:4], base[::2], base[::-2]]
    for i, v in enumerate(views):
        spec = Spec([array_input(v)], [Output("array", (i + 2,), F8), Output("array", (2,), F8)])
        launcher.install(spec, kernels.address("copy"), owner=kernels)
    if make is make_launcher:
        assert [len(launcher.function(v)[0]) for v in views] == [2, 3, 4]
        assert not slow.calls
    assert launcher.function(base) == "slow"


def test_the_newest_kernel_wins(make, kernels):
    launcher = make("f", Slow())
    specs = [Spec([Input("float")], [Output("array", (i + 2,), F8), Output("array", (2,), F8)]) for i in range(3)]
    for spec in (*specs, *specs):
        launcher.install(spec, kernels.address("copy"), owner=kernels)
        assert len(launcher.function(1.0)[0]) == spec.outputs[0].shape[0]


def test_installing_again_needs_no_more_memory(kernels):
    launcher = make_launcher("f", Slow()) if make_launcher in MAKERS else pytest.skip("no native launcher")
    other = Spec([Input("float")], [Output("float"), Output("float")])
    for _ in range(1000):
        launcher.install(ADD, kernels.address("add"), owner=kernels)
        launcher.install(other, kernels.address("copy"), owner=kernels)
    assert len(launcher._installed) == 2
    assert launcher.function(1.0) == (1.0, 1.0) and launcher.function(np.ones(1), np.ones(1)) == 2


@pytest.mark.parametrize(
    "spec",
    [
        Spec([], [], single=True),
        Spec([Input("str")], []),
        Spec([], [Output("pooled", (1,), F8)]),
        Spec([Input("array", (1,), (), F8)], []),
        Spec([Input("array", (1,), (8,), np.dtype(object))], []),
        Spec([Input("array", (1,), (8,), np.dtype(">f8"))], []),
        Spec([Input("scalar", dtype=np.dtype("U1"))], []),
        Spec([Input("int", low=0, high=2**63)], []),
        Spec([Input("int")], [Output("input", index=1)]),
    ],
    ids=str,
)
def test_specifications_without_sense_are_refused(make, spec):
    with pytest.raises(ValueError):
        make("f", Slow()).install(spec, 0)


def test_too_many_slots_are_refused_natively():
    launcher = make_launcher("f", Slow()) if make_launcher in MAKERS else pytest.skip("no native launcher")
    with pytest.raises(Unavailable, match="more than"):
        launcher.install(Spec([ONE] * 5000, []), 0)


# What stays behind


def ignore(*args):
    """A ``slow`` that keeps nothing."""


@pytest.fixture
def mixed_calls(make, kernels):
    """A function that makes a call of every kind, and the objects that take part."""
    out = [Output("array", (1,), F8), Output("scalar", dtype=F8)]
    plain = launch(make, kernels, "careful", Spec([ONE, Input("float")], out), ignore)
    spec = Spec([array_input(np.ones(2)), array_input(np.ones(2), True)], [Output("input", index=1)])
    in_place = launch(make, kernels, "copy", spec, ignore)
    numbers = launch(make, kernels, "copy", Spec([Input("complex")], [Output("complex"), Output("bool")]), ignore)
    scalar = Spec([Input("scalar", dtype=F8)], [Output("int"), Output("scalar", dtype=F8)])
    scalars = launch(make, kernels, "copy", scalar, ignore, release_gil=True)
    failing = Spec([Input("float")], [Output("array", (n,), F8) for n in (3, 2**60)])
    failing = launch(make, kernels, "copy", failing, ignore)
    a, b, two, x, z, s = np.ones(1), -np.ones(1), np.ones(2), 12345.678, complex(1, 2), np.float64(3)

    def calls():
        plain(a, x)
        plain(b, x)
        plain(a)
        plain(two, x)
        in_place(two, two)
        numbers(z)
        scalars(s)
        failing(x)

    functions = [plain, in_place, numbers, scalars, failing]
    return calls, [a, b, two, x, z, s, F8, np.ndarray, np.float64, float, complex, ignore, kernels, *functions]


def test_references_are_balanced(make, mixed_calls):
    calls, watched = mixed_calls
    for _ in range(100):
        calls()
    gc.collect()
    tracemalloc.start()
    try:
        before = [sys.getrefcount(w) for w in watched]
        start = tracemalloc.get_traced_memory()[0]
        for _ in range(100_000 if make is make_launcher else 1_000):
            calls()
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - start
        after = [sys.getrefcount(w) for w in watched]
    finally:
        tracemalloc.stop()
    assert after == before
    assert grown < 50_000  # a lost object a call would be over a megabyte; other threads allocate a little meanwhile


@pytest.mark.skipif(make_launcher not in MAKERS, reason="there is no native launcher here")
@pytest.mark.parametrize("make", [make_launcher])
def test_every_allocation_that_can_fail_is_survived(make, mixed_calls):
    testing = pytest.importorskip("_testcapi", reason="this interpreter cannot be told to run out of memory")
    calls, watched = mixed_calls
    calls()
    before = [sys.getrefcount(w) for w in watched]
    failures = 0
    for start in range(200):
        try:
            testing.set_nomemory(start, start + 1)
            calls()
        except MemoryError:
            failures += 1
        finally:
            testing.remove_mem_hooks()
    gc.collect()
    assert failures
    assert [sys.getrefcount(w) for w in watched] == before


def test_builtins_outlive_launchers_and_cycles_are_collected(make, kernels):
    class Owner:
        pass

    def cycle():
        owner = Owner()
        launcher = make("add", lambda *args: (owner, launcher))
        launcher.install(ADD, kernels.address("add"), owner=owner)
        return weakref.ref(owner), launcher.function

    owner, function = cycle()
    gc.collect()
    assert function(np.ones(1), np.ones(1)) == 2 and owner()
    del function
    gc.collect()
    assert owner() is None


# Threads, processes, and the end


def test_other_threads_run_while_a_kernel_does_that_releases_the_lock(make, kernels):
    flag = np.zeros(1, np.int64)
    spec = Spec([array_input(flag)], [Output("input", index=0)], single=True)
    f = launch(make, kernels, "wait", spec, release_gil=True)
    results = []
    thread = threading.Thread(target=lambda: results.append(f(flag)))
    thread.start()
    flag[0] = 1
    thread.join(60)
    assert results[0] is flag


def test_calls_while_kernels_are_installed(make, kernels):
    launcher = make("f", lambda *args: None)
    a, b = np.full(1, 2.0), np.full(1, 3.0)
    other = Spec([Input("float")], [Output("float"), Output("float")])
    stop, wrong = threading.Event(), []

    def call():
        while not stop.is_set():
            for _ in range(100):
                result = launcher.function(a, b)
                if result is not None and result != 5:
                    wrong.append(result)
                result = launcher.function(0.5)
                if result is not None and result != (0.5, 0.5):
                    wrong.append(result)

    threads = [threading.Thread(target=call) for _ in range(3)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for t in threads:
            t.start()
        for i in range(300):
            launcher.install(ADD, kernels.address("add"), i % 3 == 0, owner=kernels)
            launcher.install(other, kernels.address("copy"), i % 2 == 0, owner=kernels)
    finally:
        stop.set()
        sys.setswitchinterval(interval)
        for t in threads:
            t.join()
    assert not wrong


PROGRAM = f"""
import os, sys, threading, time
import numpy as np
from tnp.runtime.engine import compile_ir
from tnp.runtime.launcher import *

compiled = compile_ir({KERNELS!r}, "test_kernels")
F8 = np.dtype(float)
ONE = Input("array", (1,), (8,), F8)

def launch(kernel, spec, release_gil=False):
    launcher = make_launcher(kernel, lambda *args: "slow")
    launcher.install(spec, compiled.address(kernel), release_gil, owner=compiled)
    return launcher.function

add = launch("add", Spec([ONE, ONE], [Output("array", (1,), F8)], True))
flag = np.zeros(1, np.int64)
wait = launch("wait", Spec([Input("array", (1,), (8,), np.dtype("i8"))], [Output("input")], True), True)
"""


def run(program):
    """Runs ``PROGRAM`` and ``program`` in a process of their own."""
    if make_launcher not in MAKERS:
        pytest.skip("no native launcher")
    command = [sys.executable, "-X", "faulthandler", "-W", "ignore", "-c", PROGRAM + program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout


def test_the_interpreter_ends_while_a_kernel_runs(kernels):
    run("""
threading.Thread(target=wait, args=(flag,), daemon=True).start()
time.sleep(0.1)
""")


def test_a_kernel_ends_while_the_interpreter_does(kernels):
    run("""
threading.Thread(target=wait, args=(flag,), daemon=True).start()
time.sleep(0.1)
class Late:
    def __del__(self, flag=flag, sleep=time.sleep):
        flag[0] = 1
        sleep(0.1)
sys.late = Late()
""")


def test_builtins_are_called_and_freed_at_the_interpreters_end(kernels):
    out = run("""
class Late:
    def __del__(self, add=add, a=np.ones(1), write=os.write):
        write(1, b"%d " % add(a, a).item())
        write(1, add(a).encode())
late = sys.late = Late()
sys.add = add
del add
""")
    assert out == "2 slow"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_children_of_a_fork_can_call_and_install(kernels):
    run("""
threads = [threading.Thread(target=lambda: [launch("nothing", Spec([], [])) for _ in range(300)]) for _ in range(2)]
for t in threads:
    t.start()
for _ in range(20):
    child = os.fork()
    if not child:
        assert add(np.ones(1), np.ones(1)) == 2
        assert launch("nothing", Spec([], []))() == ()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
for t in threads:
    t.join()
""")
