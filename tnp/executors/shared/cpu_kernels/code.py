"""Helpers to write the kernels of this folder: LLVM IR for 512-bit vectors of float32."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tnp.runtime import engine, threads

__all__ = [
    "BOOLS",
    "INTS",
    "LANES",
    "SUMS",
    "VECTOR",
    "Code",
    "Kernel",
    "everywhere",
    "exp",
    "is_available",
    "transposed",
]

#: numbers in a vector, and sums in registers
LANES, SUMS = 16, 24
VECTOR, INTS, BOOLS = f"<{LANES} x float>", f"<{LANES} x i32>", f"<{LANES} x i1>"

#: exp(f) for |f| <= log(2) / 2, from the highest power down (Taylor's, the last ones adjusted: 1 ulp); log2(e), and log(2) in two parts
_POLYNOMIAL = (1 / 5040, 1 / 720, 1 / 120, 1 / 24, 1 / 6, 0.5, 1.0, 1.0)
_LOG2_E, _LOG_2 = 1.4426950408889634, (0.693359375, -2.12194440e-4)
#: added to a float32 and subtracted, it iterations; its bits; below the last number exp is 0
_ROUND, _ROUND_BITS, _LOWEST = 12582912.0, 0x4B400000, -87.0


@functools.cache
def is_available() -> bool:
    """Whether this machine has the vectors, and a compiler."""
    try:
        return engine.target().vector_bits >= 512
    except engine.Unavailable:
        return False


class Code:
    """Lines of a function. Variables are memory on the stack, which LLVM turns into registers."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.variables: list[str] = []
        self._count = 0

    def new(self, expression: str) -> str:
        """The name of a new value."""
        self._count += 1
        self.lines.append(f"  %x{self._count} = {expression}")
        return f"%x{self._count}"

    def do(self, line: str) -> None:
        self.lines.append(f"  {line}")

    def variable(self, kind: str, start: str) -> str:
        self._count += 1
        name = f"%v{self._count}"
        self.variables.append(f"  {name} = alloca {kind}, align 64")
        self.do(f"store {kind} {start}, ptr {name}")
        return name

    def array(self, size: int) -> str:
        """Memory on the stack for ``size`` numbers."""
        self._count += 1
        self.variables.append(f"  %a{self._count} = alloca float, i64 {size}, align 64")
        return f"%a{self._count}"

    def function(self, name: str, parameters: str) -> str:
        """The function of these lines, which returns nothing."""
        start = f"define internal void @{name}({parameters}) #0 {{"
        return "\n".join([start, "entry:", *self.variables, *self.lines, "  ret void", "}"])

    @contextmanager
    def loop(self, stop: str, step: str | int, start: str = "0") -> Iterator[str]:
        """``for i in range(start, stop, step)``, of at least one iteration."""
        at = self.variable("i64", start)
        self._count += 1
        label = f"loop{self._count}"
        self.do(f"br label %{label}")
        self.lines.append(f"{label}:")
        i = self.new(f"load i64, ptr {at}")
        yield i
        following = self.new(f"add i64 {i}, {step}")
        self.do(f"store i64 {following}, ptr {at}")
        again = self.new(f"icmp slt i64 {following}, {stop}")
        self.do(f"br i1 {again}, label %{label}, label %{label}.end")
        self.lines.append(f"{label}.end:")

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """What is done only where ``condition`` holds."""
        self._count += 1
        label = f"when{self._count}"
        self.do(f"br i1 {condition}, label %{label}, label %{label}.end")
        self.lines.append(f"{label}:")
        yield
        self.do(f"br label %{label}.end")
        self.lines.append(f"{label}.end:")

    def widths(self, count: str, most: int) -> Iterator[int]:
        """Each number of vectors up to ``most``, for code that is run where ``count`` numbers take as many, the last for more, too."""
        vectors = self.blocks(count, LANES)
        for n in range(1, most + 1):
            with self.when(self.new(f"icmp {'eq' if n < most else 'sge'} i64 {vectors}, {n}")):
                yield n

    def at(self, base: str, *terms: str) -> str:
        """The address of ``base``'s element at the sum of ``terms``."""
        for term in terms:
            base = self.new(f"getelementptr float, ptr {base}, i64 {term}")
        return base

    def times(self, a: str, b: str | int) -> str:
        return self.new(f"mul i64 {a}, {b}")

    def blocks(self, n: str, size: int) -> str:
        """How many blocks of ``size`` cover ``n``."""
        return self.new(f"udiv i64 {self.new(f'add i64 {n}, {size - 1}')}, {size}")

    def least(self, a: str, b: str) -> str:
        return self.new(f"call i64 @llvm.smin.i64(i64 {a}, i64 {b})")

    def most(self, a: str, b: str) -> str:
        return self.new(f"call i64 @llvm.smax.i64(i64 {a}, i64 {b})")

    def vector(self, address: str) -> str:
        return self.new(f"load {VECTOR}, ptr {address}, align 4")

    def everywhere(self, kind: str, x: str) -> str:
        """A vector of one number."""
        one = self.new(f"insertelement <{LANES} x {kind}> poison, {kind} {x}, i64 0")
        zeros = f"<{LANES} x i32> zeroinitializer"
        return self.new(f"shufflevector <{LANES} x {kind}> {one}, <{LANES} x {kind}> poison, {zeros}")

    def broadcast(self, address: str) -> str:
        return self.everywhere("float", self.new(f"load float, ptr {address}, align 4"))

    def store(self, x: str, address: str) -> None:
        self.do(f"store {VECTOR} {x}, ptr {address}, align 4")

    def fma(self, a: str, b: str, c: str) -> str:
        return self.new(f"call {VECTOR} @llvm.fma.v{LANES}f32({VECTOR} {a}, {VECTOR} {b}, {VECTOR} {c})")

    def products(
        self, rows: int, vectors: int, stop: str, weight: Callable[[int, str], str], row: Callable[[str], str], start: str = "0"
    ) -> list[list[str]]:  # fmt: skip
        """For each of ``rows`` the sum over ``i`` from ``start`` to ``stop``, one at least, of the number at ``weight(r, i)`` times the ``vectors``
        at ``row(i)``. All sums are in registers: :data:`SUMS` of them, and a row of vectors, fill these."""
        sums = [[self.variable(VECTOR, "zeroinitializer") for _ in range(vectors)] for _ in range(rows)]
        with self.loop(stop, 1, start) as i:
            at = row(i)
            numbers = [self.vector(self.at(at, str(LANES * n))) for n in range(vectors)]
            for r in range(rows):
                x = self.broadcast(weight(r, i))
                for n in range(vectors):
                    made = self.fma(x, numbers[n], self.new(f"load {VECTOR}, ptr {sums[r][n]}"))
                    self.do(f"store {VECTOR} {made}, ptr {sums[r][n]}")
        return [[self.new(f"load {VECTOR}, ptr {x}") for x in row_of_sums] for row_of_sums in sums]


