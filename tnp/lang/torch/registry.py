"""The registry of the torch language.

:func:`torchsymbol` makes a symbol of a function that defines the torch functions that it names, in terms of the core
language or of earlier torch functions::

    @torchsymbol(torch.nn.functional.hardswish)
    def hardswish(input):
        return input * relu6(input + 3) / 6

It has torch's parameters, under torch's names, without ``out`` and ``inplace``, which capture handles for all
functions. A call with unsupported arguments, for which the definition raises :class:`~tnp.core.errors.NeedsOpaque`,
becomes an opaque call of the torch function.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch

from tnp.core import clang, devices, prims, views
from tnp.core.context import registrations
from tnp.core.devices import DeviceType
from tnp.core.dtypes import DType, float32
from tnp.core.errors import NeedsEager, NeedsOpaque
from tnp.core.languages import Language, language_context
from tnp.core.proxies import TensorProxy
from tnp.core.symbol import Namespace, OpTags, Symbol, flat_proxies, map_proxies
from tnp.core.trace import current_trace
from tnp.core.tuples import with_items
from tnp.lang.torch.dtypes import to_device

__all__ = [
    "Returns",
    "TorchFunction",
    "by_id",
    "called_opaquely",
    "function_of",
    "language",
    "public_name",
    "symbol_of",
    "torchctx",
    "torchsymbol",
]

IMPORT = "import tnp.lang.torch as ltorch"
language = Language("torch", prefix="ltorch", import_line=IMPORT, rank=2)
language.read_only = lambda: NeedsEager("it writes to a view that shows elements more than once")

#: a context, and a decorator of functions on proxies, in which what is made is torch's
torchctx = language_context(language)

#: kinds of devices on which functions that round half precision once do so by their parts, which Triton makes one kernel of; on the CPU
#: torch's own function is called
SINGLE_ON = frozenset((DeviceType.CUDA,))

Returns = Literal["array", "view", "argument", "update"]

#: where torch keeps its public functions, in the order in which a function is looked for
NAMESPACES = ("", "nn.functional", "special", "linalg", "fft", "Tensor")


@dataclass(frozen=True)
class TorchFunction:
    """What the registry knows of one function.

    ``returns`` is ``"array"`` for results in memory of their own, ``"view"`` for those that may be views of the first
    argument, ``"argument"`` for those that are the very argument where there is nothing to do (``x.contiguous()``),
    ``"update"`` if the symbol returns its first argument changed, which is then stored. ``row_major``: results of arguments
    in row-major order are; ``"always"``: those of others as well. ``unknown_sizes``: it is computed of tensors whose lengths are known at
    run time only; others get them as numbers that the program is made for.
    """

    symbol: Symbol
    returns: Returns
    factory: bool
    row_major: bool | str
    unknown_sizes: bool = False


#: every function of the language by symbol id (``"torch.nn.functional.relu"``)
by_id: dict[str, TorchFunction] = {}
_by_function: dict[Any, Symbol] = {}
#: functions without a definition that programs call
called_opaquely: set[Any] = set()
_namespaces: dict[str, Namespace] = {}


@functools.cache
def public_name(function: Any) -> str | None:
    """Where a torch function is found below ``torch``: ``"nn.functional.relu"``, ``"Tensor.add"``; ``None``: nowhere."""
    full_name = getattr(function, "__name__", "")
    for path in NAMESPACES:
        owner = operator.attrgetter(path)(torch) if path else torch
        name = full_name.removeprefix(f"{path}_")  # torch.linalg.inv calls itself linalg_inv
        if name and getattr(owner, name, None) == function:
            return f"{path}.{name}" if path else name
    for path in NAMESPACES:  # a few call themselves otherwise: max_pool2d is "fn"
        owner = operator.attrgetter(path)(torch) if path else torch
        for name, found in vars(owner).items():
            if found is function:
                return f"{path}.{name}" if path else name
    return None


def function_of(symbol_id: str) -> Any:
    """The torch function behind a symbol's id."""
    return operator.attrgetter(symbol_id.removeprefix("torch."))(torch)


def _knows(symbol_id: str) -> bool:
    try:
        return symbol_id in by_id or callable(function_of(symbol_id))
    except AttributeError:
        return False


