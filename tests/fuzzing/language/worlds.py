"""A program under Python and under tnp, each in a module of its own, and everything that differs."""

from __future__ import annotations

import ast
import contextlib
import copy
import dataclasses
import importlib.util
import io
import itertools
import math
import re
import sys
import warnings
import zlib
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from .drafts import TooLong, within
from .outside import CALLS

__all__ = ["Difference", "Outcome", "World", "differences", "is_ill_conditioned"]

#: functions and methods whose results tnp may round in another way: elementary functions, and what adds in another order
INEXACT = frozenset(
    "sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh power float_power arctan2 hypot logaddexp "
    "logaddexp2 sum prod mean var std cumsum cumprod dot matmul inner outer vdot tensordot einsum trace norm det inv matrix_power average median nansum nanmean nanstd "
    "percentile quantile convolve interp i0 sinc trapezoid gradient reduce accumulate reduceat unwrap logspace geomspace linspace vander kron angle absolute abs "
    "fabs at square reciprocal divide true_divide multiply cross corrcoef cov total halves".split()
)
#: those that add or multiply what they are given, in any order: their results may be far smaller than their rounding errors
REDUCTIONS = frozenset(
    "sum prod mean var std cumsum cumprod dot matmul inner outer vdot tensordot einsum trace norm det inv matrix_power average nansum nanmean nanstd convolve "
    "trapezoid reduce accumulate reduceat cross corrcoef cov total halves ptp".split()
)
OF_SIZES = ("Degrees of freedom <= # for slice", "Mean of empty slice", "Degrees of freedom <= # for slice.")
_FLOATING_POINT = re.compile(r"(divide by zero|overflow|underflow|invalid value) encountered")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|nan|inf)", re.IGNORECASE)
#: a number with the blanks before it: how many there are depends on its digits
_PADDED = re.compile(" *" + _NUMBER.pattern, re.IGNORECASE)
#: the names of the worlds' modules, and addresses
_OWN_NAMES = re.compile(r"program\d+|0x[0-9a-f]+")
_names = itertools.count()


@dataclass
class Outcome:
    """What a call gave or raised, printed and warned of, and what it left behind."""

    result: Any = None
    error: BaseException | None = None
    printed: str = ""
    warned: list[str] = field(default_factory=list)
    arguments: Any = None
    state: dict[str, Any] = field(default_factory=dict)
    #: whether a float was cast to an integer type that does not hold it, of which NumPy says nothing
    undefined: bool = False


class World:
    """A module made of a program's file, whose ``f`` is called as ``through(f)``."""

    def __init__(
        self, path: Path, through: Callable[[Any], Any] = lambda f: f, transformed: Callable[[ast.AST], ast.AST] | None = None, **names: Any
    ) -> None:  # fmt: skip
        name = f"program{next(_names)}"
        source = path.read_text()
        self.module = ModuleType(name)
        if transformed is None:
            spec = importlib.util.spec_from_file_location(name, path)
            assert spec is not None and spec.loader is not None
            self.module = importlib.util.module_from_spec(spec)
            sys.modules[name] = self.module
            spec.loader.exec_module(self.module)
        else:
            sys.modules[name] = self.module
            vars(self.module).update(names)
            tree = transformed(ast.parse(source))
            exec(compile(ast.fix_missing_locations(tree), str(path), "exec"), vars(self.module))
        self.through = through(self.module.f)
        self.state = [
            t.id
            for s in ast.parse(source).body
            if isinstance(s, ast.Assign)
            for t in s.targets
            if isinstance(t, ast.Name) and t.id[1:].isdigit()
        ]

    def close(self) -> None:
        sys.modules.pop(self.module.__name__, None)

    def call(self, number: int, seconds: float | None = None) -> Outcome:
        """The call ``number``, after the changes that come before it; ``seconds`` bounds it."""
        found = Outcome()
        module = self.module
        printed = io.StringIO()
        with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(printed):
            warnings.simplefilter("always")
            try:
                with within(seconds) if seconds else contextlib.nullcontext():
                    module.change(number)
                    with _other_sizes(module, number - CALLS):
                        args, kwargs = module.arguments(number % CALLS if number <= CALLS else 0)
                    found.arguments = (args, kwargs)
                    try:
                        found.result = self.through(*args, **kwargs)
                    finally:
                        found.state = {n: vars(module)[n] for n in self.state if n in vars(module)}
                        found.state["Box.shared"] = module.Box.shared if hasattr(module, "Box") else None
            except (Exception, TooLong) as error:
                found.error = error
        # What it has written by then, or may have taken from uninitialised memory, is undefined.
        found.undefined |= "negative integer powers" in str(found.error)
        found.printed = printed.getvalue()
        for w in caught:
            text = str(w.message)
            found.undefined |= "encountered in cast" in text
            if not _FLOATING_POINT.match(text) and w.category.__name__ != "EagerFallbackWarning":
                found.warned.append(f"{w.category.__name__}: {text}")
        return found


