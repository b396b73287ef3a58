"""Chains of elementwise operations on large arrays, computed block by block.

Eager NumPy, and the numpy executor without fusion, move every temporary through memory. Here a region of elementwise
operations on arrays of one shape becomes a Python function that processes blocks which fit the cache. NumPy's own
ufuncs compute each block, with small temporary buffers that the next block reuses. This is numexpr's idea with NumPy's
arithmetic, so results are bitwise equal.

C-ordered arrays are flattened. Others are split along their first axis, if their axes are in C order in memory and rows
are short. In all other cases, and under an ``np.errstate`` that raises, the operations run unfused.

Floating-point errors are reported once per operation, as in NumPy, not once per block. While blocks are computed, NumPy
calls :meth:`_Errors.record`, and the warnings are given at the end, in the order of the operations.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import sys
import warnings
from collections.abc import Callable, Hashable, Iterator
from typing import Any

import numpy as np

from tnp.core import prims, sizes
from tnp.core.errors import UserLocation
from tnp.core.printing import compile_source, literal
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy
from tnp.core.symbol import BoundSymbol
from tnp.executors.base import Fused, FusionExecutor, Region
from tnp.runtime.pooled import pooled

__all__ = ["BlockExecutor"]

#: of a buffer: with the operands' blocks, some of them fit a core's second-level cache (measured: 64 to 256 KB are as fast)
BLOCK_BYTES = 128 * 1024
#: elements of a block are a multiple of this, so that vector loops have their remainders where they have them on whole arrays
MULTIPLE = 1024
#: smaller arrays are left to single operations: the temporaries of those stay in the cache, too (measured: blocks take 1.6
#: times as long at 0.3 MB, about as long from 0.8 to 3 MB, and a third of the time at 4 MB, where memory is fresh each time)
LEAST_BYTES = 2 << 20
#: of complex128
LARGEST_ITEM = 16
#: a row of an array that is not flat may be that many blocks long
ROW_BLOCKS = 4
#: where buffers begin in their memory
ALIGNMENT = 64

#: what NumPy calls the errors, in the order in which it reports those of one operation
_ERRORS = ("divide by zero", "overflow", "underflow", "invalid value")
_STATES = ("divide", "over", "under", "invalid")

#: ufuncs that take about as long as memory does. Slower ones (``np.where`` too) gain nothing, and lose where a processor lowers
#: its frequency for the wide vectors of others: ``exp(sin(x))`` took 1.25 times as long in blocks.
_FAST = frozenset(
    getattr(np, name)
    for name in (
        "absolute", "add", "bitwise_and", "bitwise_count", "bitwise_or", "bitwise_xor", "ceil", "conjugate", "copysign",
        "deg2rad", "degrees", "equal", "exp", "fabs", "floor", "fmax", "fmin", "greater", "greater_equal", "invert",
        "isfinite", "isinf", "isnan", "left_shift", "less", "less_equal", "log", "logical_and", "logical_not",
        "logical_or", "logical_xor", "maximum", "minimum", "multiply", "negative", "not_equal", "positive", "rad2deg",
        "radians", "reciprocal", "right_shift", "rint", "sign", "signbit", "sqrt", "square", "subtract", "true_divide",
        "trunc",
    )
)  # fmt: skip

_CASTS = ("numpy.ndarray.astype", prims.convert_element_type.id)
_CLIPS = ("numpy.clip", "numpy.ndarray.clip")


class BlockExecutor(FusionExecutor):
    """Takes elementwise operations whose result is a large array; those on one shape are a region.

    ``function_of`` gives the NumPy function that runs a symbol, or ``None``.
    """

    array_kind = "numpy"
    reports_errors = True
    updates_inputs = False
    allow_disconnected = False  # each is computed into memory of its own choice, then

    def __init__(self, name: str, function_of: Callable[[BoundSymbol], Any]) -> None:
        super().__init__(name, version=np.__version__)
        self._function_of = function_of

    def can_fuse(self, bsym: BoundSymbol) -> bool:
        result = bsym.output
        if not isinstance(result, TensorProxy) or not result.ndim or bsym.kwargs or not sizes.is_known(result.shape):
            return False
        if math.prod(result.shape) * LARGEST_ITEM < LEAST_BYTES:
            return False
        return _are_operands(bsym) and _call_of(bsym, self._function_of) is not None

    def region_key(self, bsym: BoundSymbol) -> Hashable:
        return bsym.output.shape

    def fuse(self, region: Region, name: str) -> Fused | None:
        largest = max(b.output.dtype.itemsize for b in region.bound_symbols) * math.prod(region.outputs[0].shape)
        if largest < LEAST_BYTES or len(region.bound_symbols) < 2 or not _temporaries(region):
            return None
        compiled = BlockRegion(name, region, self._function_of)
        return Fused(compiled, {}, compiled.describe, takes_out=len(region.outputs) == 1)


def _are_operands(bsym: BoundSymbol) -> bool:
    """Whether all that an operation is given are CPU arrays of known shapes, numbers, and NumPy's scalars."""
    operands = bsym.args[:1] if bsym.sym.id in _CASTS else bsym.args
    arrays = [x for x in operands if isinstance(x, TensorProxy)]
    if not any(a.ndim for a in arrays):
        return False
    for a in arrays:
        if str(a.device) != "cpu" or a.dtype.name == "bfloat16" or not sizes.is_known(a.shape):
            return False
    numbers = (NumberProxy, bool, int, float, complex, np.generic, *((type(None),) if bsym.sym.id in _CLIPS else ()))
    return all(isinstance(x, (TensorProxy, *numbers)) for x in operands)


