"""Loops and branches as regions: which are compiled, and the interface between the caller and the native function."""

from __future__ import annotations

import ctypes
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import tnp.executors.llvm.program.vocabulary  # noqa: F401 — the rules
from tnp.core import dtypes, prims, sizes, views
from tnp.core.devices import cpu
from tnp.core.prims.control_flow import starts_over, stored
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy
from tnp.core.subtraces import Body, bodies_of, carried_with_inits, is_control_flow, with_parts
from tnp.core.symbol import BoundSymbol, OpTags, flat_proxies
from tnp.core.symbols import is_symbol, value_of
from tnp.executors.base import Region
from tnp.executors.llvm import target
from tnp.executors.llvm.any_size import SIZES, AnySizeRegion, Roots, roots_of
from tnp.executors.llvm.lowering import Refused
from tnp.executors.llvm.program.flow import load_number, store_number
from tnp.executors.llvm.program.functions import written as written_program
from tnp.executors.llvm.program.instructions import SLOTS
from tnp.executors.llvm.program.integers import Int, row_major
from tnp.executors.llvm.program.ir import Builder, Register
from tnp.executors.llvm.program.lengths import with_symbols_inside
from tnp.executors.llvm.program.liveness import steps_of
from tnp.executors.llvm.program.lowering import ZERO, Failure, Program
from tnp.executors.llvm.program.numbers import whole
from tnp.executors.llvm.program.printing import show
from tnp.executors.llvm.program.sizes import Sizes, is_counted, sizes_function
from tnp.executors.llvm.program.strip_mining import Uncut
from tnp.executors.llvm.program.values import Number, Scalar, StridedView, Thunk
from tnp.executors.llvm.region import ENTRY, NativeRegion, function_attributes, input_of, numpy_dtype, output_of
from tnp.runtime import engine, launcher
from tnp.runtime.engine import Unavailable

__all__ = ["AnySizeProgram", "ProgramRegion", "hands_on", "has_room", "is_sized", "may_pay", "takes"]


def takes(bsym: BoundSymbol, everything: bool = False, fast: bool = False) -> bool:
    """Whether a loop or a branch can be compiled whole, and should."""
    known = _recent.get(_key_of(bsym))
    if known is not None and known.asked is bsym:
        return True
    asked, bsym = bsym, with_symbols_inside(bsym)
    inputs = list({p.name: p for p in bsym.flat_inputs}.values())
    outputs = list(bsym.flat_outputs)
    if not all(is_sized(p) and _is_numpys(p) for p in inputs) or not all(map(_is_numpys, outputs)):
        return False
    if bsym.sym is prims.cond and hands_on(bsym):
        return False
    try:
        roots = roots_of(inputs)
        if roots or not all(map(has_room, outputs)):
            outputs = [p for p in outputs if is_sized(p)]
        key = [_usual(x) for x in inputs] if not roots else []
        written = _write("", bsym, inputs, outputs, _updates(bsym, inputs, outputs), key, fast=fast, roots=roots)
    except Refused:
        return False
    # A kernel would copy the whole of what is read and written, instead of some rows.
    taken = everything or written.program.copies_rows or _pays(bsym)
    if taken:
        _recent[_key_of(bsym)] = written._replace(asked=asked)
        if len(_recent) > RECENT:
            _recent.pop(next(iter(_recent)), None)
    return taken


def hands_on(bsym: BoundSymbol) -> bool:
    """Whether a branch gives an array that it has not made: the program goes on with that one, not with a copy."""
    for body in bodies_of(bsym):
        own = {p.name for b in body.bound_symbols if OpTags.VIEW not in b.sym.tags for p in b.flat_outputs}
        own.update(p.name for p in body.args)
        if any(isinstance(r, TensorProxy) and not r.scalar and r.name not in own for r in body.results):
            return True
    return False


def is_sized(p: Proxy) -> bool:
    """Whether it is no array, or one whose shape is known before it is computed."""
    return not isinstance(p, TensorProxy) or not any(map(is_counted, p.shape))


