"""Gradients of functions of the torch language: where their parts would give another subgradient than torch's, or more
work.

Each rule gives what torch's autograd gives. Those of which a function's parts have the same are left to these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tnp.core import clang, dtypes, prims, sizes
from tnp.core.proxies import TensorProxy, is_number, pyval
from tnp.transforms.autodiff.ops import times
from tnp.transforms.autodiff.reduction import spread
from tnp.transforms.autodiff.rules import rule
from tnp.transforms.autodiff.shape import summed_to

__all__: list[str] = []

FUNCTIONAL = "torch.nn.functional."


# Kinks: which side counts


def _where(condition: TensorProxy, g: TensorProxy) -> TensorProxy:
    return clang.where(condition, g, 0)


def _inside(x: TensorProxy, low: Any, high: Any) -> TensorProxy:
    """Whether ``x`` is truly between two numbers."""
    return clang.logical_and(clang.gt(x, low), clang.lt(x, high))


@rule("torch.relu")
def _relu(g: TensorProxy, out: TensorProxy, input: Any) -> Any:
    return _where(clang.gt(out, 0), g)


@rule(FUNCTIONAL + "relu6")
def _relu6(g: TensorProxy, out: TensorProxy, input: Any) -> Any:
    return _where(_inside(out, 0, 6), g)


@rule(FUNCTIONAL + "hardtanh")
def _hardtanh(g: TensorProxy, out: TensorProxy, input: Any, min_val: Any = -1.0, max_val: Any = 1.0) -> Any:
    return _where(_inside(input, min_val, max_val), g)


@rule(FUNCTIONAL + "hardsigmoid")
def _hardsigmoid(g: TensorProxy, out: TensorProxy, input: Any) -> Any:
    return _where(_inside(input, -3, 3), clang.div(g, 6))


@rule(FUNCTIONAL + "hardswish")
def _hardswish(g: TensorProxy, out: TensorProxy, input: Any) -> Any:
    slope = clang.add(clang.div(input, 3), 0.5)
    return _where(clang.gt(input, -3), clang.where(clang.lt(input, 3), clang.mul(g, slope), g))


def _clamped(g: TensorProxy, out: TensorProxy, input: TensorProxy, low: Any, high: Any) -> Any:
    if g.dtype is not input.dtype or sizes.shapes_equal(g.shape, input.shape) is not True:
        return NotImplemented
    is_below = None if low is None else clang.lt(input, low)
    is_above = None if high is None else clang.gt(input, high)
    crossed = None
    if isinstance(low, TensorProxy) and isinstance(high, TensorProxy):
        crossed = clang.lt(high, low)

    def of_input() -> TensorProxy:
        outside = [c for c in (is_below, is_above) if c is not None]
        return clang.where(outside[0] if len(outside) == 1 else clang.logical_or(*outside), 0, g)

    def of_low() -> TensorProxy:
        assert is_below is not None
        taken = is_below if crossed is None else clang.logical_and(is_below, clang.logical_not(crossed))
        return summed_to(_where(taken, g), low.shape)

    def of_high() -> TensorProxy:
        assert is_above is not None
        taken = is_above if crossed is None else clang.logical_or(is_above, crossed)
        return summed_to(_where(taken, g), high.shape)

    return (
        of_input,
        of_low if isinstance(low, TensorProxy) else None,
        of_high if isinstance(high, TensorProxy) else None,
    )


@rule("torch.clamp")
def _clamp_both(g: TensorProxy, out: TensorProxy, input: Any, min: Any = None, max: Any = None) -> Any:
    """What lies on a limit is the input's."""
    return _clamped(g, out, input, min, max)


@rule("torch.clamp_min")
def _clamp_min(g: TensorProxy, out: TensorProxy, input: Any, min: Any) -> Any:
    return _clamped(g, out, input, min, None)


@rule("torch.clamp_max")
def _clamp_max(g: TensorProxy, out: TensorProxy, input: Any, max: Any) -> Any:
    found = _clamped(g, out, input, None, max)
    return found if found is NotImplemented else (found[0], found[2])


def _first_if_equal(takes_first: Callable[[Any, Any], Any]) -> Any:
    """A rule of ``fmax`` or ``fmin``: what is equal is the first one's."""

    def pull(g: TensorProxy, out: TensorProxy, input: Any, other: Any) -> Any:
        if not (isinstance(input, TensorProxy) and isinstance(other, TensorProxy)):
            return NotImplemented
        first = clang.logical_or(takes_first(input, other), clang.ne(other, other))
        return (
            lambda: summed_to(_where(first, g), input.shape),
            lambda: summed_to(clang.where(first, 0, g), other.shape),
        )

    return pull


rule("torch.fmax")(_first_if_equal(clang.ge))
rule("torch.fmin")(_first_if_equal(clang.le))


