"""Traced values for an operation's results: whether they are views of an argument, and of which memory.

Views are not declared: a result is a view if only view prims lead from the argument to it, unless one of them is a
reshape that must copy.
"""

from __future__ import annotations

import functools
import itertools
import weakref
from collections.abc import Sequence
from typing import Any

from tnp.capture import active
from tnp.capture.tracing.strides import (
    ROW_MAJOR,
    Later,
    MaybeAView,
    NotAView,
    Strides,
    follow,
    is_row_ordered,
    repeats,
    views_any_layout,
)
from tnp.capture.tracing.traced_values import Storage, TracedArray
from tnp.core import languages, prims, sizes
from tnp.core.errors import NeedsEager
from tnp.core.proxies import TensorProxy
from tnp.core.symbol import BoundSymbol, OpTags
from tnp.core.views import Path, Returns, Step, prim_chain, prims_by_result, read_only

__all__ = [
    "another_handle",
    "check_repeats_nothing",
    "freeze",
    "fresh_handle",
    "is_frozen",
    "is_sealed",
    "mark_shared",
    "may_share",
    "sealed",
    "view_handle",
    "view_of_all",
]


#: how an array is seen that is all of its memory
_WHOLE = Path()


def another_handle(known: TracedArray) -> TracedArray:
    """Another object for the same elements: a view of all of an array."""
    return TracedArray(known.storage, known.path, known._proxy, known._strides)


def view_of_all(value: TensorProxy) -> TensorProxy:
    """A view of all of an array, as an object of its own."""
    with languages.language_context(value.lang):
        another: TensorProxy = (
            prims.reshape(value, value.shape)
            if sizes.is_known(value.shape)
            else prims.transpose(value, tuple(range(value.ndim)))
        )
    return another


def fresh_handle(result: TensorProxy, seen: dict[str, TracedArray], row_major: bool | str) -> TracedArray:
    """A result in memory of its own, in row-major order if the operation lays it out so and the axes of its arguments stand so (or
    ``"always"``)."""
    strides: Strides = ROW_MAJOR if row_major or len(result.shape) < 2 else None
    if len(result.shape) > 1 and strides is not None and row_major != "always":
        if not all(
            type(h._strides) is not Later and h.storage.laid_out is None and is_row_ordered(h) for h in seen.values()
        ):
            strides = None
    handle = TracedArray(Storage(result, writable=not result.scalar), _WHOLE, result, strides)
    handle.storage.owner = id(handle)
    return handle


def view_handle(
    result: TensorProxy, seen: dict[str, TracedArray], bsyms: Sequence[BoundSymbol], returns: Returns
) -> TracedArray | None:
    """``result`` as a view of one of the arguments, which the operation's ``bsyms`` made; ``None`` if it is none.

    Where it cannot be told whether a reshape copies, it is a copy, and writing to either of the two is refused.
    """
    producers = prims_by_result(bsyms) if seen else {}
    maker = producers.get(result.name)
    if maker is not None and OpTags.VIEW not in maker.sym.tags and result.name not in seen:
        return None
    for name, base in seen.items():
        source = base._proxy
        if source.name != name:
            continue
        chain = prim_chain(producers, result, source)
        if chain is None:
            continue
        if result.scalar or (base.scalar and returns != "read-only view"):
            return None
        reshapes = any(b.sym is prims.reshape for b in chain)
        only_if_contiguous = returns.endswith("if contiguous")
        if type(base._strides) is Later and not reshapes:
            strides: Any = Later([base], functools.partial(_followed, chain, base))
        else:
            try:
                strides = follow(chain, base.strides_, contiguous_only=only_if_contiguous)
            except NotAView:
                if only_if_contiguous:
                    _copy_in(bsyms[-1], result)
                return None
            except MaybeAView:
                return _maybe_view(result, base)
            if base.library.gives_arguments and returns.startswith("argument"):
                if _is_same_view(result, source, strides, base.strides_):
                    return base
        last = bsyms[-1]
        if len(bsyms) == 1 and last.output is result and last.args and last.args[0] is source:
            steps = [Step(last.sym, last.args[1:], last.kwargs)]
        else:
            steps = [Step(b.sym, b.args[1:], b.kwargs) for b in chain]
        if reshapes and base.strides_ is None and (only_if_contiguous or not all(map(views_any_layout, chain))):
            return _maybe_view(result, base)
        storage = base.storage
        if returns == "read-only view" or _warns_of_writing(bsyms) or any(repeats(b) for b in chain):
            storage = _ReadOnly(storage, sealed=returns == "read-only view")
        return TracedArray(storage, _extended(base, steps), result, strides)
    return None


