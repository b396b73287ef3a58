"""The walk: runs a program again with some of its values batched."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from tnp.core import clang, dtypes, languages, prims, sizes
from tnp.core.context import current_trace, registrations
from tnp.core.errors import BatchError, ExtensionError
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy
from tnp.core.subtraces import is_control_flow
from tnp.core.symbol import BoundSymbol, OpTags, Symbol, flat_proxies, id_of, map_proxies
from tnp.core.tuples import with_items
from tnp.core.views import Path, Step, update
from tnp.transforms.autodiff.replay import live, rolled

__all__ = ["Batched", "Walk", "batch_rule", "batch_rules", "dtype_of_number", "register_vmap", "run_batched"]


class Batched:
    """A value that is another one for each element of the batch: ``array`` has them along its first dimension.

    Of a Python number ``array`` is 1-d. If it is known to count, ``bounds`` are those of its range.
    """

    __slots__ = ("array", "bounds")

    def __init__(self, array: TensorProxy, bounds: tuple[Any, Any, Any] | None = None) -> None:
        self.array = array
        self.bounds = bounds


class _Missing:
    """A value that there is not; whoever reads it learns why."""

    __slots__ = ("error",)

    def __init__(self, error: BatchError) -> None:
        self.error = error


#: what an operation with batched arguments becomes: ``rule(walk, bsym, *args, **kwargs)`` takes :class:`Batched` among the arguments, and
#: gives results as the operation does, batched
batch_rules: dict[Any, Callable[..., Any]] = {}
registrations.tables.append(batch_rules)


def batch_rule(*symbols: Symbol) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a function the batch rule of ``symbols``."""

    def decorate(f: Callable[..., Any]) -> Callable[..., Any]:
        for symbol in symbols:
            batch_rules[symbol.id] = f
        return f

    return decorate


#: operations whose rule has been looked up: programs may have been compiled with it, or without
_looked_up: set[Any] = set()


def register_vmap(symbol: Any, function: Callable[..., Any]) -> None:
    """Makes ``function`` what an operation (a symbol, or its id) becomes under :func:`tnp.vmap`. Registering again replaces, for
    functions that are compiled already, too.

    It is called as ``function(size, batched, *args, **kwargs)`` where an argument differs from element to element of the batch, which has
    ``size`` elements. ``batched`` has an entry for each argument, those by position and then those by name: whether it is *batched*; in
    tuples and lists an entry for each item. Batched arrays have one dimension more than the operation's, in front; a batched Python
    number is a 1-d array. It returns the results, all batched, in other operations, this one included.

    Raises as :func:`~tnp.register_grad` does: ``TypeError`` if ``function`` cannot be called. A rule whose results are of other shapes or dtypes than a batch of the
    operation's is an :class:`~tnp.ExtensionError`. Operations without a rule are mapped part by part if they were made with ``like``, and
    otherwise run once for each element. (The rule is called as a ``vmap`` of ``jax.custom_batching.custom_vmap`` is, but that results
    are always batched.)

    >>> import numpy as np, tnp
    >>> from tnp.extend import OperatorExecutor, TensorProxy, register_vmap
    >>> ex = OperatorExecutor("sorting")
    >>> sort_last = ex.register_operator("sort_last", meta=lambda a: TensorProxy(like=a), fn=lambda a: np.sort(a, axis=-1))
    >>> register_vmap(sort_last, lambda size, batched, a: sort_last(a))
    >>> f = tnp.jit(tnp.vmap(lambda x: sort_last(x)), executors=[ex])
    >>> f(np.array([[2.0, 1.0], [4.0, 3.0]]))
    array([[1., 2.],
           [3., 4.]])
    >>> [b.sym.name for b in tnp.last_traces(f)[-1].body]
    ['sort_last']
    """
    if not callable(function):
        raise TypeError(f"register_vmap takes a function, not {type(function).__name__} {function!r}")

    def rule(walk: Walk, b: BoundSymbol, *args: Any, **kwargs: Any) -> Any:
        batched = tuple(_map_items(lambda x: isinstance(x, Batched), x) for x in (*args, *kwargs.values()))
        args, kwargs = _map_items(_unwrapped, (args, kwargs))
        made = _flat(function(walk.length, batched, *args, **kwargs))
        _check_batch(b, made, walk.length)
        rest = iter(made)
        return map_proxies(lambda p: Batched(next(rest)), b.output)

    key = id_of(symbol)
    batch_rules[key] = rule
    if key in _looked_up:
        registrations.note(f"{key} has another rule of vmap", lambda f: True)


def _unwrapped(x: Any) -> Any:
    return x.array if isinstance(x, Batched) else x


