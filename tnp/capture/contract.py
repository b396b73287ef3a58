"""The capture contract: how each kind of value that a program reads while it is traced is treated.

A value is an *input* (fetched at each call), *guarded* (compared at each call), or *foreign* (any use runs the call
eagerly). :data:`ROWS` is the whole contract, one row per kind. The first matching row applies; a value without a
matching row is foreign. docs/capture.md has the same table for users.
"""

from __future__ import annotations

import enum
import functools
import inspect
import logging
import operator
import re
import sys
import types
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tnp.capture.guards.constants import lift_constant, lift_set
from tnp.capture.libraries.base import library_of_value
from tnp.capture.libraries.cupy import CUPY, is_cupy_array
from tnp.capture.libraries.numpy.functionals import is_vectorized, lift_vectorized
from tnp.capture.libraries.numpy.generators import is_generator
from tnp.capture.libraries.numpy.library import NUMPY
from tnp.capture.libraries.numpy.lifting import is_compiled_array
from tnp.capture.objects.array_classes import is_array_class
from tnp.capture.objects.cell_arrays import is_array_of_objects, lift_cells
from tnp.capture.objects.dataclass_fields import is_field
from tnp.capture.objects.foreign import says_another_class
from tnp.capture.objects.immutable_values import is_immutable
from tnp.capture.objects.named_tuples import is_traced_named_tuple
from tnp.capture.objects.scipy_objects import methods_of
from tnp.capture.objects.shadows import is_plain_object
from tnp.capture.objects.text_arrays import is_array_of_texts, lift_texts
from tnp.capture.objects.twins import traced_members
from tnp.capture.rewrite.code_origin import CACHED, is_followed, is_followed_module, is_library_class
from tnp.core import pytree
from tnp.core.symbol import operation_of

if TYPE_CHECKING:
    from tnp.capture.guards.lifting import Inputs
    from tnp.capture.guards.prologue import Source

__all__ = ["CONSTANT_TYPES", "ROWS", "Row", "is_compiled_function", "row_of"]

Policy = Literal["input", "guarded", "foreign"]

#: kinds of values that never change and are told apart by comparing them
CONSTANT_TYPES = (str, bytes, type(None), type(...), np.dtype, enum.Enum, range)
_EXACT_CONSTANTS = frozenset((str, bytes, type(None), type(...), range))
#: kinds of values that never change and are equal to none but themselves
_IDENTITY_TYPES = (
    type, types.FunctionType, types.ModuleType, np.ufunc, type(np.sum), re.Pattern, inspect.Signature, types.GenericAlias, types.UnionType,
    operator.itemgetter, operator.attrgetter, operator.methodcaller, types.MethodDescriptorType, types.WrapperDescriptorType,
    types.ClassMethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType, property,
)  # fmt: skip
#: of a class of which Python makes no objects
_NONE_MADE = 1 << 7
#: functions of Cython's: each module may have a class of its own for them
_COMPILED_FUNCTIONS = ("cython_function_or_method",)
#: of a library's classes, those whose objects are more than their attributes
_CONTAINERS = (Mapping, Sequence, Set, Iterator)
_CALLABLE_PARTS = (types.MethodType, functools.partial)
#: what elements of sets may be for these to be compared
_ELEMENTS = frozenset((str, bytes, int, type(None)))


@dataclass(frozen=True)
class Row:
    """The treatment of a kind of value: ``takes(value)`` says whether a value is of that kind, and ``lift(inputs, value, source)``
    returns its stand-in for the program."""

    what: str
    policy: Policy
    takes: Callable[[Any], bool]
    lift: Callable[[Inputs, Any, Source], Any]


def is_compiled_function(x: Any) -> bool:
    """Whether ``x`` is a function of Cython's, whose methods read the memory of their object without a look at its class."""
    return type(x).__name__ in _COMPILED_FUNCTIONS


def _is_constant(x: Any) -> bool:
    kind = type(x)
    if kind in _EXACT_CONSTANTS or isinstance(x, np.dtype):
        return True
    if isinstance(x, tuple) and kind.__flags__ & _NONE_MADE:  # sys.flags, sys.version_info
        return True
    if isinstance(x, enum.Enum):
        return not _has_special_methods(kind)
    return is_immutable(x)


