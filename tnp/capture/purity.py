"""Library functions that may be called once, while a program is traced, instead of at each call.

They must be pure: equal arguments give equal results, without side effects. The modules of such functions are listed.
All others are foreign: a program that calls one runs eagerly. A library function with traced arguments is traced.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import itertools
import sys
import types
import typing
from collections.abc import Callable
from typing import Any

import numpy as np

from tnp.capture import active
from tnp.capture.contract import is_compiled_function
from tnp.capture.objects.foreign import holds_foreign, is_read, refuse
from tnp.capture.objects.immutable_values import is_pure_function
from tnp.capture.objects.named_tuples import is_class_of_named_tuples
from tnp.capture.objects.shadows import is_shadow
from tnp.capture.objects.twins import ARRAY_PROTOCOLS, class_of, is_twin, traced_members
from tnp.capture.rewrite.code_origin import (
    is_followed,
    is_followed_class,
    is_library_class,
    is_library_module,
    is_user_function,
)
from tnp.capture.tracing.predicates import is_traced
from tnp.core.errors import CountsReferences, NeedsEager

__all__ = [
    "CALLING_AT_ONCE",
    "check_library_call",
    "check_on_trial",
    "is_impure",
    "looks_at_values",
    "refuse_speakers",
    "takes_functions",
]

#: modules whose functions and classes do nothing but give a result, and whose objects a program has to itself
_PURE_MODULES = frozenset(
    ("_bisect", "_blake2", "_collections", "_collections_abc", "_functools", "_hashlib", "_heapq", "_operator", "_struct", "abc", "bisect", "builtins", "cmath",
     "calendar", "collections", "contextlib", "copy", "dataclasses", "datetime", "enum", "fractions", "functools", "heapq", "itertools", "keyword", "math",
     "numbers", "numpy", "operator", "pathlib", "re", "scipy", "statistics", "string", "struct", "textwrap", "tnp", "torch", "types", "typing",
     "typing_extensions", "unicodedata", "uuid")
)  # fmt: skip
#: of those, modules whose functions have to be given values that are known
_READING = frozenset(
    (
        "_blake2",
        "_hashlib",
        "_struct",
        "calendar",
        "datetime",
        "fractions",
        "keyword",
        "pathlib",
        "re",
        "statistics",
        "string",
        "struct",
        "textwrap",
        "unicodedata",
        "uuid",
    )
)
#: of those, parts with side effects, or that read the environment or the code of functions
_IMPURE_PARTS = (
    "scipy.io",
    "scipy.datasets",
    "numpy.lib.format",
    "numpy.lib._datasource",
    "numpy._core._internal",
    "numpy._core._multiarray_tests",
    "numpy._core.overrides",
    "numpy.ctypeslib",
    "numpy.testing",
)
#: modules whose functions, and the methods of whose objects, depend on when they are called or act on the outside, but for those of
#: values that never change
_IMPURE_MODULES = frozenset(
    ("_io", "calendar", "datetime", "io", "logging", "nt", "os", "pathlib", "posix", "random", "secrets", "shutil", "socket", "subprocess",
     "tempfile", "time", "uuid", "warnings", "_warnings")
)  # fmt: skip
_IMPURE_FUNCTIONS: frozenset[Any] = frozenset((
    builtins.__import__, builtins.breakpoint, builtins.compile, builtins.eval, builtins.exec, builtins.globals, builtins.input,
    builtins.bytearray, builtins.locals, builtins.memoryview, builtins.open, np.fromfile, np.fromregex, np.genfromtxt, np.get_printoptions, np.getbufsize, np.geterrcall, np.load,
    np.loadtxt, np.memmap, np.save, np.savetxt, np.savez, np.savez_compressed, np.set_printoptions, np.setbufsize, np.seterrcall,
    np.show_config, np.bmat, np.geterr, np.seterr, functools.lru_cache, functools.cache, functools.singledispatch,
))  # fmt: skip
#: builtins that iterate over what they are given
_READING_MAPPINGS = (bool, list, tuple, dict, set, sorted)
#: functions and methods of SciPy's that draw random numbers
_DRAWING = frozenset(
    ("basinhopping", "bootstrap", "differential_evolution", "dual_annealing", "dunnett", "goodness_of_fit", "kmeans", "kmeans2",
     "monte_carlo_test", "permutation_test", "power", "rand", "random", "random_array", "random_table", "resample", "rvs")
)  # fmt: skip
#: builtins that change an object or take from an iterator, without a hook that would see it
_TAKING = frozenset((builtins.next, builtins.setattr, builtins.delattr))
#: functions that call the functions that they are given, when they are called or later
_CALLING: frozenset[Any] = frozenset((
    builtins.map, builtins.filter, builtins.sorted, builtins.max, builtins.min, builtins.iter, functools.reduce, functools.cmp_to_key, np.vectorize, np.frompyfunc,
    *(f for f in vars(itertools).values() if callable(f)),
))  # fmt: skip


#: those that call them, and give them to nobody
CALLING_AT_ONCE: frozenset[Any] = frozenset((
    builtins.map, builtins.filter, builtins.sorted, functools.reduce, itertools.accumulate, itertools.dropwhile, itertools.filterfalse,
    itertools.groupby, itertools.starmap, itertools.takewhile,
))  # fmt: skip


#: functions that look at who refers to an object, besides those of :mod:`gc`
_REFERENCES = (sys.getrefcount,)


def is_impure(f: Any, args: tuple[Any, ...] = ()) -> bool:
    """Whether a library's function may not be called once for all calls of the program."""
    if is_pure_function(f, args):
        return False
    owner = getattr(f, "__self__", None)
    modules = {getattr(f, "__module__", None), type(owner).__module__, getattr(owner, "__module__", None)}
    if not _IMPURE_MODULES.isdisjoint(modules) or _module_of(f).startswith(_IMPURE_PARTS):
        return True
    if getattr(f, "__name__", None) in _DRAWING and _is_of(f, "scipy") and not _module_of(f).startswith("scipy.signal"):
        return True  # scipy.signal.resample draws nothing
    try:
        return f in _IMPURE_FUNCTIONS
    except TypeError:  # not hashable
        return False


