"""Gradients of the operators of torch's database: a jitted function's, by ``backward()``, beside those of eager's
autograd.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

import tnp
from tnp.testing.compare import assert_same
from tnp.testing.gradients import check_close
from tnp.testing.opinfo import OpInfo, SampleInput
from tnp.testing.torch_samples import Outcome, how, some_of, unseeded

__all__ = ["check_tensor_gradients", "differentiable_operators", "gradient_outcomes"]


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
    cotangents = [_weights(y) for y in outputs]
    return torch.autograd.grad(outputs, inputs, cotangents, allow_unused=True) if outputs else ()


def _weights(y: torch.Tensor) -> torch.Tensor:
    return torch.cos(torch.arange(y.numel(), device=y.device).reshape(y.shape)).to(y.dtype)


# Operations of which there is an OpInfo


def check_tensor_gradients(
    info: OpInfo, jitted: Callable[..., Any], sample: SampleInput, *, rtol: float = 1e-5, step: float = 1e-6
) -> None:
    """Compares the gradients of ``jitted`` by those tensors of a sample that require one with two others: differences of the values of
    the OpInfo's reference, and what torch's autograd finds for the reference, where that has a ``grad_fn``.

    What is differentiated is a combination of the elements of all results that require a gradient. Raises ``AssertionError`` where they
    are further apart than ``rtol`` of the largest element, and where no result requires a gradient.
    """
    own, theirs = sample.copied(), sample.copied()
    inputs, others = ([t for t in _leaves((s.args, s.kwargs)) if t.requires_grad] for s in (own, theirs))
    if not inputs:
        return
    result = jitted(*own.args, **own.kwargs)
    expected = info.reference(*theirs.args, **theirs.kwargs)
    differentiated = [i for i, y in enumerate(_leaves(result)) if y.requires_grad]
    assert differentiated, "no result requires a gradient, and tensors among the arguments do"
    found = _arrays(_gradients(result, inputs), inputs)
    if any(y.requires_grad for y in _leaves(expected)):
        flags = [[y.requires_grad for y in _leaves(x)] for x in (result, expected)]
        assert_same(*flags, what="requires_grad")
        for i, (a, b) in enumerate(zip(found, _arrays(_gradients(expected, others), others))):
            check_close(a, b, rtol, f"tensor {i}, against torch's autograd")
    for i, a in enumerate(found):
        check_close(a, _differences(info, sample, differentiated, i, step), rtol, f"tensor {i}, against differences")


def _arrays(gradients: Any, inputs: list[torch.Tensor]) -> list[np.ndarray[Any, Any]]:
    """Gradients as arrays, zeros for those that there are not."""
    found = [torch.zeros_like(x) if g is None else g for g, x in zip(gradients, inputs, strict=True)]
    return [g.detach().cpu().resolve_conj().numpy() for g in found]


def _differences(
    info: OpInfo, sample: SampleInput, differentiated: list[int], at: int, step: float
) -> np.ndarray[Any, Any]:
    """The gradient by one of the tensors that require one, by central differences of the reference; ``df/dx + i df/dy`` of complex ones."""
    wanted = [t for t in _leaves((sample.args, sample.kwargs)) if t.requires_grad][at]
    found: np.ndarray[Any, Any] = np.zeros(tuple(wanted.shape), np.complex128 if wanted.is_complex() else np.float64)

    def value(place: Any, change: complex) -> float:
        moved = sample.copied()
        target = [t for t in _leaves((moved.args, moved.kwargs)) if t.requires_grad][at]
        with torch.no_grad():
            target[place] += change
            results = _leaves(info.reference(*moved.args, **moved.kwargs))
            return sum(float((results[i] * _weights(results[i])).sum().real) for i in differentiated)

    for place in np.ndindex(found.shape):
        for direction in (1.0, 1j) if wanted.is_complex() else (1.0,):
            ends = [value(place, sign * step * direction) for sign in (1, -1)]
            found[place] += direction * (ends[0] - ends[1]) / (2 * step)
    return found
