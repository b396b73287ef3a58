"""Stand-ins for arrays of the user's subclasses of ndarray.

An ndarray in the program would compute with its own memory, so a stand-in is none. Its class has the members of the user's class, and
those of :class:`ArrayOfClass` in place of ndarray's. What NumPy makes of such an array is of the class again where NumPy says so: then
the user's ``__array_finalize__`` is traced, once for each call of it that NumPy makes. So is an ``__array_wrap__``, which decides what
becomes of the results of ufuncs and their reductions. What is not defined here is Python's.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tnp.capture import active
from tnp.capture.objects.twins import (
    ClassCache,
    class_attribute,
    class_of,
    is_made_by_statement,
    make_class,
    traced_members,
)
from tnp.capture.rewrite.code_origin import is_followed
from tnp.capture.tracing.traced_values import TracedArray, left_to
from tnp.core import languages
from tnp.core.errors import NeedsEager

__all__ = [
    "ArrayOfClass",
    "computed",
    "dot",
    "elements",
    "has_own",
    "is_array_class",
    "is_array_of_class",
    "made_of",
    "mirror_of",
    "new_array",
    "plain_view",
]

#: members that change what this module defines; a class that has one stays Python's
_REFUSED = frozenset(
    ("__array_ufunc__", "__array_function__", "__array_prepare__", "__array_priority__", "__array__", "__array_interface__", "__array_struct__",
     "__array_namespace__", "__buffer__", "__del__", "__getattribute__", "__getattr__", "__setattr__", "__delattr__",
     "__class__", "__slots__", "__copy__", "__deepcopy__")
)  # fmt: skip
#: members that a class has of its own kind, or that Python calls on the class
_NOT_MIRRORED = frozenset(
    ("__new__", "__dict__", "__weakref__", "__init_subclass__", "__class_getitem__", "__set_name__", "__subclasshook__", "__module__",
     "__qualname__", "__doc__")
)  # fmt: skip


#: flags of an array that another one on the same memory need not have
_FLAGS_OF_OBJECTS = frozenset(("OWNDATA", "O", "WRITEBACKIFCOPY", "X", "NUM"))


def is_array_class(kind: Any) -> bool:
    """Whether ``kind`` is a subclass of ndarray by class statements of the user's, for whose objects there are stand-ins."""
    if type(kind) is not type or not issubclass(kind, np.ndarray) or kind is np.ndarray:
        return False
    own = [c for c in kind.__mro__ if c is not np.ndarray and c is not object]
    is_plain = all(is_made_by_statement(c) and _REFUSED.isdisjoint(vars(c)) for c in own) and kind.__dictoffset__ != 0
    wrap = _wrap_of(kind)
    return is_plain and (wrap is None or _takes_all(wrap))


def _wrap_of(kind: type) -> Any:
    """The ``__array_wrap__`` of the user's that a class has, or ``None``."""
    found = class_attribute(kind, "__array_wrap__")
    return None if found is np.ndarray.__dict__["__array_wrap__"] else found


def _takes_all(wrap: Any) -> bool:
    """Whether an ``__array_wrap__`` takes all three arguments. NumPy warns of one that does not."""
    if type(wrap) is not types.FunctionType or not is_followed(wrap):
        return False
    code = wrap.__code__
    return code.co_argcount >= 4 or (code.co_argcount > 0 and bool(code.co_flags & inspect.CO_VARARGS))


def is_array_of_class(x: Any) -> bool:
    """Whether ``x`` stands for an array of a user's class."""
    return issubclass(type(x), ArrayOfClass)


def has_own(x: Any, name: str) -> bool:
    """Whether the class of an array has a method of its own in place of ndarray's."""
    return any(name in vars(c) for c in class_of(x).__mro__ if c is not np.ndarray and c is not object)


def elements(x: Any) -> TracedArray:
    """The plain array on the memory of an array of a user's class."""
    try:
        found: TracedArray = object.__getattribute__(x, "_tnp_elements")
    except AttributeError:  # of one that the caller has
        found = type(x)._tnp_lifted(x)
        object.__setattr__(x, "_tnp_elements", found)
    return found