@contextlib.contextmanager
def _other_sizes(module: Any, variant: int) -> Iterator[None]:
    """Gives the arrays among a program's arguments other sizes while it is open. ``variant`` 0 and below keeps those of the first call."""
    make = module.make
    if variant > 0:
        module.make = lambda dtype, shape, *more: make(dtype, _resized(shape, variant), *more)
    try:
        yield
    finally:
        module.make = make


def _resized(shape: Any, variant: int) -> Any:
    """Another shape: equal lengths stay equal, 0 and 1 stay as they are, and so does one length in three."""
    if isinstance(shape, int):
        return shape if shape < 2 or (shape + variant) % 3 == 0 else shape * 2 + variant
    return tuple(_resized(n, variant) for n in shape)


@dataclass
class Difference:
    """Where two outcomes differ and how: ``kind`` is a class of differences, ``size`` infinite unless numbers of one kind differ."""

    kind: str
    where: str
    text: str
    size: float = math.inf

    def __str__(self) -> str:
        return f"{self.kind} at {self.where}: {self.text}"


def differences(actual: Outcome, expected: Outcome) -> list[Difference]:
    """All that differs between two outcomes of a call."""
    found: list[Difference] = []
    a, e = actual.error, expected.error
    if type(a).__name__ != type(e).__name__:
        found.append(Difference("exception", "error", f"{a!r} instead of {e!r}"))
        return found
    if a is not None and _without_numbers(str(a)) != _without_numbers(str(e)):
        found.append(Difference("message", "error", f"{a!r} instead of {e!r}"))
    walk = _Walk(found)
    walk.compare(actual.result, expected.result, "result")
    walk.compare(actual.arguments, expected.arguments, "arguments")
    walk.compare(actual.state, expected.state, "state")
    walk.sharing()
    if not _same_text(actual.printed, expected.printed):
        found.append(Difference("printed", "stdout", f"{actual.printed!r} instead of {expected.printed!r}"))
    # A call that raises may have run twice: docs/differences.md.
    times = set if e is not None else list
    mine, theirs = (Counter(times(map(_without_numbers, x.warned))) for x in (actual, expected))
    # Iterations of loops, and branches, do not warn of sizes that only the program knows: docs/differences.md.
    missing = theirs - mine
    if mine - theirs or not all(w.endswith(OF_SIZES) for w in missing):
        found.append(Difference("warning", "warnings", f"{actual.warned} instead of {expected.warned}"))
    return found


def _without_numbers(text: str) -> str:
    return re.sub(r"program\d+|0x[0-9a-f]+|\d+", "#", text)


def _same_text(actual: str, expected: str) -> bool:
    actual, expected = (_OWN_NAMES.sub("#", x) for x in (actual, expected))
    if _PADDED.sub("#", actual) != _PADDED.sub("#", expected):
        return False
    for a, e in zip(_NUMBER.findall(actual), _NUMBER.findall(expected)):
        if a != e and not math.isclose(float(a), float(e), rel_tol=1e-3 if len(e) < 9 else 1e-6, abs_tol=1e-9):
            return False
    return True


