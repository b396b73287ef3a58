"""Executors: who runs an operation, and how.

An :class:`OperatorExecutor` maps symbols to callables, one call each. A :class:`FusionExecutor` takes regions of a
program and returns one callable for each. Their order in a list is their priority.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from tnp.core.symbol import BoundSymbol, Namespace, OpTags, Symbol

__all__ = ["Executor", "Fused", "FusionExecutor", "Implementation", "OperatorExecutor", "Region"]


@dataclass(frozen=True)
class Implementation:
    """How an executor runs a symbol: as its own operation ``op``, or as what ``execution_transform`` calls.

    ``checker`` takes the symbol's arguments, proxies for arrays, and says whether this may run them. ``in_place`` is
    the operation that changes the first argument's memory, for a symbol that updates it.
    """

    op: Symbol | None = None
    checker: Callable[..., bool] | None = None
    execution_transform: Callable[..., Any] | None = None
    grad_transform: Callable[..., Any] | None = None
    in_place: Symbol | None = None
    #: the executor wants the symbol opened, to run what it is made of
    opens: bool = False


class Executor:
    """What all executors have: a name, a version, and the kind of arrays that their callables take and return."""

    #: ``"numpy"``, ``"torch"`` or ``"cupy"``; ``None``: whatever the language of the values has
    array_kind: str | None = None
    #: of the executor that is named as its kind: (kind, kind) → the operation that turns one into the other
    conversions: Mapping[tuple[str, str], Symbol] = MappingProxyType({})
    #: compiles runs of this executor's operations, and is asked before it
    fuser: FusionExecutor | None = None
    #: of that executor, too: the operations that copy an array, make uninitialised memory like it, and (maybe) large memory
    memory: tuple[Symbol, ...] | None = None

    def __init__(self, name: str, *, version: Any = None) -> None:
        self.name = name
        self.version = version

    def __repr__(self) -> str:
        return f"<executor {self.name}>"

    def with_fastmath(self) -> Executor:
        """This executor with floating-point arithmetic relaxed, as ``jit(fastmath=True)`` asks; itself if it cannot."""
        return self

    def check_arrays(self, kinds: Sequence[tuple[Any, tuple[int, ...], tuple[int, ...]]]) -> Callable[..., Any] | None:
        """A function that returns ``None`` unless its arguments are ndarrays of these dtypes, shapes and strides, and is
        quicker than Python at that; ``None`` if the executor has none."""
        return None


class OperatorExecutor(Executor):
    """An executor that runs single operations.

    >>> import numpy as np, tnp
    >>> from tnp.executors.base import OperatorExecutor
    >>> ex = OperatorExecutor("doubling", version="0.1")
    >>> double = ex.register_operator("double", like=lambda a: a + a, fn=lambda a: 2 * a)
    >>> tnp.jit(lambda a: double(a), executors=[ex])(np.arange(3.0))
    array([0., 2., 4.])
    """

    def __init__(self, name: str, *, version: Any = None) -> None:
        super().__init__(name, version=version)
        self.implementations: dict[Any, Implementation] = {}
        self.operators: dict[str, Symbol] = {}
        self._lock = threading.Lock()

    def register_operator(
        self,
        name: str,
        *,
        like: Callable[..., Any] | None = None,
        meta: Callable[..., Any] | None = None,
        fn: Callable[..., Any],
        tags: Iterable[OpTags] = (),
        namespace: Namespace | None = None,
        printer: Any = None,
    ) -> Symbol:
        """A new operation that this executor runs as ``fn``.

        ``like`` says what it computes in terms of other operations (it is then decomposable); ``meta`` only what
        its results look like. Raises ``ValueError`` for a name taken, or if not exactly one of the two is given.
        """
        if (like is None) == (meta is None):
            raise ValueError(f"register_operator({name!r}) needs either like= or meta=")
        with self._lock:
            if name in self.operators:
                raise ValueError(f"the executor {self.name} has an operator {name!r} already")
            symbol = Symbol(
                name,
                like if like is not None else meta,
                id=f"{self.name}.{name}",
                is_prim=like is None,
                tags=tags,
                namespace=namespace,
                printer=printer,
                executor=self,
                fn=fn,
            )
            self.operators[name] = symbol
            self.implementations[symbol.id] = Implementation(symbol)
        return symbol

    def register_implementation(
        self,
        symbol_or_id: Any,
        op: Symbol | None = None,
        *,
        checker: Callable[..., bool] | None = None,
        execution_transform: Callable[..., Any] | None = None,
        grad_transform: Callable[..., Any] | None = None,
        in_place: Symbol | None = None,
    ) -> None:
        """Says that this executor runs a symbol, as its operator ``op`` or as ``execution_transform`` does.

        Registering again replaces. Raises ``ValueError`` if there is nothing to run.
        """
        if op is None and execution_transform is None and in_place is None and grad_transform is None:
            raise ValueError("register_implementation needs op=, execution_transform= or grad_transform=")
        key = symbol_or_id.id if isinstance(symbol_or_id, Symbol) else symbol_or_id
        self.implementations[key] = Implementation(op, checker, execution_transform, grad_transform, in_place)

    def implementation_of(self, sym: Symbol) -> Implementation | None:
        """How this executor runs ``sym``; ``None`` if it does not. Subclasses may look further than the table."""
        return self.implementations.get(sym.id)


@dataclass(frozen=True)
class Region:
    """Part of a program that a fusing executor takes: its bound symbols, what they read, and what is needed of them."""

    bound_symbols: tuple[BoundSymbol, ...]
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    #: output → the input in whose memory it will be stored: a hint
    stores: Mapping[int, int] | None = None
    #: makes a callable like a :class:`Fused` one out of single operations of other executors, for arguments that the fuser
    #: cannot take. It takes the outputs that are updates of inputs.
    run_singly: Callable[[Mapping[int, int]], Callable[..., Any]] | None = None
    #: it is all that the program does
    whole: bool = False


@dataclass(frozen=True)
class Fused:
    """A compiled region that writes to some of its inputs.

    ``updates`` gives for an output the input in whose memory it is: whoever calls ``function`` makes sure that nobody
    needs what was there. ``function`` returns the other outputs: a tuple, or the one, or ``None``.
    """

    function: Callable[..., Any]
    updates: Mapping[int, int]
    #: tells in lines of text what was compiled
    describe: Callable[[], list[str]] = list
    #: there is one output, which ``function`` returns as itself, and computes into the array given as ``out=``. That may be
    #: any memory of this shape and dtype, an input's too, of which nothing is needed later.
    takes_out: bool = False


class FusionExecutor(Executor):
    """An executor that compiles regions. Subclasses define the two methods."""

    #: operations in one region, at most
    region_limit = 256
    #: its code reports floating-point errors as NumPy does, so it may not compute what the program does not
    reports_errors = False
    #: operations of which none reads another's results may stand in one region
    joins_unrelated = True
    #: its regions may be :class:`Fused` with updates
    updates_inputs = True

    def can_fuse(self, bsym: BoundSymbol) -> bool:
        """Whether the executor can compile this operation as part of a region."""
        raise NotImplementedError

    def region_key(self, bsym: BoundSymbol) -> Hashable:
        """What operations have in common that may stand in one region."""
        return None

    def fuse(self, region: Region, name: str) -> Callable[..., Any] | Fused | None:
        """A callable from the region's inputs to the tuple of its outputs, or a :class:`Fused` one; ``None`` to leave the
        region to others."""
        raise NotImplementedError
