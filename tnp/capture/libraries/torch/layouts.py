"""Strides of the results of torch functions, found by calling the function on zeros with the same strides.

Strides determine views, ``stride()``, and which element gets which random number. They are rarely needed, so the
function is called lazily (:class:`~tnp.capture.tracing.strides.Later`). Symbolic sizes have their present values: the order of the
dimensions in memory does not depend on them, since none is 0 or 1.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import nullcontext
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensorMode

from tnp.capture import active
from tnp.capture.libraries.numpy.library import NUMPY
from tnp.capture.tracing.strides import ROW_MAJOR, Later, Strides, is_row_ordered, row_major, same_layout
from tnp.capture.tracing.traced_values import TracedArray, TracedNumber, TracedObject
from tnp.core import languages, prims, sizes, symbols
from tnp.core.errors import NeedsEager
from tnp.core.symbol import OpTags, Symbol
from tnp.lang.torch import registry
from tnp.lang.torch.autocast import switched_off
from tnp.lang.torch.dtypes import to_torch_device, to_torch_dtype
from tnp.lang.torch.fills import laid_out
from tnp.runtime.quiet import quiet

__all__ = [
    "drawing", "fix_layout", "fix_layout_for", "function_of", "is_contiguous_as", "known_strides", "lay_out", "not_a_view", "reach",
    "strides_of_like",
]  # fmt: skip

#: elements beyond which a function is called on tensors without data, which of few functions lie otherwise
MOST = 1 << 22


#: how functions are called that lay out images by what strides tell, those along dimensions of 1 included
_BY_FORMAT = (
    "conv", "max_pool", "avg_pool", "adaptive", "batch_norm", "_batch_norm", "group_norm", "instance_norm", "interpolate", "upsample",
    "pixel", "channel_shuffle", "boolean_dispatch", "fn", "max_unpool", "grid_sample",
)  # fmt: skip


def _batch_norm(input: torch.Tensor, mean: Any, var: Any, *others: Any) -> tuple[torch.Tensor, ...]:
    weight, bias, momentum, eps = others
    return F.batch_norm(input, None, None, weight, bias, True, momentum, eps), mean, var


#: functions that view their argument, or copy it, depending on how it lies in memory
_BY_LAYOUT = frozenset(("contiguous", "flatten", "ravel", "reshape", "reshape_as", "unflatten", "view", "view_as"))

#: symbols that stand for parts of torch's functions, and functions whose results lie as theirs
_PARTS: dict[str, Callable[..., Any]] = {
    "composed.dropped": lambda mask, input, p: mask * input,
    "composed.batch_norm_in_training": _batch_norm,
    "composed.largest_in_windows": lambda found, rank: found.amax(tuple(range(found.ndim - rank, found.ndim))),
}


def function_of(symbol: Symbol) -> Callable[..., Any] | None:
    """A function of torch whose results lie as those of a symbol; ``None`` if there is none."""
    if symbol.id in _PARTS:
        return _PARTS[symbol.id]
    try:
        found: Callable[..., Any] = registry.function_of(symbol.id)
    except (AttributeError, TypeError):
        return None
    return found


def lay_out(
    function: Callable[..., Any] | None, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any, *,
    tags: Collection[OpTags] = (), opaque: bool = False,
) -> None:  # fmt: skip
    """Notes that arrays of ``result`` whose strides are unknown have the strides that ``function`` gives them. ``tags`` are those of its
    symbol; an ``opaque`` function is run by torch."""
    by_format = getattr(function, "__name__", "").startswith(_BY_FORMAT)
    if type(result) is TracedArray and result._strides is not None and not by_format:  # nearly always
        return
    given = list(_arrays_in((args, kwargs)))
    arrays = list(_arrays_in(result))
    made = {i: a for i, a in enumerate(arrays) if not any(a is x for x in given)}  # x.float() may be x
    if by_format and any(
        a.ndim > 3 and a._strides is not ROW_MAJOR and a.strides_ != row_major(a.shape_) for a in given
    ):
        for a in made.values():
            a._strides = None
    if function is None or all(a._strides is not None for a in made.values()):
        return
    if any(a.library is NUMPY for a in given) or any(symbols.extents(a.shape_) is None for a in (*given, *arrays)):
        return
    found: list[list[torch.Tensor]] = []

    def strides(place: int) -> Strides:
        if not found:
            found.append(_called(function, args, kwargs))
        a = made[place]
        shape = _present(a.shape_)
        if len(found[0]) != len(arrays) or tuple(found[0][place].shape) != shape:
            return None
        known = tuple(found[0][place].stride())
        if known != row_major(shape):
            return known if sizes.is_known(a.shape_) else _in_order(a.shape_, known)
        row_by_row: Strides = ROW_MAJOR
        return row_by_row

    for i, a in made.items():
        if a._strides is None:
            a._strides = Later(given, partial(strides, i))
            lies_as_eagers = all(x.storage.laid_out is None for x in given) and (
                opaque or (OpTags.ELEMENTWISE in tags and _lie_alike(given) and all(map(_is_followed, given)))
            )
            if not lies_as_eagers:
                a.storage.laid_out = a


def _is_followed(a: TracedArray) -> bool:
    """Whether executors surely lay out elementwise results as this operand: those of symbolic sizes may choose rows."""
    return sizes.is_known(a.shape_) or is_row_ordered(a)


def _lie_alike(arrays: list[TracedArray]) -> bool:
    """Whether operands surely have the same layout, which their elementwise results then have, too."""
    with_layout = [a for a in arrays if a.ndim > 1]
    return all(same_layout(a, b) for a, b in itertools.pairwise(with_layout))


def fix_layout_for(name: str, args: tuple[Any, ...]) -> None:
    """Fixes the layout of the first argument if the result of the function ``name`` depends on it."""
    if name in _BY_LAYOUT and args and type(args[0]) is TracedArray:
        fix_layout(args[0])


def not_a_view(a: TracedArray) -> BaseException:
    """What ``a.view(…)`` raises where it is a copy, as far as is known."""
    if a.strides_ is None:
        return NeedsEager("it views a tensor whose layout tnp does not know")
    return RuntimeError("view size is not compatible with input tensor's size and stride")


def fix_layout(a: TracedArray) -> None:
    """Gives the memory of ``a`` eager's layout, where executors may choose another one.

    This happens late, when something depends on the layout: most intermediate results never leave a kernel.
    Raises :class:`NeedsEager` in a loop or a branch if the memory is older than that.
    """
    made = a.storage.laid_out
    if made is None:
        return
    regions = active.current().regions
    if regions and made.storage.serial < regions[-1].serial:
        raise NeedsEager("it views, in a loop or a branch, a tensor from before it, whose layout is not fixed")
    storage, strides = made.storage, made.strides_
    storage.laid_out = None
    if strides is None:
        return
    present, lengths = _present(strides), _present(made.shape_)
    fastest_first = sorted(range(len(present)), key=lambda d: (present[d], -d))
    if any(present[d] != math.prod(lengths[i] for i in fastest_first[:at]) for at, d in enumerate(fastest_first)):
        return  # there are gaps
    order = [fastest_first.index(d) for d in range(len(present))]
    with languages.language_context(storage.value.lang):
        storage.set_value(prims.stride_order(storage.value, order))


def _present(lengths: Iterable[Any]) -> tuple[int, ...]:
    """Sizes or strides in the present call."""
    return tuple(symbols.present(n) for n in lengths)


def _in_order(shape: tuple[Any, ...], strides: tuple[int, ...]) -> Strides:
    """Strides of a shape with symbolic sizes, in the memory order of the present ``strides``; ``None`` if there are gaps,
    or dimensions of 1."""
    found: list[Any] = [0] * len(shape)
    lengths, reached, step = _present(shape), 1, 1
    if 1 in lengths:
        return None
    for d in sorted(range(len(shape)), key=strides.__getitem__):
        if strides[d] != reached:
            return None
        found[d] = step
        reached, step = reached * lengths[d], step * symbols.extent(shape[d])
    return tuple(found)


def reach(a: TracedArray, size: Any, stride: Any, storage_offset: Any = None) -> int:
    """How far behind the beginning of its memory ``a.as_strided(…)`` looks, in elements."""
    return (storage_offset or 0) + sum((n - 1) * s for n, s in zip(size, stride)) if 0 not in size else -1


def is_contiguous_as(a: TracedArray, memory_format: torch.memory_format) -> bool:
    """Whether an array whose strides are known is contiguous in a format of torch's."""
    assert a.strides_ is not None
    with torch._C.DisableTorchFunction():
        alike = torch.empty_strided(_present(a.shape_), _present(a.strides_), device="meta")
        return alike.is_contiguous(memory_format=memory_format)


