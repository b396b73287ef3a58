"""What the rewriter's hooks do while a function is traced."""

from __future__ import annotations

import builtins
import dis
import functools
import inspect
import math
import operator
import sys
import types
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

from tnp.core import langs, prims
from tnp.core.elementwise_table import ROWS
from tnp.core.errors import NeedsEager
from tnp.core.prims.elementwise import refuses_some
from tnp.core.proxies import NumberProxy
from tnp.core.symbol import Symbol
from tnp.frontend import state
from tnp.frontend.contexts import Errstate, MayCatch
from tnp.frontend.control_flow import ControlFlow
from tnp.frontend.effects import call_effect, is_effect, resolved, text, text_by
from tnp.frontend.either import TracedEither, condition_of, larger_or_smaller
from tnp.frontend.handles import TracedArray, TracedNumber
from tnp.frontend.layout import ROW_MAJOR
from tnp.frontend.libraries import library_of_function, library_of_value
from tnp.frontend.maybe import TracedMaybe
from tnp.frontend.objects import guard_code, is_shadow
from tnp.frontend.rewriter import is_user_data, is_user_function, rewrite
from tnp.frontend.rounds import enumerate_, ndenumerate_, ndindex_, range_, reversed_, zip_
from tnp.frontend.sources import Source
from tnp.frontend.tracer import is_traced
from tnp.frontend.trials import is_unknown
from tnp.lang import numpy as lnp
from tnp.lang.numpy import opaque
from tnp.lang.numpy.registry import by_id, symbol_of

__all__ = ["Runtime", "rewritten"]

_MISSING = object()
_NOTHING = nullcontext()