@rule("torch.atan2")
def _atan2(g: TensorProxy, out: TensorProxy, input: Any, other: Any) -> Any:
    """0 at the origin."""
    if not (isinstance(input, TensorProxy) and isinstance(other, TensorProxy)) or g.dtype.kind != "f":
        return NotImplemented
    square = clang.add(clang.square(input), clang.square(other))
    scale = clang.where(clang.eq(square, 0), 0, clang.div(g, clang.where(clang.eq(square, 0), 1, square)))
    return (
        lambda: summed_to(clang.mul(scale, other), input.shape),
        lambda: summed_to(clang.neg(clang.mul(scale, input)), other.shape),
    )


# From the result alone


@rule("torch.sigmoid")
def _sigmoid(g: TensorProxy, out: TensorProxy, input: Any) -> Any:
    if out.dtype.kind != "f":
        return NotImplemented
    return clang.mul(g, clang.mul(out, clang.sub(1, out)))


def _along(dim: Any, a: TensorProxy) -> tuple[int, ...] | None:
    """The dimension that a function works along, of a tensor that has some."""
    return None if a.ndim == 0 or not is_number(dim) else (pyval(dim) % a.ndim,)


@rule("torch.softmax", FUNCTIONAL + "softmax")
def _softmax(g: TensorProxy, out: TensorProxy, input: Any, dim: Any = None, *rest: Any, **options: Any) -> Any:
    """``out * (g - sum(g * out))``."""
    dims = _along(dim, out)
    if dims is None:
        return NotImplemented
    total = spread(prims.sum(clang.mul(g, out), dims), out, dims)
    return clang.mul(out, clang.sub(g, total))


@rule("torch.log_softmax", FUNCTIONAL + "log_softmax")
def _log_softmax(g: TensorProxy, out: TensorProxy, input: Any, dim: Any = None, *rest: Any, **options: Any) -> Any:
    """``g - exp(out) * sum(g)``."""
    dims = _along(dim, out)
    if dims is None:
        return NotImplemented
    return clang.sub(g, clang.mul(clang.exp(out), spread(prims.sum(g, dims), out, dims)))


# Products: the function stays one call, and its arguments are what is saved


@rule(FUNCTIONAL + "linear")
def _linear(g: TensorProxy, out: TensorProxy, input: TensorProxy, weight: TensorProxy, bias: Any = None) -> Any:
    """``g @ weight``, ``g.T @ input`` and the sum of the rows of ``g``, over all rows at once: the parts have one product a batch."""
    if input.dtype.kind != "f":
        return NotImplemented
    rows = clang.reshape(g, (-1, weight.shape[0]))

    def of_input() -> TensorProxy:
        return clang.reshape(prims.matmul(rows, weight), input.shape)

    def of_weight() -> TensorProxy:
        made: TensorProxy = prims.matmul(clang.matrix_transpose(rows), clang.reshape(input, (-1, weight.shape[1])))
        return made

    return of_input, of_weight, lambda: summed_to(prims.sum(rows, (0,)), bias.shape)


@rule("torch.matmul", "numpy.matmul")
def _matmul(g: TensorProxy, out: TensorProxy, a: TensorProxy, b: TensorProxy, *rest: Any, **options: Any) -> Any:
    """Of stacks of matrices times one matrix: one product over all rows, as of :func:`_linear`."""
    if a.ndim < 3 or b.ndim != 2 or a.dtype.kind != "f" or b.dtype is not a.dtype or rest or options:
        return NotImplemented
    rows = clang.reshape(g, (-1, g.shape[-1]))
    return (
        lambda: clang.reshape(prims.matmul(rows, clang.matrix_transpose(b)), a.shape),
        lambda: prims.matmul(clang.matrix_transpose(clang.reshape(a, (-1, a.shape[-1]))), rows),
    )


# Normalisation and losses: what the backward needs is computed again from the input, and only that is saved


@rule(FUNCTIONAL + "layer_norm")
def _layer_norm(
    g: TensorProxy, out: TensorProxy, input: TensorProxy, normalized_shape: Any, weight: Any = None, bias: Any = None,
    eps: Any = 1e-05, *rest: Any, **options: Any,
) -> Any:  # fmt: skip
    rank = len(normalized_shape)
    dims = tuple(range(input.ndim - rank, input.ndim))
    outer = tuple(range(input.ndim - rank))
    count = sizes.product([input.shape[d] for d in dims])

    def mean(x: TensorProxy) -> TensorProxy:
        return spread(clang.div(prims.sum(x, dims), count), input, dims)

    centred = clang.sub(input, mean(input))
    scale = clang.rsqrt(clang.add(clang.div(prims.sum(clang.square(centred), dims), count), eps))
    normal = clang.mul(centred, spread(scale, input, dims))

    def of_input() -> TensorProxy:
        scaled = g if weight is None else clang.mul(g, weight)
        pulled = clang.sub(clang.sub(scaled, mean(scaled)), clang.mul(normal, mean(clang.mul(scaled, normal))))
        return clang.mul(pulled, spread(scale, input, dims))

    def over_rows(x: TensorProxy) -> TensorProxy:
        return prims.sum(x, outer) if outer else x

    return of_input, None, lambda: over_rows(clang.mul(g, normal)), lambda: over_rows(g)