def known_strides(a: TracedArray) -> tuple[int, ...]:
    """The strides of an array in which numbers are drawn. Raises :class:`NeedsEager` if they are not known."""
    strides = a.strides_
    if strides is None:
        raise NeedsEager("it draws random numbers in the order of a tensor whose layout tnp does not know")
    return tuple(map(symbols.fixed, strides))


def strides_of_like(a: TracedArray) -> tuple[int, ...]:
    """The strides of ``torch.empty_like(a)``."""
    shape = tuple(map(symbols.fixed, a.shape_))
    with torch._C.DisableTorchFunction():
        like = torch.empty_strided(shape, known_strides(a), device="meta")
        return tuple(torch.empty_like(like).stride())


def drawing(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, tuple[Any, ...]]:
    """A function that draws in the order in which its arguments lie in memory, and what it is called with, so that they lie there as
    eager's do."""
    given = list(_arrays_in((args, kwargs)))
    if all(a.storage.origin is not None for a in given):  # they are the caller's
        return function, args
    return laid_out(function), (tuple(map(known_strides, given)), *args)


def _arrays_in(x: Any) -> Iterator[TracedArray]:
    if type(x) is TracedArray:
        yield x
    elif isinstance(x, (tuple, list)):
        for y in x:
            yield from _arrays_in(y)
    elif type(x) is dict:
        yield from _arrays_in(list(x.values()))
    elif type(x) is slice:
        yield from _arrays_in((x.start, x.stop, x.step))


