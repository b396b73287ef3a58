"""Passes fusion regions (:mod:`tnp.transforms.fusion_regions`) to their executors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from tnp.core import languages, prims
from tnp.core.array_kinds import HOST_ARRAYS, USER_KIND
from tnp.core.errors import ExtensionError
from tnp.core.prims.control_flow import stored
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy
from tnp.core.subtraces import bodies_of, is_control_flow, with_parts
from tnp.core.symbol import BoundSymbol, OpTags, Symbol, leaves_of
from tnp.core.symbols import is_symbol
from tnp.core.trace import Trace, tracing
from tnp.transforms.claim import Fusable, FusedSymbol, Update, blame_extension, claim, is_view
from tnp.transforms.dce import memory_of_results
from tnp.transforms.fusion_regions import find_regions
from tnp.transforms.subtraces import in_bodies

__all__ = ["fuse"]


def fuse(
    trace: Trace, executors: Sequence[Any], make_region: Any, run_unfused: Any, *, is_inside: bool = False
) -> Trace:
    """The trace with each region replaced by one call.

    Regions that a fuser declines go to the next fusers, and to all executors of single operations. ``run_unfused``
    compiles a trace for those alone.
    """
    trace = in_bodies(lambda t: fuse(t, executors, make_region, run_unfused, is_inside=True), trace)
    length = 0 if is_inside else len(trace.bound_symbols)
    if any(isinstance(b, Fusable) for b in trace.bound_symbols):
        trace = _views_outside(trace, executors)
    while any(isinstance(b, Fusable) for b in trace.bound_symbols):
        trace = _fuse_once(trace, executors, make_region, run_unfused, length)
    return trace


def _fuse_once(trace: Trace, executors: Sequence[Any], make_region: Any, run_unfused: Any, length: int) -> Trace:
    """``trace`` with its regions given to their fusers."""
    new = Trace.like(trace)
    groups = [part for group in find_regions(trace.bound_symbols) for part in _parts(group)]
    last_readers = {p.name: k for k, group in enumerate(groups) for b in group for p in b.flat_inputs}
    copies = [b for b in trace.bound_symbols if b.operation is prims.copy_]
    places = {b.args[0].name: b.args[1] for b in copies}
    after_copy = {b.output.name: b.args[1].name for b in copies}
    working = [g for g in groups if g[0].operation is not prims.copy_ and OpTags.PROGRAM not in g[0].sym.tags]
    memory = _memory(trace)
    products = _products_read_once(groups)
    identifiers = [e.identifier for e in executors]
    number = 0
    for k, group in enumerate(groups):
        first = group[0]
        if not isinstance(first, Fusable):
            new.bound_symbols += group
            continue
        inputs, outputs = _boundary(group, k, last_readers)
        inputs = list(first.fuser.inputs_of(group, inputs))
        if first.fuser.updates_inputs:
            outputs += _written_and_unused(group, outputs)
        stores = _stores(inputs, outputs, places, after_copy, memory) if first.fuser.updates_inputs else {}
        if not stores and first.fuser.updates_inputs:
            stores = _over_products(group, inputs, outputs, products)
        while any(f"{identifier}_fusion{number}" in new for identifier in identifiers):
            number += 1
        name = f"{first.fuser.identifier}_fusion{number}"
        alone = partial(_unfused, trace, group, inputs, outputs, run_unfused)
        whole = len(working) == 1
        region = make_region(tuple(group), inputs, outputs, stores, alone, whole, length)
        function = _compiled(first.fuser, region, name, first)
        if function is None:
            behind = executors[list(executors).index(first.fuser) + 1 :]
            rest = [e for e in executors if not e.is_fusing or e in behind]
            new.bound_symbols += claim(Trace.like(trace, _plain(group)), rest).bound_symbols
            continue
        new.add_name(name)
        updates = getattr(function, "updates", None)
        op: Symbol
        output: Any = tuple(outputs)
        if updates is None:
            op = Symbol(name, _no_meta, is_prim=True, executor=first.fuser, fn=function)
        else:
            tags = (OpTags.TAKES_OUT,) if function.takes_out else ()
            op = FusedSymbol(name, _no_meta, is_prim=True, executor=first.fuser, fn=function.function, tags=tags)
            op.updates, op.describe = updates, function.describe
            _check_updates(op, first.fuser, inputs, outputs)
            output = outputs[0] if function.takes_out else output
        new.bound_symbols.append(BoundSymbol(op, tuple(inputs), {}, output, group, first.location))
    return new


def _compiled(fuser: Any, region: Any, name: str, first: BoundSymbol) -> Any:
    """The callable that a fuser compiles for a region. Raises :class:`ExtensionError` if an extension's fuser raises,
    or returns no callable.
    """
    try:
        made = fuser.fuse(region, name)
    except Exception as error:
        blame_extension(fuser, "fuse", first, error)
    if made is not None and not callable(made) and not hasattr(made, "updates"):
        raise ExtensionError(
            f"fuse of the executor {fuser.name} returns {made!r} for {name}, which is no function from the region's inputs, nor None"
        )
    return made


def _check_updates(op: FusedSymbol, fuser: Any, inputs: Sequence[Proxy], outputs: Sequence[Proxy]) -> None:
    """Raises :class:`ExtensionError` unless each result that a region leaves in an input's memory fits there."""
    for k, j in op.updates.items():
        if not (0 <= k < len(outputs) and 0 <= j < len(inputs)):
            raise ExtensionError(
                f"{op.name} of the executor {fuser.name} has its output {k} in the memory of its input {j}, and there are "
                f"{len(outputs)} outputs and {len(inputs)} inputs"
            )
        made, memory = outputs[k], inputs[j]
        is_known = all(type(d) is int for p in (made, memory) if isinstance(p, TensorProxy) for d in p.shape)
        if is_known and made.type_string() != memory.type_string():
            raise ExtensionError(
                f'{op.name} of the executor {fuser.name} has its output {made.name}, a "{made.type_string()}", in the memory of its input '
                f'{memory.name}, a "{memory.type_string()}"'
            )


