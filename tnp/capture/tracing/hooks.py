"""The hooks of rewritten code, while a function is traced."""

from __future__ import annotations

import builtins
import functools
import importlib.util
import inspect
import operator
import types
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from tnp.capture import active
from tnp.capture.control_flow import made_lists
from tnp.capture.control_flow.maybe_unbound import TracedMaybe, if_bound
from tnp.capture.control_flow.selection import ControlFlow, check_own_iterators
from tnp.capture.guards.prologue import Source
from tnp.capture.libraries.base import library_of_function, library_of_value
from tnp.capture.libraries.numpy.array_protocol import as_arrays
from tnp.capture.libraries.numpy.errstate import Errstate
from tnp.capture.libraries.numpy.flat import TracedFlat
from tnp.capture.libraries.numpy.generators import call_random, is_random
from tnp.capture.libraries.numpy.index_makers import is_index_maker, made_by
from tnp.capture.libraries.numpy.library import NUMPY
from tnp.capture.libraries.numpy.operations import fresh
from tnp.capture.libraries.numpy.own_calls import called_here
from tnp.capture.libraries.numpy.sources import call_undefined
from tnp.capture.objects.array_classes import ArrayOfClass, elements, is_array_class, is_array_of_class, new_array
from tnp.capture.objects.cell_arrays import is_cell_array
from tnp.capture.objects.copies import copied, deeply_copied
from tnp.capture.objects.foreign import holds_foreign, real_value, refuse
from tnp.capture.objects.identity import is_, is_not
from tnp.capture.objects.named_tuples import named_tuple_of
from tnp.capture.objects.namespaces import attribute, builtin, check_owner, imported
from tnp.capture.objects.plain_attributes import is_of_object, store_attribute
from tnp.capture.objects.scipy_objects import as_state, call_method
from tnp.capture.objects.shadows import guard_code, is_shadow, is_stand_in
from tnp.capture.objects.twins import class_of, is_bare, is_hooked, is_twin, twin_of
from tnp.capture.objects.users_descriptors import get_by, set_by
from tnp.capture.purity import (
    CALLING_AT_ONCE,
    check_library_call,
    check_on_trial,
    is_impure,
    looks_at_values,
    refuse_speakers,
    takes_functions,
)
from tnp.capture.rewrite.code_origin import (
    CACHED,
    is_followed,
    is_followed_of_python,
    is_numpys,
    is_user_function,
)
from tnp.capture.rewrite.rewriter import has_hooks, rewrite
from tnp.capture.tracing.cached_functions import call_cached
from tnp.capture.tracing.code_without_hooks import check_without_hooks
from tnp.capture.tracing.context_managers import MayCatch, own_signals
from tnp.capture.tracing.effects import arguments, call_effect, is_effect, resolved, text, text_by
from tnp.capture.tracing.frame_functions import global_item, of_frame
from tnp.capture.tracing.generator_contexts import call_of_contextlib
from tnp.capture.tracing.library_errors import raise_what_is_behind
from tnp.capture.tracing.library_results import noted
from tnp.capture.tracing.operators import item_of
from tnp.capture.tracing.outer_names import OuterName, assigned_value, outer_name
from tnp.capture.tracing.predicates import is_traced, stores_item
from tnp.capture.tracing.python_builtins import ALWAYS, BUILTINS, OF_NUMPY, of_items
from tnp.capture.tracing.recursion import call_in_region
from tnp.capture.tracing.running_generators import RunningGenerator, check_generator
from tnp.capture.tracing.signatures import signature_of
from tnp.capture.tracing.texts import joined
from tnp.capture.tracing.traced_values import TracedArray, TracedNumber
from tnp.capture.tracing.warning_filters import CatchWarnings
from tnp.core.errors import NeedsEager
from tnp.core.symbol import Symbol, operation_of

__all__ = ["Runtime", "call_traced", "rewritten"]

_MISSING, _NOTHING = object(), nullcontext()


