"""``torch.autocast`` in a traced program: torch's casts become operations of the trace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from tnp.capture.libraries.numpy.library import NUMPY
from tnp.capture.tracing.traced_values import TracedArray
from tnp.core import dtypes
from tnp.core.devices import cpu
from tnp.core.dtypes import DType
from tnp.core.errors import NeedsEager
from tnp.lang.torch import autocast
from tnp.lang.torch.dtypes import to_dtype, to_torch_dtype
from tnp.lang.torch.registry import by_id, symbol_of

if TYPE_CHECKING:
    from tnp.capture.tracing.tracer import Tracer

__all__ = ["Casts"]


class Casts:
    """The casts in one trace.

    ``dtype`` is autocast's now, ``None`` where it is off.
    """

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer
        #: autocast when tracing began, to which it is put back
        self.began = autocast.state_now()
        self.began_dtype = autocast.dtype_now()
        #: arguments that require gradients, cast: torch keeps them until autocast is left, so that their gradients add up there
        self._kept: dict[str, TracedArray] = {}
        self._is_off = False

    @property
    def dtype(self) -> torch.dtype | None:
        if torch.is_autocast_enabled("cuda"):
            raise NeedsEager("it turns torch.autocast on for CUDA")
        found = autocast.dtype_now()
        if found is None and not self._is_off:
            self._kept.clear()
        return found

    @contextmanager
    def made(self) -> Iterator[None]:
        """Around a call whose arguments have been cast: what it is made of is not cast again."""
        with autocast.switched_off():
            before, self._is_off = self._is_off, True
            try:
                yield
            finally:
                self._is_off = before

    def arguments(
        self, function: Any, dtype: torch.dtype, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
        """A function and its arguments as they run where autocast is off."""
        name = getattr(function, "__name__", "")
        if name in autocast.LOWER:
            wanted = to_dtype(dtype)
        elif name in autocast.FLOAT32:
            wanted = dtypes.float32
        elif name in autocast.WIDEST:
            wanted = _widest(to_dtype(dtype), (args, kwargs))
        else:
            as_itself = symbol_of(function) is None or name in autocast.MADE_OF_OTHERS
            return autocast.under(function, dtype) if as_itself else function, args, kwargs
        return function, self._cast(args, wanted, dtype), self._cast(kwargs, wanted, dtype)

    def _cast(self, x: Any, wanted: DType, dtype: torch.dtype) -> Any:
        kind = type(x)
        if kind is TracedArray:
            return self._cast_one(x, wanted, dtype) if _is_eligible(x) and x._element_type is not wanted else x
        if kind in (tuple, list):
            return kind(self._cast(y, wanted, dtype) for y in x)
        return {k: self._cast(y, wanted, dtype) for k, y in x.items()} if kind is dict else x

    def _cast_one(self, a: TracedArray, wanted: DType, dtype: torch.dtype) -> TracedArray:
        name = a.__tnp_value__().name
        is_kept = wanted is to_dtype(dtype) and name in self.tracer.gradients.roots and not self.tracer.regions
        if is_kept and name in self._kept:
            return self._kept[name]
        cast: TracedArray = self.tracer.call(by_id["torch.Tensor.to"].symbol, (a, to_torch_dtype(wanted)), {})
        if is_kept:
            self._kept[name] = cast
        return cast


def _is_eligible(a: TracedArray) -> bool:
    """Whether autocast casts a tensor: floating ones on the CPU, but none of float64."""
    is_floating = a._element_type.kind == "f" and a._element_type is not dtypes.float64
    return a.library is not NUMPY and is_floating and a._proxy.device is cpu


def _widest(lower: DType, x: Any) -> DType:
    """float32 if a tensor has that dtype, autocast's otherwise. Raises ``RuntimeError`` for another half precision."""
    if type(x) is TracedArray and _is_eligible(x):
        if x._element_type not in (lower, dtypes.float32):
            raise RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize")
        return x._element_type
    items = x.values() if type(x) is dict else x if type(x) in (tuple, list) else ()
    found = {_widest(lower, y) for y in items}
    return dtypes.float32 if dtypes.float32 in found else lower
