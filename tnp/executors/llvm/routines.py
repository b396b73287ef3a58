"""Routines for rows and small matrices: functions of LLVM IR that work in place.

``sort``
    A row in order, NaN last: by insertion, of long rows first of elements that are far apart (Shell's sort).
``eliminate``
    Gaussian elimination with partial pivoting, of a matrix of ``n`` rows and ``n`` columns or more. The first ``n``
    columns become an upper triangle, whose diagonal's product is the determinant: of rows that are exchanged, one
    changes its sign. Below it are the factors of the rows. The other columns become what solves the equations whose
    right sides they are. A column without a pivot has a zero on the diagonal.
``cholesky``
    The lower factor of a real symmetric matrix, whose lower triangle is read; zeros above. If the matrix is not positive
    definite, some element of the diagonal is not greater than 0.

Matrices are row-major. LAPACK blocks for caches and takes a microsecond where these take tens of nanoseconds. Results
differ in the last bits. Eigenvalues, singular values and orthogonal factors are LAPACK's
(:mod:`~tnp.executors.llvm.lapack`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tnp.core import dtypes
from tnp.core.dtypes import DType
from tnp.executors.llvm import lapack, scalars
from tnp.executors.llvm.code import Code, extreme
from tnp.executors.llvm.scalars.registers import Value

__all__ = ["ROUTINES", "Row", "routine"]

#: the first number of the metadata of loops along rows, and what their accesses are told
GROUP = 30_000_000
APART = f", !llvm.access.group !{GROUP}"
#: the least number whose reciprocal is no infinity, by bits
SMALLEST = {32: 2.0**-126, 64: 2.0**-1022}


def routine(code: Code, op: str, dtype: DType) -> str:
    """The name of the function ``void f(ptr first, i64 rows, i64 columns)``, which the module of ``code`` has now; of a row, ``f(first,
    length, 1)``."""
    name = f"@{op}.{dtype.name}"
    if not code.has(name):
        made = _Routine(code, dtype)
        ROUTINES[op].write(made)
        made.code.line("ret void")
        code.require(name, f"define internal void {name}(ptr %m, i64 %n, i64 %w) #0 {{\nentry:\n{made.code.text()}\n}}")
    return name


class _Routine:
    """The code of a function, and its loops and accesses."""

    def __init__(self, module: Code, dtype: DType) -> None:
        self.code = Code(module)
        self.dtype = dtype
        self.real = dtypes.real_counterpart(dtype)

    @contextmanager
    def loop(self, begin: str, end: str, *, over_rows: bool = False) -> Iterator[str]:
        """``for i in range(begin, end)``; one ``over_rows`` goes along rows that are not the same."""
        code = self.code
        before, head, inside, done = code.current, code.label("loop"), code.label("do"), code.label("done")
        code.line(f"br label %{head}")
        code.block(head)
        at, i = len(code.lines), code.temp("i")
        code.line("")
        more = code.op(f"icmp slt i64 {i}, {end}")
        code.line(f"br i1 {more}, label %{inside}, label %{done}")
        code.block(inside)
        yield i
        following = code.op(f"add nuw nsw i64 {i}, 1")
        code.lines[at] = f"  {i} = phi i64 [ {begin}, %{before} ], [ {following}, %{code.current} ]"
        hint = ""
        if over_rows:
            code.require(
                "along rows", f'!{GROUP} = distinct !{{}}\n!{GROUP + 1} = !{{!"llvm.loop.parallel_accesses", !{GROUP}}}'
            )
            number = GROUP + 2
            while code.has(f"loop {number}"):
                number += 1
            code.require(f"loop {number}", f"!{number} = distinct !{{!{number}, !{GROUP + 1}}}")
            hint = f", !llvm.loop !{number}"
        code.line(f"br label %{head}{hint}")
        code.block(done)

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        code = self.code
        inside, onward = code.label("then"), code.label("onward")
        code.line(f"br i1 {condition}, label %{inside}, label %{onward}")
        code.block(inside)
        yield
        code.line(f"br label %{onward}")
        code.block(onward)

    @contextmanager
    def while_(self, condition: Callable[[], str]) -> Iterator[None]:
        """``while condition()``."""
        code = self.code
        head, inside, done = code.label("while"), code.label("do"), code.label("done")
        code.line(f"br label %{head}")
        code.block(head)
        code.line(f"br i1 {condition()}, label %{inside}, label %{done}")
        code.block(inside)
        yield
        code.line(f"br label %{head}")
        code.block(done)

    def variable(self, type_: str) -> str:
        """The place of a variable."""
        return self.code.op(f"alloca {type_}, align 8")

    def after(self, i: str) -> str:
        return self.code.op(f"add nuw nsw i64 {i}, 1")

    def place(self, i: str, j: str) -> str:
        """Where an element is."""
        code = self.code
        index = code.op(f"add nuw nsw i64 {code.op(f'mul nuw nsw i64 {i}, %w')}, {j}")
        return code.op(f"getelementptr [{self.dtype.itemsize} x i8], ptr %m, i64 {index}")

    def get(self, i: str, j: str, told: str = "") -> Value:
        return scalars.load(self.code, self.place(i, j), self.dtype, told)

    def put(self, i: str, j: str, value: Value, told: str = "") -> None:
        scalars.store(self.code, value, self.place(i, j), self.dtype, told)

    def apply(self, name: str, *args: Value) -> Any:
        return scalars.emit(self.code, name, list(args), self.dtype)

    def subtract_product(self, i: str, j: str, a: Value, b: Value) -> None:
        """``m[i, j] -= a * b``."""
        self.put(i, j, self.apply("sub", self.get(i, j), self.apply("mul", a, b)))

    def magnitude(self, x: Value) -> str:
        """How large an element is: of a complex one, the sum of its parts' magnitudes, as in LAPACK."""
        if isinstance(x, str):
            return str(self.apply("abs", x))
        parts = [scalars.emit(self.code, "abs", [part], self.real) for part in x]
        return str(scalars.emit(self.code, "add", parts, self.real))


