"""Dead code elimination, and common subexpression elimination."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Sequence
from typing import Any

from tnp.core import dtypes, intervals, prims, sizes
from tnp.core.devices import Device
from tnp.core.dtypes import DType
from tnp.core.lengths import takes_any
from tnp.core.prims.elementwise import refuses_some
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy
from tnp.core.subtraces import bodies_of, is_control_flow, with_parts
from tnp.core.symbol import BoundSymbol, OpTags, flat_proxies
from tnp.core.trace import Trace
from tnp.core.views import update
from tnp.transforms.subtraces import in_bodies

__all__ = [
    "any_size",
    "common_subexpressions",
    "dead_code",
    "made_of_large_numbers",
    "may_raise",
    "memory_of_results",
    "refuses_values",
    "unneeded",
    "unread",
    "with_arguments_used",
    "without_aliases",
]


def _is_needed_for_itself(bsym: BoundSymbol) -> bool:
    return bsym.has_tag_inside(OpTags.EFFECT) or bsym.sym is prims.python_return


def refuses_values(b: BoundSymbol) -> bool:
    """Whether a bound symbol is arithmetic that refuses some values: of Python numbers, which an array may not hold either, or integers
    to a negative power."""
    if isinstance(b.output, NumberProxy):
        return refuses_some(b.operation.name, b.args)
    if b.operation is prims.convert_element_type and isinstance(b.args[0], NumberProxy):
        return not _holds(b.output.dtype, b.args[0])
    if len(b.args) == 2 and isinstance(b.output, TensorProxy) and _overflows(b.output, *b.args):
        return True
    if OpTags.POWER not in b.sym.tags or not isinstance(b.output, TensorProxy) or b.output.dtype.kind not in "iu":
        return False
    exponent = b.args[1]
    if isinstance(exponent, TensorProxy):
        return exponent.dtype.kind == "i"
    return not (isinstance(exponent, int) and exponent >= 0)


def _overflows(out: TensorProxy, a: Any, b: Any) -> bool:
    """Whether an operation, of whichever executor, takes a number with an array of integers, whose dtype may not hold it."""
    number, array = (a, b) if type(a) is NumberProxy else (b, a)
    if type(number) is not NumberProxy or not isinstance(array, TensorProxy):
        return False
    alike = array.dtype is out.dtype and sizes.shapes_equal(array.shape, out.shape) is not False
    return alike and not _holds(array.dtype, number)


def _holds(dtype: DType, number: NumberProxy) -> bool:
    """Whether an array of ``dtype`` holds a number, which else is an error. int64 is taken for an integer's own; what is given was compared."""
    if dtype.kind not in "iu" or number.python_type is bool or (dtype is dtypes.int64 and number.python_type is int):
        return True
    if number.python_type is not int:
        return False
    low, high = intervals.bounds(number)
    least, most = dtype.limits
    return number.value is not None or (low is not None and high is not None and least <= low and high <= most)


def may_raise(b: BoundSymbol) -> bool:
    """Whether an operation may raise when the program runs: because of values, or of sizes that only then are known."""
    operation = b.operation
    if operation is prims.size:
        return False
    # A view that is made of others raises where one of those does, which is not at a position that is known.
    if b.subsymbols and OpTags.VIEW in operation.tags and OpTags.MAY_RAISE not in operation.tags:
        return any(map(may_raise, b.subsymbols))
    if operation is update and not refuses_values(b) and all(sizes.is_decided(p.shape) for p in _arrays_inside(b)):
        # What writes to the positions of a view relies on those of the view, which are in bounds.
        return any(may_raise(part) for part in b.subsymbols if OpTags.VIEW in part.sym.tags)
    if operation is prims.select:
        return type(b.args[2]) is not int or not sizes.is_decided(b.args[0].shape)
    if b.has_tag_inside(OpTags.MAY_RAISE) or refuses_values(b):
        return True
    if is_control_flow(b) and any(map(may_raise, (inner for body in bodies_of(b) for inner in body.bound_symbols))):
        return True
    return any_size(b) or any(map(may_raise, b.subsymbols))


def _arrays_inside(b: BoundSymbol) -> Iterator[TensorProxy]:
    for part in with_parts(b):
        yield from (p for p in (*part.flat_inputs, *part.flat_outputs) if isinstance(p, TensorProxy))