def has_room(p: Proxy) -> bool:
    """Whether the caller can make room for a value: it has a size, or none above a known one."""
    return is_sized(p) or all(type(n) is int or sizes.bound_or_none(n) is not None for n in _dims(p))


def _dims(p: Proxy) -> tuple[Any, ...]:
    return p.shape if isinstance(p, TensorProxy) else ()


def _counted(p: Proxy) -> list[int]:
    """The dimensions that only the running program knows."""
    return [d for d, n in enumerate(_dims(p)) if is_counted(n)]


def _is_numpys(p: Proxy) -> bool:
    """Whether it is no array, or one in memory that NumPy has a dtype for."""
    return not isinstance(p, TensorProxy) or (p.device is cpu and p.dtype is not dtypes.bfloat16)


def _usual(p: Proxy) -> Any:
    """The kind of argument that is likely: an array in C order."""
    if isinstance(p, NumberProxy):
        return p.python_type.__name__, None
    if not isinstance(p, TensorProxy):
        raise Refused("a value that is no array and no number")
    strides, step = [], p.dtype.itemsize
    for n in reversed(p.shape):
        if type(n) is not int:
            raise Refused("a size that is computed from others, none of which it is given")
        strides.insert(0, step)
        step *= n
    return "array", tuple(strides)


def may_pay(bsym: BoundSymbol) -> bool:
    """Whether a loop would be compiled as a whole if there were code for all that it does."""
    try:
        return _pays(bsym)
    except Refused:
        return False


def _pays(bsym: BoundSymbol) -> bool:
    """Whether a loop has operations that are small enough for Python to matter."""
    # An array that becomes shorter from iteration to iteration begins with as many elements as it has.
    largest = max((_elements(init) for p, init in carried_with_inits(bsym) if not is_sized(p)), default=0)
    if not bodies_of(bsym):
        return all(map(_pays, filter(is_control_flow, bsym.subsymbols)))  # its other operations are on small arrays
    for body in bodies_of(bsym):
        for b in steps_of(body.bound_symbols):
            if is_control_flow(b):
                if b.sym is not prims.cond and _pays(b):
                    return True
            elif OpTags.VIEW not in b.sym.tags and b.sym not in (prims.copy_, prims.size, prims.matmul):
                value = {views.update: 1, prims.index_put: 2}.get(b.sym)
                made = b.flat_outputs if value is None else flat_proxies(b.args[value])
                largest = max(largest, *map(_elements, made), 0)
    return largest < target.LOOP_ELEMENTS


def _elements(p: Proxy) -> int:
    """The number of elements of an array, as far as it is known: in the present call, if its sizes are symbolic."""
    if not isinstance(p, TensorProxy) or any(map(is_counted, p.shape)):
        return 0
    return math.prod(value_of(n) or 0 for n in p.shape)


def _updates(bsym: BoundSymbol, inputs: Sequence[Proxy], outputs: Sequence[Proxy]) -> dict[int, int]:
    """Which output is the memory of which input, afterwards."""
    names = [p.name for p in inputs]
    inits = stored(bsym)
    updates: dict[int, int] = {}
    for k, p in enumerate(outputs):
        if p.name in inits and names.index(inits[p.name].name) not in updates.values():
            updates[k] = names.index(inits[p.name].name)
    return updates


