"""LAPACK's decompositions of small matrices, called from native code through pointers.

NumPy's call of LAPACK for one matrix of three rows takes three to five times as long as LAPACK itself, and takes the
matrices of a stack on one thread. These routines call the library that NumPy is linked with, with NumPy's arguments
(numpy/linalg/umath_linalg.cpp), so that eigenvectors have its signs and order. They work in place, as all
:mod:`~tnp.executors.llvm.routines` do: memory of ``rows`` lines of ``width`` elements begins with the columns of the
matrix, a line each, and LAPACK puts its results there and behind it.

=================  =====================  ====================================================================
routine            matrix                 lines
=================  =====================  ====================================================================
``eigh_L``         n x n, width n         n, which become the eigenvectors; the eigenvalues
``eig``            the same, real         n; real and imaginary parts of eigenvalues, of n eigenvectors each
..                 the same, complex      n; the eigenvalues; n eigenvectors
``svd_tall``       m x n, width m >= n    n; singular values; n columns of U (``_full``: m); n columns of Vh
``svd_wide``       m x n, width n > m     n; singular values; m columns of U; n columns of Vh
``qr_tall``        m x n, width m >= n    n, which become R; n columns of Q
``qr``             m x n, width m         n, which become R; m columns of Q
=================  =====================  ====================================================================

``_U`` in the place of ``_L`` reads the upper triangle. ``eigvalsh_L``, ``eigvals`` and ``svdvals_tall`` compute values
alone, in the same places. Values are NaN where LAPACK does not converge.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tnp.core import dtypes
from tnp.core.dtypes import DType
from tnp.executors.llvm import scalars
from tnp.executors.llvm.code import extreme
from tnp.executors.llvm.library import defined
from tnp.executors.llvm.target import LIBRARY_LENGTH, LIBRARY_ROWS

__all__ = [
    "ROUTINES",
    "Layout",
    "decomposes",
    "is_small",
    "layout_of_eig",
    "layout_of_eigh",
    "layout_of_qr",
    "layout_of_svd",
    "wide_dtype",
]

_LETTERS = {dtypes.float64: "d", dtypes.complex128: "z"}
_NAMES = ("geev", "gesdd", "geqrf", "orgqr", "syevd")


def decomposes(dtype: DType) -> bool:
    """Whether there is a library for matrices of that dtype."""
    return dtype in _LETTERS and all(defined(_name(name, dtype)) for name in _NAMES)


def wide_dtype(dtype: DType) -> DType:
    """NumPy decomposes matrices in double precision, whatever their dtype."""
    wide = {"f": dtypes.float64, "c": dtypes.complex128}.get(dtype.kind, dtype)
    return wide if 32 <= dtype.bits <= wide.bits else dtype


def _name(name: str, dtype: DType) -> str:
    if dtype.kind == "c":
        name = {"syevd": "heevd", "orgqr": "ungqr"}.get(name, name)
    return _LETTERS[dtype] + name


@dataclass(frozen=True)
class Layout:
    """A routine, its lines, and which of them have its results."""

    routine: str
    lines: int
    width: int
    #: the line of the first values, and the first lines of left and right vectors
    values: int = 0
    left: int = 0
    right: int = 0
    without_vectors: str | None = None


def is_small(m: int, n: int, *, full: bool = False) -> bool:
    """Whether a matrix of that shape is decomposed by native code, where ``full`` says that a square of its longer side is made."""
    return 0 < min(m, n) <= LIBRARY_ROWS and max(m, n) <= (LIBRARY_ROWS if full else LIBRARY_LENGTH)


def layout_of_eigh(n: int, upper: bool) -> Layout:
    triangle = "U" if upper else "L"
    return Layout(f"eigh_{triangle}", n + 1, n, n, without_vectors=f"eigvalsh_{triangle}")


def layout_of_eig(n: int, dtype: DType, *, vectors: bool = True) -> Layout:
    parts = 1 if dtype.kind == "c" else 2
    return Layout("eig" if vectors else "eigvals", n + parts + vectors * parts * n, n, n, right=n + parts)


def layout_of_svd(m: int, n: int, full: bool) -> Layout:
    name = f"{'tall' if m >= n else 'wide'}{'_full' * full}"
    left = m if full else min(m, n)
    return Layout(f"svd_{name}", 2 * n + left + 1, max(m, n), n, n + 1, n + 1 + left, f"svdvals_{name}")


def layout_of_qr(m: int, n: int, full: bool) -> Layout:
    is_tall = m >= n and not full
    return Layout("qr_tall" if is_tall else "qr", n + (n if is_tall else m), m, left=n)


class _Call:
    """The arguments of a call, which Fortran takes by address, and the memory that it works in."""

    def __init__(self, r: Any, name: str) -> None:
        self.r, self.code, self.name = r, r.code, _name(name, r.dtype)
        self.args: list[str] = []
        defined(self.name)

    def letter(self, x: str) -> None:
        place = self.code.op("alloca i8, align 8")
        self.code.line(f"store i8 {ord(x)}, ptr {place}")
        self.args.append(place)

    def size(self, *values: str) -> None:
        """Integers; libraries whose integers have 32 bits read the lower half."""
        for x in values:
            place = self.r.variable("i64")
            self.code.line(f"store i64 {x}, ptr {place}")
            self.args.append(place)

    def memory(self, *places: str) -> None:
        self.args += places

    def room(self, count: str, size: int) -> str:
        """Memory for so many elements of so many bytes."""
        count = extreme(self.code, "smax", count, "1")
        return str(self.code.op(f"alloca [{size} x i8], i64 {count}, align 16"))

    def work(self, count: str) -> None:
        """The work array and its length."""
        self.memory(self.room(count, self.r.dtype.itemsize))
        self.size(count)

    def run(self) -> str:
        """Calls it; whether it succeeded."""
        code = self.code
        self.size("0")
        symbol, types = f"@{defined(self.name)}", ", ".join(["ptr"] * len(self.args))
        code.require(symbol, f"declare void {symbol}({types})")
        code.line(f"call void {symbol}({', '.join(f'ptr {x}' for x in self.args)})")
        return str(code.op(f"icmp eq i64 {code.op(f'load i64, ptr {self.args[-1]}')}, 0"))


def _sum(r: Any, *terms: tuple[int, str] | int) -> str:
    """A sum of multiples of sizes."""
    total = "0"
    for term in terms:
        factor, x = term if isinstance(term, tuple) else (term, "1")
        total = r.code.op(f"add i64 {total}, {r.code.op(f'mul i64 {x}, {factor}')}")
    return total


def _line(r: Any, i: str) -> str:
    return str(r.place(i, "0"))


def _nan_unless(r: Any, ok: str, line: str, dtype: DType) -> None:
    """The first of some values is NaN if LAPACK does not converge."""
    with r.when(r.code.op(f"xor i1 {ok}, true")):
        scalars.store(r.code, scalars.constant(float("nan"), dtype), line, dtype, "")


def _as_complex(r: Any, values: str, count: str, line: str) -> None:
    """Writes real values as elements of a line."""
    with r.loop("0", count) as i:
        place = r.code.op(f"getelementptr [{r.real.itemsize} x i8], ptr {values}, i64 {i}")
        x = scalars.load(r.code, place, r.real, "")
        to = r.code.op(f"getelementptr [{r.dtype.itemsize} x i8], ptr {line}, i64 {i}")
        scalars.store(r.code, (x, scalars.constant(0, r.real)), to, r.dtype, "")


def _values(r: Any, call: _Call, count: str, line: str) -> Callable[[str], None]:
    """Real values go to a line. What is to be called when LAPACK is done."""
    if r.dtype.kind == "f":
        call.memory(line)
        return lambda ok: _nan_unless(r, ok, line, r.dtype)
    values = call.room(count, r.real.itemsize)
    call.memory(values)

    def done(ok: str) -> None:
        _nan_unless(r, ok, values, r.real)
        _as_complex(r, values, count, line)

    return done


def _eigh(r: Any, *, triangle: str, vectors: bool) -> None:
    call, n = _Call(r, "syevd"), "%w"
    square = r.code.op(f"mul i64 {n}, {n}")
    call.letter("V" if vectors else "N")
    call.letter(triangle)
    call.size(n)
    call.memory("%m")
    call.size(n)
    done = _values(r, call, n, _line(r, n))
    integers = _sum(r, 3, (5, n))
    if r.dtype.kind == "c":
        call.work(_sum(r, 1, (34, n), (1, square)))
        reals = _sum(r, 1, (5, n), (2, square))
        call.memory(call.room(reals, r.real.itemsize))
        call.size(reals)
    else:
        call.work(_sum(r, 1, (34, n), (2, square)))
    call.memory(call.room(integers, 8))
    call.size(integers)
    done(call.run())


def _eig(r: Any, *, vectors: bool) -> None:
    call, n, one = _Call(r, "geev"), "%w", "1"
    call.letter("N")
    call.letter("V" if vectors else "N")
    call.size(n)
    call.memory("%m")
    call.size(n)
    behind = r.after(n)
    values = _line(r, n)
    call.memory(values)
    first = behind if r.dtype.kind == "c" else r.after(behind)
    if r.dtype.kind == "f":
        call.memory(_line(r, behind))
    call.memory("%m")
    call.size(one)
    call.memory(_line(r, first) if vectors else "%m")
    call.size(n)
    call.work(_sum(r, (132, n)))
    if r.dtype.kind == "c":
        call.memory(call.room(_sum(r, (2, n)), r.real.itemsize))
    _nan_unless(r, call.run(), values, r.real)
    if vectors and r.dtype.kind == "f":
        _split(r, n, behind, first)


def _split(r: Any, n: str, imaginary: str, first: str) -> None:
    """Real and imaginary parts of eigenvectors: those of a pair of conjugates are LAPACK's two lines."""
    code = r.code
    zero = scalars.constant(0, r.dtype)
    with r.loop("0", n) as j:
        row = code.op(f"add i64 {first}, {j}")
        above, below = code.op(f"sub i64 {row}, 1"), code.op(f"add i64 {row}, 1")
        part = code.op(f"add i64 {row}, {n}")
        size = r.get(imaginary, j)
        upper = r.apply("gt", size, zero)
        lower = r.apply("lt", size, zero)
        with r.loop("0", n) as i:
            r.put(part, i, zero)
        with r.when(upper), r.loop("0", n) as i:
            r.put(part, i, r.get(below, i))
        with r.when(lower), r.loop("0", n) as i:  # the line before has its parts already
            x = r.get(row, i)
            r.put(part, i, r.apply("neg", x))
            r.put(row, i, r.get(above, i))


