"""The decorator of prims, and checks that metas share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tnp.core import sizes
from tnp.core.devices import Device
from tnp.core.dtypes import DType
from tnp.core.proxies import NumberProxy, TensorProxy
from tnp.core.symbol import Namespace, OpTags, Printer, Symbol
from tnp.runtime import locks

__all__ = [
    "PrimID",
    "PrimIDs",
    "canonicalize_dim",
    "canonicalize_dims",
    "check",
    "check_same_device",
    "check_same_dtype",
    "make_prim",
    "namespace",
]

namespace = Namespace("prims", "from tnp.core import prims")


class PrimID:
    """The id of a prim; prints as ``PrimIDs.ADD``."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"PrimIDs.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (PrimIDs, self.name)


class _PrimIDs:
    """The ids of all prims, as attributes: ``PrimIDs.ADD``. Filled as prims are made.

    >>> from tnp.extend import PrimIDs
    >>> PrimIDs.ADD, PrimIDs.ADD in PrimIDs
    (PrimIDs.ADD, True)
    """

    def __init__(self) -> None:
        self._ids: dict[str, PrimID] = {}
        self._lock = locks.lock()

    def __getattr__(self, name: str) -> PrimID:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._ids[name]
        except KeyError:
            raise AttributeError(f"there is no prim with the id {name}") from None

    def __iter__(self) -> Any:
        return iter(tuple(self._ids.values()))

    def __contains__(self, x: object) -> bool:
        return isinstance(x, PrimID) and self._ids.get(x.name) is x

    def __reduce__(self) -> str:
        return "PrimIDs"

    def add(self, name: str) -> PrimID:
        """The id ``PrimIDs.<NAME>``, made if new."""
        with self._lock:
            return self._ids.setdefault(name, PrimID(name))


PrimIDs = _PrimIDs()

#: every prim of tnp, by name
registry: dict[str, Symbol] = {}


def make_prim(
    id: Any,
    name: str,
    *,
    meta: Callable[..., Any],
    tags: Iterable[OpTags] = (),
    printer: Printer | None = None,
    fn: Callable[..., Any] | None = None,
) -> Symbol:
    """A new primitive operation, which executors must run and of which transforms have rules.

    Args:
        id: any hashable object, by which executors and rules refer to the prim; tnp's own have ``PrimIDs``. Two prims of one id are one
            to them.
        name: what programs print.
        meta: takes the operation's arguments, arrays as :class:`TensorProxy`, raises what a wrong use shall raise, and returns proxies
            of the results' shapes and dtypes.
        tags: what passes must know of it.
        printer: a function of the bound symbol and the program's names that writes its statement, in place of a call.
        fn: what runs it, where there is one way for all executors.

    Raises ``ValueError`` for the id of one of tnp's own prims, and ``TypeError`` if ``meta`` cannot be called.

    >>> import numpy as np, tnp
    >>> from tnp.extend import OperatorExecutor, TensorProxy, make_prim
    >>> triple = make_prim("doc.triple", "triple", meta=lambda a: TensorProxy(like=a))
    >>> ex = OperatorExecutor("tripling")
    >>> times_3 = ex.register_operator("times_3", meta=triple.meta, fn=lambda a: a * 3)
    >>> ex.register_implementation(triple, times_3)
    >>> tnp.jit(lambda x: triple(x) + 1, executors=[ex])(np.ones(2))
    array([4., 4.])
    """
    if not callable(meta):
        raise TypeError(f"make_prim({name!r}): meta= takes a function, not {type(meta).__name__} {meta!r}")
    if isinstance(id, PrimID) and id in PrimIDs and id.name.lower() in registry:
        raise ValueError(f"{id!r} is the id of prims.{id.name.lower()}")
    symbol = _make(id, name, meta, tags, printer, fn)
    symbol.follows_arguments = True
    return symbol


def _make(
    id: Any, name: str, meta: Callable[..., Any], tags: Iterable[OpTags], printer: Printer | None, fn: Any = None
) -> Symbol:
    return Symbol(name, meta, id=id, is_prim=True, tags=tags, namespace=namespace, printer=printer, fn=fn)


