"""Arrays of sizes: ``np.array(x.shape) // 2``, ``np.prod(x.shape[1:])``.

Programs compute sizes with NumPy as well as with Python, and then make arrays of these sizes. A program for any size needs the
elements of such an array as symbols. An operation that needs them has them computed from the statements that make the array,
element by element, as Python numbers: a number made of symbols is a symbol. Other compilers call such arrays shape tensors (TVM),
and the computation data propagation (ONNX).
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tnp.capture.tracing.python_numbers import MATH, converted, rounded
from tnp.capture.tracing.traced_values import TracedNumber
from tnp.core import dtypes, prims, sizes
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy
from tnp.core.subtraces import with_parts
from tnp.core.symbol import BoundSymbol

if TYPE_CHECKING:
    from tnp.capture.tracing.tracer import Tracer

__all__ = ["SizeArrays"]

#: elements by position, each a Python number or a traced one
Elements = np.ndarray[Any, np.dtype[np.object_]]
#: elements that an array of sizes has at most, and statements in a row that make one
MOST, DEEPEST = 32, 64
_MOST_POWER = 4
#: dtypes that represent sizes exactly
_EXACT = frozenset((dtypes.int64, dtypes.float64, dtypes.bool8))


class _NotOfSizes(Exception):
    """An element is no number that is made of sizes."""


class SizeArrays:
    """The arrays of sizes of one trace."""

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer
        self._known: dict[str, Elements | None] = {}
        #: by the name of a value, the primitive that makes it, of the first statements of the trace
        self._makers: dict[str, BoundSymbol] = {}
        self._read: list[BoundSymbol] = []

    def number(self, a: Proxy) -> TracedNumber | None:
        """The element of an array of one element as a number that is made of symbols; ``None`` if it is none."""
        found = self.elements(a) if self.tracer.inputs.prologue.relations.symbols else None
        if found is None or found.size != 1 or type(found.item()) is not TracedNumber:
            return None
        assert isinstance(a, TensorProxy)
        made = converted(_PYTHON[a.dtype.kind])(found.item())
        return made if type(made) is TracedNumber else None

    def elements(self, a: Proxy) -> Elements | None:
        """The elements of an array that is made of sizes alone; ``None`` for any other."""
        if self.tracer.regions or not _may_hold_sizes(a):
            return None
        self._read_statements()
        try:
            return self._elements_of(a, 0)
        except _NotOfSizes:
            return None

    def _read_statements(self) -> None:
        statements, read = self.tracer.trace.bound_symbols, self._read
        if len(read) > len(statements) or (read and read[-1] is not statements[len(read) - 1]):  # some were taken back
            read.clear()
            self._makers.clear()
            self._known.clear()
        for b in statements[len(read) :]:
            for part in with_parts(b):
                if not part.subsymbols:
                    self._makers.update((p.name, part) for p in part.flat_outputs)
        read += statements[len(read) :]

    def _elements_of(self, a: Any, depth: int) -> Elements:
        if not isinstance(a, TensorProxy):
            return _as_elements([self._leaf(a)]).reshape(())
        if a.name not in self._known:
            maker = self._makers.get(a.name)
            rule = None if maker is None else _RULES.get(maker.sym.id)
            self._known[a.name] = None
            if maker is not None and rule is not None and depth < DEEPEST and _may_hold_sizes(a):
                self._known[a.name] = rule(maker, lambda x: self._elements_of(x, depth + 1))
        found = self._known[a.name]
        if found is None:
            raise _NotOfSizes
        return found

    def _leaf(self, x: Any) -> Any:
        """A number among the arguments of a primitive."""
        if not isinstance(x, NumberProxy):
            return x
        if x.relations is None or x.relations.finds(x):
            raise _NotOfSizes
        return TracedNumber(x)


_PYTHON: dict[str, type] = {"i": int, "f": float, "b": bool}


def _may_hold_sizes(a: Proxy) -> bool:
    if not isinstance(a, TensorProxy):
        return False
    return a.dtype in _EXACT and sizes.is_known(a.shape) and a.numel <= MOST


def _as_elements(items: list[Any]) -> Elements:
    made = np.empty(len(items), object)
    for i, x in enumerate(items):  # at once, NumPy would ask them for arrays
        made[i] = x
    return made


def _is_of_sizes(x: Any) -> bool:
    """Whether a number is plain, or made of symbols that guards know before the program runs."""
    if type(x) is not TracedNumber:
        return True
    relations = x.proxy.relations
    return relations is not None and not relations.finds(x.proxy)


def _checked(x: Any) -> Any:
    if not _is_of_sizes(x):
        raise _NotOfSizes
    return x


# Rules: the elements of a primitive's result, computed from the elements of its arguments.

Rule = Callable[[BoundSymbol, Callable[[Any], Elements]], Elements]


def _elementwise(function: Callable[..., Any]) -> Rule:
    def rule(b: BoundSymbol, elements: Callable[[Any], Elements]) -> Elements:
        operands = np.broadcast_arrays(*map(elements, b.args))
        found = [_checked(function(*xs)) for xs in zip(*(x.ravel() for x in operands))]
        return _as_elements(found).reshape(operands[0].shape)

    return rule


def _moved(function: Callable[..., Any]) -> Rule:
    """A primitive that moves elements, as a function of NumPy's."""

    def rule(b: BoundSymbol, elements: Callable[[Any], Elements]) -> Elements:
        how = (tuple(x) if isinstance(x, list) else x for x in b.args[1:])
        made: Elements = function(elements(b.args[0]), *how)
        return made

    return rule