def _extended(base: TracedArray, steps: list[Step]) -> Path:
    """The path of a view of ``base``. A slice of a slice is one slice, so that the paths of views of views do not grow."""
    if base.path and len(steps) == 1 and sizes.is_known(base.shape_):
        last, step = base.path.steps[-1], steps[0]
        if last.symbol is step.symbol is base.library.slicing:
            key = _slice_of_slice(last.args[0], step.args[0], base.shape_)
            if key is not None:
                return Path([*base.path.steps[:-1], Step(step.symbol, (key,))])
    return base.path + Path(steps)


def _slice_of_slice(first: Any, second: Any, shape: tuple[int, ...]) -> tuple[slice, ...] | None:
    """The key that selects what ``second`` selects of what ``first``, of ``shape``, does; ``None`` if they are not plain slices."""
    keys = [key if type(key) is tuple else (key,) for key in (first, second)]
    if not all(type(k) is slice for key in keys for k in key):
        return None
    whole = slice(None)
    outer, inner = ([*key, *[whole] * (len(shape) - len(key))] for key in keys)
    made = []
    for a, b, n in zip(outer, inner, shape):
        parts = (a.start, a.stop, a.step, b.start, b.stop, b.step)
        if any(type(x) is not int and x is not None for x in parts) or (a.start or 0) < 0 or (a.step or 1) < 0:
            return None
        found = range(n)[b]
        start, step = (a.start or 0) + (a.step or 1) * found.start, (a.step or 1) * found.step
        stop = start + step * len(found)
        made.append(slice(start, None if stop < 0 else stop, step) if found else slice(0, 0))
    return tuple(made)


def _maybe_view(result: TensorProxy, base: TracedArray) -> TracedArray:
    """``result``, of which it cannot be told whether it is a view of ``base`` or a copy."""
    copy = TracedArray(Storage(result), Path(), result, None)
    _mark_reshaped(copy.storage, base.storage)
    active.current().reshaped.append((copy.storage.serial, base.storage.serial))
    return copy


def _mark_reshaped(made: Storage, source: Storage) -> None:
    """Notes that ``made`` and ``source`` may share memory while the program holds both."""
    while isinstance(source, _ReadOnly):
        source = source.base
    for other in may_share(source):
        for x, y in ((made, other), (other, made)):
            x.reshaped_with.append(weakref.ref(y))
            active.current().choices.unclear.add(x.serial)


def _followed(chain: list[BoundSymbol], base: TracedArray) -> Strides:
    return follow(chain, base.strides_)


def _is_same_view(result: TensorProxy, source: TensorProxy, strides: Strides, before: Strides) -> bool:
    """Whether a view shows all of an array as it is. The strides of dimensions of length 1 are of no account."""
    if strides is None or before is None or result.dtype is not source.dtype or result.lang is not source.lang:
        return False
    if sizes.shapes_equal(result.shape, source.shape) is not True:
        return False
    shape = result.shape
    is_empty = any(type(n) is int and n == 0 for n in shape)
    return is_empty or all((type(n) is int and n == 1) or s == t for n, s, t in zip(shape, strides, before))


def _copy_in(bsym: BoundSymbol, result: TensorProxy) -> None:
    """Makes ``result`` of ``bsym`` a copy in what that is made of, too: executors of its parts know no layouts, and would view the argument."""
    trace = active.current().trace
    view = TensorProxy(trace.make_name("t"), like=result, lang=result.lang)
    parts = [b.substitute({result.name: view}) for b in bsym.subsymbols]
    bsym.subsymbols = (*parts, prims.clone.bind(view, output=result))
    bsym._tags = None


def sealed(a: TracedArray) -> TracedArray:
    """``a`` as an array that cannot be written through."""
    return a if a.scalar else TracedArray(_ReadOnly(a.storage, sealed=True), a.path, a._proxy, a._strides)


def freeze(a: TracedArray) -> None:
    """Makes the array ``a`` read-only, but none of the views that there are of it."""
    if not is_sealed(a):
        is_own = not a.path and a.storage.origin is None and a.storage.owner in (None, id(a))
        a.storage = _ReadOnly(a.storage, sealed=True, is_own=is_own)


