"""Functions that read or change torch's global state.

A query (``torch.get_num_threads()``) is evaluated while tracing, and a guard compares its result at each call.
Functions that change settings, seed a generator or differentiate make the call run eagerly. So do functions that are
not known to be pure queries.
"""

from __future__ import annotations

import functools
import operator
import re
import types
from typing import TYPE_CHECKING, Any

import torch
from torch.jit._trace import is_tracing

from tnp.capture.libraries.torch.lifting import CONSTANTS, guard_state
from tnp.core.errors import NeedsEager

if TYPE_CHECKING:
    from tnp.capture.tracing.tracer import Tracer

__all__ = ["call", "check_allowed", "is_about_torch", "is_pure", "is_question"]

#: functions of their arguments alone, or of what is the same as long as a process runs
_PURE = frozenset((
    torch.promote_types, torch.can_cast, torch.finfo, torch.iinfo, torch.broadcast_shapes, torch.amp.is_autocast_available,
    torch.cuda.is_available, torch._C._get_tracing_state, is_tracing, torch._jit_internal.is_scripting,
    torch.overrides.has_torch_function, torch._C._log_api_usage_once,
    torch.backends.cuda.sdp_kernel,  # as torch.nn.attention's, it chooses among kernels that compute one function
))  # fmt: skip
#: queries of autocast, which the casts of a program determine
_ASK_FOR_CASTS = frozenset((
    torch.is_autocast_enabled, torch.get_autocast_dtype, torch.is_autocast_cpu_enabled, torch.get_autocast_cpu_dtype,
))  # fmt: skip
#: patterns of the names of queries, and of functions that change settings
_QUERY = re.compile(r"_*(is|are|get|has)_|.*_(enabled|available|initialized|supported|allowed|count)$|current_device$")
_ORDER = re.compile(r"_*(set|enable|disable|use|clear|push|pop|enter|exit|init|reset)_")
#: where functions are that compute something of what they are given, and how names of others begin
_PURE_MODULES = ("torch.nn.", "torch.functional", "torch._jit_internal", "torch.overrides", "torch.utils._pytree")
_CHECKS = ("_check", "_assert")
_ANSWERS = (bool, int, float, str, type(None), *CONSTANTS)
_NO_PART = (*_ANSWERS, complex, type, types.FunctionType, types.BuiltinFunctionType)


def is_pure(function: Any) -> bool:
    """Whether ``function`` is pure, or queries whether a torch compiler is active."""
    return function in _PURE or "compiling" in getattr(function, "__name__", "")


def is_question(function: Any) -> bool:
    """Whether ``function`` is a query, by its name."""
    return _QUERY.match(getattr(function, "__name__", "")) is not None


def is_about_torch(*given: Any) -> bool:
    """Whether no argument is a value or an object of the program: the call reads or changes torch's global state."""
    return all(is_about_torch(*x) if type(x) in (tuple, list) else isinstance(x, _NO_PART) for x in given)


def call(tracer: Tracer, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of a function whose arguments are no part of the program (:func:`is_about_torch`), guarded if it may change.

    Raises :class:`NeedsEager` for a function that may not be a pure query."""
    name = getattr(function, "__name__", str(function))
    module = getattr(function, "__module__", None) or ""
    if is_pure(function) or f"{module}.".startswith(_PURE_MODULES) or name.startswith(_CHECKS):
        return function(*args, **kwargs)
    if not is_question(function):
        raise NeedsEager(f"it calls torch.{name}, which may act on more than what it is given")
    if function is torch.is_grad_enabled:
        tracer.gradients.guard_mode()
    elif function is torch.is_inference_mode_enabled:
        tracer.gradients.guard_inference()
    elif function in _ASK_FOR_CASTS or function is torch.get_default_dtype:
        guard_state(tracer.inputs)
    else:
        return _compared(tracer, function, name, args, kwargs)
    return function(*args, **kwargs)


def check_allowed(function: Any, name: str) -> None:
    """Raises :class:`NeedsEager` for functions of torch's that set something, or are refused for another reason."""
    if getattr(function, "__module__", "") == "torch.random" or function in _refused():
        raise NeedsEager(f"it calls torch.{_refused().get(function, name)}")
    if _ORDER.match(name):
        raise NeedsEager(f"it calls torch.{name}")


def _compared(tracer: Tracer, function: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of a query, which a guard compares at each call."""
    if function is torch.is_autocast_cache_enabled and tracer.modes() != tracer.gradients.began:
        raise NeedsEager("it asks for the cache of autocast that it has turned on or off")
    prologue = tracer.inputs.prologue
    try:
        result = function(*args, **kwargs)
    except Exception as error:  # of a device that this torch was not built for
        raises, asked = (
            prologue.constant(_raises, "raises"),
            prologue.constant((function, args, kwargs, type(error)), name),
        )
        prologue.guard(f"{raises}(*{asked})", f"torch.{name} raises a {type(error).__name__}")
        raise
    if not _is_comparable(result):
        raise NeedsEager(f"it calls torch.{name}, which returns a {type(result).__name__}")
    if type(result) in (bool, int, str, type(None)):
        expected = repr(result)
    else:
        expected = prologue.constant(result, "result")
    asked = f"{prologue.constant(function, name)}"
    if args or kwargs:
        asked = f"{asked}(*{prologue.constant(args, 'args')}, **{prologue.constant(kwargs, 'kwargs')})"
    else:
        asked = f"{asked}()"
    same = prologue.constant(_is_same, "is_same")
    prologue.guard(f"{same}({asked}, {expected})", f"torch.{name} says {result}")
    return result


def _raises(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], kind: type[Exception]) -> bool:
    """Whether a query raises an error of this class, as it did while tracing."""
    try:
        function(*args, **kwargs)
    except Exception as error:
        return type(error) is kind
    return False


def _is_comparable(x: Any) -> bool:
    return all(map(_is_comparable, x)) if type(x) is tuple else isinstance(x, _ANSWERS)


def _is_same(found: Any, expected: Any) -> bool:
    return type(found) is type(expected) and found == expected


@functools.cache
def _refused() -> dict[Any, str]:
    """By their names below ``torch``, functions that act on more than their arguments, and those that differentiate or map others."""
    names = (
        "manual_seed", "seed", "set_default_dtype", "set_default_device", "set_num_threads", "save", "load", "set_grad_enabled",
        "use_deterministic_algorithms", "set_rng_state", "get_rng_state", "autograd.grad", "autograd.backward", "vmap", "func.vmap",
        "func.grad", "func.grad_and_value", "func.vjp", "func.jvp", "func.linearize", "func.jacrev", "func.jacfwd", "func.hessian",
        "compile",
    )  # fmt: skip
    return {operator.attrgetter(name)(torch): name for name in names}