def _parts(group: list[BoundSymbol]) -> list[list[BoundSymbol]]:
    """A region as its fuser wants it: whole, or split into its connected components."""
    first = group[0]
    if not isinstance(first, Fusable) or first.fuser.allow_disconnected:
        return [group]
    part_of: dict[str, list[BoundSymbol]] = {}
    parts: list[list[BoundSymbol]] = []
    for b in group:
        joined = [b]
        for part in {id(x): x for p in b.flat_inputs if (x := part_of.get(p.name)) is not None}.values():
            parts = [x for x in parts if x is not part]
            joined = [*part, *joined]
        parts.append(joined)
        part_of.update((p.name, joined) for x in joined for p in x.flat_outputs)
    where = {id(b): i for i, b in enumerate(group)}
    return [sorted(part, key=lambda b: where[id(b)]) for part in parts]


def _memory(trace: Trace) -> dict[str, str]:
    """Of values that are made by updating others, the one that they begin with."""
    memory: dict[str, str] = {}
    for b in trace.bound_symbols:
        if isinstance(b, Update) or (isinstance(b, Fusable) and OpTags.UPDATE in b.sym.tags):
            memory[b.output.name] = memory.get(b.args[0].name, b.args[0].name)
        elif b.operation is prims.copy_:
            memory[b.output.name] = b.args[1].name
        elif is_control_flow(b):
            memory.update((name, memory.get(init.name, init.name)) for name, init in stored(b).items())
    return memory


def _stores(
    inputs: list[Proxy],
    outputs: list[Proxy],
    places: Mapping[str, Proxy],
    stored: Mapping[str, str],
    memory: Mapping[str, str],
) -> dict[int, int]:
    """Outputs that end up in an argument's memory → that argument among the inputs, where it is put if it was not there.

    ``places`` are what is stored where, ``stored`` the names of arguments after something was stored to them, and ``memory``
    what values begin with that are made by updates.
    """
    stores: dict[int, int] = {}
    for k, p in enumerate(outputs):
        place = places.get(p.name)
        if place is None:
            continue
        found = [j for j, q in enumerate(inputs) if stored.get(q.name, q.name) == place.name]
        if not found and any(memory.get(q.name) == place.name for q in inputs):
            continue  # one of the inputs is in that memory already, and the region updates it there
        at = found[-1] if found else len(inputs)
        if at == len(inputs):
            inputs.append(place)
        if at not in stores.values():
            stores[k] = at
    return stores