def is_frozen(a: TracedArray) -> bool:
    """Whether ``a`` is an array of the program's own memory that it made read-only."""
    return isinstance(a.storage, _ReadOnly) and a.storage.is_own and not a.path


def is_sealed(a: TracedArray) -> bool:
    """Whether NumPy made ``a`` a view that cannot be written through, whatever its memory."""
    return isinstance(a.storage, _ReadOnly) and a.storage.sealed


def mark_shared(a: Storage, b: Storage, *, is_chosen: bool = False) -> None:
    """Says that it cannot be told whether two storages are the same memory. ``is_chosen``: a branch or a loop leaves the one or the other,
    and programs give the very array."""
    tracer = active.current()
    regions = tracer.regions
    if any(s.reshaped_with for s in (a, b)):  # as an array in the middle may be forgotten
        for x, y in itertools.product(may_share(a), may_share(b)):
            x.reshaped_with.append(weakref.ref(y))
            y.reshaped_with.append(weakref.ref(x))
    for x, y in ((a, b), (b, a)):
        x.chosen_with.append(y)
        if not is_chosen:
            tracer.choices.unclear.add(x.serial)
        if regions:
            regions[-1].marked.append((x, y))


def may_share(storage: Storage) -> list[Storage]:
    """``storage`` and all that may be the same memory, as far as that is not known."""
    found = [storage]
    for s in found:
        found += [other for other in s.maybe_shared if all(other is not x for x in found)]
    return found


class _ReadOnly(Storage):
    """A storage seen through a view that NumPy makes read-only (``np.broadcast_to``)."""

    __slots__ = ("base", "is_new", "is_own", "sealed")

    def __init__(self, base: Storage, *, sealed: bool, is_new: bool = False, is_own: bool = False) -> None:
        self.base = base
        #: whether it is all of an array that the program made
        self.is_own = is_own
        #: whether an operation made it of numbers: as a result of the program it is an array that repeats nothing
        self.is_new = is_new
        #: whether the caller's array is read-only, too; NumPy leaves that of ``np.broadcast_arrays`` writable for now
        self.sealed = sealed
        self.chosen_with, self.reshaped_with = [], []
        self.written = False
        self.serial, self.owner = base.serial, None

    value = property(lambda self: self.base.value)
    version = property(lambda self: self.base.version)
    lost = property(lambda self: self.base.lost)
    listed = property(lambda self: self.base.listed)
    has_list = property(lambda self: self.base.has_list)
    unowned = property(lambda self: self.base.unowned)
    origin = property(lambda self: self.base.origin)
    laid_out = property(lambda self: self.base.laid_out)
    writable = property(lambda self: False)

    def refusal(self) -> BaseException:
        if self.sealed or not self.value.lang.library.repeats_writably:
            return read_only(self.value)
        return NeedsEager("it writes to what np.broadcast_arrays repeats, which NumPy only warns of")


def check_repeats_nothing(x: TracedArray) -> None:
    """Raises :class:`NeedsEager` for an array of ``np.broadcast_arrays`` that is not the operation's own result: it has no flag for
    NumPy to warn by where it is written to. That is an array made of a number, or a view of an array that the program writes."""
    storage = x.storage
    if type(storage) is not _ReadOnly or storage.sealed or not storage.value.lang.library.repeats_writably:
        return
    if storage.is_new or storage.base.written:
        raise NeedsEager("it returns what np.broadcast_arrays repeats")


def _warns_of_writing(bsyms: Sequence[BoundSymbol]) -> bool:
    """Whether NumPy warns where a result is written to, whether or not it repeats elements."""
    return bool(bsyms) and bsyms[-1].sym.id == "numpy.broadcast_arrays"


def repeated(made: TracedArray, bsyms: Sequence[BoundSymbol]) -> TracedArray:
    """An array that an operation made of numbers, not to be written through where it shows an element more than once."""
    maker = prims_by_result(bsyms).get(made._proxy.name)
    is_repeated = maker is not None and repeats(maker)
    if not is_repeated and not (_warns_of_writing(bsyms) and made._proxy.ndim):
        return made
    return TracedArray(_ReadOnly(made.storage, sealed=False, is_new=True), made.path, made._proxy, made._strides)
