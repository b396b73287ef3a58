"""Loop-carried values: the initial value of a variable, its stand-in in the body, and its value after an iteration."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import numpy as np

from tnp.capture import active
from tnp.capture.control_flow.iterables import Iterations
from tnp.capture.control_flow.maybe_unbound import nothing_like
from tnp.capture.libraries.numpy.operations import scalar_of
from tnp.capture.speculation.regions import Region, Variables
from tnp.capture.speculation.trials import Failure, is_same_array
from tnp.capture.tracing.outer_names import Binding
from tnp.capture.tracing.output_aliasing import may_share, view_of_all
from tnp.capture.tracing.scalar_kind import Kinds, TracedEither
from tnp.capture.tracing.strides import ROW_MAJOR, same_layout
from tnp.capture.tracing.traced_values import Storage, TracedArray, TracedNumber
from tnp.core import intervals, prims, sizes, symbols
from tnp.core.errors import NeedsEager
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy, is_number
from tnp.core.symbol import BoundSymbol
from tnp.core.views import Path

__all__ = [
    "CarriedSizes",
    "bound_counters",
    "carried_handle",
    "dims_that_shrink",
    "either_of",
    "handed_by",
    "is_bound",
    "is_callers",
    "is_scalar",
    "name_of",
    "output_handle",
    "own_sizes",
    "parts_of",
    "places_before",
    "proxy_of",
    "settle_counters",
    "settled",
    "stand_in",
    "tell_apart",
]

_NUMBERS = (bool, int, float, complex)


def name_of(variable: str) -> str:
    """What carried values of a variable are called; of an attribute by its own name."""
    return variable.rpartition(".")[2].rpartition(" ")[2].rstrip("'") + "_"


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
        return scalar_of(kind, x.item()).__tnp_value__()
    return None


def carried_handle(
    name: str,
    value: Any,
    *,
    is_loose: bool,
    writable: bool,
    varying: Collection[int],
    size: Callable[[str, int, Any], NumberProxy],
) -> tuple[Any, Any, Any] | None:
    """For a variable: the value that it has, a fresh proxy for the one that it has in each iteration, and what the program holds for
    that; ``None`` for values that a loop does not carry.

    Of an array, ``is_loose`` says that nothing is known of how those that the variable is bound to lie in memory, ``writable`` that
    the body may write to them, and ``varying`` which dimensions may be others in each iteration; those that are sizes always may.
    ``size`` gives the size that stands for such a dimension, of which it is told how it begins.
    """
    init = proxy_of(value)
    trace = active.current().trace
    fresh = trace.make_name(name_of(name))
    if isinstance(init, TensorProxy):
        fixed = {d for d, n in enumerate(init.shape) if symbols.value_of(n) is not None and d not in varying}
        if any(sizes.bound_or_none(n) is None for d, n in enumerate(init.shape) if d not in fixed):
            return None
        shape = tuple(n if d in fixed else size(name, d, n) for d, n in enumerate(init.shape))
        proxy = TensorProxy(fresh, like=init, shape=shape, lang=init.lang, scalar=init.scalar)
        loose = is_loose or (len(shape) > 1 and symbols.extents(shape) is None)
        handle = _array(proxy, None if loose or proxy.scalar else value, writable=writable)
        return init, proxy, handle
    if init is None:
        return None
    number = NumberProxy(fresh, init.python_type if isinstance(init, NumberProxy) else type(init))
    return init, number, TracedNumber(number)


#: what no counter comes to: counting there would take years
_FAR = 2**62
_STEP = 2**20


def bound_counters(carried: dict[str, Any], inits: dict[str, Any], results: dict[str, Any]) -> None:
    """Bounds the loop-carried integers that each iteration changes by a constant: they fit 64 bits."""
    for name, result in results.items():
        number = carried[name]
        if not (isinstance(number, NumberProxy) and isinstance(result, NumberProxy)) or number.python_type is not int:
            continue
        begin = intervals.bounds(inits[name]) if is_number(inits[name]) else (None, None)
        step = intervals.linear(result).plus(intervals.linear(number), -1)
        is_near = all(x is not None and abs(x) < _FAR // 2 for x in begin)
        if is_near and step.is_constant and abs(step.constant) < _STEP:
            number.low = -_FAR if number.low is None else number.low
            number.bound = _FAR if number.bound is None else number.bound


def settle_counters(
    variables: Variables,
    carried: dict[str, Any],
    inits: dict[str, Any],
    results: dict[str, Any],
    iterations: Iterations | None,
) -> None:
    """Replaces induction variables by their values after the loop: the length of a list that gets one item per iteration is the trip count.

    If the trip count is a constant, only lists get theirs. ``iterations`` is ``None`` for a loop with an early exit."""
    if iterations is None:
        return
    count = iterations.sized_count()
    is_one_number = count is None and iterations.is_of_one_length
    found = _after(iterations.count() if is_one_number else count, carried, inits, results)
    if not is_one_number:
        variables.update(found)
        return
    for name, value in found.items():
        attribute = variables.attributes.get(name)
        if attribute is not None and isinstance(attribute.owner, Binding):
            attribute.owner.settle(value)


def _after(count: Any, carried: dict[str, Any], inits: dict[str, Any], results: dict[str, Any]) -> dict[str, Any]:
    """The counters among what a loop carries, as they are after ``count`` iterations; none if that is not known."""
    found = {}
    for name, result in results.items() if count is not None else ():
        number, begin = carried[name], inits[name]
        if isinstance(number, NumberProxy) and number.python_type is int and isinstance(result, NumberProxy):
            step = intervals.linear(result).plus(intervals.linear(number), -1)
            if step.is_constant and is_number(begin):
                first = TracedNumber(begin) if isinstance(begin, NumberProxy) else begin
                changed = count if step.constant == 1 else step.constant * count
                found[name] = changed if type(first) is int and first == 0 else first + changed
    return found


def settled(name: str, value: Any, entries: dict[str, Any], region: Region, loose: set[str]) -> TracedArray | None:
    """The array that a variable is bound to at the end of an iteration, where variables were ``entries`` at its beginning; ``None``
    for a scalar or a number.

    Adds it to ``loose`` if the array does not keep its layout. Raises :class:`NeedsEager` for an array that may share its memory with others: what is carried is the value alone.
    """
    if type(value) is not TracedArray or value.scalar:
        return None
    storage, entry = value.storage, entries[name]
    # What another variable was bound to, and no longer is, may be handed on: that is checked by who asks.
    handed_on = any(type(x) is TracedArray and is_same_array(value, x) for x in entries.values())
    outside = any(s.serial < region.serial for s in may_share(storage))
    if type(storage) is not Storage or outside or not (storage.writable or handed_on):
        raise NeedsEager(f"{name} is bound to an array that another name may share")
    if (entry._strides is ROW_MAJOR or entry.strides_ is not None) and not same_layout(entry, value):
        loose.add(name)
    return value


def places_before(name: str, handles: dict[str, Any], entries: dict[str, Any]) -> list[str]:
    """The variables whose first arrays a variable may be bound to after some iterations."""
    found: list[str] = []
    found += handed_by(handles.get(name), entries, found)
    for source in found:
        found += handed_by(handles.get(source), entries, found)
    return found


def handed_by(handle: TracedArray | None, entries: dict[str, Any], but: list[str]) -> list[str]:
    """The variables whose arrays, at the beginning of an iteration, ``handle`` may be at its end."""
    places = [] if handle is None else [id(s) for s in may_share(handle.storage)]
    return [m for m, x in entries.items() if type(x) is TracedArray and id(x.storage) in places and m not in but]


def tell_apart(values: dict[str, Any], inits: dict[str, Any]) -> None:
    """Arrays that are views of all of one another are objects of their own behind a loop, too."""
    first: dict[str, TracedArray] = {}
    for name in [*(n for n in values if n not in inits), *(n for n in inits if n in values)]:
        value = values[name]
        if type(value) is TracedArray and not value.scalar and not value.storage.lost:
            proxy = inits[name] if name in inits else value.__tnp_value__()
            if first.setdefault(proxy.name, value) is not value and name in inits:
                inits[name] = view_of_all(proxy)


def dims_that_shrink(arg: Any, result: Any) -> set[int] | None:
    """The dimensions of an array that are others behind an iteration; ``None`` if more than that changes, or one grows."""
    if not (isinstance(arg, TensorProxy) and isinstance(result, TensorProxy) and arg.ndim == result.ndim):
        return None
    pairs = list(zip(arg.shape, result.shape))
    limits = [(sizes.bound_or_none(n), sizes.bound_or_none(m)) for n, m in pairs]
    if not all(n is not None and m is not None and m <= n for n, m in limits):
        return None
    return {d for d, (n, m) in enumerate(pairs) if symbols.value_of(n) is not None and sizes.equal(n, m) is not True}


def output_handle(proxy: Any, like: TracedArray | None) -> Any:
    """What the program holds for a value that a loop or a branch leaves; an array lies in memory as ``like`` does."""
    return TracedNumber(proxy) if isinstance(proxy, NumberProxy) else _array(proxy, like, writable=not proxy.scalar)


def _array(proxy: TensorProxy, like: Any, *, writable: bool) -> TracedArray:
    strides = like._strides if type(like) is TracedArray else () if proxy.scalar else None
    return TracedArray(Storage(proxy, writable=writable), Path(), proxy, strides)


class CarriedSizes:
    """The sizes that dimensions of carried arrays have in each iteration. Dimensions that begin equal are assumed to stay equal."""

    def __init__(self) -> None:
        #: where an attempt showed that they do not stay equal, numbers that tell them apart
        self._differing: dict[tuple[str, int], int] = {}
        self.begin()

    def begin(self) -> None:
        """Forgets the sizes of the attempt before."""
        self._sizes: dict[tuple[Any, int], NumberProxy] = {}
        self._dims: dict[str, list[tuple[str, int]]] = {}

    def kinds(self) -> int:
        """How many are told apart."""
        return len(set(self._differing.values()))

    def size(self, name: str, d: int, begins: Any) -> NumberProxy:
        """The size of a dimension of a variable in each iteration."""
        key = sizes.key_of(begins), self._differing.get((name, d), 0)
        if key not in self._sizes:
            self._sizes[key] = NumberProxy(None, int, bound=sizes.bound(begins), low=0)
        self._dims.setdefault(self._sizes[key].name, []).append((name, d))
        return self._sizes[key]

    def check(self, carried: dict[str, Proxy], results: dict[str, Any]) -> None:
        """Raises :class:`Failure` if dimensions that were taken to stay equal do not, and tells them apart."""
        told = dict.fromkeys(self._differing.values())
        for dims in self._dims.values():
            ends = [sizes.key_of(results.get(name, carried[name]).shape[d]) for name, d in dims]
            kinds = list(dict.fromkeys(ends))
            if len(kinds) == 1:
                continue
            for dim, end in zip(dims, ends):
                self._differing[dim] = len(told) + 1 + kinds.index(end)
            raise Failure("arrays that begin with one length do not keep one", settles=True)


def own_sizes(carried: Iterable[Proxy], inits: Iterable[Any]) -> list[BoundSymbol]:
    """What defines the sizes that carried arrays have in each iteration, but for those that they begin with: these have been defined."""
    found: dict[str, BoundSymbol] = {}
    begun = {n.name for x in inits if isinstance(x, TensorProxy) for n in x.shape if isinstance(n, NumberProxy)}
    for p in carried:
        for d, n in enumerate(p.shape if isinstance(p, TensorProxy) else ()):
            if isinstance(n, NumberProxy) and n.name not in begun and n.name not in found:
                found[n.name] = prims.size.bind(p, d, output=n)
    return list(found.values())


def parts_of(x: TracedEither) -> tuple[Proxy, Any]:
    """The proxies of a value that is a number or a scalar: its value, and whether it is a scalar."""
    return x.scalar.__tnp_value__(), x.flag.proxy if type(x.flag) is TracedNumber else x.flag


def either_of(made: Sequence[Proxy], kinds: Kinds) -> TracedEither:
    """What the program holds for a number or a scalar that a loop or a branch leaves; ``made`` are its parts."""
    return TracedEither(output_handle(made[0], None), output_handle(made[1], None), kinds[1])


def is_callers(x: Any) -> bool:
    """Whether an array is the caller's: what is bound to it looks at the same memory when the loop has ended."""
    return type(x) is TracedArray and not x.scalar and x.storage.origin is not None


def is_bound(name: str) -> str:
    """Under what it stands whether a variable is bound that may not be."""
    return f"{name} is bound"


def is_scalar(name: str) -> str:
    """Under what the flag of a variable stands that is a number or a scalar."""
    return f"{name} is a scalar"


def stand_in(like: Any) -> Any:
    """A value for a variable that is bound before it is read: like a proxy or a number, or a number of the kinds ``like``."""
    if type(like) is tuple:
        return like[1]()
    made = nothing_like(like)
    return output_handle(made, None) if isinstance(made, Proxy) else made