def _written_and_unused(group: Sequence[BoundSymbol], outputs: Sequence[Proxy]) -> list[Proxy]:
    """What a loop or a branch leaves in memory that nobody reads afterwards. As an output, it may be the memory that there was before, of
    which no copy is made then."""
    if len(group) > 1 or not is_control_flow(group[0]):
        return []
    written, read = stored(group[0]), {p.name for p in outputs}
    return [p for p in group[0].flat_outputs if p.name in written and p.name not in read]


def _products_read_once(groups: Sequence[Sequence[BoundSymbol]]) -> set[str]:
    """The products that one group alone reads, whose results are new memory in C's order whoever runs them."""
    readers = Counter(name for group in groups for name in {p.name for b in group for p in b.flat_inputs})
    made = (b for group in groups for b in group if b.sym.executor is not None and _makes_new_memory(b))
    return {b.output.name for b in made if readers[b.output.name] == 1}


def _makes_new_memory(b: BoundSymbol) -> bool:
    """Whether it is a product that says so, or one of two matrices (the order of several depends on that of the operands)."""
    if OpTags.OVERWRITABLE in b.sym.tags:
        return True
    return OpTags.MATMUL in b.sym.tags and [a.ndim for a in b.args if isinstance(a, TensorProxy)] == [2, 2]


def _over_products(
    group: Sequence[BoundSymbol], inputs: Sequence[Proxy], outputs: Sequence[Proxy], products: set[str]
) -> dict[int, int]:
    """Lets a region write a result over a product that nothing else reads and that is as large, if it computes each element from the
    product's at its place: that is in the cache, and half of the memory will do."""
    stores: dict[int, int] = {}
    for j, p in enumerate(inputs):
        if p.name not in products:
            continue
        reading = _read_in_place(p, group)
        results = [k for k, q in enumerate(outputs) if q.name in reading]
        if len(results) == 1 and results[0] not in stores and outputs[results[0]].type_string() == p.type_string():
            stores[results[0]] = j
    return stores


def _read_in_place(p: Proxy, group: Sequence[BoundSymbol]) -> set[str]:
    """What depends on ``p`` in a group, if each element of it is computed from the elements at its place; else nothing."""
    dependent = {p.name}
    for b in (leaf for x in group for leaf in leaves_of(x)):
        if any(q.name in dependent for q in b.flat_inputs):
            if OpTags.ELEMENTWISE not in b.sym.tags:
                return set()
            dependent.update(q.name for q in b.flat_outputs)
    return dependent


def _states(group: Sequence[BoundSymbol]) -> set[str]:
    """The arrays that are states of memory that is written: results of updates, views of them, and what loops and branches carry of
    them. What a loop or a branch gives is none if it is all of the group: nothing writes to it again, and where a loop has no iterations
    it is the caller's own array."""
    if len(group) == 1 and is_control_flow(group[0]):
        (b,) = group
        views = {p.name for body in bodies_of(b) for s in body.bound_symbols if is_view(s) for p in s.flat_outputs}
        results = [(p, r) for body in bodies_of(b) for p, r in zip(b.flat_outputs, body.results)]
        return {*stored(b), *(p.name for p, r in results if isinstance(r, Proxy) and r.name in views)}
    return _written_states(group)


def _written_states(group: Sequence[BoundSymbol]) -> set[str]:
    found: set[str] = set()
    for b in group:
        if not b.has_tag_inside(OpTags.UPDATE):
            if is_view(b) and any(p.name in found for p in b.flat_inputs):
                found.update(p.name for p in b.flat_outputs)
            continue
        if not is_control_flow(b):
            found.update(p.name for p in b.flat_outputs if isinstance(p, TensorProxy))
            continue
        found.update(stored(b))
        for body in bodies_of(b):
            inside = _written_states(body.bound_symbols)
            # A loop's condition has one more argument than results, or one result of its own behind those that are carried.
            found.update(
                p.name for p, r in zip(b.flat_outputs, body.results) if isinstance(r, Proxy) and r.name in inside
            )
    return found


