"""``draw``: what reads memory depends on what wrote it, loops and branches are boxes, and labels are whole."""

import re
import shutil

import numpy as np
import pytest

import tnp
from tests.inspect.test_explain import branching, grid, step


class Picture:
    """A drawing, read again."""

    def __init__(self, text):
        self.text = text
        self.nodes = dict(re.findall(r"^ *(n\d+) \[label=\"((?:[^\"\\]|\\.)*)\"", text, re.M))
        self.boxes = re.findall(r"subgraph cluster_\d+ {\n *label=\"((?:[^\"\\]|\\.)*)\"", text)
        self.edges = re.findall(r"^  (n\d+) -> (n\d+)(?: \[label=\"([^\"]*)\")?", text, re.M)
        self.dashed = re.findall(r"(n\d+) -> (n\d+) \[style=dashed", text)
        assert text.count("{") == text.count("}") and all(a in self.nodes and b in self.nodes for a, b, _ in self.edges)

    def node(self, label, at=0):
        """A node by how its label begins: the one at a place among those."""
        return [n for n, text in self.nodes.items() if text.replace("\\n", " ").startswith(label)][at]

    def arrows(self, origin, target):
        return [label for a, b, label in self.edges if (a, b) == (origin, target)]

    def reaches(self, origin, target):
        seen, rest = set(), [origin]
        while rest:
            at = rest.pop()
            if at not in seen:
                seen.add(at)
                rest += [b for a, b, _ in self.edges if a == at]
        return target in seen


def drawn(f, *args, executors=None, which=-1):
    jitted = tnp.jit(f, executors=executors)
    jitted(*args)
    return Picture(tnp.draw(tnp.last_traces(jitted)[which]))


@pytest.mark.parametrize("executors, n", [(None, 200), (None, 20), (["numpy"], 20)])
def test_a_loop_in_place(executors, n):
    found = drawn(step, *grid(n), 0.1, 2, executors=executors)
    assert "for i0 in range(n)" in found.boxes
    outer_u, inner_u = found.node("u cpu", 0), found.node("u cpu", 1)
    mean, ret = found.node("np.mean" if executors else "mean"), found.node("return")
    assert found.arrows(outer_u, inner_u) and not found.arrows(outer_u, mean)  # the loop has written to it
    labels = sorted(label for a, _, label in found.edges if a == inner_u and label)
    assert labels == sorted(["u[2:, 1:-1]", "u[:-2, 1:-1]", "u[1:-1, 2:]", "u[1:-1, :-2]", "u[1:-1, 1:-1]"])
    assert found.reaches(found.node("v cpu", 0), mean) and found.reaches(found.node("dt"), ret)
    assert {b for _, b in found.dashed} == {inner_u, found.node("v cpu", 1)}
    (last,) = [a for a, b in found.dashed if b == inner_u]
    assert found.arrows(last, mean)


def test_what_reads_a_view_depends_on_a_write_to_its_array():
    def f(x):
        y = np.argsort(x)
        first = y[:2]
        y[0] = 7.0
        return np.argsort(first)

    found = drawn(f, np.ones(4), executors=["numpy"])
    first, last = found.node("np.argsort", 0), found.node("np.argsort", -1)
    assert not found.arrows(first, last) and found.reaches(first, last)
    (write,) = [a for a, b, _ in found.edges if b == last]
    assert write != first and found.arrows(write, last) == ["t0[:2]"]


def test_results_of_branches_come_together():
    found = drawn(branching, np.linspace(0, 1, 1000), 3)
    assert {"if", "else"} <= set(found.boxes)
    either = found.node("either")
    assert sorted(found.nodes[a].split("\\n")[0] for a, b, _ in found.edges if b == either) == [
        "np.argsort",
        "np.argsort",
    ]
    assert found.reaches(either, found.node("return"))


def test_writes_in_branches_reach_what_comes_after():
    def f(x):
        if x.sum() > 1:
            x += 1
        return np.argsort(x)

    found = drawn(f, np.ones(4), executors=["numpy"])
    x, ordered = found.node("x cpu"), found.node("np.argsort")
    assert not found.arrows(x, ordered) and found.arrows(found.node("either"), ordered)


def test_labels_are_whole():
    def f(x):
        x[1:-1, ::2] = np.pad(x, ((1, 1), (2, 2)), constant_values=(1.25, 2.5))[1:-1, ::2][: x.shape[0] - 2, :2]
        return x[..., None].transpose(2, 0, 1)

    found = drawn(f, np.ones((5, 4)), which=0)
    assert any("[1:-1, ::2] = …" in label for label in found.nodes.values())
    pads = next(label for label in found.nodes.values() if "pad" in label).replace("\\n", " ")
    assert "((1, 1), (2, 2))" in pads and "(1.25, 2.5)" in pads and "..." not in pads
    assert not any("…" in label and "= …" not in label for label in found.nodes.values())


def test_a_while_loop_has_its_condition():
    def f(x, tol):
        while np.abs(x).max() > tol:
            x = np.sort(x * 0.5, kind="stable")
        return x

    found = drawn(f, np.ones(100), 0.01)
    (box,) = [label for label in found.boxes if label.startswith("while t")]
    condition = found.node(box, 0)
    (test,) = [a for a, b, _ in found.edges if b == condition]
    assert found.nodes[test].startswith("greater") and found.reaches(found.node("tol"), condition)


def test_all_programs_can_be_drawn():
    def f(x, n):
        total = 0.0
        i = 0
        while i < n and total < 100:
            for j in range(i):
                if x[j] > 0:
                    total += x[j]
                else:
                    x[j] = total
            i += 1
        return total, x

    jitted = tnp.jit(f)
    jitted(np.linspace(-1, 1, 30), 29)
    for trace in tnp.last_traces(jitted):
        assert len(Picture(tnp.draw(trace)).boxes) >= 3
    torch = pytest.importorskip("torch")
    model = tnp.jit(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.LayerNorm(4)))
    model(torch.ones(2, 3)).sum().backward()
    for trace in (*tnp.last_traces(model), *tnp.last_backward_traces(model)):
        assert Picture(tnp.draw(trace)).edges


@pytest.mark.skipif(shutil.which("dot") is None, reason="graphviz is not installed")
def test_graphviz_takes_it(tmp_path):
    for i, which in enumerate((0, -1)):
        jitted = tnp.jit(branching)
        jitted(np.linspace(0, 1, 100), 3)
        tnp.draw(tnp.last_traces(jitted)[which], tmp_path / f"{i}.svg")
        assert "range(n)" in (tmp_path / f"{i}.svg").read_text()


def test_a_jitted_function_is_drawn_as_its_last_trace():
    f = tnp.jit(lambda x: np.sin(x) + 1)
    with pytest.raises(RuntimeError, match="has not been called"):
        tnp.draw(f)
    f(np.zeros(3))
    assert tnp.draw(f) == tnp.draw(tnp.last_traces(f)[-1])
    g = tnp.jit(lambda x: x.astype(str))
    with pytest.warns(tnp.EagerFallbackWarning):
        g(np.zeros(3))
    with pytest.raises(RuntimeError, match="ran eagerly"):
        tnp.draw(g)