class ProgramRegion(NativeRegion):
    """A loop or a branch."""

    level = 2  # loads of one place in several branches are one; the next level takes a tenth longer, and gave nothing

    def __init__(self, name: str, region: Region, fast: bool) -> None:
        (self.bsym,) = region.bound_symbols
        if _is_long(self.bsym):
            self.level = 0  # it takes half of the time to compile, and a tenth longer to run
        super().__init__(name, region, _updates(self.bsym, region.inputs, region.outputs), fast)
        #: what the checks of all functions raise, by the number in the record
        self.failures: list[tuple[Failure, int]] = []
        #: loops that may run on several threads, in what was compiled last
        self.parallel_loops = 0
        self.fresh = [x for k, x in enumerate(region.outputs) if k not in self.updates]
        #: how many values the native function gives, if some are lengths of others
        self._given = len(self.fresh) + sum(len(_counted(x)) for x in self.fresh)

    @property
    def function(self) -> Callable[..., Any]:
        """What runs it."""
        return self.launcher.function if self._given == len(self.fresh) else self._sized

    def _sized(self, *args: Any) -> Any:
        """The results; arrays are cut to the lengths that they turned out to have."""
        given = self.launcher.function(*args)
        if not isinstance(given, tuple) or len(given) != self._given:
            return given  # its operations ran one by one
        rest = iter(given)
        found = [_cut(next(rest), [next(rest) for _ in _counted(x)], _counted(x)) for x in self.fresh]
        return found[0] if len(found) == 1 else tuple(found)

    def describe(self) -> list[str]:
        """What it is, and why not native, where it is not."""
        loops = f", {self.parallel_loops} loops in it run in parallel" if self.parallel_loops else ""
        return [*(f"{line}{loops}" for line in _native(self.bsym)), *super().describe()]

    def make(self, key: Any) -> tuple[launcher.Spec, str, bool]:
        """See :meth:`NativeRegion.make`."""
        region = self.region
        args = self.bsym, region.inputs, region.outputs, self.updates, key
        known = _recent.pop(_key_of(self.bsym), None)
        try:
            if known is None or self.failures or known.describes != _description(*args, self.fast):
                known = _write(ENTRY, *args, fast=self.fast, failures=self.failures)
        except Refused as reason:
            raise Unavailable(str(reason)) from reason
        self.failures = known.program.failures
        self.parallel_loops = known.program.parallel_loops
        ir, program = known.text.replace(f"@{PLACEHOLDER}", f"@{ENTRY}"), known.program
        engine.dump("loops", lambda: show(program, self.name), self.name)
        written = set(self.updates.values())
        inputs = [input_of(x, k, j in written) for j, (x, k) in enumerate(zip(region.inputs, key))]
        outputs = [o for x in self.fresh for o in _outputs(x)]
        return launcher.Spec(inputs=inputs, outputs=outputs, single=len(outputs) == 1), ir, True

    def error(self, record: int) -> BaseException:
        return _error(self.failures, record)


def _outputs(p: Any) -> list[launcher.Output]:
    """What the launcher makes for a result: for an array whose length nobody knows, room, and the length."""
    if isinstance(p, NumberProxy):
        return [launcher.Output(p.python_type.__name__)]
    counted = _counted(p)
    if not counted:
        return [output_of(p)]
    return [launcher.Output("array", _room(p), numpy_dtype(p.dtype)), *(launcher.Output("int") for _ in counted)]


def _room(p: TensorProxy) -> tuple[int, ...]:
    """The shape of the room for an array."""
    return tuple(map(sizes.bound, p.shape))


def _cut(made: Any, lengths: Sequence[int], dims: Sequence[int]) -> Any:
    """The part of an array that was written, in memory of its own."""
    if not dims:
        return made
    part = [slice(None)] * made.ndim
    for d, n in zip(dims, lengths):
        part[d] = slice(n)
    return made[tuple(part)].copy()


