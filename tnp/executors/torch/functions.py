"""Functions of the torch language as torch calls, and opaque calls.

A function runs as the torch function itself, as in eager. The executor ``own`` comes last in every program with
tensors: it claims operations on values of the torch language, and not those of NumPy. With the option ``prims`` it
decomposes every function to prims, which tests use to run the decompositions.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from types import MappingProxyType
from typing import Any

import torch

from tnp.core import prims
from tnp.core.errors import TraceError
from tnp.core.printing import add_import, literal, name_of, targets
from tnp.core.proxies import TensorProxy
from tnp.core.symbol import BoundSymbol, OpTags, Symbol, flat_proxies
from tnp.core.trace import Trace
from tnp.executors.base import Implementation
from tnp.executors.registry import register_executor
from tnp.executors.shared.array_expressions import key_string
from tnp.executors.torch import TorchExecutor, executor, matmul
from tnp.executors.torch.biases import LINEAR, with_biases_apart

__all__ = ["own"]

#: the function that gives an ndarray, which is none of the arrays that operations of this executor give: what it is made of says that
_TO_NUMPY = "torch.Tensor.numpy"


def _is_own(*args: Any, **kwargs: Any) -> bool:
    """Whether every array among the arguments is a tensor to the user."""
    return all(p.lang.name == "torch" for p in flat_proxies((args, kwargs)) if isinstance(p, TensorProxy))


class OwnTorchExecutor(TorchExecutor):
    """Runs functions of the torch language, and prims on tensors."""

    options = MappingProxyType({"prims": "functions are decomposed to prims instead of running whole"})

    def __init__(self, name: str, *, version: Any = None, options: Iterable[str] = ()) -> None:
        super().__init__(name, version=version, options=options)
        self._decomposes = "prims" in self.chosen_options
        self.conversions = executor.conversions
        self.memory = executor.memory

    def implementation_of(self, sym: Symbol) -> Implementation | None:
        found = self.implementations.get(sym.id)
        if found is None:
            found = self._find(sym)
            if found is not None:
                self.implementations[sym.id] = found
        return found

    def pattern_rewrite(self, trace: Trace, executors: Sequence[Any]) -> Trace:
        return trace if self._decomposes else with_biases_apart(trace, executors)

    def _find(self, sym: Symbol) -> Implementation | None:
        kind = sym.id.partition(".")[0] if isinstance(sym.id, str) else ""
        if kind == "torch_opaque":
            return _opaque(sym)
        if kind == "torch_effect":
            return Implementation(_effect(sym))
        if kind == "torch" and sym.language is not None:
            decomposes = self._decomposes or sym.id == _TO_NUMPY or not _is_torchs(sym)
            return Implementation(decomposes=True) if decomposes else _function(sym)
        if sym.id == "core.update" and not self._decomposes:
            return Implementation(in_place=_UPDATE, checker=_expressible)
        prim = executor.implementations.get(sym.id)
        if prim is None or prim.decomposes:
            return None
        checker = prim.checker
        crosses = sym.id == prims.as_language.id  # what it is for

        def takes(*args: Any, **kwargs: Any) -> bool:
            return (crosses or _is_own(*args, **kwargs)) and (checker is None or checker(*args, **kwargs))

        return Implementation(prim.op, takes, prim.execution_transform, prim.grad_transform, prim.in_place)


def _call(sym_id: str, args: Any, kwargs: Any, context: dict[str, Any]) -> str:
    """The expression of a call of the torch function behind a symbol."""
    add_import(context, "import torch")
    parts = [literal(a, context) for a in args]
    parts += [f"{k}={literal(v, context)}" for k, v in kwargs.items()]
    return f"{sym_id}({', '.join(parts)})"


#: functions that take dimensions one by one as methods only: ``x.permute(1, 0)``, ``torch.permute(x, (1, 0))``
_ONE_BY_ONE = frozenset(("torch.permute", "torch.flip", "torch.tile"))


def _view(symbol_id: str, e: str, args: Any, kwargs: Any, context: dict[str, Any]) -> str:
    """A function of the torch language on the expression ``e``."""
    if symbol_id in _ONE_BY_ONE:
        symbol_id = symbol_id.replace("torch.", "torch.Tensor.")
    if symbol_id == "torch.Tensor.__getitem__":
        return f"{e}[{key_string(args[0], context)}]"
    if symbol_id.startswith("torch.Tensor."):
        return f"{e}.{_call(symbol_id.removeprefix('torch.Tensor.'), args, kwargs, context)}"
    return _call(symbol_id, (_Text(e), *args), kwargs, context)


class _Text:
    """An expression, as an argument."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __tnp_literal__(self, context: dict[str, Any]) -> str:
        return self.text


def _symbol(sym: Symbol, printer: Any, tags: Any) -> Symbol:
    return Symbol(sym.name, sym.meta, id=f"torch_call.{sym.id}", is_prim=True, tags=tags, printer=printer, executor=own)


