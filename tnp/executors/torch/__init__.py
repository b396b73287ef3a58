"""The torch executor: every prim as a torch call.

An elementwise prim runs as the torch function in its row of the table, or as a function of :mod:`kernels` if torch's
result differs from the prim's (:data:`_KERNEL_FOR`). Dtypes without a torch kernel are listed in :data:`REFUSALS`; the
next executor claims them.

Functions of the NumPy language are decomposed to prims. Their arrays stay ndarrays for the user:
:mod:`tnp.transforms.bridge` converts them at the boundary. The numpy executor claims writes to them, so that the
caller's memory is written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tnp.core import prims, views
from tnp.core.dtypes import DType
from tnp.core.elementwise_table import ROWS, by_name
from tnp.core.errors import hide_frames_of
from tnp.core.printing import add_import, literal
from tnp.core.proxies import NumberProxy, TensorProxy, is_number
from tnp.core.symbol import BoundSymbol, OpTags, Symbol, flat_proxies
from tnp.executors.base import Implementation, OperatorExecutor
from tnp.executors.registry import get_executor, register_executor
from tnp.executors.shared.array_expressions import key_string
from tnp.executors.torch import kernels, matmul

__all__ = ["REFUSALS", "clone", "empty_like", "executor", "to_ndarray", "to_tensor"]

hide_frames_of(torch.__path__[0])

_WIDE_UNSIGNED = "u16 u32 u64"
_COMPLEX = "c64 c128"

#: (prims, dtypes, why): what torch cannot do on the CPU (seen with torch 2.13), tried with every prim and dtype
REFUSALS: tuple[tuple[str, str, str], ...] = (
    ("abs ceil floor trunc", "b8", "no loop for bool"),
    ("sum cumsum cumprod searchsorted matmul convolution", "b8", "no loop for bool"),
    (
        "abs bitwise_not neg logical_not sign square popcount add sub floor_divide fmax fmin fmod gcd lcm ge gt le lt "
        "left_shift right_shift logical_and logical_or logical_xor maximum minimum pow remainder gather scatter "
        "scatter_add index_put amax amin argmax argmin sum prod cumsum cumprod cummax cummin sort argsort topk "
        "searchsorted matmul convolution take flip",
        _WIDE_UNSIGNED,
        "no loop for unsigned integers of more than 8 bits",
    ),
    ("reciprocal", f"i8 i16 i32 i64 u8 {_WIDE_UNSIGNED}", "gives float32 for integers"),
    (
        "fmax fmin maximum minimum ge gt le lt round amax amin argmax argmin cummax cummin sort argsort topk searchsorted",
        _COMPLEX,
        "no order of complex numbers",
    ),
    ("pow", _COMPLEX, "0 ** 0 is NaN"),
    ("sign", _COMPLEX, "NaN for infinities"),
    ("fft rfft irfft complex", "f16 bf16", "no complex numbers of two halves"),
    ("spacing", "f16", "has a sign, which that of NumPy has not for halves alone"),
)

_refused = {(name, dtype) for names, dtypes, _ in REFUSALS for name in names.split() for dtype in dtypes.split()}


def _takes(name: str) -> Callable[..., bool]:
    """A checker: whether torch has a loop for the dtypes of the arrays among the arguments.

    Arithmetic on numbers alone is Python's.
    """
    needs_array = name in by_name

    def checker(*args: Any, **kwargs: Any) -> bool:
        arrays = [p for p in flat_proxies((args, kwargs)) if isinstance(p, TensorProxy)]
        return all((name, a.dtype.shortname) not in _refused for a in arrays) and (bool(arrays) or not needs_array)

    return checker


class TorchExecutor(OperatorExecutor):
    """Decomposes the functions of the NumPy language, to run their prims."""

    array_kind = "torch"

    def implementation_of(self, sym: Symbol) -> Implementation | None:
        found = self.implementations.get(sym.id)
        if found is None and isinstance(sym.id, str) and sym.id.startswith(("numpy.", "ufunc.")):
            found = self.implementations[sym.id] = Implementation(decomposes=True)
        return found


executor = TorchExecutor("torch", version=torch.__version__)


# Printing


def torch_dtype(dtype: DType, context: dict[str, Any]) -> str:
    """``torch.float64``."""
    add_import(context, "import torch")
    return f"torch.{dtype.name}"


def _torch(name: str, context: dict[str, Any]) -> str:
    """``torch.<name>``."""
    add_import(context, "import torch")
    return f"torch.{name}"


def _kernel(name: str, context: dict[str, Any]) -> str:
    """The name of a kernel, which programs that use it are given."""
    context[f"torch_{name}"] = getattr(kernels, name)
    return f"torch_{name}"


def _literal(x: Any, context: dict[str, Any]) -> str:
    if isinstance(x, DType):
        return torch_dtype(x, context)
    return literal(x, context)


def _statement(expression: Callable[..., str]) -> Any:
    """A printer of ``result = <expression(context, *args, **kwargs)>``."""

    def printer(bsym: BoundSymbol, context: dict[str, Any]) -> str:
        text = expression(context, *bsym.args, **bsym.kwargs)
        if isinstance(bsym.output, TensorProxy | NumberProxy):
            return f"{bsym.output.name} = {text}"
        names = ", ".join(p.name for p in bsym.flat_outputs)
        if not names:
            return text
        return f"({names},) = {text}" if len(bsym.flat_outputs) == 1 else f"({names}) = {text}"

    return printer


def _symbol(name: str, expression: Callable[..., str], *, meta: Any = None, tags: Any = ()) -> Symbol:
    return Symbol(
        name, meta, id=f"torch.{name}", is_prim=True, tags=tags, printer=_statement(expression), executor=executor
    )


def _in_place_symbol(name: str, expression: Callable[..., str]) -> Symbol:
    """An operation that changes its first argument; it prints as a statement without a result."""

    def printer(bsym: BoundSymbol, context: dict[str, Any]) -> str:
        return expression(context, *bsym.args, **bsym.kwargs)

    return Symbol(name, None, id=f"torch.{name}", is_prim=True, printer=printer, executor=executor)


def _register(name: str, expression: Callable[..., str], torch_name: str | None = None) -> None:
    """A prim that prints as ``expression``."""
    prim = prims.registry[name]
    op = _symbol(torch_name or name, expression, meta=prim.meta, tags=prim.tags)
    executor.register_implementation(prim, op, checker=_takes(name))


# Elementwise prims

#: where torch has no function, or one that does not do what the prim says: prim → kinds of dtype, kernel
_KERNEL_FOR: dict[str, tuple[str, str]] = {
    **{row.name: (row.takes, row.name) for row in ROWS if not row.torch},
    "add": ("c", "add_complex"),
    "sub": ("c", "sub_complex"),
    "conj": ("iuf", "positive"),
    "floor_divide": ("iu", "floor_divide"),
    "fmod": ("iu", "fmod"),
    "gcd": ("iu", "gcd"),
    "heaviside": ("f", "heaviside"),
    "lcm": ("iu", "lcm"),
    "positive": ("iufc", "positive"),
    "pow": ("iu", "power"),
    "remainder": ("iu", "remainder"),
    "sign": ("f", "sign"),
}
_FLOAT_KERNEL_FOR = {"remainder": "float_remainder"}

#: functions of torch that take a Python number for their second argument, without another dtype for it
_TAKE_NUMBERS = frozenset(("add", "sub", "mul", "div", "eq", "ne", "lt", "le", "gt", "ge", "pow"))

#: integer operations that a constant makes harmless, so that torch's own function will do
_HARMLESS = {
    "floor_divide": lambda n: n not in (0, -1),
    "fmod": lambda n: n not in (0, -1),
    "remainder": lambda n: n not in (0, -1),
    "pow": lambda n: n >= 0,
}


def _operand(x: Any, dtype: DType, context: dict[str, Any], *, plain: bool = False) -> str:
    """An operand: a tensor's name, or a number as a 0-d tensor of ``dtype``; ``plain`` numbers stay as they are."""
    if not is_number(x):
        return literal(x, context)
    if type(x) in (bool, int, float, complex):
        if plain and _is_small(x, dtype):
            return literal(x, context)
        if type(x) is not int or dtype.kind not in "iu":
            return f"{_torch('tensor', context)}({literal(x, context)}, dtype={torch_dtype(dtype, context)})"
    return f"{_kernel('scalar', context)}({literal(x, context)}, {torch_dtype(dtype, context)})"


