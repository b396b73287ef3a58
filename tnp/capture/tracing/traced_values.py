"""Traced values: the objects that user code holds while its program is traced.

A :class:`TracedArray` behaves like the ndarray that it stands for. It has a :class:`Storage`, which is memory of the
program, and a view of the storage. A read gives the storage's current value through the view. A write gives the storage
a new value, which all of its views then see.

A :class:`TracedNumber` stands for a Python number, a :class:`TracedObject` for an object such as a random generator.
"""

from __future__ import annotations

import itertools
import math
import operator
import weakref
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tnp.capture import active as _tracer
from tnp.capture.guards.varying_values import ReadsVarying
from tnp.capture.tracing.strides import ROW_MAJOR, Later, Strides, is_contiguous, row_major, settled
from tnp.core import languages, sizes, symbols
from tnp.core.errors import NeedsEager, NeedsValue, NotOwned
from tnp.core.proxies import NumberProxy, ObjectProxy, TensorProxy
from tnp.core.views import Path, Step, read_only, update

__all__ = [
    "Storage", "TracedArray", "TracedNumber", "TracedObject", "hash_of_number", "is_fitting_mask", "left_to", "serials", "shapes_in",
]  # fmt: skip


serials = itertools.count()


class Storage:
    """Some memory of the program: its current value, and where it came from.

    ``origin`` is the argument's proxy if it is the caller's memory, ``None`` if the program allocated it.
    ``maybe_shared`` lists storages of which tnp cannot tell whether they are the same memory.
    """

    __slots__ = (
        "__weakref__", "chosen_with", "has_detached_view", "has_list", "laid_out", "listed", "lost", "origin", "owner", "reshaped_with",
        "serial", "source", "unowned", "value", "version", "writable", "written",
    )  # fmt: skip

    def __init__(self, value: TensorProxy, *, origin: TensorProxy | None = None, writable: bool = True) -> None:
        self.value = value
        self.origin = origin
        self.writable = writable
        #: counts the values that it has had; never goes back
        self.version = 0
        self.written = False
        #: of ``maybe_shared``, those that branches, loops and lists leave so
        self.chosen_with: list[Storage] = []
        #: Of ``maybe_shared``, those that reshapes leave so. Memory that the program no longer holds is none of them.
        self.reshaped_with: list[weakref.ref[Storage]] = []
        #: whether it is not known what it holds: a loop wrote to it for as long as one of its variables was bound to it
        self.lost = False
        self.source: Any = None
        #: of rows that stand for the arrays of a list: what the list is called
        self.listed = ""
        #: whether it stands for memory of a variable, in a loop to which that is not known to belong
        self.unowned = False
        #: the id of the array that was made with it, whose views have it as their base; ``None`` if that is not known
        self.owner: int | None = None
        #: whether its rows are the items of a list that a loop made
        self.has_list = False
        #: whether there is a tensor on it of which autograd does not know that it is one
        self.has_detached_view = False
        #: the array that was made with it, if its layout in eager may not be the one that the executors choose
        self.laid_out: TracedArray | None = None
        #: tells which of two storages was made first
        self.serial = next(serials)

    def refusal(self) -> BaseException:
        """What a write raises where the memory is not writable."""
        if self.unowned:
            return NotOwned("it writes to an array that a variable is bound to before a loop binds it anew")
        return ReadsVarying(self.listed) if self.listed else read_only(self.value)

    def replace(self, value: TensorProxy, *, was_checked: bool = False) -> None:
        """Gives the memory a new value. ``was_checked``: the write came before all that may share the memory."""
        self.check_known()
        if not self.writable:
            raise self.refusal()
        if self.maybe_shared and not was_checked:
            raise _tracer.current().choices.refusal(self)
        tracer = _tracer.running()
        if tracer is not None and tracer.gradients is not None:
            tracer.gradients.check_write(self, value)
        if tracer is not None and tracer.regions:
            tracer.regions[-1].writes(self)
        self.written = True
        self.set_value(value)

    def check_known(self) -> None:
        """Raises :class:`NeedsEager` if it is not known what the memory holds."""
        if self.lost:
            raise NeedsEager("it uses an array that a loop wrote to under another name, which it bound anew")

    def set_value(self, value: TensorProxy) -> None:
        """Says what the memory holds; arrays that look at it find out when they are read."""
        self.value = value
        self.version += 1

    @property
    def maybe_shared(self) -> list[Storage]:
        """Storages that may be the same memory."""
        return [*self.chosen_with, *(s for found in self.reshaped_with if (s := found()) is not None)]

    @property
    def dirty(self) -> bool:
        """Whether it is the caller's memory and was written."""
        return self.origin is not None and self.written


