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
import functools
import inspect
import linecache
import re
import threading
import types
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tnp.capture.control_flow.maybe_unbound import UNBOUND, if_bound
from tnp.capture.libraries.base import library_of_value
from tnp.capture.objects.twins import class_attribute
from tnp.capture.rewrite.ast_utils import walk
from tnp.capture.rewrite.code_of_tree import function_of, plain_tree_of
from tnp.capture.rewrite.code_origin import is_followed, is_user_function
from tnp.capture.rewrite.foreign import CALLEE, Place, can_outline, find_foreign, results_at
from tnp.capture.rewrite.outlining import IF_BOUND, UNBOUND_NAME, Span, outline, outline_whole
from tnp.core import prims
from tnp.core.errors import UserLocation, shown_file
from tnp.core.proxies import TensorProxy
from tnp.core.subtraces import bodies_of
from tnp.core.trace import Trace
from tnp.runtime import locks

__all__ = ["ResumePoints", "beginning", "is_worth_a_call", "python_of"]

#: points of a function; one with more runs eagerly
MOST_POINTS = 60
#: flags of the codes of coroutines; of generators; of functions in functions
_COROUTINE, _GENERATOR, _NESTED = 0x80 | 0x100 | 0x200, 0x20, 0x10
#: packages that do nothing with the functions that they are given but call them
_CALLING = ("scipy.differentiate.", "scipy.integrate.", "scipy.optimize.")


def python_of(f: Any) -> Any:
    """The Python function, or bound method, that a call of ``f`` comes down to; ``None`` if there is none."""
    if type(f) is types.FunctionType:
        return f
    if type(f) is types.MethodType:
        return f if type(f.__func__) is types.FunctionType else None
    library = library_of_value(f)
    if library is not None:
        return library.method_called(f)
    call = class_attribute(type(f), "__call__")
    return types.MethodType(call, f) if is_followed(call) else None