class AnySizeProgram(AnySizeRegion):
    """A loop or a branch of symbolic sizes, as one function for all of them. Raises :class:`Refused`, or ``Unavailable``, if there is no
    code."""

    level = ProgramRegion.level

    def __init__(self, name: str, region: Region, fast: bool) -> None:
        (self.bsym,) = region.bound_symbols
        updates = _updates(self.bsym, region.inputs, region.outputs)
        roots = roots_of(region.inputs)
        args = self.bsym, region.inputs, region.outputs, updates, []
        known = _recent.pop(_key_of(self.bsym), None)
        if known is None or known.describes != _description(*args, fast):
            known = _write(ENTRY, *args, fast=fast, roots=roots)
        self.failures = known.program.failures
        fresh = [p for k, p in enumerate(region.outputs) if k not in updates]
        shapes = [p.shape for p in fresh if isinstance(p, TensorProxy) and not p.scalar]
        count = len(region.inputs) + len(fresh)
        of_sizes = sizes_function(ENTRY + SIZES, roots, count, shapes, "#0")
        text, program = known.text.replace(f"@{PLACEHOLDER}", f"@{ENTRY}"), known.program
        engine.dump("loops", lambda: show(program, name), name)
        super().__init__(name, region, updates, f"{text}\n\n{of_sizes}\n")

    def describe(self) -> list[str]:
        return [f"{line}, for any size" for line in _native(self.bsym)]

    def error(self, record: int) -> BaseException:
        return _error(self.failures, record)


def _is_long(bsym: BoundSymbol) -> bool:
    """Whether a block is a long straight line over short arrays."""
    if bodies_of(bsym) or len(bsym.subsymbols) < target.LONG_BLOCK or any(map(is_control_flow, bsym.subsymbols)):
        return False
    arrays = [p for b in bsym.subsymbols for p in (*b.flat_inputs, *b.flat_outputs)]
    return all(math.prod(_dims(p)) <= target.LONG_BLOCK_ELEMENTS for p in arrays)


def _native(bsym: BoundSymbol) -> list[str]:
    """What is native, in lines of text: a loop or a branch, or those of a block with what stands around them."""
    if bodies_of(bsym):
        return [f"the whole {bsym.sym.name} is native"]
    inside = [b for b in bsym.subsymbols if is_control_flow(b)]
    return [f"the whole {b.sym.name} is native, with the operations around it" for b in inside] or [
        "they are one block"
    ]


def _error(failures: Sequence[tuple[Failure, int]], record: int) -> BaseException:
    words = (ctypes.c_int64 * launcher.RECORD_WORDS).from_address(record)
    failure, count = failures[words[0]]
    return failure(*words[1 : 1 + count])


class _Written(NamedTuple):
    """The module of a loop or a branch for one kind of arguments; ``describes`` what it is of."""

    text: str
    program: Program
    describes: Any
    #: keeps bodies, which the description names by ``id``
    bsym: BoundSymbol
    #: what :func:`takes` was asked about
    asked: BoundSymbol | None = None


#: what was written to know whether a loop can be compiled, by the ``id`` of its body, until it is compiled
_recent: dict[int, _Written] = {}
RECENT = 64
#: the name of the function in modules that are written before they have one
PLACEHOLDER = "tnp.program"


def _key_of(bsym: BoundSymbol) -> int:
    bodies = bodies_of(bsym)
    return id(bodies[-1]) if bodies else id(bsym.subsymbols)


def _description(
    bsym: BoundSymbol, inputs: Sequence[Proxy], outputs: Sequence[Proxy], updates: Mapping[int, int], key: Sequence[Any],
    fast: bool,
) -> Any:  # fmt: skip
    """What a module depends on."""
    args = [id(x) if isinstance(x, Body) else x.name if isinstance(x, Proxy) else repr(x) for x in bsym.args]
    names = [[p.name for p in x] for x in (inputs, outputs)]
    return bsym.sym.name, args, names, dict(updates), [strides for _, strides in key], fast


def _write(
    name: str, bsym: BoundSymbol, inputs: Sequence[Proxy], outputs: Sequence[Proxy], updates: Mapping[int, int],
    key: Sequence[Any], *, fast: bool, failures: list[tuple[Failure, int]] | None = None, roots: Roots | None = None,
) -> _Written:  # fmt: skip
    """The module of a loop or a branch for one kind of arguments; for any size, if there are ``roots``. Raises :class:`Refused`."""
    for cuts in (True, False) if not roots else (False,):
        p = Program(fast=fast, failures=failures, cuts=cuts)
        try:
            text = _module(name or PLACEHOLDER, bsym, inputs, outputs, updates, key, p, roots or {})
        except Uncut:
            continue
        return _Written(text, p, _description(bsym, inputs, outputs, updates, key, fast), bsym)
    raise AssertionError("a loop without strips is cut")


