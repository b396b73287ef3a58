"""Derivatives of a program by tnp, against differences of the program's values under Python."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..language.judging import Verdict, reason_of
from ..language.worlds import World

__all__ = ["judged"]

#: relative differences that are let pass: of first derivatives, and of second ones, which are differences of first ones
FIRST, SECOND = 2e-5, 2e-4


class _Stop(Exception):
    def __init__(self, outcome: str, detail: str) -> None:
        super().__init__(outcome, detail)
        self.verdict = Verdict(outcome, detail)


def judged(path: Path, executors: Any = None) -> Verdict:
    """What became of a program: ``right``, ``refused`` and why, ``not smooth``, ``wrong`` and how, or ``internal error``."""
    start = time.perf_counter()
    world = World(path)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = _Check(world.module, executors).verdict()
    except _Stop as stop:
        found = stop.verdict
    finally:
        world.close()
    found.seconds = time.perf_counter() - start
    return found


class _Check:
    """One program at one point: ``x``, ``y`` and the tuple ``p`` as one vector, so that directions are vectors, too."""

    def __init__(self, module: Any, executors: Any) -> None:
        self.f = module.f
        self.arguments = module.arguments
        self.executors = executors
        self.rng = np.random.default_rng(0)

    def verdict(self) -> Verdict:
        import tnp

        f = self.f
        args = self.arguments(0)[0]
        value = float(f(*self.arguments(0)[0]))
        if not np.isfinite(value) or abs(value) > 1e6:
            return Verdict("not smooth", "the value is not finite, or large")
        slopes = [self.slope(args, d) for d in self.directions(args)]
        gradient = self.run("grad", tnp.jit(tnp.grad(f, (0, 1, 2)), executors=self.executors), *self.arguments(0)[0])
        if self.overflows() and not _is_finite(gradient):
            return Verdict("not smooth", "it overflows on the way, where cotangents are 0 times infinity")
        both = self.call_by_call(tnp.value_and_grad(f, (0, 1, 2)))
        for d, slope in slopes:
            self.same("grad", _inner(gradient, d), slope, FIRST)
        again, found = self.run("value_and_grad", both, *self.arguments(0)[0])
        self.same("the value", again, value, 1e-9)
        self.same_tree("value_and_grad", found, gradient)
        self.forward(args, gradient, slopes[0])
        self.second(args)
        self.mapped(both)
        return Verdict("right")

    def overflows(self, call: int = 0) -> bool:
        try:
            with np.errstate(over="raise"):
                self.f(*self.arguments(call)[0])
        except FloatingPointError:
            return True
        return False

    def call_by_call(self, function: Callable[..., Any]) -> Any:
        """A function jitted for NumPy's functions alone, which takes less time to compile."""
        import tnp

        return tnp.jit(function, executors=self.executors or ["numpy"])

    def run(self, what: str, function: Callable[..., Any], *args: Any) -> Any:
        """What a transform gives. What it refuses ends the check."""
        import tnp

        try:
            return function(*args)
        except (tnp.GradientError, tnp.BatchError) as error:
            raise _Stop("refused", f"{what}: {reason_of(str(error))}") from None
        except Exception as error:
            raise _Stop("internal error", f"{what}: {type(error).__name__}: {str(error)[:300]}") from None

    def directions(self, args: Any) -> list[Any]:
        return [_mapped(lambda a: self.rng.normal(size=np.shape(a)), args[:3]) for _ in range(2)]

    def slope(self, args: Any, direction: Any) -> tuple[Any, float]:
        """A direction, and the derivative there by central differences; stops where two steps do not agree."""
        found = []
        for step in (1e-4, 1e-5):
            ends = []
            for sign in (1, -1):
                moved = _mapped(lambda a, d, h=sign * step: a + h * d, args[:3], direction)
                try:
                    ends.append(float(self.f(*_mapped(np.copy, moved, floats=False), *args[3:])))
                except np.linalg.LinAlgError:
                    raise _Stop("not smooth", "a matrix is singular nearby") from None
            found.append((ends[0] - ends[1]) / (2 * step))
        if not np.all(np.isfinite(found)) or abs(found[0] - found[1]) > FIRST / 4 * max(1, abs(found[1])):
            raise _Stop("not smooth", "differences of two steps do not agree")
        return direction, found[1]

    def same(self, what: str, actual: Any, expected: Any, tolerance: float) -> None:
        actual, expected = np.asarray(actual, float), np.asarray(expected, float)
        if actual.shape != expected.shape:
            raise _Stop("wrong", f"{what}: shape {actual.shape} instead of {expected.shape}")
        scale = max(1.0, float(np.abs(expected).max(initial=0)))
        if not np.all(np.abs(actual - expected) <= tolerance * scale):
            raise _Stop("wrong", f"{what}: {actual.tolist()} instead of {expected.tolist()}")

    def same_tree(self, what: str, actual: Any, expected: Any, tolerance: float = 1e-8) -> None:
        a, e = _leaves(actual), _leaves(expected)
        if len(a) != len(e):
            raise _Stop("wrong", f"{what}: {len(a)} values instead of {len(e)}")
        for x, y in zip(a, e):
            self.same(what, x, y, tolerance)

    def forward(self, args: Any, gradient: Any, slope: tuple[Any, float]) -> None:
        """``jvp`` and ``vjp`` against the gradient."""
        import tnp

        rest = args[3:]

        def of(*xs: Any) -> Any:
            return self.f(*xs, *rest)

        def along(point: Any, direction: Any) -> Any:
            return tnp.jvp(of, point, direction)

        def pulled(point: Any, cotangent: Any) -> Any:
            value, pull = tnp.vjp(of, *point)
            return value, pull(cotangent)

        _, tangent = self.run("jvp", self.call_by_call(along), self.arguments(0)[0][:3], slope[0])
        if self.overflows() and not np.isfinite(tangent):
            raise _Stop("not smooth", "it overflows on the way, where tangents are 0 times infinity")
        self.same("jvp", tangent, _inner(gradient, slope[0]), 1e-7)
        _, found = self.run("vjp", self.call_by_call(pulled), self.arguments(0)[0][:3], np.float64(2.0))
        self.same_tree("vjp", found, _mapped(lambda g: g * 2.0, tuple(gradient)))

    def second(self, args: Any) -> None:
        """The derivative of the gradient in a direction, by differences of the gradient."""
        import tnp

        direction, weights = self.directions(args)
        rest = args[3:]

        def inner(x: Any, y: Any, p: Any, weight: Any) -> Any:
            return (tnp.grad(self.f)(x, y, p, *rest) * weight).sum()

        found = self.run(
            "grad(grad)", self.call_by_call(tnp.grad(inner, (0, 1, 2))), *self.arguments(0)[0][:3], weights[0]
        )
        slope_of = self.call_by_call(inner)
        slopes = []
        for step in (1e-4, 1e-5):
            ends = []
            for sign in (1, -1):
                moved = _mapped(lambda a, d, h=sign * step: a + h * d, args[:3], direction)
                ends.append(
                    float(self.run("grad, again", slope_of, *_mapped(np.copy, moved, floats=False), weights[0]))
                )
            slopes.append((ends[0] - ends[1]) / (2 * step))
        if np.all(np.isfinite(slopes)) and abs(slopes[0] - slopes[1]) <= SECOND / 4 * max(1, abs(slopes[1])):
            self.same("grad(grad)", _inner(found, direction), slopes[1], SECOND)

    def mapped(self, both: Any) -> None:
        """``vmap(grad(f))`` over three points, by its elements."""
        import tnp

        points = [self.arguments(k)[0] for k in range(3)]
        try:
            values = [float(self.f(*self.arguments(k)[0])) for k in range(3)]
        except Exception:
            raise _Stop("right", "it raises elsewhere") from None
        if not np.all(np.isfinite(values)):
            raise _Stop("right", "it is not finite elsewhere")
        single = [tuple(self.run("grad, elsewhere", both, *_elements(self.arguments(k)[0]))[1]) for k in range(3)]
        if any(self.overflows(k) and not _is_finite(found) for k, found in enumerate(single)):
            raise _Stop("right", "it overflows elsewhere")
        rest = points[0][3:]
        batched = _mapped(lambda *xs: np.stack([np.asarray(x, float) for x in xs]), *(q[:3] for q in points))

        def each(x: Any, y: Any, p: Any) -> Any:
            return tnp.grad(self.f, (0, 1, 2))(x, y, p, *rest)

        found = self.run("vmap(grad)", self.call_by_call(tnp.vmap(each)), *batched)
        self.same_tree("vmap(grad)", found, _mapped(lambda *xs: np.stack([np.asarray(x, float) for x in xs]), *single))