def _eliminate(r: _Routine) -> None:
    """In LAPACK's steps (``getf2`` of OpenBLAS), column by column: a matrix that is singular but for rounding is found to be so there and here."""
    code, type_ = r.code, scalars.register_type(r.real)
    best, row = r.variable(type_), r.variable("i64")
    total = r.variable(f"[{r.dtype.itemsize} x i8]")
    with r.loop("0", "%n") as j:
        with r.loop("1", "%n") as i:
            scalars.store(code, scalars.constant(0, r.dtype), total, r.dtype, "")
            with r.loop("0", extreme(code, "smin", i, j)) as k:
                product = r.apply("mul", r.get(i, k), r.get(k, j))
                so_far = scalars.load(code, total, r.dtype, "")
                scalars.store(code, r.apply("add", so_far, product), total, r.dtype, "")
            r.put(i, j, r.apply("sub", r.get(i, j), scalars.load(code, total, r.dtype, "")))
        below = r.after(j)
        code.line(f"store {type_} {r.magnitude(r.get(j, j))}, ptr {best}")
        code.line(f"store i64 {j}, ptr {row}")
        with r.loop(below, "%n") as i:
            size = r.magnitude(r.get(i, j))
            larger = code.op(f"fcmp ogt {type_} {size}, {code.op(f'load {type_}, ptr {best}')}")
            with r.when(larger):
                code.line(f"store {type_} {size}, ptr {best}")
                code.line(f"store i64 {i}, ptr {row}")
        other = code.op(f"load i64, ptr {row}")
        with r.when(code.op(f"icmp ne i64 {other}, {j}")), r.loop("0", "%w") as k:
            here, there = r.get(j, k), r.get(other, k)
            r.put(j, k, there)
            r.put(other, k, r.apply("neg", here))
        pivot = r.get(j, j)
        size = code.op(f"load {type_}, ptr {best}")
        smallest = scalars.constant(SMALLEST[r.real.bits], r.real)
        with r.when(code.op(f"fcmp uge {type_} {size}, {smallest}")):
            reciprocal = r.apply("div", scalars.constant(1, r.dtype), pivot)
            with r.loop(below, "%n") as i:
                r.put(i, j, r.apply("mul", r.get(i, j), reciprocal))
        tiny = code.op(f"fcmp olt {type_} {size}, {smallest}")
        with r.when(code.op(f"and i1 {tiny}, {code.op(f'fcmp one {type_} {size}, 0.0')}")), r.loop(below, "%n") as i:
            r.put(i, j, r.apply("div", r.get(i, j), pivot))
    with r.when(code.op("icmp slt i64 %n, %w")):
        with r.loop("1", "%n") as i, r.loop("0", i) as k:
            _subtract_row(r, i, k)
        with r.loop("0", "%n") as back:
            i = code.op(f"sub nsw i64 {code.op('sub nsw i64 %n, 1')}, {back}")
            with r.loop(r.after(i), "%n") as k:
                _subtract_row(r, i, k)
            pivot = r.get(i, i)
            with r.loop("%n", "%w") as j:
                r.put(i, j, r.apply("div", r.get(i, j), pivot))


