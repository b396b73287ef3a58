"""Products of a vector and a matrix in the iterations of a loop, as one product of matrices before it.

``for i in range(n): c[i, i:] = data[:, i] @ data[:, i:]`` reads the matrix from memory once an iteration, for two
operations an element. All iterations together are ``data.T @ data``, of which each iteration takes a part of a row: a
library goes through the memory a few times only. That is a choice of order among sums that the library orders as it
likes anyway, so results agree to rounding.

It is done where both operands are parts of arrays that the loop does not change, the vector the one of its iteration;
where all iterations need most of the product; and where an iteration surely comes to the product: a loop that may be
left early, or takes a branch, might not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tnp.core import intervals, languages, prims, sizes
from tnp.core.proxies import NumberProxy, TensorProxy
from tnp.core.subtraces import Body
from tnp.core.symbol import BoundSymbol, OpTags, leaves_of
from tnp.core.trace import Trace, tracing
from tnp.transforms.subtraces import in_bodies

__all__ = ["batch_matvec", "iterations_of"]

#: iterations, and elements of the matrix, from which on that pays
MANY_ITERATIONS, MANY = 16, 32 * 1024
#: the part of the product that the iterations need at least
NEEDED = 0.3


@dataclass
class _Product:
    """``matrix`` as ``[inner, columns]`` and the vector of round ``index``, one of the rows of ``vectors`` ``[rows, inner]``; both are
    arrays from outside and whether that is their transpose. ``part``: start and stop of the columns that the iteration takes."""

    vectors: TensorProxy
    vectors_transposed: bool
    matrix: TensorProxy
    matrix_transposed: bool
    index: NumberProxy
    part: tuple[Any, Any] | None

    @property
    def shape(self) -> tuple[int, int, int]:
        """The numbers of rows, inner elements and columns."""
        vectors, matrix = self.vectors.shape, self.matrix.shape
        assert sizes.is_known(vectors) and sizes.is_known(matrix)
        rows, inner = vectors[::-1] if self.vectors_transposed else vectors
        return rows, inner, matrix[0 if self.matrix_transposed else 1]


def batch_matvec(trace: Trace, executors: Sequence[Any]) -> Trace:
    """``trace`` with such products before their loops, where there is an executor that compiles what is left of the loops."""
    if not any(e.is_fusing for e in executors):
        return trace
    trace = in_bodies(lambda t: batch_matvec(t, executors), trace)
    if not any(b.sym is prims.for_loop and _found(trace, b) for b in trace.bound_symbols):
        return trace
    new = Trace.like(trace)
    with tracing(new):
        for b in trace.bound_symbols:
            found = _found(trace, b) if b.sym is prims.for_loop else {}
            begun = len(new.bound_symbols)
            made = {name: _computed(p) for name, p in found.items()}
            for line in new.bound_symbols[begun:]:
                line.location = b.location
            if found:
                b = b.replace(args=(*b.args[:3], _with_parts(new, b.args[3], found, made), *b.args[4:]))
            new.bound_symbols.append(b)
    return new


def iterations_of(trace: Trace, loop: BoundSymbol) -> range:
    """The iterations of a loop; none if they are known only when the program runs."""
    with tracing(trace):  # which numbers are known, the trace says
        bounds = [intervals.linear(x) for x in loop.args[:3]]
    return range(*(b.constant for b in bounds)) if all(b.is_constant for b in bounds) else range(0)


def _found(trace: Trace, loop: BoundSymbol) -> dict[str, _Product]:
    """The products in a loop's iterations that are worth it, by their names."""
    iterations = iterations_of(trace, loop)
    body: Body = loop.args[3]
    index = body.args[0]
    if len(iterations) < MANY_ITERATIONS or len(body.results) >= len(body.args) or not isinstance(index, NumberProxy):
        return {}
    outside = {p.name for p in body.captures}
    views = {p.output.name: p for b in body.bound_symbols for p in leaves_of(b) if OpTags.VIEW in p.sym.tags}
    found = {}
    for b in body.bound_symbols:
        product = _product(b, views, outside, index)
        if product is not None and _pays(product, iterations):
            found[b.output.name] = product
    return found


