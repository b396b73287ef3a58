"""The cache key of a region, as text: two regions with equal text compile to the same code.

The key is computed from the operations themselves, so cached code is found before loops are planned and IR is written.
The text has everything that the code depends on: operations, their constants, shapes, dtypes, the arguments' strides,
and the settings of this process. It does not have the names of values.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tnp.core import dtypes, sizes
from tnp.core.devices import Device
from tnp.core.dtypes import DType
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy
from tnp.core.symbol import BoundSymbol
from tnp.core.views import update
from tnp.executors.base import Region
from tnp.executors.llvm import vectormath
from tnp.runtime import allocator, disk_cache
from tnp.runtime.engine import target

__all__ = ["region_text"]


class _Unknown(Exception):
    """Something in a region has no text."""


def region_text(region: Region, *details: Any) -> str | None:
    """The text of a region, with what else decides its code; ``None`` if it holds what has none."""
    writer = _Writer()
    written = _sources()
    if written is None:
        return None
    try:
        parts = [
            written,
            writer.text(details),
            f"{target()} {allocator.serves_kernels()} {vectormath.has_fma()} {vectormath.is_vectorised('sin', dtypes.float64)}",
            writer.text(region.inputs),
            *(line for b in region.bound_symbols for line in writer.lines(b)),
            writer.text(region.outputs),
            writer.text(region.stores),
        ]
    except _Unknown:
        return None
    return "\n".join(parts)


class _Writer:
    """Values as text, proxies by number in the order in which they are met: their type the first time, their number after that."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def lines(self, b: BoundSymbol) -> Iterator[str]:
        """The prims that a bound symbol comes to, as :func:`~tnp.executors.llvm.graph.lower` takes them."""
        if b.sym.is_prim:
            yield f"{b.sym.id} {self.text(b.args)} {self.text(b.kwargs)} {self.text(b.output)}"
            return
        for inner in b.subsymbols:
            yield from self.lines(inner)
        if b.sym is update:
            yield f"update {self.text(b.args[0])} {self.text(b.output)}"

    def text(self, x: Any) -> str:
        kind = type(x)
        if kind in (int, bool, str, type(None)):
            return repr(x)
        if kind in (tuple, list):
            return f"({','.join(map(self.text, x))})"
        if kind is float:
            return struct.pack("<d", x).hex()
        if isinstance(x, Proxy):
            return self._proxy(x)
        if kind is complex:
            return f"{self.text(x.real)}+{self.text(x.imag)}j"
        if kind in (DType, Device):
            return str(x)
        if isinstance(x, dict):
            return f"dict{self.text(list(x.items()))}"
        if kind is slice:
            return f"[{self.text((x.start, x.stop, x.step))}]"
        if x is bool or x is int or x is float or x is complex:
            return str(x)
        if isinstance(x, type) and issubclass(x, Exception):
            return x.__qualname__
        raise _Unknown

    def _proxy(self, p: Proxy) -> str:
        number = self.numbers.get(p.name)
        if number is not None:
            return f"%{number}"
        number = self.numbers[p.name] = len(self.numbers)
        if isinstance(p, TensorProxy) and sizes.is_known(p.shape):
            return f"%{number}:{p.dtype}{list(p.shape)}{p.device}"
        if isinstance(p, NumberProxy):
            return f"%{number}:{p.python_type.__name__}"
        raise _Unknown


def _sources() -> str | None:
    """Which state of the source writes the code: of this executor's, and of the runtime's, which it calls."""
    folders = Path(__file__).parent, Path(disk_cache.__file__).parent
    states = [disk_cache.state_of_sources(folder) for folder in folders]
    return None if None in states else repr(states)