def _reduced(function: Callable[[Any, Any], Any], start: Any = None) -> Rule:
    def rule(b: BoundSymbol, elements: Callable[[Any], Elements]) -> Elements:
        a, dims = elements(b.args[0]), tuple(b.args[1])
        kept = [d for d in range(a.ndim) if d not in dims]
        rows = a.transpose([*kept, *dims]).reshape(*(a.shape[d] for d in kept), -1)
        if start is None and not rows.shape[-1]:
            raise _NotOfSizes
        found = []
        for row in rows.reshape(math.prod(rows.shape[:-1]), rows.shape[-1]):
            total, *others = row if start is None else (start, *row)
            for x in others:
                total = _checked(function(total, x))
            found.append(total)
        return _as_elements(found).reshape(rows.shape[:-1])

    return rule


def _running(function: Callable[[Any, Any], Any]) -> Rule:
    def rule(b: BoundSymbol, elements: Callable[[Any], Elements]) -> Elements:
        found = np.array(elements(b.args[0]), object)
        rows = np.moveaxis(found, b.args[1], 0)
        for i in range(1, len(rows)):
            for at in np.ndindex(rows.shape[1:]):
                rows[(i, *at)] = _checked(function(rows[(i - 1, *at)], rows[(i, *at)]))
        return found

    return rule


