"""Loops and branches."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tnp.core import dtypes, prims
from tnp.core.prims.control_flow import stored, unbound_error
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy
from tnp.core.subtraces import Body, bodies_of, is_control_flow
from tnp.core.symbol import BoundSymbol
from tnp.executors.llvm.lowering import Refused
from tnp.executors.llvm.program.integers import HIGHEST, LOWEST, Atom, Int
from tnp.executors.llvm.program.ir import (
    FALSE,
    TRUE,
    Branch,
    Cell,
    Operand,
    Register,
    While,
    instructions_in,
    whole_number,
)
from tnp.executors.llvm.program.liveness import steps_of
from tnp.executors.llvm.program.lowering import ZERO, Program
from tnp.executors.llvm.program.numbers import as_number, real, truth, whole
from tnp.executors.llvm.program.parallel import trips_of
from tnp.executors.llvm.program.rules import step
from tnp.executors.llvm.program.sizes import is_counted
from tnp.executors.llvm.program.strip_mining import MANY, Strips, Uncut, plan
from tnp.executors.llvm.program.updates import own
from tnp.executors.llvm.program.values import Memory, Number, Scalar, StridedView, Thunk
from tnp.executors.llvm.program.views import sliced

__all__ = ["Variable", "condition", "load_number", "store_number"]

#: a loop by more than 1 ends below this, so that its index fits
FAR = 2**62


def condition(p: Program, x: Any) -> Operand:
    """The bool of a number, or of an array of one element."""
    if isinstance(x, (Scalar, StridedView, Thunk)):
        return p.code.convert(p.scalar(x), x.dtype, dtypes.bool8)
    return truth(p, x)


def load_number(p: Program, proxy: NumberProxy, pointer: Register) -> Number:
    """The Python number in a slot of 16 bytes, as the launcher fills it; an integer with the bounds that are known of it."""
    if proxy.python_type is bool:
        return Number(bool, p.code.compare("ne", p.code.load(pointer, 0, dtypes.int64), 0))
    return _number(proxy, p.code.load(pointer, 0, dtypes.dtype_of_number(proxy.python_type)))


def _number(proxy: NumberProxy, x: Operand) -> Number:
    """A value as the Python number that a proxy stands for."""
    if proxy.python_type is not int:
        return Number(proxy.python_type, x)
    low = LOWEST if proxy.low is None else proxy.low
    high = HIGHEST if proxy.bound is None else proxy.bound
    return Number(int, whole_number(x, low, high))


def _operand(p: Program, proxy: NumberProxy, value: Any) -> Operand:
    """A Python number as one of the kind of ``proxy``."""
    number, kind = as_number(value), proxy.python_type
    return whole(p, number) if kind is int else real(p, number) if kind is float else number.value


def store_number(p: Program, proxy: NumberProxy, value: Any, pointer: Register) -> None:
    """Stores a Python number of the kind of ``proxy`` so that :func:`load_number` finds it."""
    found, dtype = _operand(p, proxy, value), dtypes.dtype_of_number(proxy.python_type)
    if proxy.python_type is bool:
        found, dtype = p.code.convert(found, dtypes.bool8, dtypes.int64), dtypes.int64
    p.code.store(pointer, 0, found, dtype)


class Variable:
    """A carried value that is no memory: a number or an element in a register, or an array in a buffer.

    The buffer has room for the largest array that it may hold; sizes that change are in registers of their own. A new value that
    looks at other places of the old one (``z = z[mask]``) is made in a second buffer, which the variable is in from then on: where it is
    in now, is in a slot that each iteration reads. ``changes_buffers`` allows that: in a loop.
    """

    def __init__(self, p: Program, proxy: Proxy, init: Any, *, changes_buffers: bool = False) -> None:
        self.p = p
        self.proxy = proxy
        self.buffer: StridedView | None = None
        self.other: StridedView | None = None
        #: the addresses of the two buffers; and the variables that hold the address of the current one, and of the next
        self.home: Register | None = None
        self.away: Register | None = None
        self.current: Cell | None = None
        self.next: Cell | None = None
        #: the level of the body whose new value may be made in the second buffer; ``None`` if that buffer is taken
        self.free_in: int | None = None
        self.sizes: dict[int, Cell] = {}
        if isinstance(proxy, NumberProxy):
            self.cell = p.cell(dtypes.dtype_of_number(proxy.python_type))
        elif isinstance(proxy, TensorProxy) and not proxy.shape:
            self.cell = p.cell(proxy.dtype)
        elif isinstance(proxy, TensorProxy):
            self.sizes = {d: p.cell(dtypes.int64) for d, n in enumerate(proxy.shape) if is_counted(n)}
            self.buffer = p.room_for(proxy.name, [_largest(p, n) for n in proxy.shape], proxy.dtype)
            self.buffer.memory.level = -1
            self.buffer.memory.is_new = False  # what it holds is another array, in eager
            if changes_buffers:
                self.home = self.buffer.memory.pointer
                self.current, self.next = p.cell(None), p.cell(None)
                p.code.set(self.current, self.home)
                #: what sets ``next`` before the loop, if there is another buffer
                self.begins = p.code.do("nothing")
        else:
            raise Refused(f"{proxy!r} as a variable")
        if init is not None:
            self.set(init)

    def set(self, value: Any) -> None:
        """Stores a value."""
        p, proxy = self.p, self.proxy
        if self.buffer is not None:
            self._set_array(self.buffer, value)
        elif isinstance(proxy, TensorProxy):
            p.code.set(self.cell, p.scalar(value))
        else:
            assert isinstance(proxy, NumberProxy)
            p.code.set(self.cell, _operand(p, proxy, value))

    def _set_array(self, buffer: StridedView, x: Any) -> None:
        p = self.p
        if self.is_in_place(x):
            self._exchange(buffer)
            return
        for n, m in zip(buffer.shape, x.shape):
            if n != m and (n.is_of_sizes or m.high > n.high):
                raise Refused("a variable that may grow")
        target = buffer.like(ZERO, x.shape, buffer.strides)
        if self.current is not None and not p.may_assign(target, x):
            self._change_buffers(buffer, x)
        else:
            p.assign(target, x)
        for d, slot in self.sizes.items():
            p.code.set(slot, x.shape[d])

    def is_in_place(self, x: Any) -> bool:
        """Whether an array is in the buffer that the variable is not in."""
        other, buffer = self.other, self.buffer
        if other is None or buffer is None or not isinstance(x, StridedView):
            return False
        return x.same_as(other.like(ZERO, buffer.shape, buffer.strides))

    def _change_buffers(self, buffer: StridedView, x: Any) -> None:
        """Makes the new value in the buffer that the variable is not in."""
        self.p.fill(self.place_of_next(x.shape), x)
        self._exchange(buffer)

    def place_of_next(self, shape: Sequence[Int]) -> StridedView:
        """Where the new value may be made, in the buffer that the variable is not in."""
        p, buffer = self.p, self.buffer
        assert buffer is not None and self.home is not None and self.next is not None
        self.free_in = None
        if self.other is None:
            self.other = p.temporary(buffer.shape, buffer.dtype)
            self.away = self.other.memory.pointer
            # What is in one in this iteration is in the other in the next.
            self.other.memory.scope = buffer.memory.scope
            self.other.memory.homes = buffer.memory.homes = (self.home, self.away)
            self.begins.op, self.begins.args, self.begins.info = "set", (self.away,), self.next
        self.other.memory.pointer = p.code.get(self.next)
        self.other.memory.level = p.level
        return self.other.like(ZERO, shape, self.other.strides)

    def _exchange(self, buffer: StridedView) -> None:
        """Moves the variable to the buffer with the new value."""
        assert self.other is not None and self.current is not None and self.next is not None
        self.p.code.set(self.current, self.other.memory.pointer)
        self.p.code.set(self.next, buffer.memory.pointer)

    def may_be_made_ahead(self, shape: Sequence[Int]) -> bool:
        """Whether an array of a shape may be made where the new value is to be: one array in an iteration."""
        is_plain = self.current is not None and not self.sizes and self.free_in == self.p.level
        return is_plain and self.buffer is not None and self.buffer.shape == tuple(shape)

    def come_home(self) -> None:
        """After a loop: the value is in the first buffer again."""
        if self.other is None or self.buffer is None:
            return
        assert self.home is not None
        p, code, buffer = self.p, self.p.code, self.get()
        is_away = code.raw("icmp ne", buffer.memory.pointer, self.home, None, dtypes.bool8)
        self.other.memory.pointer, self.buffer.memory.pointer = buffer.memory.pointer, self.home
        with code.when(is_away), p.scope():
            p.fill(buffer, self.other.like(ZERO, buffer.shape, buffer.strides))
        self.current = None

    def get(self) -> Any:
        """The value, as it is now."""
        code, proxy = self.p.code, self.proxy
        if self.buffer is not None:
            if self.current is not None:
                self.buffer.memory.pointer = code.get(self.current)
            shape = list(self.buffer.shape)
            for d, cell in self.sizes.items():
                shape[d] = whole_number(code.get(cell), 0, shape[d].high)
            return self.buffer.like(ZERO, shape, self.buffer.strides)
        if isinstance(proxy, TensorProxy):
            return Scalar(code.get(self.cell), proxy.dtype)
        assert isinstance(proxy, NumberProxy)
        return _number(proxy, code.get(self.cell))

    def values(self) -> dict[str, Any]:
        """The value by its name, and its sizes by theirs."""
        value = self.get()
        found = {self.proxy.name: value}
        if self.buffer is not None:
            assert isinstance(self.proxy, TensorProxy)
            found |= {n.name: Number(int, m) for n, m in zip(self.proxy.shape, value.shape) if is_counted(n)}
        return found


def _largest(p: Program, n: Any) -> Int:
    """A dimension; of one that changes, an integer as large as it ever is."""
    if not is_counted(n):
        return whole(p, p.value(n))
    if n.bound is None:
        raise Refused("a size without a bound")
    return Int(0, {Atom("%none", 0, n.bound): 1})


class Carried:
    """What a loop or a branch carries: arrays that stand for memory, and variables."""

    def __init__(self, p: Program, b: BoundSymbol, args: Sequence[Proxy], inits: Sequence[Any]) -> None:
        self.p = p
        self.args = args
        self.memory: dict[str, StridedView] = {}
        self.variables: dict[str, Variable] = {}
        captured = {x.name for body in bodies_of(b) for x in body.captures}
        written = stored(b)
        for arg, init in zip(args, inits):
            if arg.name in written:
                x = p.value(init)
                is_needed = init.name in captured or p.is_live(init.name)
                taken = any(isinstance(x, StridedView) and x.memory is y.memory for y in self.memory.values())
                place = p.room(arg.name, x) if taken else own(p, init.name, x, is_needed)
                p.keep_what_is_read(place.memory, init.name, captured.__contains__)
                self.memory[arg.name] = place
        for arg, init in zip(args, inits):
            if arg.name not in written:
                self.variables[arg.name] = Variable(p, arg, p.value(init), changes_buffers=b.sym is not prims.cond)

    @property
    def begins_with_an_array(self) -> bool:
        """Whether a variable that leaves the program is an array."""
        return any(v.buffer is not None and name in self.p.leaving for name, v in self.variables.items())

    def values(self) -> dict[str, Any]:
        """What the carried names stand for, now."""
        found: dict[str, Any] = dict(self.memory)
        for v in self.variables.values():
            found |= v.values()
        return found

    def enter(self) -> list[tuple[Memory, int]]:
        """Lets the body that comes write to the memory; what is to be restored after it."""
        before = [(place.memory, place.memory.level) for place in self.memory.values()]
        for memory, _ in before:
            memory.level = self.p.level + 1
        return before

    def store(self, results: Sequence[Any], variables: Sequence[Variable]) -> None:
        """Assigns results of a body to variables, all at once."""
        p = self.p
        buffers = {v.buffer.memory for v in variables if v.buffer is not None}
        buffers |= {v.other.memory for v, x in zip(variables, results) if v.other is not None and not v.is_in_place(x)}
        values = []
        for v, x in zip(variables, results):
            if v.buffer is None:
                values.append(Scalar(p.scalar(x), x.dtype) if isinstance(x, (StridedView, Thunk)) else x)
            elif (x.reads & buffers) - {v.buffer.memory, v.other and v.other.memory}:
                values.append(p.force(x))
            else:
                values.append(x)
        for v, x in zip(variables, values):
            v.set(x)

    def finish(self) -> None:
        """Binds the carried names after the loop or branch."""
        for v in self.variables.values():
            v.come_home()
            if v.buffer is not None:
                v.buffer.memory.level = self.p.level
        self.p.scopes[-1].update(self.values())


def _round(p: Program, carried: Carried, body: Body, values: dict[str, Any]) -> None:
    """One iteration of a loop: the body, what is carried on, and the way out."""
    before = carried.enter()
    own_homes = _homes(carried, body)
    for v in own_homes.values():
        v.free_in = p.level + 1
    homes, p.homes = p.homes, p.homes | own_homes
    with p.body(body, values, repeats=True) as results:
        _check_results(p, carried, results, carried.args)
        leaves = condition(p, results[-1]) if len(results) > len(carried.args) else FALSE
        chosen = [(carried.variables[a.name], r) for a, r in zip(carried.args, results) if a.name in carried.variables]
        carried.store([r for _, r in chosen], [v for v, _ in chosen])
        if leaves != FALSE:
            p.code.do("break", leaves)
    p.homes = homes
    for memory, level in before:
        memory.level = level


def _homes(carried: Carried, body: Body) -> dict[str, Variable]:
    """The variables whose new values are arrays that a body makes, and maybe updates afterwards, by the names that these have first."""
    made = {x.name: b for b in steps_of(body.bound_symbols) for x in b.flat_outputs}
    found: dict[str, Variable] = {}
    for arg, result in zip(carried.args, body.results):
        if arg.name not in carried.variables or not isinstance(result, TensorProxy):
            continue
        name = result.name
        while (before := _updated(made.get(name), name)) is not None:
            name = before
        if name in made:
            found.setdefault(name, carried.variables[arg.name])
    return found


def _updated(b: BoundSymbol | None, name: str) -> str | None:
    """The name of the array that an operation updates to make the one of that name."""
    if b is None:
        return None
    if b.sym.name in _UPDATES:
        return str(b.args[0].name)
    return stored(b)[name].name if is_control_flow(b) and name in stored(b) else None


#: operations that write to the memory of their first argument
_UPDATES = frozenset(("update", "slice_update", "index_put"))


def _check_results(p: Program, carried: Carried, results: Sequence[Any], outputs: Sequence[Proxy]) -> None:
    """Refuses what would be another array than in eager."""
    seen: list[Any] = []
    for arg, result in zip(carried.args, results):
        place = carried.memory.get(arg.name)
        if place is not None and not place.same_as(result):
            raise Refused("memory that a body ends with is not what it began with")
    if p.level > 1:
        return
    # What leaves the program is the caller's own array if eager's is, and the same array twice if eager's is.
    for k, result in enumerate(results):
        leaves = k < len(outputs) and outputs[k].name in p.leaving
        if isinstance(result, (StridedView, Thunk)) and result.shape and leaves:
            if any(result is x for x in seen) or (isinstance(result, StridedView) and not result.memory.is_new):
                raise Refused("an array that has several names")
            seen.append(result)


@step("for_loop")
def _for_loop(p: Program, b: BoundSymbol) -> None:
    start, stop, by = (whole(p, p.value(x)) for x in b.args[:3])
    body: Body = b.args[3]
    index, *args = body.args
    assert isinstance(index, NumberProxy)
    if by.known is not None and (not by.known or abs(by.known) >= FAR):
        raise Refused("a step beyond which the index may not fit")
    step = by if by.known is not None else _positive(p, by)
    carried = Carried(p, b, args, b.args[4:])
    strips = _strips(p, b, carried) if trips_of(start, stop, step) >= MANY else None
    if step.known != 1:
        start, stop = _near(p, start), _near(p, stop)
    if strips is None:
        _iterations(p, carried, body, start, stop, step)
    else:
        begun = len(p.code.block)
        with p.loop(ZERO, Int(strips.length // strips.strip)) as i:
            with _strip(p, strips, i * strips.strip, body, carried) as part:
                _iterations(p, part, body, start, stop, step)
        if any(i.op == "check" for i in instructions_in(p.code.block[begun:])):
            raise Uncut
    carried.finish()


def _strips(p: Program, b: BoundSymbol, carried: Carried) -> Strips | None:
    """How to cut a loop into strips, if that is allowed and pays."""
    if not p.cuts or p.strips is not None or carried.variables:
        return None
    body: Body = b.args[3]
    found = {x.name: p.value(x) for x in body.captures} | dict(carried.memory)
    return plan(b, {name: x.strides for name, x in found.items() if isinstance(x, StridedView)})


@contextmanager
def _strip(p: Program, strips: Strips, begin: Int, body: Body, carried: Carried) -> Iterator[Carried]:
    """Lets the body see the part from ``begin`` on of what is cut; gives what is carried of it."""

    def part(name: str, x: Any) -> Any:
        return sliced(x, strips.dims[name], begin, Int(strips.strip), 1) if name in strips.dims else x

    inside = copy.copy(carried)
    inside.memory = {name: part(name, place) for name, place in carried.memory.items()}
    p.scopes.append({x.name: part(x.name, p.value(x)) for x in body.captures})
    p.strips, p.strip_begin = strips, begin
    with p.scope():
        yield inside
    p.strips = None
    p.scopes.pop()


def _iterations(p: Program, carried: Carried, body: Body, start: Int, stop: Int, step: Int) -> None:
    """The loop itself."""
    index = body.args[0]
    ascends = step.low > 0
    ahead = p.less(start, stop) if ascends else p.less(stop, start)
    if carried.begins_with_an_array and not p.blocks:
        p.begin_only_if(ahead)  # a loop without iterations leaves the caller's own array
    low, high = (start.low, stop.high - 1) if ascends else (stop.low + 1, start.high)
    with p.counted(start, stop, step, ahead, iterations=p.strips is None) as variable, p.scope():
        # Not Int.of: a loop of one iteration is a loop as well, and the bounds of an empty one make no sense.
        atom = Atom(variable, low, max(low, high), p.most(stop - 1 if ascends else start))
        value, is_unconditional = Int(0, {atom: 1}), p.is_unconditional
        if step.known in (1, -1) and len(body.results) == len(carried.args):
            p.iterations[atom] = (start, stop - 1) if ascends else (stop + 1, start)
        else:
            p.is_unconditional = False
        _round(p, carried, body, carried.values() | {index.name: Number(int, value)})
        p.is_unconditional = is_unconditional


def _positive(p: Program, x: Int) -> Int:
    """A step that the program computes: the trace is for positive ones (see ``prims.for_loop``)."""
    p.check(p.code.both(p.code.compare("sge", x, 1), p.code.compare("sle", x, FAR)), None)
    return Int.of(Atom(p.code.whole("add", x, 0), max(x.low, 1), min(x.high, FAR)))


def _near(p: Program, x: Int) -> Int:
    """``x``, with room for a step beyond it."""
    if -FAR <= x.low and x.high <= FAR:
        return x
    p.check(p.code.both(p.code.compare("sge", x, -FAR), p.code.compare("sle", x, FAR)), None)
    return Int.of(Atom(p.code.whole("add", x, 0), max(x.low, -FAR), min(x.high, FAR)))


@step("while_loop")
def _while_loop(p: Program, b: BoundSymbol) -> None:
    test, body, *inits = b.args
    carried = Carried(p, b, body.args, inits)
    code = p.code
    ran = p.cell(dtypes.bool8) if carried.begins_with_an_array and not p.blocks else None
    if ran is not None:
        code.set(ran, FALSE)
    is_unconditional, p.is_unconditional = p.is_unconditional, False
    loop = While()
    code.block.append(loop)
    with p.scope():
        with code.inside(loop.test):
            values = carried.values()
            with p.body(test, values, repeats=True) as results:
                loop.goes_on = condition(p, results[0])
        with code.inside(loop.body):
            if ran is not None:
                code.set(ran, TRUE)
            _round(p, carried, body, values)
    if ran is not None:
        p.begin_only_if(code.get(ran))  # without iterations, the caller's own array is left
    p.is_unconditional = is_unconditional
    carried.finish()


def _asks_for_bits(p: Program, test: Any) -> bool:
    """Whether a condition depends on the low bits of integers: nobody can tell which way such a branch goes, and one that is taken
    wrongly costs more than to compute both sides. Of other conditions the processor learns."""
    steps = {x.name: b for b in (p.blocks[-1].steps if p.blocks else ()) for x in b.flat_outputs}
    made = steps.get(test.name) if isinstance(test, Proxy) else None
    if made is not None and made.sym in (prims.eq, prims.ne):
        made = next((b for x in made.flat_inputs if (b := steps.get(x.name)) is not None), None)
    return made is not None and made.sym in _OF_BITS


_OF_BITS = frozenset((prims.bitwise_and, prims.bitwise_xor, prims.remainder))


@step("cond")
def _cond(p: Program, b: BoundSymbol) -> None:
    test, then, otherwise, *inits = b.args
    asked = condition(p, p.value(test))
    carried = Carried(p, b, then.args, inits)
    new = [Variable(p, proxy, None) for proxy in b.output[len(then.args) :]]
    branch = Branch(asked, is_unpredictable=_asks_for_bits(p, test))
    p.code.block.append(branch)
    is_unconditional, p.is_unconditional = p.is_unconditional, False
    for block, body in ((branch.then, then), (branch.otherwise, otherwise)):
        with p.code.inside(block):
            before = carried.enter()
            with p.scope(), p.body(body, carried.values(), repeats=False) as results:
                _check_results(p, carried, results, b.output)
                chosen = [
                    (carried.variables[a.name], r) for a, r in zip(carried.args, results) if a.name in carried.variables
                ]
                chosen += list(zip(new, results[len(carried.args) :]))
                carried.store([r for _, r in chosen], [v for v, _ in chosen])
            for memory, level in before:
                memory.level = level
    p.is_unconditional = is_unconditional
    carried.finish()
    for v in new:
        if v.buffer is not None:
            v.buffer.memory.level = p.level
        p.scopes[-1].update(v.values())


@step("block")
def _block(p: Program, b: BoundSymbol) -> None:
    with p.body(Body((), b.subsymbols, b.output), {}, repeats=False) as results:
        made = dict(zip((x.name for x in b.output), results))
    p.scopes[-1].update(made)


@step("assert_")
def _assert(p: Program, b: BoundSymbol) -> None:
    ok, *message = b.args
    if any(isinstance(m, Proxy) for m in message):
        raise Refused("a message made of values")
    p.check(condition(p, p.value(ok)), lambda: AssertionError(*message))


@step("check_bound")
def _check_bound(p: Program, b: BoundSymbol) -> None:
    is_bound, *read = b.args
    p.check(condition(p, p.value(is_bound)), lambda: unbound_error(*read))
