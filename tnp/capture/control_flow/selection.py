"""Control flow while a function is traced: which loops and branches become operations of the trace, and how.

If no traced value decides, a loop or a branch runs as in Python. A countable loop is tried as one operation: its body
is traced once, with fresh proxies for the carried values (numbers and arrays that its variables are bound to, memory
that it writes). The result is valid if each variable ends the body with the metadata that it began with. If not, one
iteration runs as in Python (it is *peeled*), and the loop is tried again, since metadata often settles after an
iteration (``s = 0`` is a float64 after ``s += x[i]``). A loop that cannot become one operation is *unrolled*.

Both sides of a branch on a run-time value are traced, and their results are merged.
"""

from __future__ import annotations

import functools
import operator
import types
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from tnp.capture import active
from tnp.capture.control_flow.iterables import Iterations, iterations_of, use_up
from tnp.capture.control_flow.made_lists import is_item
from tnp.capture.control_flow.trace_cond import Branch
from tnp.capture.control_flow.trace_loop import Loop
from tnp.capture.objects.identity import is_, is_not
from tnp.capture.rewrite.control_flow import ITEM
from tnp.capture.speculation.regions import Region, Retrace, Variables
from tnp.capture.speculation.trials import (
    BREAK,
    CONTINUE,
    BufferRotation,
    ConditionalExit,
    ExitUnion,
    Failure,
    Returned,
    Returning,
    blocks_at_returns,
    is_unknown,
    without,
)
from tnp.capture.tracing.scalar_kind import condition_of
from tnp.capture.tracing.traced_values import TracedArray, TracedNumber
from tnp.core import languages, prims
from tnp.core.errors import EagerFallbackWarning, NeedsEager, NeedsValue, user_stack_level
from tnp.core.prims.control_flow import START_OVER
from tnp.core.trace import check_length

__all__ = ["MAX_ITERATIONS", "UNROLLED", "WARN_ITERATIONS", "ControlFlow", "check_own_iterators", "truth_of"]

#: a loop of at most so many iterations, a number that stands in the program, is written out: operations of several iterations fuse (the
#: taps of a stencil, the stages of an integrator), which is worth more than a shorter program. Loops over time steps have more.
UNROLLED = 8
#: the same for a loop with loops in it, since their iterations multiply; one with nested loops in it is never written out by choice
UNROLLED_AROUND = 5
#: an unrolled loop of more iterations warns
WARN_ITERATIONS = 1_000
#: iterations that a loop may be written out for; one of more runs eagerly, with the rest of the call
MAX_ITERATIONS = 10_000
#: the same where each iteration has an operation on arrays of other sizes, which is compiled for each, and none of these fuse
MOST_OF_OTHER_SIZES = 24
#: the same where an iteration makes more than ``LONG_ITERATION`` values, as a model does that writes a text, if the caller says how many there
#: are and there are no gradients: a program of one iteration gains as much, and is compiled once. So many iterations tell how many values one
#: makes.
MOST_LONG, LONG_ITERATION, LOOKED_AT = 16, 250, 2
#: the same where the program is compiled for a number of iterations that is a value
MAX_ITERATIONS_ASKED_FOR = 64
#: iterations that are peeled for variables to settle
PEELED = 3


