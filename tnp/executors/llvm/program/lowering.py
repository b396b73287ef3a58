"""The lowering of whole loops to the program IR: names and their values, checks, loops, memory.

Operations are lowered in program order, so after an error memory is as in eager. Values without memory are computed
where they are read. A failed check leaves the program; the caller raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from tnp.core import dtypes, prims, symbols
from tnp.core.dtypes import DType
from tnp.core.prims.control_flow import START_OVER
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy
from tnp.core.subtraces import Body
from tnp.core.symbol import BoundSymbol
from tnp.executors.llvm.lowering import Refused
from tnp.executors.llvm.program import ir
from tnp.executors.llvm.program.allocations import Allocations, undone
from tnp.executors.llvm.program.hoisting import narrowed
from tnp.executors.llvm.program.integer_code import IntegerCode
from tnp.executors.llvm.program.integers import Atom, Int, ceiling, magnitude, row_major
from tnp.executors.llvm.program.ir import FALSE, TRUE, Access, Builder, Cell, Loop, LoopVariable, Operand, Register
from tnp.executors.llvm.program.liveness import Block, steps_of
from tnp.executors.llvm.program.parallel import UNKNOWN_TRIPS, most_of, trips_of
from tnp.executors.llvm.program.rotations import pieces
from tnp.executors.llvm.program.rules import RULES
from tnp.executors.llvm.program.sizes import Sizes, is_counted
from tnp.executors.llvm.program.strip_mining import Strips
from tnp.executors.llvm.program.values import Array, At, Memory, Number, Scalar, StridedView, Thunk
from tnp.executors.llvm.program.write_hazards import Copied, copies_of_what_is_read, reads_ahead
from tnp.runtime.launcher import RECORD_WORDS

__all__ = ["ONE", "ZERO", "Failure", "Program"]

ZERO, ONE = Int(0), Int(1)

#: bytes that temporaries take at most
MEMORY_LIMIT = 1 << 36
#: an array that is read twice is stored if an element takes more operations
WORTH_KEEPING = 4

Failure = Callable[..., BaseException]


def _start_over() -> BaseException:
    return AssertionError(START_OVER)


class Program(IntegerCode):
    """The function of one loop, or branch, with all that is in it.

    It has many methods: they are the vocabulary of the rules in :mod:`.arrays`, :mod:`.numbers`, :mod:`.flow` and others.
    """

    def __init__(
        self, *, fast: bool = False, failures: list[tuple[Failure, int]] | None = None, cuts: bool = False
    ) -> None:
        self.fast = fast
        self.code = Builder()
        self.body_block: ir.Block = self.code.block
        #: The blocks before the body: arguments, conditions to begin, and copies of what may have to be restored. The last one restores it.
        self.head: ir.Block = []
        self.ahead: ir.Block = []
        self.copies: ir.Block = []
        self.restores: ir.Block = []
        #: the sizes of a program for any size
        self.sizes: Sizes | None = None
        #: whether all iterations come here, and the first and last value of loops' variables
        self.is_unconditional = True
        self.iterations: dict[Atom, tuple[Int, Int]] = {}
        #: registers with narrower bounds, and bounds of loops that checks tell
        self.narrower: dict[tuple[Atom, int], Atom] = {}
        self.limits: dict[Any, int] = {}
        self.scopes: list[dict[str, Any]] = [{}]
        self.blocks: list[Block] = []
        #: integers that have been computed, for as long as they are in force
        self.known: list[dict[Any, Any]] = [{}]
        #: what checks raise, and with how many numbers of the record
        self.failures = [] if failures is None else failures
        self.may_refuse = self.may_decline = False
        #: whether the call may run eagerly from its beginning, instead of the loop from its own
        self.starts_over = False
        self.memories: list[Memory] = []
        self.allocations = Allocations()
        #: the loops around what is being lowered
        self.around: list[Loop] = []
        #: whether loops may be cut into strips; how the present one is, and where its strip begins
        self.cuts = cuts
        self.strips: Strips | None = None
        self.strip_begin = ZERO
        #: what is read while that is being recorded, and at what offset
        self.accesses: list[tuple[StridedView, Int]] | None = None
        #: copies that replace loads from these offsets, and the position in each
        self.redirected: list[tuple[Copied, Int, At]] = []
        self.copies_rows = False
        #: checks of indices that wait for those of the axes before them
        self.waiting: list[tuple[int, Callable[[], None]]] = []
        self.last_select: str | None = None
        #: where results of the region are to be, by name
        self.places: dict[str, StridedView] = {}
        #: by the names of arrays, the variables of loops whose new values they become
        self.homes: dict[str, Any] = {}
        #: the names of values that leave the program as new ones
        self.leaving: set[str] = set()
        #: the caller's arrays that are written to
        self.written: list[StridedView] = []

    # Names

    def value(self, x: Any) -> Any:
        """What a name stands for; numbers as they are."""
        if not isinstance(x, Proxy):
            return x
        for scope in reversed(self.scopes):
            if x.name in scope:
                return scope[x.name]
        if self.sizes is not None and isinstance(x, NumberProxy) and symbols.is_symbol(x):
            return Number(int, self.sizes.of(x))
        raise Refused(f"{x.name} is no value of the program")

    def resolve(self, x: Any) -> Any:
        """:meth:`value` of all proxies in an argument."""
        if isinstance(x, (tuple, list)):
            return [self.resolve(y) for y in x]
        return self.value(x)

    def bind(self, out: Any, value: Any) -> None:
        """Gives a name its value, and memory if that pays."""
        if isinstance(out, TensorProxy):
            if isinstance(value, Thunk):
                if not value.shape:
                    self.flush()
                    value = Scalar(value.element(self, ()), value.dtype)
                elif self._wants_memory(out.name, value):
                    value = self.room(out.name, value) if out.name in self.homes else self.force(value)
            assert len(out.shape) == len(value.shape), f"{out!r} has {value.shape}"
            for n, m in zip(out.shape, value.shape):
                if is_counted(n) and not any(n.name in scope for scope in self.scopes):
                    self.scopes[-1][n.name] = Number(int, m)
        self.scopes[-1][out.name] = value

    def _wants_memory(self, name: str, value: Thunk) -> bool:
        block = self.blocks[-1]
        if not value.cost:
            return False
        if name in self.homes and name in block.viewed:
            return True
        return name in block.inside or (block.count.get(name, 0) > 1 and value.cost > WORTH_KEEPING)

    def is_live(self, name: str) -> bool:
        """Whether the value of a name is needed after the step that is being written."""
        for block, scope in zip(reversed(self.blocks), reversed(self.scopes)):
            if block.needs_later(name):
                return True
            if name in scope:
                return False
            if block.repeats and name in block.last:
                return True
        return False

    # Bodies

    @contextmanager
    def body(self, body: Body, values: Mapping[str, Any], *, repeats: bool) -> Iterator[list[Any]]:
        """Writes a body's operations; gives the values of its results, inside."""
        block = Block(list(steps_of(body.bound_symbols)), body.results, repeats=repeats)
        self.blocks.append(block)
        self.scopes.append(dict(values))
        for i, b in enumerate(block.steps):
            block.position = i
            self.step(b)
        self.flush()
        block.position = len(block.steps)
        yield [self.value(r) for r in body.results]
        self.scopes.pop()
        self.blocks.pop()

    def step(self, b: BoundSymbol) -> None:
        """Writes one operation."""
        if b.sym.id == "tnp.warning_call":  # given by the operations when they run one by one
            self.flush()
            self.check(FALSE, None)
            return
        run = RULES.get(b.sym.name)
        if run is None:
            raise Refused(f"{b.sym.name} is not compiled in loops")
        if b.sym is not prims.select or b.args[0].name != self.last_select:
            self.flush()
        run(self, b if self.strips is None else self.strips.adapted(b))

    def flush(self) -> None:
        """Makes the checks that wait, in order of the axes, and reads the elements that were selected."""
        waiting, self.waiting = self.waiting, []
        for _, check in sorted(waiting, key=lambda w: w[0]):
            check()
        name, self.last_select = self.last_select, None
        if name is not None:
            found = self.scopes[-1].get(name)
            if isinstance(found, StridedView) and not found.shape:
                self.scopes[-1][name] = Scalar(self.load(found, ()), found.dtype)

    # Checks

    def check(self, ok: Operand, failure: Failure | None, *values: Operand) -> None:
        """Leaves unless ``ok``; then the caller raises ``failure(*values)``, or, without one, runs everything as eager does."""
        if ok == TRUE:
            return
        number = None
        if failure is None and self.starts_over:
            failure, values = _start_over, ()
        if failure is None:
            self.may_refuse = True
        else:
            number = len(self.failures)
            assert len(values) < RECORD_WORDS
            self.failures.append((failure, len(values)))
        self.code.do("check", ok, *values, info=number)

    def begin_only_if(self, ok: Operand) -> None:
        """Declines the arguments unless ``ok``. Nothing has been written yet."""
        if ok != TRUE:
            self.may_decline = True
            self.code.do("decline", ok)

    def check_fits(self, x: Int) -> Int:
        """``x``, which is surely a 64-bit integer when it is used."""
        if not x.fits:
            raise Refused("arithmetic on integers that may not fit 64 bits")
        return x

    # Loops

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Integers that are computed inside are forgotten after it."""
        self.known.append({})
        yield
        self.known.pop()

    @contextmanager
    def loop(self, begin: Int, end: Int, *, maybe_empty: bool = True, reduces: bool = False) -> Iterator[Int]:
        """``for i in range(begin, end)``, for loops over elements. A short one is written out. One that ``reduces`` may take its elements
        in any order."""
        if end.known is not None and begin.known is not None and end.known - begin.known == 1:
            with self.scope():
                yield begin
            return
        few = reduces and (begin.known is None or end.known is None)
        some = self.less(begin, end) if maybe_empty else TRUE
        with self.counted(begin, end, Int(1), some, few=few, of_elements=True) as variable, self.scope():
            yield Int.of(Atom(variable, begin.low, max(begin.low, end.high - 1), self.most(end - 1)))

    @contextmanager
    def counted(
        self, first: Int, last: Int, step: Int, some: Operand, *, iterations: bool = False, of_elements: bool = False,
        few: bool = False,
    ) -> Iterator[LoopVariable]:  # fmt: skip
        """A loop; gives its variable. ``iterations``: it is a loop of the user's. Of one that sums up ``few`` elements or many, two vectors
        at a time are enough: of LLVM's four a sum of fifty elements would be left over."""
        variable = LoopVariable(dtypes.int64, f"%i{next(self.code.names)}")
        trips, (most, bound) = trips_of(first, last, step), most_of(first, last, step)
        loop = Loop(variable, first, last, step, some, trips, most, bound, iterations, of_elements, few)
        self.code.block.append(loop)
        self.around.append(loop)
        with self.code.inside(loop.body):
            yield variable
        self.around.pop()
        if trips == UNKNOWN_TRIPS:
            limit = self.limits.get(variable)
            if limit is not None:
                loop.trips, loop.bound = limit, min(loop.bound, limit)

    @contextmanager
    def loops(self, shape: Sequence[Int], order: Sequence[int] | None = None, *, reduces: bool = False) -> Iterator[At]:
        """Loops over all positions of a shape; the dimensions in ``order``, outermost first."""
        order = range(len(shape)) if order is None else order
        at: dict[int, Int] = {}

        @contextmanager
        def nested(left: Sequence[int]) -> Iterator[None]:
            if not left:
                yield
                return
            with self.loop(ZERO, shape[left[0]], reduces=reduces) as i:
                at[left[0]] = i
                with nested(left[1:]):
                    yield

        with nested(list(order)):
            yield tuple(at[d] for d in range(len(shape)))

    # Memory

    def memory(self, pointer: Register, level: int) -> Memory:
        """New memory; ``level`` is the depth of the body that may write to it."""
        made = Memory(pointer, len(self.memories), level)
        self.memories.append(made)
        return made

    @property
    def level(self) -> int:
        return len(self.blocks)

    def temporary(self, shape: Sequence[Int], dtype: DType) -> StridedView:
        """Memory of the call's own for an array, the same each time that this step runs."""
        strides, size = row_major([self._room_along(n) for n in shape], dtype.itemsize)
        if size.known is not None and size.known > MEMORY_LIMIT:
            raise Refused("a temporary array whose size has no useful bound")
        made = self.memory(self._allocate(size), self.level)
        made.is_new = True
        return StridedView(made, dtype, ZERO, shape, strides)

    def _room_along(self, n: Int) -> Int:
        """For how many elements there is to be room in a dimension."""
        found = Int(n.high) if self.sizes is None else ceiling(n)
        if found is None:
            raise Refused("a temporary array whose size has no useful bound")
        return found if found.terms else Int(max(1, found.constant))

    def _allocate(self, size: Int) -> Register:
        """The address of memory of the program's own."""
        register = self.code.register(None)
        if size.known is not None:
            self.allocations.take(register, size.known, self.around)
        else:
            assert self.sizes is not None
            self.allocations.take(register, (size, self.sizes.is_too_large(size, MEMORY_LIMIT)), self.around)
        return register

    def most(self, x: Int) -> Int | None:
        """``x`` as the bound of a register, if it says more than a number."""
        return x if self.sizes is not None and x.terms else None

    def load(self, place: StridedView, at: At) -> Operand:
        where = place.where(at)
        for copied, offset, position in self.redirected:
            if copied.place.memory is place.memory and copied.place.dtype is place.dtype and offset == where:
                return self.load(copied.copy, position)
        return self.code.load(place.memory.pointer, where, place.dtype, self._access(place, where, stores=False))

    def _access(self, place: StridedView, where: Int, *, stores: bool) -> Access:
        if self.accesses is not None:
            self.accesses.append((place, where))
        return Access(place.memory, narrowed(self, where), place.dtype, stores)

    def store(self, place: StridedView, at: At, value: Operand) -> None:
        where = place.where(at)
        access = self._access(place, where, stores=True)
        self.code.store(place.memory.pointer, where, value, place.dtype, access)

    def cell(self, dtype: DType | None) -> Cell:
        """A new variable."""
        return Cell(dtype, f"%cell{next(self.code.names)}", self.around)

    # Arrays

    def scalar(self, x: Any) -> Operand:
        """The only element of a 0-d array."""
        value: Operand = x.element(self, tuple(ZERO for _ in x.shape))
        return value

    def force(self, x: Array) -> StridedView:
        """An array's elements in memory of the program's own."""
        made = self.temporary(x.shape, x.dtype)
        self.fill(made, x)
        return made

    def room_for(self, name: str, shape: Sequence[Int], dtype: DType) -> StridedView:
        """Memory for the value of a name: where the result of that name is to be, or a temporary."""
        variable = self.homes.get(name)
        if variable is not None and variable.may_be_made_ahead(shape):
            return variable.place_of_next(shape)
        place = self.places.get(name) if not self.blocks else None
        return self.temporary(shape, dtype) if place is None else place

    def room(self, name: str, x: Array) -> StridedView:
        """A copy of ``x`` in :meth:`room_for` it."""
        made = self.room_for(name, x.shape, x.dtype)
        self.fill(made, x)
        return made

    def fill(self, target: StridedView, x: Array, copied: Sequence[Copied] = ()) -> None:
        """Stores all elements of ``x``, which has the target's shape. No element may depend on memory that is overwritten before it is
        computed, except for what was ``copied``."""
        if not target.shape:
            self.store(target, (), x.element(self, ()))
            return
        *outer, inner = sorted(range(len(target.shape)), key=lambda d: -magnitude(target.strides[d]))
        cuts = x.cuts.get(inner, ()) if isinstance(x, Thunk) else ()
        with self.loops([target.shape[d] for d in outer]) as around:
            for begin, count in pieces(target.shape[inner], cuts):
                with self.loop(ZERO, count) as i:
                    found = {**dict(zip(outer, around)), inner: begin + i}
                    at = tuple(found[d] for d in range(len(found)))
                    self.redirected = [(c, c.offset(at), tuple(at[d] for d in c.dims)) for c in copied]
                    value = x.element(self, at)
                    self.redirected = []
                    self.store(target, at, value)

    def uncut(self, x: Array) -> Array:
        """``x`` in memory, if loops over it have to be cut."""
        return self.force(x) if isinstance(x, Thunk) and x.cuts else x

    def assign(self, target: StridedView, x: Array) -> None:
        """:meth:`fill`, whatever ``x`` looks at."""
        if target.same_as(x):
            return
        if self.may_assign(target, x):
            self.fill(target, x)
            return
        copied = copies_of_what_is_read(self, target, x)
        if copied is None:
            self.fill(target, self.force(x))
        else:
            self.copies_rows = True
            self.fill(target, x, copied)

    def may_assign(self, target: StridedView, x: Array) -> bool:
        """Whether :meth:`fill` stores the right elements though ``x`` may look at the target's memory."""
        return target.same_as(x) or target.memory not in x.reads or reads_ahead(self, target, x)

    def keep_what_is_read(self, memory: Memory, but: str, also: Callable[[str], bool] = lambda name: False) -> None:
        """Before ``memory`` is written to: gives memory of their own to all values that look at it and are still needed."""
        for scope in self.scopes:
            for name, x in list(scope.items()):
                if isinstance(x, (StridedView, Thunk)) and memory in x.reads and name != but:
                    if self.is_live(name) or also(name):
                        self.scopes[-1][name] = self.force(x)

    # The whole

    def save(self) -> None:
        """Copies, at the beginning, what is written of the caller's arrays, and copies it back if the program refuses: who refuses has done
        nothing."""
        arrays = undone(self.written)
        if arrays is None:
            raise Refused("an array with gaps, which might have to be restored")
        for place, first, size in arrays:
            count, copy = Int.of(size), self._allocate(Int.of(size))
            for block, is_back in ((self.copies, False), (self.restores, True)):
                with self.code.inside(block):
                    begin = self.code.address(place.memory.pointer, first)
                    self.code.do("copy", *((begin, copy) if is_back else (copy, begin)), count)
