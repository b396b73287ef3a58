"""Products of matrices that what follows them is computed with, panel by panel.

``np.maximum(a @ b + bias, 0)`` as a call of a library and a loop writes the product to memory and reads it again, and
the library's threads, which are not ours, wait for their next product by spinning on the cores that the loop is to run
on. So a product whose inner length is small, which costs little more than the memory it goes through, is a node of the
graph: rows of the result are made by panels, and what follows goes through a panel while it is in the cache
(:mod:`~tnp.executors.llvm.emit.panels`).

Longer sums are left to a library, which cuts them into pieces for the caches; what follows costs little beside them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tnp.core.proxies import TensorProxy
from tnp.core.symbol import BoundSymbol
from tnp.executors.llvm.graph import Graph, Lowering, Node, Product, rule
from tnp.executors.llvm.statements import Nest, Statement
from tnp.runtime import engine

__all__ = ["Panels", "Tiling", "only_multiplies", "tiling"]

#: the longest sums
INNER = 512
#: products with fewer rows or columns fill no tile; they are a library's
LEAST = 8
#: the right operand, which all threads read over and over, has at most so many bytes
RIGHT_BYTES = 4 << 20
#: a panel of the result has about so many bytes: part of a core's own cache
PANEL_BYTES = 512 * 1024
#: tiles that stand one below the other in a panel
FEWEST_TILES, MOST_TILES = 2, 8
#: the number of panels is a multiple of this, so that threads get equally many
EVEN = 4


def _is_small_inside(bsym: BoundSymbol) -> bool:
    a, b = bsym.args
    if a.ndim != 2 or a.dtype.kind != "f" or a.dtype.bits < 32 or bsym.output.lang.name != "numpy":
        return False
    (m, k), n = a.shape, b.shape[1]
    return min(m, n) >= LEAST and 2 <= k <= INNER and n * k * int(a.dtype.itemsize) <= RIGHT_BYTES


@rule("matmul", checker=_is_small_inside)
def _product(lowering: Lowering, output: TensorProxy, a: Node, b: Node) -> Node:
    """The sum over the last dimension of ``a[i, k] * b[k, j]`` at ``(i, j, k)``."""
    shape = (a.shape[0], b.shape[1], a.shape[1])
    left = lowering.view(a, shape, lambda at: (at[0], at[2]), repeats=True, whole=True)
    right = lowering.view(b, shape, lambda at: (at[2], at[1]), repeats=True, whole=True)
    products = lowering.make("mul", shape, output.dtype, (left, right))
    lowering.position += 1
    return lowering.graph.add(Product(output.shape, output.dtype, products, position=lowering.position))


def only_multiplies(graph: Graph, work: Sequence[Node]) -> bool:
    """Whether nothing is computed but products of matrices."""
    products = {n for n in work if isinstance(n, Product)}
    inside = {p.sources[0] for p in products}
    return bool(products) and all(n in products or n in inside for n in work)


class Panels(Nest):
    """A product, and what is computed from its rows. The first group is the product; the others run when a panel of it is done."""

    shares_rows = False

    @property
    def product(self) -> Statement:
        return self.groups[0].statements[0]


@dataclass(frozen=True)
class Tiling:
    """How a product is cut: its elements are summed in registers by tiles of ``rows`` times ``columns``, and its rows go by panels
    of several tiles. The last tile of a row or a column begins early where it would not be full."""

    shape: tuple[int, int, int]
    #: elements of a vector
    vector: int
    rows: int
    columns: int
    panel: int

    @property
    def panels(self) -> int:
        return -(-self.shape[0] // self.panel)

    @property
    def strips(self) -> int:
        """How many tiles stand side by side."""
        return -(-self.shape[1] // self.columns)

    @property
    def width(self) -> int:
        """Elements of a row of a panel in memory: whole vectors."""
        columns = max(self.shape[1], self.columns)
        return -(-columns // self.vector) * self.vector


def tiling(product: Node) -> Tiling:
    """How a product is cut: independent of the number of threads, which changes no bit therefore."""
    m, n, k = product.sources[0].shape
    itemsize = int(product.dtype.itemsize)
    bits = engine.target().vector_bits
    vector = bits // (8 * itemsize)
    # Of 32 registers 24 are sums, 2 hold elements of the right operand; where there are 16, it is 12 and 2.
    most_rows = 12 if bits == 512 else 6
    columns = (1 if n <= vector else 2) * vector
    rows = math.ceil(m / math.ceil(m / most_rows))
    tiles = min(max(PANEL_BYTES // (max(n, columns) * itemsize * rows), FEWEST_TILES), MOST_TILES)
    in_all = -(-m // rows)
    panels = -(-in_all // tiles)
    panels = min(-(-panels // EVEN) * EVEN, in_all)
    return Tiling((m, n, k), vector, rows, columns, -(-in_all // panels) * rows)
