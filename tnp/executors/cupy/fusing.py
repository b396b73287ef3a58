"""Regions of the cupy executor as CuPy kernels: elementwise operations as one ``ElementwiseKernel``, and one
``ReductionKernel`` per reduction.

All operations of a region have one shape. Views need no kernel: a view of a computed array is computed from views of
its operands, so each argument of a kernel is a view of an input, made by CuPy. The elements of a reduction are computed
by a function of the kernel, in the source before it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import cupy
import numpy as np

from tnp.core import dtypes, prims
from tnp.core.dtypes import DType
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy
from tnp.core.symbol import BoundSymbol
from tnp.executors.base import FusionExecutor, Region
from tnp.executors.cupy import kernels
from tnp.executors.cupy.scalars import SPELLINGS, TYPES, helpers_of, literal, spell
from tnp.executors.shared.diagnostics import report_failure, written
from tnp.runtime import locks

__all__ = ["CupyFuser"]

_VIEWS = frozenset(("broadcast_in_dim", "transpose", "reshape", "squeeze", "slice", "flip", "as_language"))
#: reduction → how two values become one, and what changes nothing, by kind of dtype
_REDUCTIONS: dict[str, tuple[str, str]] = {
    "sum": ("a + b", "iuf"), "prod": ("a * b", "iuf"), "any": ("a || b", "b"), "all": ("a && b", "b"),
    "amax": ("tnp_max<{T}>(a, b)", "biuf"), "amin": ("tnp_min<{T}>(a, b)", "biuf"),
}  # fmt: skip
#: contractions would round once where NumPy rounds twice
_OPTIONS = ("--fmad=false",)
#: a ``ReductionKernel`` has one block of threads a result: few of them, of many elements each, are left to CuPy's own functions, which
#: split them up (the sum of 2·10⁷ elements: 33 ms and 0.14 ms on an H100)
_FEW_RESULTS, _LONG = 1024, 2048
#: arguments of a kernel, at most
_MOST_ARGUMENTS = 24


class CupyFuser(FusionExecutor):
    """Makes kernels of CuPy's out of elementwise operations and reductions of one shape."""

    array_kind = "cupy"
    updates_inputs = False
    region_limit = 64

    def can_fuse(self, bsym: BoundSymbol) -> bool:
        found = _prims_of(bsym)
        return bool(found) and all(map(_takes, found)) and len({_space(b) for b in found}) == 1

    def region_key(self, bsym: BoundSymbol) -> Any:
        """The shape that an operation runs through."""
        return _space(_prims_of(bsym)[0])

    def fuse(self, region: Region, name: str) -> Any:
        try:
            made = _Fusion(region, name)
        except _Refused:
            return None
        return made if made.pays else None


def _prims_of(bsym: BoundSymbol) -> list[BoundSymbol]:
    return [bsym] if bsym.sym.is_prim else [p for s in bsym.subsymbols for p in _prims_of(s)]


def _space(prim: BoundSymbol) -> tuple[Any, ...]:
    return prim.args[0].shape if prim.sym.name in _REDUCTIONS else prim.output.shape


def _takes(b: BoundSymbol) -> bool:
    name = b.sym.name
    if b.sym.executor is not None or prims.registry.get(name) is not b.sym or not isinstance(b.output, TensorProxy):
        return False
    arrays = [p for p in (*b.flat_inputs, *b.flat_outputs) if isinstance(p, TensorProxy)]
    if not all(
        a.lang.name == "numpy" and a.dtype.name in TYPES and all(type(n) is int and n > 0 for n in a.shape)
        for a in arrays
    ):
        return False
    inputs = [p for p in b.flat_inputs if isinstance(p, TensorProxy)]
    if any(isinstance(p, NumberProxy) and p.python_type is complex for p in b.flat_inputs) or not inputs:
        return False
    if name in _REDUCTIONS:
        results = math.prod(b.output.shape)
        if results < _FEW_RESULTS and math.prod(inputs[0].shape) > results * _LONG:
            return False
        return inputs[0].dtype.kind in _REDUCTIONS[name][1] and inputs[0].dtype is b.output.dtype and bool(b.args[1])
    if name == "convert_element_type":  # NaN and infinities as integers differ
        return inputs[0].dtype.kind != "f" or b.output.dtype.kind in "bf"
    return name in _VIEWS or name == "where" or inputs[-1].dtype.kind in SPELLINGS.get(name, {})


class _Refused(Exception):
    """The region is left to others."""


@dataclass(frozen=True)
class _Leaf:
    """An argument of a kernel: a region's input through views, or a number."""

    input: int
    steps: tuple[Any, ...]
    dtype: DType
    is_array: bool


@dataclass(frozen=True)
class _Constant:
    value: Any


@dataclass(frozen=True, eq=False)
class _Value:
    """What an elementwise operation computes."""

    op: str
    sources: tuple[Any, ...]
    #: of its operands, and its own
    operand: DType
    dtype: DType


