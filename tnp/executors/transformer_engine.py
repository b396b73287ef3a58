"""The transformer_engine executor: ``F.linear`` in 8-bit floating point, by NVIDIA's Transformer Engine, with its own
gradient.

Inputs, weights and cotangents are quantised as Transformer Engine's recipe of the moment says (``te.autocast``, or the
device's default), so results are those of 8-bit products, not eager's: the executor is used where it is named. What a
delayed recipe remembers between calls, the largest elements so far, is kept for each place of a program where a linear
layer stands.

Nothing 8-bit is saved for the backward: input and weight are quantised again there.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import math
from dataclasses import dataclass, field
from typing import Any

import torch

from tnp.core.devices import DeviceType
from tnp.core.dtypes import bfloat16, float16, float32
from tnp.executors.base import Refusal
from tnp.executors.shared.device_errors import why_no_device
from tnp.extend import OperatorExecutor, TensorProxy, get_grad, put_grads, register_executor
from tnp.runtime import locks

__all__ = ["executor"]


@dataclass(frozen=True)
class _Library:
    """What is used of Transformer Engine, wherever its version has it; ``why_not`` says what is missing."""

    module: Any = None
    quantization: Any = None
    linear: Any = None
    why_not: str | None = None


_NEEDED = ("FP8GlobalStateManager", "RecipeState", "get_fp8_max", "_amax_and_scale_update")


@functools.cache
def _load() -> _Library:
    try:
        module = importlib.import_module("transformer_engine.pytorch")
        quantization = _quantization()
        linear = importlib.import_module("transformer_engine.pytorch.ops").BasicLinear
    except (
        ImportError,
        OSError,
        RuntimeError,
        AttributeError,
    ) as error:  # it loads libraries of CUDA as it is imported
        return _Library(why_not=f"transformer_engine cannot be imported: {error}")
    missing = [name for name in _NEEDED if not hasattr(quantization, name)]
    missing += [name for name in ("_functional_forward", "_functional_backward") if not hasattr(linear, name)]
    why_not = f"this transformer_engine has no {', '.join(missing)}" if missing else None
    return _Library(module, quantization, linear, why_not)


def _quantization() -> Any:
    """The module of recipes' states, under its name of today or the one before, which warns where it is a name of the past."""
    try:
        return importlib.import_module("transformer_engine.pytorch.quantization")
    except ModuleNotFoundError:
        return importlib.import_module("transformer_engine.pytorch.fp8")


class TransformerEngineExecutor(OperatorExecutor):
    """Runs linear layers in 8-bit floating point."""

    array_kind = "torch"

    def unavailable(self) -> str | None:
        library = _load()
        if library.why_not is not None or DeviceType.CPU in _device_types():
            return library.why_not
        return why_no_device()


executor = TransformerEngineExecutor("transformer_engine", version=getattr(_load().module, "__version__", None))


def _device_types() -> tuple[DeviceType, ...]:
    return tuple(DeviceType(name) for name in getattr(_load().module, "DEVICE_TYPES", ("cuda",)))


# What is remembered between calls


@dataclass
class _Site:
    """A place of a program where a linear layer stands: its quantisers, for the recipe that they were made for."""

    recipe: Any = None
    forward: Any = None
    backward: Any = None
    quantizers: list[Any] = field(default_factory=list)
    lock: Any = field(default_factory=locks.lock)

    def prepare(self, device: torch.device) -> list[Any]:
        """Quantisers of input, weight and cotangent, as the present recipe wants them."""
        library = _load()
        recipe = library.quantization.FP8GlobalStateManager.get_fp8_recipe()
        if recipe is not self.recipe:
            create = library.quantization.RecipeState.create
            self.forward = create(recipe, mode="forward", num_quantizers=2, device=device)
            self.backward = create(recipe, mode="backward", num_quantizers=1, device=device)
            self.quantizers = [*self.forward.make_quantizers(), *self.backward.make_quantizers()]
            self.recipe = recipe
        return self.quantizers

    def update(self, state: Any, is_forward: bool) -> None:
        """Notes, for a delayed recipe, the largest elements that were just met, of all processes where they share them."""
        recipe, quantization = self.recipe, _load().quantization
        if not recipe.delayed():
            return
        if recipe.reduce_amax and torch.distributed.is_available() and torch.distributed.is_initialized():
            torch.distributed.all_reduce(
                state.amax_history,
                op=torch.distributed.ReduceOp.MAX,
                group=quantization.FP8GlobalStateManager.get_fp8_group(),
            )
        largest = quantization.get_fp8_max(recipe, is_forward)
        quantization._amax_and_scale_update(state.amax_history, state.scale, largest, recipe)