def takes_functions(f: Any) -> bool:
    """Whether a function calls those that it is given, so that the tracer has to see to them."""
    if type(f) is types.BuiltinFunctionType and isinstance(f.__self__, list):
        return f.__name__ == "sort"
    try:
        return f in _CALLING or (type(f) is types.FunctionType and not is_followed(f) and not _is_of(f, "tnp"))
    except TypeError:  # not hashable
        return False


def _is_of(f: Any, package: str) -> bool:
    return str(getattr(f, "__module__", None)).partition(".")[0] == package


def _module_of(f: Any) -> str:
    """The module that a function, a method or a class is of."""
    owner = getattr(f, "__self__", None)
    if type(f) in (types.BuiltinFunctionType, types.MethodWrapperType) and not isinstance(
        owner, types.ModuleType | None
    ):
        kind = owner if isinstance(owner, type) else type(owner)
        if is_twin(kind) and not is_shadow(owner):  # made by the program, of a class that inherits from Python's
            # Its own method of that name is a function of Python's, which calls this one by super().
            in_c = (c for c in kind.__mro__ if not isinstance(c.__dict__.get(f.__name__), types.FunctionType | None))
            kind = next(in_c, kind)
        return kind.__module__
    module = getattr(f, "__module__", None)
    if module is None and type(f) is types.FunctionType:  # of a wrapper of a method of C's
        module = f.__globals__.get("__name__")
    if module is None:
        module = getattr(getattr(f, "__objclass__", None), "__module__", None) or type(f).__module__
    return module if type(module) is str else "?"


def _is_pure_module(module: str) -> bool:
    return module.partition(".")[0] in _PURE_MODULES and not module.startswith(_IMPURE_PARTS)


def _is_users_class(f: Any) -> bool:
    """Whether ``f`` is a class of the user's, or one of an installed package that makes objects as ``object`` does: it makes an object that
    the program has to itself."""
    if not isinstance(f, type) or f.__module__ not in sys.modules:
        return False
    maker: Any = f
    is_plain = type(f) is type and maker.__new__ is object.__new__ and maker.__init__ is object.__init__
    return not is_library_module(sys.modules[f.__module__]) or (is_plain and is_followed_class(f))


def looks_at_values(f: Any) -> bool:
    """Whether a function of a listed module tells what it is given by its class, or reads it in C."""
    return _module_of(f).partition(".")[0] in _READING


def _keeps_only(f: Any) -> bool:
    """Whether a function puts what it is given into a list, without a look at it."""
    return type(f) is types.BuiltinFunctionType and type(f.__self__) is list and f.__name__ in ("append", "insert")