def _svd(r: Any, *, tall: bool, full: bool, vectors: bool) -> None:
    code, width = r.code, "%w"
    if not tall:
        n = width
        m = code.op(f"sub i64 {code.op(f'sub i64 %n, {_sum(r, (2, n))}')}, 1")
        left = m
    else:
        m = width
        above = code.op("sub i64 %n, 1")
        n = code.op(f"sdiv i64 {code.op(f'sub i64 {above}, {m}')}, 2") if full else code.op(f"sdiv i64 {above}, 3")
        left = m if full else n
    few = n if tall else m
    call = _Call(r, "gesdd")
    call.letter("N" if not vectors else "A" if full else "S")
    call.size(m, n)
    call.memory("%m")
    call.size(width)
    done = _values(r, call, few, _line(r, n))
    u = r.after(n)
    call.memory(_line(r, u))
    call.size(width)
    call.memory(_line(r, code.op(f"add i64 {u}, {left}")))
    call.size(width)
    square, area = code.op(f"mul i64 {few}, {few}"), code.op(f"mul i64 {few}, {width}")
    call.work(_sum(r, 4224, (4, square), (72, few), (70 if full else 4, width)))
    if r.dtype.kind == "c":
        call.memory(call.room(_sum(r, 1, (7, square), (2, area), (7, few)), r.real.itemsize))
    call.memory(call.room(_sum(r, (8, few)), 8))
    done(call.run())