@rule(FUNCTIONAL + "cross_entropy")
def _cross_entropy(
    g: TensorProxy, out: TensorProxy, input: TensorProxy, target: TensorProxy, weight: Any = None, size_average: Any = None,
    ignore_index: Any = -100, reduce: Any = None, reduction: Any = "mean", label_smoothing: Any = 0.0,
) -> Any:  # fmt: skip
    """Of classes: ``(softmax(input) - 1 at the target) * g``, divided by the number of targets that count."""
    if weight is not None or pyval(label_smoothing) != 0 or target.dtype.kind != "i" or input.ndim == 1:
        return NotImplemented
    counts = clang.ne(target, int(ignore_index))
    share = clang.convert(counts, input.dtype)
    if reduction == "mean":
        total = prims.sum(share, tuple(range(share.ndim)))
        g = clang.div(g, total)
    weights = clang.mul(share, g)
    order = [0, *range(2, input.ndim)]
    wide = prims.broadcast_in_dim(weights, input.shape, order)
    shifted = clang.sub(input, spread(prims.amax(input, (1,)), input, (1,)))
    powers = clang.exp(shifted)
    chances = clang.div(powers, spread(prims.sum(powers, (1,)), input, (1,)))
    classes = prims.iota(input.shape[1], device=input.device, dtype=target.dtype)
    hit = clang.eq(
        prims.broadcast_in_dim(target, input.shape, order), prims.broadcast_in_dim(classes, input.shape, (1,))
    )
    return times(wide, clang.sub(chances, clang.convert(hit, input.dtype)))


@rule("composed.largest_in_windows")
def _largest_in_windows(g: TensorProxy, out: TensorProxy, found: TensorProxy, rank: int) -> Any:
    """To the first of equals, as torch has it."""
    kept = tuple(range(found.ndim - rank))
    inside = tuple(range(found.ndim - rank, found.ndim))
    window = found.shape[found.ndim - rank :]
    count = sizes.product(window)
    number = clang.reshape(prims.iota(count, device=found.device, dtype=dtypes.int64), window)
    number = prims.broadcast_in_dim(number, found.shape, inside)
    wide, largest = (prims.broadcast_in_dim(x, found.shape, kept) for x in (g, out))
    # One pass more than an argmax, of operations that are done for several elements at once.
    is_largest = clang.logical_or(clang.eq(found, largest), clang.ne(found, found))
    place = clang.where(is_largest, number, count)
    place = prims.amin(place, inside)
    return clang.where(clang.eq(number, prims.broadcast_in_dim(place, found.shape, kept)), wide, 0)


@rule("torch.max", "torch.min")
def _extreme_along(g: Any, out: Any, input: Any, dim: Any = None, *rest: Any, **options: Any) -> Any:
    """Along a dimension: to the element whose index is given."""
    if not isinstance(out, tuple) or len(out) != 2 or out[1].dtype.kind != "i":
        return NotImplemented
    dims = _along(dim, input)
    if dims is None or g[0] is None:
        return NotImplemented
    shape = tuple(1 if d in dims else n for d, n in enumerate(input.shape))
    wide, index = (clang.broadcast_to(clang.reshape(x, shape), input.shape) for x in (g[0], out[1]))
    at = prims.broadcast_in_dim(
        prims.iota(input.shape[dims[0]], device=input.device, dtype=out[1].dtype), input.shape, dims
    )
    return _where(clang.eq(at, index), wide)


@rule(FUNCTIONAL + "embedding")
def _embedding(
    g: TensorProxy, out: TensorProxy, input: TensorProxy, weight: TensorProxy, padding_idx: Any = None, *rest: Any,
    **options: Any,
) -> Any:  # fmt: skip
    """Rows add up; that of ``padding_idx`` gets nothing."""

    def of_weight() -> TensorProxy:
        rows = g
        if padding_idx is not None:
            padding = clang.eq(input, int(padding_idx) % weight.shape[0])
            rows = clang.where(prims.broadcast_in_dim(padding, g.shape, tuple(range(input.ndim))), 0, g)
        made: TensorProxy = prims.index_put(clang.full_like(weight, 0), [input], rows, True)
        return made

    return None, of_weight
