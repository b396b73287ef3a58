"""The vocabulary of lowering rules: what a prim is made of, in regions and in whole loops alike.

A rule makes the value of a prim from elementwise operations, views, reductions, routines for rows and matrices, lookups, writes
and checks. In a region these are nodes of a graph (:class:`~.graph.GraphLowering`). In a whole loop they are lazy arrays, and
instructions (:class:`~.program.vocabulary.LoopLowering`). So most prims have one rule for both.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeAlias

from tnp.core import prims
from tnp.core.dtypes import DType
from tnp.core.proxies import Proxy
from tnp.core.symbol import BoundSymbol, OpTags

__all__ = ["RULES", "Lowering", "Refused", "Rule", "Value", "Where", "outputs_of", "product", "rule"]

#: from a position in a view to one in its source
Where: TypeAlias = "Callable[[Any], Any]"


class Refused(Exception):
    """The operations hold what this executor does not compile; another runs them."""


class Value(Protocol):
    """An array. A dimension is an integer, an ``Extent`` or a program's ``Int``."""

    @property
    def shape(self) -> tuple[Any, ...]: ...

    @property
    def dtype(self) -> DType: ...


def product(sizes: Iterable[Any]) -> Any:
    """The product of dimensions."""
    return functools.reduce(lambda n, m: m if type(n) is int and n == 1 else n * m, sizes, 1)


class Lowering(ABC):
    """What values are made of. ``outputs`` are the results of the prim whose rule runs."""

    outputs: Sequence[Any] = ()

    # Sizes

    @abstractmethod
    def sizes(self, shape: Sequence[Any]) -> Sequence[Any]:
        """The dimensions of a result, to compute with."""

    @abstractmethod
    def length(self, n: Any) -> int | None:
        """A dimension, if it is the same in every call."""

    def at_least_zero(self, n: Any) -> Any:
        """``n``, or 0 if it is negative. Of symbolic sizes that is known."""
        return n

    @abstractmethod
    def require_one(self, n: Any, failure: Callable[..., Exception]) -> None:
        """Raises ``failure`` unless a dimension is 1, where that is not known."""

    @abstractmethod
    def require_equal(self, a: Sequence[Any], b: Sequence[Any]) -> None:
        """Leaves it to eager what to raise unless two shapes are the same, where that is not known."""

    # Values

    @abstractmethod
    def make(self, op: str, shape: Sequence[Any], dtype: DType, args: Sequence[Any] = ()) -> Any:
        """``op`` of elements at one position, see :class:`~.graph.Node`. ``args`` are values and Python numbers."""

    @abstractmethod
    def view(
        self, source: Any, shape: Sequence[Any], where: Where, lookups: Sequence[Any] = (), *, repeats: bool = False,
        whole: bool = False,
    ) -> Any:  # fmt: skip
        """Elements of ``source`` in other places, see :class:`~.graph.View`."""

    @abstractmethod
    def reduce(self, op: str, shape: Sequence[Any], dtype: DType, source: Any, dims: Sequence[int]) -> Any:
        """A row of the table of reductions over some dimensions."""

    @abstractmethod
    def copied(self, x: Any, dtype: DType, *, in_c_order: bool = False) -> Any:
        """An array of its own with the elements of ``x`` as ``dtype``."""

    @abstractmethod
    def update(self, base: Any, value: Any, select: Callable[[Any], Any] | None = None) -> Any:
        """``base`` after ``value`` has been written to the view ``select`` of it (default: to all of it)."""

    # Routines

    @abstractmethod
    def routine(self, op: str, source: Any, without_vectors: str | None = None, vectors: Sequence[int] = ()) -> Any:
        """One of :data:`~.routines.ROUTINES` of the rows or matrices in the last dimensions; ``without_vectors`` if nothing needs the
        results whose positions are ``vectors``."""

    @abstractmethod
    def lines(self, matrix: Any, count: int, width: int) -> Any:
        """``count`` lines of ``width`` elements for each matrix of a stack, which begin with its columns. The rest may be anything."""

    # Positions that are values

    @abstractmethod
    def checked(self, indices: Any, n: Any, dim: int, *, from_end: bool = True) -> Any:
        """Indices along ``dim``, of ``n`` elements, that are in bounds, or else an error is raised; ``from_end`` if they may be negative."""

    def checked_together(self, indices: Sequence[Any], shape: Sequence[Any]) -> Sequence[Any]:
        """Indices along the first dimensions of an array of that ``shape``, which have one shape themselves."""
        return [self.checked(i, n, d) for d, (i, n) in enumerate(zip(indices, shape))]

    @abstractmethod
    def lookup(self, indices: Any, at: Any, n: Any) -> Any:
        """The element of :meth:`checked` indices at ``at``, as a position."""

    @abstractmethod
    def scatter(
        self, a: Any, value: Any, where: Callable[[Sequence[Any]], Where], indices: Sequence[Any], *, accumulates: bool,
        ordered_by: Sequence[Any] = (),
    ) -> Any:  # fmt: skip
        """``a``, the first argument of the prim, after the elements of ``value`` have been written, or added, where ``where(indices)`` says,
        in order."""

    # Checks

    @abstractmethod
    def refuse(self, wrong: Any, failure: Callable[[], Exception] | None = None) -> None:
        """If one of some bools is true, raises ``failure()``; without one, what eager raises."""

    @abstractmethod
    def expect_finite(self, x: Any) -> None:
        """What comes of elements that are infinite or NaN is a library's choice."""


class Rule:
    """How a prim is lowered, and which uses of it are supported in regions. ``in_loops`` says so of a whole loop, from the lowering, the bound
    symbol and the arguments, or raises :class:`Refused`; ``None``: loops have no such prim, or a rule of their own."""

    def __init__(
        self, lower: Callable[..., Any], checker: Callable[[BoundSymbol], bool], in_loops: Callable[..., bool] | None
    ) -> None:
        self.lower = lower
        self.checker = checker
        self.in_loops = in_loops


#: the rules of prims; of several for one, each takes other uses
RULES: dict[str, list[Rule]] = {}


def _always(*args: Any, **kwargs: Any) -> bool:
    return True


def rule(
    *names: str, checker: Callable[[BoundSymbol], bool] = _always, in_loops: Callable[..., bool] | bool = False
) -> Callable[..., Any]:
    """Decorates what becomes of prims: ``f(lowering, output, *args, **kwargs)`` gives the value of ``output``, or of all outputs.
    ``checker`` and ``in_loops`` say where it may be used; ``in_loops=True``: everywhere."""
    loops = _always if in_loops is True else in_loops or None

    def decorate(f: Any) -> Any:
        for name in names:
            assert OpTags.EFFECT not in prims.registry[name].tags
            RULES.setdefault(name, []).append(Rule(f, checker, loops))
        return f

    return decorate


def outputs_of(bsym: BoundSymbol) -> tuple[Any, ...]:
    """The results of a prim."""
    return (bsym.output,) if isinstance(bsym.output, Proxy) else tuple(bsym.output)
