"""Resume points: a function that cannot be captured whole runs in parts, compiled ones around what Python runs.

When a trace meets something foreign, :class:`ResumePoints` finds the expression or statement of the function that it stands in,
and outlines the function around it (:mod:`tnp.capture.rewrite.outlining`). Each span is a jitted function. A span that meets
something foreign in turn is split in the same way, and the function around it learns of that for its next call. So a function
is outlined a few times, until what is foreign is known.

What Python runs are the user's own statements, with real values: effects happen once, in order. Functions of the user's that
they call are compiled on their own.
"""

from __future__ import annotations

import ast
import linecache
import types
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tnp.capture.control_flow.maybe_unbound import UNBOUND, if_bound
from tnp.capture.rewrite.code_of_tree import function_of, private_names, tree_of
from tnp.capture.rewrite.code_origin import is_user_function
from tnp.capture.rewrite.foreign import CALLEE, Place, can_outline, find_foreign
from tnp.capture.rewrite.outlining import IF_BOUND, UNBOUND_NAME, Span, outline
from tnp.core import prims
from tnp.core.errors import UserLocation, shown_file
from tnp.core.proxies import TensorProxy
from tnp.core.subtraces import bodies_of
from tnp.core.trace import Trace
from tnp.runtime import locks

__all__ = ["ResumePoints", "is_worth_a_call"]

#: points of a function; one with more runs eagerly
MOST_POINTS = 60
#: codes of generators and coroutines, and of functions that see each other's variables
_NOT_CALLED = 0x20 | 0x80 | 0x200 | 0x10


