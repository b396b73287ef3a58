"""The interface of executors.

An :class:`OperatorExecutor` maps symbols to callables, one call per operation. A :class:`FusionExecutor` compiles each
region of a program to one callable. Their order in a list is their priority.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from keyword import iskeyword
from types import MappingProxyType
from typing import Any

import numpy as np

from tnp.core.context import registrations
from tnp.core.errors import ExtensionError
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy
from tnp.core.symbol import BoundSymbol, Namespace, OpTags, Symbol, id_of
from tnp.executors.options import identifier, name_with
from tnp.runtime import locks

__all__ = ["Executor", "Fused", "FusionExecutor", "Implementation", "OperatorExecutor", "Refusal", "Region", "value_of"]


#: held while a variant of an executor is made
_making = locks.lock()


@dataclass(frozen=True)
class Refusal:
    """A checker's "no", with a reason that ``tnp.explain`` and errors show. It is false.

    >>> from tnp.extend import Refusal
    >>> bool(Refusal("a head of 12 elements"))
    False
    """

    reason: str

    def __bool__(self) -> bool:
        return False


@dataclass(frozen=True)
class Implementation:
    """How an executor runs a symbol: as its own operation ``op``, or as the operations that ``execution_transform``
    calls.

    ``checker`` takes the symbol's arguments, with proxies for arrays, and says whether the executor supports them.
    ``in_place`` is the operation that changes the first argument's memory, for a symbol that updates it.
    """

    op: Symbol | None = None
    checker: Callable[..., bool | Refusal] | None = None
    execution_transform: Callable[..., Any] | None = None
    grad_transform: Callable[..., Any] | None = None
    in_place: Symbol | None = None
    #: the executor wants the symbol decomposed, to run its parts
    decomposes: bool = False


def value_of(x: Any) -> Any:
    """A Python number among an operation's arguments as itself, for checkers and rules; the program is then compiled for this value. An
    integer of NumPy's gives one of Python's.

    To compare a number (``x != 0``) records the comparison; where gradients are taken, only its value can be read.

    >>> from tnp.extend import value_of
    >>> value_of(0.5)
    0.5
    """
    if isinstance(x, np.integer):
        return int(x)  # a size, say, which proxies take as one of Python's
    return x.known() if isinstance(x, NumberProxy) else x


def difference(like: Callable[..., Any], fn: Callable[..., Any]) -> str | None:
    """The difference between the signatures of ``fn`` and ``like``; ``None`` if there is none, as far as it is known."""
    try:
        theirs, ours = inspect.signature(like), inspect.signature(fn)
    except (TypeError, ValueError):  # a function written in C does not tell
        return None
    said = f"like takes {theirs} and fn takes {ours}"
    wanted = list(theirs.parameters.values())
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in wanted):
        return None
    positional = [p for p in wanted if p.kind is not p.KEYWORD_ONLY]
    required = [p for p in positional if p.default is p.empty]
    keywords = [p.name for p in wanted if p.kind is p.KEYWORD_ONLY]
    for n in (len(required), len(positional)):
        try:
            ours.bind(*range(n), **dict.fromkeys(keywords))
        except TypeError:
            return said
    for p, q in zip(positional, ours.parameters.values()):
        if p.kind is q.kind is p.POSITIONAL_OR_KEYWORD and p.name != q.name:
            return said
    return None


def _giving_proxies(name: str, meta: Callable[..., Any], may_give_none: bool) -> Callable[..., Any]:
    """``meta``, with a check that it returns proxies: an error there would show late or never."""

    @functools.wraps(meta)
    def checked(*args: Any, **kwargs: Any) -> Any:
        output = meta(*args, **kwargs)
        if type(output) is TensorProxy or (may_give_none and output is None):
            return output
        results = output if isinstance(output, (tuple, list)) and output else (output,)
        for x in results:
            if not isinstance(x, Proxy):
                raise ExtensionError(
                    f"the meta of {name} returns {type(x).__name__} {x!r}, where proxies of the results' shapes and dtypes are wanted "
                    "(TensorProxy(like=a))"
                )
        return output

    return checked


class Executor:
    """The base of all executors: a ``name``, a ``version``, and the kind of arrays that its callables take and return.

    A class may declare ``options``. An executor with some of them is a *variant* of it (:meth:`with_options`), whose
    name has them in brackets.

    Raises ``TypeError`` for a name that is not a string, and ``ValueError`` for options that the class does not
    declare.

    >>> import tnp
    >>> numpy = tnp.extend.get_executor("numpy")
    >>> numpy.name, numpy.array_kind, numpy.unavailable() is None
    ('numpy', 'numpy', True)
    """

    #: ``"numpy"``, ``"torch"`` or ``"cupy"``; ``None``: whatever the language of the values has
    array_kind: str | None = None
    #: whether it compiles regions of operations, and not single ones
    is_fusing = False
    #: of the executor that is named as its kind: (kind, kind) → the operation that turns one into the other
    conversions: Mapping[tuple[str, str], Symbol] = MappingProxyType({})
    #: compiles runs of this executor's operations, and is asked before it
    fuser: FusionExecutor | None = None
    #: of that executor, too: the operations that copy an array, make uninitialised memory like it, and (maybe) large memory
    memory: tuple[Symbol, ...] | None = None
    #: the options that it has → what each does, in words
    options: Mapping[str, str] = MappingProxyType({})

    def __init__(self, name: str, *, version: Any = None, options: Iterable[str] = ()) -> None:
        if not isinstance(name, str) or not name:
            raise TypeError(f"an executor's name is a text, not {name!r}")
        #: the options of this variant; none, if it is the executor itself
        self.chosen_options = self._declared(name, options)
        self.name = name_with(name, self.chosen_options)
        self.version = version
        #: the executor without options: itself, or the one that it is a variant of
        self.plain: Executor = self
        self._variants: dict[frozenset[str], Executor] = {}

    @classmethod
    def _declared(cls, name: str, options: Iterable[str]) -> frozenset[str]:
        """These options, if all are declared. Raises ``ValueError``."""
        unknown = sorted(set(options) - cls.options.keys())
        if unknown:
            there = f"it has {', '.join(sorted(cls.options))}" if cls.options else "it has none"
            raise ValueError(f"the executor {name} has no option {', '.join(map(repr, unknown))}; {there}")
        return frozenset(options)

    def __repr__(self) -> str:
        return f"<executor {self.name}>"

    @property
    def identifier(self) -> str:
        """The name as a Python identifier: the prefix of its regions' names in programs."""
        return identifier(self.name)

    def implementation_of(self, sym: Symbol) -> Implementation | None:
        """The implementation of ``sym`` by this executor; ``None`` if there is none."""
        return None

    def pattern_rewrite(self, trace: Any, executors: Sequence[Any]) -> Any:
        """The program ``trace`` with groups of operations rewritten before ``executors`` claim single ones: as
        operations of this executor, with the replaced operations as subsymbols, or as operations that other executors
        run better. Returns ``trace`` itself if nothing matches.
        """
        return trace

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Executors that are known by name are pickled by name, others like any object."""
        from tnp.executors import registry

        if registry.is_registered(self):
            return registry.by_name, (self.name,)
        return super().__reduce_ex__(protocol)

    def with_options(self, *options: str) -> Executor:
        """This executor with further options: the same variant each time, for any order of options. Its name is
        ``"<executor>[<option>,<option>]"``.

        Raises ``ValueError``, listing the declared options, for an option that the class does not declare.

        >>> import tnp
        >>> numpy = tnp.extend.get_executor("numpy")
        >>> numpy.with_options("prims")
        <executor numpy[prims]>
        >>> numpy.with_options("prims") is tnp.extend.get_executor("numpy[prims]")
        True
        """
        plain = self.plain
        chosen = self.chosen_options | self._declared(plain.name, options)
        if chosen == self.chosen_options:
            return self
        with _making:
            found = plain._variants.get(chosen)
            if found is None:
                found = plain.make_variant(chosen)
                found.plain = plain
                plain._variants[chosen] = found
        return found

    def make_variant(self, options: frozenset[str]) -> Executor:
        """A new variant of this executor, which has no options, with these. Subclasses whose ``__init__`` takes other
        arguments than ``name``, ``version`` and ``options`` override it.
        """
        return type(self)(self.name, version=self.version, options=options)

    def with_fastmath(self) -> Executor:
        """This executor with relaxed floating-point arithmetic, for ``jit(fastmath=True)``; itself if it has none."""
        return self

    def unavailable(self) -> str | None:
        """Why the executor can run nothing on this machine, as a clause; ``None`` if it can."""
        return None

    def check_arrays(
        self, kinds: Sequence[tuple[Any, tuple[Any, ...], tuple[int, ...] | None, bool]]
    ) -> Callable[..., Any] | None:
        """A fast function that returns ``None`` unless its arguments are ndarrays of these ``kinds`` (dtype, shape,
        strides, whether they may be written to without a warning); ``None`` if the executor has none. Of a kind without strides are
        C-contiguous arrays, and in its shape a length ``-n`` is ``n`` at least, ``(i, d)`` that of dimension ``d`` of the argument ``i``
        before.
        """
        return None


class OperatorExecutor(Executor):
    """An executor that runs single operations. ``name`` is a unique string, ``version`` any string; ``options`` are
    among those that a subclass declares.

    >>> import numpy as np, tnp
    >>> from tnp.extend import OperatorExecutor
    >>> ex = OperatorExecutor("doubling", version="0.1")
    >>> double = ex.register_operator("double", like=lambda a: a + a, fn=lambda a: 2 * a)
    >>> tnp.jit(lambda a: double(a), executors=[ex])(np.arange(3.0))
    array([0., 2., 4.])
    """

    def __init__(self, name: str, *, version: Any = None, options: Iterable[str] = ()) -> None:
        super().__init__(name, version=version, options=options)
        self.implementations: dict[Any, Implementation] = {}
        self.operators: dict[str, Symbol] = {}
        self._lock = locks.lock()

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
        """Makes an operation that this executor runs as ``fn``: a symbol that jitted functions call. Rules of an
        earlier operation with the same id, of another executor of this name, are deleted.

        Args:
            name: what programs print; part of the symbol's id, ``"<executor>.<name>"``.
            like: a function that says what the operation computes, in terms of other operations. It takes proxies. The operation
                is then differentiable, other executors can run its parts, and ``vmap`` decomposes it.
            meta: a function from proxies to proxies of the results' shapes and dtypes, instead of ``like``. The operation is then
                opaque: it has a gradient once :func:`tnp.register_grad` gives it one.
            fn: takes and returns arrays: tensors for tensors, ndarrays for ndarrays.
            tags: what passes must know of it (:class:`OpTags`), such as ``OpTags.EFFECT`` or ``OpTags.RANDOM``.
            namespace: where programs find it, if not in the program itself (:class:`Namespace`): ``fn`` is then not what they call.
            printer: a function of the bound symbol and the program's names that writes the statement, in place of a call.

        Raises:
            ValueError: the executor has an operator of that name; ``name`` is no Python name; not exactly one of ``like`` and
                ``meta`` is given; ``like`` takes other arguments than ``fn``.
            TypeError: ``like``, ``meta`` or ``fn`` is not callable.

        >>> import numpy as np, tnp
        >>> from tnp.extend import OperatorExecutor, TensorProxy
        >>> ex = OperatorExecutor("rows")
        >>> row_sums = ex.register_operator(
        ...     "row_sums", meta=lambda a: TensorProxy(like=a, shape=a.shape[:1]), fn=lambda a: a.sum(axis=1)
        ... )
        >>> tnp.jit(lambda x: row_sums(x) * 2, executors=[ex])(np.ones((2, 3)))
        array([6., 6.])
        """
        if (like is None) == (meta is None):
            raise ValueError(f"register_operator({name!r}) needs either like= or meta=")
        if not name.isidentifier() or iskeyword(name):
            raise ValueError(f"register_operator({name!r}): programs print the name, so it must be a Python name")
        given = {"like": like, "meta": meta, "fn": fn}
        for what, function in given.items():
            if function is not None and not callable(function):
                raise TypeError(
                    f"register_operator({name!r}): {what}= takes a function, not {type(function).__name__} {function!r}"
                )
        if like is not None:
            different = difference(like, fn)
            if different is not None:
                raise ValueError(
                    f"register_operator({name!r}): like= and fn= must take the same arguments, but {different}"
                )
        tags = frozenset(tags)
        with self._lock:
            if name in self.operators:
                raise ValueError(f"the executor {self.name} has an operator {name!r} already")
            symbol = Symbol(
                name,
                like if meta is None else _giving_proxies(name, meta, OpTags.EFFECT in tags),
                id=f"{self.name}.{name}",
                is_prim=like is None,
                tags=tags,
                namespace=namespace,
                printer=printer,
                executor=self,
                fn=fn,
            )
            symbol.follows_arguments = True
            self.implementations[symbol.id] = Implementation(symbol)
            self.operators[name] = symbol
        registrations.defined(symbol.id)
        return symbol

    def register_implementation(
        self,
        symbol_or_id: Any,
        op: Symbol | None = None,
        *,
        checker: Callable[..., bool | Refusal] | None = None,
        execution_transform: Callable[..., Any] | None = None,
        grad_transform: Callable[..., Any] | None = None,
        in_place: Symbol | None = None,
    ) -> None:
        """Makes this executor claim an operation. Registering again replaces the earlier registration, and functions
        compiled with this executor compile again at their next call.

        Args:
            symbol_or_id: the operation: a symbol (``tnp.lang.numpy.multiply``, ``prims.add``) or its id (``PrimIDs.ADD``,
                ``"numpy.multiply"``, ``"torch.nn.functional.cross_entropy"``).
            op: one of this executor's operators, called with the very arguments of the operation.
            checker: takes the arguments, proxies for arrays, and says whether this executor may run them; the next executor is
                tried if not. A :class:`Refusal` is a "no" with its reason. It sees no data. It may read the value of a Python number among
                the arguments; a guard then makes the program valid for this value only.
            execution_transform: instead of ``op``, a function that is traced in the operation's place, after gradients have been
                taken. Executors then claim the operations that it calls.
            grad_transform: the operation's gradient rule where this executor is in use, as :func:`tnp.register_grad` takes one.
            in_place: instead of ``op``, for operations that change their first argument: the operator that does.

        Raises:
            ValueError: there is nothing to run, or no operation of that id.
            TypeError: ``op`` is no symbol, one of the functions cannot be called, or a function of the library stands for its symbol.

        >>> import numpy as np, tnp
        >>> from tnp.extend import OperatorExecutor
        >>> ex = OperatorExecutor("doubling")
        >>> ex.register_implementation("numpy.square", execution_transform=lambda x: x * x, checker=lambda x: x.ndim == 1)
        >>> f = tnp.jit(lambda x: np.square(x), executors=[ex, "numpy"])
        >>> f(np.array([2.0, 3.0]))
        array([4., 9.])
        >>> [b.sym.name for b in tnp.last_traces(f)[-1].body]
        ['multiply']
        """
        if op is None and execution_transform is None and in_place is None and grad_transform is None:
            raise ValueError("register_implementation needs op=, execution_transform= or grad_transform=")
        for what, symbol in (("op", op), ("in_place", in_place)):
            if symbol is not None and (not isinstance(symbol, Symbol) or symbol.executor is None):
                raise TypeError(
                    f"{what}= takes an executor's operation, as register_operator returns one, not {symbol!r}"
                )
        functions = {
            "checker": checker,
            "execution_transform": execution_transform,
            "grad_transform": grad_transform,
        }
        for what, function in functions.items():
            if function is not None and not callable(function):
                raise TypeError(f"{what}= takes a function, not {type(function).__name__} {function!r}")
        key = id_of(symbol_or_id)
        self.implementations[key] = Implementation(op, checker, execution_transform, grad_transform, in_place)
        users = (self, *self._variants.values())
        registrations.note(f"the executor {self.name} has another implementation", lambda f: any(map(f.uses, users)))

    def implementation_of(self, sym: Symbol) -> Implementation | None:
        """The implementation of ``sym``; ``None`` if there is none. A variant uses the implementations of its executor
        unless it has its own. Subclasses may add others.
        """
        found = self.implementations.get(sym.id)
        return found if found is not None or self.plain is self else self.plain.implementation_of(sym)


@dataclass(frozen=True)
class Region:
    """A part of a program for a fusing executor: its ``bound_symbols`` in order, the proxies that they read
    (``inputs``), and those of their results that are read outside (``outputs``).

    ``stores``, ``run_unfused`` and ``whole`` are for executors whose regions write to their inputs: the destination of
    an output, the unfused fallback, and whether the region is the whole program. ``length`` tells how much is compiled
    in all. An example is at :class:`FusionExecutor`.
    """

    bound_symbols: tuple[BoundSymbol, ...]
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    #: output → the input in whose memory it will be stored: a hint
    stores: Mapping[int, int] | None = None
    #: makes a callable like a :class:`Fused` one out of single operations of other executors, for arguments that the fuser
    #: cannot take. It takes the outputs that are updates of inputs.
    run_unfused: Callable[[Mapping[int, int]], Callable[..., Any]] | None = None
    #: it is all that the program does
    whole: bool = False
    #: the operations of the program that it is a part of, 0 inside of loops and branches
    length: int = 0


@dataclass(frozen=True)
class Fused:
    """A compiled region that writes to some of its inputs.

    ``updates`` maps an output to the input whose memory it reuses, which must have its shape and dtype: the caller of
    ``function`` guarantees that the old contents are dead. ``function`` returns the other outputs: a tuple, a single
    one, or ``None``. ``describe`` returns the text for :func:`tnp.explain`; ``takes_out`` is for a region of one output
    that can be computed into given memory.

    >>> import numpy as np, tnp
    >>> from tnp.extend import Fused, FusionExecutor
    >>> class Negating(FusionExecutor):
    ...     "Negates arrays, where they are stored again in their own memory."
    ...     def can_fuse(self, bsym):
    ...         return bsym.sym.name == "negative"
    ...     def fuse(self, region, name):
    ...         if not region.stores:
    ...             return None
    ...         ((output, place),) = region.stores.items()
    ...         return Fused(lambda *inputs: np.negative(inputs[0], out=inputs[place]) and None, {output: place})
    >>> def negate(x):
    ...     x[:] = -x
    >>> x = np.array([1.0])
    >>> tnp.jit(negate, executors=[Negating("negating")])(x)
    >>> x
    array([-1.])
    """

    function: Callable[..., Any]
    updates: Mapping[int, int]
    #: tells in lines of text what was compiled
    describe: Callable[[], list[str]] = list
    #: there is one output, which ``function`` returns as itself, and computes into the array given as ``out=``. That may be
    #: any memory of this shape and dtype, an input's too, of which nothing is needed later.
    takes_out: bool = False


class FusionExecutor(Executor):
    """An executor, with a ``name`` and a ``version``, that compiles each region of operations to one callable.
    Subclasses define :meth:`can_fuse` and :meth:`fuse`, and may declare ``options``.

    >>> import numpy as np, tnp
    >>> from tnp.extend import FusionExecutor
    >>> class Chains(FusionExecutor):
    ...     "Runs chains of negations and sines."
    ...     def can_fuse(self, bsym):
    ...         return bsym.sym.name in ("sin", "negative")
    ...     def fuse(self, region, name):
    ...         def run(*inputs):
    ...             values = {p.name: x for p, x in zip(region.inputs, inputs)}
    ...             for b in region.bound_symbols:
    ...                 values[b.output.name] = getattr(np, b.sym.name)(values[b.args[0].name])
    ...             return tuple(values[p.name] for p in region.outputs)
    ...         return run
    >>> f = tnp.jit(lambda x: -np.sin(x), executors=[Chains("chains")])
    >>> f(np.zeros(2))
    array([-0., -0.])
    >>> [b.sym.name for b in tnp.last_traces(f)[-1].body]
    ['chains_fusion0']
    """

    is_fusing = True

    #: operations in one region, at most
    region_limit = 256
    #: Operations in one region, at most, where a cut would have more than ``cached_bytes`` cross from one to the next;
    #: ``None``: no more than the ``region_limit``.
    longest_region: int | None = None
    #: bytes that the next region finds in the cache
    cached_bytes = 0
    #: inputs and results of one region, at most, about
    most_operands: int | None = None
    #: its code reports floating-point errors as NumPy does, so it may not compute what the program does not
    reports_errors = False
    #: regions may be disconnected: operations without common values may share one
    allow_disconnected = True
    #: its regions may be :class:`Fused` with updates
    updates_inputs = True

    def can_fuse(self, bsym: BoundSymbol) -> bool | Refusal:
        """Whether the executor can compile the operation ``bsym`` as part of a region; a :class:`Refusal` gives the
        reason if not. Raises ``NotImplementedError`` unless a subclass overrides it.
        """
        raise NotImplementedError

    def decomposes(self, bsym: BoundSymbol) -> bool:
        """Whether the operation ``bsym``, which the executor cannot compile, should be decomposed into parts that it can compile,
        instead of being left whole to the next executors."""
        return False

    def needs_known_sizes(self, bsym: BoundSymbol) -> bool:
        """Whether the operation ``bsym``, which has symbolic sizes, would be compiled if its sizes were known, and is not."""
        return False

    def joins_any(self, bsym: BoundSymbol) -> bool:
        """Whether the operation ``bsym`` may be part of a region with another key, too."""
        return False

    def region_key(self, bsym: BoundSymbol) -> Hashable:
        """The key of the operation ``bsym``: all operations of a region have equal keys."""
        return None

    def inputs_of(self, bound_symbols: Sequence[BoundSymbol], inputs: Sequence[Any]) -> Sequence[Any]:
        """Those of the ``inputs`` of a region of some ``bound_symbols`` that the executor wants to be passed: not a symbolic size that it
        reads from an array.
        """
        return inputs

    def fuse(self, region: Region, name: str) -> Callable[..., Any] | Fused | None:
        """A callable from the region's inputs to the tuple of its outputs, or a :class:`Fused`; ``None`` leaves the
        region to other executors. Programs call it by ``name``. Raises ``NotImplementedError`` unless a subclass
        overrides it.
        """
        raise NotImplementedError