def _assignment(expression: Callable[[BoundSymbol, dict[str, Any]], str]) -> Any:
    def printer(bsym: BoundSymbol, context: dict[str, Any]) -> str:
        text = expression(bsym, context)
        return f"{targets(bsym.output)} = {text}" if bsym.flat_outputs else text

    return printer


@_assignment
def _print_call(bsym: BoundSymbol, context: dict[str, Any]) -> str:
    name = bsym.sym.id.removeprefix("torch_call.")
    if name == LINEAR and _is_large_product(bsym, "__trains__" in context):
        context["torch_linear"] = matmul.linear
        return _call("torch_linear", bsym.args, bsym.kwargs, context)
    if name.startswith("torch.Tensor.") or (name in _ONE_BY_ONE and bsym.args):
        first, *rest = bsym.args
        return _view(name, literal(first, context), rest, bsym.kwargs, context)
    return _call(name, bsym.args, bsym.kwargs, context)


def _is_large_product(bsym: BoundSymbol, trains: bool) -> bool:
    """Whether a linear layer is one of :mod:`tnp.executors.torch.matmul`."""
    arrays = [p for p in bsym.flat_inputs if isinstance(p, TensorProxy)]
    out = bsym.output
    if out.ndim < 2 or [a.ndim for a in arrays[:2]] != [out.ndim, 2]:
        return False
    if trains and matmul.goes_to_pool(out.shape, *arrays):
        return True
    lengths = matmul.present_lengths(out.shape[:-1])
    return lengths is not None and matmul.is_own(math.prod(lengths), *arrays[1].shape, *arrays)


def _print_setitem(bsym: BoundSymbol, context: dict[str, Any]) -> str:
    a, key, value = bsym.args
    return f"{literal(a, context)}[{key_string(key, context)}] = {literal(value, context)}"


def _is_torchs(sym: Symbol) -> bool:
    """Whether torch has the function; what extensions add to the language it has not."""
    try:
        return callable(operator.attrgetter(sym.id.removeprefix("torch."))(torch))
    except AttributeError:
        return False


def _function(sym: Symbol) -> Implementation:
    """A function of the torch language as itself."""
    if OpTags.UPDATE in sym.tags:
        return Implementation(in_place=_symbol(sym, _print_setitem, ()), checker=_is_own)
    return Implementation(_symbol(sym, _print_call, sym.tags), _is_own)


def _effect(sym: Symbol) -> Symbol:
    def printer(bsym: BoundSymbol, context: dict[str, Any]) -> str:
        return _call(name_of(sym.fn, context), bsym.args, bsym.kwargs, context)

    return _symbol(sym, printer, sym.tags)


def _metadata(output: Any) -> Any:
    """The shapes, with ``None`` for symbolic sizes, and the dtypes of results."""
    if isinstance(output, TensorProxy):
        return tuple(n if isinstance(n, int) else None for n in output.shape), output.dtype.name
    return [_metadata(x) for x in output] if isinstance(output, (tuple, list)) else None


def checked(name: str, expected: Any, value: Any) -> Any:
    """``value``, if an opaque call returned what it did on fake tensors. Raises :class:`TraceError`."""
    if isinstance(expected, tuple):
        shape, dtype = expected
        fits = len(value.shape) == len(shape) and all(n in (m, None) for m, n in zip(value.shape, shape))
        if not fits or value.dtype is not getattr(torch, dtype):
            raise TraceError(
                f"{name} returned {value.dtype}{list(value.shape)} where fake tensors promise {dtype}{list(shape)}"
            )
    elif isinstance(expected, list):
        for e, v in zip(expected, value, strict=True):
            checked(name, e, v)
    return value


def _opaque(sym: Symbol) -> Implementation:
    @_assignment
    def printer(bsym: BoundSymbol, context: dict[str, Any]) -> str:
        context["checked_torch"] = checked
        name = f"torch.{sym.id.removeprefix('torch_opaque.')}"
        called = name_of(sym.fn, context) if name.startswith("torch.private.") else name
        text = _call(called, bsym.args, bsym.kwargs, context)
        return f"checked_torch({name!r}, {literal(_metadata(bsym.output), context)}, {text})"

    return Implementation(_symbol(sym, printer, sym.tags), _is_own)


# Writes


def _expressible(a: Any, value: Any, path: Any = None) -> bool:
    """Whether every step of an update's path is a view by a torch function of a tensor."""
    return _is_own(a, value) and (path is None or all(_is_view(s.symbol) for s in path.steps))


def _is_view(symbol: Symbol) -> bool:
    return isinstance(symbol.id, str) and symbol.id.startswith("torch.") and OpTags.VIEW in symbol.tags


def _print_update(bsym: BoundSymbol, context: dict[str, Any]) -> str:
    a, value, *rest = bsym.args
    target = literal(a, context)
    for step in rest[0].steps if rest and rest[0] is not None else ():
        target = _view(step.symbol.id, target, step.args, step.kwargs, context)
    return f"{target}[...] = {literal(value, context)}"


own = OwnTorchExecutor("torch_functions", version=torch.__version__)
_UPDATE = Symbol("update", None, id="torch_call.update", is_prim=True, printer=_print_update, executor=own)

register_executor(own)