class Runtime(ControlFlow):
    """The hooks of one rewritten function, which knows where its global and closure names come from."""

    slice = slice

    def __init__(self, f: types.FunctionType) -> None:
        self.globals = f.__globals__
        self.cells = dict(zip(f.__code__.co_freevars, f.__closure__ or ()))
        self.module = f.__globals__.get("__name__", "?")

    def may_catch(self) -> MayCatch:
        """Around the body of a ``try``."""
        return MayCatch(_NOTHING)

    def context(self, manager: Any) -> Any:
        """What a ``with`` statement enters."""
        if state.running() is None or type(manager) is Errstate:
            return manager
        library = library_of_value(manager)
        return manager if library is not None and library.is_plain_context(manager) else MayCatch(manager)

    def load(self, name: str, value: Any) -> Any:
        """The value of a global or closure name; data in it becomes an input of the trace."""
        tracer = state.running()
        if tracer is None or is_traced(value):
            return value
        if tracer.loaded.get((self, name), _MISSING) is value:
            return value
        constant = tracer.inputs.prologue.constant
        cell = self.cells.get(name)
        if cell is not None:
            source = Source(f"{constant(cell, 'cell')}.cell_contents", f"closure variable {name}")
        elif self.globals.get(name, _MISSING) is value:
            source = Source(f"{constant(self.globals, 'globals')}[{name!r}]", f"global {name}")
        else:
            return value
        lifted = tracer.inputs.lift(value, source)
        if lifted is value:  # it is guarded, which holds for as long as the name is bound to it
            tracer.loaded[self, name] = value
        return lifted

    def attribute(self, owner: Any, name: str) -> Any:
        """``owner.name``; the data of a user's module or class becomes an input of the trace."""
        value = getattr(owner, name)
        tracer = state.running()
        kind = next((k for t, k in _NAMESPACES.items() if isinstance(owner, t)), None)
        if tracer is None or kind is None or is_traced(owner) or not is_user_data(owner, name):
            return value
        source = Source(tracer.inputs.prologue.constant(owner, kind), f"{kind} {owner.__name__}")
        return tracer.inputs.lift(value, source.attribute(name))

    def owner(self, x: Any) -> Any:
        """``x``, of which an attribute is assigned: something of this trace, or else the program runs eagerly."""
        tracer = state.running()
        if tracer is not None and isinstance(x, (types.ModuleType, type, types.FunctionType)):
            raise NeedsEager(f"it assigns an attribute of {x.__name__}")
        if tracer is not None and tracer.regions and not isinstance(x, np.ndarray):
            raise NeedsEager("it assigns an attribute of an object in a loop or a branch")
        return x

    def assigns(self, *names: str) -> None:
        """The function assigns names of the outside."""
        if state.running() is not None:
            raise NeedsEager(f"it assigns {', '.join(names)}, which its caller can see")

    def item(self, owner: Any, key: Any) -> Any:
        """``owner[key]``; what ``np.r_``, ``np.mgrid`` and their like make is traced."""
        if type(owner) not in _INDEX_MAKERS or state.running() is None:
            return owner[key]
        key = state.current().known(key)
        return _joined(owner, key) if is_traced(key) else _fresh(owner[key])

    def store(self, value: Any, target: Any, key: Any) -> None:
        """``target[key] = value``."""
        self.written(target)[key] = value

    def written(self, x: Any) -> Any:
        """``x``, which an operation is about to change in place: an array that was not traced is one of the trace now."""
        tracer = state.running()
        return tracer.inputs.constant_array(x) if tracer is not None and type(x) is np.ndarray else x

    text = staticmethod(text)
    text_by = staticmethod(text_by)

    def bound(self, x: Any, name: str) -> Any:
        """``x``, what the variable ``name`` is bound to, where that may be nothing."""
        return x.read(name) if type(x) is TracedMaybe else x

    def call(self, f: Any, /, *args: Any, **kwargs: Any) -> Any:
        """``f(*args, **kwargs)``, traced."""
        kind = type(f)
        if state.running() is not None and is_effect(f):
            return call_effect(f, args, kwargs)
        args, kwargs = tuple(map(resolved, args)), {k: resolved(v) for k, v in kwargs.items()}
        known = (
            kind in _FUNCTION_TYPES
            or isinstance(f, type)
            or (kind is types.MethodType and isinstance(f.__self__, type))
        )
        library = library_of_function(f) if known else None
        if library is not None:
            return library.call(state.current(), f, args, kwargs)
        own_call = getattr(kind, "__tnp_call__", None)
        if own_call is not None:
            return own_call(f, *args, **kwargs)
        if kind is types.FunctionType:
            symbol = symbol_of(f)
            if symbol is None:
                return _call_user(f, args, kwargs) if is_user_function(f) else self._call_library(f, args, kwargs)
            return self._call_numpy(f, symbol, args, kwargs)
        if kind is types.MethodType and is_user_function(f.__func__):
            return _call_user(f.__func__, (f.__self__, *args), kwargs)
        if opaque.is_random(f):
            return self._call_random(f, args, kwargs)
        if kind is Symbol:
            return state.current().call(f, args, kwargs)
        try:
            special = _BUILTINS.get(f)
        except TypeError:
            special = None
        if special is not None:
            return special(*args, **kwargs) if is_traced(args) or f in _ALWAYS else f(*args, **kwargs)
        if kind is types.BuiltinFunctionType and type(f.__self__) is np.ndarray:
            return self.call(getattr(state.current().inputs.constant_array(f.__self__), f.__name__), *args, **kwargs)
        if kind in _NUMPY_TYPES:
            symbol = symbol_of(f)
            if symbol is not None:
                return self._call_numpy(f, symbol, args, kwargs)
            if is_traced(args) or is_traced(kwargs):
                owner = getattr(f, "__self__", None)
                if isinstance(owner, np.ufunc):
                    return state.current().ufunc(owner, f.__name__, args, kwargs)
                if kind is not types.BuiltinFunctionType or (f.__module__ or "").startswith("numpy"):
                    return state.current().opaque_call(f, args, kwargs)
            return self._call_library(f, args, kwargs)
        if kind is _CACHED:  # what it keeps may not be of this trace
            tracer = state.current()
            return f(*(tracer.known(a) for a in args), **{k: tracer.known(v) for k, v in kwargs.items()})
        if kind is functools.partial:
            return self.call(f.func, *f.args, *args, **{**f.keywords, **kwargs})
        if isinstance(f, type):
            return self._construct(f, args, kwargs)
        inner = getattr(f, "__tnp_function__", None)
        if inner is not None:
            return self.call(inner, *args, **kwargs)
        called = getattr(kind, "__call__", None)  # noqa: B004 (the function is wanted)
        if is_user_function(called):
            if is_shadow(f):
                guard_code(f, "__call__")
            return _call_user(called, (f, *args), kwargs)
        return self._call_library(f, args, kwargs)

    def _call_numpy(self, f: Any, symbol: Symbol, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not (by_id[symbol.id].factory or is_traced(args) or is_traced(kwargs) or _holds_arrays(args, kwargs)):
            return f(*args, **kwargs)
        return state.current().numpy_function(f, args, kwargs)

    def _call_library(self, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call that is not traced: what it does happens now, once, so it may not depend on when it is called."""
        _check_on_trial(f)
        if _is_impure(f):
            raise NeedsEager(f"it calls {getattr(f, '__qualname__', f)}, which may do something else at each call")
        if type(f) is types.FunctionType and f.__module__.partition(".")[0] == "numpy":
            tracer = state.current()  # NumPy would make object arrays of the numbers
            args, kwargs = tracer.known(args), {k: tracer.known(v) for k, v in kwargs.items()}
            if is_traced(args) or is_traced(kwargs):
                return tracer.opaque_call(f, args, kwargs)
            return _fresh(f(*args, **kwargs))
        return f(*args, **kwargs)

    def _call_random(self, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A function of :mod:`numpy.random`, or a method of a generator that the program did not get as an input."""
        owner = getattr(f, "__self__", None)
        if isinstance(owner, opaque.generators()) and owner is not opaque.global_generator():
            inputs = state.current().inputs
            generator = inputs.lift(owner, Source(inputs.prologue.constant(owner, "rng"), "captured generator"))
            return getattr(generator, f.__name__)(*args, **kwargs)
        return state.current().call(opaque.symbol_for(f), args, kwargs)

    def _construct(self, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An instance of a class, its ``__init__`` traced if it is the user's."""
        if issubclass(cls, np.generic) and (is_traced(args) or not args):
            return state.current().call(lnp.scalar_of, (cls, *args), kwargs)
        init = cls.__init__
        plain = type(cls) is type and cls.__new__ is object.__new__
        if not (plain and is_user_function(init) and hasattr(init, "__code__")):
            _check_on_trial(cls)
            return cls(*args, **kwargs)
        state.current().inputs.guard_class(cls, data=True)
        made = cls.__new__(cls)
        _call_user(init, (made, *args), kwargs)
        return made


#: kinds of functions that an array library may have
_FUNCTION_TYPES = frozenset(
    (types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)
)


def _holds_arrays(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return any(isinstance(a, np.ndarray) for a in args) or any(isinstance(a, np.ndarray) for a in kwargs.values())


#: modules whose functions, and the methods of whose objects, depend on when they are called or act on the outside
_IMPURE_MODULES = frozenset(
    ("_io", "datetime", "io", "logging", "nt", "os", "posix", "random", "secrets", "shutil", "socket", "subprocess",
     "tempfile", "time", "uuid", "warnings", "_warnings")
)  # fmt: skip
_IMPURE_FUNCTIONS = frozenset((builtins.input, builtins.open, np.load, np.loadtxt, np.fromfile, np.save, np.savetxt))


#: modules whose functions and classes do nothing but give a result
_PURE_MODULES = frozenset(
    ("_collections", "_functools", "_operator", "builtins", "cmath", "collections", "copy", "dataclasses", "decimal", "enum",
     "fractions", "functools", "itertools", "math", "numbers", "numpy", "operator", "statistics", "string", "tnp", "torch", "typing")
)  # fmt: skip
#: builtins that change an object or take from an iterator, without a hook that would see it
_TAKING = frozenset((builtins.next, builtins.setattr, builtins.delattr))


def _check_on_trial(f: Any) -> None:
    """Refuses a library's function where it is called in some calls of the program only, or in a loop or a branch that is only
    tried, unless it does nothing but give a result, or all that it does can be undone."""
    tracer = state.running()
    if tracer is None or not (tracer.regions or tracer.asking.answered):
        return
    if isinstance(f, type) and f.__module__ in sys.modules and is_user_data(sys.modules[f.__module__], f.__name__):
        return
    owner = getattr(f, "__self__", None)
    module = getattr(f, "__module__", None) or type(owner).__module__
    if module.partition(".")[0] not in _PURE_MODULES or (module == "builtins" and owner is builtins and f in _TAKING):
        where = "in a loop or a branch" if tracer.regions else "after a value that decides what it does"
        raise NeedsEager(f"it calls {getattr(f, '__qualname__', f)} {where}")


def _is_impure(f: Any) -> bool:
    """Whether a library's function may not be called once for all calls of the program."""
    owner = getattr(f, "__self__", None)
    modules = {getattr(f, "__module__", None), type(owner).__module__, getattr(owner, "__module__", None)}
    if not _IMPURE_MODULES.isdisjoint(modules):
        return True
    try:
        return f in _IMPURE_FUNCTIONS
    except TypeError:  # not hashable
        return False


#: kinds of defaults that are the same at each call
_UNCHANGING = frozenset((bool, int, float, complex, str, bytes, type(None), types.FunctionType, type))
_CACHED = type(functools.lru_cache(int))
_INDEX_MAKERS = frozenset(map(type, (np.r_, np.c_, np.mgrid, np.ogrid)))


def _fresh(x: Any) -> Any:
    """Arrays that NumPy made while tracing, out of what is known, as arrays that each call makes: copies of them."""
    if isinstance(x, np.ndarray):
        if type(x) is not np.ndarray:
            raise NeedsEager(f"it makes a {type(x).__name__}")
        tracer = state.current()
        made = tracer.call(lnp.copy, (tracer.inputs.constant_array(x),), {})
        if x.flags.c_contiguous:
            made._strides = ROW_MAJOR
        return made
    return type(x)(map(_fresh, x)) if type(x) in (tuple, list) else x


def _joined(owner: Any, key: Any) -> Any:
    """``np.r_[key]`` or ``np.c_[key]``: arrays, numbers and ranges, end to end or side by side."""
    parts = [_fresh(np.r_[x]) if type(x) is slice else x for x in (key if type(key) is tuple else (key,))]
    columns = type(owner) is type(np.c_)
    if not (columns or type(owner) is type(np.r_)) or any(isinstance(x, str) for x in parts):
        raise NeedsEager("it makes an array by a subscript of a kind that is not compiled")
    kinds = [x.proxy.python_type(1) if type(x) is TracedNumber else getattr(x, "dtype", x) for x in parts]
    dtype = np.result_type(*(np.asarray(k) if isinstance(k, list) else k for k in kinds))
    tracer = state.current()
    made = []
    for x in parts:
        array = tracer.call(lnp.asarray, (x,), {"dtype": dtype})
        if columns and array.ndim < 2:
            array = tracer.call(lnp.reshape, (array, (-1, 1)), {})
        made.append(tracer.call(lnp.atleast_1d, (array,), {}))
    return tracer.call(lnp.concatenate, (made, -1 if columns else 0), {})


def rewritten(f: types.FunctionType) -> Callable[..., Any]:
    """``f`` with the hooks in it, or itself where it has no source and needs none."""
    if inspect.isgeneratorfunction(f) or inspect.iscoroutinefunction(f) or inspect.isasyncgenfunction(f):
        raise NeedsEager(f"{f.__name__} is a generator or a coroutine")
    made = rewrite(f, Runtime)
    if made is None:
        _check_on_trial(f)
        _check_without_hooks(f, set())
        return f
    return made


def _call_user(f: types.FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls a user's function with the hooks in it. What it takes by default becomes an input, if that may change."""
    made = rewritten(f)
    tracer = state.running()
    if tracer is None or made is f:
        return made(*args, **kwargs)
    tracer.inputs.guard_function(f)
    constant = tracer.inputs.prologue.constant
    lift = tracer.inputs.lift_default

    def default(name: str, value: Any, where: str) -> Any:
        if name in kwargs:
            return value
        if type(value) in _UNCHANGING:
            here = f"{constant(f, 'function')}.{where}"
            same = f"{here} is {constant(value, 'default')}"
            tracer.inputs.prologue.guard(same, f"{f.__name__}'s default for {name} is {value!r}")
            return value
        return lift(value, Source(f"{constant(f, 'function')}.{where}", f"{f.__name__}'s default for {name}"))

    if f.__defaults__:
        names = f.__code__.co_varnames[f.__code__.co_argcount - len(f.__defaults__) : f.__code__.co_argcount]
        given = len(args) - f.__code__.co_argcount + len(names)
        made.__defaults__ = tuple(
            v if i < given else default(n, v, f"__defaults__[{i}]")
            for i, (n, v) in enumerate(zip(names, f.__defaults__))
        )
    if f.__kwdefaults__:
        made.__kwdefaults__ = {n: default(n, v, f"__kwdefaults__[{n!r}]") for n, v in f.__kwdefaults__.items()}
    return made(*args, **kwargs)


def _check_without_hooks(f: types.FunctionType, seen: set[types.FunctionType]) -> None:
    """Guards what ``f``, into which no hooks can be put, reads beside its arguments.

    Raises :class:`NeedsEager` where that takes hooks: for data that is more than a number or a text, for what is
    something else at each call, and for names of the outside that it assigns.
    """
    seen.add(f)
    runtime = Runtime(f)
    for operation, name in sorted(_outside_names(f.__code__)):
        if name == "random":
            raise NeedsEager(f"{f.__name__} may draw random numbers, and its source cannot be had")
        value = runtime.cells[name].cell_contents if name in runtime.cells else f.__globals__.get(name, _MISSING)
        if value is _MISSING:
            continue
        loaded = runtime.load(name, value)
        if operation.startswith("STORE") or _is_impure(value) or getattr(value, "__name__", "") in _IMPURE_MODULES:
            loaded = _MISSING
        elif type(loaded) is TracedNumber:
            loaded._known()
            continue
        elif type(value) is types.FunctionType and is_user_function(value) and value not in seen:
            if rewrite(value, Runtime) is not None:
                loaded = _MISSING
            else:
                _check_without_hooks(value, seen)
        if loaded is not value:
            raise NeedsEager(f"{f.__name__} uses {name}, and its source cannot be had")


def _outside_names(code: types.CodeType) -> set[tuple[str, str]]:
    """The operations by which ``code`` reads or assigns global and closure names, and attributes called ``random``."""
    found = {
        (i.opname, i.argval)
        for i in dis.get_instructions(code)
        if i.opname in ("LOAD_GLOBAL", "STORE_GLOBAL", "DELETE_GLOBAL")
        or (i.opname in ("LOAD_DEREF", "STORE_DEREF", "LOAD_CLOSURE") and i.argval in code.co_freevars)
        or (i.opname in ("LOAD_ATTR", "LOAD_METHOD") and i.argval == "random")
    }
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= {(op, n) for op, n in _outside_names(constant) if n not in code.co_cellvars}
    return found


#: what has names of the user's making that are looked up when a program runs
_NAMESPACES = {types.ModuleType: "module", type: "class", types.FunctionType: "function"}
_NUMPY_TYPES = frozenset(
    (types.BuiltinFunctionType, np.ufunc, type(np.sum), types.MethodWrapperType, types.WrapperDescriptorType)
)


# Python's own functions on traced values.


def _number(x: Any) -> Any:
    """An array of one element, or a traced number, as a traced number; to what asks for a number, both kinds are alike."""
    x = condition_of(x)
    if type(x) is TracedArray:
        return state.current().call(prims.item, (x,), {})
    return x


def _check_shape_of_number(python_type: type, x: TracedArray) -> None:
    """Raises what NumPy raises for an array of this shape as a number."""
    python_type(np.ones(tuple(map(operator.index, x.shape_)), x.dtype))


def _converted(python_type: type) -> Callable[..., Any]:
    def convert(x: Any = 0, *rest: Any) -> Any:
        x = condition_of(x)
        if rest or not isinstance(x, (TracedArray, TracedNumber)):
            return python_type(x, *rest)
        if type(x) is TracedArray and x.ndim:
            if python_type is bool and x.size != 1:
                return bool(x)
            _check_shape_of_number(python_type, x)
        number = _number(x)
        if number.proxy.python_type is python_type:
            return number
        if number.proxy.python_type is complex:
            raise TypeError(f"{python_type.__name__}() argument must be a string or a real number, not 'complex'")
        if refuses_some("convert_number", (number.proxy, python_type)):
            state.current().before_raising()
        return state.current().call(prims.convert_number, (number, python_type), {})

    return convert


def _fold(comparison: str) -> Callable[..., Any]:
    """``max`` and ``min``: the first of equals, as Python's comparisons decide."""

    def fold(*xs: Any, key: Any = None, default: Any = _MISSING) -> Any:
        builtin = builtins.max if comparison == "gt" else builtins.min
        keywords = {} if default is _MISSING else {"default": default}
        items = list(xs[0]) if len(xs) == 1 else list(xs)
        if key is not None or not items:
            return builtin(items, key=key, **keywords)
        best = items[0]
        for x in items[1:]:
            better = condition_of(getattr(operator, comparison)(x, best))
            if type(better) is TracedArray and better.ndim:
                return builtin(items)
            if type(better) is TracedArray and _same_kind(x, best):
                best = state.current().call(lnp.where, (better, x, best), {})[()]
            elif type(better) is TracedArray and (found := larger_or_smaller(better, x, best)) is not None:
                best = found
            elif is_unknown(better):
                best = ControlFlow().if_exp(better, lambda x=x: x, lambda best=best: best)
            elif better:
                best = x
        return best

    return fold


def _same_kind(x: Any, y: Any) -> bool:
    """Whether both are NumPy scalars of one dtype, so that either can stand in for the other."""
    scalars = all(x.scalar if type(x) is TracedArray else isinstance(x, np.generic) for x in (x, y))
    return scalars and bool(x.dtype == y.dtype)


def _isinstance(x: Any, kinds: Any) -> bool:
    """``isinstance(x, kinds)``."""
    if type(x) is not TracedEither:
        return isinstance(x, kinds)
    scalar, python_type = x.kinds
    answers = isinstance(scalar.type(1), kinds), isinstance(python_type(1), kinds)
    return isinstance(x.settled(), kinds) if answers[0] != answers[1] else answers[0]


def _sum(items: Any, /, start: Any = 0) -> Any:
    total = start
    for x in items:
        total = total + x
    return total


def _len(x: Any) -> Any:
    if type(x) is TracedArray:
        if not x.shape_:
            raise TypeError("len() of unsized object")
        n = x.shape_[0]
        return n if type(n) is int else TracedNumber(n)
    return len(x)


def _type(x: Any, *rest: Any) -> Any:
    if type(x) is TracedEither:
        x = x.settled()
    return x.__class__ if not rest else type(x, *rest)


def _round(x: Any, ndigits: Any = None) -> Any:
    if type(x) is TracedArray:
        if ndigits is None:
            return round(x.known_scalar("round()"))
        if x.scalar and x._element_type.kind == "c":
            raise TypeError(f"type numpy.{x.dtype.name} doesn't define __round__ method")
        return state.current().call(lnp.round, (x, ndigits), {})
    return round(x, ndigits)


def _pow(x: Any, y: Any, mod: Any = None) -> Any:
    if mod is None:
        return x**y
    if is_traced((x, y, mod)):
        raise NeedsEager("it calls pow() with three arguments")
    return pow(x, y, mod)


def _ndarray(shape: Any, dtype: Any = float, *rest: Any, **kwargs: Any) -> Any:
    """``np.ndarray(shape, dtype)``: memory with nothing in it, as ``np.empty`` makes it. What looks at a buffer is not traced."""
    if rest or set(kwargs) - {"order"} or is_traced(dtype):
        raise NeedsEager("it makes an array over a buffer")
    order = {} if kwargs.get("order") is None else kwargs
    return state.current().numpy_function(np.empty, (shape,), {"dtype": dtype, **order})


def _over_numbers(name: str) -> Callable[..., Any]:
    """A function of :mod:`math` on traced numbers: the operation of the table that means it on Python numbers."""

    def call(*args: Any) -> Any:
        for a in args:
            if type(a) is TracedArray and a.ndim:
                _check_shape_of_number(float, a)
        numbers = [_number(a) for a in args]
        floats = [_converted(float)(n) if type(n) is TracedNumber else n for n in numbers]
        values = [n.proxy if type(n) is TracedNumber else n for n in floats]
        if refuses_some(name, values):
            state.current().before_raising()
        result = langs.core.method(name)(*values)
        return TracedNumber(result) if isinstance(result, NumberProxy) else result

    return call


_BUILTINS: dict[Any, Callable[..., Any]] = {
    float: _converted(float),
    int: _converted(int),
    complex: _converted(complex),
    max: _fold("gt"),
    min: _fold("lt"),
    sum: _sum,
    len: _len,
    type: _type,
    range: range_,
    enumerate: enumerate_,
    zip: zip_,
    reversed: reversed_,
    round: _round,
    pow: _pow,
    isinstance: _isinstance,
    np.ndarray: _ndarray,
    np.ndindex: ndindex_,
    np.ndenumerate: ndenumerate_,
    np.errstate: Errstate,
}
for _row in ROWS:
    _module, _, _name = _row.number.partition(".")
    if _module == "math" and _row.name not in ("ceil", "floor", "trunc", "gcd", "lcm", "log"):
        _BUILTINS[getattr(math, _name)] = _over_numbers(_row.name)
#: builtins whose effect must not happen while tracing, whatever their arguments
_ALWAYS = frozenset((np.ndarray, np.ndindex, np.errstate, enumerate, zip, reversed))
