"""Proxies: stand-ins for run-time values while a program is traced.

They are immutable SSA values: an operation creates new ones and changes none. User code holds the traced values of
:mod:`tnp.capture.tracing.traced_values`, which can be written to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from tnp.core import devices, languages, sizes
from tnp.core.context import current_trace
from tnp.core.devices import Device
from tnp.core.dtypes import DType
from tnp.core.errors import NeedsEager, NeedsValue
from tnp.core.metadata import Metadata
from tnp.core.sizes import Shape

if TYPE_CHECKING:
    from tnp.core.intervals import Linear
    from tnp.core.languages import Language
    from tnp.core.symbols import Relations

__all__ = ["ASK", "Number", "NumberProxy", "ObjectProxy", "Proxy", "TensorProxy", "is_number", "make_name", "pyval"]

#: how to specialize the trace on a run-time number: while it is captured
ASK: Metadata[Callable[[NumberProxy], bool | int | float | complex] | None] = Metadata(lambda: None, inherited=False)


class Proxy:
    """A named value of a trace."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def type_string(self) -> str:
        """What a trace prints as the value's type."""
        return "object"

    def __repr__(self) -> str:
        return f'<{type(self).__name__} {self.name}: "{self.type_string()}">'


class ObjectProxy(Proxy):
    """A Python object that operations pass along without looking inside, such as a random generator."""

    __slots__ = ("python_type",)

    def __init__(self, name: str | None, python_type: type) -> None:
        super().__init__(make_name("obj") if name is None else name)
        self.python_type = python_type

    def type_string(self) -> str:
        return self.python_type.__name__


class NumberProxy(Proxy):
    """A Python number, of the class ``python_type`` (int, float, bool, complex); a ``name`` is made up if it is ``None``.

    >>> from tnp.extend import NumberProxy
    >>> NumberProxy("n", int, 3)
    <NumberProxy n: "int">

    ``value`` is the number in the call being traced where it is known (an argument, or arithmetic on arguments),
    else ``None``. ``low`` and ``bound`` are the least and the largest value that an integer can have, as far as they are known
    (a size always has a least), and ``form`` how it is made of other integers: see :mod:`tnp.core.intervals`. A number that is
    computed of symbolic sizes has their ``relations``: see :class:`tnp.core.symbols.Relations`.
    """

    __slots__ = (
        "bound", "form", "is_of_float", "low", "most", "origin", "python_type", "quotient_of", "relations", "text", "value",
    )  # fmt: skip

    def __init__(
        self,
        name: str | None,
        python_type: type,
        value: bool | int | float | complex | None = None,
        bound: int | None = None,
        low: int | None = None,
    ) -> None:
        super().__init__(make_name("n") if name is None else name)
        self.python_type = python_type
        self.value = value
        self.bound = bound
        self.low = low
        self.form: Linear | None = None
        #: ``(k, form)`` where ``k`` times the number is never more than the form, an index of a loop less than the length
        self.most: tuple[int, Linear] | None = None
        #: ``(k, form)`` of the quotient ``form // k``
        self.quotient_of: tuple[int, Linear] | None = None
        #: whether an integer is computed of a float: it is another one in most calls
        self.is_of_float = False
        self.relations: Relations | None = None
        #: the expression of a number with relations, over the prologue's names; and the operation and its arguments, if it is computed
        self.text = ""
        self.origin: tuple[str, tuple[Any, ...]] | None = None

    def type_string(self) -> str:
        return self.python_type.__name__

    def __str__(self) -> str:
        """What messages of errors say: the value in the call being traced, where it is known."""
        return repr(self) if self.value is None else str(self.value)

    def without_value(self) -> NumberProxy:
        """The same number without its value, as if the trace did not know it."""
        made = NumberProxy(self.name, self.python_type, None, self.bound, self.low)
        made.form, made.most, made.quotient_of = self.form, self.most, self.quotient_of
        return made

    def known(self) -> bool | int | float | complex:
        """The value, on which the trace then depends (a guard compares it at each call, or the trace specializes on it).

        Raises :class:`NeedsValue` if it is known only at run time, and the trace cannot specialize on it.
        """
        trace = current_trace()
        is_found = self.relations is not None and self.relations.finds(self)
        if self.relations is not None and is_found and self.python_type is bool:
            holds = self.relations.holds(self)
            if holds is not None:
                return holds
        elif self.relations is not None and not is_found:
            self.relations.fix(self)
        if self.value is None or is_found:
            ask = None if trace is None else ASK.of(trace)
            if ask is not None:
                return ask(self)
            raise NeedsValue(f"the number {self.name} is known only when the program runs")
        if trace is not None:
            trace.depend_on_value(self)
        return self.value

    def __bool__(self) -> bool:
        if self.relations is not None and self.python_type is int:
            return not self.relations.equal(self, 0)
        return bool(self.known())

    def __index__(self) -> int:
        if self.python_type not in (int, bool):
            raise TypeError(f"'{self.python_type.__name__}' object cannot be interpreted as an integer")
        return int(self.known())  # type: ignore[arg-type]

    def __int__(self) -> int:
        return int(self.known())  # type: ignore[arg-type]

    def __float__(self) -> float:
        return float(self.known())  # type: ignore[arg-type]

    def __complex__(self) -> complex:
        return complex(self.known())

    def __hash__(self) -> int:
        return hash(self.name)

    if TYPE_CHECKING:  # the operators below are made by a loop, which a type checker does not see

        def __add__(self, other: Any) -> Any: ...
        def __radd__(self, other: Any) -> Any: ...
        def __sub__(self, other: Any) -> Any: ...
        def __rsub__(self, other: Any) -> Any: ...
        def __mul__(self, other: Any) -> Any: ...
        def __rmod__(self, other: Any) -> Any: ...
        def __floordiv__(self, other: Any) -> Any: ...
        def __neg__(self) -> Any: ...
        def __lt__(self, other: Any) -> Any: ...
        def __le__(self, other: Any) -> Any: ...
        def __gt__(self, other: Any) -> Any: ...
        def __ge__(self, other: Any) -> Any: ...


