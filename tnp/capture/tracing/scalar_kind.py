"""Values that are a Python number or a NumPy scalar, depending on run-time values.

``s = 0.0`` and then ``s += x[i]`` in a branch; ``max(x[i], 0.0)``. The two kinds are equal in value and differ in
promotion beside a float32 array, division by zero, and printing. So such a value is carried with a flag. Operations
that give the same result for both kinds use it directly. Any other use specializes the program on the kind.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tnp.capture import active
from tnp.capture.libraries.numpy.operations import scalar_of, scalar_or_number, select
from tnp.capture.objects.array_classes import elements, has_own, is_array_of_class
from tnp.capture.objects.row_list import ListStandIn
from tnp.capture.tracing.optional_values import TracedOptional
from tnp.capture.tracing.traced_values import TracedArray, TracedNumber
from tnp.core import intervals, languages, prims
from tnp.core.errors import NeedsEager, NeedsValue

__all__ = [
    "Kinds",
    "TracedEither",
    "as_operands",
    "condition_of",
    "either",
    "items_stored_in",
    "kinds_of_both",
    "larger_or_smaller",
    "operate",
]

#: the dtype of the NumPy scalar that a value may be, and the type of the Python number
Kinds = tuple[Any, type]

#: Python integers up to here are float64 values
_EXACT = 2**53
_NUMBERS = (bool, int, float)
_COMPARISONS = frozenset(languages.COMPARISONS)
_ARITHMETIC = frozenset(("add", "sub", "mul"))


class TracedEither:
    """A value of the program that is a NumPy scalar where ``flag``, and otherwise a number of ``python_type`` equal to it.

    ``scalar`` is the value as a NumPy scalar; ``flag`` a bool or a traced number.
    """

    __slots__ = ("flag", "python_type", "scalar")
    __array_priority__ = 1001.0

    def __init__(self, scalar: TracedArray, flag: Any, python_type: type) -> None:
        self.scalar = scalar
        self.flag = flag
        self.python_type = python_type

    @property
    def kinds(self) -> Kinds:
        return self.scalar.dtype, self.python_type

    def output(self) -> Any:
        """What the program returns for it."""
        flag = self.flag.proxy if type(self.flag) is TracedNumber else self.flag
        return scalar_or_number(self.scalar.__tnp_value__(), flag, self.python_type)

    def beside(self, *dtypes: Any) -> Any:
        """The value as an operand beside arrays of those dtypes: as what it is in this call, if its kind matters there."""
        return self.scalar if all(_promotes_alike(self.kinds, d) for d in dtypes) else self.settled()

    def stored_in(self, a: TracedArray) -> Any:
        """The value as what an assignment into ``a`` stores."""
        return self.scalar if np.can_cast(self.scalar.dtype, a.dtype, "same_kind") else self.settled()

    def settled(self) -> Any:
        """The scalar or the number that the value is in this call, which the trace then is for.

        Raises :class:`NeedsEager` if the program cannot specialize on it.
        """
        try:
            is_scalar = bool(self.flag)
        except NeedsValue:
            raise self.matters() from None
        if is_scalar:
            return self.scalar
        tracer = active.current()
        number = tracer.call(prims.item, (self.scalar,), {})
        if number.proxy.python_type is self.python_type:
            return number
        return tracer.call(prims.convert_number, (number, self.python_type), {})

    def matters(self) -> NeedsEager:
        name = self.python_type.__name__
        return NeedsEager(
            f"it matters whether a value is a {name} or a NumPy scalar, which is known when the program runs"
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.settled(), name)

    def __bool__(self) -> bool:
        return bool(self.scalar)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return np.asarray(self.settled(), *args, **kwargs)

    def __float__(self) -> float:
        return float(self.scalar)

    def __int__(self) -> int:
        return int(self.scalar)

    def __complex__(self) -> complex:
        return complex(self.scalar)

    def __index__(self) -> int:
        return operator.index(self.settled())

    def __hash__(self) -> int:
        return hash(self.scalar)

    def __str__(self) -> str:
        return str(self.settled())

    def __format__(self, spec: str) -> str:
        return format(self.settled(), spec)

    def __round__(self, *digits: Any) -> Any:
        return active.current().runtime.call(round, self.settled(), *digits)

    def __iter__(self) -> Any:
        return iter(self.settled())

    def __len__(self) -> int:
        return len(self.settled())

    def __getitem__(self, key: Any) -> Any:
        return self.settled()[key]

    def __repr__(self) -> str:
        if active.running() is not None:  # the program asks: what it gets is a text of its own
            return repr(self.settled())
        return f"<traced {self.python_type.__name__} or {self.scalar.dtype.name}>"

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return active.current().ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return active.current().numpy_function(function, args, kwargs)


def _promotes_alike(kinds: Kinds, dtype: Any) -> bool:
    scalar, python_type = kinds
    return bool(np.result_type(python_type(1), dtype) == np.result_type(scalar, dtype))


def condition_of(x: Any) -> Any:
    """``x``, of which only the truth matters, as a value of one kind."""
    if isinstance(x, ListStandIn):
        return x.is_filled()
    if type(x) is TracedOptional:
        return condition_of(x.truth())
    if is_array_of_class(x) and not has_own(x, "__bool__"):
        return elements(x)
    return x.scalar if type(x) is TracedEither else x


# Making them


def kinds_of_both(x: Any, y: Any) -> Kinds | None:
    """The kinds of a value that is ``x`` or ``y``; ``None`` if no value is both."""
    found = [_kinds_of(v) for v in (x, y)]
    scalars = {d for d, _ in found if d is not None}
    types = {t for _, t in found if t is not None}
    if len(scalars) != 1 or len(types) != 1:
        return None
    kinds = scalars.pop(), types.pop()
    return kinds if _fits(x, kinds) and _fits(y, kinds) else None


def _kinds_of(x: Any) -> tuple[Any, type | None]:
    if type(x) is TracedEither:
        return x.kinds
    if type(x) is TracedArray and x.scalar:
        return x.dtype, None
    if isinstance(x, np.generic):
        return x.dtype, None
    python_type = x.proxy.python_type if type(x) is TracedNumber else type(x)
    return None, python_type if python_type in _NUMBERS else None


def _fits(x: Any, kinds: Kinds) -> bool:
    """Whether ``x`` is a value of these kinds, one of which it is."""
    scalar, python_type = kinds
    own_scalar, own_type = _kinds_of(x)
    if own_scalar is None and own_type is None:
        return False
    if python_type not in _PYTHON_TYPES.get(scalar.name, ()):
        return False
    if own_type is not int or own_scalar is not None:
        return (own_scalar is None or own_scalar == scalar) and (own_type is None or own_type is python_type)
    if python_type is not int:  # a 1 is no 1.0
        return False
    low, high = intervals.bounds(x.proxy if type(x) is TracedNumber else x)
    limit = _EXACT if scalar.kind == "f" else 2**63 - 1
    return low is not None and high is not None and -limit <= low <= high <= limit


#: by a scalar's dtype, the types of Python numbers whose values it has
_PYTHON_TYPES = {"float64": (float, int), "int64": (int,), "bool": (bool,)}


def either(x: Any, kinds: Kinds) -> TracedEither | None:
    """``x`` as a value of these kinds; ``None`` if it cannot be one."""
    if type(x) is TracedEither:
        return x if x.kinds == kinds else None
    if not _fits(x, kinds):
        return None
    if type(x) is TracedArray:
        return TracedEither(x, True, kinds[1])
    return TracedEither(scalar_of(kinds[0].type, x), isinstance(x, np.generic), kinds[1])


def larger_or_smaller(better: TracedArray, x: Any, best: Any) -> TracedEither | None:
    """``x`` where ``better``, else ``best``, one of them a number and the other a scalar; ``None`` if there is no such value."""
    kinds = kinds_of_both(x, best)
    if kinds is None or any(type(v) is TracedEither for v in (x, best)):
        return None
    tracer = active.current()
    flag = tracer.call(prims.item, (better,), {})
    if not isinstance(x, (TracedArray, np.generic)):
        flag = TracedNumber(languages.core.method("logical_not")(flag.proxy))
    return TracedEither(select(better, x, best), flag, kinds[1])


# Computing with them


def operate(method: str, *args: Any) -> Any:
    """A Python operator on values of which one may be of either kind."""
    tracer = active.current()
    found = [a for a in args if type(a) is TracedEither]
    arrays = [a for a in args if type(a) is TracedArray or isinstance(a, (np.generic, np.ndarray))]
    if arrays:
        dtypes = [x.dtype for x in arrays]
        return tracer.operate(method, *(a.beside(*dtypes) if type(a) is TracedEither else a for a in args))
    operands = [a.scalar if type(a) is TracedEither else a for a in args]
    if _is_alike_for_both(method, args):
        result = tracer.operate(method, *operands)
    elif _is_mostly_alike(method, args) and tracer.may_expect_no_error():
        result = _regular(method, *operands)
    else:
        return tracer.operate(method, *(a.settled() if type(a) is TracedEither else a for a in args))
    flags = [a.flag for a in found]
    flag = flags[0] if len(flags) == 1 else flags[0] | flags[1]
    return TracedEither(result, flag, bool if method in _COMPARISONS else float)


def _is_alike_for_both(method: str, args: tuple[Any, ...]) -> bool:
    """Whether an operator on numbers of either kind, and Python numbers, gives the same value whatever they are."""
    types = [a.python_type if type(a) is TracedEither else _kinds_of(a)[1] for a in args]
    if method in _COMPARISONS and set(types) == {int} and all(_is_small_integer(a) for a in args):
        return True
    # Beside a float, Python makes one of an integer as NumPy does, and compares it as it is.
    rounds = float in types and method in _ARITHMETIC
    exact = all(
        t is float or (t is int and (rounds or type(a) is TracedEither or _fits(a, (np.dtype(float), int))))
        for t, a in zip(types, args)
    )
    if not exact or any(type(a) is TracedEither and a.scalar.dtype != float for a in args):
        return False
    if method in _COMPARISONS:
        return True
    if len(args) == 1:
        return types == [float] and method in ("neg", "positive", "abs")
    if method == "div":
        return types[0] is float and type(args[1]) in (int, float) and args[1] != 0
    return float in types and method in _ARITHMETIC


def _is_mostly_alike(method: str, args: tuple[Any, ...]) -> bool:
    """Whether an operator gives the same value for both kinds, except where a float raises: for zero divisors, and for powers that are too
    large; or where it gives a complex number, for powers of negative ones."""
    if not all(
        a.kinds == (np.float64, float) if type(a) is TracedEither else _kinds_of(a)[1] is float for a in args[:1]
    ):
        return False
    if method == "pow" and type(args[1]) is int:
        return args[1] in (2, 3)
    is_float = type(args[-1]) is TracedEither and args[-1].kinds == (np.float64, float)
    return method in ("div", "pow") and (is_float or _kinds_of(args[-1])[1] is float)


def _regular(method: str, a: Any, b: Any) -> Any:
    """The operator's value for ``a`` and ``b``. Where a float would raise, the program raises, and the call runs eagerly."""
    tracer = active.current()
    tracer.expects_no_error()
    if method == "div":
        b = b if type(b) is TracedArray else scalar_of(np.float64, b)
        b = tracer.call(prims.require, (b, b != 0, ZeroDivisionError, "float division by zero"), {})
        return tracer.operate(method, a, b)
    a, b = (x if type(x) in (TracedArray, int) else scalar_of(np.float64, x) for x in (a, b))
    result = tracer.operate(method, a, b)
    is_regular = (abs(result) < np.inf) | ~(abs(a) < np.inf)
    if type(b) is not int:  # the power of a negative number is NaN as a scalar
        is_regular = is_regular | ~(abs(b) < np.inf)
    return tracer.call(prims.require, (result, is_regular, OverflowError, "Numerical result out of range"), {})