class _Walk:
    """Two values compared part by part, with which mutable parts are the same object and share memory."""

    def __init__(self, found: list[Difference]) -> None:
        self.found = found
        #: the first place of each mutable object
        self.ids: tuple[dict[int, str], dict[int, str]] = ({}, {})
        #: what was met, kept for no other object to get its address
        self.met: list[Any] = []
        self.arrays: list[tuple[str, np.ndarray, np.ndarray]] = []

    def add(self, kind: str, where: str, text: str, size: float = math.inf) -> None:
        self.found.append(Difference(kind, where, text, size))

    def compare(self, a: Any, e: Any, where: str) -> None:
        if type(a).__qualname__ != type(e).__qualname__:
            return self.add(
                "type", where, f"{type(a).__qualname__} {_short(a)} instead of {type(e).__qualname__} {_short(e)}"
            )
        if isinstance(e, ModuleType):  # one of all worlds
            return None if a is e else self.add("identity", where, f"{a!r} instead of {e!r}")
        if isinstance(e, (np.ndarray, list, dict, set, deque, FunctionType)) or hasattr(e, "__dict__"):
            self.met += (a, e)
            first = [ids.setdefault(id(x), where) for ids, x in zip(self.ids, (a, e))]
            if first[0] != first[1]:
                self.add("identity", where, f"the same object as {first[0]}, in eager as {first[1]}")
            if first[1] != where and first[0] != where:
                return None
        if isinstance(e, (np.ndarray, np.generic)):
            self.compare_arrays(a, e, where)
        elif isinstance(e, (bool, int, str, bytes, type(None))):
            if a != e and not (isinstance(e, str) and _same_text(a, e)):
                self.add("value", where, f"{a!r} instead of {e!r}")
        elif isinstance(e, (float, complex)):
            self.compare_values(np.asarray(a), np.asarray(e), where)
        elif isinstance(e, (tuple, list, deque)):
            if len(a) != len(e):
                return self.add(
                    "container", where, f"{len(a)} items instead of {len(e)}: {_short(a)} instead of {_short(e)}"
                )
            for i, (x, y) in enumerate(zip(a, e)):
                self.compare(x, y, f"{where}[{i}]")
        elif isinstance(e, dict):
            if [(type(k), repr(k)) for k in a] != [(type(k), repr(k)) for k in e]:
                return self.add("container", where, f"keys {list(a)} instead of {list(e)}")
            for (k, x), y in zip(a.items(), e.values()):
                self.compare(x, y, f"{where}[{k!r}]")
        elif isinstance(e, (set, frozenset, range, slice, np.dtype, type)):
            # An update that adds nothing may still reorder a set: docs/differences.md.
            is_same = a == e if isinstance(e, (set, frozenset)) and a == a else repr(a) == repr(e)
            if not is_same and not isinstance(e, type):
                self.add("container", where, f"{a!r} instead of {e!r}")
        elif isinstance(e, FunctionType):
            if a.__name__ != e.__name__:
                self.add("value", where, f"{a.__name__} instead of {e.__name__}")
        elif isinstance(e, (SimpleNamespace,)) or hasattr(e, "__dict__") or dataclasses.is_dataclass(e):
            self.compare(dict(vars(a)), dict(vars(e)), where)
        return None

    def compare_arrays(self, a: Any, e: Any, where: str) -> None:
        if a.dtype != e.dtype:
            return self.add("dtype", where, f"{a.dtype} instead of {e.dtype}")
        if a.shape != e.shape:
            return self.add("shape", where, f"{a.shape} instead of {e.shape}")
        if isinstance(e, np.ndarray):
            self.arrays.append((where, a, e))
            if a.flags.writeable != e.flags.writeable:
                self.add("flags", where, f"writeable is {a.flags.writeable}")
        self.compare_values(np.asarray(a), np.asarray(e), where)
        return None

    def compare_values(self, a: np.ndarray, e: np.ndarray, where: str) -> None:
        if e.dtype.kind == "O":
            return
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            same = (a == e) | ((a != a) & (e != e))
            if same.all():
                return
            size = math.inf
            if e.dtype.kind in "fc":
                parts = [(a.real, e.real), (a.imag, e.imag)] if e.dtype.kind == "c" else [(a, e)]
                size = max(_distance(x, y) for x, y in parts)
                if e.dtype.kind == "c":  # both parts are as exact as the larger one
                    size = min(size, _distance(np.abs(a - e) + np.abs(e), np.abs(e)))
                # NumPy's powers of complex numbers magnify the rounding of a logarithm (C's cpow).
                if size <= (64 if e.dtype.kind == "c" else 8):
                    return
            at = tuple(int(i) for i in np.argwhere(~same)[0])
            self.add(
                "value",
                where,
                f"{a[at]!r} instead of {e[at]!r} at {list(at)}, {np.count_nonzero(~same)} of {same.size} ({e.dtype}, {size:.3g} ulp)",
                size,
            )

    def sharing(self) -> None:
        """Which arrays share memory with which others."""
        arrays = [(w, a, e) for w, a, e in self.arrays if e.size][:16]
        for (w, a, e), (v, b, f) in itertools.combinations(arrays, 2):
            mine, eager = _shares(a, b), _shares(e, f)
            if mine != eager:
                self.add("alias", w, f"{'shares' if mine else 'does not share'} memory with {v}")


def _shares(a: np.ndarray, b: np.ndarray) -> bool:
    try:
        return bool(np.shares_memory(a, b, max_work=10_000))
    except Exception:
        return bool(np.may_share_memory(a, b))