Number: TypeAlias = "bool | int | float | complex | NumberProxy"


def is_number(x: object) -> bool:
    """Whether ``x`` is a Python number (exactly: NumPy's scalars are not) or stands for one."""
    return type(x) in _PYTHON_NUMBERS or isinstance(x, NumberProxy)


_PYTHON_NUMBERS = frozenset((bool, int, float, complex))


def pyval(x: Any) -> Any:
    """A number's Python value; a proxy's becomes a guard, see :meth:`NumberProxy.known`."""
    return x.known() if isinstance(x, NumberProxy) else x


def _what_is_missing(shape: object, dtype: object) -> str:
    if shape is None or dtype is None:
        return "a TensorProxy needs a shape and a dtype, or like="
    return f"a TensorProxy's dtype is one of tnp's (tnp.extend.dtypes.float32, a.dtype), not {dtype!r}"


class TensorProxy(Proxy):
    """An array: shape, dtype, device, and the language that its methods belong to.

    ``scalar`` marks a NumPy scalar (``x[0]``, ``x.sum()``): 0-d, immutable, and returned to the user as
    ``np.generic`` rather than as a 0-d array.

    ``TensorProxy(like=a, shape=…)`` takes from ``a`` what is not given of ``shape`` (integers), ``dtype`` and ``device`` (tnp's own,
    ``tnp.extend.dtypes.float32``). A ``name`` is made up where none is given; ``lang`` is by default that of the operation being traced.

    Raises ``TypeError`` without a shape or a dtype, for a shape that is no tuple, and for a dtype that is not one of tnp's;
    :class:`NeedsEager` for a shape of more elements than NumPy counts.

    >>> from tnp.extend import TensorProxy, dtypes
    >>> a = TensorProxy("a", shape=(2, 3), dtype=dtypes.float32)
    >>> TensorProxy("b", like=a, shape=(2,))
    <TensorProxy b: "cpu f32[2]">
    """

    __slots__ = ("device", "dtype", "lang", "scalar", "shape")

    def __init__(
        self,
        name: str | None = None,
        *,
        like: TensorProxy | None = None,
        shape: Shape | list[int] | None = None,
        dtype: DType | None = None,
        device: Device | None = None,
        lang: Language | None = None,
        scalar: bool = False,
    ) -> None:
        super().__init__(make_name("t") if name is None else name)
        if like is not None:
            shape = like.shape if shape is None else shape
            dtype = like.dtype if dtype is None else dtype
            device = like.device if device is None else device
        if shape is None or type(dtype) is not DType:
            raise TypeError(_what_is_missing(shape, dtype))
        if isinstance(shape, int):
            raise TypeError(f"a TensorProxy's shape is a tuple of integers, not {shape}")
        if sizes.is_too_large(shape):
            raise NeedsEager(f"it makes an array of shape {tuple(shape)}, which has too many elements")
        self.shape: Shape = tuple(shape)
        self.dtype: DType = dtype
        self.device: Device = devices.cpu if device is None else device
        self.lang: Language = languages.current() if lang is None else lang
        self.scalar = scalar

    def renamed(self, name: str) -> TensorProxy:
        """An array of the same kind under another name."""
        made = object.__new__(TensorProxy)
        made.name = name
        made.shape, made.dtype, made.device = self.shape, self.dtype, self.device
        made.lang, made.scalar = self.lang, self.scalar
        return made

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def numel(self) -> sizes.Dim:
        """The number of elements: an int, or a size."""
        return sizes.product(self.shape)

    def type_string(self) -> str:
        dims = ", ".join(str(d) if type(d) is int else d.name for d in self.shape)  # type: ignore[union-attr]
        return f"{self.device} {self.dtype.shortname}[{dims}]"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        prop = self.lang.properties.get(name)
        if prop is not None:
            return prop(self)
        method = self.lang.method(name)
        return lambda *args, **kwargs: method(self, *args, **kwargs)

    def __getitem__(self, key: Any) -> Any:
        return self.lang.method("getitem")(self, key)

    def __bool__(self) -> bool:
        raise NeedsValue(f"the truth of {self.name} is known only when the program runs")

    def __hash__(self) -> int:
        return hash(self.name)

    if TYPE_CHECKING:

        def __add__(self, other: Any) -> Any: ...
        def __sub__(self, other: Any) -> Any: ...
        def __mul__(self, other: Any) -> Any: ...
        def __truediv__(self, other: Any) -> Any: ...
        def __neg__(self) -> Any: ...
        def __lt__(self, other: Any) -> Any: ...
        def __gt__(self, other: Any) -> Any: ...