language.knows = _knows


def _namespace(path: str) -> Namespace:
    prefix = f"ltorch.{path}" if path else "ltorch"
    return _namespaces.setdefault(prefix, Namespace(prefix, IMPORT))


def _device_of(given: Sequence[TensorProxy], asked: Any) -> devices.Device:
    """Where a function computes: on the device asked for, else where its operands are, those of no dimension last."""
    if asked is not None:
        return to_device(asked)
    return next((p.device for p in sorted(given, key=lambda p: p.ndim == 0)), devices.current())


def _finished(result: Any, inputs: set[str]) -> Any:
    """``result`` in memory of its own."""
    if isinstance(result, TensorProxy):
        return prims.clone(result) if result.name in inputs or _shares_memory(result, inputs) else result
    if isinstance(result, (tuple, list)):
        items = [_finished(x, inputs) for x in result]
        return with_items(result, items)
    return result


def _shares_memory(result: TensorProxy, inputs: set[str]) -> bool:
    """Whether ``result`` is a view of an input, or may show the elements of something made here more than once."""
    trace = current_trace()
    assert trace is not None
    producers: dict[str, Any] = {}
    views.collect_prims(trace.scope, producers)
    name = result.name
    while name not in inputs:
        bsym = producers.get(name)
        if bsym is None or OpTags.VIEW not in bsym.sym.tags:
            return False
        if bsym.sym is prims.broadcast_in_dim and bsym.output.shape != bsym.args[0].shape:
            return True
        name = bsym.args[0].name
    return True


def _half_of(given: Sequence[TensorProxy]) -> DType | None:
    """The dtype of half precision that all floating tensors have, on devices where that is computed in float32."""
    kinds = {p.dtype for p in given if p.dtype.kind in "fc"}
    if len(kinds) != 1 or any(p.device.devicetype not in SINGLE_ON for p in given):
        return None
    (found,) = kinds
    return found if found.kind == "f" and found.bits == 16 else None


def _rounded_once(symbol: Symbol, half: DType, args: Any, kwargs: Any) -> Any:
    """Calls ``symbol`` in float32 and converts its results to ``half``."""

    def in_dtype(source: DType, target: DType, x: Any) -> Any:
        def converted(p: Any) -> Any:
            return clang.convert(p, target) if isinstance(p, TensorProxy) and p.dtype is source else p

        return map_proxies(converted, x)

    wide = symbol(*in_dtype(half, float32, args), **in_dtype(half, float32, kwargs))
    return in_dtype(float32, half, wide)


