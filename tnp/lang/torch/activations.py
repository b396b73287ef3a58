"""Activation functions and normalisations of neural networks."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F

from tnp.core import clang, prims
from tnp.core.errors import NeedsOpaque
from tnp.core.proxies import TensorProxy
from tnp.core.symbol import Namespace, OpTags, Symbol
from tnp.lang.torch.dtypes import dtype_or
from tnp.lang.torch.elementwise import sigmoid, true_divide
from tnp.lang.torch.operands import dimension, float_dtype, known, real_only, tensor_only
from tnp.lang.torch.reductions import reduced
from tnp.lang.torch.registry import language, torchsymbol
from tnp.lang.torch.selecting import clamp
from tnp.lang.torch.shape import detach

__all__ = ["batch_norm_in_training", "dropout_mask", "dropped", "floating", "log_softmax_along"]

ELEMENTWISE = (OpTags.ELEMENTWISE,)


def floating(*xs: Any) -> None:
    """Leaves to torch what is not float32 or float64 of one dtype: it computes halves in float32."""
    tensor_only(*xs)
    for x in xs:
        if x.dtype.kind != "f" or x.dtype.bits == 16 or x.dtype is not xs[0].dtype:
            raise NeedsOpaque("numbers that are not float32 or float64")


def _real(x: Any) -> None:
    """As :func:`floating`, but integers are taken."""
    tensor_only(x)
    if x.dtype.kind not in "iu":
        floating(x)


@torchsymbol("relu", tags=ELEMENTWISE)
def relu(input: Any) -> TensorProxy:
    """At least 0."""
    tensor_only(input)
    if input.dtype.kind not in "iuf":
        raise NeedsOpaque("relu of other numbers")
    return clang.maximum(input, 0)


@torchsymbol(F.relu6, tags=ELEMENTWISE)
def relu6(input: Any) -> TensorProxy:
    """From 0 to 6."""
    tensor_only(input)
    return clamp(input, 0, 6)


@torchsymbol(F.hardtanh, tags=ELEMENTWISE)
def hardtanh(input: Any, min_val: Any = -1.0, max_val: Any = 1.0) -> TensorProxy:
    """From ``min_val`` to ``max_val``, which are rounded towards zero for integers."""
    tensor_only(input)
    if known(min_val) > known(max_val):
        raise ValueError("min_val cannot be greater than max_val")
    if input.dtype.kind == "i":
        return clamp(input, int(known(min_val)), int(known(max_val)))
    floating(input)
    return clamp(input, min_val, max_val)


@torchsymbol(F.hardsigmoid, tags=ELEMENTWISE, rounds_once=True)
def hardsigmoid(input: Any) -> TensorProxy:
    """``relu6(input + 3) / 6``."""
    floating(input)
    return relu6(input + 3) / 6


@torchsymbol(F.hardswish, tags=ELEMENTWISE, rounds_once=True)
def hardswish(input: Any) -> TensorProxy:
    """``input * relu6(input + 3) / 6``."""
    floating(input)
    return input * relu6(input + 3) / 6


@torchsymbol(F.leaky_relu, tags=ELEMENTWISE, rounds_once=True)
def leaky_relu(input: Any, negative_slope: Any = 0.01) -> TensorProxy:
    """``negative_slope * input`` below 0."""
    floating(input)
    return clang.where(clang.gt(input, 0), input, clang.mul(input, negative_slope))


@torchsymbol("prelu")
def prelu(input: Any, weight: Any) -> TensorProxy:
    """:func:`leaky_relu` with a slope a channel."""
    floating(input, weight)
    if weight.numel == 1:
        slope = clang.broadcast_to(clang.reshape(weight, (1,) * input.ndim), input.shape)
    elif weight.ndim == 1 and input.ndim >= 2 and input.shape[1] == weight.shape[0]:
        slope = clang.broadcast_to(clang.reshape(weight, (1, weight.shape[0], *(1,) * (input.ndim - 2))), input.shape)
    else:
        raise NeedsOpaque("slopes of another shape")
    return clang.where(clang.gt(input, 0), input, clang.mul(input, slope))


@torchsymbol(F.elu, tags=ELEMENTWISE, rounds_once=True)
def elu(input: Any, alpha: Any = 1.0) -> TensorProxy:
    """``alpha * (exp(input) - 1)`` below 0."""
    floating(input)
    return clang.where(clang.gt(input, 0), input, clang.mul(clang.expm1(input), alpha))


@torchsymbol("selu", tags=ELEMENTWISE, rounds_once=True)
def selu(input: Any) -> TensorProxy:
    """:func:`elu` with the constants that keep mean and variance."""
    scale = 1.0507009873554804934193349852946
    return clang.mul(elu(input, 1.6732632423543772848170429916717), scale)


@torchsymbol("celu", tags=ELEMENTWISE, rounds_once=True)
def celu(input: Any, alpha: Any = 1.0) -> TensorProxy:
    """``alpha * (exp(input / alpha) - 1)`` below 0."""
    floating(input)
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return clang.where(clang.gt(input, 0), input, clang.mul(clang.expm1(clang.div(input, alpha)), alpha))


@torchsymbol(F.gelu, tags=ELEMENTWISE, rounds_once=True)
def gelu(input: Any, *, approximate: Any = "none") -> TensorProxy:
    """``input`` times the area under the standard normal distribution up to it; ``"tanh"`` approximates that."""
    floating(input)
    if approximate == "tanh":
        inner = clang.mul(
            clang.add(input, clang.mul(clang.mul(clang.square(input), input), 0.044715)), math.sqrt(2 / math.pi)
        )
        return clang.mul(clang.mul(input, 0.5), clang.add(clang.tanh(inner), 1))
    if approximate != "none":
        raise RuntimeError("approximate argument must be either none or tanh.")
    return clang.mul(clang.mul(input, 0.5), clang.add(clang.erf(clang.mul(input, math.sqrt(0.5))), 1))


@torchsymbol(F.silu, tags=ELEMENTWISE, rounds_once=True)
def silu(input: Any) -> TensorProxy:
    """``input * sigmoid(input)``."""
    floating(input)
    return clang.div(input, clang.add(clang.exp(clang.neg(input)), 1))


@torchsymbol(F.softplus, tags=ELEMENTWISE, rounds_once=True)
def softplus(input: Any, beta: Any = 1.0, threshold: Any = 20.0) -> TensorProxy:
    """``log(1 + exp(beta * input)) / beta``; ``input`` itself beyond the threshold."""
    floating(input)
    scaled = clang.mul(input, beta)
    return clang.where(clang.gt(scaled, threshold), input, clang.div(clang.log1p(clang.exp(scaled)), beta))


@torchsymbol(F.mish, tags=ELEMENTWISE, rounds_once=True)
def mish(input: Any) -> TensorProxy:
    """``input * tanh(softplus(input))``."""
    floating(input)
    return clang.mul(input, clang.tanh(clang.log1p(clang.exp(input))))


@torchsymbol(F.softsign, tags=ELEMENTWISE)
def softsign(input: Any) -> TensorProxy:
    """``input / (1 + |input|)``."""
    _real(input)
    return true_divide(input, clang.add(clang.abs(input), 1))


@torchsymbol(F.tanhshrink, tags=ELEMENTWISE)
def tanhshrink(input: Any) -> TensorProxy:
    """``input - tanh(input)``."""
    _real(input)
    a = clang.convert(input, float_dtype(input.dtype))
    return clang.sub(a, clang.tanh(a))


@torchsymbol(F.softshrink, tags=ELEMENTWISE, rounds_once=True)
def softshrink(input: Any, lambd: Any = 0.5) -> TensorProxy:
    """Towards 0 by ``lambd``."""
    floating(input)
    if not lambd >= 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    below = clang.where(clang.lt(input, -lambd), clang.add(input, lambd), clang.mul(input, 0.0))
    return clang.where(clang.gt(input, lambd), clang.sub(input, lambd), below)


@torchsymbol("hardshrink", tags=ELEMENTWISE)
def hardshrink(input: Any, lambd: Any = 0.5) -> TensorProxy:
    """0 from ``-lambd`` to ``lambd``."""
    floating(input)
    inside = clang.logical_and(clang.ge(input, -lambd), clang.le(input, lambd))
    return clang.where(inside, clang.full((), 0, dtype=input.dtype), input)


@torchsymbol("threshold", tags=ELEMENTWISE)
def threshold(input: Any, threshold: Any, value: Any) -> TensorProxy:
    """``value`` up to the threshold."""
    tensor_only(input)
    real_only(threshold, value)
    if input.dtype.kind != "i" or type(known(threshold)) is not int or type(known(value)) is not int:
        floating(input)
    return clang.where(clang.le(input, threshold), clang.full((), value, dtype=input.dtype), input)


@torchsymbol(F.logsigmoid, tags=ELEMENTWISE, rounds_once=True)
def logsigmoid(input: Any) -> TensorProxy:
    """``log(sigmoid(input))``."""
    floating(input)
    tail = clang.log1p(clang.exp(clang.neg(clang.abs(input))))
    return clang.sub(clang.minimum(input, 0), tail)


@torchsymbol(F.glu, rounds_once=True)
def glu(input: Any, dim: Any = -1) -> TensorProxy:
    """One half times the sigmoid of the other."""
    floating(input)
    if input.ndim == 0:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    d = dimension(input.ndim, dim)
    n = input.shape[d]
    if n % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {d} is size {n}")
    first, second = (clang.slice_dim(input, a, a + n // 2, dim=d) for a in (0, n // 2))
    return clang.mul(first, sigmoid(second))


def _soft_input(input: Any, dim: Any, dtype: Any) -> tuple[TensorProxy, int]:
    tensor_only(input)
    if dim is None:
        raise NeedsOpaque("softmax along a dimension that is not given")
    wanted = dtype_or(dtype, input.dtype)
    a = clang.convert(input, wanted)
    floating(a)
    return a, dimension(a.ndim, dim)


def _softmax(input: Any, dim: Any, dtype: Any, sign: int = 1) -> TensorProxy:
    a, d = _soft_input(input, dim, dtype)
    a = a if sign == 1 else clang.neg(a)
    if a.ndim == 0 or 0 in a.shape:
        return clang.exp(clang.sub(a, a))
    e = clang.exp(clang.sub(a, reduced(prims.amax, a, (d,), True)))
    return clang.div(e, reduced(prims.sum, e, (d,), True))


@torchsymbol(torch.softmax, torch.Tensor.softmax, torch.special.softmax, rounds_once=True)
def softmax(input: Any, dim: Any, dtype: Any = None) -> TensorProxy:
    """Exponentials divided by their sum along a dimension."""
    return _softmax(input, dim, dtype)


@torchsymbol(F.softmax, rounds_once=True)
def _functional_softmax(input: Any, dim: Any = None, _stacklevel: Any = 3, dtype: Any = None) -> TensorProxy:
    """Exponentials divided by their sum along a dimension."""
    return _softmax(input, dim, dtype)


@torchsymbol(F.softmin)
def softmin(input: Any, dim: Any = None, _stacklevel: Any = 3, dtype: Any = None) -> TensorProxy:
    """:func:`softmax` of the negative."""
    return _softmax(input, dim, dtype, -1)


@torchsymbol(torch.log_softmax, torch.Tensor.log_softmax, torch.special.log_softmax, rounds_once=True)
def log_softmax(input: Any, dim: Any, dtype: Any = None) -> TensorProxy:
    """The logarithm of :func:`softmax`."""
    return log_softmax_along(input, dim, dtype)


@torchsymbol(F.log_softmax, rounds_once=True)
def _functional_log_softmax(input: Any, dim: Any = None, _stacklevel: Any = 3, dtype: Any = None) -> TensorProxy:
    """The logarithm of :func:`softmax`."""
    return log_softmax_along(input, dim, dtype)


def log_softmax_along(input: Any, dim: Any, dtype: Any) -> TensorProxy:
    a, d = _soft_input(input, dim, dtype)
    if a.ndim == 0 or 0 in a.shape:
        return clang.sub(a, a)
    shifted = clang.sub(a, reduced(prims.amax, a, (d,), True))
    return clang.sub(shifted, clang.log(reduced(prims.sum, clang.exp(shifted), (d,), True)))


# Normalisation


def _of_channels(x: TensorProxy, ndim: int) -> TensorProxy:
    return clang.reshape(x, (1, x.shape[0], *(1,) * (ndim - 2)))


def normalised(a: TensorProxy, dims: tuple[int, ...], eps: Any) -> TensorProxy:
    """``a`` shifted and scaled to mean 0 and variance 1 along ``dims``."""
    count = math.prod(a.shape[d] for d in dims)
    centred = clang.sub(a, clang.div(reduced(prims.sum, a, dims, True), count))
    variance = clang.div(reduced(prims.sum, clang.square(centred), dims, True), count)
    return clang.mul(centred, clang.rsqrt(clang.add(variance, eps)))


@torchsymbol(F.layer_norm, torch.layer_norm, rounds_once=True)
def layer_norm(
    input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: Any = 1e-05, cudnn_enable: Any = None
) -> TensorProxy:
    """Mean 0 and variance 1 over the last dimensions, scaled and shifted."""
    floating(input, *(x for x in (weight, bias) if x is not None))
    shape = tuple(normalized_shape)
    if not shape or input.shape[-len(shape) :] != shape or 0 in shape:
        raise NeedsOpaque("layer_norm of another shape")
    result = normalised(input, tuple(range(input.ndim - len(shape), input.ndim)), eps)
    result = result if weight is None else clang.mul(result, weight)
    return result if bias is None else clang.add(result, bias)


@torchsymbol(F.rms_norm, torch.rms_norm)
def rms_norm(input: Any, normalized_shape: Any, weight: Any = None, eps: Any = None) -> TensorProxy:
    """Mean square 1 over the last dimensions, scaled."""
    floating(input, *(x for x in (weight,) if x is not None))
    real_only(*(x for x in (eps,) if x is not None))
    shape = tuple(normalized_shape)
    if not shape or input.shape[-len(shape) :] != shape or 0 in shape:
        raise NeedsOpaque("rms_norm of another shape")
    dims = tuple(range(input.ndim - len(shape), input.ndim))
    mean = clang.div(reduced(prims.sum, clang.square(input), dims, True), math.prod(shape))
    small = torch.finfo(getattr(torch, input.dtype.name)).eps if eps is None else eps
    result = clang.mul(input, clang.rsqrt(clang.add(mean, small)))
    return result if weight is None else clang.mul(result, weight)


@torchsymbol(torch._weight_norm)
def weight_norm(v: Any, g: Any, dim: Any = 0) -> TensorProxy:
    """``v`` with the lengths ``g``: of its parts along ``dim``, or of all of it for -1."""
    floating(v, g)
    at = known(dim)
    dims = tuple(d for d in range(v.ndim) if at == -1 or d != dimension(v.ndim, at))
    length = clang.sqrt(reduced(prims.sum, clang.square(v), dims, at != -1))
    return clang.mul(v, clang.div(g, length))


@torchsymbol(F.group_norm)
def group_norm(input: Any, num_groups: Any, weight: Any = None, bias: Any = None, eps: Any = 1e-05) -> TensorProxy:
    """Mean 0 and variance 1 over groups of channels, scaled and shifted."""
    floating(input, *(x for x in (weight, bias) if x is not None))
    each = math.prod(input.shape[1:])
    if input.ndim < 2 or input.shape[1] % num_groups or (input.numel and each == num_groups) or each == 0:
        raise NeedsOpaque("group_norm of another shape")
    pattern_rewrite = clang.reshape(input, (input.shape[0], int(num_groups), each // int(num_groups)))
    result = clang.reshape(normalised(pattern_rewrite, (2,), eps), input.shape)
    result = result if weight is None else clang.mul(result, _of_channels(weight, input.ndim))
    return result if bias is None else clang.add(result, _of_channels(bias, input.ndim))


@torchsymbol(F.batch_norm)
def batch_norm(
    input: Any, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None, training: Any = False,
    momentum: Any = 0.1, eps: Any = 1e-05,
) -> TensorProxy:  # fmt: skip
    """Shifted and scaled a channel by running statistics. Where it computes statistics it is :func:`batch_norm_in_training`."""
    given = [x for x in (running_mean, running_var, weight, bias) if x is not None]
    floating(input, *given)
    if training or running_mean is None or running_var is None or input.ndim < 2 or 0 in input.shape:
        raise NeedsOpaque("batch_norm that computes statistics")
    scale = clang.rsqrt(clang.add(running_var, eps))
    scale = scale if weight is None else clang.mul(scale, weight)
    result = clang.mul(clang.sub(input, _of_channels(running_mean, input.ndim)), _of_channels(scale, input.ndim))
    return result if bias is None else clang.add(result, _of_channels(bias, input.ndim))


def _batch_norm_in_training(
    input: Any, running_mean: Any, running_var: Any, weight: Any, bias: Any, momentum: Any, eps: Any
) -> tuple[Any, ...]:
    """The result of ``batch_norm`` that normalises by the statistics of its input, and what these make of the running ones, which may
    be ``None``. Raises ``ValueError`` where there is one element a channel."""
    floating(input, *(x for x in (running_mean, running_var, weight, bias) if x is not None))
    if input.ndim < 2 or 0 in input.shape or (running_mean is None) != (running_var is None):
        raise NeedsOpaque("batch_norm of another shape")
    count = input.numel // input.shape[1]
    if count == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {torch.Size(input.shape)}"
        )
    dims = (0, *range(2, input.ndim))
    mean = clang.div(prims.sum(input, dims), count)
    centred = clang.sub(input, _of_channels(mean, input.ndim))
    variance = clang.div(prims.sum(clang.square(centred), dims), count)
    scale = clang.rsqrt(clang.add(variance, eps))
    scale = scale if weight is None else clang.mul(scale, weight)
    result = clang.mul(centred, _of_channels(scale, input.ndim))
    result = result if bias is None else clang.add(result, _of_channels(bias, input.ndim))
    if running_mean is None:
        return result, None, None
    parts = detach(mean), clang.mul(detach(variance), count / (count - 1))
    momentum = known(momentum)
    kept = [
        clang.add(clang.mul(old, 1 - momentum), clang.mul(new, momentum))
        for old, new in zip((running_mean, running_var), parts)
    ]
    return result, *kept


batch_norm_in_training = Symbol(
    "batch_norm_in_training", _batch_norm_in_training, id="composed.batch_norm_in_training", language=language,
    namespace=Namespace("ltorch.activations", "import tnp.lang.torch as ltorch"),
)  # fmt: skip


def batch_norm_and_statistics(
    input: torch.Tensor, running_mean: Any, running_var: Any, weight: Any, bias: Any, momentum: float, eps: float
) -> tuple[torch.Tensor, ...]:
    """What torch's ``batch_norm`` in training gives, and what it leaves in the running statistics, if there are any."""
    kept = [x.clone() for x in (running_mean, running_var) if x is not None]
    statistics = kept or (None, None)
    return F.batch_norm(input, *statistics, weight, bias, training=True, momentum=momentum, eps=eps), *kept


