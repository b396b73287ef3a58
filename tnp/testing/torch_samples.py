"""torch's own operator database as OpInfos: the sample inputs of each operator, and comparisons of tnp with eager.

The database ships in torch's wheel (``torch.testing._internal``; it needs the package ``expecttest``). Each sample is
called eagerly and through ``tnp.jit``, from the same state of torch's generator. Results, dtypes and the arguments
after the call must agree.
"""

from __future__ import annotations

import functools
import itertools
import re
import shlex
import types
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

import tnp
from tnp.core.dtypes import DType
from tnp.lang.torch.dtypes import to_dtype, to_torch_dtype
from tnp.testing.checks import Refused, run_sample
from tnp.testing.opinfo import ALL_DTYPES, OpInfo, SampleInput

__all__ = ["Outcome", "databases_operators", "how", "outcomes", "some_of", "unseeded"]

#: operators whose results are whatever the memory held
_UNINITIALISED = frozenset(("empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"))


@dataclass(frozen=True)
class Outcome:
    """How one sample went: ``"native"``, ``"opaque"``, ``"eager"`` or ``"wrong"``, why if not native, and the command that runs it."""

    kind: str
    reason: str
    command: str


def databases_operators(*, variants: bool = False) -> list[OpInfo]:
    """The operators of the database, as OpInfos named ``torch.NAME``, by name.

    With ``variants`` each is followed by the method (``torch.NAME.method``) and the method that changes its argument
    (``torch.NAME.in_place``), where it has them.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the packages that it imports
        from torch.testing._internal.common_methods_invocations import op_db

    found = []
    op: Any
    for op in sorted(op_db, key=lambda op: str(op.formatted_name)):
        name = f"torch.{op.formatted_name}"
        kinds = tuple(to_dtype(d) for d in op.supported_dtypes("cpu") if _is_known(d))
        functions = [(name, unseeded(op.op))]
        if variants:
            others = (f"{name}.method", op.method_variant), (f"{name}.in_place", op.inplace_variant)
            functions += [(n, unseeded(f)) for n, f in others if f is not None and f is not op.op]
        for own_name, made_by in functions:
            function = _zeroed(made_by) if op.name in _UNINITIALISED else made_by
            found.append(
                OpInfo(
                    function,
                    own_name,
                    sample_input_generator=_generator(op),
                    torch_reference=function,
                    dtypes=kinds,
                    may_run_eagerly=True,
                )
            )
    return found


def unseeded(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function that one of the database calls after seeding torch's generator, if it does that; else the function.

    Samples are called from the same state of the generator anyway.
    """
    code, variables = getattr(function, "__code__", None), getattr(function, "__globals__", {})
    if code is None or "wrapper_set_seed" not in code.co_names:
        return function
    apart = types.FunctionType(code, {**variables, "wrapper_set_seed": lambda *args, **kwargs: (args[0], kwargs)})
    called, options = apart(*range(code.co_argcount))
    return functools.partial(called, **options) if options else called


def _zeroed(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` with its result's elements, which mean nothing, made zeros."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return torch.zeros_like(function(*args, **kwargs))

    return call


def _is_known(dtype: Any) -> bool:
    name = str(dtype).removeprefix("torch.")
    return name in {"bool", "bfloat16", *(d.name for d in ALL_DTYPES)}


def _generator(op: Any) -> Callable[..., Iterator[SampleInput]]:
    def samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
        try:
            for sample in op.sample_inputs(device, to_torch_dtype(dtype), requires_grad=requires_grad):
                yield SampleInput(sample.input, *sample.args, **sample.kwargs)
        except Exception:  # a generator that fails on this build of torch has no more samples
            return

    return samples


def _outcome(info: OpInfo, sample: SampleInput, command: str, options: dict[str, Any]) -> Outcome | None:
    """How a sample goes; ``None`` for one that torch itself refuses, or whose tensors cannot be copied."""
    try:
        sample.copied()
    except (RuntimeError, NotImplementedError, TypeError):
        return None
    jitted = tnp.jit(info.op, **options)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            run_sample(jitted, info.reference, sample)
        except Refused:
            return None
        except Exception as error:
            kind = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
            return Outcome("wrong", f"{kind}{error}".replace("\n", " ")[:200], command)
    return how(jitted, said, command)


def how(jitted: Any, said: list[warnings.WarningMessage], command: str) -> Outcome:
    """How a jitted function ran that has been called and was not wrong; ``said`` is what was warned of then."""
    traces = tnp.last_traces(jitted) if tnp.cache_info(jitted).size else []
    if not traces:
        eagerly = (str(w.message) for w in said if issubclass(w.category, tnp.EagerFallbackWarning))
        reasons = (re.sub(r"^.*? r[ua]ns? eagerly: | \(\S+:\d+ in \S+\)$", "", r) for r in eagerly)
        return Outcome("eager", "; ".join(reasons).replace("\n", " "), command)
    calls = [b for b in traces[0].bound_symbols if str(b.sym.id).startswith("torch_opaque.")]
    opaque = [b.sym.name.removeprefix("recorded_") for b in calls]
    return Outcome("opaque" if opaque else "native", ", ".join(opaque), command)


def some_of(samples: Iterator[Any], limit: int | None) -> list[Any]:
    """At most ``limit`` samples, spread over all: a few operators have thousands, which take long to make."""
    found = list(itertools.islice(samples, None if limit is None else 32 * limit))
    return found[:: -(-len(found) // limit)] if limit is not None and len(found) > limit else found


def outcomes(
    info: OpInfo, dtype: Any, *, limit: int | None = None, executor: str | None = None, **options: Any
) -> Iterator[Outcome]:
    """How each sample of an operator goes, at most ``limit`` of them, spread over all.

    ``options`` are those of :func:`tnp.jit`; ``executor`` is the name of a list of executors in :data:`TORCH_EXECUTORS` instead.
    """
    kind = to_dtype(dtype)
    if kind not in (info.dtypes or ()):
        return
    samples = some_of(enumerate(info.samples(kind)), limit)
    if executor is not None:
        options["executors"] = info.executor_lists()[executor]
    for i, sample in samples:
        command = f"python -m tnp.testing {info.name} --executor {shlex.quote(executor or 'default')} --dtype {kind} --sample {i}"
        found = _outcome(info, sample, command, options)
        if found is not None:
            yield found