def _is_small(x: Any, dtype: DType) -> bool:
    """Whether torch computes with the number ``x`` as with an array of it in ``dtype``."""
    if dtype.bits == 16 and dtype.kind == "f":
        return False
    if type(x) is int:
        if dtype.kind in "iu":
            low = 0 if dtype.kind == "u" else -(2 ** (dtype.bits - 1))
            return low <= x < 2 ** (dtype.bits - (dtype.kind == "i"))
        return abs(x) < 2**24
    return type(x) is not bool or dtype.kind == "b"


def _dtype_of(*args: Any) -> DType:
    return next(a.dtype for a in args if isinstance(a, TensorProxy))


def _elementwise(name: str, torch_name: str) -> Callable[..., str]:
    kinds, kernel = _KERNEL_FOR.get(name, ("", ""))

    def expression(context: dict[str, Any], *args: Any) -> str:
        dtype = _dtype_of(*args)
        chosen = kernel if dtype.kind in kinds else _FLOAT_KERNEL_FOR.get(name)
        constant = args[-1]
        harmless = _HARMLESS.get(name)
        if type(constant) is int and harmless is not None and dtype.kind in "iu" and harmless(constant):
            chosen = None
        plain = chosen is None and (name in _TAKE_NUMBERS or harmless is not None)
        operands = [_operand(a, dtype, context, plain=plain and i == 1) for i, a in enumerate(args)]
        function = _torch(torch_name, context) if chosen is None else _kernel(chosen, context)
        return f"{function}({', '.join(operands)})"

    return expression