def _divided(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def divide(x: Any, y: Any) -> Any:
        if type(y) is TracedNumber or not y:  # NumPy divides by zero
            raise _NotOfSizes
        return function(x, y)

    return divide


def _product(x: Any, y: Any) -> Any:
    """A product that int64 holds, as guards see to."""
    found = x * y
    is_integer = type(found) is TracedNumber and found.proxy.python_type is int
    if is_integer and not operator.lt(found, 2**63):
        raise _NotOfSizes
    return found


def _power(x: Any, y: Any) -> Any:
    if type(y) is not int or not 0 <= y <= _MOST_POWER:
        raise _NotOfSizes
    return functools.reduce(_product, [x] * y, 1)


def _of_math(function: Callable[[Any], Any], traced: Callable[[Any], Any] | None = None) -> Callable[[Any], Any]:
    """A function of :mod:`math`'s; ``math.ceil`` and its like give integers, which floats hold exactly."""
    of_traced = traced or MATH[function]
    return lambda x: of_traced(x) if type(x) is TracedNumber else function(x)


def _larger(x: Any, y: Any) -> Any:
    return x if x >= y else y


def _smaller(x: Any, y: Any) -> Any:
    return x if x <= y else y


def _both(x: Any, y: Any) -> bool:
    return bool(x) and bool(y)


def _one_of(x: Any, y: Any) -> bool:
    return bool(x) or bool(y)


def _converted(b: BoundSymbol, elements: Callable[[Any], Elements]) -> Elements:
    if b.output.dtype.kind == "f":  # which holds sizes exactly
        return elements(b.args[0])
    convert = converted(_PYTHON[b.output.dtype.kind])
    a = elements(b.args[0])
    return _as_elements([_checked(convert(x)) for x in a.ravel()]).reshape(a.shape)


def _broadcast(b: BoundSymbol, elements: Callable[[Any], Elements]) -> Elements:
    a, shape, dims = elements(b.args[0]), tuple(b.args[1]), tuple(b.args[2])
    at = [a.shape[dims.index(d)] if d in dims else 1 for d in range(len(shape))]
    return np.broadcast_to(a.reshape(at), shape)


def _joined(b: BoundSymbol, elements: Callable[[Any], Elements]) -> Elements:
    return np.concatenate([elements(x) for x in b.args[0]], b.args[1])


def _selected(b: BoundSymbol, elements: Callable[[Any], Elements]) -> Elements:
    a, dim, index = elements(b.args[0]), b.args[1], b.args[2]
    if type(index) is not int or not -a.shape[dim] <= index < a.shape[dim]:
        raise _NotOfSizes
    return np.moveaxis(a, dim, 0)[index, ...]


def _sliced(b: BoundSymbol, elements: Callable[[Any], Elements]) -> Elements:
    return elements(b.args[0])[_slices(b.args[1], b.args[2], b.args[3] if len(b.args) > 3 else None)]


def _slices(starts: Any, stops: Any, strides: Any) -> tuple[slice, ...]:
    if not all(type(x) is int for x in (*starts, *stops, *(strides or ()))):
        raise _NotOfSizes
    return tuple(map(slice, starts, stops, strides or [1] * len(starts)))


def _updated(b: BoundSymbol, elements: Callable[[Any], Elements]) -> Elements:
    a, values = elements(b.args[0]).copy(), elements(b.args[1])
    starts, strides = b.args[2], (b.args[3] if len(b.args) > 3 else None) or [1] * a.ndim
    stops = [i + (n - 1) * step + 1 for i, n, step in zip(starts, values.shape, strides)]
    a[_slices(starts, stops, strides)] = values
    return a


def _filled(b: BoundSymbol, elements: Callable[[Any], Elements]) -> Elements:
    return np.broadcast_to(elements(b.args[1]), tuple(b.args[0]))


def _counted(b: BoundSymbol, elements: Callable[[Any], Elements]) -> Elements:
    start, step = (b.kwargs.get(name, default) for name, default in (("start", 0), ("step", 1)))
    if not all(type(x) is int for x in (b.args[0], start, step)):
        raise _NotOfSizes
    return _as_elements([start + step * i for i in range(b.args[0])])


_RULES: dict[str, Rule] = {
    rule_of.id: rule
    for rule_of, rule in (
        (prims.add, _elementwise(operator.add)),
        (prims.sub, _elementwise(operator.sub)),
        (prims.mul, _elementwise(_product)),
        (prims.square, _elementwise(lambda x: _product(x, x))),
        (prims.pow, _elementwise(_power)),
        (prims.div, _elementwise(_divided(operator.truediv))),
        (prims.floor_divide, _elementwise(_divided(operator.floordiv))),
        (prims.remainder, _elementwise(_divided(operator.mod))),
        (prims.neg, _elementwise(operator.neg)),
        (prims.positive, _elementwise(lambda x: x)),
        (prims.abs, _elementwise(lambda x: _larger(x, -x))),
        (prims.ceil, _elementwise(_of_math(math.ceil))),
        (prims.floor, _elementwise(_of_math(math.floor))),
        (prims.trunc, _elementwise(_of_math(math.trunc))),
        (prims.round, _elementwise(_of_math(round, rounded))),
        (prims.sqrt, _elementwise(_of_math(math.sqrt))),
        (prims.maximum, _elementwise(_larger)),
        (prims.minimum, _elementwise(_smaller)),
        (prims.eq, _elementwise(operator.eq)),
        (prims.ne, _elementwise(operator.ne)),
        (prims.lt, _elementwise(operator.lt)),
        (prims.le, _elementwise(operator.le)),
        (prims.gt, _elementwise(operator.gt)),
        (prims.ge, _elementwise(operator.ge)),
        (prims.logical_and, _elementwise(_both)),
        (prims.logical_or, _elementwise(_one_of)),
        (prims.logical_not, _elementwise(lambda x: not x)),
        (prims.where, _elementwise(lambda condition, x, y: x if condition else y)),
        (prims.sum, _reduced(operator.add, 0)),
        (prims.prod, _reduced(_product, 1)),
        (prims.amax, _reduced(_larger)),
        (prims.amin, _reduced(_smaller)),
        (prims.all, _reduced(_both, True)),
        (prims.any, _reduced(_one_of, False)),
        (prims.cumsum, _running(operator.add)),
        (prims.cumprod, _running(_product)),
        (prims.convert_element_type, _converted),
        (prims.clone, _moved(lambda a: a)),
        (prims.reshape, _moved(np.reshape)),
        (prims.squeeze, _moved(np.squeeze)),
        (prims.transpose, _moved(np.transpose)),
        (prims.flip, _moved(np.flip)),
        (prims.broadcast_in_dim, _broadcast),
        (prims.concatenate, _joined),
        (prims.select, _selected),
        (prims.slice, _sliced),
        (prims.slice_update, _updated),
        (prims.full, _filled),
        (prims.iota, _counted),
    )
}
