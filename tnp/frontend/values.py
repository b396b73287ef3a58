"""What a loop carries of a variable: the value that it begins with, what stands for it in the body, and what it leaves."""

from __future__ import annotations

from typing import Any

import numpy as np

from tnp.core import langs, sizes
from tnp.core.errors import NeedsEager
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy
from tnp.core.views import Path
from tnp.frontend import state
from tnp.frontend.handles import Storage, TracedArray, TracedNumber
from tnp.frontend.regions import Region
from tnp.frontend.trials import is_same_array
from tnp.lang import numpy as lnp

__all__ = ["carried_handle", "output_handle", "proxy_of", "settled"]

_NUMBERS = (bool, int, float, complex)


def proxy_of(x: Any) -> Any:
    """The proxy of a value, or the number that it is; ``None`` for what a loop or a branch cannot carry."""
    kind = type(x)
    if kind is TracedNumber:
        return x.proxy
    if kind is TracedArray:
        return x.__tnp_value__()
    if kind in _NUMBERS:
        return x
    if isinstance(x, np.generic) and x.dtype.kind in "biufc":
        with langs.language_context(lnp.language):
            return state.current().call(lnp.scalar_of, (kind, x.item()), {}).__tnp_value__()
    return None


def carried_handle(name: str, value: Any, is_loose: bool) -> tuple[Any, Proxy, Any] | None:
    """For a variable: the value that it has, a fresh proxy for the one that it has in each round, and what the program holds for
    that; ``None`` for values that a loop does not carry.

    ``is_loose``: nothing is known of how arrays that it is bound to lie in memory.
    """
    init = proxy_of(value)
    trace = state.current().trace
    fresh = trace.make_name(f"{name}_")
    if isinstance(init, TensorProxy):
        if not sizes.is_known(init.shape):
            return None
        proxy = TensorProxy(fresh, like=init, lang=init.lang, scalar=init.scalar)
        handle = _array(proxy, None if is_loose or proxy.scalar else value, writable=False)
        return init, proxy, handle
    if init is None:
        return None
    number = NumberProxy(fresh, init.python_type if isinstance(init, NumberProxy) else type(init))
    return init, number, TracedNumber(number)


def settled(name: str, value: Any, entries: dict[str, Any], region: Region, loose: set[str]) -> TracedArray | None:
    """The array that a variable is bound to at the end of a round, where variables were ``entries`` at its beginning; ``None``
    for a scalar or a number.

    Raises :class:`NeedsEager` for an array that may share its memory with others: what is carried is the value alone.
    """
    if type(value) is not TracedArray or value.scalar:
        return None
    storage, entry = value.storage, entries[name]
    handed_on = any(type(x) is TracedArray and is_same_array(value, x) for x in entries.values())
    if handed_on:
        pass  # what another variable was bound to, and no longer is: that is checked by who asks
    elif type(storage) is not Storage or storage.serial < region.serial or not storage.writable or storage.maybe_shared:
        raise NeedsEager(f"{name} is bound to an array that another name may share")
    if entry.strides_ is not None and entry.strides_ != value.strides_:
        loose.add(name)
        raise NeedsEager(f"{name} does not keep its layout")
    return value


def output_handle(proxy: Any, like: TracedArray | None) -> Any:
    """What the program holds for a value that a loop or a branch leaves; an array lies in memory as ``like`` does."""
    return TracedNumber(proxy) if isinstance(proxy, NumberProxy) else _array(proxy, like, writable=not proxy.scalar)


def _array(proxy: TensorProxy, like: Any, *, writable: bool) -> TracedArray:
    strides = like._strides if type(like) is TracedArray else () if proxy.scalar else None
    return TracedArray(Storage(proxy, writable=writable), Path(), proxy, strides)
