"""Shape prims, which rearrange elements. Those tagged ``VIEW`` may share their argument's memory."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from tnp.core import languages, sizes, symbols
from tnp.core.devices import Device
from tnp.core.prims.base import canonicalize_dim, check, check_same_device, check_same_dtype, check_tensor, prim
from tnp.core.proxies import Number, TensorProxy
from tnp.core.sizes import Dim
from tnp.core.symbol import OpTags

__all__ = [
    "as_language",
    "broadcast_in_dim",
    "clone",
    "concatenate",
    "device_put",
    "diagonal",
    "flip",
    "pad",
    "reshape",
    "slice",
    "squeeze",
    "stride_order",
    "transpose",
    "unfold",
]

_VIEW = (OpTags.VIEW, OpTags.SHAPE_OP)


@prim(*_VIEW)
def broadcast_in_dim(a: TensorProxy, /, shape: Sequence[Dim], dims: Sequence[int]) -> TensorProxy:
    """``a`` repeated to ``shape``: its dimension ``i`` becomes dimension ``dims[i]``, where it must fit or be 1."""
    check_tensor(a, "broadcast_in_dim")
    shape = tuple(shape)
    check(len(dims) == a.ndim, lambda: f"broadcast_in_dim needs a dimension for each of {a.ndim}, not {tuple(dims)}")
    check(all(x < y for x, y in pairwise(dims)), lambda: f"dimensions must increase, not {tuple(dims)}")
    for own, dim in zip(a.shape, dims):
        check(0 <= dim < len(shape), lambda: f"dimension {dim} is not one of {len(shape)}")
        fits = sizes.fits(own, shape[dim])
        check(fits, lambda: f"cannot broadcast {sizes.show(a.shape)} to {sizes.show(shape)} along {tuple(dims)}")
    return TensorProxy(like=a, shape=shape)


@prim(*_VIEW)
def reshape(a: TensorProxy, /, shape: Sequence[Dim]) -> TensorProxy:
    """The elements in C order, in another shape of as many."""
    check_tensor(a, "reshape")
    fits = sizes.equal(sizes.count(a.shape), sizes.count(tuple(shape)))
    check(fits, lambda: f"cannot reshape {sizes.show(a.shape)} into shape {sizes.show(tuple(shape))}")
    return TensorProxy(like=a, shape=tuple(shape))


@prim(*_VIEW)
def transpose(a: TensorProxy, /, permutation: Sequence[int]) -> TensorProxy:
    """Dimension ``i`` of the result is dimension ``permutation[i]`` of ``a``."""
    check_tensor(a, "transpose")
    check(
        sorted(permutation) == list(range(a.ndim)),
        lambda: f"{tuple(permutation)} is not a permutation of {a.ndim} dimensions",
    )
    return TensorProxy(like=a, shape=tuple(a.shape[d] for d in permutation))


@prim(*_VIEW)
def squeeze(a: TensorProxy, /, dims: Sequence[int]) -> TensorProxy:
    """Without the dimensions ``dims``, each of length 1."""
    check_tensor(a, "squeeze")
    for d in dims:
        check(sizes.equal(a.shape[d], 1), lambda: f"cannot squeeze dimension {d} of {sizes.show(a.shape)}")
    return TensorProxy(like=a, shape=tuple(n for i, n in enumerate(a.shape) if i not in dims))


@prim(*_VIEW)
def slice(
    a: TensorProxy, /, starts: Sequence[int], stops: Sequence[int], strides: Sequence[int] | None = None
) -> TensorProxy:
    """Elements ``starts[d] : stops[d] : strides[d]`` of each dimension; ``0 <= start <= stop <= size``, stride ≥ 1."""
    check_tensor(a, "slice")
    steps = (1,) * a.ndim if strides is None else tuple(strides)
    check(len(starts) == len(stops) == len(steps) == a.ndim, lambda: f"slice needs {a.ndim} starts, stops and strides")
    shape: list[Dim] = []
    for size, start, stop, step in zip(a.shape, starts, stops, steps):
        limit = sizes.bound(size)
        check(0 <= start <= stop <= limit and step >= 1, lambda: f"slice {start}:{stop}:{step} of a dimension {size}")
        unchanged = start == 0 and step == 1 and stop == limit
        shape.append(size if unchanged else (stop - start + step - 1) // step)
    return TensorProxy(like=a, shape=tuple(shape))


@prim(*_VIEW)
def flip(a: TensorProxy, /, dims: Sequence[int]) -> TensorProxy:
    """With the order of elements along ``dims`` reversed."""
    check_tensor(a, "flip")
    for d in dims:
        check(0 <= d < a.ndim, lambda: f"dimension {d} is not one of {a.ndim}")
    return TensorProxy(like=a)


@prim(*_VIEW)
def diagonal(a: TensorProxy, /, offset: int, dim1: int, dim2: int) -> TensorProxy:
    """The diagonals of the planes ``dim1`` × ``dim2``, as a new last dimension."""
    check_tensor(a, "diagonal")
    rows, columns = sizes.extents((a.shape[dim1], a.shape[dim2]), "diagonal")
    length = max(0, min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns))
    rest = tuple(n for i, n in enumerate(a.shape) if i not in (dim1, dim2))
    return TensorProxy(like=a, shape=symbols.dimensions((*rest, length)))


@prim(*_VIEW)
def unfold(a: TensorProxy, /, dim: int, size: int, step: int) -> TensorProxy:
    """Windows of ``size`` elements, ``step`` apart, along ``dim``; they become a new last dimension (torch's unfold)."""
    dim = canonicalize_dim(a.ndim, dim)
    window = symbols.extent(size)
    length = 1 if a.ndim == 0 else sizes.extents((a.shape[dim],), "unfold")[0]
    check(
        length >= window,
        lambda: f"Maximum size for tensor at dimension {dim} is {length} but size is {size}",
        RuntimeError,
    )
    check(window >= 0, lambda: f"Size is {size} but must be >= 0", RuntimeError)
    by = symbols.extent(step)
    check(by > 0, lambda: f"Step is {step} but must be > 0", RuntimeError)
    shape: list[Any] = [*a.shape, size]
    shape[dim] = (length - window) // by + 1
    return TensorProxy(like=a, shape=symbols.dimensions(shape) if a.ndim else (size,))


@prim(*_VIEW)
def as_language(a: TensorProxy, name: str, /) -> TensorProxy:
    """The same memory as an array of another language: ``tensor.numpy()``, ``torch.from_numpy(array)``."""
    check_tensor(a, "as_language")
    return TensorProxy(like=a, lang=languages.get(name))


@prim()
def clone(a: TensorProxy, /) -> TensorProxy:
    """A copy in memory of its own."""
    check_tensor(a, "clone")
    return TensorProxy(like=a)


@prim()
def device_put(a: TensorProxy, device: Device, /) -> TensorProxy:
    """A copy in memory of another device."""
    check_tensor(a, "device_put")
    return TensorProxy(like=a, device=device)


@prim(OpTags.SHAPE_OP)
def stride_order(a: TensorProxy, /, order: Sequence[int] | None = None) -> TensorProxy:
    """``a`` in memory whose fastest dimension is the one of order 0, and so on (default: row-major)."""
    check_tensor(a, "stride_order")
    if order is not None:
        check(sorted(order) == list(range(a.ndim)), lambda: f"{order} is not an order of {a.ndim} dimensions")
    return TensorProxy(like=a)


@prim(OpTags.SHAPE_OP)
def pad(a: TensorProxy, value: Number, config: Sequence[tuple[int, int, int]], /) -> TensorProxy:
    """With ``(low, high, interior)`` copies of ``value`` before, after and between the elements of each dimension.

    Negative ``low`` and ``high`` cut elements off (XLA's Pad).
    """
    check_tensor(a, "pad")
    check(len(config) == a.ndim, lambda: f"pad needs a (low, high, interior) for each of {a.ndim} dimensions")
    shape: list[Any] = []
    for n, widths in zip(sizes.extents(a.shape, "pad"), config):
        low, high, interior = map(symbols.extent, widths)
        check(interior >= 0, lambda: "interior padding must be >= 0")
        length = n + max(0, n - 1) * interior + low + high
        check(length >= 0, lambda: f"padding ({low}, {high}) cuts off more than there is")
        shape.append(length)
    return TensorProxy(like=a, shape=symbols.dimensions(shape))


@prim(OpTags.SHAPE_OP)
def concatenate(arrays: Sequence[TensorProxy], /, dim: int) -> TensorProxy:
    """The arrays joined along ``dim``; they agree in dtype, device and all other dimensions."""
    check(len(arrays) > 0, lambda: "need at least one array to concatenate")
    check_same_dtype("concatenate", *arrays)
    check_same_device("concatenate", *arrays)
    first = arrays[0]
    shape: list[Any] = list(first.shape)
    for a in arrays[1:]:
        check(a.ndim == first.ndim, lambda: "arrays to concatenate must have one number of dimensions")
        for d in range(first.ndim):
            if d == dim:
                shape[d] = sizes.total(shape[d], a.shape[d])
            else:
                check(
                    sizes.equal(first.shape[d], a.shape[d]),
                    lambda: f"arrays to concatenate differ along dimension {d}: {first.shape[d]} and {a.shape[d]}",
                )
    if type(shape[dim]) is not int and symbols.value_of(shape[dim]) is None:
        bounds = [n for a in arrays if (n := sizes.bound_or_none(a.shape[dim])) is not None]
        shape[dim].bound = sum(bounds) if len(bounds) == len(arrays) else None
    return TensorProxy(like=first, shape=tuple(shape))
