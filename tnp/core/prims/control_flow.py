"""Control flow prims: loops and branches, with subtraces as bodies.

Carried values are explicit: ``inits`` are their initial values, the body's arguments their values inside, and the
operation's outputs their final values. The prims print, and run, as Python statements; no executor has to claim them.

A dimension of a carried array is an ``int``, equal in all iterations, or a size of its own, which may differ between
iterations up to its bound (its value is the array's length: ``prims.size``).

A carried array stands for memory if the body ends by storing its result there (``copy_`` to the body's argument).
Bufferization then lets the body write directly to the memory of the initial value. Otherwise it is a variable, which
each iteration binds to another array, and which is never written to.
"""

from __future__ import annotations

from typing import Any

from tnp.core import intervals, sizes
from tnp.core.prims.base import check, prim, size_proxy
from tnp.core.prims.program import copy_
from tnp.core.printing import block_lines, literal, print_as_block
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy, is_number
from tnp.core.subtraces import Body, bodies_of, carried_with_inits
from tnp.core.symbol import BoundSymbol, OpTags

__all__ = [
    "START_OVER",
    "assert_",
    "carrying_bodies",
    "check_bound",
    "cond",
    "for_loop",
    "starts_over",
    "stored",
    "unbound_error",
    "while_loop",
]


def is_condition(x: Any) -> bool:
    """Whether Python can ask for the truth of ``x`` when the program runs: a number, or an array of one element."""
    return is_number(x) or (isinstance(x, TensorProxy) and x.numel == 1)


def agree(a: Any, b: Any) -> bool:
    """Whether two values can be those of one variable: the same kind of number, or arrays of the same metadata."""
    if isinstance(a, TensorProxy) and isinstance(b, TensorProxy):
        same = a.dtype is b.dtype and a.device == b.device and a.scalar == b.scalar
        return same and sizes.shapes_equal(a.shape, b.shape) is True
    if is_number(a) and is_number(b):
        return _python_type(a) is _python_type(b)
    return isinstance(a, Proxy) and isinstance(b, Proxy) and a.name == b.name


def fits(arg: Any, value: Any) -> bool:
    """Whether a carried value can be ``value``: it agrees with ``arg``, but that a dimension that is a size may be any other of
    which it is known that it is not larger."""
    if not (isinstance(arg, TensorProxy) and isinstance(value, TensorProxy)):
        return agree(arg, value)
    return _same_but_shape(arg, value) and all(
        sizes.equal(n, m) is True or (isinstance(n, NumberProxy) and _not_above(m, n.bound))
        for n, m in zip(arg.shape, value.shape)
    )


def are_alike(a: Any, b: Any) -> bool:
    """Whether a branch may give ``a`` or ``b``: they agree, but for dimensions of which one is a size."""
    if not (isinstance(a, TensorProxy) and isinstance(b, TensorProxy)):
        return agree(a, b)
    return _same_but_shape(a, b) and all(
        sizes.equal(n, m) is True or isinstance(n, NumberProxy) or isinstance(m, NumberProxy)
        for n, m in zip(a.shape, b.shape)
    )


def _same_but_shape(a: TensorProxy, b: TensorProxy) -> bool:
    return a.dtype is b.dtype and a.device == b.device and a.scalar == b.scalar and a.ndim == b.ndim


def _not_above(n: sizes.Dim, bound: int | None) -> bool:
    limit = sizes.bound_or_none(n)
    return bound is not None and limit is not None and limit <= bound


def _either_dim(a: sizes.Dim, b: sizes.Dim) -> sizes.Dim:
    """A dimension that is ``a`` or ``b``."""
    if (isinstance(a, int) and isinstance(b, int)) or sizes.equal(a, b) is True:
        return a
    bounds = sizes.bound_or_none(a), sizes.bound_or_none(b)
    return size_proxy(None if bounds[0] is None or bounds[1] is None else max(bounds[0], bounds[1]))


def _python_type(x: Any) -> type:
    return x.python_type if isinstance(x, NumberProxy) else type(x)


def _check_carried(operation: str, args: tuple[Proxy, ...], inits: tuple[Any, ...], results: tuple[Any, ...]) -> None:
    check(
        len(args) == len(inits), lambda: f"{operation} carries {len(args)} values, and has {len(inits)} to begin with"
    )
    for arg, init, result in zip(args, inits, results):
        check(fits(arg, init), lambda: f"{operation}: {arg!r} begins as {init!r}", TypeError)
        check(fits(arg, result), lambda: f"{operation}: {arg!r} becomes {result!r}", TypeError)