def _product(
    b: BoundSymbol, views: Mapping[str, BoundSymbol], outside: Iterable[str], index: NumberProxy
) -> _Product | None:
    """A product of a vector and a matrix that is one, in an iteration, of a product of matrices."""
    if OpTags.MATMUL not in b.sym.tags or len(b.args) != 2 or not all(isinstance(a, TensorProxy) for a in b.args):
        return None
    work = [p for p in leaves_of(b) if OpTags.VIEW not in p.sym.tags]
    if len(work) != 1 or work[0].sym is not prims.matmul or b.output.dtype.kind not in "fc":
        return None
    at = [a.ndim for a in b.args].index(1) if sorted(a.ndim for a in b.args) == [1, 2] else None
    if at is None:
        return None
    vector, matrix = b.args[at], b.args[1 - at]
    taken = views.get(vector.name)
    if taken is None or taken.sym is not prims.select or taken.args[0].ndim != 2 or taken.args[0].name not in outside:
        return None
    if taken.args[2] is not index:
        return None
    inner, part = (
        at,
        None,
    )  # the matrix's dimension that the product is along: its first one behind the vector, its last one before it
    while matrix.name not in outside:
        view = views.get(matrix.name)
        if view is None:
            return None
        if view.sym is prims.transpose and list(view.args[1]) == [1, 0]:
            inner = 1 - inner
        elif view.sym is prims.dynamic_slice and view.args[1] != inner and view.args[4:] in ((), (1,)) and part is None:
            part = view.args[2], view.args[3]
        else:
            return None
        matrix = view.args[0]
    if not sizes.is_known(taken.args[0].shape) or not sizes.is_known(matrix.shape):
        return None
    return _Product(taken.args[0], taken.args[1] == 1, matrix, inner == 1, index, part)


def _pays(product: _Product, iterations: range) -> bool:
    """Whether the matrix is large, the product is no more memory than its operands, every index is in bounds, and the iterations need much of it."""
    rows, _, columns = product.shape
    low, high = min(iterations[0], iterations[-1]), max(iterations[0], iterations[-1])
    vectors, matrix = product.vectors.shape, product.matrix.shape
    assert sizes.is_known(vectors) and sizes.is_known(matrix)
    operands = math.prod(vectors) + math.prod(matrix)
    if low < 0 or high >= rows or math.prod(matrix) < MANY or rows * columns > operands:
        return False
    taken: float = columns
    if product.part is not None:
        length = intervals.slice_length(columns, *product.part)
        ends = (length, length) if isinstance(length, int) or length is None else length.interval()
        if ends[0] is None or ends[1] is None:
            return False
        taken = (ends[0] + ends[1]) / 2
    return len(iterations) * taken >= NEEDED * rows * columns


def _computed(product: _Product) -> TensorProxy:
    """Records the product of matrices, ``[rows, columns]``."""

    def turned(x: TensorProxy, is_transposed: bool) -> TensorProxy:
        return prims.transpose(x, [1, 0]) if is_transposed else x

    with languages.language_context(product.matrix.lang):
        vectors = turned(product.vectors, product.vectors_transposed)
        made: TensorProxy = prims.matmul(vectors, turned(product.matrix, product.matrix_transposed))
    return made


def _with_parts(outer: Trace, body: Body, found: Mapping[str, _Product], made: Mapping[str, TensorProxy]) -> Body:
    """``body`` with parts of rows of what was ``made`` in the products' place: copies, since they are arrays of their own."""
    lines: list[BoundSymbol] = []
    for b in body.bound_symbols:
        product = found.get(b.output.name) if isinstance(b.output, TensorProxy) else None
        if product is None:
            lines.append(b)
            continue
        outer.push_body()
        with languages.language_context(b.output.lang):
            part = prims.select(made[b.output.name], 0, product.index)
            if product.part is not None:
                part = prims.dynamic_slice(part, 0, *product.part, 1)
        views = outer.pop_body()
        copied = prims.clone.bind(part, output=b.output)
        for line in (*views, copied):
            line.location = b.location
        lines += [*views, copied]
    return Body(body.args, lines, body.results)
