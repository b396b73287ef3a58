"""The numpy executor: every prim, and every function of the NumPy language, as a NumPy call.

A function of the language runs as the NumPy function itself, as in eager. A single prim (from a transform, or from
another language) runs as the NumPy function that the elementwise table names, or as a function of :mod:`kernels`.

With the option ``prims`` it does not claim functions of the language: it decomposes them to prims.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from types import MappingProxyType
from typing import Any, cast

import numpy as np

from tnp.core import prims, sizes, views
from tnp.core.dtypes import DType
from tnp.core.elementwise_table import ROWS
from tnp.core.errors import LateGuardFailed, UserLocation
from tnp.core.printing import add_import, call_string, literal, targets
from tnp.core.proxies import NumberProxy, TensorProxy
from tnp.core.symbol import BoundSymbol, Namespace, OpTags, Symbol, flat_proxies
from tnp.executors.base import Implementation, OperatorExecutor
from tnp.executors.numpy import kernels, scipy_calls
from tnp.executors.numpy.blocks import BlockExecutor
from tnp.executors.registry import register_executor
from tnp.executors.shared.array_expressions import (
    dtype_string,
    is_expressible,
    key_string,
    print_update,
    view_expression,
)
from tnp.runtime.pooled import pooled

__all__ = ["executor", "expressible", "prims_only", "print_update"]

_np = Namespace("np", "import numpy as np")


def _on_cpu(*args: Any, **kwargs: Any) -> bool:
    """Whether every array argument is a CPU array of a dtype that NumPy has."""
    return all(
        str(p.device) == "cpu" and p.dtype.name != "bfloat16"
        for p in flat_proxies((args, kwargs))
        if isinstance(p, TensorProxy)
    )


def _on_cpu_arrays(*args: Any, **kwargs: Any) -> bool:
    """As :func:`_on_cpu`, and one is an array: NumPy would make NumPy scalars of Python numbers."""
    return any(isinstance(a, TensorProxy) for a in args) and _on_cpu(*args, **kwargs)


def _statement(expression: Callable[[BoundSymbol, dict[str, Any]], str]) -> Any:
    """A printer of ``result = <expression>``."""

    def printer(bsym: BoundSymbol, context: dict[str, Any]) -> str:
        text = expression(bsym, context)
        return f"{targets(bsym.output)} = {text}" if bsym.flat_outputs else text

    return printer


class NumpyExecutor(OperatorExecutor):
    """Looks functions of the NumPy language up by their names, so that no table repeats them."""

    array_kind = "numpy"
    options = MappingProxyType({"prims": "functions are decomposed to prims instead of running whole"})

    def __init__(self, name: str, *, version: Any = None, options: Iterable[str] = ()) -> None:
        super().__init__(name, version=version, options=options)
        self._whole_functions = "prims" not in self.chosen_options

    def implementation_of(self, sym: Symbol) -> Implementation | None:
        key = sym.id if sym.operator is None else (sym.id, sym.operator)
        found = self.implementations.get(key)
        if found is None and sym.operator is not None and self._whole_functions:
            found = self.implementations[key] = _operator(sym, sym.operator)
        elif found is None and isinstance(sym.id, str):
            kind, _, name = sym.id.partition(".")
            if kind == "numpy" and not self._whole_functions:
                found = Implementation(decomposes=True)
            elif kind == "numpy":
                found = _method(sym, name) if name.startswith("ndarray.") else _function(sym, name)
            elif kind == "ufunc" and not self._whole_functions:
                found = Implementation(decomposes=True)
            elif kind in ("ufunc", "ufunc_call"):
                found = _ufunc_method(sym)
            elif kind == "opaque":
                found = _opaque(sym, name)
            elif (
                kind == "scipy" and not sym.is_prim and (not self._whole_functions or OpTags.BETTER_OPENED in sym.tags)
            ):
                found = Implementation(decomposes=True)
            elif kind in ("scipy", "scipy_call"):
                function = scipy_calls.function_of(sym, name)
                if function is not None:
                    found = Implementation(
                        _symbol(sym.name, sym.meta, sym.tags, scipy_calls.print_call, function), _on_cpu
                    )
            elif kind == "generator":
                found = Implementation(_symbol(sym.name, sym.meta, sym.tags, _print_method, None))
            if found is not None:
                self.implementations[key] = found
        return found


def _symbol(name: str, meta: Any, tags: Any, printer: Any, fn: Any, namespace: Namespace | None = None) -> Symbol:
    return Symbol(
        name, meta, id=f"np.{name}", is_prim=True, tags=tags, printer=printer, fn=fn, namespace=namespace,
        executor=executor,
    )  # fmt: skip


def _operator(sym: Symbol, operator: str) -> Implementation:
    """A Python operator on NumPy's scalars as itself."""

    @_statement
    def printer(bsym: BoundSymbol, context: dict[str, Any]) -> str:
        texts = [literal(a, context) for a in bsym.args]
        if operator.isidentifier():
            return f"{operator}({', '.join(texts)})"
        texts = [t if t.isidentifier() else f"({t})" for t in texts]
        return f"{texts[0]} {operator} {texts[1]}" if len(texts) == 2 else f"{operator}{texts[0]}"

    return Implementation(_symbol(sym.name, sym.meta, sym.tags, printer, None), checker=_on_cpu)