def _check_leaves(operation: str, body: Body, carried: int) -> None:
    extra = body.results[carried:]
    check(len(body.results) >= carried, lambda: f"{operation} needs a result for each of {carried} carried values")
    check(len(extra) <= 1 and all(map(is_condition, extra)), lambda: f"{operation} ends on one condition", TypeError)


@prim(OpTags.CONTROL_FLOW)
def for_loop(start: Any, stop: Any, step: Any, body: Body, /, *inits: Any) -> tuple[Proxy, ...]:
    """``for i in range(start, stop, step)``. The body's arguments are ``i`` and the carried values; its results are the
    carried values of the next iteration, and maybe one more, a condition on which the loop ends (``break``).
    A step that is known only when the program runs is positive.

    Raises ``ValueError`` or ``TypeError`` if a carried value would change its metadata.
    """
    carried = body.args[1:]
    check(all(map(is_number, (start, stop, step))), lambda: "for_loop counts in numbers", TypeError)
    _check_carried("for_loop", carried, inits, body.results)
    _check_leaves("for_loop", body, len(carried))
    return carried


@prim(OpTags.CONTROL_FLOW)
def while_loop(test: Body, body: Body, /, *inits: Any) -> tuple[Proxy, ...]:
    """``while test: body``. Both bodies have the carried values as arguments; ``test`` has one result, the condition; the
    results of ``body`` are as in :func:`for_loop`.

    Raises ``ValueError`` or ``TypeError`` if a carried value would change its metadata.
    """
    _check_carried("while_loop", body.args, inits, body.results)
    check(test.args == body.args, lambda: "while_loop: the test carries what the body does")
    check(len(test.results) == 1 and is_condition(test.results[0]), lambda: "while_loop needs a condition", TypeError)
    _check_leaves("while_loop", body, len(inits))
    return body.args


@prim(OpTags.CONTROL_FLOW)
def cond(condition: Any, then: Body, otherwise: Body, /, *inits: Any) -> tuple[Proxy, ...]:
    """``if condition: then`` ``else: otherwise``. The bodies share their arguments, the carried values, and have as many
    results: first the carried values, then new ones. All are outputs.

    Raises ``ValueError`` or ``TypeError`` if the two bodies' results differ in metadata.
    """
    check(is_condition(condition), lambda: "cond needs a number, or an array of one element", TypeError)
    check(then.args == otherwise.args, lambda: "cond: both bodies carry the same values")
    check(len(then.results) == len(otherwise.results), lambda: "cond: both bodies have as many results")
    carried = then.args
    _check_carried("cond", carried, inits, then.results)
    _check_carried("cond", carried, inits, otherwise.results)
    new: list[Proxy] = []
    found: dict[Any, sizes.Dim] = {}

    def either(n: sizes.Dim, m: sizes.Dim) -> sizes.Dim:
        # Two results that have one length in either body have one here.
        return found.setdefault((sizes.key_of(n), sizes.key_of(m)), _either_dim(n, m))

    for a, b in list(zip(then.results, otherwise.results))[len(carried) :]:
        check(are_alike(a, b), lambda: f"cond gives {a!r} or {b!r}", TypeError)
        if isinstance(a, TensorProxy):
            shape = tuple(map(either, a.shape, b.shape))
            new.append(TensorProxy(like=a, shape=shape, lang=a.lang, scalar=a.scalar))
        else:
            number = NumberProxy(None, _python_type(a))
            intervals.note_either(number, a, b)
            new.append(number)
    return (*carried, *new)


#: the message of an assertion that is not the program's: where it fails, the call runs eagerly from its beginning
START_OVER = "the call starts over"


@prim(OpTags.EFFECT, OpTags.MAY_RAISE)
def assert_(condition: Any, /, *message: Any) -> None:
    """Raises ``AssertionError(*message)`` at run time unless ``condition``, a number or an array of one element, is true."""
    check(is_condition(condition), lambda: "assert_ needs a number, or an array of one element", TypeError)


def starts_over(b: BoundSymbol) -> bool:
    """Whether the call starts over if an assertion fails."""
    return b.operation is assert_ and b.args[1:] == (START_OVER,)