#: writes the call of an operation: the operands as text, and the place for the result
_Call = Callable[[list[str], str], str]


def _call_of(bsym: BoundSymbol, function_of: Callable[[BoundSymbol], Any]) -> tuple[str, _Call] | None:
    """The name under which NumPy reports an operation's errors, and its call; ``None`` if blocks do not pay for it."""
    at, result = bsym.sym.id, bsym.output
    if at in _CASTS:
        source = bsym.args[0]
        loses_imaginary = isinstance(source, TensorProxy) and source.dtype.kind == "c" and result.dtype.kind != "c"
        if len(bsym.args) != 2 or not isinstance(source, TensorProxy) or loses_imaginary:
            return None
        # A conversion to the same dtype may be the array itself.
        return None if source.dtype is result.dtype else ("cast", _cast)
    function = np.clip if at in _CLIPS else function_of(bsym)
    if function is np.clip:
        return "clip", lambda xs, out: f"np.clip({', '.join(xs)}, out={out})"
    if not isinstance(function, np.ufunc) or function not in _FAST or function.nin != len(bsym.args):
        return None
    name = function.__name__
    return name, lambda xs, out: f"np.{name}({', '.join(xs)}, out={out})"


def _cast(xs: list[str], out: str) -> str:
    return f'np.copyto({out}, {xs[0]}, casting="unsafe")'


def _temporaries(region: Region) -> list[TensorProxy]:
    """The results that nothing outside of a region reads."""
    shown = {p.name for p in region.outputs}
    return [b.output for b in region.bound_symbols if b.output.name not in shown]


