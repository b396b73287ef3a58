"""The named kernels beside eager torch and torch.compile: attention, layer norm, cross entropy, linear layers in 8 bits.

``benchmarks/gpu.py`` calls :func:`table`; every case is a function of CUDA tensors, timed forwards and backwards together.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import tnp
from tnp.executors import registry
from tnp.executors.shared.device_errors import why_no_device

#: case → (function by name, shapes, dtype, executors that have it, how far results may be apart)
CASES: dict[str, tuple[str, tuple[tuple[int, ...], ...], str, tuple[str, ...], float]] = {
    "attention": ("attention", ((8, 16, 2048, 64),) * 3, "bfloat16", ("sdpa", "cudnn"), 0.05),
    "attention of float32": ("attention", ((8, 16, 1024, 64),) * 3, "float32", ("sdpa",), 0.01),
    "layer_norm": ("layer_norm", ((16384, 4096), (4096,), (4096,)), "bfloat16", ("cudnn",), 0.1),
    "cross_entropy 2048 × 50257": (
        "cross_entropy",
        ((2048, 50257),),
        "float32",
        ("triton_cross_entropy", "apex"),
        0.01,
    ),
    "cross_entropy of bfloat16": (
        "cross_entropy",
        ((2048, 50257),),
        "bfloat16",
        ("triton_cross_entropy", "apex"),
        0.05,
    ),
    "linear 8192 × 4096 × 4096": ("linear", ((8192, 4096), (4096, 4096)), "bfloat16", ("transformer_engine",), 0.2),
}


def _functions(torch: Any) -> dict[str, Callable[..., Any]]:
    F = torch.nn.functional

    def attention(query: Any, key: Any, value: Any) -> Any:
        return F.scaled_dot_product_attention(query, key, value, is_causal=True)

    def layer_norm(x: Any, weight: Any, bias: Any) -> Any:
        return F.layer_norm(x, weight.shape, weight, bias)

    def cross_entropy(x: Any) -> Any:
        return F.cross_entropy(x, torch.arange(x.shape[0], device=x.device) % x.shape[1])

    return {"attention": attention, "layer_norm": layer_norm, "cross_entropy": cross_entropy, "linear": F.linear}


def versions(torch: Any, function: Any, executors: tuple[str, ...]) -> dict[str, Callable[[], Any]]:
    """name → what makes the function that is timed."""
    made: dict[str, Callable[[], Any]] = {
        "torch": lambda: function,
        "torch.compile": lambda: torch.compile(function),
    }
    for name in executors:

        def jitted(name: str = name) -> Any:
            return tnp.jit(function, executors=[name])

        if not registry.availability()[name]:
            made[f"tnp by {name}"] = jitted
    return made


def step(torch: Any, function: Any, args: list[Any]) -> tuple[Any, tuple[Any, ...]]:
    """The result, and the gradients of its sum."""
    result = function(*args)
    return result, torch.autograd.grad(result, args, torch.ones_like(result))


def near(mine: Any, eagers: Any, limit: float) -> bool:
    """Whether a tensor is within a part of another's size."""
    return bool((mine.float() - eagers.float()).norm() <= limit * eagers.float().norm())


def measure(
    torch: Any, case: str, device: str, seconds: Callable[..., float], peak_of: Callable[..., int], synchronize: Callable[[], None]
) -> list[str]:  # fmt: skip
    """The lines of a case."""
    name, shapes, dtype, executors, limit = CASES[case]
    function = _functions(torch)[name]
    torch.manual_seed(0)
    args = [torch.randn(s, device=device, dtype=getattr(torch, dtype)).requires_grad_() for s in shapes]
    expected, expected_gradients = step(torch, function, args)
    lines = []
    for version, make in versions(torch, function, executors).items():
        try:
            own = make()
            result, gradients = step(torch, own, args)
            if not all(near(a, b, limit) for a, b in zip((result, *gradients), (expected, *expected_gradients))):
                raise AssertionError("not eager's result")
            kernels = _kernels(own)

            def run(own: Any = own) -> Any:
                return step(torch, own, args)

            took, peak = seconds(run, synchronize), peak_of(run, synchronize)
        except Exception as error:  # a kernel that is missing or fails is a note, not the end
            text = (str(error).splitlines() or [""])[0][:90].replace("|", "/")
            lines.append(f"| {case} | {version} | {type(error).__name__}: {text} | | |")
            continue
        lines.append(f"| {case} | {version} | {took * 1e6:.1f} | {peak / 2**20:.0f} | {kernels} |")
    return lines


def _kernels(function: Any) -> str:
    """What a jitted function runs."""
    try:
        return ", ".join(b.sym.name for b in tnp.last_traces(function)[-1].body)
    except TypeError:  # it is no jitted function
        return ""


def table(
    seconds: Callable[..., float], peak_of: Callable[..., int], synchronize: Callable[[], None], device: str = "cuda"
) -> list[str]:
    """The table of all cases, as lines of Markdown; without rows where torch cannot use the device."""
    torch = importlib.import_module("torch")
    why_not = why_no_device() if device == "cuda" else None
    lines = ["", "## Named kernels, forwards and backwards", ""]
    if why_not is not None:
        return [*lines, f"Not measured: {why_not}."]
    lines += [
        "| case | version | µs | MiB at most | runs |",
        "| --- | --- | ---: | ---: | --- |",
    ]
    for case in CASES:
        lines += measure(torch, case, device, seconds, peak_of, synchronize)
    return lines
