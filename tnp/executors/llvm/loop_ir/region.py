"""Regions of symbolic sizes as callables: one kernel for all sizes.

The callable is a generated Python function. It reads the sizes of the inputs, makes the results, and calls the kernel. Inputs that
are not C-contiguous, and sizes of 0, run the region unfused.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tnp.core import check, devices, dtypes, intervals, symbols
from tnp.core.elementwise_table import by_name as ELEMENTWISE
from tnp.core.printing import compile_source
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy
from tnp.core.symbol import BoundSymbol
from tnp.executors.base import Region
from tnp.executors.llvm.graph import REDUCTIONS as ROWS
from tnp.executors.llvm.graph import RULES, Refused
from tnp.executors.llvm.loop_ir.emitter import emit
from tnp.executors.llvm.loop_ir.fusion import share_rows
from tnp.executors.llvm.loop_ir.lowering import lowered
from tnp.executors.llvm.loop_ir.nodes import Kernel, show
from tnp.executors.llvm.loop_ir.verify import verify
from tnp.executors.llvm.region import ENTRY, function_attributes, numpy_dtype
from tnp.runtime import ctypes_launcher, engine, launcher, locks, logs, threads
from tnp.runtime.allocator import LARGE, empty
from tnp.runtime.engine import Unavailable
from tnp.runtime.gc_tuning import relaxed_gc

__all__ = ["SymbolicRegion", "is_symbolic", "takes"]

_OTHERS = (
    "where", "convert_element_type", "full", "iota", "broadcast_in_dim", "transpose", "squeeze", "slice", "dynamic_slice", "flip",
    "select", "as_language", "clone", "reshape", "var",
)  # fmt: skip


def is_symbolic(bsym: BoundSymbol) -> bool:
    """Whether an array of an operation has a symbolic size, and all other sizes are known."""
    found = False
    for p in (*bsym.flat_inputs, *bsym.flat_outputs):
        for n in p.shape if isinstance(p, TensorProxy) else ():
            if not isinstance(n, int):
                if symbols.value_of(n) is None:
                    return False
                found = True
    return found


def takes(bsym: BoundSymbol) -> bool:
    """Whether every prim of an operation can be part of a kernel for any size."""
    if not bsym.sym.is_prim:
        return bool(bsym.subsymbols) and all(map(takes, bsym.subsymbols))
    if bsym.sym.executor is not None or not all(map(_is_plain, (*bsym.flat_inputs, *bsym.flat_outputs))):
        return False
    name = bsym.sym.name
    if name not in RULES or not (name in _OTHERS or name in ROWS or name in ELEMENTWISE):
        return False
    return any(rule.checker(bsym) for rule in RULES[name])


def _is_plain(p: Proxy) -> bool:
    if isinstance(p, NumberProxy):
        return True
    if not isinstance(p, TensorProxy) or p.device is not devices.cpu or p.dtype is dtypes.bfloat16:
        return False
    return all(symbols.value_of(n) not in (None, 0) for n in p.shape)


class Unfused:
    """What a region gave that ran unfused."""

    __slots__ = ("results",)

    def __init__(self, results: Any) -> None:
        self.results = results


class SymbolicRegion:
    """A region, its kernel, and the function that calls it. Raises :class:`Refused`, or ``Unavailable``, if there is no code."""

    def __init__(self, name: str, region: Region, fast: bool) -> None:
        self.name = name
        self.region = region
        arrays = [p for p in region.inputs if isinstance(p, TensorProxy)]
        self.numbers = [p for p in region.inputs if isinstance(p, NumberProxy)]
        self.roots, self.where = _roots(arrays, self.numbers, region.outputs)
        self.kernel = share_rows(checked(lowered(region.bound_symbols, region.inputs, region.outputs)))
        checked(self.kernel)
        self._arrays = arrays
        # The caller passes arrays; the launcher makes scalars, which come behind them.
        is_scalar = [p.scalar for p in region.outputs]
        self.kernel.outputs = [self.kernel.outputs[k] for k in sorted(range(len(is_scalar)), key=is_scalar.__getitem__)]
        start = time.perf_counter()
        ir = emit(self.kernel, ENTRY, self.roots, function_attributes(), fast=fast)
        threads.ensure_runtime()
        with relaxed_gc():
            compiled = engine.compile_ir(ir, name, 1)
        logs.tell(logs.Event("native", name, time.perf_counter() - start))
        try:
            self.launcher: Any = launcher.make_launcher(name, self._slow)
        except Unavailable:
            self.launcher = ctypes_launcher.make_ctypes_launcher(name, self._slow)
        self.launcher.install(self._spec(), compiled.address(ENTRY), True, owner=compiled)
        self._alone: Callable[..., Any] | None = None
        self._lock = locks.lock()
        self.function = compile_source(*self._python())

    def describe(self) -> list[str]:
        """The kernel, as text."""
        return ["kernel for any size", *(f"  {line}" for line in show(self.kernel, self.name).splitlines())]

    def _spec(self) -> launcher.Spec:
        inputs = [_dense(p) for p in self._arrays]
        inputs += [launcher.Input(p.python_type.__name__) for p in self.numbers]
        inputs += [launcher.Input("int") for _ in self.roots]
        inputs += [_dense(p, writeable=True) for p in self.region.outputs if not p.scalar]
        outputs = [launcher.Output("scalar", (), numpy_dtype(p.dtype)) for p in self.region.outputs if p.scalar]
        return launcher.Spec(inputs=inputs, outputs=outputs)

    def _python(self) -> tuple[str, str, dict[str, Any]]:
        """The function that reads sizes and makes results."""
        context: dict[str, Any] = {
            "__name__": __name__,
            "empty": empty,
            "small": np.empty,
            "native": self.launcher.function,
            "Unfused": Unfused,
            "unfused": self._unfused,
        }
        names = {p.name: f"a{i}" for i, p in enumerate(self.region.inputs)}
        lines = [f"def {self.name}({', '.join(names.values())}):"]
        text_of = {n.name: f"n{i}" for i, n in enumerate(self.roots)}
        for i, n in enumerate(self.roots):
            source, dim, factor = self.where[n.name]
            fetched = names[source] if dim is None else f"{names[source]}.shape[{dim}]"
            lines.append(f"  n{i} = {fetched}{f' - {factor}' if factor else ''}")
        made, results, scalars_ = [], [], 0
        checked = sorted(
            {_size(n, text_of) for p in self.region.outputs for n in p.shape if not isinstance(n, int) and n.origin}
        )
        if checked:
            lines.append(
                f"  if {' or '.join(f'{c} < 1' for c in checked)}: return unfused({', '.join(names.values())})"
            )
        for k, p in enumerate(self.region.outputs):
            if p.scalar:
                results.append(f"r[{scalars_}]")
                scalars_ += 1
                continue
            context[f"dtype{k}"] = numpy_dtype(p.dtype)
            dims = [_size(n, text_of) for n in p.shape]
            bytes_ = " * ".join([*dims, str(p.dtype.itemsize)])
            made_by = f"(small if {bytes_} < {LARGE} else empty)"
            lines.append(f"  o{k} = {made_by}(({''.join(f'{n}, ' for n in dims)}), dtype{k})")
            made.append(f"o{k}")
            results.append(f"o{k}")
        passed = (
            [names[p.name] for p in (*self._arrays, *self.numbers)] + [f"n{i}" for i in range(len(self.roots))] + made
        )
        lines.append(f"  r = native({', '.join(passed)})")
        lines.append("  if type(r) is Unfused: return r.results")
        lines.append(f"  return {results[0] if len(results) == 1 else f'({chr(44).join(results)},)'}")
        return "\n".join(lines) + "\n", self.name, context

    def _slow(self, *args: Any) -> Unfused:
        """A call that the kernel does not take."""
        given = {p.name: a for p, a in zip([*self._arrays, *self.numbers], args)}
        return Unfused(self._unfused(*(given[p.name] for p in self.region.inputs)))

    def _unfused(self, *inputs: Any) -> Any:
        with self._lock:
            if self._alone is None:
                assert self.region.run_unfused is not None
                self._alone = self.region.run_unfused({})
        with np.errstate(all="ignore"):
            return self._alone(*inputs)


def checked(kernel: Kernel) -> Kernel:
    """The kernel, verified if checks are on."""
    if check.enabled():
        verify(kernel)
    return kernel


def _dense(p: TensorProxy, *, writeable: bool = False) -> launcher.Input:
    if p.scalar:
        return launcher.Input("scalar", (), (), numpy_dtype(p.dtype))
    return launcher.Input("dense", (0,) * p.ndim, (0,) * p.ndim, numpy_dtype(p.dtype), writeable)


def _size(n: Any, text_of: Mapping[str, str]) -> str:
    """A size, in Python."""
    if isinstance(n, int):
        return str(n)
    if n.name in text_of:
        return text_of[n.name]
    if n.origin is None:
        raise Refused(f"the size {n.text} does not follow from the arguments")
    operation, args = n.origin
    a, b = (_size(x, text_of) for x in args)
    return f"({a} {_INFIX[operation]} {b})"


_INFIX = {"add": "+", "sub": "-", "mul": "*", "floor_divide": "//", "remainder": "%"}


def _roots(
    arrays: Sequence[TensorProxy], numbers: Sequence[NumberProxy], outputs: Sequence[TensorProxy]
) -> tuple[list[NumberProxy], dict[str, tuple[str, int | None, int]]]:
    """The sizes that no others make, and where each is found: an input, its dimension, and what is to be taken from that."""
    where: dict[str, tuple[str, int | None, int]] = {}
    found: dict[str, NumberProxy] = {}
    for p in arrays:
        for d, n in enumerate(p.shape):
            if isinstance(n, int):
                continue
            if n.origin is None and n.name not in found:
                found[n.name], where[n.name] = n, (p.name, d, 0)
    for n in numbers:
        if n.relations is not None and n.origin is None and n.name not in found:
            found[n.name], where[n.name] = n, (n.name, None, 0)
    for p in arrays:  # a size that is only there with a number added to it
        for d, n in enumerate(p.shape):
            terms = () if isinstance(n, int) else tuple(intervals.linear(n).terms.values())
            if len(terms) == 1 and terms[0][1] == 1 and terms[0][0].name not in found:
                root = terms[0][0]
                found[root.name], where[root.name] = root, (p.name, d, intervals.linear(n).constant)
    return list(found.values()), where