for _row in ROWS:
    _register(_row.name, _elementwise(_row.name, _row.torch), _row.torch or _row.name)


def _print_where(context: dict[str, Any], condition: Any, a: Any, b: Any) -> str:
    dtype = _dtype_of(a, b)
    return f"{_torch('where', context)}({condition.name}, {_operand(a, dtype, context)}, {_operand(b, dtype, context)})"


def _print_convert(context: dict[str, Any], a: Any, dtype: DType) -> str:
    if not isinstance(a, TensorProxy):
        return _operand(a, dtype, context)
    if a.dtype is dtype or (a.dtype.kind == "c" and dtype.kind not in "bc"):
        return f"{_kernel('convert_element_type', context)}({a.name}, {torch_dtype(dtype, context)})"
    return f"{a.name}.to({torch_dtype(dtype, context)})"


_register("where", _print_where)
_register("convert_element_type", _print_convert, "to")


# Views, which updates of tensors go through, too


def _slices(starts: Any, stops: Any, strides: Any) -> tuple[slice, ...]:
    steps = [1] * len(starts) if strides is None else strides
    return tuple(slice(a, b, None if s == 1 else s) for a, b, s in zip(starts, stops, steps))


def _view_select(e: str, context: dict[str, Any], a: Any, dim: int, index: Any) -> str:
    if type(index) is int and (a is None or type(a.shape[dim]) is int):
        return f"{e}.select({dim}, {index})"
    return f"{_kernel('select', context)}({e}, {dim}, {literal(index, context)})"


def _call(name: str) -> Callable[..., str]:
    """``torch_<name>(e, …)``, of a kernel."""

    def expression(e: str, context: dict[str, Any], a: Any, *args: Any, **kwargs: Any) -> str:
        parts = [e, *(_literal(x, context) for x in args)]
        parts += [f"{k}={_literal(v, context)}" for k, v in kwargs.items()]
        return f"{_kernel(name, context)}({', '.join(parts)})"

    return expression


