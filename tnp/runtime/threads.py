"""Parallel loops in native code, on the OpenMP runtime that the process already has.

A second thread pool beside torch's would compete for the cores. So kernels use torch's OpenMP runtime if torch is
loaded, otherwise the system's, otherwise another loaded one. They call it through ``GOMP_parallel``, which
GNU's, LLVM's and Intel's runtimes all export. Without a runtime, loops run on the calling thread.

Kernels call the symbol that ``ensure_runtime`` defines:

    void tnp_parallel(ptr body, ptr context, i64 n, i64 grain)      with      void body(ptr context, i64 begin, i64 end)

It splits [0, n) into contiguous parts of equal size, at least ``grain`` each, over as many threads as

- ``set_num_threads`` allows: at first ``OMP_NUM_THREADS``, else the cores that this process may run on;
- the runtime allows the calling thread (``omp_get_max_threads``), so that limits set through threadpoolctl or
  ``torch.set_num_threads`` hold;
- leave room for parallel loops that other Python threads run at this moment.

``tnp_parallel_from(body, context, first, n, grain)`` is the same for [first, first + n): a part of a long loop, after
which Ctrl-C is looked for.

A loop inside a parallel region, of tnp's or of anyone's, runs on the thread it is in. So does every loop in a forked
child: an OpenMP pool does not survive ``fork``, and waiting for its threads would hang.

A thread takes its part in pieces, of ``grain`` or more, and then pieces that others have not begun. So iterations may take different
times, and a thread may have a core for some of the time only: BLAS's threads stay awake for some 30 ms after a product.

A call takes 0.9 µs more than the body when two threads wait for work, and 6 ns when one thread is enough.

**Late threads.** Where others have the cores, a thread may get one only after some milliseconds, and the loop waits for it. So each
loop measures whether the calling thread, which did so much of the work in so much time, would have done all of it sooner. If so, the next
loops run on it alone, unless they are long: for sixteen times what was lost, but at most 50 ms.
"""

from __future__ import annotations

import ctypes
import operator
import os
import re
import sys
import time
from typing import Any

from tnp.runtime import engine, environment, locks

__all__ = ["ensure_runtime", "get_num_threads", "set_num_threads"]

#: what is needed of an OpenMP runtime, in the order of ``%runtime`` below
_ENTRIES = ("GOMP_parallel", "omp_get_max_threads", "omp_in_parallel", "omp_get_thread_num", "omp_get_num_threads")

_SYSTEM_RUNTIMES = {
    "linux": ("libgomp.so.1", "libomp.so.5", "libiomp5.so"),
    "darwin": ("libomp.dylib", "libiomp5.dylib", "libgomp.1.dylib"),
}

#: How often a thread of GNU's runtime looks for work before it sleeps: about half a millisecond. By itself it would look for some 17 ms, in
#: which it takes a core from BLAS's threads, which are others, and from other processes.
SPINS = 10_000

#: wheels add a hash to the name
_RUNTIME_FILE = re.compile(r"lib(gomp|iomp5|omp)\b.*\.(so|dylib)[.\d]*")

#: into how many pieces a thread's part is cut
PIECES = 4
#: how many nanoseconds a loop may lose without its threads being late, and loops of how many grains do not wait for late threads to be
#: punctual
SLACK, LONG_LOOP = 20_000, 512
#: for how many nanoseconds one thread is enough after threads were late, at most
MOST_ALONE = 50_000_000

