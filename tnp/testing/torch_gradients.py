"""Gradients of the operators of torch's database: a jitted function's, by ``backward()``, beside those of eager's autograd."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import torch

import tnp
from tnp.testing.compare import assert_same
from tnp.testing.torch_samples import Outcome, how, some_of, unseeded

__all__ = ["differentiable_operators", "gradient_outcomes"]


def differentiable_operators() -> list[Any]:
    """The operators of the database (as torch has them) that autograd differentiates in float64, by name."""
    from torch.testing._internal.common_methods_invocations import op_db

    operators: list[Any] = list(op_db)
    found = [op for op in operators if op.supports_autograd and torch.float64 in op.supported_dtypes("cpu")]
    return sorted(found, key=lambda op: str(op.formatted_name))


def gradient_outcomes(op: Any, *, limit: int | None = None, **options: Any) -> Iterator[Outcome]:
    """How the gradients of each sample by its tensors compare with those of torch's autograd, in float64.

    A sample is *wrong* too if other results than eager's require a gradient, or other inputs have one. ``options`` are those of
    :func:`tnp.jit`; at most ``limit`` samples, spread over all.
    """
    command = f"python benchmarks/opdb.py --gradients {op.formatted_name}"
    function = unseeded(op.op)
    for sample in some_of(_samples(op), limit):
        args, kwargs = (sample.input, *sample.args), sample.kwargs
        inputs = [t for t in _leaves((args, kwargs)) if t.requires_grad]
        if not inputs:
            continue
        try:
            expected, _ = _run(function, args, kwargs)
            eager = _gradients(sample.output_process_fn_grad(expected), inputs)
        except Exception:  # which torch refuses, or has no gradient for
            continue
        jitted = tnp.jit(function, **options)
        try:
            got, said = _run(jitted, args, kwargs)
            found = _gradients(sample.output_process_fn_grad(got), inputs)
            if not op.name.startswith(("empty", "new_empty")):  # whose results are whatever the memory held
                flags = [[t.requires_grad for t in _leaves(x)] for x in (got, expected)]
                assert_same(*flags, what="requires_grad")
                assert_same((got, found), (expected, eager))
        except Exception as error:
            kind = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
            yield Outcome("wrong", f"{kind}{error}".replace("\n", " ")[:200], command)
            continue
        yield how(jitted, said, command)


def _samples(op: Any) -> Iterator[Any]:
    try:
        yield from op.sample_inputs("cpu", torch.float64, requires_grad=True)
    except Exception:  # a generator that fails on this build of torch has no more samples
        return


def _run(function: Any, args: Any, kwargs: Any) -> tuple[Any, list[warnings.WarningMessage]]:
    """A call's result, and what it warned of."""
    torch.manual_seed(0)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        return function(*args, **kwargs), said


def _leaves(x: Any) -> list[torch.Tensor]:
    """The tensors in nested containers, in order."""
    if isinstance(x, torch.Tensor):
        return [x]
    if isinstance(x, dict):
        x = list(x.values())
    return [t for y in x for t in _leaves(y)] if isinstance(x, (tuple, list)) else []


def _gradients(result: Any, inputs: list[torch.Tensor]) -> Any:
    """The gradients by ``inputs`` of a combination of the elements of a result, the same one at each call."""
    outputs = [y for y in _leaves(result) if y.requires_grad]
    cotangents = [torch.cos(torch.arange(y.numel()).reshape(y.shape)).to(y.dtype) for y in outputs]
    return torch.autograd.grad(outputs, inputs, cotangents, allow_unused=True) if outputs else ()
