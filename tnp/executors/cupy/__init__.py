"""The cupy executor: NumPy programs on the GPU, one CuPy call per prim.

``tnp.jit(f, executors=["cupy"])`` takes and returns ndarrays. The inputs that the program reads are copied to the current CUDA device once; results, and writes to the caller's arrays, are copied back once (:mod:`tnp.transforms.bridge` inserts the copies). Operations that CuPy cannot run are listed in :data:`REFUSALS`; the numpy executor runs them on the host, between two copies.

An elementwise prim runs as the CuPy function with the name of NumPy's function in the table; other prims run as
functions of :mod:`kernels`. Several elementwise prims of one shape, and reductions of their results, become kernels of
:mod:`fusing`.
"""

from __future__ import annotations

from typing import Any

import cupy

from tnp.core import prims, views
from tnp.core.elementwise_table import ROWS
from tnp.core.errors import NoDeviceError
from tnp.core.printing import literal
from tnp.core.proxies import NumberProxy, TensorProxy
from tnp.core.symbol import BoundSymbol, Symbol, flat_proxies
from tnp.executors.base import Implementation, OperatorExecutor
from tnp.executors.cupy import kernels
from tnp.executors.cupy.fusing import CupyFuser
from tnp.executors.registry import get_executor, register_executor
from tnp.executors.shared.array_expressions import is_expressible, print_update

__all__ = ["REFUSALS", "CupyExecutor", "executor"]

#: (prims, kinds of dtype, why): what CuPy does not do, or not as NumPy does, on arrays of these kinds
REFUSALS: tuple[tuple[str, str, str], ...] = (
    ("sort argsort topk searchsorted amax amin argmax argmin maximum minimum fmax fmin", "c", "no order of complex numbers"),
    ("logical_not logical_and logical_or logical_xor", "c", "no loop (seen with CuPy 14.2)"),
    ("sign", "c", "the sign of the real part"),
    ("pow", "iu", "a negative power of an integer is an error, which CuPy does not raise"),
    ("convert_element_type", "fc", "conversions of NaN and infinities to integers differ"),
    ("cumsum cumprod", "b", "no loop for bool"),
)  # fmt: skip
_refused = {(name, kind) for names, kinds, _ in REFUSALS for name in names.split() for kind in kinds}


class CupyExecutor(OperatorExecutor):
    """Decomposes the functions of the NumPy language, to run their prims."""

    array_kind = "cupy"

    def unavailable(self) -> str | None:
        try:
            kernels.find_device()
        except NoDeviceError as error:
            return str(error).partition(";")[0]
        return None

    def implementation_of(self, sym: Symbol) -> Implementation | None:
        found = self.implementations.get(sym.id)
        if found is None and isinstance(sym.id, str) and sym.id.startswith(("numpy.", "ufunc.")):
            found = self.implementations[sym.id] = Implementation(decomposes=True)
        return found


executor = CupyExecutor("cupy", version=cupy.__version__)


def _takes(name: str) -> Any:
    """A checker: whether CuPy does this to the arrays among the arguments, which are the NumPy language's."""

    def checker(*args: Any, **kwargs: Any) -> bool:
        arrays = [p for p in flat_proxies((args, kwargs)) if isinstance(p, TensorProxy)]
        if any(a.lang.name != "numpy" or a.dtype.name == "bfloat16" for a in arrays):
            return False
        if name == "convert_element_type" and arrays:
            target = args[1].kind
            return not (arrays[0].dtype.kind in "fc" and target in "iu") and not (arrays[0].dtype.kind == "c" != target)
        return all((name, a.dtype.kind) not in _refused for a in arrays) and (bool(arrays) or "dtype" in kwargs)

    return checker


def _symbol(name: str, fn: Any, tags: Any = ()) -> Symbol:
    return Symbol(name, None, id=f"cupy.{name}", is_prim=True, tags=tags, fn=fn, executor=executor)


def _on_arrays(fn: Any) -> Any:
    """An elementwise function whose arguments may be Python numbers: they are of the arrays' dtype."""

    def call(*args: Any) -> Any:
        kind = [a.dtype for a in args if isinstance(a, cupy.ndarray)][-1]
        return fn(*(a if isinstance(a, cupy.ndarray) else kind.type(a) for a in args))

    return call


def _register(name: str, fn: Any) -> None:
    prim = prims.registry[name]
    executor.register_implementation(prim, _symbol(name, fn, prim.tags), checker=_takes(name))


for _row in ROWS:
    if _row.numpy and hasattr(cupy, _row.numpy) and not hasattr(kernels, _row.name):
        _register(_row.name, _on_arrays(getattr(cupy, _row.numpy)))
_register("where", _on_arrays(kernels.where))

for _name, _prim in prims.registry.items():
    if hasattr(kernels, _name) and _prim.id not in executor.implementations and _name != "copy_":
        _register(_name, getattr(kernels, _name))


# Writes

#: views through which a CuPy array can be written
_WRITABLE = (prims.slice, prims.transpose, prims.squeeze, prims.flip, prims.select, prims.real, prims.imag)


def _is_of_prims(path: Any) -> bool:
    """Whether every step of an update's path is a prim that is a view in CuPy, at positions that are known."""
    steps = path.steps if isinstance(path, views.Path) else ()
    return (path is None or isinstance(path, views.Path)) and all(
        s.symbol in _WRITABLE and not any(isinstance(x, NumberProxy) for x in s.args) for s in steps
    )  # fmt: skip


def _expressible(a: Any, value: Any, path: Any = None) -> bool:
    """Whether every step of an update's path is a view in CuPy, or in NumPy, whose expressions CuPy's arrays understand."""
    return _takes("update")(a, value) and (_is_of_prims(path) or is_expressible(path))


def _print_update(bsym: BoundSymbol, context: dict[str, Any]) -> str:
    a, value, *rest = bsym.args
    if not _is_of_prims(rest[0] if rest else None):
        return print_update(bsym, context)
    steps = rest[0].steps if rest and rest[0] is not None else ()
    context["cupy_write"] = kernels.write
    path = [(s.symbol.name, tuple(s.args), dict(s.kwargs)) for s in steps]
    return f"cupy_write({literal(a, context)}, {literal(value, context)}, {path!r})"


executor.register_implementation(
    views.update,
    in_place=Symbol("update", None, id="cupy.update", is_prim=True, printer=_print_update, executor=executor),
    checker=_expressible,
)
executor.register_implementation(
    prims.registry["slice_update"],
    in_place=_symbol("slice_update_", kernels.slice_update_),
    checker=_takes("slice_update"),
)

# Between the libraries: copies, so not views of their arguments' memory

to_device = _symbol("to_device", kernels.to_device)
to_host = Symbol("to_host", None, id="cupy.to_host", is_prim=True, fn=kernels.to_host, executor=get_executor("numpy"))
store = _symbol("copy_", kernels.copy_, prims.copy_.tags)
executor.conversions = {("numpy", "cupy"): to_device, ("cupy", "numpy"): to_host, ("cupy", "cupy"): store}
executor.memory = _symbol("array", cupy.array), _symbol("empty_like", cupy.empty_like)

executor.fuser = CupyFuser("cupy_kernels", version=cupy.__version__)

register_executor(executor)
