"""Branches in branches that write to arrays: what an attempt finds out about one is known when what stands around it is tried again."""

import importlib

import numpy as np
import pytest

import tnp
from tnp.capture.speculation.regions import Region
from tnp.testing import assert_same


def put(a, k, x):
    a[k] = x


def nested(depth, folder, monkeypatch):
    """A loop with ``depth`` branches in one another, each of which writes to two of four arrays, by a function."""
    lines = [
        "import numpy as np",
        "def f(x, put):",
        "    arrays = np.zeros(4), np.zeros(4), np.zeros(4), np.zeros(4)",
        "    for i in range(len(x)):",
    ]
    for k in range(depth):
        lines.append(f"{'    ' * (k + 2)}if x[i] > {k} * 0.1:")
        lines += [
            f"{'    ' * (k + 3)}put(arrays[{(k + j) % 4}], {k} % 4, x[i] + arrays[{k % 4}][{j}])" for j in range(2)
        ]
    lines.append("    return arrays")
    name = f"nested_{depth}"
    (folder / f"{name}.py").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(str(folder))
    return importlib.import_module(name).f


@pytest.fixture
def opened(monkeypatch):
    """The regions that tracing opens."""
    found = []
    before = Region.open
    monkeypatch.setattr(Region, "open", lambda self: (found.append(1), before(self))[1])
    return found


def test_attempts_grow_with_depth_as_the_program_does(opened, tmp_path, monkeypatch):
    x = np.random.default_rng(0).random(50)
    counts = []
    for depth in (2, 4, 8):
        f = nested(depth, tmp_path, monkeypatch)
        del opened[:]
        assert_same(tnp.jit(f)(x, put), f(x, put))
        counts.append(len(opened))
    assert counts[2] < 3.5 * counts[1] < 12 * counts[0], counts
