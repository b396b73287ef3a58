"""Writing through views.

A view is a chain of view operations on an array. :func:`update` returns an array in which the elements that such a
chain selects are replaced: ``x[1:-1].T[0] = v`` becomes one ``update``. Executors that work in memory claim it whole
(take the view, store into it). For all others it is decomposed into prims, by the inverse of each view prim
(:data:`inverse_rules`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from tnp.core import dtypes, prims, sizes
from tnp.core.context import current_trace
from tnp.core.dtypes import DType
from tnp.core.errors import NeedsEager
from tnp.core.prims.base import check
from tnp.core.printing import call_string
from tnp.core.proxies import Proxy, TensorProxy, is_number
from tnp.core.slice_bounds import slice_bounds
from tnp.core.symbol import BoundSymbol, Namespace, OpTags, Symbol

__all__ = [
    "VIEWS",
    "Path",
    "Returns",
    "Step",
    "collect_prims",
    "converts_late",
    "fit",
    "inverse_rules",
    "memory_roots",
    "prim_chain",
    "prims_by_result",
    "read_only",
    "update",
    "write",
]


#: what a function returns, as far as it may be a view of an argument; each registry of functions says what these mean there
Returns = Literal[
    "scalar", "array", "view", "read-only view", "view or read-only", "view if contiguous", "argument",
    "argument if contiguous", "update",
]  # fmt: skip

#: the ``returns`` of functions whose results may be views
VIEWS = ("view", "read-only view", "view or read-only", "view if contiguous", "argument", "argument if contiguous")


class Step:
    """One view operation of a path: ``symbol(array, *args, **kwargs)``."""

    __slots__ = ("args", "kwargs", "symbol")

    def __init__(self, symbol: Symbol, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> None:
        self.symbol = symbol
        self.args = args
        self.kwargs = kwargs or {}

    def __call__(self, a: TensorProxy) -> TensorProxy:
        return self.symbol(a, *self.args, **self.kwargs)  # type: ignore[no-any-return]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Step)
            and self.symbol is other.symbol
            and _same(self.args, other.args)
            and _same(self.kwargs, other.kwargs)
        )

    def __hash__(self) -> int:
        return hash((id(self.symbol), repr(self.args)))


def _same(a: Any, b: Any) -> bool:
    """Structural equality; proxies are the same if they have one name."""
    if isinstance(a, Proxy) or isinstance(b, Proxy):
        return isinstance(a, Proxy) and isinstance(b, Proxy) and a.name == b.name
    if type(a) is not type(b):
        return False
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_same(a[k], b[k]) for k in a)
    if isinstance(a, slice):
        return _same((a.start, a.stop, a.step), (b.start, b.stop, b.step))
    return bool(a == b)


class Path:
    """A chain of view operations, from an array to a view of it; callable on an array's proxy.

    Prints as a lambda: ``lambda x: lnp.transpose(lnp.getitem(x, 0))``.
    """

    __slots__ = ("steps",)

    def __init__(self, steps: Iterable[Step] = ()) -> None:
        self.steps = tuple(steps)

    def __call__(self, a: TensorProxy) -> TensorProxy:
        for step in self.steps:
            a = step(a)
        return a

    def __add__(self, other: Path) -> Path:
        return Path(self.steps + other.steps)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Path) and self.steps == other.steps

    def __hash__(self) -> int:
        return hash(self.steps)

    def __bool__(self) -> bool:
        return bool(self.steps)

    def __tnp_children__(self) -> list[Any]:
        return [(s.args, s.kwargs) for s in self.steps]

    def __tnp_rebuild__(self, children: list[Any]) -> Path:
        return Path(Step(s.symbol, args, kwargs) for s, (args, kwargs) in zip(self.steps, children))

    def __tnp_literal__(self, context: dict[str, Any]) -> str:
        expression = "x"
        for step in self.steps:
            inner = _Verbatim(expression)
            expression = call_string(step.symbol, (inner, *step.args), step.kwargs, context)
        return f"lambda x: {expression}"


class _Verbatim:
    def __init__(self, text: str) -> None:
        self.text = text

    def __tnp_literal__(self, context: dict[str, Any]) -> str:
        return self.text


def prim_chain(
    producers: Mapping[str, BoundSymbol], result: TensorProxy, source: TensorProxy
) -> list[BoundSymbol] | None:
    """The view prims, in order, that lead from ``source`` to ``result``; ``None`` if others do."""
    chain: list[BoundSymbol] = []
    current: Any = result
    while current.name != source.name:
        bsym = producers.get(current.name)
        if bsym is None or OpTags.VIEW not in bsym.sym.tags:
            return None
        chain.append(bsym)
        current = bsym.args[0]
    return chain[::-1]


def _prims_in(bsyms: Iterable[BoundSymbol]) -> list[BoundSymbol]:
    """The leaves of bound symbols, in order."""
    return [leaf for b in bsyms for leaf in (_prims_in(b.subsymbols) if b.subsymbols else (b,))]


def prims_by_result(bsyms: Iterable[BoundSymbol]) -> dict[str, BoundSymbol]:
    """The prims that ``bsyms`` are made of, by the name of each result."""
    producers: dict[str, BoundSymbol] = {}
    collect_prims(bsyms, producers)
    return producers


def collect_prims(bsyms: Iterable[BoundSymbol], producers: dict[str, BoundSymbol]) -> None:
    """Adds to ``producers``, by the name of each result, the prims that ``bsyms`` are made of."""
    for b in bsyms:
        if b.subsymbols:
            collect_prims(b.subsymbols, producers)
        else:
            for p in b.flat_outputs:
                producers[p.name] = b


#: Of each view prim, how to write: ``rule(a, new, *args)`` is ``a`` with the elements that ``prim(a, *args)`` selects
#: replaced by ``new``, an array of the view's shape.
inverse_rules: dict[Any, Callable[..., TensorProxy]] = {}


def _inverse(prim: Symbol) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def decorate(rule: Callable[..., Any]) -> Callable[..., Any]:
        inverse_rules[prim.id] = rule
        return rule

    return decorate


def read_only(a: TensorProxy) -> BaseException:
    """What a write raises to an array that shows elements of ``a`` more than once, as its language has it."""
    return a.lang.read_only()


@_inverse(prims.slice)
def _write_slice(a: TensorProxy, new: TensorProxy, starts: Any, stops: Any, strides: Any = None) -> Any:
    return prims.slice_update(a, new, starts, strides)


@_inverse(prims.transpose)
def _write_transpose(a: TensorProxy, new: TensorProxy, permutation: Any) -> Any:
    return prims.transpose(new, [list(permutation).index(d) for d in range(a.ndim)])


@_inverse(prims.reshape)
def _write_reshape(a: TensorProxy, new: TensorProxy, shape: Any) -> Any:
    return prims.reshape(new, a.shape)


@_inverse(prims.squeeze)
def _write_squeeze(a: TensorProxy, new: TensorProxy, dims: Any) -> Any:
    return prims.reshape(new, a.shape)


@_inverse(prims.flip)
def _write_flip(a: TensorProxy, new: TensorProxy, dims: Any) -> Any:
    return prims.flip(new, dims)


@_inverse(prims.broadcast_in_dim)
def _write_broadcast(a: TensorProxy, new: TensorProxy, shape: Any, dims: Any) -> Any:
    source = dict(zip(dims, a.shape))
    is_longer = any(sizes.equal(n, source.get(d, 1)) is not True for d, n in enumerate(shape))
    if is_longer and sizes.equal(sizes.count(a.shape), sizes.count(tuple(shape))) is not True:
        raise read_only(a)
    return prims.reshape(new, a.shape)


@_inverse(prims.select)
def _write_select(a: TensorProxy, new: TensorProxy, dim: int, index: Any) -> Any:
    wide = prims.broadcast_in_dim(
        new,
        tuple(1 if i == dim else n for i, n in enumerate(a.shape)),
        [i for i in range(a.ndim) if i != dim],
    )
    length = a.shape[dim]
    if type(index) is int and type(length) is int:
        at = index + length if index < 0 else index
        return prims.slice_update(a, wide, [at if i == dim else 0 for i in range(a.ndim)])
    position = prims.reshape(prims.convert_element_type(index, dtypes.int64), (1,))
    return _put_along(a, wide, dim, position)


@_inverse(prims.dynamic_slice)
def _write_dynamic_slice(a: TensorProxy, new: TensorProxy, dim: int, start: Any, stop: Any, step: int = 1) -> Any:
    n = a.shape[dim]
    found = slice_bounds(n, start, stop, step) if step > 0 else None
    if found is not None and type(found[0]) is int:
        steps = [step if i == dim else 1 for i in range(a.ndim)]
        return prims.slice_update(a, new, [found[0] if i == dim else 0 for i in range(a.ndim)], steps)
    every = prims.iota(n, device=a.device, dtype=dtypes.int64)
    return _put_along(a, new, dim, prims.dynamic_slice(every, 0, start, stop, step))


def _put_along(a: TensorProxy, new: TensorProxy, dim: int, positions: TensorProxy) -> TensorProxy:
    """``a`` with ``new`` at 1-d ``positions`` along ``dim``."""
    order = [dim, *(i for i in range(a.ndim) if i != dim)]
    moved = prims.index_put(prims.transpose(a, order), [positions], prims.transpose(new, order), False)
    return prims.transpose(moved, [order.index(i) for i in range(a.ndim)])  # type: ignore[no-any-return]


@_inverse(prims.bitcast)
def _write_bitcast(a: TensorProxy, new: TensorProxy, dtype: Any) -> Any:
    return prims.bitcast(new, a.dtype)


@_inverse(prims.real)
def _write_real(a: TensorProxy, new: TensorProxy) -> Any:
    return prims.complex(new, prims.imag(a))


@_inverse(prims.imag)
def _write_imag(a: TensorProxy, new: TensorProxy) -> Any:
    return prims.complex(prims.real(a), new)


@_inverse(prims.as_language)
def _write_as_language(a: TensorProxy, new: TensorProxy, name: str) -> Any:
    return prims.as_language(new, a.lang.name)


@_inverse(prims.diagonal)
def _write_diagonal(a: TensorProxy, new: TensorProxy, offset: int, dim1: int, dim2: int) -> Any:
    order = [dim1, dim2, *(i for i in range(a.ndim) if i not in (dim1, dim2))]
    length = new.shape[-1]
    rows = prims.iota(length, start=max(0, -offset), device=a.device, dtype=dtypes.int64)
    columns = prims.iota(length, start=max(0, offset), device=a.device, dtype=dtypes.int64)
    front = prims.transpose(new, [new.ndim - 1, *range(new.ndim - 1)])
    moved = prims.index_put(prims.transpose(a, order), [rows, columns], front, False)
    return prims.transpose(moved, [order.index(i) for i in range(a.ndim)])


def _update_meta(a: TensorProxy, value: Any, at: Callable[[TensorProxy], TensorProxy] | None = None) -> TensorProxy:
    """``a`` with the elements that the view ``at(a)`` selects replaced by ``value``.

    ``value`` is a number, or an array of the same dtype that broadcasts to the view. Raises ``ValueError`` if it does
    not. The result may use the memory of ``a``.
    """
    new = write(a, value, at)
    return prims.clone(new) if isinstance(value, TensorProxy) and new.name == value.name else new


def write(a: TensorProxy, value: Any, at: Callable[[TensorProxy], TensorProxy] | None = None) -> TensorProxy:
    """What :func:`update` is made of, in prims: the inverses of the view prims by which ``at`` leads to its view.

    ``value`` itself if it replaces all of ``a``.
    """
    trace = current_trace()
    assert trace is not None
    view, recorded = a, []
    if at is not None:
        trace.push_scope()
        try:
            view = at(a)
        finally:
            inner = trace.pop_scope()
        # The prims on the way are needed one by one: the rules below take what each was applied to.
        recorded = _prims_in(inner)
        trace.scope.extend(recorded)
    if is_number(value):
        new = prims.full(view.shape, value, device=a.device, dtype=view.dtype)
    else:
        check(value.dtype is view.dtype, lambda: f"update of {view.dtype} with {value.dtype}", TypeError)
        new = fit(value, view.shape)
    chain = prim_chain(prims_by_result(recorded), view, a)
    if chain is None:
        raise NeedsEager("it writes through an operation that is not a view")
    for bsym in reversed(chain):
        rule = inverse_rules.get(bsym.sym.id)
        if rule is None:
            raise NeedsEager(f"there is no rule for writing through {bsym.sym.qualified_name}")
        new = rule(bsym.args[0], new, *bsym.args[1:], **bsym.kwargs)
    result: TensorProxy = new
    return result


def converts_late(value: Any, dtype: DType) -> bool:
    """Whether a stored value is an array that is converted element by element, where it is stored: converting others may
    be an error. NumPy converts scalars and sequences before."""
    return isinstance(value, TensorProxy) and not value.scalar and value.dtype.kind == "f" and dtype.kind in "iu"


def fit(value: TensorProxy, shape: sizes.Shape) -> TensorProxy:
    """``value`` broadcast to ``shape``, leading dimensions of 1 too many dropped, as assignment does."""
    while value.ndim > len(shape) and type(value.shape[0]) is int and value.shape[0] == 1:
        value = prims.squeeze(value, (0,))
    if sizes.shapes_equal(value.shape, shape):
        return value
    fits = value.ndim <= len(shape) and all(
        sizes.fits(n, m) is not False for n, m in zip(value.shape, shape[len(shape) - value.ndim :])
    )
    if not fits and 0 in shape:
        raise NeedsEager("it assigns another shape to no elements, which NumPy refuses in some ways of assigning only")
    if not fits and any(type(n) is not int for n in value.shape[: max(value.ndim - len(shape), 0)]):
        raise NeedsEager("it assigns an array of more dimensions, which may be of length 1 when the program runs")
    check(
        fits,
        lambda: f"could not broadcast input array from shape {sizes.show(value.shape)} into shape {sizes.show(shape)}",
    )
    return prims.broadcast_in_dim(value, shape, tuple(range(len(shape) - value.ndim, len(shape))))  # type: ignore[no-any-return]


update = Symbol(
    "update",
    _update_meta,
    id="core.update",
    tags=(OpTags.UPDATE,),
    namespace=Namespace("views", "from tnp.core import views"),
)


def memory_roots(bsyms: Iterable[BoundSymbol]) -> dict[str, str]:
    """Of values that look at another one's memory, or may do so, the name of that one."""
    found: dict[str, str] = {}
    for b in bsyms:
        source = b.args[1] if b.sym is prims.copy_ else b.args[0] if OpTags.VIEW in b.sym.tags else None
        if isinstance(source, TensorProxy):
            found.update((p.name, found.get(source.name, source.name)) for p in b.flat_outputs if p.name != source.name)
    return found