def _called(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[torch.Tensor]:
    """The tensors that ``function`` gives for tensors of the strides of the arguments; none if it refuses these."""
    given = list(_arrays_in((args, kwargs)))
    if any(a.strides_ is None for a in given):
        return []
    is_large = sum(math.prod(_present(a.shape_)) for a in given) > MOST
    generator = torch.get_rng_state()
    with torch._C.DisableTorchFunction(), torch.no_grad(), switched_off(), quiet():
        for fill in (0, 1):  # zeros may be divided by, ones be indices out of bounds
            try:
                with FakeTensorMode() if is_large else nullcontext():
                    return list(_tensors_in(function(*_like(args, fill), **_like(kwargs, fill))))
            except Exception:  # what it refuses to compute of such values
                continue
            finally:
                torch.set_rng_state(generator)
    return []


def _like(x: Any, fill: int) -> Any:
    """Arguments with tensors that lie in memory as arrays do."""
    kind = type(x)
    if kind is TracedArray:
        shape, strides = _present(x.shape_), _present(x.strides_)
        span = sum((n - 1) * s for n, s in zip(shape, strides)) + 1 if 0 not in shape else 0
        dtype, device = to_torch_dtype(x._element_type), to_torch_device(x._proxy.device)
        return torch.full((span,), fill, dtype=dtype, device=device).as_strided(shape, strides)
    if kind is TracedNumber:
        return x.proxy.python_type(1) if x.proxy.value is None else x.proxy.value
    if kind is TracedObject:
        return torch.Generator()
    if kind in (tuple, list):
        return kind(_like(y, fill) for y in x)
    if kind is slice:
        return slice(_like(x.start, fill), _like(x.stop, fill), _like(x.step, fill))
    return {k: _like(v, fill) for k, v in x.items()} if kind is dict else x


def _tensors_in(x: Any) -> Iterator[torch.Tensor]:
    if isinstance(x, torch.Tensor):
        yield x
    elif isinstance(x, (tuple, list)):
        for y in x:
            yield from _tensors_in(y)