def _method(name: str) -> Callable[..., str]:
    """``e.<name>(…)``."""

    def expression(e: str, context: dict[str, Any], a: Any, *args: Any, **kwargs: Any) -> str:
        parts = [_literal(tuple(x) if isinstance(x, list) else x, context) for x in args]
        parts += [f"{k}={_literal(v, context)}" for k, v in kwargs.items()]
        return f"{e}.{name}({', '.join(parts)})"

    return expression


def _view_slice(e: str, context: dict[str, Any], a: Any, starts: Any, stops: Any, strides: Any = None) -> str:
    key = _slices(starts, stops, strides)
    return f"{e}[{key_string(key[0] if len(key) == 1 else key, context)}]"


_VIEWS: dict[str, Callable[..., str]] = {
    "slice": _view_slice,
    "transpose": _method("permute"),
    "reshape": _method("reshape"),
    "squeeze": _method("squeeze"),
    "flip": _method("flip"),
    "select": _view_select,
    "dynamic_slice": _call("dynamic_slice"),
    "broadcast_in_dim": _call("broadcast_in_dim"),
    "diagonal": _method("diagonal"),
    "unfold": _method("unfold"),
    "bitcast": _method("view"),
    "real": lambda e, context, a: f"{e}.real",
    "imag": lambda e, context, a: f"{e}.imag",
    "as_language": lambda e, context, a, name: e,
}
#: those through which a tensor can be written: torch's flip, and a reshape of strided memory, are copies
_WRITABLE = (
    prims.slice, prims.transpose, prims.squeeze, prims.select, prims.diagonal, prims.bitcast, prims.real, prims.imag, prims.as_language,
)  # fmt: skip

for _name, _view in _VIEWS.items():

    def _print_view(context: dict[str, Any], a: Any, *args: Any, _view: Any = _view, **kwargs: Any) -> str:
        return _view(a.name, context, a, *args, **kwargs)

    _register(_name, _print_view)


# Updates. Arrays of the NumPy language are written by the numpy executor.


def _is_numpy_array(a: Any) -> bool:
    return isinstance(a, TensorProxy) and a.lang.name == "numpy"


def _expressible(a: Any, value: Any, path: Any = None) -> bool:
    """Whether every step of an update's path is a view in torch, of an array that is a tensor to its user."""
    steps = path.steps if isinstance(path, views.Path) else ()
    return (
        not _is_numpy_array(a)
        and (path is None or isinstance(path, views.Path))
        and all(s.symbol in _WRITABLE for s in steps)
    )


def _print_update(context: dict[str, Any], a: Any, value: Any, path: Any = None) -> str:
    target = a.name
    for step in path.steps if path is not None else ():
        target = _VIEWS[step.symbol.name](target, context, None, *step.args, **step.kwargs)
    return f"{target}[...] = {literal(value, context)}"


executor.register_implementation(views.update, in_place=_in_place_symbol("update", _print_update), checker=_expressible)
for _name in ("scatter", "scatter_add", "index_put", "slice_update"):

    def _print_in_place(context: dict[str, Any], *args: Any, _name: str = _name, **kwargs: Any) -> str:
        parts = [literal(a, context) for a in args] + [f"{k}={literal(v, context)}" for k, v in kwargs.items()]
        return f"{_kernel(f'{_name}_', context)}({', '.join(parts)})"

    executor.register_implementation(
        prims.registry[_name], in_place=_in_place_symbol(f"{_name}_", _print_in_place), checker=_takes(_name)
    )

_copy = prims.registry["copy_"]
executor.register_implementation(
    _copy,
    _symbol(
        "copy_",
        lambda context, source, destination: f"{destination.name}.copy_({source.name})",
        meta=_copy.meta,
        tags=_copy.tags,
    ),
    checker=lambda source, destination: not _is_numpy_array(destination),
)


# Arrays of nothing, and the rest