def _is_builtin_function(x: Any) -> bool:
    """Whether ``x`` is a function in C, or a method in C of what never changes or is followed when it is called."""
    if type(x) not in (types.BuiltinFunctionType, types.MethodWrapperType):
        return False
    owner = x.__self__
    if isinstance(owner, (int, float, complex, np.ndarray, np.generic)) or is_generator(owner):
        return True
    return row_of(owner).policy == "guarded"


#: special methods of a class's class that Python calls by itself
_OF_METACLASSES = (
    "__getitem__", "__len__", "__iter__", "__contains__", "__call__", "__bool__", "__eq__", "__hash__", "__add__", "__or__", "__lt__",
    "__instancecheck__", "__subclasscheck__", "__getattribute__",
)  # fmt: skip


def _calls_python(x: Any) -> bool:
    """Whether a use of a class or of a ufunc calls functions of the user's that no hook sees."""
    if isinstance(x, np.ufunc):
        return x.types == [f"{'O' * x.nin}->{'O' * x.nout}"]
    return isinstance(x, type) and any(is_followed(getattr(type(x), name, None)) for name in _OF_METACLASSES)


def _is_cached_function(x: Any) -> bool:
    """Whether ``x`` remembers what a function of its arguments gave."""
    return type(x) is CACHED and type(getattr(x, "__wrapped__", None)) is types.FunctionType


def _is_code(x: Any) -> bool:
    kind = type(x)
    if operation_of(x) is not None:
        return True
    if _calls_python(x):
        return False
    if _is_cached_function(x):
        return True
    if isinstance(x, _IDENTITY_TYPES) or is_compiled_function(x) or _is_builtin_function(x) or NUMPY.is_part(x):
        return True
    return kind.__module__ == "typing" or str(kind.__module__).partition(".")[0] == "tnp"


def _is_set(x: Any) -> bool:
    if type(x) not in (set, frozenset):
        return False
    return all(type(y) in _ELEMENTS or (isinstance(y, enum.Enum) and _is_constant(y)) or _is_code(y) for y in x)


def _is_more_than_attributes(x: Any) -> bool:
    """Whether an object of a library's class does what is not seen by what is read of it."""
    if isinstance(x, _CONTAINERS) and not isinstance(x, Iterator) and all(map(_is_read_whole, type(x).__mro__)):
        return False
    return isinstance(x, (*_CONTAINERS, np.vectorize)) and is_library_class(type(x))


@functools.lru_cache(1_000)
def _is_read_whole(kind: type) -> bool:
    """Whether a class has its state in attributes, and methods that are followed or do nothing but call others: those of
    :mod:`collections.abc`."""
    if kind is object or kind.__module__ in ("collections", "collections.abc", "typing", "abc"):
        return True
    module = sys.modules.get(kind.__module__)
    return module is not None and is_followed_module(module)


def _holds_constants(kind: type) -> bool:
    """Whether numbers among the attributes of the objects of a class are guarded by value: code without hooks uses them."""
    return is_library_class(kind) and kind.__module__ != "collections"


def _has_special_methods(kind: type) -> bool:
    """Whether Python calls methods of the user's where an operator or a builtin is used on an object of a class."""
    return any(name.startswith("__") for name in traced_members(kind))


def _changes_while_traced(x: Any) -> bool:
    """Whether tracing changes a container: it adds a filter to those of :mod:`warnings`, and may import modules into ``sys.modules``."""
    return x is warnings.filters or x is sys.modules


def _is_container_of_optree(x: Any) -> bool:
    if _changes_while_traced(x) or (isinstance(x, tuple) and _has_special_methods(type(x))):
        return False
    return pytree.is_container(x) and not is_followed(getattr(x, "default_factory", None))


