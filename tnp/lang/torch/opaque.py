"""Opaque calls: torch functions without a definition, or with arguments that their definition does not support.

Fake tensors, which have shapes, strides and dtypes but no data, give the metadata of the results. Functions that need
data (``torch.nonzero``), change an argument or return a view of one make the program run eagerly.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from tnp.core import sizes, symbols
from tnp.core.errors import NeedsEager
from tnp.core.proxies import NumberProxy, ObjectProxy, Proxy, TensorProxy
from tnp.core.symbol import Namespace, OpTags, Symbol, flat_proxies, map_proxies
from tnp.core.tuples import with_items
from tnp.lang.torch.dtypes import to_device, to_dtype, to_torch_device, to_torch_dtype
from tnp.lang.torch.registry import called_opaquely, language, public_name
from tnp.lang.torch.symbolic_shapes import NotSymbolic, ShapeSymbols, has_symbols
from tnp.runtime import locks
from tnp.runtime.quiet import quiet

__all__ = ["DryRun", "dependences", "dry_run", "generator_state", "pulling", "symbol_for"]


class _Watch(TorchDispatchMode):
    """Sees the operations that a function is made of."""

    def __init__(self) -> None:
        super().__init__()
        self.draws = False

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if torch.Tag.nondeterministic_seeded in function.tags and not _drops_nothing(function, args, kwargs or {}):
            self.draws = True
        return function(*args, **(kwargs or {}))


def _drops_nothing(function: Any, args: Any, kwargs: Any) -> bool:
    """Whether an operation that draws numbers to drop elements drops none: attention without dropout."""
    for i, a in enumerate(function._schema.arguments):
        if a.name == "dropout_p":
            return (args[i] if i < len(args) else kwargs.get(a.name, a.default_value)) == 0
    return False


@dataclass
class DryRun:
    """What a call returned on fake tensors: proxies in their place, the strides of each, and whether it drew numbers."""

    result: Any
    strides: dict[str, tuple[int, ...]]
    draws: bool
    #: whether the result is a view of the first argument
    is_view: bool = False


def dry_run(
    function: Callable[..., Any], args: Any, kwargs: Any, strides: Mapping[str, tuple[int, ...] | None]
) -> DryRun:
    """Runs ``function`` on fake tensors for proxies. ``strides`` are those of tensors that are not row-major, by name.

    Symbolic sizes are symbols of PyTorch's in it; where that cannot be, the trace comes to depend on them.
    """
    if has_symbols(flat_proxies((args, kwargs))):
        if function in _RECURRENT and not kwargs:
            return _of_layers(args)
        if getattr(function, "replayed", None) in _RECURRENT and not kwargs:
            return _of_layers(args[1:])
        try:
            return _dry_run(function, args, kwargs, strides, ShapeSymbols())
        except (NotSymbolic, NeedsEager):
            pass
    return _dry_run(function, args, kwargs, strides, None)


#: layers of recurrent networks, whose loops over the elements of a sequence PyTorch's symbols do not take
_RECURRENT = frozenset((torch.lstm, torch.gru, torch.rnn_tanh, torch.rnn_relu))


def _of_layers(args: Any) -> DryRun:
    """What layers of a recurrent network return for sequences of any length: outputs, which lie as ``(length, batch, features)``, and the
    last states. Raises :class:`NeedsEager` for packed sequences."""
    x, states, weights, _, layers, dropout, trains, bidirectional, batch_first, *more = args
    states = states if isinstance(states, (tuple, list)) else [states]
    if more or x.ndim != 3 or isinstance(weights, TensorProxy) or not all(s.ndim == 3 for s in states):
        raise NeedsEager("a call of recurrent layers with a packed sequence is not compiled")

    found: dict[str, Any] = {}

    def like(p: TensorProxy, shape: Any, order: Sequence[int] = (0, 1, 2)) -> TensorProxy:
        """A result whose dimensions lie in memory in this order."""
        made = TensorProxy(shape=tuple(shape), dtype=p.dtype, device=p.device, lang=language)
        steps, size = {}, 1
        for d in reversed(order):
            steps[d] = size
            size = symbols.extent(made.shape[d]) * size
        found[made.name] = tuple(steps[d] for d in range(3))
        return made

    features = (2 if bidirectional else 1) * states[0].shape[2]
    out = like(x, (*x.shape[:2], features), (1, 0, 2) if batch_first else (0, 1, 2))
    return DryRun((out, *(like(s, s.shape) for s in states)), found, bool(dropout and trains and layers > 1))


def _dry_run(
    function: Callable[..., Any], args: Any, kwargs: Any, strides: Mapping[str, tuple[int, ...] | None],
    shapes: ShapeSymbols | None,
) -> DryRun:  # fmt: skip
    name = getattr(function, "__name__", str(function))
    if name.startswith("quantize_per_"):  # fake tensors are never quantised
        raise NeedsEager(f"{name} returns a quantised tensor")
    if function is torch._nested_tensor_from_mask_left_aligned:  # it answers for fake tensors, too
        raise NeedsEager(f"{name} looks at values")
    fakes: dict[str, torch.Tensor] = {}
    mode = FakeTensorMode(allow_non_fake_inputs=False, shape_env=None if shapes is None else shapes.env)

    def make(p: Proxy) -> Any:
        if isinstance(p, TensorProxy):
            if p.name not in fakes:
                shape = _fake_shape(p.shape, shapes)
                known = strides.get(p.name)
                dtype = to_torch_dtype(p.dtype)
                on = to_torch_device(p.device)
                if known is None:
                    fakes[p.name] = torch.empty(shape, dtype=dtype, device=on)
                else:
                    steps = tuple(symbols.present(n) if shapes is None else shapes.size(n) for n in known)
                    fakes[p.name] = torch.empty_strided(shape, steps, dtype=dtype, device=on)
            return fakes[p.name]
        if isinstance(p, NumberProxy):
            return p.known() if shapes is None or not symbols.is_symbol(p) else shapes.size(p)
        if isinstance(p, ObjectProxy) and p.python_type is torch.Generator:
            return torch.Generator()
        raise NeedsEager(f"it passes an object to {name}, which is not compiled")

    with torch._C.DisableTorchFunction(), mode, torch.no_grad(), quiet():
        concrete, keywords = map_proxies(make, args), map_proxies(make, kwargs)
        versions = {n: f._version for n, f in fakes.items()}
        watch = _Watch()
        try:
            with watch:
                result = function(*concrete, **keywords)
        except Exception as error:
            if shapes is not None:
                raise NotSymbolic(str(error)) from error
            if function in _OF_KNOWN_SHAPE:
                return _run_on_ones(function, args, kwargs)
            raise NeedsEager(f"a dry run of {name} raised {type(error).__name__}: {error}") from error
        for n, f in fakes.items():
            if f._version != versions[n]:
                raise NeedsEager(f"{name} changes its argument, and is not compiled")
        memory = {f.untyped_storage()._cdata for f in fakes.values()}
        found: dict[str, tuple[int, ...]] = {}
        same = next((n for n, f in fakes.items() if f is result), None)
        if same is not None:
            return DryRun(next(p for p in flat_proxies((args, kwargs)) if p.name == same), found, watch.draws)
        first = concrete[0] if concrete and isinstance(concrete[0], torch.Tensor) else None
        is_view = (
            isinstance(result, torch.Tensor)
            and result.layout is torch.strided
            and first is not None
            and result.untyped_storage()._cdata == first.untyped_storage()._cdata
        )
        if is_view:
            memory = set()
        made = _proxies(result, name, memory, found, shapes)
        if shapes is not None:
            shapes.ask()
        return DryRun(made, found, watch.draws, is_view)


def _fake_shape(shape: Sequence[Any], shapes: ShapeSymbols | None) -> tuple[Any, ...]:
    return sizes.concrete(shape, "an opaque call") if shapes is None else tuple(map(shapes.size, shape))


#: functions that look at values, to check them, but whose results are alike whatever these are
_OF_KNOWN_SHAPE = frozenset((torch.cov, torch.Tensor.cov, torch.ctc_loss, F.ctc_loss, F.gaussian_nll_loss))


def _ones(args: Any, kwargs: Any, found: dict[str, torch.Tensor]) -> tuple[Any, Any]:
    """Arguments with tensors of ones for proxies, which ``found`` collects."""

    def make(p: Proxy) -> Any:
        if isinstance(p, TensorProxy):
            shape = sizes.concrete(p.shape, "an opaque call")
            return found.setdefault(p.name, torch.ones(shape, dtype=to_torch_dtype(p.dtype)))
        return p.known() if isinstance(p, NumberProxy) else torch.Generator()

    return map_proxies(make, args), map_proxies(make, kwargs)


def _run_on_ones(function: Callable[..., Any], args: Any, kwargs: Any) -> DryRun:
    """A dry run on real data. Raises :class:`NeedsEager` if ``function`` refuses it."""
    name = getattr(function, "__name__", str(function))
    made: dict[str, torch.Tensor] = {}
    with torch.utils._python_dispatch._disable_current_modes():
        concrete, keywords = _ones(args, kwargs, made)
        try:
            result = function(*concrete, **keywords)
        except (RuntimeError, ValueError) as error:
            raise NeedsEager(f"a dry run of {name} raised {type(error).__name__}: {error}") from error
    found: dict[str, tuple[int, ...]] = {}
    memory = {t.untyped_storage()._cdata for t in made.values()}
    return DryRun(_proxies(result, name, memory, found), found, False)


def _proxies(
    x: Any, name: str, memory: set[int], strides: dict[str, tuple[int, ...]], shapes: ShapeSymbols | None = None
) -> Any:
    if isinstance(x, torch.Tensor):
        if x.layout is not torch.strided:
            raise NeedsEager(f"{name} returns a tensor of another layout")
        if x.untyped_storage()._cdata in memory:
            raise NeedsEager(f"{name} returns a view of its argument, and is not compiled")
        memory.add(x.untyped_storage()._cdata)
        shape = tuple(x.shape if shapes is None else map(shapes.dimension, x.shape))
        p = TensorProxy(shape=shape, dtype=to_dtype(x.dtype), device=to_device(x.device), lang=language)
        strides[p.name] = tuple(x.stride() if shapes is None else map(shapes.extent, x.stride()))
        return p
    if isinstance(x, (tuple, list)) and type(x) is not torch.Size:
        return with_items(x, [_proxies(y, name, memory, strides, shapes) for y in x])
    if x is None or type(x) in (bool, int, float, complex, str, torch.dtype, torch.device, torch.Size):
        return x
    if isinstance(x, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        raise NotSymbolic(f"{name} returns a number")
    raise NeedsEager(f"{name} returns a {type(x).__name__}, which a trace cannot hold")


_symbols: dict[tuple[Any, bool, bool, bool], Symbol] = {}
_functions: dict[str, Any] = {}
#: what the next call of a symbol returns, known from a dry run that was just made
_ready: list[DryRun] = []


def symbol_for(function: Any, outcome: DryRun, *, replays: bool = False) -> Symbol:
    """The opaque symbol of a torch function, whose call, coming next, returns what its dry run did.

    With ``replays`` its first argument is the state of torch's generator (:data:`generator_state`), from which the backward draws the
    same numbers again.
    """
    _ready[:] = [outcome]
    key = (function, outcome.draws, replays, outcome.is_view)
    known = _symbols.get(key)
    if known is None:
        name = public_name(function) or f"private.{getattr(function, '__name__', function)}"
        if replays:
            name, again, function = f"private.{name.replace('.', '_')}_replayed", _again(function), _first(function)
        else:
            again = function

        def meta(*args: Any, **kwargs: Any) -> Any:
            return (_ready.pop() if _ready else dry_run(function, args, kwargs, {})).result

        tags = {OpTags.VIEW if outcome.is_view else OpTags.MAY_RAISE}
        if outcome.draws:
            tags |= {OpTags.RANDOM, OpTags.EFFECT}
        path, _, short = name.rpartition(".")
        namespace = Namespace(f"torch.{path}" if path else "torch", "import torch")
        if _functions.setdefault(name, function) is not function:
            raise NeedsEager(f"torch has two functions that call themselves {name}")
        known = Symbol(
            short.replace(".", "_"), meta, id=f"torch_opaque.{name}", is_prim=True, tags=tags, namespace=namespace, language=language,
            fn=function,
        )  # fmt: skip
        if replays or not outcome.draws:
            known.pulls_back = pulling(name, short, again)
            if not outcome.is_view:
                known.records = _recording(name, short, function, again, tags), _RECORDED
        _symbols[key] = known
        called_opaquely.add(function)
    return known


# Gradients


def _first(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, called the first time: the state of the generator is what is given."""

    def call(state: Any, *args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    call.__name__ = f"{getattr(function, '__name__', 'function')}_replayed"
    call.replayed = function  # type: ignore[attr-defined]  # a function has any attribute
    return call


def _again(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, called from a state of the generator, which it leaves as it was."""

    def call(state: Any, *args: Any, **kwargs: Any) -> Any:
        before = torch.get_rng_state()
        torch.set_rng_state(state)
        try:
            return function(*args, **kwargs)
        finally:
            torch.set_rng_state(before)

    return call


#: the state of torch's generator, at each call of the program
generator_state = Symbol(
    "get_rng_state", lambda: TensorProxy(shape=tuple(torch.get_rng_state().shape), dtype=to_dtype(torch.uint8), lang=language),
    id="torch_opaque.random.get_rng_state", is_prim=True, tags=(OpTags.RANDOM, OpTags.EFFECT), language=language,
    namespace=Namespace("torch.random", "import torch"), fn=torch.random.get_rng_state,
)  # fmt: skip


class _Pulling(Symbol):
    """See :func:`pulling`."""

    def __init__(self, name: str, short: str, function: Any) -> None:
        self._of = name, short, function

        def meta(cotangents: Any, wanted: Sequence[int], args: Any, kwargs: Any) -> list[TensorProxy]:
            tensors = [p for p in flat_proxies((args, kwargs)) if isinstance(p, TensorProxy)]
            return [TensorProxy(like=tensors[i], lang=language) for i in wanted]

        def pull(cotangents: Any, wanted: Sequence[int], args: Any, kwargs: Any) -> list[torch.Tensor]:
            found = _pulled(function, cotangents, wanted, args, kwargs, keep_graph=False)
            return [g.resolve_conj().resolve_neg() for g in found]

        pull.__name__ = f"backward_of_{short.replace('.', '_')}"
        super().__init__(
            pull.__name__, meta, id=f"torch_opaque.private.{pull.__name__}_{name}", is_prim=True, tags=(OpTags.MAY_RAISE,),
            language=language, fn=pull,
        )  # fmt: skip

    @locks.cached_property
    def pulls_back(self) -> Symbol:
        """The backward through the backward."""
        name, short, function = self._of
        return pulling(f"{self.name}_{name}", f"backward_of_{short}", functools.partial(_pulled, function))


def pulling(name: str, short: str, function: Any) -> Symbol:
    """The operation that pulls cotangents back through an opaque call: the function runs again, and torch's autograd back through it.

    It is such a call itself, so there is one that pulls back through it, for derivatives of any order.
    """
    return _Pulling(name, short, function)


class _Record:
    """What torch's autograd remembers of a call: its ``results``, and its ``variables`` by their numbers among the arguments."""

    def __init__(self, results: list[torch.Tensor], variables: dict[int, torch.Tensor]) -> None:
        self.results = results
        self.variables = variables

    def pull(self, cotangents: Sequence[Any], wanted: Sequence[int]) -> list[torch.Tensor]:
        """The cotangents of the ``wanted`` arguments. It may be asked again, and goes with the record."""
        return _pulled_back(self.results, [self.variables[i] for i in wanted], cotangents, retain_graph=True)


def _recording(name: str, short: str, function: Any, again: Any, tags: set[OpTags]) -> Symbol:
    """``function``, called under torch's autograd: gives its results, and a record. ``again`` is the function when it is run again."""

    def record(wanted: Sequence[int], args: Any, kwargs: Any) -> tuple[Any, _Record]:
        given: list[torch.Tensor] = []
        with torch.enable_grad():
            args = _requiring(args, wanted, given, False)
            results = function(*args, **_requiring(kwargs, wanted, given, False))
        return _requiring(results, (), [], False), _Record(_tensors_in(results), {i: given[i] for i in wanted})

    def call_again(wanted: Sequence[int], args: Any, kwargs: Any) -> tuple[Any, torch.Tensor]:
        return again(*args, **kwargs), torch.empty(0)  # in the place of a record, of which there is no cotangent

    record.__name__ = f"recorded_{short.replace('.', '_')}"
    made = Symbol(
        record.__name__, _no_meta, id=f"torch_opaque.private.{name} (recorded)", is_prim=True, tags=tags, language=language,
        fn=record,
    )  # fmt: skip
    made.pulls_back = pulling(f"recorded_{name}", record.__name__, call_again)
    return made


def _no_meta(*args: Any) -> Any:
    raise AssertionError("a call is recorded with the results that it has")


def _meta_of_record(
    cotangents: Any, wanted: Sequence[int], record: Any, results: Any, args: Any, kwargs: Any
) -> list[TensorProxy]:
    tensors = [p for p in flat_proxies((args, kwargs)) if isinstance(p, TensorProxy)]
    return [TensorProxy(like=tensors[i], lang=language) for i in wanted]


def backward_of_record(
    cotangents: Any, wanted: Sequence[int], record: _Record, results: Any, args: Any, kwargs: Any
) -> list[torch.Tensor]:
    """The cotangents of the ``wanted`` arguments of a call. The ``results`` and the arguments lie in memory that the record looks at."""
    return [g.resolve_conj().resolve_neg() for g in record.pull(cotangents, wanted)]


_RECORDED = Symbol(
    "backward_of_record", _meta_of_record, id="torch_opaque.private.backward_of_record", is_prim=True, tags=(OpTags.MAY_RAISE,),
    language=language, fn=backward_of_record,
)  # fmt: skip


def _pulled(
    function: Any, cotangents: Any, wanted: Sequence[int], args: Any, kwargs: Any, *, keep_graph: bool = True
) -> list[torch.Tensor]:
    """The cotangents of the ``wanted`` tensors among the arguments; with ``keep_graph`` as functions of all tensors that require gradients."""
    with torch.enable_grad():
        given: list[torch.Tensor] = []
        args = _requiring(args, wanted, given, keep_graph)
        kwargs = _requiring(kwargs, wanted, given, keep_graph)
        variables = [given[i] for i in wanted]
        results = _tensors_in(function(*args, **kwargs))
        return _pulled_back(results, variables, cotangents, create_graph=keep_graph)


def _pulled_back(
    results: Sequence[torch.Tensor], variables: list[torch.Tensor], cotangents: Sequence[Any], **options: bool
) -> list[torch.Tensor]:
    """The cotangents of ``variables``, given those of ``results`` that they were computed to, or ``None``."""
    pairs = [(y, g) for y, g in zip(results, cotangents, strict=True) if g is not None and y.requires_grad]
    if not pairs:
        return [torch.zeros_like(x) for x in variables]
    outputs, seeds = zip(*pairs)
    found = torch.autograd.grad(outputs, variables, seeds, allow_unused=True, **options)
    return [torch.zeros_like(x) if g is None else g for x, g in zip(variables, found)]


def _requiring(x: Any, wanted: Sequence[int], found: list[torch.Tensor], attached: bool) -> Any:
    """Arguments with tensors of which those numbered ``wanted`` require gradients, and, unless they stay ``attached`` to what they were
    computed from, no others; ``found`` collects all."""
    if isinstance(x, torch.Tensor):
        required = len(found) in wanted
        found.append(x if attached and (x.requires_grad or not required) else x.detach().requires_grad_(required))
        return found[-1]
    if isinstance(x, (tuple, list)) and type(x) is not torch.Size:
        items = [_requiring(y, wanted, found, attached) for y in x]
        return with_items(x, items)
    if isinstance(x, dict):
        return {k: _requiring(v, wanted, found, attached) for k, v in x.items()}
    return x


def _tensors_in(x: Any) -> list[torch.Tensor]:
    if isinstance(x, torch.Tensor):
        return [x]
    return [t for y in x for t in _tensors_in(y)] if isinstance(x, (tuple, list)) else []


def dependences(function: Any, args: Any, kwargs: Any, requiring: Container[str]) -> tuple[list[bool], set[str]]:
    """What torch's autograd says of a function: of each tensor that it returns, whether that depends on the ``requiring`` arguments, and
    which of these nothing depends on."""
    fakes: dict[str, torch.Tensor] = {}

    def make(p: Proxy) -> Any:
        if isinstance(p, TensorProxy):
            shape = tuple(map(symbols.present, p.shape))  # who depends on what is the same for all sizes from 2 on
            made = fakes.setdefault(
                p.name, torch.ones(shape, dtype=to_torch_dtype(p.dtype), device=to_torch_device(p.device))
            )
            return made.requires_grad_(p.name in requiring)
        if symbols.is_symbol(p):
            return symbols.present(p)
        return p.known() if isinstance(p, NumberProxy) else torch.Generator()

    mode = nullcontext() if function in _OF_KNOWN_SHAPE else FakeTensorMode()
    with mode, torch.enable_grad(), quiet():
        results = _tensors_in(function(*map_proxies(make, args), **map_proxies(make, kwargs)))
        flags = [t.requires_grad for t in results]
        outputs = [t for t in results if t.requires_grad]
        inputs = {n: t for n, t in fakes.items() if t.requires_grad}
        if not outputs:
            return flags, set()
        try:
            seeds = [torch.ones_like(t) for t in outputs]
            found = torch.autograd.grad(outputs, list(inputs.values()), seeds, allow_unused=True)
        except Exception:  # it goes back only on real data, or not at all: that is seen when it does
            return flags, set()
        apart = {n for n, g in zip(inputs, found) if g is None}
        if len(apart) == len(inputs):  # of no elements
            raise NeedsEager("it calls a function whose result requires a gradient and depends on no argument")
        return flags, apart