def _print_full(context: dict[str, Any], shape: Any, fill_value: Any, *, device: Any, dtype: DType) -> str:
    kind = torch_dtype(dtype, context)
    value = literal(fill_value, context)
    is_integer = isinstance(fill_value, NumberProxy) or type(fill_value) is int
    if is_integer and dtype.kind in "iu" and not (type(fill_value) is int and _is_small(fill_value, dtype)):
        value = f"{_kernel('scalar', context)}({value}, {kind}).item()"
    return f"torch.full({literal(shape, context)}, {value}, dtype={kind}, device={str(device)!r})"


def _print_empty(context: dict[str, Any], shape: Any, *, device: Any, dtype: DType) -> str:
    return f"torch.empty({literal(shape, context)}, dtype={torch_dtype(dtype, context)}, device={str(device)!r})"


def _print_iota(
    context: dict[str, Any], length: Any, *, start: Any = 0, step: Any = 1, device: Any, dtype: DType
) -> str:
    parts = f"{literal(length, context)}, start={literal(start, context)}, step={literal(step, context)}"
    return f"{_kernel('iota', context)}({parts}, device={str(device)!r}, dtype={torch_dtype(dtype, context)})"


def _print_concatenate(context: dict[str, Any], arrays: Any, dim: int) -> str:
    return f"{_torch('cat', context)}({literal(list(arrays), context)}, dim={dim})"


def _print_random(name: str) -> Callable[..., str]:
    def expression(context: dict[str, Any], shape: Any, *parameters: Any, device: Any, dtype: DType) -> str:
        parts = ", ".join(literal(x, context) for x in (shape, *parameters))
        kind = torch_dtype(dtype, context)
        return f"{_kernel(name, context)}({parts}, device={str(device)!r}, dtype={kind})"

    return expression


_register("full", _print_full)
_register("uniform", _print_random("uniform"))
_register("normal", _print_random("normal"))
_register("empty", _print_empty)
_register("iota", _print_iota)
_register("concatenate", _print_concatenate, "cat")
_register("clone", lambda context, a: f"{a.name}.clone()")
_register("device_put", lambda context, a, device: f"{a.name}.to({str(device)!r}, copy=True)", "to_device")
_register("item", lambda context, a: f"{a.name}.item()")


def _print_matmul(context: dict[str, Any], a: Any, b: Any) -> str:
    if a.ndim == b.ndim == 2 and (
        matmul.goes_to_pool((a.shape[0], b.shape[1]), a, b) or matmul.is_own(a.shape[0], *b.shape[::-1], a, b)
    ):
        context["torch_product"] = matmul.matmul
        return f"torch_product({a.name}, {b.name})"
    return f"{_torch('matmul', context)}({a.name}, {b.name})"


_register("matmul", _print_matmul)

for _name, _prim in prims.registry.items():
    if _prim.id in executor.implementations or OpTags.PROGRAM in _prim.tags or not hasattr(kernels, _name):
        continue

    def _print_kernel(context: dict[str, Any], *args: Any, _name: str = _name, **kwargs: Any) -> str:
        parts = [_literal(a, context) for a in args] + [f"{k}={_literal(v, context)}" for k, v in kwargs.items()]
        return f"{_kernel(_name, context)}({', '.join(parts)})"

    _register(_name, _print_kernel)


# Between the libraries, and memory for updates

_CONVERSION = (OpTags.VIEW, OpTags.CONVERSION)
to_tensor = _symbol(
    "to_tensor", lambda context, a: f"{_kernel('to_tensor', context)}({a.name})", tags=(*_CONVERSION, OpTags.MAY_COPY)
)
to_ndarray = Symbol(
    "to_ndarray", None, id="torch.to_ndarray", is_prim=True, tags=_CONVERSION, executor=get_executor("numpy"),
    printer=_statement(lambda context, a: f"{_kernel('to_ndarray', context)}({a.name})"),
)  # fmt: skip
clone = _symbol("clone", lambda context, a: f"{a.name}.clone()")
empty_like = _symbol("empty_like", lambda context, a: f"{_torch('empty_like', context)}({a.name})")

executor.conversions = {("numpy", "torch"): to_tensor, ("torch", "numpy"): to_ndarray}
executor.memory = clone, empty_like

register_executor(executor)
