"""``print``, ``logging``, ``warnings.warn`` and clocks in a traced program: they run at each call, in program order."""

from __future__ import annotations

import builtins
import enum
import logging
import operator
import sys
import time
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from tnp.capture import active
from tnp.capture.libraries.numpy.operations import copy_of, python_call
from tnp.capture.objects.context_variables import is_variable_set
from tnp.capture.objects.foreign import Foreign, real_value
from tnp.capture.rewrite.code_origin import is_followed
from tnp.capture.tracing.optional_values import TracedOptional, settled
from tnp.capture.tracing.predicates import is_traced
from tnp.capture.tracing.program_frames import warned_at
from tnp.capture.tracing.scalar_kind import TracedEither
from tnp.capture.tracing.texts import formatted, joined
from tnp.capture.tracing.traced_values import TracedArray, TracedNumber
from tnp.capture.tracing.warning_filters import WARNING_FILTERS, is_ignored
from tnp.core.errors import NeedsEager
from tnp.core.proxies import Proxy, TensorProxy
from tnp.runtime.modules import loaded
from tnp.runtime.python_calls import Effect, Formatting, Slot, Text, caller_at

__all__ = ["call_effect", "is_effect", "resolved", "text", "text_by"]

_MISSING = object()
_SECONDS = ("time", "perf_counter", "monotonic", "process_time", "thread_time")
#: functions that act on the outside, or ask it, and the type of what they give
_FUNCTIONS: dict[Any, type | None] = {
    builtins.print: None,
    warnings.warn: None,
    **dict.fromkeys(WARNING_FILTERS),
    time.sleep: None,
    **{getattr(time, name): float for name in _SECONDS if hasattr(time, name)},
    **{getattr(time, f"{name}_ns"): int for name in _SECONDS if hasattr(time, f"{name}_ns")},
}
_LOGGING = ("debug", "info", "warning", "error", "critical", "log")
_FUNCTIONS.update((getattr(logging, name), None) for name in _LOGGING)
_LOGGER_METHODS = frozenset(getattr(logging.Logger, name) for name in _LOGGING)
#: arguments that change who is said to call, or where to
_REFUSED = frozenset(("stacklevel", "stack_info", "exc_info", "extra", "source", "skip_file_prefixes"))
#: kinds of objects that are written the same at each call
_UNCHANGING = (
    np.generic,
    np.dtype,
    type,
    types.FunctionType,
    types.ModuleType,
    np.ufunc,
    enum.Enum,
    range,
)
_PLAIN = (bool, int, float, complex, str, bytes, type(None))


def result_of(f: Any) -> Any:
    """The type of what a call of ``f`` gives (``None``: nothing), if that is to be made when the program runs; else a mark."""
    if isinstance(f, types.MethodType):
        return None if f.__func__ in _LOGGER_METHODS and isinstance(f.__self__, logging.Logger) else _MISSING
    try:
        return _FUNCTIONS.get(f, _MISSING)
    except TypeError:  # not hashable
        return _MISSING


def is_effect(f: Any) -> bool:
    """Whether a call of ``f`` is made when the program runs."""
    return result_of(f) is not _MISSING


