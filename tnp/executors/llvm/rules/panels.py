"""Matrix products fused with the operations that follow, panel by panel.

A library call followed by a loop, for ``np.maximum(a @ b + bias, 0)``, writes the product to memory and reads it again.
The library's threads also spin on the cores that the loop needs while they wait for their next product. So a product
with a short inner dimension, which costs little more than its memory traffic, is a node of the graph. Rows of the
result are computed by panels, and the following operations run on a panel while it is in the cache
(:mod:`~tnp.executors.llvm.loop_ir.panels`).

Products with a long inner dimension are library calls, which block for the caches; the following operations cost little
beside them.
"""

from __future__ import annotations

from collections.abc import Sequence

from tnp.core import symbols
from tnp.core.proxies import TensorProxy
from tnp.core.symbol import BoundSymbol
from tnp.executors.llvm import target
from tnp.executors.llvm.graph import Graph, Node, Product
from tnp.executors.llvm.graph_lowering import GraphLowering
from tnp.executors.llvm.lowering import rule

__all__ = ["only_multiplies"]

#: products with fewer rows or columns fill no tile; they are a library's
LEAST = 8


def _is_small_inside(bsym: BoundSymbol) -> bool:
    a, b = bsym.args
    if a.ndim != 2 or a.dtype.kind != "f" or a.dtype.bits < 32 or bsym.output.lang.name != "numpy":
        return False
    # of symbolic sizes, those of the traced call decide
    m, k, n = (symbols.value_of(symbols.number_of(size)) for size in (*a.shape, b.shape[1]))
    if m is None or k is None or n is None or min(m, n) < LEAST or not 2 <= k <= target.PANEL_DEPTH:
        return False
    return n * k * int(a.dtype.itemsize) <= target.RIGHT_BYTES


@rule("matmul", checker=_is_small_inside)
def _product(lowering: GraphLowering, output: TensorProxy, a: Node, b: Node) -> Node:
    """The sum over the last dimension of ``a[i, k] * b[k, j]`` at ``(i, j, k)``."""
    shape = (a.shape[0], b.shape[1], a.shape[1])
    left = lowering.view(a, shape, lambda at: (at[0], at[2]), repeats=True, whole=True)
    right = lowering.view(b, shape, lambda at: (at[2], at[1]), repeats=True, whole=True)
    products = lowering.make("mul", shape, output.dtype, (left, right))
    made = Product(output.shape, output.dtype, products, position=lowering.next_position(), in_panels=True)
    return lowering.add(made)


def only_multiplies(graph: Graph, work: Sequence[Node]) -> bool:
    """Whether nothing is computed but products of matrices."""
    products = {n for n in work if isinstance(n, Product) and n.in_panels}
    inside = {p.sources[0] for p in products}
    return bool(products) and all(n in products or n in inside for n in work)