def check_library_call(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raises :class:`NeedsEager` where a call of a library's function may not be made while tracing."""
    foreign = holds_foreign((*args, *kwargs.values()))
    if (
        foreign is not None
        and not _keeps_only(f)
        and not (f in _READING_MAPPINGS and len(args) == 1 and is_read(args[0]))
    ):
        refuse(foreign, f"gives to {_name(f)}")
    if any(map(is_compiled_function, (*args, *kwargs.values()))) and takes_functions(f):
        raise NeedsEager(f"it gives {_name(f)} a function of C's to call")
    if any(type(a) is types.MethodDescriptorType for a in args) and takes_functions(f) and is_traced(args):
        raise NeedsEager(f"it gives {_name(f)} a method of C's to call with traced values")
    if type(f) is types.FunctionType and _is_of(f, "scipy") and any(map(_is_of_program, (*args, *kwargs.values()))):
        # Traced, its calls would be written out one by one, and those that values decide on be asked for.
        raise NeedsEager(f"it gives {_name(f)} a function to call")
    owner = getattr(f, "__self__", None)
    in_c = type(f) in (types.MethodWrapperType, types.WrapperDescriptorType, types.MethodDescriptorType)
    if (
        in_c
        and (is_shadow(owner) or (args and is_shadow(args[0])))
        and f.__name__ not in ("__init__", "__init_subclass__")
    ):
        raise NeedsEager(f"it calls {_name(f)} of an object")  # which it would find in the stand-in
    if getattr(f, "__objclass__", None) is object and f.__name__ == "__init__":
        return  # of super().__init__(): it checks that there are no arguments
    if _module_of(f) == "gc" or any(f is g for g in _REFERENCES):
        raise CountsReferences(f"it calls {_name(f)}, which looks at references")
    if is_impure(f, (*args, *kwargs.values())):
        raise NeedsEager(f"it calls {_name(f)}, which may do something else at each call")
    inner: Any = getattr(f, "__wrapped__", None)
    if type(f) is types.FunctionType and is_followed(inner) and not is_followed(f):
        raise NeedsEager(f"it calls {_name(inner)} by way of {f.__module__}")
    if _is_users_class(f):
        if any(name.startswith("__") for name in traced_members(f)):
            raise NeedsEager(f"it makes a {f.__name__}, which Python's own classes make")
    elif not (
        _is_pure_module(_module_of(f)) or _is_of_signature(f) or is_user_function(f) or is_class_of_named_tuples(f)
    ):
        raise NeedsEager(f"it calls {_name(f)}, of which tnp does not know whether it gives the same at each call")


def _is_of_program(x: Any) -> bool:
    """Whether an argument is a function that is traced where it is called."""
    while type(x) is functools.partial:
        x = x.func
    return is_followed(getattr(x, "__func__", x)) or isinstance(x, np.ufunc)


def _is_of_signature(f: Any) -> bool:
    """Whether ``f`` is a method of a signature, which the program has asked for."""
    return type(getattr(f, "__self__", None)) in (inspect.Signature, inspect.Parameter, inspect.BoundArguments)


def _name(f: Callable[..., Any]) -> str:
    return str(getattr(f, "__qualname__", None) or type(f).__qualname__)


def _is_of_dataclass(f: Any) -> bool:
    """Whether ``f`` is a method that :func:`dataclasses.dataclass` wrote: it assigns attributes of a new object, or reads some."""
    return type(f) is types.FunctionType and f.__code__.co_qualname.startswith("__create_fn__.")


def check_on_trial(f: Any) -> None:
    """Refuses a library's function where it is called in some calls of the program only, or in a loop or a branch that is only
    tried, unless it does nothing but give a result, or all that it does can be undone."""
    tracer = active.running()
    if tracer is None or not (tracer.regions or tracer.specializer.specialized):
        return
    if _is_users_class(f) or is_class_of_named_tuples(f) or _is_of_dataclass(f):
        return
    module = _module_of(f)
    owner = getattr(f, "__self__", None)
    # An iterator that is no stand-in is of this attempt at tracing: behind a value that decides, it is used up with it.
    is_taking = module == "builtins" and owner is builtins and f in _TAKING and (f is not next or tracer.regions)
    if not _is_pure_module(module) or is_taking:
        where = "in a loop or a branch" if tracer.regions else "after a value that decides what it does"
        raise NeedsEager(f"it calls {_name(f)} {where}")


def refuse_speakers(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raises :class:`NeedsEager` where a library is given an object that NumPy would ask for an array."""
    if type(f) is types.BuiltinFunctionType and isinstance(f.__self__, (list, dict)):
        return  # which ask NumPy nothing
    if f is abs or f is typing.cast or _is_of(f, "tnp"):  # abs asks the object itself
        return
    for x in (*args, *kwargs.values()):
        kind: Any = type(x)
        if _speaks_of_arrays(kind):
            raise NeedsEager(f"it gives a {class_of(x).__name__}, whose methods NumPy calls, to a library")


#: a class that a program has defined, in ``__flags__``
_HEAP_TYPE = 1 << 9


@functools.cache
def _speaks_of_arrays(cls: type) -> bool:
    """Whether the user has written a method of a class that NumPy calls."""
    is_users = cls.__flags__ & _HEAP_TYPE and not is_library_class(cls)
    return bool(is_users) and any(hasattr(cls, name) for name in ARRAY_PROTOCOLS)