class ResumePoints:
    """What is foreign in a function, and the function outlined around that. It has many methods: it finds places, makes functions, and compiles
    what these call.

    ``jit(function, self, places)`` compiles a span, and ``jit(function)`` a function that foreign statements call. With ``lifts``,
    closure variables are parameters of the spans, which are then the same for all functions of one code.
    """

    def __init__(
        self, function: Any, jit: Callable[..., Any], around: ResumePoints | None = None, *, lifts: bool = False
    ) -> None:
        self._lifts = lifts
        self._bound_to = function.__self__ if type(function) is types.MethodType else None
        self._function: Any = function.__func__ if type(function) is types.MethodType else function
        self._jit = jit
        #: those of the function that this one is a span of, and how many there are around them
        self.around = around
        self.depth: int = 0 if around is None else around.depth + 1
        #: the reason for each foreign place
        self.foreign: dict[Place, str] = {}
        self._spans: dict[str, Any] = {}
        self._is_whole = False
        #: whether something foreign was met in a function of the user's that this one calls
        self._calls_users = False
        #: the spans that there are now: the places of their statements, and what is compiled
        self.parts: list[tuple[frozenset[Place], Any]] = []
        #: of functions that foreign statements call, by file and name, what is foreign in them: the reason, and the lines that were executed
        self._foreseen: dict[tuple[str, str], tuple[str, Sequence[UserLocation]]] = {}
        #: the functions that what Python runs calls, each with what is called in its place
        self._is_asked = False
        self._callees: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        #: the same for functions that are made at each call, and for generators, by their codes
        self._by_code: dict[types.CodeType, ResumePoints | None] = {}
        self._outlined: Any = None
        self._is_stale = True
        #: how often it was found to be foreign in other places
        self.version = 0
        self._lock = locks.lock()

    def learn(self, reason: str, stack: Sequence[UserLocation]) -> bool:
        """Makes foreign what could not be captured for ``reason``; ``stack`` are the lines that were being executed from the function on,
        innermost first. Gives whether the function has spans around it."""
        tree = plain_tree_of(self._function)
        if tree is None:
            return self.has_parts()  # the function that it wraps
        if not can_outline(tree) or len(self.foreign) > MOST_POINTS:
            return False
        locations = self._locations(stack)
        self._calls_users = self._calls_users or len(locations) < len(stack)
        for location in locations:
            place = find_foreign(tree, location.place, frozenset(self.foreign))
            if place is not None:
                if place not in self.foreign:
                    self.note({place: reason})
                return self.has_parts()
        return False

    def foresee(self, reason: str, stack: Sequence[UserLocation]) -> None:
        """Notes what is foreign in the function that this one called, which need not be traced again to find that out. The innermost one may be
        captured where it is called by Python."""
        own = len(self._locations(stack))
        inside = stack[: len(stack) - own]
        if not own or not inside:
            return
        callee = inside[-1].filename, inside[-1].name
        if any((at.filename, at.name) != callee for at in inside):
            points: ResumePoints | None = self
            while points is not None:
                points._foreseen[callee] = reason, inside
                points = points.around

    def learn_result(self, reason: str, which: int) -> bool:
        """The same for what the function returns, or the result ``which`` of several."""
        tree = plain_tree_of(self._function)
        if tree is None or not can_outline(tree):
            return False
        places = results_at(tree, which)
        if not places or places <= self.foreign.keys():
            return False
        self.note(dict.fromkeys(places, reason))
        return self.has_parts()

    def note(self, foreign: dict[Place, str]) -> None:
        """Makes places foreign, here and in the functions that this is a span of."""
        if not foreign.keys() <= self.foreign.keys():
            self.foreign = foreign | self.foreign
            self._is_stale = True
            self.version += 1
        if self.around is not None:
            self.around.note(foreign)

    def run_whole(self) -> None:
        """Has nothing compiled: what the function does depends on the memory order of arrays, which compiled code may choose as it likes."""
        self._is_whole = self._is_stale = True
        self.version += 1
        if self.around is not None:
            self.around.run_whole()

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

    def is_of(self, f: Any) -> bool:
        """Whether ``f`` is the function that runs in parts."""
        return bool(f == self._whole())

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
        # Around a function that is compiled, the decorator's own is Python's.
        made = [made for made in self._callees.values() if type(made) is not types.FunctionType]
        return made + [part for points in self._by_code.values() if points for _, part in points.parts]

    def has_parts(self) -> bool:
        """Whether a part of the function, or a function that it calls, is compiled."""
        made = self.function()
        return getattr(made, "__func__", made) is not self._function

    def function(self) -> Any:
        """The function that runs in parts; the function itself if nothing is compiled."""
        if self._is_stale:
            with self._lock:
                self._is_stale = False
                self._outlined = self._made()
        return self._outlined

    def has_loops(self) -> bool:
        """Whether a compiled part, or a compiled function that Python calls, has loops."""
        if self._is_asked:  # by a function that calls itself
            return False
        self._is_asked = True
        try:
            compiled = [*(part for _, part in self.parts), *self._callees.values()]
            return any(x.has_loops() for x in compiled if hasattr(x, "has_loops"))
        finally:
            self._is_asked = False

    def function_for(self, f: types.FunctionType) -> types.FunctionType:
        """With ``lifts``, what runs in parts for ``f``, a function of the same code."""
        made = self.function()
        if made is self._function:
            return f
        every = dict(zip(f.__code__.co_freevars, f.__closure__ or ()))
        if any(c == _EMPTY for c in every.values()):
            return f
        closure = tuple(every.get(n, c) for n, c in zip(made.__code__.co_freevars, made.__closure__ or ()))
        found = types.FunctionType(made.__code__, f.__globals__, f.__name__, f.__defaults__, closure)
        found.__kwdefaults__ = f.__kwdefaults__
        return found

    def _made(self) -> Any:
        f = self._function
        whole = plain_tree_of(f)
        if whole is None and not self._is_whole:  # without its source, there are no spans
            made = self._around_wrapped(f)
            return made if self._bound_to is None else types.MethodType(made, self._bound_to)
        if whole is None or self._is_whole or not can_outline(whole):
            return self._whole()
        tree, spans = self._outline(whole)
        cells = {CALLEE: self._callee, IF_BOUND: if_bound, UNBOUND_NAME: UNBOUND}
        self.parts = []
        for span in spans:
            compiled = self._span(span)
            if compiled is None:
                return self._whole()
            cells[span.name] = _unless_watched(compiled) if span.in_context else compiled
            self.parts.append((span.places, compiled))
        is_worth_it = spans or self._calls_users or any(map(self._calls_compiled, walk(tree.body)))
        made = function_of(tree, f, {name: types.CellType(x) for name, x in cells.items()}) if is_worth_it else None
        if made is None:
            return self._whole()
        return made if self._bound_to is None else types.MethodType(made, self._bound_to)

    def _outline(self, tree: ast.FunctionDef) -> tuple[ast.FunctionDef, list[Span]]:
        free = frozenset(self._function.__code__.co_freevars) if self._lifts else frozenset()
        if self._lifts and not self.foreign:
            whole = outline_whole(tree, free)
            if whole is not None:
                return whole
            tree = plain_tree_of(self._function)
        return outline(tree, frozenset(self.foreign), free)

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

    def _calls_compiled(self, node: ast.AST) -> bool:
        """Whether a node calls a function through :data:`CALLEE` that is found to be compiled on its own."""
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == CALLEE):
            return False
        found = python_of(_value_of(self._function, self._bound_to, node.args[0]))
        function = getattr(found, "__func__", found)
        return function is not None and (
            _is_compiled(function, self._function) or _takes_callbacks(function) or _wrapped_by(function) is not None
        )

    def _callee(self, f: Any) -> Any:
        """What foreign statements call for ``f``: functions of the user's run compiled."""
        kind = type(f)
        if kind is types.FunctionType:
            return self._compiled_function(f)
        if kind in _OF_C:
            return f
        method = python_of(f)
        if method is None or type(method) is types.FunctionType:
            return f
        made = self._compiled_function(method.__func__)
        return f if made is method.__func__ else types.MethodType(made, method.__self__)

    def _compiled_function(self, f: Any) -> Any:
        if f.__code__.co_flags & (_NESTED | _GENERATOR) and _wrapped_by(f) is None:
            return self._outlined_function(f)
        made = self._callees.get(f)
        if made is None:
            is_compiled = _is_compiled(f, self._function)
            made = self._jit(f) if is_compiled else self._around_wrapped(self._with_callbacks(f))
            self._callees[f] = made
            if is_compiled:
                made.foreseen = self._foreseen.get((f.__code__.co_filename, f.__code__.co_name))
        return f if made is not f and _is_watched() else made

    def _outlined_function(self, f: types.FunctionType) -> types.FunctionType:
        """A function that may be another at each call, and a generator, as what runs in parts."""
        if f.__code__ not in self._by_code:
            tree = plain_tree_of(f) if _is_compiled(f, self._function) and not _may_be_rebound(f) else None
            can = tree is not None and can_outline(tree)
            self._by_code[f.__code__] = ResumePoints(f, self._jit, lifts=True) if can else None
        points = self._by_code[f.__code__]
        return f if points is None or _is_watched() else points.function_for(f)

    def _around_wrapped(self, f: Any) -> Any:
        """A decorator's function around one that is compiled on its own; ``f`` itself if it is none."""
        inner = _wrapped_by(f)
        if inner is None:
            return f
        compiled = self._callees.get(inner)
        if compiled is None:  # wrappers may be made at each call
            compiled = self._jit(inner) if _is_compiled(inner, inner) else self._around_wrapped(inner)
            self._callees[inner] = compiled
        closure = [types.CellType(compiled) if _holds(c, inner) else c for c in f.__closure__ or ()]
        made = types.FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, tuple(closure) or None)
        if f.__kwdefaults__:
            made.__kwdefaults__ = {k: compiled if x is inner else x for k, x in f.__kwdefaults__.items()}
        made.__dict__.update(f.__dict__)
        return made

    def _with_callbacks(self, f: Any) -> Any:
        """A library's function, which calls compiled ones for the functions of the user's that it is given."""
        if not _takes_callbacks(f):
            return f

        def given(x: Any) -> Any:
            return self._callee(x) if type(x) in (types.FunctionType, types.MethodType) else x

        @functools.wraps(f)
        def call(*args: Any, **kwargs: Any) -> Any:
            return f(*map(given, args), **{k: given(x) for k, x in kwargs.items()})

        return call