class Patterns:
    """The names in patterns, each looked up when it is compared with: ``p0``, ``p1`` ..., results of ``lookups``."""

    def __init__(self, lookups: tuple[Callable[[], Any], ...]) -> None:
        self._lookups = lookups

    def __getattr__(self, name: str) -> Any:
        return self._lookups[int(name[1:])]()


class Runtime(ControlFlow):
    """The hooks of one rewritten function, which knows where its global and closure names come from."""

    slice = slice

    def __init__(self, f: types.FunctionType) -> None:
        self.function = f
        self.globals = f.__globals__
        self.cells = dict(zip(f.__code__.co_freevars, f.__closure__ or ()))
        self.module = f.__globals__.get("__name__", "?")
        self.is_numpys = is_numpys(f)
        self.is_of_python = is_followed_of_python(f)

    def may_catch(self, is_read: bool) -> MayCatch:
        """Stands around the body of a ``try``; ``is_read`` says whether a handler reads the error."""
        return MayCatch(_NOTHING, is_read)

    own_signals = staticmethod(own_signals)

    def context(self, manager: Any) -> Any:
        """What a ``with`` statement enters."""
        if active.running() is None or type(manager) in (Errstate, CatchWarnings):
            return manager
        library = library_of_value(manager)
        return manager if library is not None and library.is_plain_context(manager) else MayCatch(manager)

    def load(self, name: str, value: Any) -> Any:
        """The value of a global or closure name; data in it becomes an input of the trace."""
        tracer = active.running()
        if tracer is None or self.is_numpys or (self.is_of_python and name not in self.cells):
            return value
        value = assigned_value(tracer, self, name, value)
        if is_traced(value) or is_stand_in(value):
            return value
        if tracer.loaded.get((self, name), _MISSING) is value:
            return value
        constant = tracer.inputs.prologue.constant
        cell = self.cells.get(name)
        if cell is not None:
            here = constant(cell, "cell")
            if tracer.inputs.functions.is_fresh(self.function):
                at = list(self.cells).index(name)
                here = f"{tracer.inputs.functions.name_of(self.function)}.__closure__[{at}]"
            source = Source(f"{here}.cell_contents", f"closure variable {name}")
        elif self.globals.get(name, _MISSING) is value:
            source = Source(f"{constant(self.globals, 'globals')}[{name!r}]", f"global {name}")
        else:
            return builtin(name, value)
        lifted = tracer.inputs.lift(value, source)
        if lifted is value:  # it is guarded, which holds for as long as the name is bound to it
            tracer.loaded[self, name] = value
        return lifted

    def outer(self, name: str) -> OuterName:
        """A global or closure name that the function assigns."""
        return outer_name(active.running(), self, name)

    def new_list(self, items: list[Any], line: int, column: int) -> list[Any]:
        """A list that the function has just made, at a place of its code."""
        return made_lists.new_list(items, self.function.__code__, line, column)

    of_items = of_items
    position = staticmethod(made_lists.position)
    added = staticmethod(made_lists.added)

    attribute = staticmethod(attribute)
    copied = staticmethod(copied)
    deeply_copied = staticmethod(deeply_copied)
    get_by = staticmethod(get_by)
    set_by = staticmethod(set_by)
    store_attribute = staticmethod(store_attribute)
    owner = staticmethod(check_owner)
    is_ = staticmethod(is_)
    is_not = staticmethod(is_not)

    def imported(self, value: Any, module: str | None, level: int, name: str) -> Any:
        """``value``, which ``from module import name`` has bound."""
        if level:
            package = self.globals.get("__package__") or ""
            module = importlib.util.resolve_name("." * level + (module or ""), package)
        return imported(value, module or "", name)

    of_frame = staticmethod(of_frame)
    global_item = global_item

    def defines_class(self, name: str) -> None:
        """The function defines a class whose body reads names of the outside."""
        if active.running() is not None:
            raise NeedsEager(f"it defines the class {name}, whose body reads names of the outside")

    def made_class(self, made: Any) -> None:
        """The function has defined a class, which is its own to change."""
        tracer = active.running()
        if tracer is not None and isinstance(made, type):
            tracer.inputs.own_classes.add(made)

    def subject(self, x: Any) -> Any:
        """What a ``match`` statement compares with its patterns. Python asks the class in C whether it has keys or items, and a foreign value's
        class has none."""
        foreign = holds_foreign(x)
        if foreign is not None and (
            foreign is not x or (isinstance(real_value(x), (dict, Sequence)) and type(real_value(x)) is not str)
        ):
            refuse(foreign, "matches")
        return x._known() if type(x) is TracedNumber and x.proxy.python_type is bool else x

    def patterns(self, *lookups: Callable[[], Any]) -> Patterns:
        """What the patterns of a ``match`` statement name."""
        return Patterns(lookups)

    def assigns(self, *names: str) -> None:
        """The function assigns names of the outside."""
        if active.running() is not None:
            raise NeedsEager(f"it assigns {', '.join(names)}, which its caller can see")

    def item(self, owner: Any, key: Any) -> Any:
        """``owner[key]``; what ``np.r_``, ``np.mgrid`` and their like make is traced."""
        if type(owner) is np.ndarray and is_traced(key):
            return self.written(owner)[key]
        if is_index_maker(owner):
            return made_by(owner, key) if active.running() is not None else owner[key]
        if is_traced(key) and _takes_real_subscripts(class_of(owner)):
            raise NeedsEager(f"it takes an item of a {type(owner).__name__} by a value of the program")
        return item_of(owner, made_lists.position(owner, key))

    def store(self, value: Any, target: Any, key: Any) -> None:
        """``target[key] = value``."""
        if type(target) is TracedArray and is_array_of_class(value):
            value = elements(value)
        self.written(target)[made_lists.position(target, key)] = value

    def written(self, x: Any) -> Any:
        """``x``, which an operation is about to change in place: an array that was not traced is one of the trace now."""
        tracer = active.running()
        return tracer.inputs.constant_array(x) if tracer is not None and type(x) is np.ndarray else x

    text = staticmethod(text)
    joined = staticmethod(joined)
    text_by = staticmethod(text_by)

    def bound(self, x: Any, name: str, is_free: bool = False) -> Any:
        """``x``, what the variable ``name`` is bound to, where that may be nothing; ``is_free``: in another scope's code."""
        return x.read(name, is_free) if type(x) is TracedMaybe else x

    #: what a span returns of a variable that may be unbound behind it
    if_bound = staticmethod(if_bound)

    def decorator(self, d: Any) -> Any:
        """What decorates a function made by the program, where ``d`` is written."""
        return functools.partial(self.call, d) if type(d) in (type, types.FunctionType) and d in BUILTINS else d

    def call(self, f: Any, /, *args: Any, **kwargs: Any) -> Any:
        """``f(*args, **kwargs)``, traced."""
        kind = type(f)
        if is_shadow(f) or is_twin(kind):
            return self._call_object(f, tuple(map(resolved, args)), {k: resolved(v) for k, v in kwargs.items()})
        if active.running() is not None and is_effect(f):
            return call_effect(f, args, kwargs)
        args, kwargs = arguments(f, args, kwargs)
        _check_arguments(f, args)
        operation = operation_of(f)
        if operation is not None:
            return _call_operation(f, operation, args, kwargs)
        known = kind in _FUNCTION_TYPES or isinstance(f if kind is not types.MethodType else f.__self__, type)
        library = library_of_function(f) if known else None
        if library is not None:
            return library.call(active.current(), f, args, kwargs)
        own_call = getattr(kind, "__tnp_call__", None)
        if own_call is not None:
            return own_call(f, *args, **kwargs)
        if kind is types.FunctionType:
            if (symbol := NUMPY.symbol_of(f)) is not None:
                return self._call_numpy(f, symbol, args, kwargs)
            if (own := called_here(f, args, kwargs)) is not NotImplemented:
                return own
            return call_traced(f, args, kwargs) if _is_traced(f) else self._call_library(f, args, kwargs)
        if kind is types.MethodType:
            if _is_traced(f.__func__):
                return call_traced(f.__func__, (f.__self__, *args), kwargs)
            if is_hooked(f):
                return f(*args, **kwargs)
            if args and (unfrozen := NUMPY.unfrozen(f)) is not None:
                method, parameters, keywords = unfrozen
                return self.call(method, *args, *parameters, **keywords, **kwargs)
        if is_random(f):
            return call_random(f, args, kwargs)
        if kind is Symbol:
            return active.current().call(f, args, kwargs)
        if is_of_object(f):
            f, args = getattr(object, f.__name__), (f.__self__, *args)
        special = _own_builtin(f)
        if special is not None:
            if is_traced(args) or f in ALWAYS or f is len or (f in OF_NUMPY and is_traced(kwargs)):
                return special(*args, **kwargs)
            return f(*args, **{k: hooked(v) for k, v in kwargs.items()})
        if kind is types.BuiltinFunctionType and type(f.__self__) is np.ndarray:
            return self.call(getattr(active.current().inputs.constant_array(f.__self__), f.__name__), *args, **kwargs)
        if kind in _NUMPY_TYPES:
            symbol = NUMPY.symbol_of(f)
            if symbol is not None:
                return self._call_numpy(f, symbol, args, kwargs)
            if is_traced(args) or is_traced(kwargs):
                owner = getattr(f, "__self__", None)
                if isinstance(owner, np.ufunc):
                    return active.current().ufunc(owner, f.__name__, args, kwargs)
                of_numpy = kind is not types.BuiltinFunctionType or (f.__module__ or "").startswith("numpy")
                if of_numpy and not is_impure(f) and not stores_item(f, args):
                    return call_undefined(active.current(), f, args, kwargs)
            return self._call_library(f, args, kwargs)
        if kind is CACHED:
            return call_cached(f, args, kwargs)
        if kind is operator.methodcaller:
            (name, *rest), keywords = _made_of(f)
            return self.call(attribute(args[0], name), *rest, *args[1:], **keywords, **kwargs)
        if kind is operator.attrgetter:
            found = [functools.reduce(attribute, path.split("."), *args) for path in _made_of(f)[0]]
            return found[0] if len(found) == 1 else tuple(found)
        if kind is functools.partial:
            return self.call(f.func, *f.args, *args, **{**f.keywords, **kwargs})
        if isinstance(f, type):
            return self._construct(f, args, kwargs)
        symbol = NUMPY.symbol_of(f)  # SciPy's: functions of classes of its own, and methods
        if symbol is not None:
            return self._call_numpy(f, symbol, args, kwargs)
        if (inner := getattr(f, "__tnp_function__", None)) is not None:
            return self.call(inner, *args, **kwargs)
        return self._call_object(f, args, kwargs)

    def _call_object(self, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of what has a ``__call__``."""
        if type(f) is types.MethodType and is_array_of_class(f.__self__):  # one of ndarray's
            return f(*args, **kwargs)
        kind = class_of(f)
        own_call = getattr(kind, "__tnp_call__", None) or type(f).__dict__.get("__tnp_call__")
        if own_call is not None:
            return own_call(f, *args, **kwargs)
        method = NUMPY.methods_of(kind).get("__call__")
        if method is not None:
            return call_method(method, f, args, kwargs)
        called: Any = getattr(kind, "__call__", None)  # noqa: B004 (the function is wanted)
        if is_followed(called):
            if is_shadow(f):
                guard_code(f, "__call__")
            return call_traced(called, (f, *args), kwargs)
        return self._call_library(f, args, kwargs)

    def _call_numpy(self, f: Any, symbol: Symbol, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not any(map(is_array_of_class, (*args, *kwargs.values()))):
            args = as_arrays(f, args, kwargs, call_traced)
            refuse_speakers(f, args, kwargs)
        if not (NUMPY.makes_arrays(symbol) or is_traced(args) or is_traced(kwargs) or _holds_arrays(args, kwargs)):
            return fresh(f(*args, **kwargs))
        if symbol.id.startswith("scipy_method."):
            args = tuple(map(as_state, args))
        return active.current().numpy_function(f, args, kwargs)

    def _call_library(self, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call that is not traced: what it does happens now, once, so it may not depend on when it is called."""
        if f is inspect.signature or f is inspect.getfullargspec:
            return signature_of(f, *args, **kwargs)
        if args and getattr(f, "__objclass__", None) is np.ndarray:
            if is_array_of_class(args[0]):
                return getattr(ArrayOfClass, f.__name__)(*args, **kwargs)
            if type(args[0]) is TracedArray and type(f) is types.MethodDescriptorType:
                return self.call(attribute(args[0], f.__name__), *args[1:], **kwargs)
        if (made := call_of_contextlib(f, args, kwargs)) is not NotImplemented:
            return made
        if (made := named_tuple_of(f, args, kwargs, call_traced)) is not NotImplemented:
            return made
        check_on_trial(f)
        refuse_speakers(f, (getattr(f, "__self__", None), *args), kwargs)
        check_library_call(f, args, kwargs)
        tracer = active.current()
        if looks_at_values(f):
            args, kwargs = tracer.known(args), {k: tracer.known(v) for k, v in kwargs.items()}
            if is_traced((args, tuple(kwargs.values()))):
                raise NeedsEager(f"it gives an array to {f.__name__}, which looks at values")
        if not takes_functions(f):
            tracer.inputs.functions.check((*args, *kwargs.values()))
        else:
            args, kwargs = tuple(map(hooked, args)), {k: hooked(v) for k, v in kwargs.items()}
            if f in CALLING_AT_ONCE:
                args, kwargs = tuple(map(_hooked_builtin, args)), {k: _hooked_builtin(v) for k, v in kwargs.items()}
        if isinstance(f, type) and _looks_into_arguments(f):
            args, kwargs = tuple(map(tracer.known, args)), {k: tracer.known(v) for k, v in kwargs.items()}
            if is_traced((args, tuple(kwargs.values()))) or any(map(is_stand_in, (*args, *kwargs.values()))):
                raise NeedsEager(f"it gives {f.__name__} what it looks into")
        is_of_numpy = str(getattr(f, "__module__", "")).partition(".")[0] == "numpy"
        if is_of_numpy and (isinstance(f, type) or type(f) is types.MethodType):
            args, kwargs = tuple(map(tracer.known, args)), {k: tracer.known(v) for k, v in kwargs.items()}
        if type(f) is types.FunctionType:
            if is_of_numpy or str(f.__module__).partition(".")[0] not in _PASSING_ON:
                # NumPy would make object arrays of the numbers, and other libraries keep them.
                args, kwargs = tuple(map(tracer.known, args)), {k: tracer.known(v) for k, v in kwargs.items()}
            if is_of_numpy:
                if is_traced(args) or is_traced(kwargs):
                    return call_undefined(tracer, f, args, kwargs)
                with np.errstate(**tracer.settings):
                    return fresh(f(*args, **kwargs))
        refused = tracer.specializer.refused
        try:
            result = f(*args, **kwargs)
            if class_of(result) is f:
                tracer.inputs.made[id(result)] = result
            return noted(f, result)
        except Exception as error:
            raise_what_is_behind(error, f, (*args, *kwargs.values()), refused)
            raise

    def _construct(self, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An instance of a class, its ``__new__`` and ``__init__`` traced if they are the user's."""
        of_numpy = NUMPY.constructed(cls, args, kwargs)
        if of_numpy is not NotImplemented:
            return of_numpy
        maker: Any = cls
        if is_followed(getattr(maker, "__del__", None)):
            raise NeedsEager(f"it makes a {cls.__name__}, which does something when it dies")
        new, init = maker.__new__, maker.__init__
        calls_itself = type(cls).__call__ is not type.__call__
        if calls_itself and is_followed(type(cls).__call__):
            raise NeedsEager(f"the class of {cls.__name__} makes its objects itself")
        of_array = is_array_class(cls)
        is_traced_class = is_followed(new) or is_followed(init) or (not args and not kwargs and is_bare(cls))
        if not of_array and (calls_itself or not is_traced_class or hasattr(cls, "_fields")):
            return self._call_library(cls, args, kwargs)
        active.current().inputs.guard_class(cls, data=True)
        twin = cls if of_array else twin_of(cls)
        if of_array and not is_followed(new):
            made = new_array(cls, *args, **kwargs)
        elif is_followed(new):
            made = call_traced(new, (cls, *args), kwargs)
            if not isinstance(made, cls):
                return made
            if twin is not cls and type(made) is cls:
                raise NeedsEager(f"{cls.__name__} makes its objects itself")
        else:
            made = new(twin) if new is object.__new__ else new(twin, *args, **kwargs)
        active.current().inputs.made[id(made)] = made
        if is_followed(init):
            call_traced(init, (made, *args), kwargs)
        elif not of_array:
            init(made, *args, **kwargs)
        return made


def _own_builtin(f: Any) -> Callable[..., Any] | None:
    """What the tracer has in place of a function of Python's or NumPy's."""
    try:
        return BUILTINS.get(f)
    except TypeError:  # not hashable
        return None


def _check_arguments(f: Any, args: tuple[Any, ...]) -> None:
    """Raises :class:`NeedsEager` where a call in a loop or a branch may take from an iterator of the outside."""
    tracer = active.running()
    if type(f) is types.BuiltinFunctionType and type(f.__self__) is list:
        made_lists.check_method(f.__self__, f.__name__, args)
    if tracer is not None and tracer.regions:
        check_own_iterators(args)


def _call_operation(f: Any, operation: Symbol, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of what the user made an operation."""
    if isinstance(f, np.ufunc) and kwargs:
        raise NeedsEager(f"it passes {', '.join(kwargs)} to {f.__name__}, an operation of the user's")
    given = (*args, *kwargs.values())
    if any(is_cell_array(x) or is_array_of_class(x) for x in given):
        raise NeedsEager(f"it gives {operation.name}, an operation of the user's, an array that is not compiled")
    if not is_traced(given) and not operation.tags:
        return fresh(f(*args, **kwargs))
    return active.current().call(operation, args, kwargs)


#: kinds of functions that an array library may have
_FUNCTION_TYPES = frozenset(
    (types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)
)


#: modules whose classes keep what they are given, and do not look into it
_KEEPING = frozenset(
    ("_collections", "_functools", "builtins", "collections", "functools", "itertools", "operator", "types")
)


@functools.cache
def _looks_into_arguments(cls: type) -> bool:
    """Whether a class is written in C and reads the arguments of its constructor."""
    if cls in (bytes, bytearray, memoryview):
        return True
    in_python = any(isinstance(getattr(cls, name), types.FunctionType) for name in ("__init__", "__new__"))
    # Classes of other modules in C may say that they are builtins.
    is_misnamed = cls.__module__ == "builtins" and not any(cls in vars(m).values() for m in (builtins, types))
    return not in_python and (is_misnamed or cls.__module__ not in _KEEPING)


def _holds_arrays(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return any(isinstance(a, np.ndarray) or type(a) is TracedFlat for a in (*args, *kwargs.values()))


#: kinds of defaults that are the same at each call
_UNCHANGING = frozenset((bool, int, float, complex, str, bytes, type(None), types.FunctionType, type))
#: packages whose functions neither keep the numbers that they are given nor make arrays of them
_PASSING_ON = frozenset(("contextlib", "copy", "dataclasses", "functools", "operator", "tnp", "typing"))


def rewritten(f: Callable[..., Any]) -> Callable[..., Any]:
    """The Python function ``f`` with the hooks in it, or itself where it has no source and needs none."""
    assert isinstance(f, types.FunctionType)
    check_generator(f)
    if (made := rewrite(f, Runtime)) is not None:
        return made
    check_on_trial(f)
    check_without_hooks(f, Runtime)
    return f


def call_traced(f: types.FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Calls a user's function with the hooks in it. What it takes by default becomes an input, if that may change."""
    made = rewritten(f)
    tracer = active.running()
    if tracer is None or made is f:
        return made(*args, **kwargs)
    if is_numpys(f):
        return made(*args, **kwargs) if not tracer.regions else call_in_region(tracer, f, made, args, kwargs)
    tracer.inputs.guard_function(f)
    constant = tracer.inputs.prologue.constant
    lift = tracer.inputs.lift_default
    made_by = tracer.inputs.functions.name_of(f)

    def default(name: str, value: Any, where: str) -> Any:
        if name in kwargs:
            return value
        if type(value) in _UNCHANGING and not tracer.inputs.functions.is_fresh(f):
            here = f"{made_by}.{where}"
            same = f"{here} is {constant(value, 'default')}"
            tracer.inputs.prologue.guard(same, f"{f.__name__}'s default for {name} is {value!r}")
            return value
        return lift(value, Source(f"{made_by}.{where}", f"{f.__name__}'s default for {name}"))

    if f.__defaults__:
        names = f.__code__.co_varnames[f.__code__.co_argcount - len(f.__defaults__) : f.__code__.co_argcount]
        given = len(args) - f.__code__.co_argcount + len(names)
        made.__defaults__ = tuple(
            v if i < given else default(n, v, f"__defaults__[{i}]")
            for i, (n, v) in enumerate(zip(names, f.__defaults__))
        )
    if f.__kwdefaults__:
        made.__kwdefaults__ = {n: default(n, v, f"__kwdefaults__[{n!r}]") for n, v in f.__kwdefaults__.items()}
    result = made(*args, **kwargs) if not tracer.regions else call_in_region(tracer, f, made, args, kwargs)
    return RunningGenerator(result, f.__name__) if type(result) is types.GeneratorType else result


def _is_traced(f: types.FunctionType) -> bool:
    """Whether a function is traced: also one that an array library has wrapped around one that is."""
    of_torch = f.__globals__.get("__name__", "").partition(".")[0] == "torch"
    return is_followed(f) or (of_torch and is_followed(getattr(f, "__wrapped__", None)))


def _takes_real_subscripts(kind: type) -> bool:
    """Whether the objects of a class have a ``__getitem__`` that a library wrote in Python, and that is not traced: it may ask what its
    argument is.
    """
    method = getattr(kind, "__getitem__", None)
    library = kind.__module__.partition(".")[0]
    return type(method) is types.FunctionType and not is_followed(method) and library not in (*_PASSING_ON, "torch")


def _made_of(f: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments that a ``methodcaller`` or an ``attrgetter`` was made with."""
    make, args = f.__reduce__()
    return (make.args + args, make.keywords) if type(make) is functools.partial else (args, {})


def hooked(x: Any) -> Any:
    """``x``, which a library is given to call: the user's functions as ones that are traced."""
    if type(x) is types.FunctionType and is_followed(x) and active.running() is not None:
        if has_hooks(x):
            return x
        call = active.current().runtime.call
        return functools.wraps(x)(lambda *args, **kwargs: call(x, *args, **kwargs))
    if type(x) is CACHED and is_user_function(x.__wrapped__):
        raise NeedsEager(f"it gives {x.__name__}, which remembers what it gave, to a library")
    if type(x) is types.MethodType and is_followed(x.__func__):
        return types.MethodType(hooked(x.__func__), x.__self__)
    if type(x) in _NUMPY_TYPES and active.running() is not None and NUMPY.symbol_of(x) is not None:
        return functools.partial(active.current().runtime.call, x)
    if type(x) in (list, tuple):
        items = [hooked(y) for y in x]
        return x if all(a is b for a, b in zip(items, x)) else type(x)(items)
    return x


def _hooked_builtin(x: Any) -> Any:
    """``x``, which a function is given to call: a builtin that means something else for traced values as what it means for them."""
    if x is None or type(x) not in (type, types.BuiltinFunctionType, types.FunctionType) or x not in BUILTINS:
        return x
    return functools.partial(active.current().runtime.call, x)


_NUMPY_TYPES = frozenset({*map(type, (len, np.add, np.sum)), types.MethodWrapperType, types.WrapperDescriptorType})
