"""The prologue: the sources of a trace's inputs, and its guards.

A prologue is a generated function with the user's parameters. It checks guards and fetches the inputs (``p["k"]``,
``self.u``, a global). Then it calls the program, or returns :data:`MISS`.
"""

from __future__ import annotations

import builtins
import functools
import keyword
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from tnp.capture.guards.varying_values import VaryingValues
from tnp.core.number_operations import MATH
from tnp.core.printing import compile_source
from tnp.core.symbols import LEAST, Relations

__all__ = [
    "MISS",
    "ArrayKind",
    "Extent",
    "Guard",
    "Prologue",
    "Source",
    "disjoint",
    "equality",
    "identifier_of",
    "written_number",
]


class _Miss:
    def __repr__(self) -> str:
        return "MISS"


#: what a compiled program returns for a call that it is not valid for
MISS = _Miss()


@dataclass(frozen=True)
class Source:
    """Where a value comes from at each call: a Python expression over the prologue's names.

    ``description`` is how messages name it (``argument x``, ``global N``).
    """

    expression: str
    description: str

    def item(self, key: Any) -> Source:
        return Source(f"{self.expression}[{key!r}]", f"{self.description}[{key!r}]")

    def attribute(self, name: str) -> Source:
        return Source(f"{self.expression}.{name}", f"{self.description}.{name}")

    def is_(self, value: Any) -> str:
        """A guard's description: the source is ``value``. The ``repr`` of a module with a loader of its own may raise."""
        try:
            return f"{self.description} is {value!r}"
        except Exception:
            return f"{self.description} is {object.__repr__(value)}"


@dataclass(frozen=True)
class Guard:
    """A condition, as Python, and what to say when it fails."""

    condition: str
    description: str


class ArrayKind(NamedTuple):
    """What a program is compiled for of an array: its dtype and shape, its strides in bytes, and whether it is written to. Without
    strides it is C-contiguous, and a dimension ``-n`` is one of ``n`` elements at least, ``(i, d)`` one as long as dimension ``d`` of the
    array ``i`` before."""

    dtype: Any
    shape: tuple[Any, ...]
    strides: tuple[int, ...] | None
    writable: bool = False

    def with_dimension(self, d: int, n: int | tuple[int, int]) -> ArrayKind:
        """The same with another dimension ``d``."""
        return self._replace(shape=(*self.shape[:d], n, *self.shape[d + 1 :]))


_WORD = re.compile(r"\w+")
_DIMENSION = re.compile(r"(.+)\.shape\[(\d+)\]")


@functools.lru_cache(4_096)
def _code(text: str) -> CodeType:
    return compile(text, "<tnp guard>", "eval")


#: what a dtype prints as, which NumPy takes long to find
_text_of = functools.lru_cache(100)(str)


class Flags(NamedTuple):
    """What is asked of an ndarray's flags."""

    writeable: bool = True


class Extent(NamedTuple):
    """Memory that NumPy cannot look at, as an ndarray's memory is told from another's: from ``start`` up to ``stop``, in bytes.

    ``space`` is what the addresses count in: ``0`` for those of the process, which are a device's as well where it shares them.
    """

    start: int
    stop: int
    space: int = 0
    flags: Flags = Flags()
    base: None = None


def _bounds(a: np.ndarray[Any, Any] | Extent) -> Extent:
    return a if isinstance(a, Extent) else Extent(*np.lib.array_utils.byte_bounds(a))


#: NumPy's limit on the work of an exact overlap test; beyond it, strided arrays count as overlapping
_LITTLE_WORK: Any = 100


def disjoint(a: np.ndarray[Any, Any] | Extent, b: np.ndarray[Any, Any] | Extent) -> bool:
    """Whether two arrays surely share no memory: by their bounds, or as two fields of one structured array."""
    if not (isinstance(a, Extent) or isinstance(b, Extent)):
        return not np.may_share_memory(a, b) or not np.may_share_memory(a, b, max_work=_LITTLE_WORK)
    a, b = _bounds(a), _bounds(b)
    return a.space != b.space or a.stop <= b.start or b.stop <= a.start


