"""Symbols and bound symbols: operations, and their uses in a program.

A :class:`Symbol` is an operation. Its *meta* function checks proxies and returns proxies for the results. A call of a
symbol inside a trace records a :class:`BoundSymbol`: the operation, its arguments and results, and as ``subsymbols``
the calls of its meta. A *prim* has no subsymbols: it is a leaf that an executor must run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum, auto
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tnp.core import devices, languages
from tnp.core.context import state
from tnp.core.devices import Device
from tnp.core.errors import NeedsOpaque, UserLocation
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy
from tnp.core.symbols import is_symbol
from tnp.core.tuples import with_items

if TYPE_CHECKING:
    from tnp.core.trace_templates import Templates

__all__ = [
    "BoundSymbol",
    "Namespace",
    "OpTags",
    "Symbol",
    "device_of",
    "flat_proxies",
    "id_of",
    "leaves_of",
    "make_operation",
    "map_proxies",
    "operation_of",
]


class OpTags(Enum):
    """What passes need to know of an operation beyond its meta.

    >>> import tnp.lang.numpy as lnp
    >>> from tnp.extend import OpTags
    >>> OpTags.VIEW in lnp.transpose.tags, OpTags.VIEW in lnp.sort.tags
    (True, False)
    """

    #: members are compared by identity; the hash that Enum defines in Python costs every tag test a call
    __hash__ = object.__hash__

    #: result i depends on element i of each (equally shaped) argument only; implementations take ``out=``
    ELEMENTWISE = auto()
    #: the result may be a view of the first argument's memory
    VIEW = auto()
    #: the result is the first argument with some elements replaced, and may use its memory
    UPDATE = auto()
    #: the first argument's memory as an array of another library
    CONVERSION = auto()
    #: a copy of it, where the other library has no arrays that lie so (negative strides)
    MAY_COPY = auto()
    #: changes something outside the program or depends on it: kept, once, in order
    EFFECT = auto()
    #: warns, which is all that it does
    WARNS = auto()
    #: assigns an attribute or items of a user's object: what it assigns is a result of the program
    ASSIGNS = auto()
    #: asks for the time: what stands before it is computed before it, and what stands behind it after it
    BARRIER = auto()
    #: may raise at run time because of values (a singular matrix, an index out of bounds)
    MAY_RAISE = auto()
    #: what it returns is compared with what the trace was told; on a difference the call starts over, eagerly
    LATE_GUARD = auto()
    #: makes an array of nothing: merging two of them saves nothing
    FACTORY = auto()
    #: draws random numbers
    RANDOM = auto()
    #: what it returns does not depend on its arguments as far as derivatives go (``x.detach()``)
    DETACHES = auto()
    #: shape manipulation
    SHAPE_OP = auto()
    #: reduces dimensions
    REDUCTION = auto()
    #: an executor's operation that takes ``out=``
    TAKES_OUT = auto()
    #: part of how a program is written down, not something to execute
    PROGRAM = auto()
    #: the last line of a program, whose argument is what it returns
    RETURNS = auto()
    #: a loop or a branch: bodies are among its arguments (:mod:`tnp.core.subtraces`), and it runs as the Python that it prints
    CONTROL_FLOW = auto()
    #: ``a[key]``, of an array and a key: a view, or a copy where arrays of indices are in the key
    SUBSCRIPT = auto()
    #: a product of vectors, matrices or tensors: it takes long, and reads an element several times
    PRODUCT = auto()
    #: such a product that is ``a @ b`` for operands of one and two dimensions
    MATMUL = auto()
    #: a product whose result is new memory in C's order, whoever runs it: what alone reads it may write over it
    OVERWRITABLE = auto()
    #: half precision is computed in another dtype and rounded once: its parts are the same function in that dtype
    ROUNDS_ONCE = auto()
    #: ``a ** b``: integers refuse some exponents
    POWER = auto()
    #: raises for an integer by zero
    REFUSES_ZERO = auto()
    #: takes arrays of any size, 0 among them, and never raises because of it
    ANY_SIZE = auto()
    #: makes an array of a list, whose scalars it may refuse
    TAKES_LISTS = auto()
    #: an update that does not refuse every array that cannot be written to
    MAY_TAKE_READ_ONLY = auto()
    #: its parts compiled are faster than what a library makes of it
    BETTER_OPENED = auto()
    #: an effect that only tells a library that its argument's memory was written
    NOTES_WRITE = auto()
    #: sets how floating-point errors are reported, by keyword arguments; the result is what was set before
    ENTERS_ERRSTATE = auto()
    #: sets how they were reported before, its argument
    EXITS_ERRSTATE = auto()


class Namespace:
    """The module that a symbol's printed name belongs to: ``Namespace("np", "import numpy as np")``, a ``prefix`` and
    the ``import_line`` that defines it, prints ``np.add``.

    >>> from tnp.extend import Namespace, Symbol
    >>> Symbol("add", lambda a, b: a, namespace=Namespace("np", "import numpy as np")).qualified_name
    'np.add'
    """

    __slots__ = ("import_line", "prefix")

    def __init__(self, prefix: str, import_line: str) -> None:
        self.prefix = prefix
        self.import_line = import_line


Printer = Callable[["BoundSymbol", dict[str, Any]], str]

_outside_trace: list[Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]] = []


def call_outside_trace_with(handler: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any]) -> None:
    """Sets what a symbol called outside any trace does (the API compiles and runs that one operation)."""
    _outside_trace[:] = [handler]


_printed: list[Callable[[BoundSymbol], str]] = []


def print_uses_with(printer: Callable[[BoundSymbol], str]) -> None:
    """Sets what a bound symbol prints as (:mod:`tnp.core.printing`)."""
    _printed[:] = [printer]


class Symbol:
    """An operation. Extensions get theirs from :meth:`~tnp.extend.OperatorExecutor.register_operator` and :func:`~tnp.extend.make_prim`.

    ``name`` is what programs print, ``id`` what tables are keyed by; ``meta`` takes proxies and gives those of the results, by calling
    other operations unless the symbol ``is_prim``. ``tags`` are :class:`OpTags`; ``language`` is the one that metas are run in.
    ``namespace`` and ``printer`` say how uses print; ``executor`` is the executor it belongs to, if it is one's own operation, and ``fn``
    then the callable that runs it. Outside of tracing a call compiles and runs that one operation.

    >>> import numpy as np
    >>> import tnp.lang.numpy as lnp
    >>> lnp.square.id, lnp.square(np.array([2.0, 3.0]))
    ('numpy.square', array([4., 9.]))
    """

    __slots__ = (
        "__dict__",
        "executor",
        "fn",
        "id",
        "implements",
        "is_prim",
        "language",
        "meta",
        "name",
        "namespace",
        "printer",
        "tags",
    )

    #: the operator of Python's that a use stands for, where an executor may run that
    operator: str | None = None
    #: results belong to the language of the arguments, as those of an extension's operation do
    follows_arguments: bool = False
    #: of an operation without a gradient rule, the one that pulls cotangents back through it:
    #: ``(cotangents, which tensors among the inputs, args, kwargs)`` → their cotangents
    pulls_back: Symbol | None = None
    #: of such an operation, one that remembers what it did, ``(which tensors among the inputs, args, kwargs)`` → its results and a record, and
    #: the one that pulls cotangents back by that: ``(cotangents, which tensors, record, results, args, kwargs)`` → their cotangents
    records: tuple[Symbol, Symbol] | None = None
    #: of a compiled region that writes to its inputs, which of its outputs are in the memory of which of them
    updates: Mapping[int, int] | None = None
    #: of an operation whose first result always has a memory order of its own, that order, as ``prims.stride_order`` takes it
    memory_order: tuple[int, ...] | None = None
    #: of an operation whose meta depends on its arguments alone, what it recorded on those that it was called with
    templates: Templates | None = None
    #: of such a one, the executor's operation as it was registered
    registered: Symbol | None = None
    #: by id and tags of what it runs, what :meth:`implementing` made
    _implementing: Mapping[tuple[Any, frozenset[OpTags]], Symbol] = MappingProxyType({})

    def __init__(
        self,
        name: str,
        meta: Callable[..., Any],
        *,
        id: Any = None,
        is_prim: bool = False,
        tags: Iterable[OpTags] = (),
        namespace: Namespace | None = None,
        printer: Printer | None = None,
        language: languages.Language | None = None,
        executor: Any = None,
        fn: Callable[..., Any] | None = None,
    ) -> None:
        self.name = name
        self.__name__ = name
        self.meta = meta
        self.id = name if id is None else id
        self.is_prim = is_prim
        self.tags = frozenset(tags)
        self.namespace = namespace
        self.printer = printer
        self.language = language
        self.executor = executor
        self.fn = fn
        #: of an executor's own operation in a claimed trace, what it runs there; ``None`` for all others
        self.implements: Symbol | None = None
        self.__doc__ = meta.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        trace = state.trace
        if trace is None:
            if any(
                True for _ in flat_proxies((args, kwargs))
            ):  # a pass that compares or multiplies sizes known at run time only
                raise AssertionError(f"{self.qualified_name} is called with a program's values where none is recorded")
            return _outside_trace[0](self, args, kwargs)
        language = _language_of((args, kwargs)) if self.follows_arguments else self.language
        if self.is_prim:
            if language is None:
                output = self.meta(*args, **kwargs)
            else:
                with languages.language_context(language):
                    output = self.meta(*args, **kwargs)
            trace.record(BoundSymbol(self, args, kwargs, output))
            return output
        templates = None if kwargs else self.templates
        if templates is not None:
            known = templates.use(trace, self, args)
            if known is not None:
                trace.record(known)
                return known.output
        before = None if language is None else languages.set_current(language)
        scope = trace.push_scope()
        kept: list[BoundSymbol] = []
        try:
            output = self.meta(*args, **kwargs)
        except NeedsOpaque:  # numbers that the trace has come to depend on keep their definitions
            kept = [b for b in scope if b.flat_outputs and all(isinstance(p, NumberProxy) for p in b.flat_outputs)]
            raise
        finally:
            trace.pop_scope()
            for b in kept:
                trace.record(b)
            if before is not None:
                languages.set_current(before)
        if scope or OpTags.EFFECT in self.tags or not self._returns_its_input(args, kwargs, output):
            bsym = BoundSymbol(self, args, kwargs, output, scope)
            trace.record(bsym)
            if templates is not None:
                templates.learn(bsym)
        return output

    @staticmethod
    def _returns_its_input(args: Any, kwargs: Any, output: Any) -> bool:
        inputs = {p.name for p in flat_proxies((args, kwargs))}
        return all(p.name in inputs or is_symbol(p) for p in flat_proxies(output))  # sizes need no operation

    def bind(self, *args: Any, output: Any, subsymbols: Iterable[BoundSymbol] = (), **kwargs: Any) -> BoundSymbol:
        """A use of the operation with a given ``output``, made of ``subsymbols``, recorded nowhere."""
        return BoundSymbol(self, args, kwargs, output, subsymbols)

    def implementing(self, symbol: Symbol) -> Symbol:
        """An executor's operation for ``symbol`` in a trace, the same one each time: ``implements`` is ``symbol``, and
        it has the tags of both, except those on how ``symbol`` itself is called (``TAKES_OUT``).
        """
        key = symbol.id, symbol.tags
        made: Symbol | None = self._implementing.get(key)
        if made is None:
            made = Symbol(
                self.name, self.meta, id=self.id, is_prim=self.is_prim, tags=self.tags | (symbol.tags - {OpTags.TAKES_OUT}),
                namespace=self.namespace, printer=self.printer, language=self.language, executor=self.executor, fn=self.fn,
            )  # fmt: skip
            made.operator, made.follows_arguments = self.operator, self.follows_arguments
            made.pulls_back, made.records = self.pulls_back, self.records
            made.implements, made.registered = symbol.implements or symbol, self.registered or self
            self._implementing = {**self._implementing, key: made}
        return made

    def __repr__(self) -> str:
        return f"<symbol {self.qualified_name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _find_symbol, (self.namespace.import_line if self.namespace else "", self.qualified_name)

    @property
    def qualified_name(self) -> str:
        """The name that a trace prints: ``prims.add``."""
        return f"{self.namespace.prefix}.{self.name}" if self.namespace is not None else self.name


def id_of(operation: Any) -> Any:
    """The id that tables use for an operation: of a symbol, or an id itself.

    Raises ``TypeError`` for functions of a library, which are not symbols, and ``ValueError`` for an unknown id of a
    function.
    """
    if isinstance(operation, Symbol):
        return operation.id
    if callable(operation):
        name = getattr(operation, "__name__", "sin")
        raise TypeError(
            f"which operation is meant is said by a symbol (tnp.lang.numpy.{name}, tnp.lang.torch.{name}) or an id ('numpy.{name}', "
            f"'torch.{name}', PrimIDs.ADD), not by {operation!r}"
        )
    if isinstance(operation, str) and not languages.known_operation(operation):
        library = operation.partition(".")[0]
        raise ValueError(f"there is no operation {operation!r}: {library} has no function of that name")
    return operation


def _language_of(x: Any) -> languages.Language | None:
    """The language of the arrays in ``x``; of several the one with the highest rank, ``None`` if there are no arrays."""
    found: list[languages.Language] = [p.lang for p in flat_proxies(x) if isinstance(p, TensorProxy)]
    return max(found, key=lambda language: language.rank, default=None)


def _find_symbol(import_line: str, qualified_name: str) -> Any:
    scope: dict[str, Any] = {}
    exec(import_line, scope)
    prefix, *path = qualified_name.split(".")
    found = scope[prefix]
    for name in path:
        found = getattr(found, name)
    return found


def device_of(bsym: BoundSymbol) -> Device:
    """Where the first array that an operation makes is; the current device if it makes none."""
    return next((p.device for p in bsym.flat_outputs if isinstance(p, TensorProxy)), devices.current())


class BoundSymbol:
    """A use of a symbol: ``output = sym(*args, **kwargs)``, what it does in terms of ``subsymbols``, and the user's line, ``location``.

    >>> import numpy as np, tnp
    >>> bsym = tnp.trace()(lambda x: np.square(x), np.ones(2)).bound_symbols[1]
    >>> bsym.sym.id, bsym.args, bsym.output.type_string(), [s.sym.name for s in bsym.subsymbols]
    ('numpy.square', (<TensorProxy x: "cpu f64[2]">,), 'cpu f64[2]', ['square'])
    """

    __slots__ = (
        "_inputs",
        "_outputs",
        "_tags",
        "args",
        "kwargs",
        "location",
        "operation",
        "output",
        "subsymbols",
        "sym",
    )

    def __init__(
        self,
        sym: Symbol,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        output: Any,
        subsymbols: Iterable[BoundSymbol] = (),
        location: UserLocation | None = None,
    ) -> None:
        self.sym = sym
        #: what is done, whoever does it: ``sym``, or what that stands for where an executor has claimed it
        self.operation: Symbol = sym.implements or sym
        self.args = args
        self.kwargs = kwargs
        self.output = output
        self.subsymbols = tuple(subsymbols)
        self.location = location
        self._inputs: tuple[Proxy, ...] | None = None
        self._outputs: tuple[Proxy, ...] | None = None
        self._tags: frozenset[OpTags] | None = None

    @property
    def flat_inputs(self) -> tuple[Proxy, ...]:
        """The proxies among the arguments, in order, repeats included."""
        if self._inputs is None:
            found = flat_proxies(self.args)
            if self.kwargs:
                found += flat_proxies(self.kwargs)
            self._inputs = tuple(found)
        return self._inputs

    @property
    def flat_outputs(self) -> tuple[Proxy, ...]:
        """The proxies among the results, in order."""
        if self._outputs is None:
            self._outputs = tuple(flat_proxies(self.output))
        return self._outputs

    def has_tag(self, tag: OpTags) -> bool:
        """Whether the symbol has ``tag``."""
        return tag in self.sym.tags

    @property
    def tags_inside(self) -> frozenset[OpTags]:
        """The tags of the symbol and of its subsymbols and bodies."""
        if self._tags is None:
            if not self.subsymbols and OpTags.CONTROL_FLOW not in self.sym.tags:
                self._tags = self.sym.tags
                return self._tags
            bodies = [a for a in self.args if hasattr(a, "tags_inside")] if OpTags.CONTROL_FLOW in self.sym.tags else ()
            self._tags = self.sym.tags.union(*(x.tags_inside for x in (*self.subsymbols, *bodies)))
        return self._tags

    def has_tag_inside(self, tag: OpTags) -> bool:
        """Whether the symbol, or one of its subsymbols or bodies, has ``tag``."""
        return tag in self.tags_inside

    def replace(self, **changes: Any) -> BoundSymbol:
        """A copy with ``changes``: another ``sym``, ``args``, ``kwargs``, ``output``, ``subsymbols`` or ``location``."""
        fields = {name: changes.get(name, getattr(self, name)) for name in _FIELDS}
        return BoundSymbol(**fields)

    def substitute(self, names: dict[str, Any]) -> BoundSymbol:
        """A copy, subsymbols included, in which proxies are replaced as ``names`` says, by name; itself if there are none of them."""
        if not names or not self._mentions(names):
            return self

        def swap(p: Proxy) -> Any:
            return names.get(p.name, p)

        return self.remade(
            self.sym,
            map_proxies(swap, self.args),
            map_proxies(swap, self.kwargs),
            map_proxies(swap, self.output),
            [s.substitute(names) for s in self.subsymbols],
            self.location,
        )

    def _mentions(self, names: dict[str, Any]) -> bool:
        for p in (*self.flat_inputs, *self.flat_outputs):
            if p.name in names:
                return True
        return any(s._mentions(names) for s in self.subsymbols)

    def remade(self, *fields: Any) -> BoundSymbol:
        """A bound symbol of this kind with these fields."""
        return type(self)(*fields)

    def __str__(self) -> str:
        return _printed[0](self)

    __repr__ = __str__


_FIELDS = ("sym", "args", "kwargs", "output", "subsymbols", "location")


def flat_proxies(x: Any) -> list[Proxy]:
    """The proxies in nested tuples, lists, dicts and slices, in order."""
    found: list[Proxy] = []
    _collect(x, found)
    return found


def _collect(x: Any, found: list[Proxy]) -> None:
    if type(x) in _ATOMS:
        return
    if isinstance(x, Proxy):
        found.append(x)
    elif type(x) in _SEQUENCES or isinstance(x, (tuple, list)):
        for y in x:
            _collect(y, found)
    elif isinstance(x, dict):
        for y in x.values():
            _collect(y, found)
    elif type(x) is slice:
        _collect((x.start, x.stop, x.step), found)
    elif hasattr(x, "__tnp_children__"):
        _collect(x.__tnp_children__(), found)


_SEQUENCES = frozenset((tuple, list))
#: kinds of values that hold nothing, which most constants are of
_ATOMS = frozenset((int, float, bool, complex, str, type(None)))


def leaves_of(b: BoundSymbol) -> list[BoundSymbol]:
    """The prims in an operation's decomposition."""
    return [b] if not b.subsymbols else [p for s in b.subsymbols for p in leaves_of(s)]


