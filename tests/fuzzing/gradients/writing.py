"""Writing random differentiable programs: ``f(x, y, p, n, flag)``, whose result is a float.

``x`` and ``y`` are arrays and ``p`` a tuple of an array and a float; all of them are differentiated by. Statements are written against the
values that are there, as in :mod:`fuzzing.language`, out of operations that are smooth but on a set of no size.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from ..language.drafts import Draft, Node, Place
from ..language.expressions import Expressions
from ..language.scope import Scope, is_array

__all__ = ["program"]

PRELUDE = '''
import numpy as np


def make(shape, seed):
    """Numbers between -1.5 and 1.5, none of them near 0, no two of them equal."""
    values = np.random.default_rng(seed).uniform(0.2, 1.5, size=shape)
    signs = np.random.default_rng(seed + 1).integers(0, 2, size=shape) * 2 - 1
    return np.asarray(values * signs)


def squash(z, scale=1.0):
    return np.tanh(z * scale) + 0.1 * z


def folded(z, depth):
    if depth == 0:
        return z
    return folded(z * 0.5 + np.sin(z), depth - 1)


def weighted(first, *rest, w=0.5):
    for r in rest:
        first = first + w * r
    return first


def definite(z):
    return z @ z.T + 2 * np.eye(len(z))
'''

#: what an array of floats becomes; holes as in :mod:`fuzzing.language.calls`
SMOOTH = (
    "np.sin({f})", "np.cos({f})", "np.tanh({f})", "np.exp(-{f} * {f})", "np.sqrt(1.5 + {f} * {f})", "np.log(1.2 + {f} * {f})", "np.arctan({f})", "np.log1p({f} * {f})", "np.expm1({f} * 0.1)", "np.square({f})",
    "{f} * {b}", "{f} + {b}", "{f} - {b}", "{f} / (1.5 + {f} * {f})", "{b} - {f}", "0.7 * {f}", "-{f}", "{f} ** 2", "{f} ** 3", "(1.5 + {f} * {f}) ** -0.5", "(2 + np.sin({f})) ** {b}", "np.hypot({f}, 1.3)",
    "np.arctan2({f}, 1.1)", "np.arctan2(1.3, {f})", "np.logaddexp({f}, {b})", "np.maximum({f}, {b})", "np.minimum({f}, 0.33)", "np.clip({f}, -0.9, 0.8)", "np.abs({f})", "np.where({f} > 0.05, {f}, {b})", "np.where({m}, {f}, 0.0)",
    "np.where({f} > 0, np.sqrt(np.abs({f})), {f})", "np.heaviside({f}, 0.5) * {f}", "np.sign({f}) * {f}", "np.power(np.abs({f}), 1.5)", "np.reciprocal(2.5 + {f})", "np.sinc({f})", "np.fmax({f}, 0.1)", "np.copysign({f}, {b})", "np.float_power(2.0, {f})",
    "np.sum({f}, axis={k})", "np.mean({f}, axis={k}, keepdims=True)", "np.cumsum({f}, axis={k})", "np.cumprod({f} * 0.5, axis={k})", "np.prod({f}, axis={k})", "np.max({f}, axis={k})", "np.min({f})", "np.var({f})", "np.std({f}, axis={k})", "np.sum({f}, where={m})",
    "np.linalg.norm({f})", "np.add.reduce({f})", "np.maximum.accumulate({q})", "np.logaddexp.reduce({q})", "np.multiply.reduce({f}, axis=None)", "np.median({f})", "np.average({f}, weights=np.abs({c}))", "np.ptp({f})", "np.nansum({f})",
    "np.dot({v}, {v})", "{w} @ {w}.T", "{w} @ {w}.T @ {w}", "np.outer({v}, {v})", "np.einsum('ij,ij->i', {w}, {w})", "np.einsum('i,i->', {v}, {v})", "np.tensordot({w}, {w}, axes=([0], [0]))", "np.inner({v}, {v})", "np.trace({w})", "np.kron({v}, {v})",
    "np.linalg.solve({w} @ {w}.T + 3 * np.eye(len({w})), np.ones(len({w})))", "np.linalg.det({w} @ {w}.T + np.eye(len({w})))", "np.linalg.inv({w} @ {w}.T + 2 * np.eye(len({w})))", "np.convolve({v}, {v})", "np.vdot({v}, {v})",
    "{f}.T", "{f}.reshape(-1)", "{f}[None]", "np.flip({f})", "np.roll({f}, 1)", "np.transpose({f})", "np.concatenate([{q}, {c}])", "np.stack([{f}, {c}])", "np.pad({q}, 1)", "np.tile({f}, 2)", "np.repeat({f}, 2)", "np.diff({q})", "np.broadcast_to({f}, (2, *{f}.shape))",
    "np.tril({w})", "np.diag({v})", "np.diagonal({w})", "np.take({f}, [0, -1, 0])", "np.expand_dims({f}, 0)", "np.ravel({f})", "{f}.copy()", "{q}[[0, -1]]", "{q}[::-1]", "{q}[1:]", "{q}[..., :-1]", "{f}.sum()", "{f}.mean()", "np.gradient({v})", "np.sort({v})", "np.interp({f}, [-2.0, 0.0, 2.0], [0.0, 1.0, 3.0])",
    "{f}[{m}]", "{f}[{f} > 0]", "np.trapezoid({q})", "np.select([{f} > 0.5, {f} > -0.5], [{f} * 2, {f}], 0.0)", "np.array([{f}.sum(), 1.0])", "np.full(3, {f}.mean())", "np.zeros(2) + {f}.sum()", "np.ones_like({f}) * {b}", "squash({f})", "squash({f}, 0.3)", "folded({f}, 2)", "weighted({f}, {c}, w=0.3)",
    "np.array([q * 1.5 for q in {v}])", "sum([q * q for q in {v}])", "(lambda q: q * q.mean())({f})", "np.linalg.cholesky(definite({w}))", "np.cross({v}[:3], {v}[-3:])", "np.polyval([1.0, 0.5, -0.2], {f})", "np.nanmean({f})",
)  # fmt: skip

#: statements that write to the array that ``{y}`` reads
WRITES = (
    "{y} *= {b}", "{y} += {b}", "{y} -= 0.5 * {y}", "{y}[...] = {b}", "{y}[0] = {y}[-1] * 0.5", "{y}[1:] += 0.3 * {y}[:-1]", "{y}[:-1] = np.sin({y}[1:])", "{y}[::2] *= 2", "{y}[{m}] = 0.2", "{y}[{m}] *= 0.5", "{y}[{y} > 0.3] += 1", "{y}[-1] = {s}",
    "{y} /= 1.5 + {y} * {y}", "np.multiply({y}, {b}, out={y})", "np.sin({y}, out={y})", "np.add({y}, 0.1, out={y}, where={m})", "np.add.at({y}, [0, 0, -1], 0.4)", "{y}.T[...] = {b}", "{y}[::-1] = {y}.copy()", "{y}[...] = np.where({y} > 0, {y}, {b})", "{y}.flat[0] = {s}", "np.copyto({y}, {b}, where={m})",
    "{y}.fill(0.3)", "{y}[[0, -1]] = {s}", "{y}[[0, 0]] += 0.1", "{y}.reshape(-1)[0] *= 3", "{y}[0], {y}[-1] = {y}[-1], {y}[0]", "np.cumsum({y}, axis=0, out={y})", "{y}[:1] = {y}.mean()", "{y} **= 2", "np.maximum({y}, 0.0, out={y})",
)  # fmt: skip

SHAPES = ((3,), (4,), (5,), (1,), (2,), (3, 3), (2, 3), (4, 2), (3, 1), ())


class _Smooth(Expressions):
    def smooth(self) -> str | None:
        return self.call(0, SMOOTH)

    def scalar(self) -> str:
        """A float: a number, or what an array's elements are."""
        found = self.scope.pick(lambda x: is_array(x) and x.dtype == float and x.size > 0)
        if found is None or self.rng.random() < 0.4:
            return self.rng.choice(("0.5", "1.3", "-0.7", "p[1]", "2"))
        text, x = found
        return self.rng.choice(
            (
                f"{text}.sum()",
                f"{text}.mean()",
                f"{text}[{', '.join('0' * x.ndim)}]" if x.ndim else text,
                f"{text}.max()",
            )
        )