_EMPTY = types.CellType()
#: kinds of callables behind which there is no Python
_OF_C = frozenset((types.BuiltinFunctionType, types.MethodDescriptorType, type, np.ufunc, type(np.sum)))


def _value_of(f: types.FunctionType, bound_to: Any, e: ast.AST) -> Any:
    """The function that an expression in ``f`` names: a global or closure variable, or a method or submodule of ``bound_to``."""
    if isinstance(e, ast.Name):
        code = f.__code__
        cell = dict(zip(code.co_freevars, f.__closure__ or ())).get(e.id, _EMPTY)
        if cell != _EMPTY:
            return cell.cell_contents
        is_local = e.id in code.co_varnames or e.id in code.co_cellvars
        constants = (c for c in code.co_consts if isinstance(c, types.CodeType) and c.co_name == e.id)
        if is_local:
            inside = next(constants, None)  # the code of a function inside
            empty = tuple(types.CellType() for _ in inside.co_freevars) if inside is not None else ()
            return types.FunctionType(inside, f.__globals__, None, None, empty) if inside is not None else None
        return f.__globals__.get(e.id)
    if isinstance(e, ast.Attribute):
        if isinstance(e.value, ast.Name) and bound_to is not None and e.value.id == f.__code__.co_varnames[0]:
            modules = inspect.getattr_static(bound_to, "_modules", None)
            if type(modules) is dict and e.attr in modules:
                return modules[e.attr]
            return inspect.getattr_static(type(bound_to), e.attr, None)
        around = _value_of(f, bound_to, e.value)
        return vars(around).get(e.attr) if type(around) is types.ModuleType else None
    return None