def _resolve(name: str) -> Any:
    found: Any = np
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _np_namespace(path: str) -> Namespace:
    return Namespace(f"np.{path}", "import numpy as np") if path else _np


def _function(sym: Symbol, name: str) -> Implementation | None:
    """``numpy.<name>`` as itself."""
    if _resolve(name) is None:
        return None
    path, _, short = name.rpartition(".")
    tags = set(sym.tags)
    if OpTags.UPDATE in tags:
        in_place = _symbol(short, sym.meta, (), _print_statement, None, _np_namespace(path))
        return Implementation(in_place=in_place, checker=_on_cpu)
    function = _resolve(name)
    one_result = (isinstance(function, np.ufunc) and function.nout == 1) or function is np.clip
    if one_result and OpTags.ELEMENTWISE in tags:
        tags.add(OpTags.TAKES_OUT)
    checker = _IN_PARTS.get(name, _on_cpu)
    namespace = _quiet if name in _QUIET else _np_namespace(path)
    printer = _print_ufunc if isinstance(function, np.ufunc) else _print_as_method if name in _METHODS else None
    return Implementation(_symbol(short, sym.meta, tags, printer, None, namespace), checker=checker)


@_statement
def _print_ufunc(bsym: BoundSymbol, context: dict[str, Any]) -> str:
    kwargs = bsym.kwargs
    if (
        "where" in kwargs and "out" not in kwargs
    ):  # as the program said, or NumPy would warn of elements that are left undefined
        count = len(bsym.flat_outputs)
        kwargs = {**kwargs, "out": None if count == 1 else (None,) * count}
    return call_string(bsym.sym, bsym.args, kwargs, context)


def _is_one_product_each(*args: Any, **kwargs: Any) -> bool:
    """As :func:`_on_cpu`, and a product of no batch and one matrix: NumPy multiplies one by one what the language makes one product."""
    a, b = args[:2]
    batched = isinstance(a, TensorProxy) and isinstance(b, TensorProxy) and a.ndim > 2 >= b.ndim
    return not batched and _on_cpu(*args, **kwargs)


def _is_of_known_size(*args: Any, **kwargs: Any) -> bool:
    """As :func:`_on_cpu`, and the sizes are known: otherwise NumPy may warn of them, and the program does so itself."""
    return all(sizes.is_known(a.shape) for a in args[:1] if isinstance(a, TensorProxy)) and _on_cpu(*args, **kwargs)


def _is_of_known_length(*args: Any, **kwargs: Any) -> bool:
    """As :func:`_on_cpu`, and the sizes are known: otherwise a sort and a few elements of it take less time, in one program for all."""
    return all(sizes.is_known(a.shape) for a in args[:2] if isinstance(a, TensorProxy)) and _on_cpu(*args, **kwargs)


def _finds_places(
    ar: Any, *asks: Any, axis: Any = None, equal_nan: Any = True, sorted: Any = True, **more: Any
) -> bool:
    """As :func:`_on_cpu`, and more is asked than which elements are distinct, or floats whose number only the run knows are: otherwise a
    sort takes less time than NumPy's hash table."""
    in_parts = isinstance(ar, TensorProxy) and (sizes.is_decided(ar.shape) or ar.dtype.kind in "iu")
    return (any(asks) or any(more.values()) or not sorted or not in_parts) and _on_cpu(ar)