def torchsymbol(
    *functions: Any,
    name: str | None = None,
    id: str | None = None,
    is_method: bool = False,
    returns: Returns = "array",
    method: str | tuple[str, ...] = (),
    tags: Iterable[OpTags] = (),
    factory: bool = False,
    row_major: bool | str = True,
    unknown_sizes: bool = False,
    rounds_once: bool = False,
) -> Callable[[Callable[..., Any]], Symbol]:
    """Makes a function what torch's ``functions`` compute; its id is the public name of the first, or ``torch.<name>``.

    ``method`` names the operators and methods of proxies (:mod:`tnp.core.languages`) that mean it; ``is_method`` says that the function's own
    name is one. ``returns``, ``factory``, ``row_major`` and ``unknown_sizes`` are as in :class:`TorchFunction`, ``tags`` what passes must know
    (:class:`~tnp.extend.OpTags`). ``rounds_once``: torch computes half precision in float32 and rounds the result; on :data:`SINGLE_ON` so does
    the definition, and elsewhere it sees half precision. Names of methods among ``functions`` stand for torch's function of that name and
    the method, as far as there are such (``torchsymbol("relu")``).

    Extensions give an ``id`` of their own, ``"torch.<name>"``; functions that are defined already then mean the new definition. Raises
    ``ValueError`` for an id that is taken, and for functions that are no public ones of torch where there is no ``id``.

    >>> import torch, tnp
    >>> from tnp.extend import torchsymbol
    >>> def softsign_2(x):
    ...     return 2 * torch.nn.functional.softsign(x)
    >>> @torchsymbol(softsign_2, id="torch.softsign_2")
    ... def softsign_2_of_proxies(x):
    ...     return 2 * x / (1 + abs(x))
    >>> tnp.jit(lambda x: softsign_2_of_proxies(x))(torch.ones(2))
    tensor([1., 1.])
    """

    def decorate(f: Callable[..., Any]) -> Symbol:
        found = [g for x in functions for g in (_of_name(x) if isinstance(x, str) else (x,))]
        full_name = id.removeprefix("torch.") if id is not None else name or public_name(found[0])
        if full_name is None:
            raise ValueError(f"torch has no public function {found[0]!r}; give an id")
        path, _, short = full_name.rpartition(".")

        @functools.wraps(f)
        def meta(*args: Any, **kwargs: Any) -> Any:
            _check_numbers(f, args, kwargs)
            given = [p for p in flat_proxies((args, kwargs)) if isinstance(p, TensorProxy)]
            with devices.device_context(_device_of(given, kwargs.get("device") if factory else None)):
                half = _half_of(given) if rounds_once and not asks_for_dtype(args, kwargs) else None
                result = f(*args, **kwargs) if half is None else _rounded_once(symbol, half, args, kwargs)
                return _finished(result, {p.name for p in given}) if returns == "array" else result

        def asks_for_dtype(args: Any, kwargs: Any) -> bool:
            return inspect.signature(f).bind(*args, **kwargs).arguments.get("dtype") is not None

        every = {*tags, OpTags.ROUNDS_ONCE} if rounds_once else set(tags)
        if returns in ("view", "argument"):
            every.add(OpTags.VIEW)
        if returns == "update":
            every.add(OpTags.UPDATE)
        if factory:
            every.add(OpTags.FACTORY)
        symbol = Symbol(short, meta, id=f"torch.{full_name}", tags=every, namespace=_namespace(path), language=language)
        if symbol.id in by_id:
            raise ValueError(f"{symbol.id} is defined already")
        by_id[symbol.id] = TorchFunction(symbol, returns, factory, row_major, unknown_sizes)
        known = any(g in _by_function or g in called_opaquely for g in found)
        for g in found:
            if id is not None:
                _by_function[g] = symbol
            _by_function.setdefault(g, symbol)
        if known and id is not None:
            registrations.note(f"{symbol.id} takes the place of another definition", lambda f: True)
        for m in (method,) if isinstance(method, str) else method:
            language.methods[m] = symbol
        if is_method:
            language.methods[short] = symbol
        return symbol

    return decorate


@functools.cache
def _real_numbers(definition: Callable[..., Any]) -> list[tuple[int, str]]:
    """The positions and names of parameters that are real numbers: those with a float for a default."""
    parameters = inspect.signature(definition).parameters.values()
    return [(i, p.name) for i, p in enumerate(parameters) if type(p.default) is float]


def _check_numbers(definition: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Leaves tensors and complex numbers to torch where it takes real numbers: it reads or refuses them."""
    for at, name in _real_numbers(definition):
        x = args[at] if at < len(args) else kwargs.get(name)
        if isinstance(x, TensorProxy) or getattr(x, "python_type", type(x)) is complex:
            raise NeedsOpaque(f"{name} is a tensor or complex")


def _of_name(name: str) -> list[Any]:
    """torch's functions of that name: ``torch.<name>``, the method, and those of ``torch.nn.functional`` and ``special``.

    Those of ``torch.linalg`` are others: its ``diagonal`` and ``norm`` are of matrices.
    """
    found = []
    for path in ("", "nn.functional", "special", "Tensor"):
        g = getattr(operator.attrgetter(path)(torch) if path else torch, name, None)
        if g is not None and callable(g):
            found.append(g)
    assert found, f"torch has no function {name}"
    return found


def symbol_of(function: Any) -> Symbol | None:
    """The symbol of one of torch's functions; ``None`` if the language lacks it."""
    try:
        return _by_function.get(function)
    except TypeError:  # not hashable
        return None


@functools.cache
def signature(symbol: Symbol) -> inspect.Signature:
    return inspect.signature(symbol.meta)


def takes(symbol: Symbol, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the definition has the parameters of this call: torch's functions have overloads."""
    try:
        signature(symbol).bind(*args, **kwargs)
    except TypeError:
        return False
    return True
