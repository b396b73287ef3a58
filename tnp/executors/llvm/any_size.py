"""Regions of symbolic sizes as callables: one function for all sizes.

The callable is a launcher: native code reads the sizes of the inputs, makes the results, and calls the function. Inputs
that are not C-contiguous are copied if they are only read, and if their elements are in C order or the layout of the results does not depend
on them. With other inputs, and sizes of 0, the region runs unfused.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any

import numpy as np

from tnp.core import intervals, symbols
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy
from tnp.executors.base import Region
from tnp.executors.llvm.region import ENTRY, LaunchedRegion, numpy_dtype
from tnp.runtime import engine, launcher, logs, threads
from tnp.runtime.gc_tuning import relaxed_gc

__all__ = ["SIZES", "AnySizeRegion", "Roots", "is_made_of", "roots_of"]

#: how the name of the function of sizes ends
SIZES = "_sizes"
#: the first so many values without dimensions may be scalars or arrays
KINDS = 3

#: sizes that no others make, by name, and where each is found: an input, its dimension (of a number: ``None``), and what is to be taken
#: from that
Roots = dict[str, "tuple[NumberProxy, tuple[int, int | None, int]]"]


def roots_of(inputs: Sequence[Proxy]) -> Roots:
    """The sizes of a region's inputs that no others make."""
    found: Roots = {}
    arrays = [(j, p) for j, p in enumerate(inputs) if isinstance(p, TensorProxy)]
    for j, p in arrays:
        for d, n in enumerate(p.shape):
            if isinstance(n, NumberProxy) and symbols.is_symbol(n) and n.origin is None and n.name not in found:
                found[n.name] = n, (j, d, 0)
    for j, n in enumerate(inputs):
        if isinstance(n, NumberProxy) and symbols.is_symbol(n) and n.name not in found:
            found[n.name] = n, (j, None, 0)
    for j, p in arrays:  # a size that is only there with a number added to it
        for d, n in enumerate(p.shape):
            form = None if isinstance(n, int) or not symbols.is_symbol(n) else intervals.linear(n)
            terms = () if form is None else tuple(form.terms.values())
            if form is not None and len(terms) == 1 and terms[0][1] == 1 and terms[0][0].name not in found:
                found[terms[0][0].name] = terms[0][0], (j, d, form.constant)
    # Sizes computed from others that no argument has, such as the size of memory for a list's items.
    for j, p in arrays:
        for d, n in enumerate(p.shape):
            if isinstance(n, NumberProxy) and symbols.is_symbol(n) and n.name not in found and not is_made_of(n, found):
                found[n.name] = n, (j, d, 0)
    return found


def is_made_of(n: NumberProxy, roots: Container[str]) -> bool:
    """Whether a size can be computed of some roots."""
    if n.name in roots:
        return True
    terms = intervals.linear(n).terms
    others = [m for m, _ in terms.values()] if n.name not in terms else []
    if n.name in terms and n.origin is not None:
        others = [m for m in n.origin[1] if isinstance(m, NumberProxy)]
    return bool(others) and all(is_made_of(m, roots) for m in others)


class AnySizeRegion(LaunchedRegion):
    """A region, and the function that calls its code.

    ``ir`` is a module with the functions :data:`ENTRY` and :data:`ENTRY` + :data:`SIZES`, see :class:`~tnp.runtime.launcher.Spec`.
    ``lies_as_inputs`` says whether the layout of a result of several dimensions depends on the layout of the inputs. Raises
    ``Unavailable`` if the module cannot be compiled or linked.
    """

    level = 1

    def __init__(
        self, name: str, region: Region, updates: Mapping[int, int], ir: str, lies_as_inputs: bool = True
    ) -> None:
        super().__init__(name, region, updates)
        start = time.perf_counter()
        threads.ensure_runtime()
        with relaxed_gc():
            compiled = engine.compile_ir(ir, name, self.level)
        logs.tell(logs.Event("native", name, time.perf_counter() - start))
        # Values without dimensions come as scalars or as arrays, whatever the program says: operations of others made them.
        arrays = [p for p in region.inputs if isinstance(p, TensorProxy)]
        single = {p.name: p.scalar for p in arrays if not p.ndim}
        ways = [dict(zip(single, kinds)) for kinds in itertools.product((False, True), repeat=min(len(single), KINDS))]
        for way in sorted(ways, key=lambda way: way.items() <= single.items()):  # what it says is tried first
            spec = self._spec(compiled.address(ENTRY + SIZES), way)
            self.launcher.install(spec, compiled.address(ENTRY), True, owner=compiled)
        self.function: Callable[..., Any] = self.launcher.function
        made = [p for k, p in enumerate(region.outputs) if k not in updates and isinstance(p, TensorProxy)]
        #: whether results lie in one way, however their inputs do
        self._any_order = not lies_as_inputs or all(p.ndim <= 1 for p in made)

    def _slow(self, *args: Any) -> Any:
        if len(args) == len(self.region.inputs):
            written = self.updates.values()
            dense = [x if j in written else _as_dense(x, self._any_order) for j, x in enumerate(args)]
            if any(x is not y for x, y in zip(args, dense)):
                return self.launcher.function(*dense)
        return super()._slow(*args)

    def number(self, p: NumberProxy) -> launcher.Input:
        """What an argument must be that is a number."""
        least, most = int(launcher.INT64.min), int(launcher.INT64.max)
        low = least if p.low is None else max(p.low, least)
        high = most if p.bound is None else min(p.bound, most)
        return launcher.Input(p.python_type.__name__, low=low, high=high)

    def _spec(self, sizes: int, are_scalars: Mapping[str, bool]) -> launcher.Spec:
        written = set(self.updates.values())
        inputs = [
            self.number(p) if isinstance(p, NumberProxy) else _dense(p, are_scalars.get(p.name, p.scalar), j in written)
            for j, p in enumerate(self.region.inputs)
        ]
        outputs = [_output(p) for k, p in enumerate(self.region.outputs) if k not in self.updates]
        return launcher.Spec(inputs=inputs, outputs=outputs, single=len(outputs) == 1, sizes=sizes)


def _as_dense(x: Any, any_order: bool) -> Any:
    """A copy of an array with gaps between its elements or rows, which are in C order: what is computed of it lies as what is computed of
    the copy. Others as they are, unless they may have ``any_order``."""
    if type(x) is not np.ndarray or x.flags.c_contiguous or not x.flags.aligned:
        return x
    steps = [step for step, n in zip(x.strides, x.shape) if n != 1]
    is_in_order = any_order or (all(step > 0 for step in steps) and steps == sorted(steps, reverse=True))
    return np.ascontiguousarray(x) if is_in_order else x


def _dense(p: Any, is_scalar: bool, is_written: bool) -> launcher.Input:
    if is_scalar:
        return launcher.Input("scalar", (), (), numpy_dtype(p.dtype))
    return launcher.Input("dense", (0,) * p.ndim, (0,) * p.ndim, numpy_dtype(p.dtype), is_written)


def _output(p: Any) -> launcher.Output:
    if isinstance(p, NumberProxy):
        return launcher.Output(p.python_type.__name__)
    return launcher.Output("scalar" if p.scalar else "sized", (0,) * p.ndim, numpy_dtype(p.dtype))
