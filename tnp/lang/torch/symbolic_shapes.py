"""Symbolic sizes of a trace as PyTorch's own, for functions that are run on fake tensors.

PyTorch computes the shapes of results as expressions of its symbols, and notes what it relied on. Both are translated to
sizes and relations of the trace, so that one opaque call serves all sizes.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import torch

from tnp.core import intervals, symbols
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy

if TYPE_CHECKING:
    import sympy

__all__ = ["NotSymbolic", "ShapeSymbols", "has_symbols"]

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
}


class NotSymbolic(Exception):
    """Something that PyTorch's symbols, or those of a trace, cannot say."""


def has_symbols(values: Iterable[Proxy]) -> bool:
    """Whether a value is a symbolic size, or an array that has one."""
    return any(symbols.is_symbol(n) for p in values for n in (p.shape if isinstance(p, TensorProxy) else (p,)))


class ShapeSymbols:
    """The symbols of one dry run: ``env`` is PyTorch's record of them."""

    def __init__(self) -> None:
        try:
            from torch._dynamo.source import ConstantSource
            from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv

            self.env: Any = ShapeEnv(specialize_zero_one=True, duck_shape=False, assume_static_by_default=False)
        except (ImportError, TypeError) as error:  # it is no public interface of PyTorch's
            raise NotSymbolic(str(error)) from error
        self._source: Any = ConstantSource
        self._dynamic: Any = DimDynamic.DYNAMIC
        self._made: dict[str, Any] = {}
        self._numbers: dict[Any, NumberProxy] = {}

    # From the trace to PyTorch

    def size(self, n: Any) -> Any:
        """A size, or an extent, as an ``int`` or a ``torch.SymInt``. Raises :class:`NotSymbolic`."""
        n = symbols.number_of(n)
        if isinstance(n, int):
            return n
        form = intervals.linear(n)
        return sum((self._atom(atom) * factor for atom, factor in form.terms.values()), form.constant)

    def _atom(self, n: NumberProxy) -> Any:
        if n.name not in self._made:
            if n.origin is None:
                self._made[n.name] = self._root(n)
            elif n.origin[0] in _OPERATORS:
                self._made[n.name] = _OPERATORS[n.origin[0]](*map(self.size, n.origin[1]))
            else:
                raise NotSymbolic(f"the size {n.text}")
        return self._made[n.name]

    def _root(self, n: NumberProxy) -> Any:
        value = symbols.value_of(n)
        if value is None or value < symbols.LEAST:
            raise NotSymbolic(f"the size {n.text}")
        source = self._source(n.name)
        symbol = self.env.create_symbol(value, source, dynamic_dim=self._dynamic, constraint_dim=None)
        self._numbers[symbol] = n
        return self.env.create_symintnode(symbol, hint=value, source=source)

    # From PyTorch to the trace

    def dimension(self, n: Any) -> int | NumberProxy:
        """A dimension of a result as one of the trace."""
        return symbols.as_dimension(self._number(n))

    def extent(self, n: Any) -> Any:
        """A stride of a result, to compute with."""
        return symbols.extent(self._number(n))

    def _number(self, n: Any) -> int | NumberProxy:
        return self._translated(n.node.expr) if isinstance(n, torch.SymInt) else int(n)

    def _translated(self, e: sympy.Expr) -> int | NumberProxy:
        kind = type(e).__name__
        if e.is_Integer:
            return int(e)
        if e in self._numbers:
            return self._numbers[e]
        if kind == "Pow" and e.args[1].is_Integer and int(e.args[1]) > 0:
            return self._folded("mul", [e.args[0]] * int(e.args[1]))
        if kind in _TRANSLATED:
            return self._folded(_TRANSLATED[kind], e.args)
        raise NotSymbolic(f"the expression {e}")

    def _folded(self, operation: str, args: Iterable[Any]) -> int | NumberProxy:
        return functools.reduce(functools.partial(symbols.compute, operation), map(self._translated, args))

    def ask(self) -> None:
        """Asks the trace what PyTorch relied on. Raises :class:`NotSymbolic`, and asks nothing then."""
        questions = [q for guard in self.env.guards for q in self._questions(guard.expr)]
        for kind, a, b in questions:
            relations = symbols.relations_of(a, b)
            if relations is None:
                continue
            if kind in ("Equality", "Unequality"):
                relations.equal(a, b)
            elif kind in ("StrictLessThan", "GreaterThan"):
                relations.less(a, b)
            else:
                relations.less(b, a)

    def _questions(self, e: Any) -> list[tuple[str, Any, Any]]:
        kind = type(e).__name__
        if kind == "And":
            return [q for part in e.args for q in self._questions(part)]
        if kind in ("BooleanTrue", "bool"):
            return []
        if kind not in ("Equality", "Unequality", "StrictLessThan", "GreaterThan", "LessThan", "StrictGreaterThan"):
            raise NotSymbolic(f"the condition {e}")
        a, b = map(self._translated, e.args)
        return [(kind, a, b)]


#: PyTorch's expressions of non-negative integers, and the operations that they are
_TRANSLATED = {
    "Add": "add", "Mul": "mul", "FloorDiv": "floor_divide", "CleanDiv": "floor_divide", "Mod": "remainder", "PythonMod": "remainder"
}  # fmt: skip