def _qr(r: Any, *, tall: bool) -> None:
    code, m = r.code, "%w"
    n = code.op("sdiv i64 %n, 2") if tall else code.op(f"sub i64 %n, {m}")
    few = extreme(code, "smin", m, n)
    call = _Call(r, "geqrf")
    call.size(m, n)
    call.memory("%m")
    call.size(m)
    factors = call.room(few, r.dtype.itemsize)
    call.memory(factors)
    call.work(_sum(r, (32, n)))
    call.run()
    size = code.op(f"mul i64 {code.op(f'mul i64 {few}, {m}')}, {r.dtype.itemsize}")
    memcpy = "@llvm.memcpy.p0.p0.i64"
    code.require(memcpy, f"declare void {memcpy}(ptr, ptr, i64, i1)")
    columns, count = _line(r, n), n if tall else m
    code.line(f"call void {memcpy}(ptr {columns}, ptr %m, i64 {size}, i1 false)")
    call = _Call(r, "orgqr")
    call.size(m, count, few)
    call.memory(columns)
    call.size(m)
    call.memory(factors)
    call.work(_sum(r, (32, count)))
    call.run()


_P = functools.partial
#: what writes each routine
ROUTINES: dict[str, Callable[[Any], None]] = {
    **{f"eigh_{t}": _P(_eigh, triangle=t, vectors=True) for t in "LU"},
    **{f"eigvalsh_{t}": _P(_eigh, triangle=t, vectors=False) for t in "LU"},
    "eig": _P(_eig, vectors=True),
    "eigvals": _P(_eig, vectors=False),
    **{
        f"{'svd' if vectors else 'svdvals'}_{shape}{'_full' * full}": _P(
            _svd, tall=shape == "tall", full=full, vectors=vectors
        )
        for vectors in (True, False)
        for shape in ("tall", "wide")
        for full in (False, True)
    },
    "qr_tall": _P(_qr, tall=True),
    "qr": _P(_qr, tall=False),
}