def _takes_all(*args: Any, where: Any = True, ddof: Any = 0, **kwargs: Any) -> bool:
    """As :func:`_is_of_known_size`, and it is known how many elements are taken, and how many degrees of freedom off."""
    taken_off = (ddof, kwargs.get("correction"), *args[3:4])
    known = (where is True or where is np._NoValue) and not any(isinstance(x, NumberProxy) for x in taken_off)
    return known and _is_of_known_size(*args, **kwargs)


#: functions that are better run as what they consist of, where this says so
_IN_PARTS = {
    "matmul": _is_one_product_each,
    "unique": _finds_places,
    **dict.fromkeys(("average", "mean", "std", "var"), _takes_all),
    **dict.fromkeys(("nanmean", "nanstd", "nanvar"), _is_of_known_size),
    **dict.fromkeys(("corrcoef", "cov", "median", "percentile", "quantile"), _is_of_known_length),
}
#: functions that call the array's method of the same name
_METHODS = frozenset(
    "all any argmax argmin argsort cumprod cumsum max mean min nonzero prod repeat std sum var".split()
)
#: functions that warn of what is in the data, which the program does itself
_QUIET = frozenset(("nanmax", "nanmean", "nanmedian", "nanmin", "nanpercentile", "nanquantile", "nanstd", "nanvar"))


@_statement
def _print_as_method(bsym: BoundSymbol, context: dict[str, Any]) -> str:
    """``x.sum()`` in place of ``np.sum(x)``, which costs half a microsecond more. Arguments that only the function takes are kept."""
    x, given = bsym.args[0], [*bsym.args[1:], *bsym.kwargs.values()]
    is_array = isinstance(x, TensorProxy) and not x.scalar
    if not is_array or "correction" in bsym.kwargs or any(value is np._NoValue for value in given):
        return call_string(bsym.sym, bsym.args, bsym.kwargs, context)
    return _method_text(bsym, context)


_quiet = Namespace("quiet", "from tnp.executors.numpy import quiet")


def _print_statement(bsym: BoundSymbol, context: dict[str, Any]) -> str:
    return call_string(bsym.sym, bsym.args, bsym.kwargs, context)


def _method_text(bsym: BoundSymbol, context: dict[str, Any]) -> str:
    parts = [literal(a, context) for a in bsym.args[1:]]
    parts += [f"{k}={literal(v, context)}" for k, v in bsym.kwargs.items()]
    return f"{literal(bsym.args[0], context)}.{bsym.sym.name}({', '.join(parts)})"


_print_method = _statement(_method_text)


def _method(sym: Symbol, name: str) -> Implementation | None:
    """An ndarray method as itself."""
    short = name.removeprefix("ndarray.")
    if not hasattr(np.ndarray, short):
        return None
    return Implementation(_symbol(short, sym.meta, sym.tags, _print_method, None), checker=_on_cpu)


def _print_ufunc_method(bsym: BoundSymbol, context: dict[str, Any]) -> str:
    ufunc, *args = bsym.args
    if OpTags.UPDATE in bsym.sym.tags:  # its first argument is what it changes
        ufunc, args = args[0], [ufunc, *args[1:]]
    parts = [literal(a, context) for a in args] + [f"{k}={literal(v, context)}" for k, v in bsym.kwargs.items()]
    return f"{literal(ufunc, context)}.{bsym.sym.name}({', '.join(parts)})"


def _ufunc_method(sym: Symbol) -> Implementation:
    """A ufunc's method as itself: ``np.add.reduce(x, axis=1)``."""
    if OpTags.UPDATE in sym.tags:
        return Implementation(in_place=_symbol("at", sym.meta, (), _print_ufunc_method, None), checker=_on_cpu)
    op = _symbol(sym.name, sym.meta, sym.tags, _statement(_print_ufunc_method), None)
    return Implementation(op, checker=_on_cpu)


def _metadata(output: Any) -> Any:
    """What a run-time value must look like: shape and dtype of arrays, the type of numbers and of ``None``, nothing of other things."""
    if isinstance(output, TensorProxy):
        return output.shape, output.dtype.name
    if isinstance(output, (tuple, list)):
        return [_metadata(x) for x in output]
    return output.python_type if isinstance(output, NumberProxy) else type(None) if output is None else None