def _getter(name: str) -> Callable[[Any], Any]:
    return lambda self: self.library.attribute(_tracer.current(), self, name)


def _setter(name: str) -> Callable[[Any, Any], None]:
    return lambda self, value: self.library.set_attribute(_tracer.current(), self, name, value)


class TracedArray:
    """An array of a ``library``, of the program being traced: an ndarray, or (``scalar``) a NumPy scalar, or a tensor.

    It has many methods: those that Python and the libraries call on arrays.
    """

    __slots__ = (
        "__weakref__",
        "_element_type",
        "_proxy",
        "_seen",
        "_strides",
        "library",
        "path",
        "scalar",
        "shape_",
        "storage",
    )
    __array_priority__ = 1000.0

    def __init__(
        self,
        storage: Storage,
        path: Path,
        proxy: TensorProxy,
        strides: Strides,
    ) -> None:
        self.storage = storage
        self.path = path
        self.shape_ = proxy.shape
        self._element_type = proxy.dtype
        self.scalar = proxy.scalar
        self._strides: Any = strides  # or Later
        self._proxy = proxy
        self._seen = storage.version
        self.library = proxy.lang.library

    # Values

    def __tnp_value__(self) -> TensorProxy:
        """The proxy of the array's present value."""
        if self.storage.lost:
            self.storage.check_known()
        if self._seen != self.storage.version:
            with languages.language_context(self._proxy.lang):
                self._proxy = self.path(self.storage.value) if self.path else self.storage.value
            self._seen = self.storage.version
            _tracer.current().looked_up.append(self)
        return self._proxy

    def __tnp_assign__(self, value: Any, at: Step | None = None) -> None:
        """Stores a number or a proxy (of the array's dtype, broadcastable) into the elements, or those at ``at``."""
        path = self.path if at is None else self.path + Path([at])
        current = self.storage.value
        if not self.storage.writable:
            raise self.storage.refusal()
        if self.scalar:
            raise read_only(current)
        with languages.language_context(current.lang):
            new = update(current, value, path) if path else update(current, value)
        self.storage.replace(new)

    @property  # type: ignore[misc]  # typeshed declares an attribute, and a property overrides it
    def __class__(self) -> type:
        known: type = self.library.array_class(self)
        return known

    # Attributes and methods belong to the library

    def __getattr__(self, name: str) -> Any:
        return self.library.attribute(_tracer.current(), self, name)

    @property
    def strides_(self) -> Strides:
        """Strides in elements; ``None`` if they are not known."""
        if type(self._strides) is Later:
            settled(self)
        return row_major(self.shape_) if self._strides is ROW_MAJOR else self._strides

    @property
    def contiguous_(self) -> bool:
        """Whether the array is surely C-contiguous."""
        return self._strides is ROW_MAJOR or is_contiguous(self.shape_, self.strides_)

    def _get_shape(self) -> Any:
        return self.library.shape(self)

    shape = property(_get_shape, _setter("shape"))
    real = property(_getter("real"), _setter("real"))
    imag = property(_getter("imag"), _setter("imag"))
    flat = property(_getter("flat"), _setter("flat"))
    data = property(_getter("data"), _setter("data"))
    grad = property(_getter("grad"), _setter("grad"))
    requires_grad = property(_getter("requires_grad"), _setter("requires_grad"))
    names = property(_getter("names"), _setter("names"))
    #: what torch._dynamo.mark_static_address sets, as caches of models do with theirs
    _dynamo_static_input_type = property(_getter("_dynamo_static_input_type"), _setter("_dynamo_static_input_type"))

    @property
    def ndim(self) -> int:
        return len(self.shape_)

    def _get_dtype(self) -> Any:
        return self.library.dtype(self)

    dtype = property(_get_dtype, _setter("dtype"))
    strides = property(_getter("strides"), _setter("strides"))

    @property
    def size(self) -> Any:
        return self.library.size(self)

    def __len__(self) -> int:
        if not self.shape_:
            raise TypeError("len() of unsized object")
        return operator.index(self.shape_[0])

    def __iter__(self) -> Iterator[Any]:
        if not self.shape_:
            raise TypeError("iteration over a 0-d array")
        count = len(self)
        if count > _MOST_ROWS:  # a loop of that many iterations would not be written out either
            raise NeedsEager(f"it takes {count:,} rows out of an array, one by one")
        return (self[i] for i in range(count))  # scalars are read when it comes to them

    def __getitem__(self, key: Any) -> Any:
        return self.library.getitem(_tracer.current(), self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.library.setitem(_tracer.current(), self, key, value)

    # What Python may ask of an array's value

    def _asked(self, what: str) -> Any:
        """The value of the one element, as a Python number; the trace is for that value then."""
        n = sizes.product(self.shape_)
        if type(n) is not int or n != 1:
            raise self._needs_value(what)
        return _tracer.current().specializer.value(self.__tnp_value__(), what)

    def known_scalar(self, what: str = "Python") -> Any:
        """What the library has in place of a 0-d array, with the value that the trace is for."""
        return self.library.known_scalar(self, what)

    def _needs_value(self, what: str) -> NeedsValue:
        return NeedsValue(f"{what} needs the value of {self._proxy.name}, which is known only when the program runs")

    def __bool__(self) -> bool:
        self.library.check_truth(self)
        return bool((self if self._element_type.kind == "b" else operator.ne(self, 0))._asked("a condition"))

    def _single(self, what: str) -> Any:
        """As :meth:`_asked`, of what Python may take for a number."""
        if not self.library.is_single(self):
            raise self._needs_value(what)
        return self._asked(what)

    def _real(self, what: str) -> Any:
        if self._element_type.kind == "c":
            raise NeedsEager(f"it takes {what} of a complex number, of which NumPy warns")
        return self._single(what)

    def __float__(self) -> float:
        return float(self._real("float()"))

    def __int__(self) -> int:
        return int(self._real("int()"))

    def __complex__(self) -> complex:
        return complex(self._single("complex()"))

    def __index__(self) -> int:
        if not self.library.is_single(self) or self._element_type.kind not in "iu":
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        known = _tracer.current().known_scalar(self)
        return int(self._asked("an index") if known is None else known)

    def __format__(self, spec: str) -> str:
        return format(self.known_scalar("formatting"), spec)

    def __str__(self) -> str:
        return str(self.known_scalar("str()"))

    def __repr__(self) -> str:
        if _tracer.running() is not None:  # the program asks: what it gets is a text of its own
            return repr(self.known_scalar("repr()"))
        kind = "scalar" if self.scalar else "array"
        return f'<traced {kind} {self._proxy.name}: "{self._proxy.type_string()}">'

    def __hash__(self) -> int:
        return int(self.library.hash_of(self))

    def __contains__(self, x: Any) -> bool:
        return bool((self == x).any())

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise self._needs_value("a function that tnp does not trace")

    def __copy__(self) -> Any:
        return self.library.attribute(_tracer.current(), self, "__copy__")()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.library.attribute(_tracer.current(), self, "__deepcopy__")()

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise self._needs_value("pickling")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return self.library.ufunc(_tracer.current(), ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return _tracer.current().numpy_function(func, args, kwargs)

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _tracer.current().library_function(function, args, kwargs or {})


def hash_of_number(known: Any) -> int:
    """The hash of a number or a scalar that a trace is for. Raises :class:`NeedsEager` for a NaN, whose hash is its object's."""
    if known != known:
        raise NeedsEager("it asks for the hash of a NaN, which depends on the object")
    return hash(known)


def is_fitting_mask(a: TracedArray, key: Any) -> bool:
    """Whether a subscript is a mask of the shape of the array, or of its first dimensions: no element is out of bounds."""
    if type(key) is not TracedArray or key._element_type.kind != "b" or not 0 < len(key.shape_) <= len(a.shape_):
        return False
    return sizes.shapes_equal(key.shape_, a.shape_[: len(key.shape_)]) is True


class TracedNumber:
    """A Python number of the program being traced: an argument, or arithmetic on arguments."""

    #: ``row``: of an element of an array that is looked up when it is used: the array, and where it is
    __slots__ = ("proxy", "row")
    __array_priority__ = 999.0

    def __init__(self, proxy: NumberProxy) -> None:
        self.proxy = proxy

    if TYPE_CHECKING:  # the comparisons are made by a loop, which a type checker does not see
        row: tuple[TracedArray, int]

        def __eq__(self, other: object) -> Any: ...

    def __tnp_value__(self) -> NumberProxy:
        return self.proxy

    @property  # type: ignore[misc]  # typeshed declares an attribute, and a property overrides it
    def __class__(self) -> type:
        return self.proxy.python_type

    def _known(self) -> Any:
        return self.proxy.known()

    def __bool__(self) -> bool:
        return bool(self != 0 if self.proxy.python_type is float and not symbols.is_symbol(self.proxy) else self.proxy)

    def __index__(self) -> int:
        return operator.index(self.proxy)

    def __int__(self) -> int:
        return int(self._known())

    def __float__(self) -> float:
        return float(self._known())

    def __complex__(self) -> complex:
        return complex(self._known())

    def __hash__(self) -> int:
        return hash_of_number(self._known())

    def __format__(self, spec: str) -> str:
        return format(self._known(), spec)

    def __str__(self) -> str:
        return str(self._known())

    def __repr__(self) -> str:
        if _tracer.running() is None:  # in the message of an error that tracing raised
            return f"<traced {self.proxy.python_type.__name__} {self.proxy.name}>"
        return repr(self._known())

    def __round__(self, ndigits: int | None = None) -> Any:
        return round(self._known(), ndigits) if ndigits is not None else round(self._known())

    def __deepcopy__(self, memo: Any) -> Any:
        return self  # a number does not change

    def __getattr__(self, name: str) -> Any:
        if name == "proxy":
            array, i = self.row
            self.proxy = array[i].item().proxy
            _tracer.current().looked_up.append(self)
            return self.proxy
        if name == "row":
            raise AttributeError(name)
        kind = self.proxy.python_type
        if name in ("real", "imag"):
            if kind is complex:
                return getattr(np.positive(self), name).item()
            return operator.pos(self) if name == "real" else kind(0) + 0
        if name == "is_integer" and kind is float:
            return lambda: operator.mod(self, 1) == 0
        if name in SIZE_METHODS and symbols.is_symbol(self.proxy):
            return partial(SIZE_METHODS[name], self)
        if not hasattr(kind, name):  # of whatever value
            raise AttributeError(f"'{kind.__name__}' object has no attribute {name!r}")
        return getattr(self._known(), name)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise NeedsValue(f"a function that tnp does not trace makes an array of the number {self.proxy.name}")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return _tracer.current().ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return _tracer.current().numpy_function(function, args, kwargs)


#: methods of integers that are sizes, by name
SIZE_METHODS: dict[str, Callable[[TracedNumber], Any]] = {}


class TracedSize(tuple[Any, ...]):
    """A shape of a library's own class of shapes, ``torch.Size``, with lengths that are symbols."""

    kind: type

    @classmethod
    def of(cls, lengths: Iterable[Any], kind: type) -> TracedSize:
        made = cls(lengths)
        made.kind = kind
        return made

    @property  # type: ignore[misc]  # typeshed declares an attribute, and a property overrides it
    def __class__(self) -> type:
        return self.kind

    def known(self) -> Any:
        """The shape in the present call, which the program depends on from now on."""
        return self.kind(map(operator.index, self))

    def numel(self) -> Any:
        return math.prod(self)

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        return TracedSize.of(found, self.kind) if isinstance(key, slice) else found

    def __add__(self, other: Any) -> Any:
        return TracedSize.of(super().__add__(tuple(other)), self.kind)

    def __mul__(self, times: Any) -> Any:
        return TracedSize.of(super().__mul__(times), self.kind)

    __rmul__ = __mul__

    def __hash__(self) -> int:
        return hash(self.known())

    def __repr__(self) -> str:
        return repr(self.known())


class TracedObject:
    """An object that the program passes along and calls methods of: a random generator."""

    __slots__ = ("example", "proxy")

    def __init__(self, proxy: ObjectProxy, example: Any) -> None:
        self.proxy = proxy
        self.example = example

    def __tnp_value__(self) -> ObjectProxy:
        return self.proxy

    @property  # type: ignore[misc]  # typeshed declares an attribute, and a property overrides it
    def __class__(self) -> type:
        return self.proxy.python_type

    def __getattr__(self, name: str) -> Any:
        return _tracer.current().object_method(self, name)

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise NeedsEager(f"it looks into a {self.proxy.python_type.__name__}")

    __repr__ = __str__ = __format__ = __reduce__ = __reduce_ex__ = __copy__ = __deepcopy__ = _refuse


#: rows that Python code may take out of an array where no loop is one operation
_MOST_ROWS = 10_000
_PYTHON_NUMBERS = (bool, int, float, complex)
_MISSING = object()
#: comparisons that take ``None``: NumPy's arrays by element, everything else as a whole
_WITH_NONE = ("eq", "ne")


def _array_operator(method: str, reflected: bool) -> Callable[[Any, Any], Any]:
    def operate(self: TracedArray, other: Any) -> Any:
        tracer = _tracer.current()
        if not tracer.is_operand(other):
            if other is not None or method not in _WITH_NONE:
                return left_to(other, self)
            if self.scalar or self.library.language.name == "torch":
                return method == "ne"
        return tracer.operate(method, *((other, self) if reflected else (self, other)))

    return operate


def left_to(other: Any, array: TracedArray) -> Any:
    """``NotImplemented`` where NumPy leaves an operator to ``other``, which is no operand of arrays. Raises :class:`NeedsEager` where it
    takes it for an object, with which it computes element by element."""
    kind = type(other)
    own = getattr(kind, "__array_ufunc__", _MISSING)
    if own is None or (own is _MISSING and not array.scalar and getattr(kind, "__array_priority__", 0) > 0):
        return NotImplemented
    raise NeedsEager(f"an operator takes an array and a {kind.__name__}")


def _in_place_operator(method: str) -> Callable[[Any, Any], Any]:
    def operate(self: TracedArray, other: Any) -> Any:
        return _tracer.current().in_place(method, self, other)

    return operate


def _number_operator(method: str, reflected: bool, python: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def operate(self: TracedNumber, other: Any) -> Any:
        if type(other) in _PYTHON_NUMBERS or type(other) is TracedNumber or isinstance(other, np.generic):
            return _tracer.current().operate(method, *((other, self) if reflected else (self, other)))
        if type(other) is not TracedArray and isinstance(other, _PYTHON_NUMBERS):
            # of a class with operators of its own
            return python(other, self._known()) if reflected else python(self._known(), other)
        if method == "mul" and type(other) is list and self.proxy.python_type is int:
            return _tracer.current().repeated(other, self)
        return NotImplemented

    return operate


def _unary_operator(method: str) -> Callable[[Any], Any]:
    def operate(self: Any) -> Any:
        return _tracer.current().operate(method, self)

    return operate


for _dunder, _method in (*languages.BINARY_OPERATORS.items(), *((name, name) for name in languages.COMPARISONS)):
    _python: Any = getattr(operator, f"__{_dunder}__", divmod)
    setattr(TracedArray, f"__{_dunder}__", _array_operator(_method, reflected=False))
    setattr(TracedNumber, f"__{_dunder}__", _number_operator(_method, False, _python))
    if _dunder not in languages.COMPARISONS:
        setattr(TracedArray, f"__r{_dunder}__", _array_operator(_method, reflected=True))
        setattr(TracedNumber, f"__r{_dunder}__", _number_operator(_method, True, _python))
for _class in (TracedArray, TracedNumber):
    for _dunder, _method in languages.UNARY_OPERATORS.items():
        setattr(_class, f"__{_dunder}__", _unary_operator(_method))
for _dunder, _method in languages.BINARY_OPERATORS.items():
    if _dunder != "divmod":
        setattr(TracedArray, f"__i{_dunder}__", _in_place_operator(_method))


def shapes_in(x: Any) -> list[tuple[Any, ...]]:
    """The shapes of the arrays in nested lists and tuples."""
    if type(x) is TracedArray:
        return [x.shape_]
    return [shape for y in x for shape in shapes_in(y)] if isinstance(x, (tuple, list)) else []