def _dropped(mask: Any, input: Any, p: Any) -> TensorProxy:
    """``input`` where ``mask`` is 1, scaled so that the mean stays."""
    floating(input)
    p = known(p)
    return clang.mul(input, clang.div(mask, 1 - p) if p != 1 else mask)


dropped = Symbol(
    "dropped", _dropped, id="composed.dropped", language=language, tags=ELEMENTWISE,
    namespace=Namespace("ltorch.activations", "import tnp.lang.torch as ltorch"),
)  # fmt: skip


def dropout_mask(
    input: torch.Tensor, p: float, of_channels: bool, strides: tuple[int, ...] | None = None
) -> torch.Tensor:
    """What torch's ``dropout`` draws: for each element, or each channel, 1 with probability ``1 - p``. Elements get theirs in the order in
    which a tensor of these ``strides``, or a contiguous one, has them in memory."""
    if of_channels:
        return input.new_empty((*input.shape[:2], *(1,) * (input.ndim - 2))).bernoulli_(1 - p)
    if strides is None:
        made = input.new_empty(input.shape)
    else:
        made = torch.empty_strided(input.shape, strides, dtype=input.dtype, device=input.device)
    if input.is_cuda:  # there by a kernel of its own
        return torch.native_dropout(made, p, True)[1].to(input.dtype)
    return made.bernoulli_(1 - p)


def _dropout(name: str, by_default: bool, rank: int | None = None) -> None:
    @torchsymbol(getattr(F, name), returns="argument")
    def dropout(input: Any, p: Any = 0.5, training: Any = by_default) -> TensorProxy:
        """The tensor itself outside of training, or a view of one that is no batch; in training torch draws."""
        tensor_only(input)
        if training and known(p) != 0:
            raise NeedsOpaque("dropout in training")
        if not 0 <= known(p) <= 1:
            raise NeedsOpaque("no probability")
        return input if rank in (None, input.ndim) else prims.reshape(input, input.shape)


for _name, _rank in (("dropout", None), ("dropout1d", 3), ("dropout2d", None), ("dropout3d", 5)):
    _dropout(_name, True, _rank)
for _name in ("alpha_dropout", "feature_alpha_dropout"):
    _dropout(_name, False)