def _plain(group: Sequence[BoundSymbol]) -> list[BoundSymbol]:
    return [BoundSymbol(b.sym, b.args, b.kwargs, b.output, b.subsymbols, b.location) for b in group]


def _unfused(
    trace: Trace, group: Sequence[BoundSymbol], inputs: Sequence[Proxy], outputs: Sequence[Proxy], run_unfused: Any,
    updates: Mapping[int, int],
) -> Any:  # fmt: skip
    """A region as a program of its own, of single operations: takes the inputs, writes the updates, returns the rest."""
    first = group[0]
    ours = first.fuser.array_kind if isinstance(first, Fusable) else None
    group = [part for b in group for part in (b.subsymbols if is_control_flow(b) and not bodies_of(b) else (b,))]
    alone = Trace.like(trace)
    alone.value_guards, alone.row_major = {}, set()
    USER_KIND.put(alone, "numpy")
    HOST_ARRAYS.put(alone, set())
    given = {p.name: _in_library(p, ours, alone) for p in inputs}
    sizes = {
        n.name: (k, d, n)
        for k, p in enumerate(inputs)
        for d, n in enumerate(p.shape if isinstance(p, TensorProxy) else ())
        if isinstance(n, NumberProxy) and n.name not in given
    }
    alone.args = [*given.values(), *(n for _, _, n in sizes.values())]
    with tracing(alone):
        for p in alone.args:
            alone.bound_symbols.append(prims.unpack_trivial.bind(output=p))
        for p in inputs:
            if isinstance(p, TensorProxy) and given[p.name] is not p:
                alone.bound_symbols.append(prims.as_language.bind(given[p.name], p.lang.name, output=p))
        alone.bound_symbols += _plain(group)
        # A view, and a state of an array that is written again, is a result of the region, and here of a whole program: an
        # array of its own.
        states = _states(group) | {
            p.name for b in group if is_view(b) for p in b.flat_outputs if isinstance(p, TensorProxy) and not p.scalar
        }
        made = [p if _in_library(p, ours, alone) is p else prims.as_language(p, ours) for p in outputs]
        plain = {
            p.name for p, q in zip(outputs, made) if p is q and isinstance(p, TensorProxy) and p.lang.name == "numpy"
        }
        alike = _views_of_one(group) & plain
        fresh = tuple(
            prims.clone(q) if p.name in states - alike else q
            for k, (p, q) in enumerate(zip(outputs, made))
            if k not in updates
        )
        for k, j in updates.items():
            prims.copy_(made[k], given[inputs[j].name])
        alone.output = fresh[0] if len(fresh) == 1 else fresh if fresh else None
        prims.python_return(alone.output)
    function = run_unfused(alone)
    places = {q.name: k for k, q in enumerate(given.values())}
    taken = function.__code__.co_varnames[: function.__code__.co_argcount]
    names = [p.name for k, p in enumerate(outputs) if k not in updates]
    if not alike.isdisjoint(names):
        function = _with_copies(function, [name in alike for name in names])
    if list(taken) == list(places):
        return function

    def run(*values: Any) -> Any:
        def value(name: str) -> Any:
            if name in places:
                return values[places[name]]
            k, d, _ = sizes[name]
            return values[k].shape[d]

        return function(*map(value, taken))

    return run


def _views_of_one(group: Sequence[BoundSymbol]) -> set[str]:
    """What a loop or a branch that is all of a group gives and may be views, but of no memory that it writes."""
    return _states(group) - set(stored(group[0])) if len(group) == 1 and is_control_flow(group[0]) else set()