class BlockRegion:
    """A region as a function of its inputs, which takes ``out=`` if it has one output, and returns the outputs."""

    def __init__(self, name: str, region: Region, function_of: Callable[[BoundSymbol], Any]) -> None:
        self.__name__ = name
        self.region = region
        self.shape = tuple(region.outputs[0].shape)
        #: which inputs are arrays, and which of those are arrays of the region's shape: blocks of them are taken
        self.arrays = [j for j, p in enumerate(region.inputs) if isinstance(p, TensorProxy) and p.ndim]
        self.broadcast = [j for j in self.arrays if tuple(region.inputs[j].shape) != self.shape]
        made = [b.output for b in region.bound_symbols]
        self.elements = BLOCK_BYTES // max(p.dtype.itemsize for p in made) // MULTIPLE * MULTIPLE
        context: dict[str, Any] = {"np": np}
        source, self.buffers, self.operations = _write(name, region, function_of, context)
        #: ``blocks(count, step, inputs, outputs, buffers)``: all blocks of ``step`` rows, of ``count``
        self.blocks = compile_source(source, name, context)
        self._alone: Callable[..., Any] | None = None
        #: warnings given before, by place, as a module would have them
        self._registry: dict[Any, Any] = {}

    def describe(self) -> list[str]:
        """The code of a block."""
        return self.blocks.__tnp_source__.splitlines()

    def __call__(self, *inputs: Any, out: Any = None) -> Any:
        states = np.geterr()
        kinds = {states[s] for s in _STATES}
        if kinds - {"ignore", "warn"} or (out is not None and "warn" in kinds and _warnings_raise()):
            return self._run_singly(inputs, out)
        given = None if out is None or any(_differs(out, inputs[j]) for j in self.arrays) else out
        outputs = [given if given is not None else _new(p) for p in self.region.outputs]
        work = self._cut(inputs, outputs)
        if work is None:
            return self._run_singly(inputs, out)
        if "warn" in kinds:
            errors = _Errors(self.blocks.__code__)
            with np.errstate(call=errors.record, **{s: "call" for s in _STATES if states[s] == "warn"}):
                self._run_blocks(*work)
            self._warn(errors)
        else:
            self._run_blocks(*work)
        if out is not None:
            if given is None:
                out[...] = outputs[0]
            return out
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def _cut(self, inputs: Any, outputs: list[Any]) -> tuple[int, int, Any, Any] | None:
        """How many rows there are, how many make a block, and the operands; ``None``: this is not for blocks.

        Arrays in C order are cut as flat ones, whose rows are elements.
        """
        if not self.broadcast and all(a.flags.c_contiguous for a in (*(inputs[j] for j in self.arrays), *outputs)):
            flat = [x.reshape(-1) if isinstance(x, np.ndarray) and x.ndim else x for x in inputs]
            return outputs[0].size, self.elements, flat, [o.reshape(-1) for o in outputs]
        row = math.prod(self.shape[1:])
        if row > ROW_BLOCKS * self.elements or not all(_in_c_order(inputs[j]) for j in self.arrays):
            return None
        wide = [np.broadcast_to(x, self.shape) if j in self.broadcast else x for j, x in enumerate(inputs)]
        return self.shape[0], max(1, self.elements // row), wide, outputs

    def _run_blocks(self, count: int, step: int, inputs: Any, outputs: Any) -> None:
        rest = outputs[0].shape[1:]
        with _memory() as memory:
            buffers = memory.buffers(self.buffers, (min(step, count), *rest))
            self.blocks(count, step, inputs, outputs, buffers)

    def _run_singly(self, inputs: Any, out: Any) -> Any:
        if self._alone is None:
            assert self.region.run_unfused is not None
            self._alone = self.region.run_unfused({})
        result = self._alone(*inputs)
        if out is None:
            return result
        out[...] = result
        return out

    def _warn(self, errors: _Errors) -> None:
        """Gives the warnings of a call, each as NumPy does, at the user's line."""
        first = self.blocks.__code__.co_firstlineno
        for line, kind in sorted(errors.found):
            name, location = self.operations[line - first]
            message = f"{_ERRORS[kind]} encountered in {name}"
            at = (location.filename, location.line) if location else (self.blocks.__code__.co_filename, line)
            warnings.warn_explicit(message, RuntimeWarning, *at, registry=self._registry)


class _Errors:
    """What floating-point errors NumPy met in a call of generated code: the lines there, and the kinds."""

    def __init__(self, code: Any) -> None:
        self._code = code
        self.found: set[tuple[int, int]] = set()

    def record(self, kind: str, flags: int) -> None:
        """NumPy calls this from within the operation."""
        frame = sys._getframe(1)
        while frame.f_code is not self._code:  # np.clip is written in Python
            assert frame.f_back is not None
            frame = frame.f_back
        self.found.add((frame.f_lineno, _ERRORS.index(kind)))


def _warnings_raise() -> bool:
    """Whether a warning might be an exception: what it stops must not have been written then."""
    filters = getattr(warnings, "_get_filters", lambda: warnings.filters)()
    for action, message, category, module, line in filters:
        if issubclass(RuntimeWarning, category):
            if action == "error":
                return True
            if message is None and module is None and not line:  # it decides about all that are left
                return False
    return False


def _differs(out: np.ndarray, x: np.ndarray) -> bool:
    """Whether ``out`` shares memory with ``x`` other than element by element: later blocks might read what was written."""
    if not np.may_share_memory(out, x):
        return False
    return out.ctypes.data != x.ctypes.data or out.strides != x.strides or out.shape != x.shape or out.dtype != x.dtype


def _in_c_order(x: np.ndarray) -> bool:
    """Whether the axes stand in C order in memory, so that results of NumPy's have C order, too."""
    found = [s for s, n in zip(x.strides, x.shape) if n > 1]
    return all(abs(s) >= abs(t) for s, t in itertools.pairwise(found))


def _new(p: TensorProxy) -> np.ndarray:
    return pooled(tuple(p.shape), np.dtype(p.dtype.name))


# The generated code


def _write(
    name: str, region: Region, function_of: Callable[[BoundSymbol], Any], context: dict[str, Any]
) -> tuple[str, list[np.dtype[Any]], dict[int, tuple[str, UserLocation | None]]]:
    """The function of all blocks, the dtypes of its buffers, and by line the operation there: its name and the user's line."""
    cut: list[str] = []
    #: what stands for each value in the code
    names: dict[str, str] = {}
    for j, p in enumerate(region.inputs):
        names[p.name] = f"x{j}"
        if isinstance(p, TensorProxy) and p.ndim:
            names[p.name] = f"b{j}"
            cut.append(f"b{j} = x{j}[i:i + step]")
    places = {p.name: f"o{k}" for k, p in enumerate(region.outputs)}
    cut += [f"o{k} = y{k}[i:i + step]" for k in range(len(region.outputs))]
    last_use = {p.name: i for i, b in enumerate(region.bound_symbols) for p in b.flat_inputs}
    buffers: list[np.dtype[Any]] = []
    free: dict[Any, list[str]] = {}
    lines: list[str] = []
    operations: list[tuple[str, UserLocation | None]] = []
    for i, b in enumerate(region.bound_symbols):
        found = _call_of(b, function_of)
        assert found is not None
        xs = [names[x.name] if isinstance(x, Proxy) else literal(x, context) for x in b.args]
        for p in dict.fromkeys(b.flat_inputs):
            if last_use[p.name] == i and names[p.name].startswith("t"):
                assert isinstance(p, TensorProxy)
                free.setdefault(p.dtype, []).append(names[p.name])
        place = places.get(b.output.name)
        if place is None and free.get(b.output.dtype):
            place = free[b.output.dtype].pop()
        elif place is None:
            place = f"t{len(buffers)}"
            buffers.append(np.dtype(b.output.dtype.name))
        names[b.output.name] = place
        lines.append(found[1](xs, place))
        operations.append((found[0], b.location if isinstance(b.location, UserLocation) else None))
    temporaries = [f"t{k}" for k in range(len(buffers))]
    head = [
        f"def {name}(count, step, inputs, outputs, buffers):",
        f"  [{', '.join(f'x{j}' for j in range(len(region.inputs)))}] = inputs",
        f"  [{', '.join(f'y{k}' for k in range(len(region.outputs)))}] = outputs",
        f"  [{', '.join(temporaries)}] = buffers",
        "  for i in range(0, count, step):",
        f"    if count - i < step: [{', '.join(temporaries)}] = [b[:count - i] for b in buffers]",
        *(f"    {line}" for line in cut),
    ]
    by_line = {len(head) + k: operation for k, operation in enumerate(operations)}
    return "\n".join([*head, *(f"    {line}" for line in lines)]) + "\n", buffers, by_line


# The memory of buffers


class _Memory:
    """Memory for the buffers of one call at a time; grows to what the largest needs."""

    def __init__(self) -> None:
        self._bytes = np.empty(0, np.uint8)

    def buffers(self, kinds: list[np.dtype[Any]], shape: tuple[int, ...]) -> list[np.ndarray]:
        """An array of ``shape`` for each dtype."""
        lengths = [-(-math.prod(shape) * d.itemsize // ALIGNMENT) * ALIGNMENT for d in kinds]
        if self._bytes.size < sum(lengths) + ALIGNMENT:
            self._bytes = np.empty(sum(lengths) + ALIGNMENT, np.uint8)
        at = -self._bytes.ctypes.data % ALIGNMENT
        made = []
        for dtype, length in zip(kinds, lengths):
            made.append(np.ndarray(shape, dtype, self._bytes.data, at))
            at += length
        return made


#: memory that no call uses
_idle: list[_Memory] = []


@contextlib.contextmanager
def _memory() -> Iterator[_Memory]:
    """Memory that no other thread has; kept for the next call."""
    try:
        found = _idle.pop()
    except IndexError:
        found = _Memory()
    try:
        yield found
    finally:
        _idle.append(found)
