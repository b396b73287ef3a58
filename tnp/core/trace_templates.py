"""Templates: what the uses of an operation on arguments of the same kinds have in common.

The meta of an elementwise operation promotes, broadcasts and checks, and comes to the same for every two float64 arrays
of one shape. From what its first use recorded a :class:`Template` is made, and the next use on such arguments is
recorded by that, the meta not asked.

>>> import numpy as np, tnp
>>> import tnp.lang.numpy as lnp
>>> trace = tnp.trace()(lambda a, b: np.add(np.add(a, b), b), np.ones(3), np.ones((2, 1)))
>>> add = trace.bound_symbols[2]
>>> [s.sym.name for s in tnp.core.trace_templates.Template.of(add).recorded(trace, lnp.add, add.args).subsymbols]
['broadcast_in_dim', 'broadcast_in_dim', 'add']
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from tnp.core.dtypes import DType
from tnp.core.proxies import TensorProxy
from tnp.core.symbol import BoundSymbol, Symbol

if TYPE_CHECKING:
    from tnp.core.trace import Trace

__all__ = ["Template", "Templates"]

#: templates that an operation has before it begins anew: numbers are part of what tells their arguments apart
MOST = 1_000


class Template:
    """What a use of an operation recorded, with places in a pool for values: of the arguments, then constants, then results."""

    __slots__ = ("constants", "steps")

    def __init__(
        self, constants: list[Any], steps: list[tuple[Symbol, Callable[[list[Any]], tuple[Any, ...]], TensorProxy]]
    ) -> None:
        self.constants = constants
        #: symbols, what takes their arguments out of the pool, and arrays of the kinds that they make
        self.steps = steps

    @classmethod
    def of(cls, bsym: BoundSymbol) -> Template | None:
        """The template of a use; ``None`` if it is more than operations on arrays and constants, the last of which makes the result."""
        parts = bsym.subsymbols
        if not parts or parts[-1].output is not bsym.output:
            return None
        if not all(type(s.output) is TensorProxy and not s.subsymbols and not s.kwargs for s in parts):
            return None
        values = [*bsym.args, *(s.output for s in parts)]
        constants = [x for s in parts for x in s.args if not _is_among(x, values)]
        if not all(map(_is_constant, constants)):
            return None
        pool = [*bsym.args, *constants, *(s.output for s in parts)]
        steps = [(s.sym, _taker([_place(x, pool) for x in s.args]), s.output.renamed("")) for s in parts]
        return cls(constants, steps)

    def recorded(self, trace: Trace, symbol: Symbol, args: tuple[Any, ...]) -> BoundSymbol:
        """A use of ``symbol`` on other arguments of the same kinds, its results with names of ``trace``."""
        pool = [*args, *self.constants]
        parts = []
        for sym, take, like in self.steps:
            made = like.renamed(trace.make_name("t"))
            parts.append(BoundSymbol(sym, take(pool), {}, made))
            pool.append(made)
        return BoundSymbol(symbol, args, {}, made, parts)


class Templates:
    """The templates of an operation whose meta looks at nothing but its arguments, by the kinds of these."""

    __slots__ = ("_made",)

    def __init__(self) -> None:
        self._made: dict[tuple[Any, ...], Template] = {}

    def use(self, trace: Trace, symbol: Symbol, args: tuple[Any, ...]) -> BoundSymbol | None:
        """A use on arguments for which there is a template."""
        kinds = _kinds_of(args)
        template = None if kinds is None else self._made.get(kinds)
        return None if template is None else template.recorded(trace, symbol, args)

    def learn(self, bsym: BoundSymbol) -> None:
        """Makes a template of a use, if it can be one."""
        kinds = _kinds_of(bsym.args)
        template = None if kinds is None else Template.of(bsym)
        if kinds is not None and template is not None:
            if len(self._made) >= MOST:
                self._made.clear()
            self._made[kinds] = template


def _kinds_of(args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """What metas see of arrays of known sizes and of numbers, as a key; ``None`` if there is another argument."""
    kinds: list[Any] = []
    for x in args:
        kind = type(x)
        if kind is TensorProxy:
            for n in x.shape:
                if type(n) is not int:
                    return None
            kinds += (x.shape, x.dtype, x.device, x.lang, x.scalar)
        elif kind is int or kind is bool:
            kinds += (kind, x)
        elif kind is float:
            kinds += (kind, x or repr(x))  # 0.0 and -0.0 are equal
        else:
            return None
    if len(set(map(id, args))) < len(args):  # which of them are one
        kinds.append(tuple([_place(x, args) for x in args]))
    return tuple(kinds)


def _is_among(x: Any, values: Sequence[Any]) -> bool:
    return any(x is y for y in values)


def _place(x: Any, pool: Sequence[Any]) -> int:
    return next(i for i, y in enumerate(pool) if x is y)


def _taker(places: list[int]) -> Callable[[list[Any]], tuple[Any, ...]]:
    """A function from the pool to the arguments at ``places``."""
    if len(places) > 1:
        return itemgetter(*places)
    return lambda pool: tuple([pool[i] for i in places])


def _is_constant(x: Any) -> bool:
    if type(x) is tuple:
        return all(map(_is_constant, x))
    return type(x) in _CONSTANT


_CONSTANT = frozenset((bool, int, float, complex, str, type(None), DType))