def _is_small_integer(x: Any) -> bool:
    """Whether an integer has 64 bits of its own, or is known to fit them."""
    return bool(x.scalar.dtype == np.int64) if type(x) is TracedEither else _fits(x, (np.dtype(np.int64), int))


def as_operands(
    ufunc: np.ufunc | None, args: tuple[Any, ...], kwargs: dict[str, Any], function: Any
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a function with those of either kind as operands: as scalars where the function takes both kinds alike."""
    if function == CONVERSION:
        return tuple(a.scalar if type(a) is TracedEither else a for a in args), kwargs
    beside = [x for a in (*args, *kwargs.values()) for x in (a if type(a) in (list, tuple) else (a,))]
    dtypes = [a.dtype for a in beside if type(a) is TracedArray or isinstance(a, (np.generic, np.ndarray))]
    kinds = (TracedArray, TracedNumber, TracedEither, *_NUMBERS, np.ndarray)
    if ufunc is not None:
        alike = all(type(a) in kinds or isinstance(a, np.generic) for a in args)
        alike = alike and not any(type(a) is TracedEither for a in kwargs.values())
        if any(type(a) is TracedEither and a.python_type is not float for a in args) and not dtypes:
            alike = alike and len(args) == 1 and _makes_alike(ufunc, *args)
    else:
        alike = function in _ALIKE and all(_has_own_dtype(a) for a in beside if type(a) is TracedEither)
        alike = (
            alike and "dtype" not in kwargs and len(args) <= _ALIKE[function]
        )  # an integer is made of a scalar that is NaN, and of no float

    def operand(a: Any) -> Any:
        return a if type(a) is not TracedEither else a.beside(*dtypes) if alike else a.settled()

    return tuple(map(operand, args)), {k: operand(a) for k, a in kwargs.items()}


def _makes_alike(ufunc: np.ufunc, x: TracedEither) -> bool:
    """Whether a ufunc makes the same dtype of a Python number and of the scalar."""
    made = [ufunc.resolve_dtypes((d, None))[-1] for d in (np.dtype(x.python_type), x.scalar.dtype)]
    return made[0] == made[1]


def _has_own_dtype(x: TracedEither) -> bool:
    """Whether the scalar has the dtype that NumPy gives the number."""
    return bool(x.scalar.dtype.name == _DEFAULT[x.python_type])


#: functions that make an array of each operand, or a scalar of all, and how many arguments they have before a dtype
_ALIKE = {
    **{f"numpy.{name}": 1 for name in ("array", "asanyarray", "asarray", "atleast_1d", "atleast_2d", "max", "mean", "median", "min", "std", "sum")},
    **{f"numpy.{name}": 2 for name in ("append", "array_equal", "dot", "full", "full_like", "isclose", "allclose", "outer", "searchsorted", "digitize")},
    **{f"numpy.{name}": 3 for name in ("clip", "interp", "nan_to_num", "where")},
}  # fmt: skip
#: the call of a NumPy scalar type (``np.float64(x)``), which makes the same of a number and of a scalar equal to it
CONVERSION = "tnp.scalar_of"
#: functions that make an array of a list; they give a Python number the dtype of its scalar
OF_LISTS = frozenset(
    f"numpy.{name}"
    for name in (
        "array",
        "asanyarray",
        "asarray",
        "hstack",
        "max",
        "mean",
        "median",
        "min",
        "stack",
        "std",
        "sum",
        "vstack",
    )
)
_DEFAULT = {float: "float64", int: "int64", bool: "bool"}


def as_items(x: Any) -> Any:
    """A list that becomes an array, with its values of either kind as scalars."""
    if type(x) in (list, tuple):
        made = [as_items(y) for y in x]
        return made if any(a is not b for a, b in zip(made, x)) else x
    return x.scalar if type(x) is TracedEither and x.scalar.dtype.name == _DEFAULT[x.python_type] else x


def items_stored_in(a: TracedArray, x: Any) -> Any:
    """A list or tuple that an assignment into ``a`` stores, with its values of either kind as what is stored of them."""
    made = [
        y.stored_in(a) if type(y) is TracedEither else items_stored_in(a, y) if type(y) in (list, tuple) else y
        for y in x
    ]
    return type(x)(made) if any(p is not q for p, q in zip(made, x)) else x


def _binary(method: str, reflected: bool) -> Callable[[Any, Any], Any]:
    def call(self: TracedEither, other: Any) -> Any:
        if not (type(other) in (*_NUMBERS, TracedNumber, TracedArray, TracedEither) or isinstance(other, np.generic)):
            return NotImplemented
        return operate(method, *((other, self) if reflected else (self, other)))

    return call


def _unary(method: str) -> Callable[[Any], Any]:
    return lambda self: operate(method, self)


for _dunder, _method in (*languages.BINARY_OPERATORS.items(), *((name, name) for name in languages.COMPARISONS)):
    setattr(TracedEither, f"__{_dunder}__", _binary(_method, reflected=False))
    if _dunder not in languages.COMPARISONS and hasattr(operator, f"__{_dunder}__"):
        setattr(TracedEither, f"__r{_dunder}__", _binary(_method, reflected=True))
for _dunder, _method in languages.UNARY_OPERATORS.items():
    setattr(TracedEither, f"__{_dunder}__", _unary(_method))