_sites: dict[int, _Site] = {}
_numbers = itertools.count()


def _site(number: int) -> _Site:
    return _sites.setdefault(number, _Site())


# The operations


def _flat(a: torch.Tensor) -> torch.Tensor:
    return a.reshape(-1, a.shape[-1]).contiguous()


def _forward(input: Any, weight: Any, bias: Any, site: int) -> torch.Tensor:
    place = _site(site)
    with place.lock:
        of_input, of_weight, _ = place.prepare(input.device)
        out, *_ = _load().linear._functional_forward(
            _flat(input), weight.contiguous(), bias=bias, dtype=weight.dtype, with_quantized_compute=True,
            input_quantizer=of_input, weight_quantizer=of_weight,
        )  # fmt: skip
        place.update(place.forward, True)
    return out.reshape(*input.shape[:-1], weight.shape[0])


def _backward(g: Any, input: Any, weight: Any, bias: Any, site: int) -> tuple[torch.Tensor, ...]:
    place = _site(site)
    with place.lock:
        of_input, of_weight, of_cotangent = place.prepare(input.device)
        to_input, to_weight = _load().linear._functional_backward(
            _flat(g), _flat(input), weight.contiguous(), dtype=weight.dtype, with_quantized_compute=True,
            input_quantizer=of_input, weight_quantizer=of_weight, grad_output_quantizer=of_cotangent,
        )  # fmt: skip
        place.update(place.backward, False)
    found = to_input.reshape(input.shape), to_weight
    return found if bias is None else (*found, _flat(g).sum(0, dtype=torch.float32).to(bias.dtype))


def _meta(input: Any, weight: Any, bias: Any, site: int) -> TensorProxy:
    return TensorProxy(like=input, shape=(*input.shape[:-1], weight.shape[0]))


def _backward_meta(g: Any, input: Any, weight: Any, bias: Any, site: int) -> tuple[TensorProxy, ...]:
    return tuple(TensorProxy(like=p) for p in (input, weight, bias) if p is not None)


linear_fp8 = executor.register_operator("linear_fp8", meta=_meta, fn=_forward)
linear_fp8_backward = executor.register_operator("linear_fp8_backward", meta=_backward_meta, fn=_backward)


# What it takes


def _multiples() -> tuple[int, int, str]:
    """What the lengths of a matrix must be multiples of under the present recipe, and the recipe's name."""
    recipe = _load().quantization.FP8GlobalStateManager.get_fp8_recipe()
    if recipe.mxfp8():
        return 32, 32, "MXFP8"
    if recipe.nvfp4():
        return 16, 16, "NVFP4"
    return 8, 16, "FP8"


def _takes(input: Any, weight: Any, bias: Any = None) -> bool | Refusal:
    library = _load()
    if library.why_not is not None:
        return Refusal(library.why_not)
    tensors = [input, weight, *([] if bias is None else [bias])]
    if not all(isinstance(t, TensorProxy) for t in tensors):
        return Refusal("an argument is no tensor")
    if any(type(n) is not int or n == 0 for t in tensors for n in t.shape):
        return Refusal("a length that is 0 or known at run time only")
    if len({t.device for t in tensors}) > 1 or input.device.devicetype not in _device_types():
        return Refusal("it takes tensors on one CUDA device")
    if len({t.dtype for t in tensors}) > 1 or input.dtype not in (float16, bfloat16, float32):
        return Refusal("it takes tensors of one dtype, half or single precision")
    if input.ndim < 2 or weight.ndim != 2 or input.shape[-1] != weight.shape[1]:
        return Refusal("it takes matrices whose lengths fit")
    rows, columns, name = _multiples()
    for what, (m, n) in (
        ("input", (math.prod(input.shape[:-1]), input.shape[-1])),
        ("weight", tuple(weight.shape)),
        ("result", (math.prod(input.shape[:-1]), weight.shape[0])),
    ):
        if m % rows or n % columns:
            return Refusal(f"{name} takes matrices of multiples of {rows} and {columns}, and the {what} is {m} by {n}")
    return True


def _transform(input: Any, weight: Any, bias: Any = None) -> TensorProxy:
    return linear_fp8(input, weight, bias, next(_numbers))


def _grad(input: Any, weight: Any, bias: Any = None) -> TensorProxy:
    site = next(_numbers)
    out = linear_fp8(input, weight, bias, site)
    variables = [p for p in (input, weight, bias) if p is not None]
    put_grads(variables, linear_fp8_backward(get_grad(out), input, weight, bias, site))
    return out


executor.register_implementation(
    "torch.nn.functional.linear", checker=_takes, execution_transform=_transform, grad_transform=_grad
)
register_executor(executor)