def _map_items(f: Callable[[Any], Any], x: Any) -> Any:
    """``x`` with ``f`` applied to what stands in nested tuples, lists and dicts."""
    if isinstance(x, (tuple, list)):
        items = [_map_items(f, y) for y in x]
        return with_items(x, items)
    if isinstance(x, dict):
        return {k: _map_items(f, y) for k, y in x.items()}
    return f(x)


def _check_batch(b: BoundSymbol, made: Sequence[Any], length: sizes.Dim) -> None:
    """Raises :class:`ExtensionError` unless a registered rule gives a batch of each result of the operation."""
    what = f"the vmap rule of {b.sym.qualified_name}"
    if len(made) != len(b.flat_outputs):
        raise ExtensionError(f"{what} gives {len(made)} results, and the operation has {len(b.flat_outputs)}")
    for p, x in zip(b.flat_outputs, made):
        one = p.shape if isinstance(p, TensorProxy) else ()
        dtype = p.dtype if isinstance(p, TensorProxy) else dtype_of_number(p)
        is_batch = (
            isinstance(x, TensorProxy) and x.dtype is dtype and sizes.shapes_equal(x.shape, (length, *one)) is not False
        )
        if not is_batch:
            given = f'a "{x.type_string()}"' if isinstance(x, Proxy) else repr(x)
            raise ExtensionError(
                f"{what} gives {given} for {p.name}, of which a batch is an array of {dtype} and shape {sizes.show((length, *one))}"
            )


def dtype_of_number(p: Any) -> dtypes.DType:
    """The dtype of the array that stands for a Python number, one for each element of the batch."""
    kind = p.python_type if isinstance(p, NumberProxy) else type(p)
    return {bool: dtypes.bool8, int: dtypes.int64, float: dtypes.float64, complex: dtypes.complex128}[kind]