def _may_be_rebound(f: types.FunctionType) -> bool:
    """Whether another function may bind closure variables of ``f`` anew, as far as the file says in which they both stand. The values of
    closure variables are passed to spans, which may call that function."""
    for line in linecache.getlines(f.__code__.co_filename, f.__globals__):
        if "nonlocal" in line and (
            line.rstrip().endswith("\\") or not set(_WORD.findall(line)).isdisjoint(f.__code__.co_freevars)
        ):
            return True
    return False


_WORD = re.compile(r"\w+")


def _wrapped_by(f: Any) -> types.FunctionType | None:
    """The function to be compiled that a decorator's function ``f`` calls, or the next decorator's: in its closure, or a default of its own."""
    inner: Any = getattr(f, "__wrapped__", None)
    if type(f) is not types.FunctionType or type(inner) is not types.FunctionType:
        return None
    if not _is_compiled(inner, inner) and _wrapped_by(inner) is None:
        return None
    if (f.__code__.co_flags | inner.__code__.co_flags) & (_COROUTINE | _GENERATOR):
        return None
    if not hasattr(inner, "__wrapped__") and inner.__code__.co_flags & _NESTED:  # it may be another at each call
        return None
    is_called = any(_holds(c, inner) for c in f.__closure__ or ()) or any(
        x is inner for x in (f.__kwdefaults__ or {}).values()
    )
    return inner if is_called else None