def make_name(prefix: str) -> str:
    """A name that the current trace has not used. Outside a trace the prefix itself."""
    trace = current_trace()
    return prefix if trace is None else trace.make_name(prefix)


def _language_of(a: object, b: object) -> Language:
    found = languages.core
    for x in (a, b):
        if isinstance(x, TensorProxy) and x.lang.rank >= found.rank:
            found = x.lang
    return found


def _binary(method: str, reflected: bool) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        if not (isinstance(other, Proxy) or type(other) in _PYTHON_NUMBERS or hasattr(other, "dtype")):
            return NotImplemented
        a, b = (other, self) if reflected else (self, other)
        return _language_of(a, b).method(method)(a, b)

    return operator


def _unary(method: str) -> Callable[[Any], Any]:
    def operator(self: Any) -> Any:
        return _language_of(self, None).method(method)(self)

    return operator


for _class in (NumberProxy, TensorProxy):
    for _dunder, _method in languages.BINARY_OPERATORS.items():
        setattr(_class, f"__{_dunder}__", _binary(_method, reflected=False))
        setattr(_class, f"__r{_dunder}__", _binary(_method, reflected=True))
    for _dunder in languages.COMPARISONS:
        setattr(_class, f"__{_dunder}__", _binary(_dunder, reflected=False))
    for _dunder, _method in languages.UNARY_OPERATORS.items():
        setattr(_class, f"__{_dunder}__", _unary(_method))