def program(seed: int | str) -> str:
    """The source of a module with ``f`` and ``arguments(call)``, whose result is a finite float on the first arguments."""
    rng = random.Random(f"gradients {seed}")
    while True:
        found = _Writing(rng).program()
        if found is not None:
            return found


class _Writing:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        x, y, p = (rng.choice(SHAPES) for _ in range(3))
        seed, n = rng.randrange(10**6), rng.randint(1, 4)
        arguments = [
            "def arguments(call):",
            f"    seed = {seed} + 100 * call",
            f"    return (make({x}, seed), make({y}, seed + 10), (make({p}, seed + 20), 0.6 + 0.1 * call), {n}, {rng.random() < 0.5})" + ", {}",
        ]  # fmt: skip
        self.draft = Draft("", "def f(x, y, p, n, flag):", "\n".join(arguments))
        self.prelude: dict[str, Any] = {}
        exec(PRELUDE, self.prelude)
        self.numbers = 0
        self.left = rng.randint(3, 14)

    def fresh(self, letter: str = "v") -> str:
        self.numbers += 1
        return f"{letter}{self.numbers}"

    def scope(self, place: Place) -> Scope | None:
        module: dict[str, Any] = {}
        names, _ = self.draft.reach(place, self.prelude, module)
        if names is None or any(not _is_tame(x) for x in names.values()):
            return None
        return Scope(self.rng, names, module, ())

    def program(self) -> str | None:
        self.copies()
        place = Place(self.draft.body)
        scope = self.scope(place)
        if scope is None:
            return None
        self.fill(place, scope, 0, self.left)
        scope = self.scope(place)
        if scope is None:
            return None
        self.draft.body.append(Node(f"return {self.result(scope)}"))
        return f"{PRELUDE.strip()}\n\n\n{self.draft.source()}\n"

    def copies(self) -> None:
        for name in ("x", "y", "p[0]"):
            if self.rng.random() < 0.6:
                self.draft.body.append(Node(f"{self.fresh()} = {name} * {self.rng.choice(('1.0', '0.5', 'p[1]'))}"))

    def result(self, scope: Scope) -> str:
        """A float of some of what there is, the arguments among it."""
        floats = [
            n
            for n, v in scope.names.items()
            if (is_array(v) or type(v) in (float, np.float64)) and np.asarray(v).dtype == float
        ]
        self.rng.shuffle(floats)
        parts = [
            f"np.sum({n})" if self.rng.random() < 0.6 else f"np.sum({n} * {n})"
            for n in floats[: self.rng.randint(1, 4)]
        ]
        return " + ".join([*parts, "0.1 * np.sum(x)"])

    def fill(self, place: Place, scope: Scope, depth: int, most: int) -> None:
        failures = 0
        while most > 0 and self.left > 0 and failures < 8:
            before = len(place.block)
            node = self.statement(scope, depth)
            place.block.extend(node)
            for n in node:
                for k in range(len(n.clauses)):
                    inner = place.inside(n, k)
                    here = self.scope(inner)
                    if here is not None:
                        self.fill(inner, here, depth + 1, self.rng.randint(1, 3))
            new = self.scope(place)
            if new is None:
                del place.block[before:]
                failures += 1
                continue
            scope = new
            most -= 1
            self.left -= sum(n.count() for n in node)

    def statement(self, scope: Scope, depth: int) -> list[Node]:
        rng = self.rng
        s = _Smooth(rng, scope, frozenset())
        roll = rng.random()
        if roll < 0.25 and depth < 2:
            return self.compound(s)
        if roll < 0.5:
            target = s.named_array(lambda x: x.dtype == float and x.flags.writeable and x.ndim > 0)
            text = s.filled(rng.choice(WRITES), 0, target) if target is not None else None
        elif roll < 0.58:
            target = s.named_array(lambda x: x.dtype == float and x.ndim > 0)
            text = (
                None if target is None else f"{self.fresh()} = {target}{s.subscript(scope.tried(target), fancy=False)}"
            )
        elif roll < 0.63:
            return self.overflowing(s)
        else:
            found = s.smooth()
            known = [n for n, v in scope.names.items() if n[0] == "v" and is_array(v)]
            name = rng.choice(known) if known and rng.random() < 0.3 else self.fresh()
            text = None if found is None else f"{name} = {found}"
        return [Node(text)] if text is not None else [Node(f"{self.fresh()} = x * 0.5")]

    def overflowing(self, s: _Smooth) -> list[Node]:
        """A value that a loop makes infinite, and that nothing needs."""
        name, i = self.fresh("d"), self.fresh("i")
        loop = Node(
            clauses=[(f"for {i} in range({self.rng.randint(9, 14)}):", [Node(f"{name} = {name} * {name} + 1")])]
        )
        return [Node(f"{name} = {s.named_array(lambda x: x.dtype == float) or 'x'} * 2"), loop]

    def compound(self, s: _Smooth) -> list[Node]:
        rng = self.rng
        i, e = self.fresh("i"), self.fresh()
        array = s.named_array(lambda x: x.ndim > 0 and 0 < len(x) < 6 and x.dtype == float)
        headers = [
            f"for {i} in range({rng.randint(1, 4)}):",
            f"for {i} in range(n):",
            f"for {i} in range({rng.randint(10, 14)}):",
            "if flag:",
            "if n > 2:",
            f"if {s.scalar()} > 0.1:",
            f"if {s.scalar()} < p[1]:",
        ]
        if array is not None:
            headers += [
                f"for {e} in {array}:",
                f"for {i} in range(len({array})):",
                f"for {i}, {e} in enumerate({array}):",
                f"if {array}.sum() > 0:",
                f"if ({array} > 0).all():",
            ]
        header = rng.choice(headers)
        if header.startswith("for"):
            return [Node(clauses=[(header, [])])]
        if rng.random() < 0.2:
            w = self.fresh("w")
            return [
                Node(f"{w} = 0"),
                Node(clauses=[(f"while {w} < {rng.randint(1, 5)} and {header[3:-1]}:", [Node(f"{w} += 1")])]),
            ]
        return [Node(clauses=[(header, []), ("else:", [])] if rng.random() < 0.6 else [(header, [])])]


def _is_tame(x: Any) -> bool:
    """Whether a value is one that differences can be taken of: finite, or one of those that nothing needs."""
    if is_array(x):
        return x.size <= 200
    return not isinstance(x, (float, np.floating)) or True