def checked(name: str, place: UserLocation | None, expected: Any, value: Any, *arguments: Any) -> Any:
    """``value``, if the opaque call at ``place`` returned what its dry run did, in memory of its own. Raises :class:`LateGuardFailed`."""
    if isinstance(expected, tuple):
        if isinstance(value, np.ndarray) and any(np.may_share_memory(value, a) for a in arguments):
            reason = f"{name} returned a view of its argument, which depends on the argument's memory"
            raise LateGuardFailed(reason, place)
        if not isinstance(value, (np.ndarray, np.generic)):
            raise LateGuardFailed(f"{name} returned a {type(value).__name__}, which depends on values", place)
        if value.shape != expected[0] or value.dtype.name != expected[1]:
            found = f"{value.dtype}{list(value.shape)}"
            raise LateGuardFailed(f"{name} returned {found}, which depends on values", place)
    elif isinstance(expected, type):
        if type(value) is not expected:
            raise LateGuardFailed(f"{name} returned a {type(value).__name__}, which depends on values", place)
    elif isinstance(expected, list):
        if len(value) != len(expected):
            raise LateGuardFailed(f"{name} returned {len(value)} results, a number that depends on values", place)
        for e, v in zip(expected, value):
            checked(name, place, e, v, *arguments)
    return value


def _opaque(sym: Symbol, name: str) -> Implementation | None:
    path, _, _short = name.rpartition(".")

    @_statement
    def printer(bsym: BoundSymbol, context: dict[str, Any]) -> str:
        text = call_string(bsym.sym, bsym.args, bsym.kwargs, context)
        if OpTags.LATE_GUARD not in bsym.sym.tags:
            return text
        context["checked"] = checked
        arrays = dict.fromkeys(literal(p, context) for p in bsym.flat_inputs if isinstance(p, TensorProxy))
        place = literal(bsym.location, context)
        parts = [repr(bsym.sym.qualified_name), place, literal(_metadata(bsym.output), context), text, *arrays]
        return f"checked({', '.join(parts)})"

    return Implementation(_symbol(sym.name, sym.meta, sym.tags, printer, None, _np_namespace(path)), checker=_on_cpu)


executor = NumpyExecutor("numpy", version=np.__version__)
prims_only = cast(NumpyExecutor, executor.with_options("prims"))


def _both(symbol: Symbol, implementation: Implementation) -> None:
    executor.implementations[symbol.id] = implementation
    prims_only.implementations[symbol.id] = implementation


def _register(symbol: Symbol, op: Symbol | None = None, in_place: Symbol | None = None) -> None:
    _both(symbol, Implementation(op, _on_cpu, in_place=in_place))


# Elementwise prims: NumPy's function of the row, or a kernel of the prim's name.
for _row in ROWS:
    _prim = prims.registry[_row.name]
    if _row.numpy and hasattr(np, _row.numpy):
        _op = _symbol(_row.numpy, _prim.meta, {*_prim.tags, OpTags.TAKES_OUT}, None, None, _np)
    else:
        _op = _symbol(_row.name, _prim.meta, _prim.tags, None, getattr(kernels, _row.name))
    _both(_prim, Implementation(_op, _on_cpu_arrays))
for _name in ("where", "ldexp", "frexp"):
    _prim = prims.registry[_name]
    _register(_prim, _symbol(_name, _prim.meta, _prim.tags, None, None, _np))

# Views print as the expressions that they are.
for _name in ("slice", "transpose", "reshape", "squeeze", "flip", "select", "dynamic_slice", "broadcast_in_dim",
              "diagonal", "bitcast", "real", "imag", "as_language"):  # fmt: skip
    _prim = prims.registry[_name]

    def _print_view(bsym: BoundSymbol, context: dict[str, Any], _prim: Symbol = _prim) -> str:
        source = literal(bsym.args[0], context)
        return f"{bsym.output.name} = {view_expression(_prim, source, bsym.args[1:], bsym.kwargs, context)}"

    _register(_prim, _symbol(_name, _prim.meta, _prim.tags, _print_view, None))


@_statement
def _print_enter_errstate(bsym: BoundSymbol, context: dict[str, Any]) -> str:
    add_import(context, _np.import_line)
    return f"np.seterr({', '.join(f'{k}={v!r}' for k, v in bsym.kwargs.items())})"


def _print_exit_errstate(bsym: BoundSymbol, context: dict[str, Any]) -> str:
    add_import(context, _np.import_line)
    return f"np.seterr(**{literal(bsym.args[0], context)})"


