"""How a product of matrices is cut into tiles and panels."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tnp.core.dtypes import DType
from tnp.executors.llvm import target
from tnp.executors.llvm.loop_ir.functions import typical
from tnp.executors.llvm.loop_ir.nodes import SizeOf
from tnp.runtime import engine

__all__ = ["Tiling", "tiling"]

#: tiles that stand one below the other in a panel
FEWEST_TILES, MOST_TILES = 2, 8
#: the number of panels is a multiple of this, so that threads get equally many
EVEN = 4


@dataclass(frozen=True)
class Tiling:
    """How a product is cut: its elements are summed in registers by tiles of ``rows`` times ``columns``, and its rows go by panels
    of several tiles. The last tile of a row or a column begins early where it would not be full. Sizes are integers or extents."""

    shape: tuple[SizeOf, SizeOf, SizeOf]
    #: elements of a vector
    vector: int
    rows: int
    columns: int
    panel: int

    @property
    def panels(self) -> SizeOf:
        return (self.shape[0] + (self.panel - 1)) // self.panel

    @property
    def strips(self) -> SizeOf:
        """How many tiles stand side by side."""
        return (self.shape[1] + (self.columns - 1)) // self.columns

    @property
    def width(self) -> SizeOf:
        """Elements of a row of a panel in memory: whole vectors, and a tile at least."""
        n = self.shape[1]
        if not isinstance(n, int):
            return self.strips * self.columns
        return -(-max(n, self.columns) // self.vector) * self.vector


def tiling(shape: tuple[SizeOf, SizeOf, SizeOf], dtype: DType) -> Tiling:
    """How a product of ``shape`` (rows, columns, length of the sums) is cut: independent of the number of threads, which changes no bit
    therefore. Of symbolic sizes, those of the traced call decide."""
    m, n, _ = map(typical, shape)
    itemsize = int(dtype.itemsize)
    bits = engine.target().vector_bits
    vector = bits // (8 * itemsize)
    # Of 32 registers 24 are sums, 2 hold elements of the right operand; where there are 16, it is 12 and 2.
    most_rows = 12 if bits == 512 else 6
    columns = (1 if n <= vector else 2) * vector
    rows = math.ceil(m / math.ceil(m / most_rows))
    tiles = min(max(target.PANEL_BYTES // (max(n, columns) * itemsize * rows), FEWEST_TILES), MOST_TILES)
    in_all = -(-m // rows)
    panels = -(-in_all // tiles)
    panels = min(-(-panels // EVEN) * EVEN, in_all)
    return Tiling(shape, vector, rows, columns, -(-in_all // panels) * rows)