def _module(
    name: str, bsym: BoundSymbol, inputs: Sequence[Proxy], outputs: Sequence[Proxy], updates: Mapping[int, int],
    key: Sequence[Any], p: Program, roots: Roots,
) -> str:  # fmt: skip
    """The text, written with the new program ``p``."""
    written = set(updates.values())
    if roots:
        p.sizes = Sizes(Builder(p.code.names), roots, len(inputs) + len(outputs) - len(updates))
    fresh = [x for k, x in enumerate(outputs) if k not in updates]
    numbers = itertools.count(len(inputs))
    with p.code.inside(p.head):
        for j, x in enumerate(inputs):
            pointer, level = _slot(p, j), 0 if j in written else -1
            made = p.scopes[0][x.name] = _input(p, x, key[j] if key else None, pointer, level)
            if j in written:
                p.written.append(made)
        slots = {x.name: [_slot(p, next(numbers)) for _ in range(1 + len(_counted(x)))] for x in fresh}
    p.leaving = {x.name for x in fresh}
    # An assertion of a block may be one that chooses a program for the call, and another error not.
    p.starts_over = bool(bodies_of(bsym)) and any(map(starts_over, with_parts(bsym)))
    for x in fresh:
        if isinstance(x, TensorProxy) and x.shape and is_sized(x):
            p.places[x.name] = _contiguous(p, x, slots[x.name][0])
    p.step(bsym)
    p.flush()
    for x in fresh:
        _finish(p, x, *slots[x.name])
    return written_program(p, name, function_attributes())


def _slot(p: Program, i: int) -> Register:
    return p.code.load(SLOTS, 8 * i, None)


def _input(p: Program, x: Proxy, kind: Any, pointer: Register, level: int) -> Any:
    if isinstance(x, NumberProxy):
        return Number(int, p.sizes.of(x)) if p.sizes is not None and is_symbol(x) else load_number(p, x, pointer)
    if not isinstance(x, TensorProxy):
        raise Refused(f"{x!r} as an argument")
    if x.scalar:
        return Scalar(p.code.load(pointer, 0, x.dtype), x.dtype)
    if kind is None:
        return _contiguous(p, x, pointer, level)
    return StridedView(p.memory(pointer, level), x.dtype, ZERO, [Int(n) for n in x.shape], kind[1])


def _contiguous(p: Program, x: TensorProxy, pointer: Register, level: int = -1) -> StridedView:
    shape = [whole(p, p.value(n)) for n in x.shape]
    strides, _ = row_major(shape, x.dtype.itemsize)
    return StridedView(p.memory(pointer, level), x.dtype, ZERO, shape, strides)


def _finish(p: Program, x: Proxy, pointer: Register, *lengths: Register) -> None:
    """Stores a result where the caller takes it, and the lengths that it turned out to have."""
    value = p.value(x)
    if isinstance(x, NumberProxy):
        store_number(p, x, value, pointer)
    elif isinstance(x, TensorProxy) and not x.shape:
        p.code.store(pointer, 0, p.scalar(value), x.dtype)
    elif isinstance(value, (StridedView, Thunk)):
        place = p.places.get(x.name)
        if place is None:
            room = list(map(Int, _room(x)))
            strides, _ = row_major(room, x.dtype.itemsize)
            place = StridedView(p.memory(pointer, -1), x.dtype, ZERO, value.shape, strides)
        p.assign(place, value)
        for d, at in zip(_counted(x), lengths):
            p.code.store(at, 0, value.shape[d], dtypes.int64)
    else:
        raise Refused(f"a result that is {value!r}")