for _name, _printer in (("enter_errstate", _print_enter_errstate), ("exit_errstate", _print_exit_errstate)):
    _op = _symbol(_name, None, (OpTags.EFFECT,), _printer, None, _np)
    for _numpy in (executor, prims_only):
        _numpy.implementations[f"tnp.{_name}"] = Implementation(_op)


def _print_scalar_or_number(bsym: BoundSymbol, context: dict[str, Any]) -> str:
    a, is_scalar = (literal(x, context) for x in bsym.args[:2])
    python_type = bsym.args[2].__name__
    context["as_scalar"] = kernels.as_scalar
    return f"{bsym.output.name} = as_scalar({a}) if {is_scalar} else {python_type}({a})"


_op = _symbol("scalar_or_number", None, (), _print_scalar_or_number, None)
for _numpy in (executor, prims_only):
    _numpy.implementations["tnp.scalar_or_number"] = Implementation(_op)


def _print_python_call(bsym: BoundSymbol, context: dict[str, Any]) -> str:
    effect, _, *values = bsym.args
    name = next(n for k in itertools.count() if context.setdefault(n := f"{effect.name}{k}", effect) is effect)
    text = f"{name}({', '.join(literal(v, context) for v in values)})"
    return text if bsym.output is None else f"{bsym.output.name} = {text}"


for _name in ("python_call", "clock_call", "warning_call", "data_warning"):
    _op = _symbol(_name, None, (OpTags.EFFECT,), _print_python_call, None)
    for _numpy in (executor, prims_only):
        _numpy.implementations[f"tnp.{_name}"] = Implementation(_op)


def _print_getitem(bsym: BoundSymbol, context: dict[str, Any]) -> str:
    a, key = bsym.args
    return f"{bsym.output.name} = {literal(a, context)}[{key_string(key, context)}]"


executor.implementations["numpy.ndarray.getitem"] = Implementation(
    Symbol("getitem", lambda a, key: a, id="np.getitem", is_prim=True, tags=(OpTags.VIEW, OpTags.MAY_RAISE),
           printer=_print_getitem, executor=executor), _on_cpu
)  # fmt: skip


def _print_setitem(bsym: BoundSymbol, context: dict[str, Any]) -> str:
    a, key, value = bsym.args
    return f"{literal(a, context)}[{key_string(key, context)}] = {literal(value, context)}"


executor.implementations["numpy.ndarray.setitem"] = Implementation(
    in_place=_symbol("setitem", None, (), _print_setitem, None), checker=_on_cpu
)


_update = Implementation(
    in_place=_symbol("update", None, (), print_update, None),
    checker=lambda a, value, path=None: _on_cpu(a, value) and is_expressible(path),
)
_both(views.update, _update)


def _expression(prim_name: str) -> Callable[[Callable[..., str]], None]:
    """Registers a prim that prints as an expression of its literals."""

    def decorate(f: Callable[..., str]) -> None:
        prim = prims.registry[prim_name]

        @_statement
        def printer(bsym: BoundSymbol, context: dict[str, Any]) -> str:
            return f(context, *bsym.args, **bsym.kwargs)

        _register(prim, _symbol(prim_name, prim.meta, prim.tags, printer, None))

    return decorate


@_expression("convert_element_type")
def _print_convert(context: dict[str, Any], a: Any, dtype: DType) -> str:
    kind = dtype_string(dtype, context)
    if isinstance(a, TensorProxy):
        return f"{a.name}.astype({kind})"
    return f"{kind}({literal(a, context)})"


@_expression("clone")
def _print_clone(context: dict[str, Any], a: Any) -> str:
    return f"{a.name}.copy()"


@_expression("full")
def _print_full(context: dict[str, Any], shape: Any, fill_value: Any, *, device: Any, dtype: DType) -> str:
    kind = dtype_string(dtype, context)
    if shape == ():
        return f"{kind}({literal(fill_value, context)})"
    return f"np.full({literal(shape, context)}, {literal(fill_value, context)}, {kind})"


@_expression("empty")
def _print_empty(context: dict[str, Any], shape: Any, *, device: Any, dtype: DType) -> str:
    return f"np.empty({literal(shape, context)}, {dtype_string(dtype, context)})"