def _holds(cell: types.CellType, x: Any) -> bool:
    return cell != _EMPTY and cell.cell_contents is x


def _takes_callbacks(f: types.FunctionType) -> bool:
    """Whether a function is one of a library's that calls what it is given."""
    return str(f.__module__).startswith(_CALLING) and not is_user_function(f)


def _is_compiled(f: types.FunctionType, around: Any) -> bool:
    """Whether a function that what Python runs of ``around`` calls is compiled on its own: the user's, of an installed package those beside
    that, and what modules compute with."""
    beside = f.__name__ == "forward" or _package_of(f) == _package_of(around)
    is_its_own = is_user_function(f) or (is_followed(f) and beside)
    return is_its_own and not f.__code__.co_flags & _COROUTINE and not hasattr(f, "__wrapped__")


def _package_of(f: types.FunctionType) -> str:
    return str(f.__globals__.get("__name__")).partition(".")[0]


#: operations of a program that takes about as long as they do eagerly; arrays may be larger in other calls
_OPERATIONS_OF_A_CALL = 2


def _codes_in(code: types.CodeType) -> list[types.CodeType]:
    """The code objects that the rewriter added to a function: loop bodies and delayed expressions."""
    inside = [c for c in code.co_consts if isinstance(c, types.CodeType) and c.co_name == code.co_name]
    return inside + [c for one in inside for c in _codes_in(one)]


class _Warnings(threading.local):
    """The filters of warnings that there were when the function that runs in parts was called; ``None`` outside of such."""

    filters: Any = None
    #: what shows warnings then, which contexts exchange that record them
    showing: Any = None


_warnings = _Warnings()


def beginning(run: Callable[..., Any]) -> Callable[..., Any]:
    """``run``, a function in parts, during which it is known whether its caller or a statement of its own asked for warnings."""

    def begun(*values: Any) -> Any:
        if _warnings.filters is not None:
            return run(*values)
        _warnings.filters, _warnings.showing = warnings.filters, _showing()
        try:
            return run(*values)
        finally:
            _warnings.filters = _warnings.showing = None

    return begun


def _is_watched() -> bool:
    """Whether somebody looks at what compiled code does not give: NumPy's floating-point errors, if they are to raise, and warnings, in a
    context that records them or makes errors of them."""
    global _asked
    # Each such context has a list of filters of its own.
    if _warnings.filters is not None and warnings.filters is not _warnings.filters and not _ignores_more():
        return True
    state = _STATE.get() if _STATE is not None else None
    if state is None or state is not _asked[0]:
        _asked = state, not _MILD.issuperset(np.geterr().values())
    return _asked[1]


def _showing() -> Any:
    return warnings.showwarning, getattr(warnings, "_showwarnmsg_impl", None)


def _ignores_more() -> bool:
    """Whether a filter that ignores warnings was set, and no other was added, since the function was called."""
    if _showing() != _warnings.showing:
        return False
    now, before = ([f for f in filters if f[0] == "ignore"] for filters in (warnings.filters, _warnings.filters))
    others = [[f for f in filters if f[0] != "ignore"] for filters in (warnings.filters, _warnings.filters)]
    ignores = bool(warnings.filters) and warnings.filters[0][0] == "ignore"
    return ignores and others[0] == others[1] and all(f in now for f in before)


_MILD = frozenset(("ignore", "warn"))
#: holds an object that is another one whenever :func:`numpy.seterr` has changed something; asking that is slow
_STATE: Any = getattr(getattr(getattr(np, "_core", None), "umath", None), "_extobj_contextvar", None)
#: such an object, and whether errors raise under it
_asked: tuple[Any, bool] = None, False


def _unless_watched(compiled: Any) -> Callable[..., Any]:
    """A compiled span in a ``with``, which runs eagerly where that makes NumPy raise floating-point errors, or records warnings."""

    def run(*args: Any) -> Any:
        return (compiled.__tnp_function__ if _is_watched() else compiled)(*args)

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