def _mapped(function: Callable[..., Any], tree: Any, *more: Any, floats: bool = True) -> Any:
    """A function of the arrays and floats of some tuples, in their structure: of a 0-d array, a 0-d array."""
    if isinstance(tree, tuple):
        return tuple(_mapped(function, *parts, floats=floats) for parts in zip(tree, *more))
    if not floats and not isinstance(tree, np.ndarray):
        return tree
    found = function(tree, *more)
    if isinstance(tree, np.ndarray):
        return np.asarray(found)
    return float(found) if type(tree) is float and np.ndim(found) == 0 else found


def _elements(tree: Any) -> Any:
    """Arguments as elements of arrays: a scalar for a 0-d array, which cannot be written to."""
    if isinstance(tree, tuple):
        return tuple(map(_elements, tree))
    return tree[()] if isinstance(tree, np.ndarray) else tree


def _leaves(tree: Any) -> list[Any]:
    return [leaf for x in tree for leaf in _leaves(x)] if isinstance(tree, tuple) else [tree]


def _is_finite(gradient: Any) -> bool:
    return all(np.all(np.isfinite(g)) for g in _leaves(tuple(gradient)))


def _inner(gradient: Any, direction: Any) -> float:
    return float(sum(np.sum(np.asarray(g) * d) for g, d in zip(_leaves(tuple(gradient)), _leaves(direction))))