class Walk:
    """One run: the length of the batch, and what the names of the program stand for, values or :class:`Batched` ones."""

    def __init__(
        self, length: sizes.Dim, names: dict[str, Any], memory: Iterable[str] = (), is_outermost: bool = False
    ) -> None:
        self.length = length
        #: whether the program runs once: what is the same for all then stays as it is, names included
        self.is_outermost = is_outermost
        self.names = names
        #: arguments of the body being run: what is stored to their memory is only computed
        self.memory = set(memory)

    def of(self, x: Any) -> Any:
        return map_proxies(lambda p: self.names.get(p.name, p), x)

    def is_batched(self, x: Any) -> bool:
        found = [self.names.get(p.name) for p in flat_proxies(x)]
        for v in found:
            if isinstance(v, _Missing):
                raise v.error
        return any(isinstance(v, Batched) for v in found)

    def array(self, x: Any, dtype: dtypes.DType | None = None) -> TensorProxy:
        """A value as an array with the batch's dimension first; what is the same for all is repeated (a view)."""
        if isinstance(x, Batched):
            return x.array if dtype is None else clang.convert(x.array, dtype)
        if not isinstance(x, TensorProxy):
            x = clang.convert(x, dtype_of_number(x) if dtype is None else dtype)
        elif dtype is not None:
            x = clang.convert(x, dtype)
        made: TensorProxy = prims.broadcast_in_dim(x, (self.length, *x.shape), tuple(range(1, x.ndim + 1)))
        return made

    def run(self, bsyms: Iterable[BoundSymbol]) -> None:
        for b in bsyms:
            language = next((p.lang for p in b.flat_outputs if isinstance(p, TensorProxy)), languages.current())
            with languages.language_context(language):
                self.run_one(b)

    def run_one(self, b: BoundSymbol) -> None:
        if b.operation is prims.copy_ and b.args[1].name in self.memory:
            self.memory.add(b.output.name)
            self.bind(b.output, self.of(b.args[0]))
            return
        _looked_up.add(b.sym.id)
        rule = batch_rules.get(b.sym.id)
        same = not any(self.is_batched(x) for x in (b.args, b.kwargs))
        if same and self.is_outermost:
            trace = current_trace()
            assert trace is not None
            # A branch on batched values may have given something that is the same for all, under another name.
            renamed = {p.name: self.names[p.name] for p in b.flat_inputs if p.name in self.names}
            trace.scope.append(b.substitute(renamed))
        elif is_control_flow(b) and rule is not None:
            self.bind(b.output, rule(self, b))
        elif same:
            self.bind(b.output, b.sym(*self.of(b.args), **self.of(b.kwargs)))
        elif rule is not None:
            self.bind(b.output, rule(self, b, *self.of(b.args), **self.of(b.kwargs)))
        elif OpTags.EFFECT in b.sym.tags:
            raise BatchError(
                f"{b.sym.qualified_name} has an effect, which cannot be had for each element of a batch", b.location
            )
        elif b.subsymbols:
            for sub in b.subsymbols:
                sub.location = b.location if sub.location is None else sub.location
            self.run(b.subsymbols)
        elif OpTags.ELEMENTWISE in b.sym.tags or all(isinstance(p, NumberProxy) for p in b.flat_outputs):
            self.bind(b.output, self.elementwise(b))
        else:
            self.bind(b.output, self.one_by_one(b))

    def bind(self, old: Any, new: Any) -> None:
        values: list[Any] = [] if new is None else _flat(new)
        for a, b in zip(flat_proxies(old), values, strict=True):
            self.names[a.name] = b
            if isinstance(a, TensorProxy) and isinstance(b, (TensorProxy, Batched)):
                if isinstance(b, TensorProxy):
                    b.scalar = a.scalar
                shape = b.shape if isinstance(b, TensorProxy) else b.array.shape[1:]
                self.names.update(
                    (m.name, n) for m, n in zip(a.shape, shape) if isinstance(m, NumberProxy) and m is not n
                )

    def elementwise(self, b: BoundSymbol) -> Any:
        """The operation on arrays that are all batched; numbers that differ are arrays of the others' dtype."""
        tensors = [p for p in b.args if isinstance(p, TensorProxy)]
        args = [self.of(p) for p in b.args]
        if not tensors:
            return self._of_numbers(b, args)
        rank = max(p.ndim for p in tensors)
        shape = next(p.shape for p in tensors if p.ndim == rank)
        floating = [p.dtype for p in tensors if p.dtype.kind != "b"] or [tensors[0].dtype]
        made = []
        for given, x in zip(b.args, args):
            if isinstance(given, TensorProxy):
                made.append(self.array(x))
            elif isinstance(x, Batched):
                column = clang.convert(x.array, floating[0])
                made.append(prims.broadcast_in_dim(column, (self.length, *shape), (0,)))
            else:
                made.append(x)
        return Batched(b.sym(*made, **self.of(b.kwargs)))

    def _of_numbers(self, b: BoundSymbol, args: list[Any]) -> Any:
        """Arithmetic on Python numbers of which some differ."""
        if b.operation is prims.convert_number:
            return Batched(clang.convert(args[0].array, dtype_of_number(b.output)))
        wanted = dtype_of_number(b.output)
        if wanted.kind == "b":
            kinds = [dtype_of_number(x) for x in b.args]
            wanted = max(kinds, key=lambda d: "biufc".index(d.kind))
        return Batched(clang.convert(b.sym(*(self.array(x, wanted) for x in args)), dtype_of_number(b.output)))

    def one_by_one(self, b: BoundSymbol) -> Any:
        """An operation without a rule: a loop over the batch."""
        outputs = b.flat_outputs
        if not all(isinstance(p, TensorProxy) and sizes.is_known(p.shape) for p in outputs):
            # Maybe nobody reads it: of what a composition computes, the function may use another part.
            text = f"{b.sym.qualified_name} gives values of lengths that differ from element to element of the batch"
            missing = _Missing(BatchError(text, b.location))
            return map_proxies(lambda p: missing, b.output)
        if isinstance(b.sym.id, str) and b.sym.id.startswith("opaque."):
            raise BatchError(
                f"{b.sym.qualified_name} runs as an opaque call, which cannot be mapped; write it with other functions",
                b.location,
            )
        blank = [
            clang.full((self.length, *p.shape), 0, dtype=p.dtype, device=p.device)
            for p in outputs if isinstance(p, TensorProxy)
        ]  # fmt: skip

        def one(index: NumberProxy, *totals: TensorProxy) -> list[TensorProxy]:
            place = Path([Step(prims.select, (0, index))])

            def element(p: Proxy) -> Any:
                x = self.names.get(p.name, p)
                if not isinstance(x, Batched):
                    return x
                found = prims.select(x.array, 0, index)
                return found if isinstance(p, TensorProxy) else prims.item(found)

            result = b.sym(*map_proxies(element, b.args), **map_proxies(element, b.kwargs))
            return [update(t, r, place) for t, r in zip(totals, flat_proxies(result))]

        made: Iterator[Any] = iter(rolled(0, self.length, 1, blank, one))
        return map_proxies(lambda p: Batched(next(made)), b.output)


def _flat(x: Any) -> list[Any]:
    return [z for y in x for z in _flat(y)] if isinstance(x, (tuple, list)) else [x]


def run_batched(
    bsyms: Iterable[BoundSymbol], batched: dict[str, TensorProxy], length: sizes.Dim, results: Sequence[Any]
) -> list[Any]:
    """Records a program with the values ``batched``, by name, replaced by arrays of them; its results, :class:`Batched` where they differ."""
    walk = Walk(length, {name: Batched(a) for name, a in batched.items()}, is_outermost=True)
    trace = current_trace()
    assert trace is not None
    guarded = list(trace.value_guards.values())
    walk.run(live(list(bsyms), [list(results), guarded], effects=True))
    walk.is_batched(list(results))
    return [walk.of(r) if isinstance(r, Proxy) else r for r in results]
