"""Arguments of torch's functions: flags and ``out=`` are separated from the others, and lengths become concrete."""

from __future__ import annotations

import functools
import inspect
import types
from typing import TYPE_CHECKING, Any

from tnp.capture.libraries.numpy.library import NUMPY
from tnp.capture.tracing.strides import ROW_MAJOR, row_major
from tnp.capture.tracing.traced_values import Storage, TracedArray
from tnp.core import languages, prims, symbols
from tnp.core.errors import NeedsEager
from tnp.core.views import Path
from tnp.lang.torch import language

if TYPE_CHECKING:
    from tnp.capture.tracing.tracer import Tracer

__all__ = ["as_number", "sized", "with_strides", "with_torchs_names", "without_inplace"]

#: NumPy's names of parameters, which torch's functions in C take for their own
_NUMPYS_NAMES = {"axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input", "x2": "other"}


@functools.cache
def _parameters(function: Any) -> inspect.Signature | None:
    """The signature of a function of torch, written in Python, that has a flag ``inplace`` or a parameter ``out``."""
    if type(function) is not types.FunctionType:
        return None
    try:
        signature = inspect.signature(function)
    except ValueError:  # of Tensor.__pow__: it wraps a method in C
        return None
    return signature if signature.parameters.keys() & {"inplace", "out"} else None


def without_inplace(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, bool]:
    """The arguments without the flag ``inplace``, and whether it is set; ``out`` is passed by keyword, if at all."""
    signature = _parameters(function)
    if signature is None:
        return args, {k: v for k, v in kwargs.items() if k != "out" or v is not None}, False
    bound = signature.bind(*args, **kwargs)
    in_place = bool(bound.arguments.pop("inplace", False))
    if bound.arguments.get("out", 0) is None:
        del bound.arguments["out"]
    kinds = {name: p.kind for name, p in signature.parameters.items()}
    if inspect.Parameter.VAR_POSITIONAL in kinds.values() or inspect.Parameter.VAR_KEYWORD in kinds.values():
        return bound.args, bound.kwargs, in_place
    return bound.args[:1], dict(list(bound.arguments.items())[1:]), in_place


def with_torchs_names(signature: inspect.Signature, kwargs: dict[str, Any]) -> dict[str, Any]:
    """``x.sum(axis=0, keepdims=True)`` in torch's words, as far as the function has no parameters of NumPy's names.

    >>> with_torchs_names(inspect.signature(lambda input, dim=None: None), {"axis": 0})
    {'dim': 0}
    """
    known = signature.parameters
    made = {}
    for name, value in kwargs.items():
        own = _NUMPYS_NAMES.get(name, name)
        made[own if own in known and name not in known else name] = value
    return made if len(made) == len(kwargs) else kwargs  # one parameter by two names is torch's TypeError


def as_number(tracer: Tracer, x: Any) -> Any:
    """A scalar of NumPy's as the number that torch takes it for; anything else as it is."""
    if type(x) is not TracedArray or x.library is not NUMPY or x.ndim:
        return x
    if not x.scalar or x._element_type.kind == "b":
        raise NeedsEager("it gives torch an array of no dimension, or a bool, of NumPy's")
    return tracer.call(prims.item, (x,), {})


def sized(tracer: Tracer, x: Any, name: str) -> Any:
    """Arguments of a function that needs to know lengths: those that are known at run time only become symbols, or are what they are in
    this call."""
    kind = type(x)
    if kind is TracedArray and symbols.extents(x.shape_) is None:
        if tracer.found_lengths.settles(x):
            return x
        shape = tuple(n if type(n) is int else tracer.specializer.value(n, f"torch.{name}()") for n in x.shape_)
        with languages.language_context(language):
            return tracer.handle(prims.reshape(x.__tnp_value__(), shape), {}, 0)
    if kind in (tuple, list):
        return kind(sized(tracer, y, name) for y in x)
    return {k: sized(tracer, y, name) for k, y in x.items()} if kind is dict else x


def with_strides(result: Any, strides: Any) -> Any:
    """Handles of an opaque call's results in the layouts that its dry run found."""
    if type(result) is TracedArray:
        found = next(strides) if strides is not None else None
        plain = found is not None and (result.ndim < 1 or found == row_major(result.shape_))
        return TracedArray(Storage(result._proxy), Path(), result._proxy, ROW_MAJOR if plain else found)
    if isinstance(result, (tuple, list)):
        return type(result)([with_strides(x, strides) for x in result])
    return result