class _Fusion:
    """A region as a callable from its inputs to the tuple of its outputs."""

    def __init__(self, region: Region, name: str) -> None:
        self.name = name
        self.region = region
        self._lock = locks.lock()
        self._kernels: list[Any] | None = None
        self._alone: Callable[..., Any] | None = None
        self._failed = False
        values: dict[str, Any] = {}
        self.reduced: dict[str, tuple[str, Any, tuple[int, ...], DType]] = {}
        for i, p in enumerate(region.inputs):
            is_array = isinstance(p, TensorProxy)
            values[p.name] = _Leaf(i, (), p.dtype if is_array else dtypes.dtype_of_number(p.python_type), is_array)
        self.operations = 0
        for b in (p for s in region.bound_symbols for p in _prims_of(s)):
            self._lower(b, values)
        computed = [p for p in region.outputs if p.name not in self.reduced]
        self.programs = (
            [_Elementwise(f"{name}_elementwise", [(values[p.name], p.dtype) for p in computed])] if computed else []
        )
        self.programs += [
            _Reduction(f"{name}_{op}{i}", op, *rest) for i, (op, *rest) in enumerate(self.reduced.values())
        ]
        if any(len(p.leaves) > _MOST_ARGUMENTS or not any(leaf.is_array for leaf in p.leaves) for p in self.programs):
            raise _Refused
        places = [p.name for p in computed] + list(self.reduced)
        self.order = [places.index(p.name) for p in region.outputs]

    @property
    def pays(self) -> bool:
        """Whether it is more than one operation: CuPy has a kernel for each."""
        return self.operations > 1

    @property
    def source(self) -> str:
        """The kernels, in C++."""
        return "\n".join(p.text for p in self.programs)

    def describe(self) -> list[str]:
        """In lines of text, the kernels."""
        return self.source.splitlines()

    def _lower(self, b: BoundSymbol, values: dict[str, Any]) -> None:
        name = b.sym.name

        def value(x: Any) -> Any:
            if isinstance(x, Proxy):
                if x.name in self.reduced:  # its elements are not there when those of the space are computed
                    raise _Refused
                return values[x.name]
            return _Constant(x)

        if name in _VIEWS:
            values[b.output.name] = _viewed(value(b.args[0]), (name, b.args[1:], b.kwargs))
            return
        self.operations += 1
        if name in _REDUCTIONS:
            a, dims = b.args
            self.reduced[b.output.name] = (name, value(a), tuple(dims), b.output.dtype)
            return
        if name == "convert_element_type":
            values[b.output.name] = _Value(name, (value(b.args[0]),), b.args[0].dtype, b.output.dtype)
            return
        operand = [a.dtype for a in b.args if isinstance(a, TensorProxy)][-1]
        if any(
            isinstance(a, NumberProxy) and a.python_type is int and operand.kind in "iu" and operand.name != "int64"
            for a in b.args
        ):
            raise _Refused  # NumPy raises for numbers that do not fit
        values[b.output.name] = _Value(name, tuple(map(value, b.args)), operand, b.output.dtype)

    def __call__(self, *args: Any) -> Any:
        if self._failed:
            return self._run_singly(*args)
        if self._kernels is None:
            with self._lock:
                self._kernels = [p.kernel() for p in self.programs]
        try:
            made: list[Any] = []
            for program, kernel in zip(self.programs, self._kernels):
                made += program.run(kernel, args)
        except cupy.cuda.compiler.CompileException as error:
            self._failed = True
            report_failure(self.name, "CuPy", written(self.source, "cupy", ".cu"), error)
            return self._run_singly(*args)
        return tuple(made[i] for i in self.order)

    def _run_singly(self, *args: Any) -> Any:
        """By the operations of other executors."""
        if self._alone is None:
            assert self.region.run_unfused is not None
            self._alone = self.region.run_unfused({})
        found = self._alone(*(cupy.asnumpy(a) if isinstance(a, cupy.ndarray) else a for a in args))
        return tuple(cupy.asarray(np.asarray(x)) for x in (found if isinstance(found, tuple) else (found,)))


def _viewed(x: Any, step: Any) -> Any:
    """A view of what is computed, as what is computed of views."""
    if isinstance(x, _Leaf):
        return _Leaf(x.input, (*x.steps, _Step(*step)), x.dtype, True) if x.is_array else x
    if isinstance(x, _Value):
        return _Value(x.op, tuple(_viewed(s, step) for s in x.sources), x.operand, x.dtype)
    return x


@dataclass(frozen=True)
class _Step:
    """A view: the name of one of :mod:`kernels`, and its arguments."""

    name: str
    args: Any
    kwargs: Any

    def __call__(self, a: Any) -> Any:
        return getattr(kernels, self.name)(a, *self.args, **self.kwargs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Step) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))