def map_proxies(f: Callable[[Proxy], Any], x: Any) -> Any:
    """``x`` with ``f`` applied to the proxies in nested tuples, lists, dicts and slices."""
    if type(x) in _ATOMS:
        return x
    if isinstance(x, Proxy):
        return f(x)
    if isinstance(x, tuple):
        items = [map_proxies(f, y) for y in x]
        if type(x) is not tuple and all(a is b for a, b in zip(items, x)):
            return x
        return with_items(x, items) if hasattr(x, "_fields") else tuple(items)
    if isinstance(x, list):
        return [map_proxies(f, y) for y in x]
    if isinstance(x, dict):
        return {k: map_proxies(f, y) for k, y in x.items()}
    if type(x) is slice:
        return slice(map_proxies(f, x.start), map_proxies(f, x.stop), map_proxies(f, x.step))
    if hasattr(x, "__tnp_children__"):
        return x.__tnp_rebuild__(map_proxies(f, x.__tnp_children__()))
    return x


#: by their ``id``, callables that :func:`tnp.extend.operation` has made operations, and these
_operations: dict[int, tuple[Any, Symbol]] = {}


def make_operation(function: Any, symbol: Symbol) -> None:
    """Makes calls of ``function`` in programs calls of ``symbol``."""
    _operations[id(function)] = function, symbol


def operation_of(function: Any) -> Symbol | None:
    """The operation that ``function`` was made by :func:`make_operation`; ``None`` for others."""
    found = _operations.get(id(function)) if _operations else None
    return None if found is None else found[1]