def own_prim(
    name: str, meta: Callable[..., Any], tags: Iterable[OpTags] = (), printer: Printer | None = None
) -> Symbol:
    """A prim of tnp itself: its id is ``PrimIDs.<NAME>``, and :data:`registry` lists it."""
    symbol = _make(PrimIDs.add(name.upper()), name, meta, tags, printer)
    registry[name] = symbol
    return symbol


def prim(*tags: OpTags) -> Callable[[Callable[..., Any]], Symbol]:
    """Makes a meta function the prim of its name: ``@prim(OpTags.SHAPE_OP)``."""

    def decorate(meta: Callable[..., Any]) -> Symbol:
        return own_prim(meta.__name__, meta, tags)

    return decorate


def check(condition: bool | None, message: Callable[[], str], exception_type: type[BaseException] = ValueError) -> None:
    """Raises ``exception_type(message())`` if the condition is surely false (``None``: known at run time only). The program then depends on
    what a number among its arguments is compared with.

    >>> from tnp.extend import check
    >>> check(2 < 1, lambda: "2 is not less than 1")
    Traceback (most recent call last):
    ...
    ValueError: 2 is not less than 1
    """
    if condition is not None and not condition:
        raise exception_type(message())


def canonicalize_dim(ndim: int, dim: int) -> int:
    """``dim`` in ``[0, ndim)``. Raises ``IndexError`` (NumPy raises a subclass of it) if out of range."""
    if not -max(ndim, 1) <= dim < max(ndim, 1):
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-max(ndim, 1)}, {max(ndim, 1) - 1}], but got {dim})"
        )
    return dim + ndim if dim < 0 else dim


def canonicalize_dims(ndim: int, dims: int | Sequence[int] | None) -> tuple[int, ...]:
    """Dimensions in ``[0, ndim)``, ``None`` meaning all. Raises ``ValueError`` for one named twice."""
    if dims is None:
        return tuple(range(ndim))
    wanted = (dims,) if isinstance(dims, int) else tuple(dims)
    result = tuple(canonicalize_dim(ndim, d) for d in wanted)
    check(len(set(result)) == len(result), lambda: f"duplicate dimension in {wanted}")
    return result


def check_tensor(a: object, operation: str) -> None:
    check(isinstance(a, TensorProxy), lambda: f"{operation} takes an array, not {type(a).__name__}", TypeError)


def check_kind(dtype: DType, kinds: str, operation: str) -> None:
    if dtype.kind not in kinds:
        raise TypeError(f"{operation} does not take {dtype}")


def check_same_dtype(operation: str, *arrays: Any) -> DType:
    """The dtype that all arrays share. Raises ``TypeError`` if they do not."""
    found = [a.dtype for a in arrays if isinstance(a, TensorProxy)]
    first = found[0]
    for dtype in found:
        if dtype is not first:
            raise TypeError(f"{operation} takes arrays of one dtype, not {found}")
    return first


def check_same_device(operation: str, *arrays: Any) -> Device:
    """The device that all arrays are on. Raises ``ValueError`` if they are on several."""
    found = [a.device for a in arrays if isinstance(a, TensorProxy)]
    for device in found:
        if device is not found[0] and device != found[0]:
            raise ValueError(f"{operation} takes arrays of one device, not {found}")
    return found[0]


def check_same_shape(operation: str, *arrays: Any) -> sizes.Shape:
    """The shape that all arrays share; where sizes differ in what is known of them, the better known one."""
    shapes = [a.shape for a in arrays if isinstance(a, TensorProxy)]
    best = shapes[0]
    for s in shapes[1:]:
        same = sizes.shapes_equal(best, s)
        if same is False:
            raise ValueError(f"{operation} takes arrays of one shape, not {', '.join(map(sizes.show, shapes))}")
        if same is None:
            best = tuple(x if type(x) is int else y for x, y in zip(best, s))
    return best


def size_proxy(bound: int | None) -> NumberProxy:
    """A new size with that upper bound, or none, to be defined by the prim whose output it is part of."""
    return NumberProxy(None, int, bound=bound, low=0)