class _Program:
    """The text of a kernel, and its arguments in order."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.leaves: list[_Leaf] = []
        self.lines: list[str] = []
        self._known: dict[Any, str] = {}

    def given(self, args: Sequence[Any]) -> list[Any]:
        """The arguments of a call."""
        found = []
        for leaf in self.leaves:
            a = args[leaf.input]
            for step in leaf.steps:
                a = step(a)
            found.append(a)
        return found

    def parameter(self, leaf: _Leaf) -> str:
        if leaf not in self.leaves:
            self.leaves.append(leaf)
        return f"in{self.leaves.index(leaf)}"

    def expression(self, x: Any, dtype: DType) -> str:
        """A value as one of ``dtype``: a name, or a constant."""
        if isinstance(x, _Constant):
            return literal(x.value, dtype)
        if isinstance(x, _Leaf):
            text = self.parameter(x)
            return text if x.dtype is dtype else f"({TYPES[dtype.name]}){text}"
        if x not in self._known:
            operands = [
                self.expression(
                    s, _own(s, x.operand) if i == 0 and x.op in ("where", "convert_element_type") else x.operand
                )
                for i, s in enumerate(x.sources)
            ]
            kind = TYPES[x.dtype.name]
            if x.op == "convert_element_type":
                text = f"{operands[0]} != 0" if x.dtype.kind == "b" else operands[0]
            else:
                text = spell(x.op, x.operand, operands)
            self._known[x] = f"v{len(self._known)}"
            self.lines.append(f"const {kind} {self._known[x]} = ({kind})({text});")
        return self._known[x]

    def in_params(self, names: bool) -> str:
        """The parameters, by the names that CuPy has for types, or those of C++."""
        kinds = [leaf.dtype for leaf in self.leaves]
        return ", ".join(f"{k.name if names else TYPES[k.name]} in{i}" for i, k in enumerate(kinds))


def _own(x: Any, otherwise: DType) -> DType:
    return x.dtype if isinstance(x, (_Leaf, _Value)) else otherwise


class _Elementwise(_Program):
    """All that is computed element by element and returned."""

    def __init__(self, name: str, outputs: Sequence[tuple[Any, DType]]) -> None:
        super().__init__(name)
        self.outputs = [d for _, d in outputs]
        self.results = [self.expression(x, d) for x, d in outputs]
        self.operation = "\n".join([*self.lines, *(f"out{k} = {r};" for k, r in enumerate(self.results))])
        self.preamble = helpers_of(self.operation)

    @property
    def out_params(self) -> str:
        return ", ".join(f"{d.name} out{k}" for k, d in enumerate(self.outputs))

    @property
    def text(self) -> str:
        return f"{self.preamble}// {self.name}({self.in_params(True)}) -> {self.out_params}\n{self.operation}\n"

    def kernel(self) -> Any:
        return cupy.ElementwiseKernel(
            self.in_params(True), self.out_params, self.operation, self.name, preamble=self.preamble, return_tuple=True, options=_OPTIONS
        )  # fmt: skip

    def run(self, kernel: Any, args: Sequence[Any]) -> list[Any]:
        return list(kernel(*self.given(args)))


class _Reduction(_Program):
    """One reduction, with what its elements are computed from."""

    def __init__(self, name: str, op: str, source: Any, dims: tuple[int, ...], dtype: DType) -> None:
        super().__init__(name)
        self.dims, self.dtype = dims, dtype
        kind = TYPES[dtype.name]
        result = self.expression(source, dtype)
        self.reduce = _REDUCTIONS[op][0].replace("{T}", kind)
        self.identity = _identity(op, dtype)
        body = "\n".join(f"  {line}" for line in [*self.lines, f"return {result};"])
        element = f"__device__ {kind} {name}_element({self.in_params(False)}) {{\n{body}\n}}\n"
        self.preamble = helpers_of(element + self.reduce) + element
        self.map = f"{name}_element({', '.join(f'in{i}' for i in range(len(self.leaves)))})"

    @property
    def text(self) -> str:
        return (
            f"{self.preamble}// {self.name}({self.in_params(True)}) -> {self.dtype.name} out0: "
            f"from {self.identity}, {self.reduce}, over {self.map}\n"
        )

    def kernel(self) -> Any:
        return cupy.ReductionKernel(
            self.in_params(True), f"{self.dtype.name} out0", self.map, self.reduce, "out0 = a", self.identity, self.name,
            reduce_type=TYPES[self.dtype.name], preamble=self.preamble, options=_OPTIONS,
        )  # fmt: skip

    def run(self, kernel: Any, args: Sequence[Any]) -> list[Any]:
        return [kernel(*self.given(args), axis=self.dims)]


def _identity(op: str, dtype: DType) -> str:
    if op in ("sum", "any"):
        return literal(0, dtype)
    if op in ("prod", "all"):
        return literal(1, dtype)
    least = op == "amax"
    if dtype.kind == "f":
        return literal(float("-inf") if least else float("inf"), dtype)
    if dtype.kind == "b":
        return literal(not least, dtype)
    limits = np.iinfo(dtype.name)
    return literal(int(limits.min if least else limits.max), dtype)