def same_float(x: float, y: float) -> bool:
    """Equality that tells 0.0 from -0.0 and finds NaN equal to itself, if the signs are equal."""
    return (x == y or (x != x and y != y)) and math.copysign(1.0, x) == math.copysign(1.0, y)


def same_dtype(x: np.dtype[Any], y: np.dtype[Any]) -> bool:
    """Equality that tells ``longlong`` from ``int64``, and dtypes with metadata from those without."""
    return x == y and x.char == y.char and x.metadata == y.metadata


#: names that a prologue has for other things than parameters, beside those of :mod:`builtins`
_OWN_NAME = re.compile(r"_.*\d|fits\d+|alike\d+|ndarray|MISS|disjoint|same_dtype|same_float|computation")


def _is_own(name: str) -> bool:
    return hasattr(builtins, name) or _OWN_NAME.fullmatch(name) is not None


def _variables(parameters: list[str]) -> list[str]:
    """The names of parameters in a prologue: their own, unless these mean something else there."""
    made: list[str] = []
    for parameter in parameters:
        name = parameter
        while _is_own(name) or (name != parameter and (name in parameters or name in made)):
            name += "_"
        made.append(name)
    return made


class Prologue:
    """The guards and fetches of one trace, in the order in which they must run."""

    def __init__(self, parameters: list[str]) -> None:
        self.parameters = parameters
        self.variables = _variables(parameters)
        #: whether ndarrays beside arrays on a device are moved there
        self.moves_arrays = False
        #: whether the program may catch errors of operations: where one comes, the call can run eagerly
        self.may_catch = False
        #: whether Python may run statements of the function
        self.may_leave = False
        #: whether a call whose program comes to a branch that raises calls the function that a transform is of
        self.calls_function = False
        #: which sizes of arrays are symbols
        self.varying = VaryingValues()
        self.clear()

    def clear(self) -> None:
        """Forgets every step, to begin again."""
        self.steps: list[Guard | tuple[str, str]] = []
        #: what the program relies on of symbolic sizes
        self.relations = Relations()
        self.context: dict[str, Any] = {
            "ndarray": np.ndarray,
            "MISS": MISS,
            "disjoint": disjoint,
            "same_dtype": same_dtype,
            "same_float": same_float,
            **MATH,
        }
        self._names: dict[int, str] = {}
        self._seen: set[str] = set()
        self._lets = 0
        #: local names of computed numbers, by their expressions
        self._computed: dict[str, str] = {}
        #: of arrays, by expression, the guards that say what it is, and what that is in short
        self._arrays: dict[str, tuple[list[str], ArrayKind]] = {}
        #: arrays of another library that are looked at together: by expression their values and their guards; and what makes
        #: of the values a function that says whether others are of their kinds, surely if it says so
        self._alike: dict[str, tuple[Any, list[str]]] = {}
        self._make_alike: Callable[[list[Any]], Callable[..., bool] | None] | None = None
        #: these functions, keyed by the expressions of the arrays that they check
        self._checks: dict[tuple[str, ...], Callable[..., bool] | None] = {}

    def copy(self) -> Prologue:
        """The steps so far, to go on from."""
        made = Prologue(self.parameters)
        made.steps, made.context = list(self.steps), dict(self.context)
        made._names, made._seen, made._lets = dict(self._names), set(self._seen), self._lets
        made._arrays, made._computed = dict(self._arrays), dict(self._computed)
        made.relations, made.varying = self.relations, self.varying
        made.moves_arrays, made.may_catch, made.may_leave = self.moves_arrays, self.may_catch, self.may_leave
        made.calls_function = self.calls_function
        return made

    def constant(self, value: Any, hint: str = "c") -> str:
        """A name for an object in the prologue's context."""
        name = self._names.get(id(value))
        if name is None:
            name = f"_{hint}{len(self._names)}"
            self._names[id(value)] = name
            self.context[name] = value
        return name

    def guard(self, condition: str, description: str) -> None:
        """Adds a condition, unless it is there already."""
        if condition not in self._seen:
            self._seen.add(condition)
            self.steps.append(Guard(condition, description))

    def guard_array(self, source: Source, kind: ArrayKind, is_c_contiguous: bool, symbolic: Sequence[int] = ()) -> None:
        """Adds what must hold of an array, whose dimensions ``symbolic`` may be of any size from :data:`LEAST` on."""
        before = len(self.steps)
        e = source.expression
        dtype = self.constant(kind.dtype, "dtype")
        self.guard(f"type({e}) is ndarray", f"{source.description} is an ndarray")
        same = f"({e}.dtype is {dtype} or same_dtype({e}.dtype, {dtype}))"
        self.guard(same, f"{source.description} has dtype {_text_of(kind.dtype)}")
        if symbolic:
            self.guard_sizes(source, kind.shape, symbolic)
        else:
            self.guard(f"{e}.shape == {kind.shape}", f"{source.description} has shape {kind.shape}")
        if is_c_contiguous:
            self.guard(f"{e}.flags.c_contiguous", f"{source.description} is C-contiguous")
        else:
            self.guard(f"{e}.strides == {kind.strides}", f"{source.description} has strides {kind.strides}")
        if symbolic and is_c_contiguous and 0 not in kind.shape:
            kind = ArrayKind(kind.dtype, tuple(-LEAST if d in symbolic else n for d, n in enumerate(kind.shape)), None)
        if kind.strides is None or not symbolic:
            self._arrays[e] = ([s.condition for s in self.steps[before:] if isinstance(s, Guard)], kind)

    def guard_sizes(self, source: Source, shape: Sequence[int], symbolic: Sequence[int]) -> None:
        """Adds that an array has the sizes of ``shape``, and in the dimensions ``symbolic`` any from :data:`LEAST` on."""
        e = source.expression
        self.guard(f"{e}.ndim == {len(shape)}", f"{source.description} has {len(shape)} dimensions")
        for d, n in enumerate(shape):
            if d in symbolic:
                self.guard(f"{e}.shape[{d}] >= {LEAST}", f"dimension {d} of {source.description} >= {LEAST}")
            else:
                self.guard(f"{e}.shape[{d}] == {n}", f"dimension {d} of {source.description} == {n}")

    def guard_relations(self) -> None:
        """Adds what the program has come to rely on of symbolic sizes."""
        least, others = self.relations.conditions()
        for text, low in least.items():
            self._guard_least(text, low)
        for condition in others:
            self.guard(condition, condition)

    def _guard_least(self, text: str, low: int) -> None:
        """Guards that a number is at least ``low``. A weaker guard on the same number is replaced."""
        condition, beginning = f"{text} >= {low}", f"{text} >= "
        for i, step in enumerate(self.steps):
            if isinstance(step, Guard) and step.condition.startswith(beginning):
                known = step.condition.removeprefix(beginning)
                if known.isdecimal() and int(known) < low:
                    self.steps[i] = Guard(condition, step.description.removesuffix(known) + str(low))
                    self._note_least(text, step.condition, condition, low)
                if known.isdecimal():
                    return
        self.guard(condition, condition)

    def _note_least(self, text: str, before: str, condition: str, low: int) -> None:
        """Has what looks at arrays natively look for the least size of a dimension, too."""
        place = _DIMENSION.fullmatch(text)
        if place is not None and place[1] in self._arrays:
            conditions, kind = self._arrays[place[1]]
            conditions = [condition if c == before else c for c in conditions]
            self._arrays[place[1]] = conditions, kind.with_dimension(int(place[2]), -low)

    def guard_writable(self, expression: str, condition: str, description: str) -> None:
        """Adds that an array may be written to, which ``condition`` says."""
        self.guard(condition, description)
        if expression in self._arrays:
            conditions, kind = self._arrays[expression]
            self._arrays[expression] = [*conditions, condition], kind._replace(writable=True)

    def check_together(self, expression: str, value: Any, since: int, make: Any) -> None:
        """Lets the guards of an array that were added since there were ``since`` steps be checked with those of others, at once
        and at the end; ``make(values)`` makes the function that does it, or ``None``."""
        self._alike[expression] = value, [s.condition for s in self.steps[since:] if isinstance(s, Guard)]
        self._make_alike = make

    def let(self, source: Source) -> Source:
        """Fetches a value once; the source to use from then on is a local name."""
        if source.expression.isidentifier():
            return source
        name = f"_v{self._lets}"
        self._lets += 1
        self.steps.append((name, source.expression))
        return Source(name, source.description)

    def let_once(self, source: Source) -> Source:
        """As :meth:`let`, for a computed number. Equal expressions share one local name."""
        known = self._computed.get(source.expression)
        if known is None:
            known = self._computed[source.expression] = self.let(source).expression
        return Source(known, source.description)

    def let_be(self, name: str, expression: str) -> None:
        """Has another expression make what a local name stands for."""
        self.steps = [(name, expression) if isinstance(s, tuple) and s[0] == name else s for s in self.steps]

    @property
    def guards(self) -> list[Guard]:
        return [s for s in self.steps if isinstance(s, Guard)]

    def python(
        self, inputs: list[str], checks: list[list[ArrayKind]] | None = None, alike: list[tuple[str, ...]] | None = None
    ) -> str:
        """The prologue as source: returns the program's result, or ``MISS``.

        With ``checks``, arrays are first looked at by functions ``fits0``, ``fits1``, …, which return ``None`` if they do
        not find what they were made for; that is appended to ``checks``. With ``alike``, those of :meth:`check_together` are
        by ``alike0``, …; the expressions of those are appended to ``alike``.
        """
        lines = [f"def prologue({', '.join(self.variables)}):"]
        body: list[str] = []
        pending: list[str] = []

        tests = {f"type({e}) is ndarray": e for e in self._arrays}

        def flush() -> None:
            plain = list(pending)
            if checks is not None:
                found = list(dict.fromkeys(tests[c] for c in plain if c in tests))
                if found:
                    kinds, more = self._related([self._arrays[e] for e in found], found, plain)
                    slow = [c for c in plain if c in more]
                    plain = [c for c in plain if c not in more]
                    call = f"fits{len(checks)}({', '.join(found)})"
                    body.append(f"if {call} is None and not ({' and '.join(slow)}): return MISS")
                    checks.append(kinds)
            if plain:
                body.append(f"if not ({' and '.join(plain)}): return MISS")
            pending.clear()

        waiting: dict[str, list[str]] = {}
        owner = {} if alike is None else {c: e for e, (_, conditions) in self._alike.items() for c in conditions}

        def look() -> None:
            if waiting:
                assert alike is not None
                slow = " and ".join(c for conditions in waiting.values() for c in conditions)
                body.append(f"if not alike{len(alike)}({', '.join(waiting)}) and not ({slow}): return MISS")
                alike.append(tuple(waiting))
                waiting.clear()

        for step in self.steps:
            text = step.condition if isinstance(step, Guard) else step[1]
            if text in owner:
                waiting.setdefault(owner[text], []).append(text)
                continue
            if not waiting.keys().isdisjoint(_WORD.findall(text)):  # it relies on what the array is
                flush()
                look()
            if isinstance(step, Guard):
                pending.append(text)
            else:
                flush()
                body.append(f"{step[0]} = {text}")
        flush()
        look()
        if body:
            lines.append("  try:")
            lines += [f"    {line}" for line in body]
            lines.append("  except Exception:")
            lines.append("    return MISS")
        lines.append(f"  return computation({', '.join(inputs)})")
        return "\n".join(lines) + "\n"

    def _related(
        self, known: Sequence[tuple[list[str], ArrayKind]], names: Sequence[str], conditions: Iterable[str]
    ) -> tuple[list[ArrayKind], set[str]]:
        """The kinds of arrays that are looked at together, with equal dimensions, and which conditions that replaces."""
        kinds = [kind for _, kind in known]
        replaced = {c for of_array, _ in known for c in of_array}

        def first_equal(i: int, d: int) -> tuple[int, int]:
            """The first dimension that is known to be equal to dimension ``d`` of array ``i``."""
            equal = kinds[i].shape[d]
            return (i, d) if isinstance(equal, int) else first_equal(*equal)

        for condition in conditions:
            places = [_DIMENSION.fullmatch(side) for side in condition.split(" == ")]
            if len(places) != 2 or any(p is None or p[1] not in names for p in places):
                continue
            (a, d), (b, e) = sorted(first_equal(names.index(p[1]), int(p[2])) for p in places if p is not None)
            first, second = kinds[a].shape[d], kinds[b].shape[e]
            assert isinstance(first, int) and isinstance(second, int)
            # the second has symbolic dimensions, is in C order, and says no more of this one than the first does
            if kinds[b].strides is None and first <= second < 0 and a < b:
                kinds[b] = kinds[b].with_dimension(e, (a, d))
            if first_equal(a, d) == first_equal(b, e):
                replaced.add(condition)
        return kinds, replaced

    def compile(
        self,
        inputs: list[str],
        computation: Callable[..., Any],
        make_check: Callable[[Sequence[ArrayKind]], Callable[..., Any] | None] | None = None,
        *,
        with_sizes: bool = False,
        in_turns: bool = False,
    ) -> Callable[..., Any]:
        """The prologue as a function that calls ``computation`` when every guard holds.

        ``make_check`` makes a quick function that says whether arrays are of given kinds (anything but ``None``), or
        ``None`` if it surely cannot. ``with_sizes`` passes the tuple of all symbolic sizes first. With ``in_turns``, the
        prologue calls ``timed`` instead if ``next(turns)`` is true. The caller sets both among its globals.
        """
        if with_sizes:
            sizes = "".join(f"{n.text}, " for n in self.relations.symbols if n.form is None and n.low is not None)
            inputs = [f"({sizes})", *inputs]
        context = {**self.context, "computation": computation}
        checks: list[list[ArrayKind]] = []
        groups: list[tuple[str, ...]] = []
        self.python(inputs, checks, groups)
        made = [make_check(kinds) for kinds in checks] if make_check is not None else [None] * len(checks)
        for group in groups:
            if group not in self._checks:
                assert self._make_alike is not None
                self._checks[group] = self._make_alike([self._alike[e][0] for e in group])
        alike = [self._checks[group] for group in groups]
        quick = None not in made, None not in alike
        source = self.python(inputs, [] if quick[0] else None, [] if quick[1] else None)
        if in_turns:
            head, _, body = source.partition("\n")
            source = f"{head}\n  if next(turns): return timed({', '.join(self.variables)})\n{body}"
        context.update({f"fits{i}": check for i, check in enumerate(made)})
        context.update({f"alike{i}": check for i, check in enumerate(alike)})
        self._alike = {e: (None, conditions) for e, (_, conditions) in self._alike.items()}
        return compile_source(source, "prologue", context)

    def first_failure(self, values: tuple[Any, ...]) -> str | None:
        """The description of the first guard that fails for these arguments; ``None`` if all hold."""
        scope = dict(self.context)
        scope.update(zip(self.variables, values))
        for step in self.steps:
            try:
                if isinstance(step, Guard):
                    if not eval(_code(step.condition), scope):
                        return step.description
                else:
                    scope[step[0]] = eval(_code(step[1]), scope)
            except Exception as error:
                return f"{step.description if isinstance(step, Guard) else step[1]}: {error!r}"
        return None


def equality(expression: str, value: Any) -> str:
    """The condition that a number is ``value``."""
    if isinstance(value, complex):
        return " and ".join(equality(f"{expression}.{part}", getattr(value, part)) for part in ("real", "imag"))
    if isinstance(value, float) and (value == 0 or not math.isfinite(value)):
        return f"same_float({expression}, float('{'-' * (value != value and math.copysign(1.0, value) < 0)}{value!r}'))"
    return f"{expression} == {written_number(value)}"


def written_number(value: Any) -> str:
    """A number as Python reads it. Python writes no decimal numbers of more than some thousand digits."""
    return hex(value) if type(value) is int and value.bit_length() > 10_000 else repr(value)


#: names that programs use
_TAKEN = frozenset("np prims dtypes devices views lnp slice bool int float complex math".split())


@functools.lru_cache(1_000)
def identifier_of(description: str) -> str:
    """The name that a program gives an input with that description."""
    name = re.sub(r"\W+", "_", re.sub(r"^(argument|global|closure variable|captured) ", "", description)).strip("_")
    is_free = name.isidentifier() and not keyword.iskeyword(name) and name not in _TAKEN
    return name if is_free else f"x_{name}" if name else "x"