class _Raising:
    """The context of a block that always raises; it marks a :class:`NeedsEager` that tracing meets inside."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, where: Any) -> None:
        if isinstance(error, NeedsEager):
            error.is_raising = True


class ControlFlow:
    """The hooks of control flow, of every rewritten function."""

    raising = _Raising()

    BREAK = BREAK
    CONTINUE = CONTINUE
    returned = Returned
    returning = Returning

    @staticmethod
    def raises(error: Any, *cause: Any) -> None:
        """``raise error``, or ``raise error from cause[0]``, that stands in a loop."""
        if cause:
            raise error from cause[0]
        raise error

    # Loops

    def for_(
        self, iterable: Any, body: Any, orelse: Any, names: Sequence[str], stores: Sequence[str], own: Sequence[str]
    ) -> Any:
        """``for item in iterable: body(item)`` ``else: orelse[0]()``; gives the code that is left to act on.

        ``names`` are the names bound in the body that are read later, ``stores`` the names of arrays of which elements are stored
        in it, ``own`` those of ``names`` that only the body reads. ``orelse`` is empty, or a function and the same of it.
        """
        tracer = active.running()
        iterations = iterations_of(iterable) if tracer is not None else None
        if iterations is None:
            if tracer is not None and tracer.regions:
                check_own_iterators([iterable], Variables(body).values())
            return _as_python(iterable, body, orelse)
        use_up(iterable)
        reason, needed = "it has few iterations", None
        limit = (UNROLLED, UNROLLED_AROUND, 1)[_depth(body.__code__)]
        if iterations.most_written_out is not None:
            limit = min(limit, iterations.most_written_out)
        few = iterations.constant and (iterations.length() or 0) <= limit and not _may_leave(body.__code__)
        for _ in range(0 if few else PEELED + 1):
            if iterations.known and not iterations.begins():
                return orelse[0]() if orelse else None
            try:
                lifts = not iterations.known
                left = Loop(body, None, names, stores, iterations, tells=bool(orelse), lifts=lifts, own=own).roll()
            except BufferRotation as turns:
                reason = turns.reason
                left = _in_turns(body, names, stores, iterations, turns) if iterations.known else None
                if left is None:
                    break
                return _as_python(map(iterations.item, left), body, orelse)
            except Failure as failure:
                reason, needed = failure.reason, failure.needed
                if not (failure.settles and iterations.known):
                    break
            else:
                return self._after_loop(left, orelse)
            code = _plain_code(body(iterations.item(iterations.start)))
            if code is not None:
                return None if code is BREAK else code
            iterations = iterations.behind_first()
        if not iterations.known:
            return self.for_(_with_known_bounds(iterations, reason), body, orelse, names, stores, own)
        iterations.check_written_out(reason)
        if needed is not None and needed.is_of_sizes and (iterations.length() or 0) > MOST_OF_OTHER_SIZES:
            raise needed
        indices = iterations.indices()
        _check_unrolling(len(indices), reason)
        return _as_python(_written_out(iterations, indices), body, orelse)

    def while_(
        self, test: Any, body: Any, orelse: Any, names: Sequence[str], stores: Sequence[str], own: Sequence[str]
    ) -> Any:
        """``while test(): body()`` ``else: orelse[0]()``; the rest as for :meth:`for_`."""
        tracer = active.running()
        done, tries = 0, 0
        reason = "its condition is known while tracing"
        while True:
            if tracer is None or tries > PEELED:
                holds = test()
            else:
                region = Region(tracer, Variables(test))
                region.open()
                try:
                    holds = test()
                except (NeedsEager, Retrace) as found:  # maybe only since it stands in a region
                    region.undo()
                    if isinstance(found, Retrace) and found.region is not region:
                        raise
                    tries = PEELED + 1
                    continue
                except BaseException:
                    region.undo()
                    raise
                forever = done == 0 and holds is True  # maybe of ``while True``, which a value ends
                worth_it = (
                    is_unknown(holds) or (done == 0 and type(holds) is TracedNumber) or done >= UNROLLED or forever
                )
                if worth_it:
                    region.undo()
                    tries += not forever
                    try:
                        known = not is_unknown(holds)
                        loop = Loop(
                            body, test, names, stores, None, tells=bool(orelse), knows_first_test=known,
                            lifts=not known or forever, forever=forever, own=own,
                        )  # fmt: skip
                        left = loop.roll()
                    except Failure as failure:
                        reason = failure.reason
                        if not failure.settles:
                            tries = PEELED + 1
                    else:
                        is_one_way = isinstance(left, ConditionalExit) and not isinstance(left.how, ExitUnion)
                        return self._after_loop(left.how if loop.is_endless and is_one_way else left, orelse)
                    holds = test()
                else:
                    region.splice()
            if not holds:
                return orelse[0]() if orelse else None
            code = _one_by_python(body)
            if code is not None:
                return None if code is BREAK else code
            done += 1
            if done in (WARN_ITERATIONS + 1, MAX_ITERATIONS + 1) and tracer is not None:
                _check_unrolling(done, reason)

    def _after_loop(self, left: Any, orelse: Any) -> Any:
        """The code of a loop that was one operation, after its ``else``; ``left`` says if it was left, and how."""
        if not orelse or not (left is None or isinstance(left, ConditionalExit)):  # it was surely left
            return without(left, BREAK)
        function, names, stores = orelse
        if left is None:
            return function()
        return self.if_(left.condition, lambda: without(left.how, BREAK), function, None, names, stores, "side", left)

    # Branches

    def if_(
        self,
        test: Any,
        then: Any,
        orelse: Any,
        rest: Any,
        names: Sequence[str],
        stores: Sequence[str],
        tail: str | None,
        left: Any = None,
    ) -> Any:
        """``if test: then()`` ``else: orelse()`` and then ``rest()``, if the branch did not jump; gives the code that is left to
        act on. ``tail`` says that nothing follows: in a ``"body"`` of a loop or branch, in a ``"function"``, or in a ``"side"`` of a
        branch, which takes along what follows. ``left`` is the code that ``then`` acts on, if it does."""
        if is_unknown(test):
            branch = Branch(then, orelse, rest, names, stores, tail, *blocks_at_returns(left))
            found = branch.join(test)
            if found is not None:
                return found[0]
            if branch.raising is not None and _demands(test, branch.raising is not then):
                test = branch.raising is not then
            else:
                _need(test, branch)
        side = then if test else orelse
        code = side() if side is not None else None
        if code is None and rest is not None:
            code = rest()
        elif isinstance(code, ConditionalExit):
            return self.go_on(code, rest, names, stores, tail)
        return code

    def go_on(self, code: Any, rest: Any, names: Sequence[str], stores: Sequence[str], tail: str | None) -> Any:
        """What follows a loop or a branch that ended with ``code``: ``rest()``, if it did not jump. The rest as for :meth:`if_`."""
        if isinstance(code, ConditionalExit) and (rest is not None or tail == "function"):
            return self.if_(code.condition, lambda: code.how, None, rest, names, stores, tail, code)
        if tail == "body":
            code = without(code, CONTINUE)
        elif isinstance(code, ConditionalExit) and tail is None:
            return _plain_code(code)
        return rest() if code is None and rest is not None else code

    def if_exp(self, test: Any, then: Any, orelse: Any) -> Any:
        """``then() if test else orelse()``."""
        if is_unknown(test):
            branch = Branch(lambda: Returned(then()), lambda: Returned(orelse()), None, (), (), "value", then, orelse)
            found = branch.join(test)
            if found is not None:
                return found[0].value
            _need(test, branch)
        return then() if test else orelse()

    def and_(self, first: Any, *later: Any) -> Any:
        """``first and later[0]() and …``."""
        value = first
        for at, x in enumerate(later):
            if is_unknown(value):
                return self.if_exp(
                    value, lambda at=at, x=x: self.and_(x(), *later[at + 1 :]), lambda value=value: value
                )
            if not value:
                return value
            value = x()
        return value

    def or_(self, first: Any, *later: Any) -> Any:
        """``first or later[0]() or …``."""
        value = first
        for at, x in enumerate(later):
            if is_unknown(value):
                return self.if_exp(value, lambda value=value: value, lambda at=at, x=x: self.or_(x(), *later[at + 1 :]))
            if value:
                return value
            value = x()
        return value

    def and_test(self, first: Any, *later: Any) -> Any:
        """``first and later[0]() and …``, where only the truth of it matters."""
        value = first
        for at, x in enumerate(later):
            if is_unknown(value):
                return self._joined_test(value, self.and_test, later[at:], True)
            if not value:
                return False
            value = x()
        return value

    def or_test(self, first: Any, *later: Any) -> Any:
        """``first or later[0]() or …``, where only the truth of it matters."""
        value = first
        for at, x in enumerate(later):
            if is_unknown(value):
                return self._joined_test(value, self.or_test, later[at:], False)
            if value:
                return True
            value = x()
        return value

    def _joined_test(self, value: Any, join: Callable[..., Any], later: Sequence[Any], goes_on: bool) -> Any:
        """``value and later`` or ``value or later``, as ``join`` says. The ``later`` values are tested only if ``value`` is ``goes_on``."""
        facts = active.current().facts

        def tested() -> Any:
            facts.tested = join(later[0](), *later[1:])
            return truth_of(facts.tested)

        sides = (tested, lambda: False) if goes_on else (lambda: True, tested)
        holds = self.if_exp(value, *sides)
        for x in (value, facts.tested):
            facts.follows(holds, goes_on, condition_of(x), goes_on)
        return holds

    def not_(self, x: Any) -> Any:
        """``not x``."""
        return _not(x) if is_unknown(x) else not x

    @staticmethod
    def in_(x: Any, items: Any) -> Any:
        """``x in items``."""
        return _is_one_of(x, items) if _compares_numbers(x, items) else is_item(x, items)

    @staticmethod
    def not_in(x: Any, items: Any) -> Any:
        """``x not in items``."""
        holds = ControlFlow.in_(x, items)
        return _not(holds) if is_unknown(holds) else not holds

    def compare(self, names: Sequence[str], left: Any, *later: Any, join: Any = None) -> Any:
        """``left < later[0]() < …``, the comparisons by the names of their classes in :mod:`ast`."""
        join = self.and_ if join is None else join
        right = later[0]()
        holds = _COMPARISONS[names[0]](left, right)
        if len(names) == 1:
            return holds
        return join(holds, lambda: self.compare(names[1:], right, *later[1:], join=join))

    def compare_test(self, names: Sequence[str], left: Any, *later: Any) -> Any:
        """As :meth:`compare`, where only the truth of it matters."""
        return self.compare(names, left, *later, join=self.and_test)

    def assert_(self, test: Any, message: Any = None) -> None:
        """``assert test, message()``."""
        if is_unknown(test):
            if message is not None and not _is_constant(message) and _demands(test, True):
                return  # where it fails, eager makes the message
            said = () if message is None else (message(),)
            if any(type(x) not in (str, int, float, bool, type(None)) for x in said):
                raise NeedsEager("it asserts with a message that is not a text")
            active.current().call(prims.assert_, (condition_of(test), *said), {})
        elif not test:
            raise AssertionError(*(() if message is None else (message(),)))


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "Lt": operator.lt, "LtE": operator.le, "Gt": operator.gt, "GtE": operator.ge, "Eq": operator.eq, "NotEq": operator.ne,
    "Is": is_, "IsNot": is_not, "In": ControlFlow.in_, "NotIn": ControlFlow.not_in,
}  # fmt: skip


def _compares_numbers(x: Any, items: Any) -> bool:
    """Whether ``x in items`` compares numbers that the program computes, where Python's own ``in`` would need to know how each comparison
    ends. Of an argument, a program is for that outside of loops and branches: it may be a mode, or an axis."""
    tracer = active.running()
    if tracer is None or type(items) not in (tuple, list) or not all(map(_is_number, (x, *items))):
        return False
    unknown = [n.__tnp_value__() for n in (x, *items) if is_unknown(n)]
    return bool(unknown) and (bool(tracer.regions) or not any(n.name in tracer.inputs.expressions for n in unknown))


def _is_number(x: Any) -> bool:
    return (
        type(x) in (bool, int, float, TracedNumber) or (type(x) is TracedArray and x.scalar) or isinstance(x, np.number)
    )


def _is_one_of(x: Any, items: Sequence[Any]) -> Any:
    """Whether a number is one of a few: the very same, or equal to it."""
    found: Any = False
    for item in items:
        holds = True if item is x else operator.eq(item, x)
        if not is_unknown(holds):
            if holds:
                return True
            continue
        found = found | truth_of(holds)
    return found


def _is_constant(message: Any) -> bool:
    """Whether a function without parameters reads nothing."""
    code = message.__code__
    return not (code.co_names or code.co_freevars)


def _demands(test: Any, wanted: bool) -> bool:
    """Goes on as if ``test`` had the truth that is ``wanted``, since the program raises where it has the other: the call runs eagerly then, and
    that raises. Gives whether it can."""
    tracer = active.current()
    if not tracer.may_start_over() and not tracer.may_raise_while_differentiated():
        return False
    condition = truth_of(test) if wanted else _not(test)
    tracer.trace.catches = tracer.may_lose_stores = True
    tracer.call(prims.assert_, (condition, START_OVER), {})
    return True


def _need(test: Any, branch: Branch) -> None:
    """Specializes on the truth of a run-time value, because a branch on it is no operation."""
    try:
        bool(condition_of(test))
    except NeedsValue as needed:
        if branch.needed is not None and branch.needed.is_of_sizes:
            raise branch.needed from None
        raise NeedsValue(f"{needed.reason}, since the branch is not one operation: {branch.reason}") from None


def truth_of(x: Any) -> Any:
    """``bool(x)``, as a traced number where it is known only when the program runs."""
    if not is_unknown(x):
        return bool(x)
    x = condition_of(x)
    tracer = active.current()
    number = tracer.call(prims.item, (x,), {}) if type(x) is TracedArray else x
    return number if number.proxy.python_type is bool else tracer.call(prims.convert_number, (number, bool), {})


def _not(x: Any) -> Any:
    holds = truth_of(x)
    made = TracedNumber(languages.core.method("logical_not")(holds.proxy))
    for truth in (True, False):
        active.current().facts.follows(made, truth, holds, not truth)
    return made


def _plain_code(code: Any) -> Any:
    """The code of an iteration that ran as Python: ``None`` to go on, BREAK, or what the function has to act on."""
    if isinstance(code, (ConditionalExit, ExitUnion)):
        try:
            code = code if isinstance(code, ExitUnion) else code.how if code.condition else None
            code = code.chosen() if isinstance(code, ExitUnion) else code
        except NeedsValue:
            raise NeedsValue("it leaves a loop on a value that is known only when the program runs") from None
    return None if code is CONTINUE else code


def _with_known_bounds(iterations: Iterations, reason: str) -> Iterations:
    """Iterations whose bounds are specialized on, because the loop is no operation for that ``reason``."""
    try:
        known = iterations.indices()
    except NeedsValue:
        raise NeedsValue(f"a loop has bounds that are known only when the program runs, and {reason}") from None
    if len(known) > MAX_ITERATIONS_ASKED_FOR:
        raise NeedsEager(f"a loop has {len(known):,} iterations in this call, maybe others in another, and {reason}")
    made = Iterations(known.start, known.stop, known.step, iterations.item)
    made.most_written_out = iterations.most_written_out
    made.is_asked_for = True
    return made


def _in_turns(
    body: Any, names: Sequence[str], stores: Sequence[str], iterations: Iterations, turns: BufferRotation
) -> list[Any] | None:
    """Rolls a loop whose arrays take turns, by as many iterations at a time as make a turn; gives the positions that are left, or
    ``None`` if it does not roll."""
    found = iterations.in_turns(turns.period)
    if found is None:
        return None
    whole, left = found
    try:
        Loop(body, None, names, stores, whole, tells=False, turns=turns).roll()
    except Failure:
        return None
    return left


def _as_python(iterable: Iterable[Any], body: Any, orelse: Any) -> Any:
    for item in iterable:
        code = _one_by_python(body, item)
        if code is not None:
            return None if code is BREAK else code
    return orelse[0]() if orelse else None


def _one_by_python(body: Any, *item: Any) -> Any:
    """The code of an iteration of a loop that Python runs."""
    tracer = active.running()
    if tracer is None:
        return _plain_code(body(*item))
    tracer.python_loops += 1
    try:
        return _plain_code(body(*item))
    finally:
        tracer.python_loops -= 1


def _written_out(iterations: Iterations, indices: range) -> Iterator[Any]:
    """The items of a loop that is traced iteration by iteration. Raises :class:`NeedsEager` as soon as the first ones tell
    that the program would be too long."""
    tracer = active.current()
    trace = tracer.trace
    before = trace.name_count
    gradients = tracer.gradients
    is_trained = tracer.differentiating or (gradients is not None and gradients.is_on and gradients.roots)
    is_callers = iterations.is_asked_for or not iterations.constant
    is_long = len(indices) > MOST_LONG and is_callers and not is_trained
    for done, i in enumerate(indices):
        if is_long and done == LOOKED_AT and trace.name_count - before > done * LONG_ITERATION:
            raise NeedsEager(f"each of {len(indices)} iterations of a loop that is no operation has many operations")
        if done >= 4 and done.bit_count() == 1:
            check_length(trace, before + (trace.name_count - before) * len(indices) // done)
        yield iterations.item(i)
        iterations.check_lists()


def _check_unrolling(iterations: int, reason: str) -> None:
    """Warns of a long loop that is written out. Raises :class:`NeedsEager` for one that is too long."""
    if iterations > MAX_ITERATIONS:
        raise NeedsEager(f"a loop has more than {MAX_ITERATIONS:,} iterations, and is not one operation: {reason}")
    tracer = active.current()
    if iterations > WARN_ITERATIONS and not tracer.warned_of_unrolling:
        tracer.warned_of_unrolling = True
        text = f"a loop of over {WARN_ITERATIONS:,} iterations is compiled iteration by iteration: {reason}"
        warnings.warn(text, EagerFallbackWarning, stacklevel=user_stack_level())


@functools.cache
def _may_leave(body: types.CodeType) -> bool:
    """Whether an iteration may end a loop. One that a value ends cannot be written out."""
    inside = (c for c in body.co_consts if isinstance(c, types.CodeType))
    return not _LEAVING.isdisjoint(body.co_names) or any(map(_may_leave, inside))


_LEAVING = frozenset(("BREAK", "returned", "returning"))


@functools.cache
def _depth(body: types.CodeType) -> int:
    """How deep ``for`` loops are nested in a body: 0, 1, or 2 for more."""
    inside = [c for c in body.co_consts if isinstance(c, types.CodeType)]
    return min(2, max((_depth(c) + (ITEM in c.co_varnames[: c.co_argcount]) for c in inside), default=0))


def check_own_iterators(given: Iterable[Any], variables: Mapping[str, Any] = MappingProxyType({})) -> None:
    """Raises :class:`NeedsEager` where a loop or a branch, which may be traced several times, takes from an iterator that was there before:
    one of its ``variables``, or what these hold."""
    for iterator in given:
        if not hasattr(type(iterator), "__next__"):
            continue
        for held in (variables, *(r.values for r in active.current().regions)):
            for value in held.values():
                within = value.values() if type(value) is dict else value if type(value) in (list, tuple) else ()
                if value is iterator or any(x is iterator for x in within):
                    raise NeedsEager("it takes from an iterator in a loop or a branch")