class ResumePoints:
    """What is foreign in a function, and the function outlined around that.

    ``jit(function, self, places)`` compiles a span, and ``jit(function)`` a function that foreign statements call.
    """

    def __init__(self, function: Any, jit: Callable[..., Any], around: ResumePoints | None = None) -> None:
        self._bound_to = function.__self__ if type(function) is types.MethodType else None
        self._function: Any = function.__func__ if type(function) is types.MethodType else function
        self._jit = jit
        #: those of the function that this one is a span of
        self.around = around
        #: the reason for each foreign place
        self.foreign: dict[Place, str] = {}
        self._spans: dict[str, Any] = {}
        #: the spans that there are now: the places of their statements, and what is compiled
        self.parts: list[tuple[frozenset[Place], Any]] = []
        #: the functions that what Python runs calls, each with what is called in its place
        self._callees: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        self._outlined: Any = None
        self._is_stale = True
        self._lock = locks.lock()

    def learn(self, reason: str, stack: Sequence[UserLocation]) -> bool:
        """Makes foreign what could not be captured for ``reason``; ``stack`` are the lines that were being executed from the function on,
        innermost first. Gives whether the function has spans around it."""
        private = private_names(self._function.__code__)
        tree = None if private else tree_of(self._function, private)
        if tree is None or not can_outline(tree) or len(self.foreign) > MOST_POINTS:
            return False
        for location in self._locations(stack):
            place = find_foreign(tree, location.place, frozenset(self.foreign))
            if place is not None:
                if place not in self.foreign:
                    self.note({place: reason})
                return self.has_spans()
        return False

    def note(self, foreign: dict[Place, str]) -> None:
        """Makes places foreign, here and in the functions that this is a span of."""
        for place, reason in foreign.items():
            self.foreign.setdefault(place, reason)
        self._is_stale = True
        if self.around is not None:
            self.around.note(foreign)

    def _locations(self, inside: Sequence[UserLocation]) -> list[UserLocation]:
        """Those of the lines that are the function's own, innermost first."""
        own = self._function.__code__
        if not inside or (inside[-1].code.co_filename, inside[-1].name) != (own.co_filename, own.co_name):
            return []
        made_of_it = _codes_in(inside[-1].code)
        found = [inside[-1]]
        for location in reversed(inside[:-1]):
            if location.code not in made_of_it:  # it calls something, maybe itself
                break
            found.append(location)
        return found[::-1]

    def _whole(self) -> Any:
        return self._function if self._bound_to is None else types.MethodType(self._function, self._bound_to)

    @property
    def file(self) -> str:
        """The file of the function."""
        return str(self._function.__code__.co_filename)

    def places(self) -> list[tuple[Place, str, str]]:
        """What Python runs, in order: its place, its text, and the reason."""
        lines = linecache.getlines(self.file, self._function.__globals__)
        found = []
        for place, reason in sorted(self.foreign.items()):
            line, column, last, end = place
            text = (
                lines[line - 1].encode()[column : end if last == line else None].decode() if line <= len(lines) else ""
            )
            found.append((place, text.strip(), reason))
        return found

    def describe(self) -> list[str]:
        """What Python runs, and why, a line each: the line, the expression, the reason."""
        return [f"{shown_file(self.file)}:{place[0]}: {text}: {reason}" for place, text, reason in self.places()]

    @property
    def functions(self) -> list[Any]:
        """The functions that what Python runs calls, and that are compiled on their own."""
        return [made for f, made in self._callees.items() if made is not f]

    def has_spans(self) -> bool:
        """Whether a part of the function is compiled."""
        made = self.function()
        return getattr(made, "__func__", made) is not self._function

    def function(self) -> Any:
        """The function that runs in parts; the function itself if it has no spans."""
        if self._is_stale:
            with self._lock:
                self._is_stale = False
                self._outlined = self._made()
        return self._outlined

    def _made(self) -> Any:
        f = self._function
        tree, spans = outline(tree_of(f, {}), frozenset(self.foreign))
        cells = {CALLEE: self._callee, IF_BOUND: if_bound, UNBOUND_NAME: UNBOUND}
        self.parts = []
        for span in spans:
            compiled = self._span(span)
            if compiled is None:
                return self._whole()
            cells[span.name] = _unless_errors_raise(compiled) if span.in_context else compiled
            self.parts.append((span.places, compiled))
        made = function_of(tree, f, {name: types.CellType(x) for name, x in cells.items()}) if spans else None
        if made is None:
            return self._whole()
        return made if self._bound_to is None else types.MethodType(made, self._bound_to)

    def _span(self, span: Span) -> Any:
        """A span compiled: the one that there was before, if it is the same."""
        f = self._function
        key = "".join(map(ast.dump, (span.tree.args, *span.tree.body)))
        if key not in self._spans:
            cells = {IF_BOUND: types.CellType(if_bound)}
            made = function_of(span.tree, f, cells, is_part=True)
            if made is None:
                return None
            self._spans[key] = self._jit(made, self, span.places)
        return self._spans[key]

    def _callee(self, f: Any) -> Any:
        """What foreign statements call for ``f``: functions of the user's run compiled."""
        kind = type(f)
        if kind is types.FunctionType:
            return self._compiled_function(f)
        if kind is types.MethodType and type(f.__func__) is types.FunctionType:
            made = self._compiled_function(f.__func__)
            return f if made is f.__func__ else types.MethodType(made, f.__self__)
        return f

    def _compiled_function(self, f: Any) -> Any:
        made = self._callees.get(f)
        if made is None:
            is_called = is_user_function(f) and not f.__code__.co_flags & _NOT_CALLED and not hasattr(f, "__wrapped__")
            made = self._callees[f] = self._jit(f) if is_called else f
        return f if made is not f and _errors_raise() else made


#: operations of a program that takes about as long as they do eagerly; arrays may be larger in other calls
_OPERATIONS_OF_A_CALL = 2


def _codes_in(code: types.CodeType) -> list[types.CodeType]:
    """The code objects that the rewriter added to a function: loop bodies and delayed expressions."""
    inside = [c for c in code.co_consts if isinstance(c, types.CodeType) and c.co_name == code.co_name]
    return inside + [c for one in inside for c in _codes_in(one)]


def _errors_raise() -> bool:
    """Whether NumPy is to do more about floating-point errors than to warn: compiled code does not."""
    return not _MILD.issuperset(np.geterr().values())


_MILD = frozenset(("ignore", "warn"))


def _unless_errors_raise(compiled: Any) -> Callable[..., Any]:
    """A compiled span in a ``with``, which runs eagerly where that makes NumPy raise floating-point errors."""

    def run(*args: Any) -> Any:
        return (compiled.__tnp_function__ if _errors_raise() else compiled)(*args)

    vars(run)["__tnp_span__"] = compiled
    return run


def is_worth_a_call(trace: Trace) -> bool:
    """Whether a span's program, of this captured trace, may take less time than eager: it has a loop, or operations to fuse."""
    count = 0
    for b in trace.bound_symbols:
        if bodies_of(b):
            return True
        count += b.sym is not prims.unpack_trivial and any(
            isinstance(p, TensorProxy) and p.ndim for p in (*b.flat_inputs, *b.flat_outputs)
        )
    return count >= _OPERATIONS_OF_A_CALL