@prim(OpTags.EFFECT, OpTags.MAY_RAISE)
def check_bound(is_bound: Any, name: str, is_free: bool = False, /) -> None:
    """Raises what reading the unbound variable ``name`` raises at run time, unless ``is_bound``, a number, is true. For
    ``is_free``, see :func:`unbound_error`."""
    check(is_number(is_bound), lambda: "check_bound needs a number", TypeError)


def unbound_error(name: str, is_free: bool = False) -> NameError:
    """What Python raises where the variable ``name`` of a function is read and not bound. ``is_free``: it is read in a
    scope of its own, such as a generator's."""
    if is_free:
        where = "where it is not associated with a value in enclosing scope"
        return NameError(f"cannot access free variable '{name}' {where}")
    return UnboundLocalError(f"cannot access local variable '{name}' where it is not associated with a value")


def carrying_bodies(bsym: BoundSymbol) -> list[Body]:
    """The bodies whose results are what is carried: all but the test of a loop."""
    return bodies_of(bsym)[1:] if bsym.sym is while_loop else bodies_of(bsym)


def stored(b: BoundSymbol) -> dict[str, TensorProxy]:
    """The carried arrays that stand for memory, by name, and what each is before."""
    into = {c.args[1].name for body in bodies_of(b) for c in body.bound_symbols if c.operation is copy_}
    return {carried.name: init for carried, init in carried_with_inits(b) if carried.name in into}


# Printing: each as the Python statement that it is.


def _assignment(targets: Any, values: Any, context: dict[str, Any], comments: bool) -> list[str]:
    """``a, b = x, y`` for those that are not what they are assigned."""
    pairs = [(t, v) for t, v in zip(targets, values) if not (isinstance(v, Proxy) and v.name == t.name)]
    if not pairs:
        return []
    text = f"{', '.join(t.name for t, _ in pairs)} = {', '.join(literal(v, context) for _, v in pairs)}"
    if comments:
        text += "  # " + ", ".join(f'{t.name}: "{t.type_string()}"' for t, _ in pairs)
    return [text]


def _indented(lines: list[str]) -> list[str]:
    if all(line.lstrip().startswith("#") for line in lines):
        lines = [*lines, "pass"]
    return [f"  {line}" for line in lines]


def _round(body: Body, carried: Any, context: dict[str, Any], comments: bool) -> list[str]:
    """One iteration of a loop: the body, what is carried to the next, and the way out."""
    lines = block_lines(body.bound_symbols, context, comments=comments)
    lines += _assignment(carried, body.results, context, False)
    if len(body.results) > len(carried):
        lines.append(f"if {literal(body.results[-1], context)}: break")
    return lines


@print_as_block(for_loop)
def _print_for(bsym: BoundSymbol, context: dict[str, Any], comments: bool) -> list[str]:
    start, stop, step, body, *inits = bsym.args
    index, *carried = body.args
    bounds = [literal(x, context) for x in (start, stop, step)]
    if bounds[2] == "1":
        bounds = bounds[1:2] if bounds[0] == "0" else bounds[:2]
    lines = _assignment(carried, inits, context, comments)
    lines.append(f"for {index.name} in range({', '.join(bounds)}):")
    return lines + _indented(_round(body, carried, context, comments))


@print_as_block(while_loop)
def _print_while(bsym: BoundSymbol, context: dict[str, Any], comments: bool) -> list[str]:
    test, body, *inits = bsym.args
    lines = _assignment(body.args, inits, context, comments)
    inside = block_lines(test.bound_symbols, context, comments=comments)
    condition = literal(test.results[0], context)
    if not any(not line.lstrip().startswith("#") for line in inside):
        lines.append(f"while {condition}:")
    else:
        lines.append("while True:")
        inside.append(f"if not {condition}: break")
    return lines + _indented(inside + _round(body, body.args, context, comments))


@print_as_block(cond)
def _print_cond(bsym: BoundSymbol, context: dict[str, Any], comments: bool) -> list[str]:
    condition, then, otherwise, *inits = bsym.args
    lines = _assignment(then.args, inits, context, comments)
    if comments:
        new = bsym.output[len(then.args) :]
        lines += [f'# {p.name}: "{p.type_string()}"' for p in new]
    lines.append(f"if {literal(condition, context)}:")
    sides = [
        block_lines(b.bound_symbols, context, comments=comments) + _assignment(bsym.output, b.results, context, False)
        for b in (then, otherwise)
    ]
    lines += _indented(sides[0])
    if sides[1]:
        lines += ["else:", *_indented(sides[1])]
    return lines
