"""Random programs of stencils: rotations, writes to boxes of new arrays, arrays that are put together; in loops and for any size."""

from random import Random

import numpy as np
import pytest

import tnp
from tests.fuzzing import define
from tests.kernel_bounds import within_bounds
from tnp.executors import llvm
from tnp.testing import assert_same

# The test is about native code alone: without a target for the machine, NumPy runs each operation.
pytestmark = pytest.mark.skipif(not llvm.is_available(), reason="llvmlite has no target for this machine")


@pytest.fixture(autouse=True)
def small_arrays_go_the_way_of_large_ones(monkeypatch):
    monkeypatch.setenv("TNP_DISABLE_CACHE", "1")  # the key of cached code lacks these settings
    monkeypatch.setattr("tnp.executors.llvm.loop_ir.dead_stores.LEAST", 0)
    monkeypatch.setattr("tnp.executors.llvm.program.updates.LEAST", 0)
    monkeypatch.setattr("tnp.executors.llvm.target.NEIGHBOURS", 4)


class Writer:
    """Writes a program on arrays of one shape, of ``rank`` dimensions."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.rank = self.random.choice([1, 1, 2, 2, 3])
        self.names = ["u", "w"]
        self.lines: list[str] = []

    def program(self) -> str:
        """The source of ``program(u, w, n)``."""
        self._block(self.random.randint(3, 7), "    ")
        if self.random.random() < 0.5:
            self.lines.append("    for k in range(n):")
            kept = list(self.names)
            self._block(self.random.randint(2, 4), "        ")
            self.names = kept
        results = ", ".join(self.random.sample(self.names, min(len(self.names), 3)))
        return (
            "def program(u, w, n):\n" + "\n".join(self.lines) + f"\n    return {results}, np.sum({self._name()} ** 2)"
        )

    def _block(self, count: int, indent: str) -> None:
        for _ in range(count):
            self.lines += [indent + line for line in self._statement()]

    def _name(self) -> str:
        return self.random.choice(self.names)

    def _target(self) -> str:
        if self.random.random() < 0.4 and len(self.names) > 2:
            return self.random.choice(self.names[2:])
        name = f"v{len(self.names)}"
        self.names.append(name)
        return name

    def _statement(self) -> list[str]:
        kind = self.random.randrange(8)
        if kind < 3:
            value = self.random.choice([self._whole, self._rolled, self._joined])()
            return [f"{self._target()} = {value}"]
        if kind < 6:
            new = self.random.choice(
                ["np.zeros_like({})", "{}.copy()", "np.ones({}.shape)", "{} * 2", "np.full_like({}, 3)"]
            )
            made = new.format(self._name())
            name = self._target()
            box = self._box() if self.random.random() < 0.5 else None
            return [f"{name} = {made}", *(self._update(name, box) for _ in range(self.random.randint(1, 3)))]
        if kind == 6:
            return [self._update(self._name())]
        value = f"{self._name()} - {self._name()}.mean(axis={self.random.randrange(self.rank)}, keepdims=True)"
        return [f"{self._target()} = {value}"]

    def _box(self) -> tuple[list[int], list[int]]:
        starts, ends = ([self.random.choice([0, 0, 1, 2]) for _ in range(self.rank)] for _ in range(2))
        return starts, ends

    def _update(self, name: str, box: tuple[list[int], list[int]] | None = None) -> str:
        starts, ends = box or self._box()
        place = self._slices(starts, ends)
        if box is None and self.random.random() < 0.2:
            dim = self.random.randrange(self.rank)
            row = ", ".join(str(self.random.choice([0, -1])) if d == dim else ":" for d in range(self.rank))
            other = ", ".join(str(self.random.choice([1, -2])) if d == dim else ":" for d in range(self.rank))
            return f"{name}[{row}] = {self.random.choice(['0', f'{self._name()}[{other}]', f'{name}[{other}]'])}"
        value = self._shifted(starts, ends)
        if self.random.random() < 0.6:
            value += f" {self.random.choice(['+', '-', '*'])} {self._shifted(starts, ends)}"
        return f"{name}[{place}] {self.random.choice(['=', '=', '+=', '-='])} {value}"

    def _shifted(self, starts: list[int], ends: list[int]) -> str:
        """A slice as large as another, of some array, elsewhere."""
        moves = [self.random.randint(-min(s, 1), min(e, 1)) for s, e in zip(starts, ends)]
        places = self._slices([s + m for s, m in zip(starts, moves)], [e - m for e, m in zip(ends, moves)])
        part = f"{self._name()}[{places}]"
        return self.random.choice([part, part, f"np.tanh({part})", f"0.25 * {part}"])

    def _slices(self, starts: list[int], ends: list[int]) -> str:
        return ", ".join(f"{s or ''}:{-e if e else ''}" for s, e in zip(starts, ends))

    def _whole(self) -> str:
        a, b = self._name(), self._name()
        return self.random.choice([f"np.tanh({a}) + {b}", f"0.5 * {a} - {b}", f"np.where({a} > 0.1, {a}, {b})"])

    def _roll(self) -> str:
        dim = self.random.randrange(self.rank)
        return f"np.roll({self._name()}, {self.random.choice([1, -1, 1, -1, 2, -3])}, axis={dim})"

    def _rolled(self) -> str:
        a, b = self._roll(), self._roll()
        return self.random.choice([a, f"0.5 * ({a} + {b})", f"{a} - 2 * {self._name()}", f"np.tanh({a}) - {b}"])

    def _joined(self) -> str:
        a, b = self._name(), self._name()
        return self.random.choice(
            [
                f"np.concatenate([{a}[:1], {b}[1:-1], {a}[-1:]])",
                f"np.concatenate([{a}[2:], {b}[:2]])",
                f"np.concatenate([{a}[2:], {a}[:2]]) * {b}",
                f"np.pad({a}, 1, mode='wrap')[{', '.join(['2:'] * self.rank)}]",
                f"np.gradient({a}, axis={self.random.randrange(self.rank)})",
            ]
        )


SHAPES = {1: [(23,), (9,)], 2: [(9, 12), (7, 15)], 3: [(6, 7, 8), (9, 6, 5)]}


def compare(seed: int, dynamic: bool | None) -> None:
    """Compares a program with eager, for a few shapes."""
    writer = Writer(seed)
    source = writer.program()
    function = define(source)
    jitted = tnp.jit(function, dynamic=dynamic)
    for k, shape in enumerate(SHAPES[writer.rank]):
        rng = np.random.default_rng(seed + k)
        given = rng.normal(size=shape), rng.normal(size=shape), k + 1
        mine, eagers = ([np.copy(x) if isinstance(x, np.ndarray) else x for x in given] for _ in range(2))
        expected = function(*eagers)
        try:
            with within_bounds():
                assert_same(jitted(*mine), expected, rtol=1e-9)
            assert_same(mine, eagers, what="arguments", rtol=1e-9)
        except Exception:
            print(f"seed {seed}, dynamic={dynamic}, {shape}:\n{source}")
            raise


@pytest.mark.parametrize("dynamic", [False, True, None], ids=["known", "any size", "first known"])
@pytest.mark.parametrize("first", range(0, 40, 10))
def test_programs(first, dynamic):
    for seed in range(first, first + 10):
        compare(seed, dynamic)