def _distance(a: np.ndarray, e: np.ndarray) -> float:
    """The largest difference, in units of the last place of the largest finite magnitude; infinite where one is not finite."""
    odd = ~(np.isfinite(a) & np.isfinite(e))
    if not np.array_equal(a[odd], e[odd], equal_nan=True):
        return math.inf
    limits = np.finfo(e.dtype)
    a, e = a[~odd].astype(np.float64), e[~odd].astype(np.float64)
    if not e.size:
        return 0.0
    scale = max(float(np.abs(e).max()), float(limits.tiny))
    return float(np.abs(a - e).max() / scale / float(limits.eps))


def _short(x: Any) -> str:
    text = repr(x)
    return text if len(text) < 80 else text[:77] + "..."


# What is sensitive to rounding


#: functions that give either of two zeros
_EXTREMES = frozenset(("amax", "amin", "max", "min", "nanmax", "nanmin"))


class _Wobbling(ast.NodeTransformer):
    """Puts ``__wobble__`` around what tnp may round in another way."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in REDUCTIONS:
            # ``a.sum()`` is of ``a``; ``np.sum`` wobbles nothing there, a module being no number.
            node.args = [a if isinstance(a, ast.Starred) else _wobbled(a, "__wobble_copy__") for a in node.args]
            if isinstance(node.func, ast.Attribute):
                node.func.value = _wobbled(node.func.value, "__wobble_copy__")
            for k in node.keywords:
                if k.arg == "weights":
                    k.value = _wobbled(k.value, "__wobble_copy__")
        if name in _EXTREMES:
            return _wobbled(node, "__wobble_zero__")
        if name in REDUCTIONS:
            return _wobbled(node, "__wobble_sum__")
        return _wobbled(node) if name in INEXACT else node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        return _wobbled(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        self.generic_visit(node)
        target = copy.deepcopy(node.target)
        target.ctx = ast.Load()
        again = copy.deepcopy(node.target)
        again.ctx = ast.Store()
        if not all(_is_numpys(n) for n in ast.walk(node.target) if isinstance(n, ast.Call)):
            return node
        stored = _stored(target, ast.BinOp(copy.deepcopy(target), node.op, node.value))
        return [stored, node, ast.Assign([again], _wobbled(target))]

    def visit_Assign(self, node: ast.Assign) -> Any:
        self.generic_visit(node)
        return [*(_stored(t, node.value) for t in node.targets if _is_pure(node)), node]


def _wobbled(node: ast.expr, how: str = "__wobble__") -> ast.expr:
    place = 1000 * getattr(node, "lineno", 0) + getattr(node, "col_offset", 0)
    return ast.Call(ast.Name(how, ast.Load()), [node, ast.Constant(place)], [])


def _is_numpys(node: ast.Call) -> bool:
    """Whether it calls a function of NumPy's: one in a target makes an index."""
    function = node.func
    return isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "np"


def _is_pure(node: ast.Assign) -> bool:
    """Whether an assignment's value and targets may be evaluated twice."""
    calls = [n for n in ast.walk(node) if isinstance(n, (ast.Call, ast.NamedExpr))]
    return all(isinstance(n, ast.Call) and getattr(n.func, "id", "") == "float" for n in calls)


def _stored(target: ast.expr, value: ast.expr) -> ast.stmt:
    """Tells ``__stored__`` what is stored where."""
    is_part = isinstance(target, ast.Attribute) and target.attr in ("real", "imag", "flat")
    if not isinstance(target, ast.Subscript) and not is_part:
        return ast.Pass()
    nothing = ast.arguments([], [], None, [], [], None, [])
    parts = [target.value, value]
    if isinstance(target, ast.Subscript) and getattr(target.value, "attr", "") == "flat":
        parts.append(target.slice)
    lambdas = [ast.Lambda(nothing, copy.deepcopy(x)) for x in parts]
    return ast.Expr(ast.Call(ast.Name("__stored__", ast.Load()), lambdas, []))