#: the contract, the most frequent kinds first
ROWS: tuple[Row, ...] = (
    Row("Python numbers", "input", lambda x: type(x) in (int, float, complex), lambda i, x, s: i.lift_number(x, s)),
    Row("`True` and `False`", "guarded", lambda x: type(x) is bool, lambda i, x, s: i.lift_bool(x, s)),
    Row("CuPy arrays", "input", is_cupy_array, lambda i, x, s: CUPY.lift(i, x, i.prologue.let(s))),
    Row(
        "NumPy arrays of bool, integer, floating and complex dtypes",
        "input",
        lambda x: type(x) is np.ndarray and is_compiled_array(x),
        lambda i, x, s: NUMPY.lift(i, x, i.prologue.let(s)),
    ),
    Row(
        "NumPy arrays of objects, of 1000 elements at most: their shape is guarded, their elements are captured",
        "input",
        is_array_of_objects,
        lambda i, x, s: lift_cells(i, x, i.prologue.let(s)),
    ),
    Row(
        "NumPy arrays of strings, of 1000 elements at most: their elements, when one is read",
        "guarded",
        is_array_of_texts,
        lambda i, x, s: lift_texts(i, x, i.prologue.let(s)),
    ),
    Row(
        "NumPy scalars of these dtypes",
        "input",
        lambda x: isinstance(x, np.generic) and is_compiled_array(x),
        lambda i, x, s: NUMPY.lift(i, x, s),
    ),
    Row(
        "`np.memmap`, as a plain array",
        "input",
        lambda x: type(x) is np.memmap and is_compiled_array(x),
        lambda i, x, s: NUMPY.lift(i, x, i.prologue.let(s)),
    ),
    Row(
        "arrays of a user's subclass of ndarray: their elements, and each attribute when it is read",
        "input",
        lambda x: is_array_class(type(x)) and is_compiled_array(x),
        lambda i, x, s: i.lift_instance(x, i.prologue.let(s), constant_numbers=_holds_constants(type(x))),
    ),
    Row(
        "lists, tuples, named tuples, dicts and `Counter`: their structure is guarded, their items are captured",
        "input",
        lambda x: (
            (type(x) in (tuple, list, dict, Counter) and not _changes_while_traced(x)) or is_traced_named_tuple(x)
        ),
        lambda i, x, s: i.lift_container(x, s),
    ),
    Row(
        "strings, bytes, `None`, `...`, dtypes, ranges, enumerations, dates, paths, UUIDs",
        "guarded",
        _is_constant,
        lift_constant,
    ),
    Row(
        "NumPy random generators",
        "input",
        is_generator,
        lambda i, x, s: i.lift_object(x, i.prologue.let(s)),
    ),
    Row(
        "jitted modules",
        "input",
        lambda x: getattr(type(x), "__tnp_module__", False),
        lambda i, x, s: i.lift_jitted_module(x, i.prologue.let(s)),
    ),
    Row(
        "functions, classes, modules, ufuncs, compiled patterns, signatures, types of `typing`",
        "guarded",
        _is_code,
        lambda i, x, s: i.functions.lift(x, s),
    ),
    Row(
        "fields of dataclasses",
        "guarded",
        is_field,
        lambda i, x, s: i.guard_identity(x, s),
    ),
    Row(
        "bound methods and partials: each of their parts",
        "input",
        lambda x: type(x) in _CALLABLE_PARTS,
        lambda i, x, s: i.lift_callable(x, s),
    ),
    Row(
        "`np.vectorize` objects: the function that they call; their options are guarded",
        "input",
        is_vectorized,
        lambda i, x, s: lift_vectorized(i, x, i.prologue.let(s)),
    ),
    Row(
        "loggers: called at each call",
        "guarded",
        lambda x: isinstance(x, logging.Logger),
        lambda i, x, s: i.guard_identity(x, s),
    ),
    Row("slices", "input", lambda x: type(x) is slice, lambda i, x, s: i.lift_slice(x, i.prologue.let(s))),
    Row(
        "PyTorch tensors, modules, dtypes, devices and generators",
        "input",
        lambda x: (library := library_of_value(x)) is not None and not library.is_object(x),
        lambda i, x, s: i.lift_of_library(x, s),
    ),
    Row(
        "sets of strings, integers, enumerations, functions and classes",
        "guarded",
        _is_set,
        lambda i, x, s: lift_set(i, x, i.prologue.let(s)),
    ),
    Row(
        "containers that optree flattens (`OrderedDict`, `deque`, classes registered with it)",
        "input",
        _is_container_of_optree,
        lambda i, x, s: i.lift_node(x, i.prologue.let(s)),
    ),
    Row(
        "objects of classes written in Python, and `SimpleNamespace`: each attribute when it is read or assigned",
        "input",
        lambda x: is_plain_object(x) and not says_another_class(x) and not _is_more_than_attributes(x),
        lambda i, x, s: i.lift_instance(
            x, i.prologue.let(s), constant_numbers=_holds_constants(type(x)), methods=methods_of(type(x))
        ),
    ),
    Row("everything else", "foreign", lambda x: True, lambda i, x, s: i.lift_foreign(x, i.prologue.let(s))),
)


def row_of(value: Any) -> Row:
    """The row of the contract that a value falls under."""
    return next(row for row in ROWS if row.takes(value))