def call_effect(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Records the call ``f(*args, **kwargs)``, which stands in the program whose frame called the hook that calls this."""
    caller = None
    if f in WARNING_FILTERS:
        return WARNING_FILTERS[f](*map(resolved, args), **{k: resolved(v) for k, v in kwargs.items()})
    if f is warnings.warn:
        if _is_ignored(*args, **kwargs):
            return None
        args, kwargs, caller = warned_at(args, kwargs, sys._getframe(2))
    if not _REFUSED.isdisjoint(kwargs) or (f is warnings.warn and len(args) > 2):
        raise NeedsEager(f"it calls {f.__name__} with {', '.join(sorted(_REFUSED & kwargs.keys())) or 'a stack level'}")
    if isinstance(f, types.MethodType) and is_variable_set():  # filters and formats of a logger may read it
        raise NeedsEager("it logs while a context variable is set")
    values: list[Any] = []
    packed = tuple(_packed(a, values) for a in args)
    named = {k: _packed_file(v) if k == "file" else _packed(v, values) for k, v in kwargs.items()}
    effect = Effect(f, packed, named, caller or caller_at(sys._getframe(2)))
    formats = any(type(a) is TracedFormatting for a in (*args, *kwargs.values()))
    active.current().before_effect(may_raise=f is warnings.warn or formats)
    return python_call(effect, result_of(f), values)


def _is_ignored(message: Any = "", category: Any = None, *_: Any, **__: Any) -> bool:
    """Whether the program ignores what it would warn of."""
    if isinstance(message, Warning):
        return is_ignored(type(message), str(message))
    return is_ignored(UserWarning if category is None else category, message)


def _packed(x: Any, values: list[Any]) -> Any:
    """``x`` with slots for what the program computes, which ``values`` collects."""
    if type(x) is TracedOptional:
        x = x.decided()
    kind = type(x)
    if kind in (tuple, list):
        return kind(_packed(y, values) for y in x)
    if kind is dict:
        return {_packed(k, values): _packed(v, values) for k, v in x.items()}
    if kind is TracedText:
        return Text(tuple(p if isinstance(p, str) else (_slot(p[0], values), *p[2:]) for p in x.parts))
    if kind is TracedFormatting:
        return Formatting(x.make, _packed(x.args, values), _packed(x.kwargs, values))
    if kind in _HANDLES:
        return _slot(_value(x), values)
    if isinstance(x, np.ndarray):
        return _slot(active.current().inputs.constant_array(x).__tnp_value__(), values)
    if kind in _PLAIN or isinstance(x, _UNCHANGING) or _is_path(x):
        return x
    raise NeedsEager(f"it prints or logs a {kind.__name__}")


def _is_path(x: Any) -> bool:
    pathlib = loaded("pathlib")  # nobody has a path who has not loaded it
    return pathlib is not None and isinstance(x, pathlib.PurePath)


def _slot(x: Any, values: list[Any]) -> Any:
    if not isinstance(x, Proxy):
        return x
    values.append(x)
    kind = "scalar" if isinstance(x, TensorProxy) and x.scalar else "array" if isinstance(x, TensorProxy) else "number"
    return Slot(len(values) - 1, kind)


def _packed_file(file: Any) -> Any:
    """The argument ``file``: a stream that is looked up when the program runs."""
    file = real_value(file) if type(file) is Foreign else file
    for name in ("stdout", "stderr"):
        if file is getattr(sys, name):
            return _Stream(name)
    if file is None:
        return None
    raise NeedsEager("it prints to a file")


class _Stream:
    """``sys.stdout`` or ``sys.stderr``, whatever that is when something is printed."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(getattr(sys, self.name), name)


# Texts


class TracedText:
    """An f-string of the program, as an argument of a call: texts, and values (as they are when it is made, and as what the
    program holds) with their conversion and format."""

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts

    def known(self) -> Any:
        """The text, if its values are known; the trace depends on them then, or the prologue makes it. Raises ``NeedsValue`` if one is not."""
        return joined(*(p if isinstance(p, str) else p[1:] for p in self.parts))


class TracedFormatting:
    """As :class:`TracedText`, of ``make(*args, **kwargs)``."""

    def __init__(self, make: Callable[..., str], args: Any, kwargs: Any) -> None:
        self.make, self.args, self.kwargs = make, args, kwargs

    def known(self) -> str:
        """The text, if its values are known; the trace depends on them then. Raises ``NeedsValue`` if one is not."""
        return self.make(*self.args, **self.kwargs)


def text_by(how: str, text: str, *args: Any, **kwargs: Any) -> Any:
    """``text % args[0]`` (``how`` is ``"%"``) or ``text.format(*args, **kwargs)``."""
    make = operator.mod if how == "%" else str.format
    if active.running() is None or not is_traced((args, tuple(kwargs.values()))):
        return make(text, *args, **kwargs)
    return TracedFormatting(make, (text, *map(_kept, args)), {k: _kept(v) for k, v in kwargs.items()})


def _kept(x: Any) -> Any:
    """``x``, with copies of arrays, which may be written before the text that they are in is used."""
    if type(x) is tuple or type(x) is list:
        return type(x)(map(_kept, x))
    if type(x) is dict:
        return {k: _kept(v) for k, v in x.items()}
    return copy_of(x) if type(x) is TracedArray and not x.scalar else x


def text(*parts: Any) -> Any:
    """The f-string of ``parts``: texts, and tuples of a value, a conversion and a format."""
    kinds = {type(p[0]) for p in parts if type(p) is tuple}
    if Foreign in kinds or kinds.isdisjoint(_HANDLES):
        return joined(*parts)
    made: list[Any] = []
    for p in parts:
        if isinstance(p, str):
            made.append(p)
        elif type(p[0]) in _HANDLES:
            value = p[0]
            if type(value) is TracedArray and not value.scalar:  # which may be written before the text is used
                value = copy_of(value)
            made.append((_value(value), *p))
        else:
            made.append(formatted(*p))
    return TracedText(made)


def _value(x: Any) -> Any:
    return x.output() if type(x) is TracedEither else x.__tnp_value__()


def resolved(x: Any) -> Any:
    """``x``, with a text in place of what stands for one."""
    return x.known() if type(x) in (TracedText, TracedFormatting) else x


def arguments(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call of ``f``, with texts in place of what stands for them. What is not traced takes no value that may be
    ``None``."""
    args, kwargs = tuple(map(resolved, args)), {k: resolved(v) for k, v in kwargs.items()}
    if not any(type(x) is TracedOptional for x in (*args, *kwargs.values())) or _passes_on(f):
        return args, kwargs
    return tuple(map(settled, args)), {k: settled(v) for k, v in kwargs.items()}


def _passes_on(f: Any) -> bool:
    """Whether a function is traced, looks at no more than what its arguments are, or puts them into a container."""
    if type(f) is types.FunctionType:
        return is_followed(f)
    if type(f) is types.BuiltinFunctionType:
        return any(f is g for g in _OF_IDENTITY) or isinstance(f.__self__, (list, dict, set))
    is_of_python = isinstance(f, type) and f.__module__ == "builtins" and not any(f is g for g in _OF_IDENTITY)
    return not (isinstance(f, np.ufunc) or is_of_python)


_OF_IDENTITY = (isinstance, operator.is_, operator.is_not, id, type, tuple, list, dict, set, getattr, setattr)
_HANDLES = (TracedArray, TracedNumber, TracedEither)