@_expression("concatenate")
def _print_concatenate(context: dict[str, Any], arrays: Any, dim: int) -> str:
    dtype_string(arrays[0].dtype, context)
    return f"np.concatenate({literal(list(arrays), context)}, axis={dim})"


@_expression("item")
def _print_item(context: dict[str, Any], a: Any) -> str:
    if not a.scalar:
        return f"{a.name}.item()"
    kinds = {"b": "bool", "i": "int", "u": "int", "f": "float", "c": "complex"}
    return f"{kinds[a.dtype.kind]}({a.name})"  # takes a fifth of the time of a scalar's item()


@_expression("iota")
def _print_iota(
    context: dict[str, Any], length: Any, *, start: Any = 0, step: Any = 1, device: Any, dtype: DType
) -> str:
    kind = dtype_string(dtype, context)
    if type(start) is int and type(step) is int and (start, step) == (0, 1):
        return f"np.arange({literal(length, context)}, dtype={kind})"
    context["iota"] = kernels.iota
    parts = f"{literal(length, context)}, start={literal(start, context)}, step={literal(step, context)}"
    return f"iota({parts}, device=None, dtype={kind})"


def _print_copy(bsym: BoundSymbol, context: dict[str, Any]) -> str:
    source, destination = bsym.args
    return f"{destination.name}[...] = {source.name}"


_copy = prims.registry["copy_"]
_register(_copy, _symbol("copy_", _copy.meta, _copy.tags, _print_copy, None))

for _name in ("matmul", "cholesky", "inv", "det"):
    _prim = prims.registry[_name]
    _namespace = _np if _name == "matmul" else _np_namespace("linalg")
    _tags = {*_prim.tags, OpTags.TAKES_OUT} if _name == "matmul" else _prim.tags
    _register(_prim, _symbol(_name, _prim.meta, _tags, None, None, _namespace))
for _name in ("scatter", "scatter_add", "index_put", "slice_update"):
    _prim = prims.registry[_name]
    _register(_prim, in_place=_symbol(f"{_name}_", None, (), None, getattr(kernels, f"{_name}_")))


def _dtype_as_numpy(fn: Any) -> Any:
    def call(*args: Any, dtype: DType, **kwargs: Any) -> Any:
        return fn(*args, dtype=np.dtype(dtype.name), **kwargs)

    return call


for _name, _prim in prims.registry.items():
    if _prim.id in executor.implementations or OpTags.PROGRAM in _prim.tags:
        continue
    _kernel = getattr(kernels, _name, None)
    if _kernel is not None:
        _kernel = _dtype_as_numpy(_kernel) if _name in ("uniform", "normal") else _kernel
        _register(_prim, _symbol(_name, _prim.meta, _prim.tags, None, _kernel))

#: how the ends of a program make 0-d results what the language says they are
as_array = _symbol("as_array", None, (), None, kernels.as_array)
as_scalar = _symbol("as_scalar", None, (), None, kernels.as_scalar)
#: how views that NumPy makes read-only are so, though they were made of other views
as_read_only = _symbol("as_read_only", None, (OpTags.VIEW,), None, kernels.as_read_only)
#: how arrays that the program makes read-only are so
as_frozen = _symbol("as_frozen", None, (OpTags.VIEW,), None, kernels.as_frozen)
#: how memory of its own is made for an update whose argument's memory is still needed
copied = _symbol("array", None, (), None, None, _np)
empty_like = _symbol("empty_like", None, (), None, None, _np)


def _print_pooled(bsym: BoundSymbol, context: dict[str, Any]) -> str:
    shape, dtype = bsym.args
    context["pooled"] = pooled
    return f"{bsym.output.name} = pooled({literal(shape, context)}, {dtype_string(dtype, context)})"


pooled_empty = Symbol("pooled", None, id="numpy.pooled", is_prim=True, printer=_print_pooled, executor=executor)

executor.memory = copied, empty_like, pooled_empty


def _ufunc_of(bsym: BoundSymbol) -> Any:
    """The NumPy function that runs an elementwise operation."""
    found = executor.implementation_of(bsym.sym)
    if found is None or found.op is None or found.op.namespace is not _np or OpTags.ELEMENTWISE not in found.op.tags:
        return None
    return getattr(np, found.op.name, None)


executor.fuser = BlockExecutor("numpy_blocks", _ufunc_of)

register_executor(executor)