def plain_view(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The plain array on the memory of one of any class."""
    return np.ndarray.view(array, np.ndarray)


def made_of(kind: type, array: TracedArray, of: Any) -> Any:
    """A new array of a class, on the memory of a plain one; ``of`` is what NumPy makes it of, or ``None``."""
    inputs = active.current().inputs
    inputs.guard_class(kind, data=True)
    made: Any = object.__new__(_made_classes.get(kind))
    object.__setattr__(made, "_tnp_elements", array)
    inputs.made[id(made)] = made
    finalize = class_attribute(kind, "__array_finalize__")
    if is_followed(finalize):
        active.current().runtime.call(finalize, made, of)
    elif finalize is not np.ndarray.__dict__["__array_finalize__"]:
        raise NeedsEager(f"it makes a {kind.__name__}, whose __array_finalize__ is not traced")
    return made


def new_array(kind: Any, shape: Any, dtype: Any = float, buffer: Any = None, *rest: Any, **kwargs: Any) -> Any:
    """``np.ndarray.__new__(kind, shape, dtype, buffer)``, uninitialised or over the memory of a plain array."""
    if not (is_array_class(kind) or kind is np.ndarray) or rest or kwargs:
        raise NeedsEager("it makes an array over a buffer")
    numpy = active.current().numpy_function
    if buffer is None:
        array = numpy(np.empty, (shape,), {"dtype": dtype})
    else:
        is_plain = (
            type(buffer) is TracedArray and not buffer.scalar and buffer.__class__ is np.ndarray and buffer.contiguous_
        )
        if not is_plain or buffer.dtype != np.dtype(dtype):
            raise NeedsEager("it makes an array over a buffer")
        array = numpy(np.reshape, (buffer, shape), {})
        if array.storage is not buffer.storage or array is buffer:
            raise NeedsEager("it makes an array over a buffer")
    return array if kind is np.ndarray else made_of(kind, array, None)


def computed(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """What a ufunc gives of arrays among which there are some of classes: one of the first class, if that has no ``__array_wrap__``."""
    first, *others = [a for a in args if is_array_of_class(a)]
    kind = class_of(first)
    if any(class_of(x) is not kind and issubclass(class_of(x), kind) for x in others):
        raise NeedsEager("it computes with arrays of a class and of a subclass")
    made = function(*(elements(a) if is_array_of_class(a) else a for a in args))
    return _wrapped(first, made, _Context())


def _wrapped(of: Any, made: Any, context: _Context | None) -> Any:
    """What NumPy gives in place of ``made``, the result of a ufunc or of its reduction, whose operand is ``of``."""
    wrap, array = _wrap_of(class_of(of)), _with_dimensions(made)
    if wrap is None:
        return made_of(class_of(of), array, of)
    return active.current().runtime.call(wrap, of, array, context, array.ndim == 0)


def dot(left: Any, right: Any) -> Any:
    """``np.dot`` of arrays among which there are some of classes: of the left one's class, by no ``__array_wrap__``. A product without
    dimensions is a scalar in the end."""
    plain = tuple(elements(x) if is_array_of_class(x) else x for x in (left, right))
    if any(np.size(x) == 1 for x in plain if type(x) is not TracedArray) or any(
        all(n == 1 for n in x.shape) for x in plain if type(x) is TracedArray
    ):  # NumPy exchanges the two then
        raise NeedsEager("it gives dot an array of one element")
    made = active.current().numpy_function(np.dot, plain, {})
    if not is_array_of_class(left):
        return made
    of_class = made_of(class_of(left), _with_dimensions(made), left)
    return made if made.scalar else of_class


def _mean(x: Any, *args: Any, axis: Any = None) -> Any:
    """``x.mean(axis)``. NumPy divides the sum, as an array of its class in place, so that an ``__array_wrap__`` is called twice."""
    (axis,) = args or (axis,)
    tracer, array, wrap = active.current(), elements(x), _wrap_of(class_of(x))
    if wrap is None:
        return _wrapped(x, array.mean(axis), None)
    if not (axis is None or type(axis) is int) or str(array.dtype) not in ("float32", "float64"):
        raise NeedsEager(f"it takes the mean of a {class_of(x).__name__}, which has an __array_wrap__")
    count = array.size if axis is None else array.shape[axis]
    total = _wrapped(x, array.sum(axis), None)
    if type(total) is TracedArray:
        return total / count
    if class_of(total) is not class_of(x):
        raise NeedsEager(f"it takes the mean of a {class_of(x).__name__}, whose sum is none")
    tracer.in_place(languages.BINARY_OPERATORS["truediv"], elements(total), count)
    return tracer.runtime.call(wrap, total, total, _Context(), False)


class _Context(tuple[Any, ...]):
    """What NumPy tells an ``__array_wrap__`` of the call of the ufunc. The program may pass it on."""

    __slots__ = ()

    def _refused(self, *args: Any) -> Any:
        raise NeedsEager("it looks at the context of a ufunc")

    __getitem__ = __iter__ = __len__ = __bool__ = __contains__ = __eq__ = __hash__ = __reduce_ex__ = _refused


def _same(x: Any, array: TracedArray) -> Any:
    """A new array of the class of ``x``, made of that."""
    return made_of(class_of(x), array, x)


def _with_dimensions(made: Any) -> TracedArray:
    """A result as an array, as NumPy has it where that is of a class."""
    if type(made) is not TracedArray:
        raise NeedsEager("it computes with an array of a class what is no array")
    if not made.scalar:
        return made
    array: TracedArray = active.current().numpy_function(np.array, (made,), {})
    return array


class _Flags:
    """The flags that an array of a class shares with the plain array on its memory."""

    __slots__ = ("_plain",)

    def __init__(self, plain: Any) -> None:
        object.__setattr__(self, "_plain", plain)

    def __getitem__(self, key: Any) -> Any:
        if key in _FLAGS_OF_OBJECTS:
            raise NeedsEager(f"it reads the flag {key} of an array of a class")
        return self._plain[key]

    def __getattr__(self, name: str) -> Any:
        return self[name.upper()] if hasattr(np.empty(0).flags, name) else getattr(self._plain, name)

    def _refused(self, name: Any, value: Any) -> Any:
        raise NeedsEager("it sets a flag of an array of a class")

    __setitem__ = __setattr__ = _refused


class ArrayOfClass:
    """What stand-ins have in place of the members of ndarray.

    It has many methods: those that Python and NumPy call on arrays.
    """

    __slots__ = ("_tnp_elements",)

    shape = property(lambda self: elements(self).shape)
    ndim = property(lambda self: elements(self).ndim)
    size = property(lambda self: elements(self).size)
    dtype = property(lambda self: elements(self).dtype)
    itemsize = property(lambda self: elements(self).itemsize)
    nbytes = property(lambda self: elements(self).nbytes)
    flags = property(lambda self: _Flags(elements(self).flags))

    @property
    def T(self) -> Any:
        return ArrayOfClass.transpose(self)

    def transpose(self, *axes: Any) -> Any:
        """``a.transpose(*axes)``. NumPy calls ``__array_finalize__`` before it exchanges the dimensions."""
        made = _same(self, elements(self)[...])
        object.__setattr__(made, "_tnp_elements", elements(self).transpose(*axes))
        return made

    def view(self, kind: Any = None) -> Any:
        """``a.view(kind)``, of a class."""
        array = elements(self)[...]
        if kind is np.ndarray:
            return array
        if kind is None or (is_array_class(kind) and kind is class_of(self)):
            return _same(self, array)
        if is_array_class(kind):
            return made_of(kind, array, self)
        raise NeedsEager(f"it takes a view of a {class_of(self).__name__}")

    def __array_finalize__(self, of: Any) -> None:
        """What ndarray does: nothing."""

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: Any = False) -> Any:
        """What ndarray does: the array as one of the class."""
        kind = class_of(self)
        if class_of(array) is kind:
            return array
        if type(array) is not TracedArray or array.scalar or array.__class__ is not np.ndarray:
            raise NeedsEager(f"it makes a {kind.__name__} of what is no plain array")
        return made_of(kind, array[...], self)

    def dot(self, other: Any) -> Any:
        return dot(self, other)

    def __getitem__(self, key: Any) -> Any:
        found = elements(self)[elements(key) if is_array_of_class(key) else key]
        return found if found.scalar else _same(self, found)

    def __setitem__(self, key: Any, value: Any) -> None:
        elements(self)[key] = elements(value) if is_array_of_class(value) else value

    def __iter__(self) -> Iterator[Any]:
        array = elements(self)
        if array.ndim == 1 and not has_own(self, "__getitem__"):
            return iter(array)
        return (self[i] for i in range(len(array)))

    def __len__(self) -> int:
        return len(elements(self))

    def __bool__(self) -> bool:
        return bool(elements(self))

    def __float__(self) -> float:
        return float(elements(self))

    def __int__(self) -> int:
        return int(elements(self))

    def __complex__(self) -> complex:
        return complex(elements(self))

    def __index__(self) -> int:
        return elements(self).__index__()

    def __getattr__(self, name: str) -> Any:
        if hasattr(np.ndarray, name):
            raise NeedsEager(f"it reads {name!r} of a {class_of(self).__name__}")
        raise AttributeError(f"'{class_of(self).__name__}' object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name in vars(np.ndarray):
            raise NeedsEager(f"it sets {name!r} of a {class_of(self).__name__}")
        object.__setattr__(self, name, value)

    __hash__: Any = None


def _plainly(name: str) -> Callable[..., Any]:
    """A method that gives no array of the class."""

    def method(self: Any, *args: Any) -> Any:
        return getattr(elements(self), name)(*args)

    method.__name__ = name
    return method


def _of_class(name: str) -> Callable[..., Any]:
    """A method whose result is always an array of the class."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs or any(map(is_array_of_class, args)):
            raise NeedsEager(f"it calls .{name}() of a {class_of(self).__name__} in a way that is not compiled")
        return _same(self, _with_dimensions(getattr(elements(self), name)(*args)))

    method.__name__ = name
    return method


def _reduction(name: str) -> Callable[..., Any]:
    """A method that reduces by a ufunc."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs.keys() - {"axis"} or any(map(is_array_of_class, args)):
            raise NeedsEager(f"it calls .{name}() of a {class_of(self).__name__} in a way that is not compiled")
        if name == "mean":
            return _mean(self, *args, **kwargs)
        return _wrapped(self, getattr(elements(self), name)(*args, **kwargs), None)

    method.__name__ = name
    return method


def _refusing(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise NeedsEager(f"it uses {name} of a {class_of(self).__name__}")

    method.__name__ = name
    return method


for _name in ("item", "tolist", "fill", "__contains__"):
    setattr(ArrayOfClass, _name, _plainly(_name))
for _name in ("copy", "reshape", "ravel", "flatten", "astype"):
    setattr(ArrayOfClass, _name, _of_class(_name))
for _name in ("sum", "prod", "max", "min", "any", "all", "mean"):
    setattr(ArrayOfClass, _name, _reduction(_name))
for _name in (
    "str",
    "repr",
    "format",
    "reduce",
    "reduce_ex",
    "copy",
    "deepcopy",
    "array",
    "array_ufunc",
    "array_function",
    "round",
    "divmod",
    "rdivmod",
):
    setattr(ArrayOfClass, f"__{_name}__", _refusing(f"__{_name}__"))


def _operator(method: str, reflected: bool) -> Callable[[Any, Any], Any]:
    def operate(self: Any, other: Any) -> Any:
        tracer = active.current()
        if not tracer.is_operand(other):
            return left_to(other, elements(self))
        args = (other, self) if reflected else (self, other)
        return computed(lambda *given: tracer.operate(method, *given), args)

    return operate


def _in_place(method: str) -> Callable[[Any, Any], Any]:
    def operate(self: Any, other: Any) -> Any:
        tracer = active.current()
        if not tracer.is_operand(other):
            return left_to(other, elements(self))
        tracer.in_place(method, elements(self), elements(other) if is_array_of_class(other) else other)
        wrap = _wrap_of(class_of(self))
        return self if wrap is None else tracer.runtime.call(wrap, self, self, _Context(), False)

    return operate


def _unary(method: str) -> Callable[[Any], Any]:
    return lambda self: computed(lambda a: active.current().operate(method, a), (self,))


for _dunder, _method in (*languages.BINARY_OPERATORS.items(), *((name, name) for name in languages.COMPARISONS)):
    if _dunder == "divmod":
        continue
    setattr(ArrayOfClass, f"__{_dunder}__", _operator(_method, reflected=False))
    if _dunder not in languages.COMPARISONS:
        setattr(ArrayOfClass, f"__r{_dunder}__", _operator(_method, reflected=True))
        setattr(ArrayOfClass, f"__i{_dunder}__", _in_place(_method))
for _dunder, _method in languages.UNARY_OPERATORS.items():
    setattr(ArrayOfClass, f"__{_dunder}__", _unary(_method))


def _make_mirror(kind: type) -> type:
    made: type = type(
        kind.__name__, (ArrayOfClass,), {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
    )
    for c in reversed(kind.__mro__):
        if c is not np.ndarray and c is not object:
            for name, member in vars(c).items():
                if name not in _NOT_MIRRORED:
                    setattr(made, name, member)  # without calling __set_name__
    return made


_mirrors = ClassCache(_make_mirror)


def mirror_of(kind: type) -> type:
    """A class that is no subclass of ndarray, and has the members of ``kind``, which is one."""
    return _mirrors.get(kind)


def _make_made_class(kind: type) -> type:
    body = {"__slots__": (), "__class__": property(lambda self: kind), **traced_members(kind), "_tnp_twin_of": kind}
    return make_class(mirror_of(kind), body)


#: of arrays that the program makes
_made_classes = ClassCache(_make_made_class)