def any_size(b: BoundSymbol) -> bool:
    """Whether an operation reads an array whose size is known only when the program runs, or is given such a shape, and another's
    may not fit it."""
    if b.operation in (prims.reshape, prims.broadcast_in_dim) and not sizes.is_decided(b.args[1]):
        return not takes_any(b)
    is_unknown = any(isinstance(p, TensorProxy) and not sizes.is_decided(p.shape) for p in b.flat_inputs)
    return is_unknown and not takes_any(b)


def unread(trace: Trace) -> set[str]:
    """The results that nothing reads."""
    read = {p.name for b in trace.bound_symbols for p in b.flat_inputs}
    return {p.name for b in trace.bound_symbols for p in b.flat_outputs} - read


def unneeded(trace: Trace) -> set[str]:
    """The results that no result of the program and no effect depends on, those in loops and branches included."""
    needed: set[str] = set()
    found: set[str] = set()

    def inside(body: Trace) -> Trace:
        found.update(unneeded(body))
        return body

    in_bodies(inside, trace)
    for b in reversed(trace.bound_symbols):
        outputs = {p.name for p in b.flat_outputs}
        if _is_needed_for_itself(b) or not outputs.isdisjoint(needed):
            needed.update(p.name for p in b.flat_inputs)
        found |= outputs
    return found - needed


def dead_code(trace: Trace, kept_if_raising: Container[str] | None = None) -> Trace:
    """Without the bound symbols whose results nothing reads. Effects stay, and so do arguments, and what may raise: a program
    that reads ``x[i]`` for nothing stops at a bad index.

    ``kept_if_raising`` names results; of the symbols that may raise only those that make one of them stay.
    """
    watched = _where_errors_raise(trace)
    if not watched:  # else all in loops and branches may raise
        trace = in_bodies(lambda t: dead_code(t, kept_if_raising), trace)
    needed = {p.name for b in watched for p in b.flat_outputs} | made_of_large_numbers(trace.bound_symbols)
    if kept_if_raising is not None:
        needed = {name for name in needed if name in kept_if_raising}
    kept: list[BoundSymbol] = []
    for bsym in reversed(trace.bound_symbols):
        if (
            bsym.sym is prims.unpack_trivial
            or (is_control_flow(bsym) and any(b is bsym for b in watched))
            or _is_needed_for_itself(bsym)
            or any(p.name in needed for p in bsym.flat_outputs)
            or (may_raise(bsym) and (kept_if_raising is None or _raises_for(bsym, kept_if_raising)))
        ):
            kept.append(bsym)
            needed.update(p.name for p in bsym.flat_inputs)
    kept = _without_idle_errstates(kept[::-1])
    return trace if len(kept) == len(trace.bound_symbols) else Trace.like(trace, kept)


def _without_idle_errstates(bsyms: Sequence[BoundSymbol]) -> list[BoundSymbol]:
    """Without ``with np.errstate(...)`` around nothing that reports errors: compiled operations do not, and others have moved out."""
    readers = Counter(p.name for b in bsyms for p in b.flat_inputs)
    kept: list[BoundSymbol] = []
    entered: list[int] = []
    for b in bsyms:
        if b.has_tag_inside(OpTags.ENTERS_ERRSTATE):
            entered.append(len(kept))
        elif b.has_tag_inside(OpTags.EXITS_ERRSTATE) and entered:
            begin = entered.pop()
            (state,) = kept[begin].flat_outputs
            is_exit = [p.name for p in b.flat_inputs] == [state.name] and readers[state.name] == 1
            if is_exit and all(map(_reports_nothing, kept[begin + 1 :])):
                del kept[begin]
                continue
        kept.append(b)
    return kept


def _reports_nothing(b: BoundSymbol) -> bool:
    """Whether an operation reports no floating-point errors to NumPy: it is compiled, or Python's, or only reads."""
    executor = b.sym.executor
    if executor is None or is_control_flow(b):
        return False
    if b.operation is prims.item or OpTags.VIEW in b.operation.tags:
        return True
    return (executor.is_fusing and not executor.reports_errors) or executor.name == "python"


def _raises_for(bsym: BoundSymbol, names: Container[str]) -> bool:
    """Whether a symbol that may raise makes one of the ``names``, or has such a symbol in its bodies."""
    if any(p.name in names for p in bsym.flat_outputs):
        return True
    inside = (b for body in bodies_of(bsym) for b in body.bound_symbols) if is_control_flow(bsym) else ()
    return any(may_raise(b) and _raises_for(b, names) for b in inside)