def _is_undefined(array: Callable[[], Any], value: Callable[[], Any], index: Callable[[], Any] | None = None) -> bool:
    """Whether a float that an unsigned type does not hold is stored: what that gives depends on how many elements there are. Or whether one
    of several places in ``.flat`` is out of bounds: eager has then stored to others (docs/differences.md)."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            a, x = array(), np.asarray(value())
            if isinstance(a, np.flatiter) and index is not None:
                at = np.asarray(index())
                return at.dtype.kind in "iu" and at.size > 1 and bool(np.any((at >= len(a)) | (at < -len(a))))
            return (
                isinstance(a, np.ndarray)
                and a.dtype.kind == "u"
                and x.dtype.kind in "fc"
                and bool(np.any(~((x.real >= 0) & (x.real <= np.iinfo(a.dtype).max))))
            )
    except Exception:
        return False  # the statement itself says so


def is_ill_conditioned(
    path: Path, number: int, expected: Sequence[Outcome], difference: Difference, *, in_parts: bool = False
) -> bool:
    """Whether other roundings change eager's own results in the call ``number`` where ``difference`` found tnp's to differ, by as much.

    Equal values are rounded alike, but ``in_parts``: what Python computes in one part is not rounded as what is compiled in another.
    """
    for seed in range(6):
        undefined: list[bool] = []
        apart = in_parts and seed % 2
        wobbles = {
            "__stored__": lambda *parts, found=undefined: found.append(_is_undefined(*parts)),
            "__wobble__": lambda x, place, seed=seed, apart=apart: _wobble(x, seed, place * apart),
            "__wobble_sum__": lambda x, place, seed=seed, apart=apart: _wobble(x, seed, place * apart, SUMS),
            "__wobble_copy__": lambda x, place, seed=seed, apart=apart: _wobbled_copy(x, seed, place * apart),
            "__wobble_zero__": lambda x, place, seed=seed: _other_zero(x) if seed % 2 else x,
        }
        world = World(path, transformed=_Wobbling().visit, **wobbles)
        try:
            for k in range(number + 1):
                mine = world.call(k, seconds=2.0)
        finally:
            world.close()
        if any(undefined):
            return True
        for found in differences(mine, expected[number]):
            if found.where == difference.where and found.size * 64 >= difference.size:
                return True
            if difference.kind in ("exception", "printed", "container", "message") and found.kind == difference.kind:
                return True
    return False


#: how much further sums are off than elements: each addition of equal terms may round the same way
SUMS = 8


def _wobble(x: Any, seed: int, place: int, by: int = 1) -> Any:
    """A result of an inexact operation, some units in the last place off, unless it is a number with few digits."""
    if type(x) in (float, complex, np.float16, np.float32, np.float64, np.complex64, np.complex128):
        return type(x)(_moved(np.asarray(x), seed, place, by)[()])
    if isinstance(x, np.ndarray) and x.dtype.kind in "fc" and x.flags.writeable:
        x[...] = _moved(x, seed, place, by)
    return x


def _other_zero(x: Any) -> Any:
    """Zeros of the other sign: where both are among the elements, the largest may be either."""
    if type(x) is np.ndarray and x.dtype.kind == "f":
        return np.where(x == 0, -x, x)
    return -x if type(x) in (float, np.float16, np.float32, np.float64) and x == 0 else x


def _wobbled_copy(x: Any, seed: int, place: int) -> Any:
    """What a reduction is of, its elements some units in the last place off; itself if it holds no inexact numbers."""
    if type(x) is np.ndarray and x.dtype.kind in "fc":
        return _moved(x, seed, place)
    return x


def _moved(x: np.ndarray, seed: int, place: int, by: int = 1) -> np.ndarray:
    """``x`` a few units in the last place off. Equal values of one ``place`` in the program move alike, so that ``a.sum() == a.sum()`` stays true."""
    with np.errstate(all="ignore"):
        eps = np.finfo(x.dtype).eps
        rng = np.random.default_rng([seed, place, zlib.crc32(x.tobytes())])
        # Each element's own way: moved all alike or in turns, a sum would hardly change.
        step = np.asarray(rng.choice((1, 2, 4)) * by * eps * rng.choice((-1.0, 1.0), x.shape), x.real.dtype)
        is_simple = (x * 16 == np.round(x * 16)) & (np.abs(x) < 2**10)
        moved = np.where(is_simple, x, x * (1 + step)).astype(x.dtype)
        if seed % 3 == 2:  # what is left where terms cancel may be nothing
            moved = np.where(np.abs(x) < 4096 * eps, x.dtype.type(0), moved)
        if x.dtype.kind == "c":
            # A complex product that overflows is a difference of infinities, or of one and a finite number if it is fused.
            for part in (moved.real, moved.imag):
                part[...] = np.where(np.isfinite(part), part, rng.choice((np.nan, np.inf, -np.inf), part.shape))
        return moved


def numbered(calls: int) -> Iterator[int]:
    yield from range(calls)