def _with_copies(function: Callable[..., Any], copied: Sequence[bool]) -> Callable[..., Any]:
    """``function``, with copies of some results, except of those that are arguments: the caller's own arrays."""

    def own(x: Any, values: Sequence[Any]) -> Any:
        return x if any(x is v for v in values) else x.copy()

    def run(*values: Any) -> Any:
        results = function(*values)
        if len(copied) == 1:
            return own(results, values)
        return tuple(own(x, values) if is_copied else x for x, is_copied in zip(results, copied))

    return run


def _in_library(p: Proxy, kind: str | None, names: Trace) -> Any:
    """``p`` as a region of a fuser of that ``kind`` is given it, and gives it: NumPy's fusers know no other arrays."""
    if kind != "numpy" or not isinstance(p, TensorProxy) or p.lang.name == kind:
        return p
    return TensorProxy(names.make_name("t"), like=p, lang=languages.get(kind))


def _views_outside(trace: Trace, executors: Sequence[Any]) -> Trace:
    """Takes views that operations outside of regions read out of them: they cost nothing there, and as a region's result
    they would be copies. One that is read inside as well stays there under another name. A loop that gives results of
    the program counts as outside: one of no iterations gives the views that it began with."""
    readers: dict[str, list[int]] = {}
    for i, b in enumerate(trace.bound_symbols):
        for p in b.flat_inputs:
            readers.setdefault(p.name, []).append(i)
    new: list[list[BoundSymbol]] = [[b] for b in trace.bound_symbols]
    names: dict[str, Any] = {}
    rest = [e for e in executors if not e.is_fusing]
    made = Trace.like(trace)
    returned = memory_of_results(trace)
    inside = [
        isinstance(b, Fusable) and not (is_control_flow(b) and any(p.name in returned for p in b.flat_outputs))
        for b in trace.bound_symbols
    ]
    outside = [not x for x in inside]  # a view that is taken twice is read from in both places
    for i in reversed(range(len(new))):
        b = trace.bound_symbols[i]
        if not isinstance(b, Fusable) or not is_view(b):
            continue
        came = {p.name for p in b.flat_inputs}
        results = [p for p in b.flat_outputs if p.name not in came]  # the others are arguments, returned as they came
        using = [j for p in results for j in readers.get(p.name, ())]
        if not any(outside[j] for j in using):
            continue
        outside[i] = True
        plain = claim(Trace.like(trace, _plain([b])), rest).bound_symbols
        if any(inside[j] for j in using):
            for p in results:
                assert isinstance(p, TensorProxy)
                names[p.name] = TensorProxy(made.make_name("t"), like=p, lang=p.lang, scalar=p.scalar)
            new[i] = [*plain, b]
        else:
            inside[i] = False
            new[i] = plain
    for found in new:
        for b in found:
            if isinstance(b, Fusable) and names:
                made.bound_symbols.append(b.substitute(names))
            else:
                made.bound_symbols.append(b)
    return made


def _no_meta(*args: Any) -> Any:
    raise AssertionError("a fusion is made, not traced")


def _boundary(
    group: list[BoundSymbol], number: int, last_readers: Mapping[str, int]
) -> tuple[list[Proxy], list[Proxy]]:
    """The inputs of a region from outside, and its results that are read outside; each in order, once. ``last_readers`` are the
    numbers of the groups that read values last."""
    made: dict[str, Proxy] = {}
    inputs: dict[str, Proxy] = {}
    for b in group:
        for p in (*b.flat_inputs, *_sizes_inside(b)):
            if p.name not in made:
                inputs.setdefault(p.name, p)
        for p in b.flat_outputs:
            if p.name not in inputs:
                made[p.name] = p
    return list(inputs.values()), [p for p in made.values() if last_readers.get(p.name, -1) > number]


def _sizes_inside(b: BoundSymbol) -> list[Proxy]:
    """The symbolic sizes that the parts of an operation take, and that none of them computes."""
    parts = list(with_parts(b)) if b.subsymbols else []
    taken = [p for part in parts for p in part.flat_inputs if is_symbol(p)]
    made = {p.name for part in parts for p in part.flat_outputs} if taken else set()
    return [p for p in taken if p.name not in made]