def everywhere(x: float) -> str:
    """A constant vector."""
    bits = ctypes.c_uint64.from_buffer(ctypes.c_double(ctypes.c_float(x).value)).value
    return f"splat (float 0x{bits:016X})"


def exp(c: Code, x: str) -> str:
    """exp(x) of numbers that are not above 0; NaN stays NaN."""
    low = c.new(f"fcmp olt {VECTOR} {x}, {everywhere(_LOWEST)}")
    y = c.new(f"select {BOOLS} {low}, {VECTOR} {everywhere(_LOWEST)}, {VECTOR} {x}")
    shifted = c.fma(y, everywhere(_LOG2_E), everywhere(_ROUND))
    n = c.new(f"fsub {VECTOR} {shifted}, {everywhere(_ROUND)}")
    f = c.fma(n, everywhere(-_LOG_2[0]), y)
    f = c.fma(n, everywhere(-_LOG_2[1]), f)
    p = everywhere(_POLYNOMIAL[0])
    for coefficient in _POLYNOMIAL[1:]:
        p = c.fma(p, f, everywhere(coefficient))
    bits = c.new(f"bitcast {VECTOR} {shifted} to {INTS}")
    bits = c.new(f"add {INTS} {bits}, splat (i32 {127 - _ROUND_BITS})")
    bits = c.new(f"shl {INTS} {bits}, splat (i32 23)")
    power = c.new(f"bitcast {INTS} {bits} to {VECTOR}")
    found = c.new(f"fmul {VECTOR} {p}, {power}")
    return c.new(f"select {BOOLS} {low}, {VECTOR} zeroinitializer, {VECTOR} {found}")


def transposed(c: Code, block: list[str]) -> list[str]:
    """A square of vectors, transposed: halves, quarters, … change places."""
    block = list(block)
    width = LANES // 2
    while width:
        lower = [j if not j & width else LANES + j - width for j in range(LANES)]
        upper = [j + width if not j & width else LANES + j for j in range(LANES)]
        for i in range(LANES):
            if not i & width:
                pair = f"{VECTOR} {block[i]}, {VECTOR} {block[i + width]}"
                block[i], block[i + width] = (
                    c.new(f"shufflevector {pair}, {INTS} <{', '.join(f'i32 {n}' for n in order)}>")
                    for order in (lower, upper)
                )
        width //= 2
    return block


_DECLARED = f"""
declare void @tnp_parallel(ptr, ptr, i64, i64)
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare {VECTOR} @llvm.fma.v{LANES}f32({VECTOR}, {VECTOR}, {VECTOR})
declare float @llvm.vector.reduce.fmax.v{LANES}f32({VECTOR})
declare float @llvm.vector.reduce.fadd.v{LANES}f32(float, {VECTOR})
"""


class Kernel:
    """Machine code of ``functions`` that calls ``function(context, item)``, one of them, for each item, on several threads."""

    def __init__(self, name: str, functions: str, function: str) -> None:
        threads.ensure_runtime()
        self._compiled = engine.compile_ir(_module(functions, function), name)
        kinds = (ctypes.c_void_p, ctypes.c_int64)
        self._call = ctypes.CFUNCTYPE(None, *kinds)(self._compiled.address("over_items"))

    def __call__(self, context: ctypes.Array[ctypes.c_uint64], count: int) -> None:
        self._call(ctypes.addressof(context), count)


def _module(functions: str, function: str) -> str:
    return f"""{_DECLARED}
{functions}

define internal void @part(ptr %context, i64 %begin, i64 %end) #0 {{
entry:
  %none = icmp sge i64 %begin, %end
  br i1 %none, label %done, label %loop
loop:
  %i = phi i64 [ %begin, %entry ], [ %next, %loop ]
  call void @{function}(ptr %context, i64 %i)
  %next = add i64 %i, 1
  %again = icmp slt i64 %next, %end
  br i1 %again, label %loop, label %done
done:
  ret void
}}

define void @over_items(ptr %context, i64 %count) #0 {{
  call void @tnp_parallel(ptr @part, ptr %context, i64 %count, i64 1)
  ret void
}}

attributes #0 = {{ noinline "prefer-vector-width"="512" "min-legal-vector-width"="512" }}
"""