def _subtract_row(r: _Routine, i: str, k: str) -> None:
    """``m[i, n:] -= m[i, k] * m[k, n:]``."""
    factor = r.get(i, k)
    with r.loop("%n", "%w", over_rows=True) as j:
        product = r.apply("mul", factor, r.get(k, j, APART))
        r.put(i, j, r.apply("sub", r.get(i, j, APART), product), APART)


def _cholesky(r: _Routine) -> None:
    zero = scalars.constant(0, r.dtype)
    with r.loop("0", "%n") as j:
        with r.loop("0", j) as k:
            mine = r.get(j, k)
            with r.loop(j, "%n") as i:
                r.subtract_product(i, j, r.get(i, k), mine)
        corner = r.get(j, j)
        root = r.apply("sqrt", corner)
        r.put(j, j, root)
        with r.loop(r.after(j), "%n") as i:
            r.put(i, j, r.apply("div", r.get(i, j), root))
            r.put(j, i, zero)


def _sort(r: _Routine) -> None:
    code = r.code
    gap, place = r.variable("i64"), r.variable("i64")
    code.line(f"store i64 1, ptr {gap}")
    with r.while_(lambda: code.op(f"icmp slt i64 {code.op(f'mul i64 {_value(code, gap)}, 9')}, %n")):
        larger = code.op(f"mul i64 {_value(code, gap)}, 3")
        code.line(f"store i64 {code.op(f'add i64 {larger}, 1')}, ptr {gap}")
    with r.while_(lambda: code.op(f"icmp sgt i64 {_value(code, gap)}, 0")):
        step = _value(code, gap)
        with r.loop(step, "%n") as i:
            x = r.get(i, "0")
            code.line(f"store i64 {i}, ptr {place}")

            def goes_on(step: str = step, x: Value = x) -> str:
                """Whether there is an element before this place, which is behind ``x``. The first is compared with itself."""
                at = _value(code, place)
                inside = code.op(f"icmp sge i64 {at}, {step}")
                before = code.op(f"select i1 {inside}, i64 {code.op(f'sub i64 {at}, {step}')}, i64 0")
                return code.op(f"and i1 {inside}, {_is_less(r, x, r.get(before, '0'))}")

            with r.while_(goes_on):
                at = _value(code, place)
                before = code.op(f"sub i64 {at}, {step}")
                r.put(at, "0", r.get(before, "0"))
                code.line(f"store i64 {before}, ptr {place}")
            r.put(_value(code, place), "0", x)
        code.line(f"store i64 {code.op(f'udiv i64 {step}, 3')}, ptr {gap}")


def _value(code: Code, place: str) -> str:
    return code.op(f"load i64, ptr {place}")


def _is_less(r: _Routine, a: Value, b: Value) -> str:
    less = str(r.apply("lt", a, b))
    if r.dtype.kind != "f":
        return less
    is_nan, nan_behind = r.apply("isnan", a), r.apply("isnan", b)
    number = r.code.op(f"xor i1 {is_nan}, true")
    return r.code.op(f"or i1 {less}, {r.code.op(f'and i1 {number}, {nan_behind}')}")


@dataclass(frozen=True)
class Row:
    """A row of the table: what writes a routine, of how many dimensions, the kinds of dtypes that it takes, and the additions for each
    element of each line."""

    write: Callable[[_Routine], None]
    dims: int
    takes: str
    cost: int = 1


ROUTINES = {
    "sort": Row(_sort, 1, "iuf"),
    "eliminate": Row(_eliminate, 2, "fc"),
    "cholesky": Row(_cholesky, 2, "f"),
    **{name: Row(write, 2, "fc", 20) for name, write in lapack.ROUTINES.items()},
}
