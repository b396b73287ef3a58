"""Losses of ``torch.nn.functional``, and distances."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F

from tnp.core import clang, dtypes, prims, sizes
from tnp.core.errors import NeedsOpaque
from tnp.core.proxies import TensorProxy
from tnp.lang.torch.activations import floating, log_softmax_along
from tnp.lang.torch.operands import dimensions, float_dtype, known, real_only, tensor_only
from tnp.lang.torch.reductions import reduced, vector_norm
from tnp.lang.torch.registry import torchsymbol
from tnp.lang.torch.selecting import clamp_min

__all__: list[str] = []


def _reduce(loss: TensorProxy, reduction: Any) -> TensorProxy:
    if reduction == "none":
        return loss
    if reduction not in ("mean", "sum"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    total = prims.sum(loss, tuple(range(loss.ndim)))
    return total if reduction == "sum" else clang.div(total, loss.numel)


def _alike(input: Any, target: Any, *legacy: Any, integers: bool = False) -> None:
    """Leaves to torch operands of two shapes, which it broadcasts with a warning, and parameters of old."""
    tensor_only(input, target)
    if not (integers and input.dtype is target.dtype and input.dtype.kind == "i"):
        floating(input, target)
    if input.shape != target.shape or any(x is not None for x in legacy) or 0 in input.shape:
        raise NeedsOpaque("operands of two shapes")


@torchsymbol(F.mse_loss)
def mse_loss(input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: Any = "mean",
             weight: Any = None) -> TensorProxy:  # fmt: skip
    """The squared difference."""
    _alike(input, target, size_average, reduce, weight)
    return _reduce(clang.square(clang.sub(input, target)), reduction)


@torchsymbol(F.l1_loss)
def l1_loss(input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: Any = "mean",
            weight: Any = None) -> TensorProxy:  # fmt: skip
    """The absolute difference."""
    _alike(input, target, size_average, reduce, weight)
    return _reduce(clang.abs(clang.sub(input, target)), reduction)


@torchsymbol(F.smooth_l1_loss)
def smooth_l1_loss(input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: Any = "mean",
                   beta: Any = 1.0) -> TensorProxy:  # fmt: skip
    """The absolute difference, squared where it is less than ``beta``."""
    beta = known(beta)
    if not beta >= 0:
        raise NeedsOpaque("torch refuses beta")
    if beta == 0:
        return l1_loss(input, target, size_average, reduce, reduction)
    _alike(input, target, size_average, reduce)
    distance = clang.abs(clang.sub(input, target))
    near = clang.div(clang.mul(clang.square(distance), 0.5), beta)
    return _reduce(clang.where(clang.lt(distance, beta), near, clang.sub(distance, 0.5 * beta)), reduction)


@torchsymbol(F.huber_loss)
def huber_loss(input: Any, target: Any, reduction: Any = "mean", delta: Any = 1.0, weight: Any = None) -> TensorProxy:
    """Half the squared difference up to ``delta``, then linear."""
    _alike(input, target, weight)
    delta = known(delta)
    if not delta > 0:
        raise NeedsOpaque("torch refuses delta")
    distance = clang.abs(clang.sub(input, target))
    far = clang.mul(clang.sub(distance, 0.5 * delta), delta)
    near = clang.mul(clang.square(distance), 0.5)
    return _reduce(clang.where(clang.lt(distance, delta), near, far), reduction)


@torchsymbol(F.soft_margin_loss)
def soft_margin_loss(input: Any, target: Any, size_average: Any = None, reduce: Any = None,
                     reduction: Any = "mean") -> TensorProxy:  # fmt: skip
    """``log(1 + exp(-target * input))``."""
    _alike(input, target, size_average, reduce)
    return _reduce(clang.log1p(clang.exp(clang.neg(clang.mul(target, input)))), reduction)


@torchsymbol(F.poisson_nll_loss)
def poisson_nll_loss(input: Any, target: Any, log_input: Any = True, full: Any = False, size_average: Any = None,
                     eps: Any = 1e-08, reduce: Any = None, reduction: Any = "mean") -> TensorProxy:  # fmt: skip
    """The negative log likelihood of counts."""
    _alike(input, target, size_average, reduce, integers=True)
    a, b = (clang.convert(x, float_dtype(x.dtype)) for x in (input, target))
    if log_input:
        loss = clang.sub(clang.exp(a), clang.convert(clang.mul(target, input), a.dtype))
    else:
        loss = clang.sub(a, clang.mul(b, clang.log(clang.add(a, eps))))
    if full:  # Stirling's formula
        rest = clang.mul(clang.log(clang.mul(b, 2 * math.pi)), 0.5)
        term = clang.add(clang.sub(clang.mul(b, clang.log(b)), b), rest)
        loss = clang.add(loss, clang.where(clang.le(b, 1), 0.0, term))
    return _reduce(loss, reduction)


@torchsymbol(F.binary_cross_entropy_with_logits, torch.binary_cross_entropy_with_logits)
def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, size_average: Any = None, reduce: Any = None, reduction: Any = "mean",
    pos_weight: Any = None,
) -> TensorProxy:  # fmt: skip
    """The cross entropy of ``sigmoid(input)`` and ``target``."""
    _alike(input, target, size_average, reduce)
    weights = [None if x is None else _repeated(x, input) for x in (weight, pos_weight)]
    if not isinstance(reduction, str):
        raise NeedsOpaque("a reduction by number")
    tail = clang.log1p(clang.exp(clang.neg(clang.abs(input))))
    if weights[1] is None:
        loss = clang.add(clang.sub(clang.maximum(input, 0), clang.mul(input, target)), tail)
    else:
        factor = clang.add(clang.mul(clang.sub(weights[1], 1), target), 1)
        of_sigmoid = clang.sub(clang.minimum(input, 0), tail)
        loss = clang.sub(clang.mul(clang.sub(clang.full_like(target, 1), target), input), clang.mul(of_sigmoid, factor))
    return _reduce(loss if weights[0] is None else clang.mul(loss, weights[0]), reduction)


def _repeated(weight: Any, input: TensorProxy) -> TensorProxy:
    """A weight in the shape of what it weighs."""
    floating(input, weight)
    if sizes.broadcast(weight.shape, input.shape) != input.shape:
        raise NeedsOpaque("a weight of another shape")
    return clang.broadcast_to(weight, input.shape)


@torchsymbol(F.kl_div)
def kl_div(input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: Any = "mean",
           log_target: Any = False) -> TensorProxy:  # fmt: skip
    """How far the distribution ``target`` is from that whose logarithm is ``input``."""
    _alike(input, target, size_average, reduce)
    if log_target:
        loss = clang.mul(clang.exp(target), clang.sub(target, input))
    else:
        entropy = clang.where(clang.eq(target, 0), 0.0, clang.mul(target, clang.log(target)))
        loss = clang.sub(entropy, clang.mul(target, input))
    if reduction == "batchmean":
        return clang.div(_reduce(loss, "sum"), input.shape[0]) if input.ndim else _reduce(loss, "sum")
    return _reduce(loss, reduction)


@torchsymbol(F.hinge_embedding_loss)
def hinge_embedding_loss(input: Any, target: Any, margin: Any = 1.0, size_average: Any = None, reduce: Any = None,
                         reduction: Any = "mean") -> TensorProxy:  # fmt: skip
    """``input`` where ``target`` is 1, what it lacks of the margin where it is -1."""
    _alike(input, target, size_average, reduce)
    lacking = clamp_min(clang.sub(clang.full_like(input, margin), input), 0)
    zero = clang.full_like(input, 0)
    first = clang.where(clang.ne(target, 1), lacking, zero)
    return _reduce(clang.add(first, clang.where(clang.ne(target, -1), input, zero)), reduction)


@torchsymbol(F.margin_ranking_loss)
def margin_ranking_loss(input1: Any, input2: Any, target: Any, margin: Any = 0, size_average: Any = None,
                        reduce: Any = None, reduction: Any = "mean") -> TensorProxy:  # fmt: skip
    """What ``input1`` lacks of being the greater one by the margin."""
    _alike(input1, input2, size_average, reduce, integers=True)
    _alike(input1, target, integers=True)
    lead = clang.neg(clang.mul(target, clang.sub(input1, input2)))
    return _reduce(clamp_min(clang.add(clang.convert(lead, float_dtype(lead.dtype)), margin), 0), reduction)


def _class_dimension(input: TensorProxy) -> int:
    return 0 if input.ndim == 1 else 1


def _picked(
    log_probabilities: TensorProxy, target: Any, reduction: Any, ignore_index: Any, weight: Any = None, smoothing: Any = 0.0
) -> TensorProxy:  # fmt: skip
    """The negative log probabilities of the classes ``target``, times the weights of those; those of ``ignore_index`` are none of the
    mean, which is by weight. ``smoothing`` is how much of each target is spread over all classes."""
    d = _class_dimension(log_probabilities)
    expected = tuple(n for i, n in enumerate(log_probabilities.shape) if i != d)
    if (
        not isinstance(target, TensorProxy)
        or target.dtype.name != "int64"
        or target.shape != expected
        or 0 in target.shape
    ):
        raise NeedsOpaque("targets that are no classes")
    classes = log_probabilities.shape[d]
    if weight is not None and (
        not isinstance(weight, TensorProxy) or weight.dtype is not log_probabilities.dtype or weight.shape != (classes,)
    ):
        raise NeedsOpaque("weights that are not the classes'")
    left_out = clang.eq(target, int(ignore_index))
    safe = clang.where(left_out, clang.full_like(target, 0), target)
    at = clang.expand_dims(prims.require(safe, clang.ge(safe, 0), IndexError, "Target is out of bounds."), (d,))
    loss = clang.neg(clang.squeeze(prims.gather(log_probabilities, at, d), (d,)))
    weights = None
    if weight is not None:
        each = clang.reshape(weight, tuple(classes if i == d else 1 for i in range(log_probabilities.ndim)))
        each = clang.broadcast_to(each, log_probabilities.shape)
        weights = clang.squeeze(prims.gather(each, at, d), (d,))
        loss = clang.mul(loss, weights)
    if smoothing:
        weighted = log_probabilities if weight is None else clang.mul(log_probabilities, each)
        spread = clang.mul(prims.sum(weighted, (d,)), -smoothing / classes)
        loss = clang.add(clang.mul(loss, 1 - smoothing), spread)
    loss = clang.where(left_out, clang.full_like(loss, 0), loss)
    if reduction != "mean":
        return _reduce(loss, reduction)
    dims = tuple(range(loss.ndim))
    kept = clang.convert(clang.logical_not(left_out), loss.dtype)
    return clang.div(prims.sum(loss, dims), prims.sum(kept if weights is None else clang.mul(kept, weights), dims))


@torchsymbol(F.nll_loss, rounds_once=True)
def nll_loss(input: Any, target: Any, weight: Any = None, size_average: Any = None, ignore_index: Any = -100,
             reduce: Any = None, reduction: Any = "mean") -> TensorProxy:  # fmt: skip
    """The negative log likelihood of classes."""
    floating(input)
    if size_average is not None or reduce is not None or input.ndim == 0:
        raise NeedsOpaque("another reduction")
    return _picked(input, target, reduction, ignore_index, weight)


@torchsymbol(F.cross_entropy, rounds_once=True)
def cross_entropy(input: Any, target: Any, weight: Any = None, size_average: Any = None, ignore_index: Any = -100,
                  reduce: Any = None, reduction: Any = "mean", label_smoothing: Any = 0.0) -> TensorProxy:  # fmt: skip
    """The negative log likelihood of classes under ``softmax(input)``; probabilities for targets are left to torch."""
    floating(input)
    smoothing = known(label_smoothing)
    real_only(ignore_index)
    if size_average is not None or reduce is not None or not 0 <= smoothing <= 1 or input.ndim == 0:
        raise NeedsOpaque("another reduction")
    logs = log_softmax_along(input, _class_dimension(input), None)
    return _picked(logs, target, reduction, ignore_index, weight, smoothing)


@torchsymbol(F.pairwise_distance)
def pairwise_distance(x1: Any, x2: Any, p: Any = 2.0, eps: Any = 1e-06, keepdim: Any = False) -> TensorProxy:
    """The norm of the difference along the last dimension."""
    _alike(x1, x2, integers=True)
    if x1.ndim == 0:
        raise NeedsOpaque("a distance of numbers")
    way = clang.sub(x1, x2)
    return vector_norm(clang.add(clang.convert(way, float_dtype(way.dtype)), eps), p, way.ndim - 1, keepdim)


@torchsymbol(F.cosine_similarity)
def cosine_similarity(x1: Any, x2: Any, dim: Any = 1, eps: Any = 1e-8) -> TensorProxy:
    """The cosine of the angle between vectors."""
    floating(x1, x2)
    a, b = clang.broadcast(x1, x2)
    if 0 in a.shape:
        raise NeedsOpaque("the angle of nothing")
    dims = dimensions(a.ndim, (dim,))

    def unit(x: TensorProxy) -> TensorProxy:
        return clang.div(x, clamp_min(clang.sqrt(reduced(prims.sum, clang.square(x), dims, True)), eps))

    return prims.sum(clang.mul(unit(a), unit(b)), dims)


@torchsymbol(F.normalize)
def normalize(input: Any, p: Any = 2.0, dim: Any = 1, eps: Any = 1e-12) -> TensorProxy:
    """Divided by the norm along a dimension."""
    floating(input)
    return clang.div(input, clamp_min(vector_norm(input, p, dim, True), eps))


# Attention


@torchsymbol(F.scaled_dot_product_attention)
def scaled_dot_product_attention(
    query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: Any = 0.0, is_causal: Any = False, scale: Any = None,
    enable_gqa: Any = False,
) -> TensorProxy:  # fmt: skip
    """``softmax(query @ key.T * scale + mask) @ value``, the mask bool or added."""
    floating(query, key, value)
    tensor_only(query)
    if enable_gqa and query.ndim == key.ndim == value.ndim >= 3 and 0 not in (*key.shape, *value.shape):
        key, value = _for_heads(key, query), _for_heads(value, query)
    elif enable_gqa:
        raise NeedsOpaque("attention of other ranks")
    if known(dropout_p) != 0 or query.ndim < 2 or key.ndim != query.ndim or value.ndim != query.ndim:
        raise NeedsOpaque("attention that drops")
    if query.shape[:-2] != key.shape[:-2] or key.shape[:-1] != value.shape[:-1] or 0 in (*query.shape, *key.shape):
        raise NeedsOpaque("attention of other shapes")
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = clang.mul(query @ clang.matrix_transpose(key), factor)
    if is_causal:
        if attn_mask is not None:
            raise RuntimeError("Explicit attn_mask should not be set when is_causal=True")
        attn_mask = _causal(query.shape[-2], key.shape[-2])
    if attn_mask is not None:
        mask = clang.broadcast_to(attn_mask, scores.shape)
        if mask.dtype.kind == "b":
            scores = clang.where(mask, scores, -math.inf)
        else:
            floating(query, mask)
            scores = clang.add(scores, mask)
    d = scores.ndim - 1
    largest = reduced(prims.amax, scores, (d,), True)
    e = clang.exp(clang.sub(scores, largest))
    weights = clang.div(e, reduced(prims.sum, e, (d,), True))
    if attn_mask is not None:  # nothing to attend to gives 0
        weights = clang.where(clang.eq(largest, -math.inf), clang.full_like(weights, 0), weights)
    return weights @ value


def _for_heads(a: TensorProxy, query: TensorProxy) -> TensorProxy:
    """Heads of which several of the query share each, repeated."""
    heads, count = a.shape[-3], query.shape[-3]
    if count % heads:
        raise NeedsOpaque("heads that do not divide")
    wanted = (*a.shape[:-2], count // heads, *a.shape[-2:])
    return clang.reshape(clang.broadcast_to(clang.expand_dims(a, (-3,)), wanted), (*a.shape[:-3], count, *a.shape[-2:]))


def _causal(rows: int, columns: int) -> TensorProxy:
    i = clang.expand_dims(clang.arange(rows, dtype=dtypes.int64), (1,))
    return clang.ge(i, clang.expand_dims(clang.arange(columns, dtype=dtypes.int64), (0,)))


@torchsymbol(F.triplet_margin_loss)
def triplet_margin_loss(anchor: Any, positive: Any, negative: Any, margin: Any = 1.0, p: Any = 2, eps: Any = 1e-06,
                        swap: Any = False, size_average: Any = None, reduce: Any = None,
                        reduction: Any = "mean") -> TensorProxy:  # fmt: skip
    """How much nearer the positive example should be than it is."""
    _alike(anchor, positive, size_average, reduce, integers=True)
    _alike(anchor, negative, integers=True)
    near, far = (pairwise_distance(anchor, x, p, eps) for x in (positive, negative))
    if swap:
        far = clang.minimum(far, pairwise_distance(positive, negative, p, eps))
    return _reduce(clamp_min(clang.add(clang.sub(near, far), margin), 0), reduction)