_IR = """
%runtime = type { ptr, ptr, ptr, ptr, ptr }  ; GOMP_parallel, max_threads, in_parallel, thread_num, num_threads
%state = type { i64, i64, ptr, i64 }         ; threads allowed, loops running now, the runtime or null, and until when loops are to run
                                             ; on one thread, or 0
%cursor = type { i64, [7 x i64] }            ; how many pieces of a thread's part are taken, in a cache line of its own
%loop = type { ptr, ptr, i64, ptr, i64, i64, ptr, i64, i64 }  ; body, context, n, the runtime, first, grain, cursors, how much the
                                                              ; calling thread did, and until when
%time = type { i64, i64 }                    ; seconds, nanoseconds

@state = internal global %state { i64 1, i64 0, ptr null, i64 0 }

declare i32 @tnp_clock_gettime(i32, ptr) nounwind

define internal i64 @now() nounwind {
  %time = alloca %time
  %failed = call i32 @tnp_clock_gettime(i32 CLOCK, ptr %time)
  %s = load i64, ptr %time
  %ns.at = getelementptr %time, ptr %time, i64 0, i32 1
  %ns = load i64, ptr %ns.at
  %s.ns = mul i64 %s, 1000000000
  %all = add i64 %s.ns, %ns
  ret i64 %all
}

; after a loop on some threads: whether the next ones run on one
define internal void @judge(ptr %loop, i64 %n, i64 %start) nounwind {
  %now = call i64 @now()
  %took = sub i64 %now, %start
  %done.at = getelementptr %loop, ptr %loop, i64 0, i32 7
  %done = load i64, ptr %done.at
  %ended.at = getelementptr %loop, ptr %loop, i64 0, i32 8
  %ended = load i64, ptr %ended.at
  %own.ns = sub i64 %ended, %start
  %own = uitofp i64 %own.ns to double
  %all.n = uitofp i64 %n to double
  %own.n = uitofp i64 %done to double
  %share = fdiv double %all.n, %own.n
  %alone.ns = fmul double %own, %share
  %alone.1 = fcmp olt double %alone.ns, 1.0e15
  %alone.2 = select i1 %alone.1, double %alone.ns, double 1.0e15
  %alone = fptoui double %alone.2 to i64
  %lost = sub i64 %took, %alone
  %is.late = icmp sgt i64 %lost, SLACK
  %worth = shl i64 %lost, 4
  %most = call i64 @llvm.smin.i64(i64 %worth, i64 MOST_ALONE)
  %then = add i64 %now, %most
  %until = select i1 %is.late, i64 %then, i64 0
  %until.at = getelementptr %state, ptr @state, i64 0, i32 3
  store atomic i64 %until, ptr %until.at monotonic, align 8
  ret void
}

define ptr @tnp_parallel_state() nounwind {
  ret ptr @state
}

define void @tnp_parallel(ptr %body, ptr %context, i64 %n, i64 %grain) nounwind {
  tail call void @tnp_parallel_from(ptr %body, ptr %context, i64 0, i64 %n, i64 %grain)
  ret void
}

define void @tnp_parallel_from(ptr %body, ptr %context, i64 %first, i64 %n, i64 %grain) nounwind {
entry:
  %loop = alloca %loop
  %allowed = load atomic i64, ptr @state monotonic, align 8
  %few = icmp sle i64 %allowed, 1
  %grain.1 = call i64 @llvm.smax.i64(i64 %grain, i64 1)
  %parts = sdiv i64 %n, %grain.1
  %small = icmp sle i64 %parts, 1
  %alone = or i1 %few, %small
  br i1 %alone, label %serial, label %find

find:
  %runtime.at = getelementptr %state, ptr @state, i64 0, i32 2
  %runtime = load atomic ptr, ptr %runtime.at acquire, align 8
  %none = icmp eq ptr %runtime, null
  br i1 %none, label %serial, label %ask

ask:
  %in.at = getelementptr %runtime, ptr %runtime, i64 0, i32 2
  %in = load ptr, ptr %in.at
  %nested = call i32 %in()
  %is.nested = icmp ne i32 %nested, 0
  br i1 %is.nested, label %serial, label %share

share:
  %running.at = getelementptr %state, ptr @state, i64 0, i32 1
  %others = atomicrmw add ptr %running.at, i64 1 monotonic
  %sharers = add i64 %others, 1
  %fair = udiv i64 %allowed, %sharers
  %max.at = getelementptr %runtime, ptr %runtime, i64 0, i32 1
  %max = load ptr, ptr %max.at
  %limit = call i32 %max()
  %limit.64 = sext i32 %limit to i64
  %threads.0 = call i64 @llvm.smin.i64(i64 %fair, i64 %limit.64)
  %threads = call i64 @llvm.smin.i64(i64 %threads.0, i64 %parts)
  %one = icmp sle i64 %threads, 1
  br i1 %one, label %leave.serial, label %wait

wait:
  %until.at = getelementptr %state, ptr @state, i64 0, i32 3
  %until = load atomic i64, ptr %until.at monotonic, align 8
  %were.late = icmp ne i64 %until, 0
  %is.short = icmp slt i64 %parts, LONG_LOOP
  %may.go.alone = and i1 %were.late, %is.short
  br i1 %may.go.alone, label %look, label %fork

look:
  %clock = call i64 @now()
  %still = icmp slt i64 %clock, %until
  br i1 %still, label %leave.serial, label %fork

fork:
  store ptr %body, ptr %loop
  %context.at = getelementptr %loop, ptr %loop, i64 0, i32 1
  store ptr %context, ptr %context.at
  %n.at = getelementptr %loop, ptr %loop, i64 0, i32 2
  store i64 %n, ptr %n.at
  %its.runtime.at = getelementptr %loop, ptr %loop, i64 0, i32 3
  store ptr %runtime, ptr %its.runtime.at
  %first.at = getelementptr %loop, ptr %loop, i64 0, i32 4
  store i64 %first, ptr %first.at
  %grain.at = getelementptr %loop, ptr %loop, i64 0, i32 5
  store i64 %grain.1, ptr %grain.at
  %cursors = alloca %cursor, i64 %threads, align 64
  %bytes = shl i64 %threads, 6
  call void @llvm.memset.p0.i64(ptr align 64 %cursors, i8 0, i64 %bytes, i1 false)
  %cursors.at = getelementptr %loop, ptr %loop, i64 0, i32 6
  store ptr %cursors, ptr %cursors.at
  %start = call i64 @now()
  %parallel = load ptr, ptr %runtime
  %threads.32 = trunc i64 %threads to i32
  call void %parallel(ptr @work, ptr %loop, i32 %threads.32, i32 0)
  call void @judge(ptr %loop, i64 %n, i64 %start)
  %left = atomicrmw sub ptr %running.at, i64 1 monotonic
  ret void

leave.serial:
  %left.too = atomicrmw sub ptr %running.at, i64 1 monotonic
  br label %serial

serial:
  %last = add i64 %first, %n
  call void %body(ptr %context, i64 %first, i64 %last)
  ret void
}

; what a thread of a loop does; the team may be smaller than requested
define internal void @work(ptr %loop) nounwind {
entry:
  %body = load ptr, ptr %loop
  %context.at = getelementptr %loop, ptr %loop, i64 0, i32 1
  %context = load ptr, ptr %context.at
  %n.at = getelementptr %loop, ptr %loop, i64 0, i32 2
  %n = load i64, ptr %n.at
  %runtime.at = getelementptr %loop, ptr %loop, i64 0, i32 3
  %runtime = load ptr, ptr %runtime.at
  %first.at = getelementptr %loop, ptr %loop, i64 0, i32 4
  %first = load i64, ptr %first.at
  %grain.at = getelementptr %loop, ptr %loop, i64 0, i32 5
  %grain = load i64, ptr %grain.at
  %cursors.at = getelementptr %loop, ptr %loop, i64 0, i32 6
  %cursors = load ptr, ptr %cursors.at
  %number.at = getelementptr %runtime, ptr %runtime, i64 0, i32 3
  %number = load ptr, ptr %number.at
  %me.32 = call i32 %number()
  %me = sext i32 %me.32 to i64
  %team.at = getelementptr %runtime, ptr %runtime, i64 0, i32 4
  %team = load ptr, ptr %team.at
  %all.32 = call i32 %team()
  %all = sext i32 %all.32 to i64
  %each = sdiv i64 %n, %all
  %rest = srem i64 %n, %all
  %grains = sdiv i64 %each, %grain
  %few = call i64 @llvm.smin.i64(i64 %grains, i64 PIECES)
  %pieces = call i64 @llvm.smax.i64(i64 %few, i64 1)
  %piece = sdiv i64 %each, %pieces
  %last.piece = sub i64 %pieces, 1
  br label %part

part:                                        ; of this thread first, then of the ones behind it
  %shift = phi i64 [ 0, %entry ], [ %shift.next, %next ]
  %done = phi i64 [ 0, %entry ], [ %done.now, %next ]
  %behind = add i64 %me, %shift
  %who = urem i64 %behind, %all
  %before = mul i64 %who, %each
  %longer.before = call i64 @llvm.smin.i64(i64 %who, i64 %rest)
  %begin = add i64 %before, %longer.before
  %longer = icmp slt i64 %who, %rest
  %extra = zext i1 %longer to i64
  %length = add i64 %each, %extra
  %origin = add i64 %first, %begin
  %cursor = getelementptr %cursor, ptr %cursors, i64 %who
  br label %take

take:
  %done.now = phi i64 [ %done, %part ], [ %done.more, %run ]
  %number.taken = atomicrmw add ptr %cursor, i64 1 monotonic
  %some = icmp slt i64 %number.taken, %pieces
  br i1 %some, label %run, label %next

run:
  %at = mul i64 %number.taken, %piece
  %left = sub i64 %length, %at
  %is.last = icmp eq i64 %number.taken, %last.piece
  %size = select i1 %is.last, i64 %left, i64 %piece
  %from = add i64 %origin, %at
  %to = add i64 %from, %size
  call void %body(ptr %context, i64 %from, i64 %to)
  %done.more = add i64 %done.now, %size
  br label %take

next:
  %shift.next = add i64 %shift, 1
  %more = icmp slt i64 %shift.next, %all
  br i1 %more, label %part, label %end

end:
  %is.first = icmp eq i64 %me, 0
  br i1 %is.first, label %note, label %leave

note:
  %ended = call i64 @now()
  %done.at = getelementptr %loop, ptr %loop, i64 0, i32 7
  store i64 %done.now, ptr %done.at
  %ended.at = getelementptr %loop, ptr %loop, i64 0, i32 8
  store i64 %ended, ptr %ended.at
  br label %leave

leave:
  ret void
}

declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""


class _State(ctypes.Structure):
    """``%state`` above."""

    _fields_ = (
        ("threads", ctypes.c_int64),
        ("running", ctypes.c_int64),
        ("runtime", ctypes.c_void_p),
        ("alone_until", ctypes.c_int64),
    )


def _initial() -> int:
    """The number of threads that the environment sets, otherwise the cores that the process may run on."""
    for name in ("TNP_NUM_THREADS", "OMP_NUM_THREADS"):
        # OMP_NUM_THREADS may be a list, a number for each level of nesting
        asked = environment.text(name).split(",")[0].strip()
        if asked.isdecimal() and int(asked) > 0:
            return int(asked)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_lock = locks.lock()
_threads = _initial()
_forked = False
_compiled: engine.Compiled | None = None
_state: _State | None = None
_torch_seen = False
#: the runtimes ever handed to native code: ``%runtime`` structures that it may be reading, and what keeps them loaded
_runtimes: list[tuple[Any, Any]] = []


def set_num_threads(n: int) -> None:
    """Sets how many threads a compiled loop may use.

    Fewer run where a loop is short, where the OpenMP runtime allows fewer (``OMP_NUM_THREADS``, threadpoolctl), and in
    a forked child, which runs on one. Results do not depend on it, to the last bit.

    >>> import tnp
    >>> before = tnp.get_num_threads()
    >>> tnp.set_num_threads(1)
    >>> tnp.get_num_threads()
    1
    >>> tnp.set_num_threads(before)
    """
    global _threads
    n = operator.index(n)
    if n < 1:
        raise ValueError(f"the number of threads must be at least 1, not {n}")
    with _lock:
        if _forked:
            return
        _threads = n
        if _state is not None:
            _state.threads = n


def get_num_threads() -> int:
    """How many threads a compiled loop may use; see ``set_num_threads``."""
    return _threads


def ensure_runtime() -> None:
    """Defines ``tnp_parallel`` for the code compiled from now on. Raises ``Unavailable`` without a compiler.

    To be called before each module that uses the symbol is compiled: when torch has been imported since the last call,
    loops move to its runtime.
    """
    global _compiled, _state, _torch_seen
    with _lock:
        torch_loaded = "torch" in sys.modules
        if _state is not None and torch_loaded == _torch_seen:
            return
        if _state is None:
            engine.define_symbol("tnp_clock_gettime", _clock())
            _compiled = engine.compile_ir(_ir(), "tnp_parallel")
            for name in ("tnp_parallel", "tnp_parallel_from"):
                engine.define_symbol(name, _compiled.address(name))
            where = ctypes.CFUNCTYPE(ctypes.c_void_p)(_compiled.address("tnp_parallel_state"))()
            state = _State.from_address(where)
            state.threads = _threads
            _state = state
        found = _find_runtime()
        if found is not None:
            _runtimes.append(found)
            _state.runtime = ctypes.addressof(found[0])
        _torch_seen = torch_loaded


def _ir() -> str:
    """The module of parallel loops."""
    text = _IR.replace("CLOCK,", f"{getattr(time, 'CLOCK_MONOTONIC', 1)},")
    for name, value in {"SLACK": SLACK, "LONG_LOOP": LONG_LOOP, "MOST_ALONE": MOST_ALONE, "PIECES": PIECES}.items():
        text = text.replace(name, str(value))
    return text


def _clock() -> int:
    """The address of ``clock_gettime``; where there is none, there is no runtime either, and nothing calls it."""
    found = getattr(ctypes.CDLL(None), "clock_gettime", None) if hasattr(os, "RTLD_NOW") else None
    return ctypes.cast(found, ctypes.c_void_p).value or 0 if found is not None else 0


def _find_runtime() -> tuple[Any, Any] | None:
    """The entry points of the runtime to use, as native code reads them, and its library."""
    if not hasattr(os, "RTLD_NOW"):
        return None  # Windows: its OpenMP runtimes have other entry points
    for name in _candidates():
        try:
            library = _load(name)
            entries = [ctypes.cast(getattr(library, entry), ctypes.c_void_p).value for entry in _ENTRIES]
        except (OSError, AttributeError):
            continue
        return (ctypes.c_void_p * len(entries))(*entries), library
    return None


def _load(name: str) -> Any:
    """A library; GNU's runtime, where it comes into the process by this, with threads that wait for work asleep after :data:`SPINS`.

    It reads its environment as it is loaded. What the user has set there holds.
    """
    if environment.text("GOMP_SPINCOUNT") or environment.text("OMP_WAIT_POLICY"):
        return ctypes.CDLL(name)
    with locks.importing, environment.temporarily("GOMP_SPINCOUNT", str(SPINS)):
        return ctypes.CDLL(name)


def _candidates() -> list[str]:
    """The OpenMP runtimes that may be used: torch's, the system's, and those that other packages bring.

    The threads of the latter wait awake for some 17 ms after each loop, in which BLAS's threads find no core.
    """
    paths = sorted(path for path in _loaded_libraries() if _RUNTIME_FILE.fullmatch(os.path.basename(path)))
    torch_file = getattr(sys.modules.get("torch"), "__file__", None)
    of_torch: tuple[str, ...] = ()
    if torch_file is not None:
        folder = os.path.dirname(os.path.realpath(torch_file))
        of_torch = (folder + os.sep, folder + ".libs" + os.sep)  # where its wheels keep the runtime
    torchs = [path for path in paths if path.startswith(of_torch)] if of_torch else []
    return list(dict.fromkeys([*torchs, *_SYSTEM_RUNTIMES.get(sys.platform, ()), *paths]))


def _loaded_libraries() -> list[str]:
    """The files mapped into this process."""
    try:
        with open("/proc/self/maps") as maps:
            return [line.split(maxsplit=5)[5].rstrip("\n") for line in maps if "/" in line]
    except OSError:
        pass
    try:  # macOS: the dynamic linker can be asked
        process = ctypes.CDLL(None)
        name_of = process._dyld_get_image_name
        name_of.restype = ctypes.c_char_p
        return [os.fsdecode(name_of(i) or b"") for i in range(process._dyld_image_count())]
    except (AttributeError, OSError, TypeError):
        return []


@locks.in_child
def _after_fork_in_child() -> None:
    """The parent's pool is not here, and the counts of its other threads never come free."""
    global _threads, _forked
    _threads = 1
    _forked = True
    if _state is not None:
        _state.threads = 1
        _state.running = _state.alone_until = 0
        _state.runtime = None
