"""torch's own operator database as samples: what each operator of torch is called with, and how a call through tnp compares.

The database ships in torch's wheel (``torch.testing._internal``; it needs the package ``expecttest``). Each sample is called
eagerly and through ``tnp.jit``, from the same state of torch's generator; results, arguments afterwards, and dtypes must
agree.
"""

from __future__ import annotations

import copy
import itertools
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

import tnp

__all__ = ["Outcome", "databases_operators", "gradient_outcomes", "outcomes"]

#: operators whose results are whatever the memory held
_UNINITIALISED = frozenset(("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"))


#: sums of products in another order differ by more than torch's own tolerances, which other dtypes have
_TOLERANCES = {torch.float32: {"rtol": 1e-5, "atol": 2e-5}}


@dataclass(frozen=True)
class Outcome:
    """How one sample went: ``"native"``, ``"opaque"``, ``"eager"`` or ``"wrong"``, and why if not native."""

    kind: str
    reason: str = ""


def databases_operators() -> list[Any]:
    """The operators of the database, by name."""
    from torch.testing._internal.common_methods_invocations import op_db

    return sorted(op_db, key=lambda op: op.formatted_name)


def _samples(op: Any, dtype: torch.dtype, requires_grad: bool = False) -> Iterator[Any]:
    try:
        yield from op.sample_inputs("cpu", dtype, requires_grad=requires_grad)
    except Exception:  # a generator that fails on this build of torch has no more samples
        return


def _some_of(samples: Iterator[Any], limit: int | None) -> list[Any]:
    """At most ``limit`` samples, spread over all: a few operators have thousands, which take long to make."""
    found = list(itertools.islice(samples, None if limit is None else 32 * limit))
    if limit is not None and len(found) > limit:
        found = list(itertools.islice(found, 0, None, -(-len(found) // limit)))
    return found


def _run(function: Any, args: Any, kwargs: Any) -> tuple[Any, Exception | None, list[str]]:
    """A call's result, or what it raised, and why it ran eagerly."""
    torch.manual_seed(0)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            result, error = function(*args, **kwargs), None
        except Exception as raised:
            result, error = None, raised
    return result, error, [str(w.message) for w in said if issubclass(w.category, tnp.EagerFallbackWarning)]


def _difference(got: Any, expected: Any) -> str | None:
    """What differs between two results; ``None`` if nothing does."""
    if type(got) is not type(expected):
        return f"a {type(got).__name__} instead of a {type(expected).__name__}"
    if isinstance(expected, torch.Tensor):
        try:
            torch.testing.assert_close(got, expected, equal_nan=True, **_TOLERANCES.get(expected.dtype, {}))
        except AssertionError as error:
            return str(error).replace("\n", " ")[:200]
        return None
    if isinstance(expected, (tuple, list)):
        if len(got) != len(expected):
            return "another number of results"
        found = (_difference(x, y) for x, y in zip(got, expected))
        return next((d for d in found if d), None)
    if isinstance(expected, dict):
        return _difference(list(got.items()), list(expected.items()))
    return None if got == expected or got != got else f"{got!r} instead of {expected!r}"


def _outcome(op: Any, function: Any, args: Any, kwargs: Any, options: dict[str, Any]) -> Outcome | None:
    try:
        eager_args, tnp_args = copy.deepcopy(args), copy.deepcopy(args)
    except (RuntimeError, NotImplementedError):  # a tensor of a layout that cannot be copied
        return None
    expected, error, _ = _run(function, eager_args, kwargs)
    if error is not None:
        return None
    jitted = tnp.jit(function, **options)
    got, raised, eagerly = _run(jitted, tnp_args, kwargs)
    if raised is not None:
        return Outcome("wrong", f"{type(raised).__name__}: {raised}".replace("\n", " ")[:200])
    if op.name not in _UNINITIALISED:
        different = _difference(got, expected) or _difference(list(tnp_args), list(eager_args))
        if different:
            return Outcome("wrong", different)
    return _how(jitted, eagerly)


def _how(jitted: Any, eagerly: list[str]) -> Outcome:
    """How a jitted function ran, which has been called; ``eagerly`` is what was said of calls that ran so."""
    traces = tnp.last_traces(jitted) if tnp.cache_info(jitted).size else []
    if not traces:
        reasons = (re.sub(r"^.*? r[ua]ns? eagerly: | \(\S+:\d+ in \S+\)$", "", r) for r in eagerly)
        return Outcome("eager", "; ".join(reasons).replace("\n", " "))
    opaque = [b.sym.name for b in traces[0].bound_symbols if str(b.sym.id).startswith("torch_opaque.")]
    return Outcome("opaque", ", ".join(opaque)) if opaque else Outcome("native")


def outcomes(
    op: Any, dtype: torch.dtype, *, limit: int | None = None, variants: bool = False, **options: Any
) -> Iterator[Outcome]:
    """How each sample of an operator goes, at most ``limit`` of them, spread over all.

    With ``variants`` the method and the method that changes its argument are called, too. ``options`` are those of
    :func:`tnp.jit`.
    """
    if dtype not in op.supported_dtypes("cpu"):
        return
    samples = _some_of(_samples(op, dtype), limit)
    functions = [op.op]
    if variants:
        functions += [f for f in (op.method_variant, op.inplace_variant) if f is not None and f is not op.op]
    for sample in samples:
        for function in functions:
            found = _outcome(op, function, (sample.input, *sample.args), sample.kwargs, options)
            if found is not None:
                yield found


# Gradients


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


def gradient_outcomes(op: Any, *, limit: int | None = None, **options: Any) -> Iterator[Outcome]:
    """As :func:`outcomes`, in float64: how the gradients of each sample by its tensors compare with those of torch's autograd.

    A sample is *wrong* too if other results than eager's require a gradient, or other inputs have one.
    """
    if not op.supports_autograd or torch.float64 not in op.supported_dtypes("cpu"):
        return
    for sample in _some_of(_samples(op, torch.float64, requires_grad=True), limit):
        args, kwargs = (sample.input, *sample.args), sample.kwargs
        inputs = [t for t in _leaves((args, kwargs)) if t.requires_grad]
        expected, error, _ = _run(op.op, args, kwargs)
        if error is not None or not inputs:
            continue
        try:
            eager = _gradients(sample.output_process_fn_grad(expected), inputs)
        except RuntimeError:  # which has no gradient in torch
            continue
        jitted = tnp.jit(op.op, **options)
        got, raised, eagerly = _run(jitted, args, kwargs)
        try:
            if raised is not None:
                raise raised
            found = _gradients(sample.output_process_fn_grad(got), inputs)
        except Exception as raised_later:
            yield Outcome("wrong", f"{type(raised_later).__name__}: {raised_later}".replace("\n", " ")[:200])
            continue
        flags = [[t.requires_grad for t in _leaves(x)] for x in (got, expected)]
        if op.name in _UNINITIALISED:
            different = None
        elif flags[0] != flags[1]:
            different = f"requires_grad is {flags[0]} instead of {flags[1]}"
        else:
            different = _difference(got, expected) or _difference(found, eager)
        yield _how(jitted, eagerly) if different is None else Outcome("wrong", different)
