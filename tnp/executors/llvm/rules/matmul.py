"""Matrix-vector products, as sums of products.

The time of a matrix-matrix product depends on a library's blocking for caches and registers. A matrix-vector product
reads each element once: a large matrix is bound by memory. As nodes of the graph, such products share the pass over the
matrix with its other uses (``A + np.outer(u, v)``, ``alpha * A``, a second product). If a region is a single product,
the library computes it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tnp.core.proxies import TensorProxy
from tnp.core.sizes import is_known
from tnp.core.symbol import BoundSymbol
from tnp.executors.llvm import target
from tnp.executors.llvm.graph import Node, with_zeros
from tnp.executors.llvm.graph_lowering import GraphLowering
from tnp.executors.llvm.lowering import rule

__all__ = ["is_one_product"]


def _is_bound_by_memory(bsym: BoundSymbol) -> bool:
    a, b = bsym.args
    if not is_known((*a.shape, *b.shape)):
        return False
    if a.ndim != 2 or (a.shape[0] != 1 and b.shape[1] != 1) or a.dtype.kind != "f" or a.dtype.bits < 32:
        return False
    if bsym.output.lang.name != "numpy":  # models have the bits of torch's library
        return False
    return max(math.prod(a.shape), math.prod(b.shape)) * int(a.dtype.itemsize) >= target.LIBRARY_BYTES


@rule("matmul", checker=_is_bound_by_memory)
def _matrix_vector(lowering: GraphLowering, output: TensorProxy, a: Node, b: Node) -> Node:
    """``[1, k] @ [k, n]`` as sums down the columns, ``[m, k] @ [k, 1]`` as sums along the rows."""
    along = 0 if a.shape[0] == 1 and b.shape[1] != 1 else 1
    if along == 0:
        a = lowering.view(a, b.shape, lambda at: with_zeros((at[0],), (0,)), repeats=True, whole=True)
    else:
        b = lowering.view(b, a.shape, lambda at: with_zeros((at[1],), (1,)), repeats=True, whole=True)
    products = lowering.make("mul", a.shape, output.dtype, (a, b), of_matrix=True)
    kept = [n for d, n in enumerate(a.shape) if d != along]
    sums = lowering.reduce("sum", kept, output.dtype, products, (along,))
    return lowering.view(sums, output.shape, lambda at: tuple(i for d, i in enumerate(at) if d != along), whole=True)


def _is_of_vectors(bsym: BoundSymbol) -> bool:
    """Whether it is the product of two vectors, which is a sum. A library's call takes no less time, for short ones and for long ones."""
    a, b = bsym.args
    if bsym.output.lang.name != "numpy" or a.ndim != 2 or a.dtype.kind not in "fc" or a.dtype.bits < 32:
        return False
    rows, n, columns = *a.shape, b.shape[1]
    is_one = is_known((rows, columns)) and rows == columns == 1
    return is_one and (not is_known((n,)) or n > target.SMALL_PRODUCT)


@rule("matmul", checker=_is_of_vectors)
def _dot(lowering: GraphLowering, output: TensorProxy, a: Node, b: Node) -> Node:
    n = a.shape[1:]
    left = lowering.view(a, n, lambda at: with_zeros(at, (0,)), whole=True)
    right = lowering.view(b, n, lambda at: with_zeros(at, (1,)), whole=True)
    products = lowering.make("mul", n, output.dtype, (left, right))
    total = lowering.reduce("sum", (), output.dtype, products, (0,))
    return lowering.view(total, output.shape, lambda at: (), repeats=True, whole=True)


def is_one_product(work: Sequence[Node]) -> bool:
    """Whether what a region computes is one product of a matrix and a vector that are its inputs."""
    return len(work) == 2 and any("of_matrix" in n.params for n in work)