def _where_errors_raise(trace: Trace) -> list[BoundSymbol]:
    """The operations under an ``np.errstate`` that raises."""
    found: list[BoundSymbol] = []
    states: dict[str, bool] = {}  # those that are entered, by the name of what was set before, and whether they raise
    for b in trace.bound_symbols:
        if OpTags.ENTERS_ERRSTATE in b.sym.tags:
            states[b.output.name] = "raise" in b.kwargs.values()
        elif OpTags.EXITS_ERRSTATE in b.sym.tags:
            states.pop(b.args[0].name, None)
        elif any(states.values()):
            found.append(b)
    return found


def made_of_large_numbers(bsyms: Sequence[BoundSymbol]) -> set[str]:
    """The arrays of integers that are made with a Python integer which int64 may not hold: NumPy refuses it. Sizes fit."""
    made: set[str] = set()
    large: set[str] = set()
    for b in bsyms:
        out = b.output
        if isinstance(out, NumberProxy):
            if out.python_type is int and out.relations is None and (b.operation in _GROWING or _takes(b, large)):
                low, high = intervals.bounds(out)
                if low is None or high is None or low < -(2**63) or high >= 2**63:
                    large.add(out.name)
        elif large and isinstance(out, TensorProxy) and out.dtype.kind in "iu" and _takes(b, large):
            made.add(out.name)
    return made


def _takes(b: BoundSymbol, numbers: set[str]) -> bool:
    return any(type(a) is NumberProxy and a.name in numbers for a in b.args)


_GROWING = frozenset((prims.add, prims.sub, prims.mul, prims.neg, prims.abs, prims.pow, prims.left_shift))


def with_arguments_used(trace: Trace) -> Trace:
    """With only those arguments that the program reads."""
    used = {p.name for b in trace.bound_symbols for p in b.flat_inputs}
    kept = [b for b in trace.bound_symbols if b.sym is not prims.unpack_trivial or b.output.name in used]
    new = Trace.like(trace, kept)
    new.args = [p for p in trace.args if p.name in used]
    return new


_KEPT_APART = frozenset(
    (
        OpTags.CONTROL_FLOW,
        OpTags.EFFECT,
        OpTags.RANDOM,
        OpTags.FACTORY,
        OpTags.PROGRAM,
        OpTags.LATE_GUARD,
        OpTags.UPDATE,
    )
)


def common_subexpressions(trace: Trace) -> Trace:
    """With repeats of an operation on the same arguments replaced by its first result.

    Results that are returned, or that views that are returned look at, stay apart: they are different memory to the
    caller. So do arrays made of nothing, and effects. Arrays that have the size of a repeat get that of the first result, so
    that they are of one kernel with those of the first.
    """
    trace = in_bodies(common_subexpressions, trace)
    kept_sizes: set[str] | None = None
    returned = memory_of_results(trace)
    seen: dict[Any, BoundSymbol] = {}
    names: dict[str, Any] = {}
    kept: list[BoundSymbol] = []
    for bsym in trace.bound_symbols:
        bsym = bsym.substitute(names)
        if names and (sizes_of := _unknown_sizes(bsym)):
            if kept_sizes is None:
                kept_sizes = _sizes_in_bodies(trace)
            if any(n in names and n not in kept_sizes for n in sizes_of):
                bsym = _resized(bsym, names, kept_sizes)
        # Positions cost a loop.
        kept_apart = not _KEPT_APART.isdisjoint(bsym.tags_inside) and bsym.operation is not prims.iota
        if kept_apart or any(p.name in returned for p in bsym.flat_outputs):
            kept.append(bsym)
            continue
        key = _key(bsym)
        first = seen.get(key) if key is not None else None
        if first is None:
            if key is not None:
                seen[key] = bsym
            kept.append(bsym)
        else:
            for a, b in zip(first.flat_outputs, bsym.flat_outputs):
                names[b.name] = a
                if isinstance(a, TensorProxy) and isinstance(b, TensorProxy):
                    # The repeat's sizes have no other definition.
                    names.update((m.name, n) for n, m in zip(a.shape, b.shape) if isinstance(m, Proxy))
    return Trace.like(trace, kept) if names else trace


def _unknown_sizes(b: BoundSymbol) -> set[str]:
    """The names of the sizes, known only when the program runs, that results of an operation have."""
    return {n.name for p in b.flat_outputs if isinstance(p, TensorProxy) for n in p.shape if isinstance(n, NumberProxy)}


def _sizes_in_bodies(trace: Trace) -> set[str]:
    """The sizes that arrays of loops and branches have: what goes into a body and comes out of it has one size."""
    flow = [b for b in trace.bound_symbols if is_control_flow(b)]
    parts = (part for b in flow for part in with_parts(b))
    arrays = (p for part in parts for p in (*part.flat_inputs, *part.flat_outputs) if isinstance(p, TensorProxy))
    return {n.name for p in arrays for n in p.shape if isinstance(n, NumberProxy)}


def _resized(bsym: BoundSymbol, names: dict[str, Any], kept_sizes: set[str]) -> BoundSymbol:
    """An operation whose results, and those of its parts, have the sizes that ``names`` says; what reads them will read these."""
    made: dict[str, Any] = {}
    for p in (p for part in with_parts(bsym) for p in part.flat_outputs if isinstance(p, TensorProxy)):
        shape = tuple(n if type(n) is int or n.name in kept_sizes else names.get(n.name, n) for n in p.shape)  # type: ignore[union-attr]  # ``type(n) is int`` narrows nothing for mypy
        if any(n is not m for n, m in zip(shape, p.shape)):
            made[p.name] = p.renamed(p.name)
            made[p.name].shape = shape
    names.update(made)
    return bsym.substitute(made)


def without_aliases(trace: Trace) -> Trace:
    """Without the views that look at all of an array as it is: its other names, which gradients give to what they differentiate by.

    Where something is written, or acts on the outside, and where the caller gets the view, they stay.
    """
    body = [b for b in trace.bound_symbols if OpTags.PROGRAM not in b.sym.tags]
    found = [b for b in body if _is_alias(b)]
    if not found or any(not _ACTS.isdisjoint(b.tags_inside) for b in body):
        return trace
    returned = memory_of_results(trace)
    names: dict[str, Any] = {}
    kept: list[BoundSymbol] = []
    for bsym in trace.bound_symbols:
        bsym = bsym.substitute(names)
        if _is_alias(bsym) and bsym.output.name not in returned:
            names[bsym.output.name] = bsym.args[0]
        else:
            kept.append(bsym)
    return Trace.like(trace, kept) if names else trace


_ACTS = frozenset((OpTags.EFFECT, OpTags.UPDATE))


def _is_alias(bsym: BoundSymbol) -> bool:
    if bsym.sym is not prims.reshape:
        return False
    a, out = bsym.args[0], bsym.output
    is_known = sizes.is_known(a.shape) and sizes.is_known(out.shape)
    return is_known and a.shape == out.shape and a.scalar == out.scalar and a.lang is out.lang


def memory_of_results(trace: Trace) -> set[str]:
    """The names of what is returned or given to the outside (an object's attribute), and of what views of that look at."""
    result = {p.name for p in flat_proxies(trace.bound_symbols[-1].args) if isinstance(p, TensorProxy)}
    for bsym in reversed(trace.bound_symbols):
        if OpTags.EFFECT in bsym.sym.tags:
            result.update(p.name for p in bsym.flat_inputs if isinstance(p, TensorProxy))
        # A loop of no iterations leaves what it began with, and a branch may leave what it was given.
        hands_on = OpTags.VIEW in bsym.sym.tags or is_control_flow(bsym)
        if hands_on and any(p.name in result for p in bsym.flat_outputs):
            result.update(p.name for p in bsym.flat_inputs)
    return result


def _key(bsym: BoundSymbol) -> Any:
    try:
        key = (id(bsym.sym.registered or bsym.sym), _hashable(bsym.args), _hashable(bsym.kwargs))
        hash(key)
    except TypeError:
        return None
    return key


def _hashable(x: Any) -> Any:
    if isinstance(x, Proxy):
        return ("proxy", x.name)
    if isinstance(x, (tuple, list)):
        return (type(x).__name__, *(_hashable(y) for y in x))
    if isinstance(x, dict):
        return ("dict", *((k, _hashable(v)) for k, v in x.items()))
    if type(x) is slice:
        return ("slice", _hashable(x.start), _hashable(x.stop), _hashable(x.step))
    if isinstance(x, (float, complex)):
        return (type(x).__name__, repr(x))
    if type(x) in _COMPARED:
        return (type(x).__name__, x)
    return ("object", id(x))  # a class of the user's says for itself what is equal; the trace keeps the object


#: the classes whose values are the same argument if they are equal
_COMPARED = frozenset((int, bool, str, bytes, DType, Device))
