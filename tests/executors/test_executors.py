"""Executors: who runs what, how operations are added, and how regions form."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tnp
from tnp.core import dtypes, prims
from tnp.core.proxies import TensorProxy
from tnp.core.symbol import BoundSymbol, OpTags, Symbol
from tnp.executors import registry
from tnp.executors.base import FusionExecutor, Implementation, OperatorExecutor, Region
from tnp.testing import assert_same
from tnp.transforms.claim import Fusable
from tnp.transforms.fusion_regions import find_regions

X = np.arange(12.0).reshape(3, 4)


def names(f):
    """The operations that a compiled program runs, as it prints them."""
    return [b.sym.name for b in tnp.last_traces(f)[-1].body]


def executors_of(f):
    return [b.sym.executor.name for b in tnp.last_traces(f)[-1].body]


# Operator executors


def counting(name, symbol, function, **options):
    """An executor that runs ``symbol`` as ``function`` and counts how often."""
    executor = OperatorExecutor(name, version=1)
    calls = []

    def run(*args):
        calls.append(name)
        return function(*args)

    op = executor.register_operator(f"{name}_op", meta=symbol.meta, fn=run)
    executor.register_implementation(symbol, op, **options)
    return executor, calls


@pytest.mark.parametrize("order", [("first", "second"), ("second", "first")])
def test_the_order_of_executors_is_their_priority(order):
    opener = OperatorExecutor("opener")
    opener.implementations["numpy.add"] = Implementation(decomposes=True)
    made = {name: counting(name, prims.add, np.add) for name in order}
    f = tnp.jit(lambda x: x + 1, executors=[opener, *(made[name][0] for name in order)])
    assert_same(f(X), X + 1)
    assert executors_of(f) == [order[0]]
    assert made[order[0]][1] == [order[0]]
    assert made[order[1]][1] == []


def test_a_checker_sees_proxies_and_may_refuse():
    seen = []

    def checker(a, b):
        seen.append((a, b))
        return a.dtype is dtypes.float32

    add = tnp.lang.numpy.add
    executor, calls = counting("picky", add, np.add, checker=checker)
    f = tnp.jit(lambda x: x + 1, executors=[executor])
    assert_same(f(X), X + 1)
    assert executors_of(f) == ["numpy"]
    assert not calls
    assert_same(f(X.astype(np.float32)), X.astype(np.float32) + 1)
    assert executors_of(f) == ["picky"]
    assert calls == ["picky"]
    assert all(isinstance(a, TensorProxy) and b == 1 for a, b in seen)


def test_a_refused_function_is_claimed_whole_by_the_next():
    executor, _ = counting("never", tnp.lang.numpy.add, np.add, checker=lambda a, b: False)
    f = tnp.jit(lambda x: x + 1, executors=[executor])
    assert_same(f(X), X + 1)
    assert names(f) == ["add"]
    assert executors_of(f) == ["numpy"]


def test_what_nobody_takes_whole_is_opened():
    executor = OperatorExecutor("composer")
    made = executor.register_operator("plain", meta=lambda a: TensorProxy(like=a), fn=np.negative)
    twice = Symbol("twice", lambda a: made(made(a)), id="test.twice")
    f = tnp.jit(lambda x: twice(x), executors=[executor])
    assert_same(f(X), X)
    assert names(f) == ["plain", "plain"]


def test_no_executor_is_an_error_that_says_everything():
    lonely = prims.make_prim("test.lonely", "lonely", meta=lambda a: TensorProxy(like=a))
    refusing, _ = counting("refusing", lonely, np.negative, checker=lambda a: False)
    with pytest.raises(tnp.NoExecutorError) as error:
        tnp.jit(lambda x: lonely(x), executors=[refusing])(X)
    message = str(error.value)
    assert "lonely" in message
    assert "x: cpu f64[3, 4]" in message
    assert "executors asked: refusing, python, numpy" in message
    assert "not supported by: refusing" in message
    assert "test_executors.py" in message


def test_register_operator_with_meta():
    executor = OperatorExecutor("with_meta")
    rows = executor.register_operator(
        "row_sums", meta=lambda a: TensorProxy(like=a, shape=a.shape[:1]), fn=lambda a: a.sum(1)
    )
    f = tnp.jit(lambda x: rows(x) * 2, executors=[executor])
    assert_same(f(X), X.sum(1) * 2)
    assert names(f)[0] == "row_sums"


def test_register_operator_with_like():
    executor = OperatorExecutor("with_like")
    calls = []

    def run(a):
        calls.append(a)
        return 2 * a

    double = executor.register_operator("double", like=lambda a: a + a, fn=run)
    f = tnp.jit(lambda x: double(x), executors=[executor])
    assert_same(f(X), X + X)
    assert len(calls) == 1
    acquired = tnp.last_traces(f)[0].body[0]
    assert [b.sym.name for b in acquired.subsymbols] == ["add"]


def test_register_operator_refuses_wrong_uses():
    executor = OperatorExecutor("strict")
    with pytest.raises(ValueError, match="either like= or meta="):
        executor.register_operator("a", fn=abs)
    with pytest.raises(ValueError, match="either like= or meta="):
        executor.register_operator("a", like=abs, meta=abs, fn=abs)
    executor.register_operator("a", meta=abs, fn=abs)
    with pytest.raises(ValueError, match="has an operator 'a' already"):
        executor.register_operator("a", meta=abs, fn=abs)
    with pytest.raises(ValueError, match="needs op="):
        executor.register_implementation("a")


def test_execution_transform_runs_in_place_of_the_symbol():
    executor = OperatorExecutor("transforming")

    def transform(a, b):
        return tnp.lang.numpy.subtract(tnp.lang.numpy.negative(a), tnp.lang.numpy.negative(b))

    executor.register_implementation("numpy.subtract", execution_transform=transform, checker=lambda a, b: b is not a)
    f = tnp.jit(lambda x, y: x + y, executors=[executor])
    assert_same(f(X, X + 1), X + X + 1)

    swapped = OperatorExecutor("swapped")
    swapped.register_implementation(
        "numpy.subtract", execution_transform=lambda a, b: tnp.lang.numpy.negative(tnp.lang.numpy.add(-b, a) * -1)
    )
    g = tnp.jit(lambda x, y: (x - y) * 2, executors=[swapped])
    assert_same(g(X, X * 3), (X - X * 3) * 2)
    assert "subtract" not in names(g)


def test_an_execution_transform_may_not_call_its_own_symbol():
    executor = OperatorExecutor("circular")
    executor.register_implementation("numpy.add", execution_transform=lambda a, b: tnp.lang.numpy.add(b, a))
    with pytest.raises(tnp.NoExecutorError, match="calls the operation itself"):
        tnp.jit(lambda x: x + 1, executors=[executor])(X)


def test_an_execution_transform_may_return_its_argument():
    executor = OperatorExecutor("identity")
    executor.register_implementation("numpy.positive", execution_transform=lambda a: a)
    f = tnp.jit(lambda x: np.positive(x * 2) + 1, executors=[executor])
    assert_same(f(X), X * 2 + 1)


# The registry


def test_all_executors_are_listed():
    found = {e.name for e in tnp.get_all_executors()}
    assert {"python", "numpy", "llvm"} <= found


def test_default_executors_are_used_where_none_are_named():
    executor, calls = counting("a_default", tnp.lang.numpy.add, np.add)
    before = tnp.get_default_executors()
    try:
        tnp.set_default_executors([executor])
        assert tnp.get_default_executors() == (executor,)
        assert_same(tnp.jit(lambda x: x + 1)(X), X + 1)
        assert calls == ["a_default"]
        assert_same(tnp.jit(lambda x: x + 1, executors=[])(X), X + 1)
        assert calls == ["a_default"]
    finally:
        tnp.set_default_executors(before)
    assert tnp.get_default_executors() == before


def test_executors_are_found_by_name():
    executor = OperatorExecutor("by_name")
    registry.register_executor(executor)
    try:
        registry.add_default_executor("by_name")
        assert registry.get_default_executors()[0] is executor
        registry.remove_default_executor("by_name")
        assert executor not in registry.get_default_executors()
        assert executor in tnp.get_all_executors()
    finally:
        registry.deregister_executor("by_name")
    with pytest.raises(ValueError, match=r"no executor 'by_name' here; known are .*numpy"):
        tnp.jit(lambda x: x, executors=["by_name"])


def test_torch_is_imported_when_its_executor_is_named():
    code = "import sys, tnp; tnp.jit(lambda x: x)(1.0); print('torch' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "False"


# Fusing executors


class Fuser(FusionExecutor):
    """Compiles a region by running the prims and functions in it, with NumPy, one after the other."""

    def __init__(
        self, name="fuser", *, takes=("add", "multiply", "subtract", "sin", "getitem"), declines=lambda region: False
    ):
        super().__init__(name, version=1)
        self.takes = takes
        self.declines = declines
        self.regions = []

    def can_fuse(self, bsym):
        return bsym.sym.name in self.takes

    def fuse(self, region, name):
        assert isinstance(region, Region)
        self.regions.append(region)
        if self.declines(region):
            return None

        def run(*values):
            env = {p.name: v for p, v in zip(region.inputs, values)}
            for b in region.bound_symbols:
                args = [env[a.name] if isinstance(a, TensorProxy) else a for a in b.args]
                env[b.output.name] = args[0][args[1]] if b.sym.name == "getitem" else getattr(np, b.sym.name)(*args)
            return tuple(env[p.name] for p in region.outputs)

        return run


def fused(f, *args, **options):
    """Runs ``f`` with a :class:`Fuser`, checks it against eager, and returns the regions' operations."""
    fuser = Fuser(**options)
    jitted = tnp.jit(f, executors=[fuser])
    for _ in range(2):
        assert_same(jitted(*(a.copy() for a in args)), f(*(a.copy() for a in args)))
    return [[b.sym.name for b in r.bound_symbols] for r in fuser.regions], fuser, jitted


def test_a_chain_is_one_region():
    regions, fuser, jitted = fused(lambda x: np.sin(x) * 2 + x, X)
    assert regions == [["sin", "multiply", "add"]]
    assert names(jitted) == ["fuser_fusion0"]
    (region,) = fuser.regions
    assert [p.name for p in region.inputs] == ["x"]
    assert len(region.outputs) == 1


def test_only_what_is_read_outside_comes_out():
    def f(x):
        a = np.sin(x)
        b = a * 2
        c = b + 1
        return c, a

    _, fuser, _ = fused(f, X)
    (region,) = fuser.regions
    assert [p.name for p in region.outputs] == [
        region.bound_symbols[0].output.name,
        region.bound_symbols[2].output.name,
    ]


def test_what_is_read_by_a_later_operation_comes_out():
    regions, fuser, _ = fused(lambda x: np.cos(np.sin(x) + 1), X)
    assert regions == [["sin", "add"]]
    assert [p.name for p in fuser.regions[0].outputs] == [fuser.regions[0].bound_symbols[1].output.name]


def test_an_operation_between_cuts_a_region():
    """``cos`` needs the region's start, and its end needs ``cos``: they are two."""
    regions, _, _ = fused(lambda x: np.cos(x + 1) * 2 + x, X)
    assert regions == [["add"], ["multiply", "add"]]


def test_regions_stay_convex():
    def f(x):
        a = x + 1
        b = np.cos(a)
        return a * b

    regions, _, jitted = fused(f, X)
    assert regions == [["add"], ["multiply"]]
    assert names(jitted) == ["fuser_fusion0", "cos", "fuser_fusion1"]


def test_independent_operations_join():
    regions, _, _ = fused(lambda x, y: (x + 1, np.cos(y), y * 2), X, X)
    assert regions == [["add", "multiply"]]


def test_an_operation_joins_over_an_unrelated_one():
    def f(x, y):
        a = x + 1
        b = np.cos(y)
        c = a * 2
        return c - b

    regions, _, _ = fused(f, X, X)
    assert sum(map(len, regions)) == 3
    assert regions in ([["add", "multiply"], ["subtract"]], [["add", "multiply", "subtract"]])


def test_a_declined_region_goes_to_the_executors_behind():
    regions, _, jitted = fused(lambda x: np.sin(x) + 1, X, declines=lambda region: True)
    assert regions == [["sin", "add"]]
    assert names(jitted) == ["sin", "add"]
    assert set(executors_of(jitted)) == {"numpy"}


def test_one_region_declined_another_not():
    f = lambda x: np.cos(np.sin(x) + 1) * 2 - x  # noqa: E731
    declines = lambda region: any(b.sym.name == "sin" for b in region.bound_symbols)  # noqa: E731
    regions, _, jitted = fused(f, X, declines=declines)
    assert regions == [["sin", "add"], ["multiply", "subtract"]]
    assert names(jitted) == ["sin", "add", "cos", "fuser_fusion0"]


def test_two_fusers_share_a_program():
    first, second = Fuser("first", takes=("sin", "add")), Fuser("second", takes=("add", "multiply"))
    jitted = tnp.jit(lambda x: (np.sin(x) + 1) * 2 * x, executors=[first, second])
    assert_same(jitted(X), (np.sin(X) + 1) * 2 * X)
    assert names(jitted) == ["first_fusion0", "second_fusion1"]


def test_a_declining_fuser_leaves_to_the_next_fuser():
    first = Fuser("first", declines=lambda region: True)
    second = Fuser("second")
    jitted = tnp.jit(lambda x: np.sin(x) + 1, executors=[first, second])
    assert_same(jitted(X), np.sin(X) + 1)
    assert names(jitted) == ["second_fusion0"]


def test_writes_keep_their_order_around_regions():
    def f(x):
        a = x + 1
        x[0] = 7
        b = x * 2
        x[1] = b[0]
        return a, b, x[1] - b[1]

    regions, _, jitted = fused(f, X)
    assert regions
    x = X.copy()
    eager = X.copy()
    jitted(x)
    f(eager)
    assert_same(x, eager)


def test_regions_of_views_and_results_that_are_arguments():
    fused(lambda x, y: (x, x + y, y), X, X)
    fused(lambda x: x[1:] + x[:-1], X)


# Regions of any graph


def _graph(edges, fusable, effects, longest=None):
    """Bound symbols on named values: node ``i`` reads the nodes in ``edges[i]``. Regions of more than ``longest`` nodes are cut."""
    values = [TensorProxy(f"v{i}", shape=(2,), dtype=dtypes.float64) for i in range(len(edges))]
    fuser = Fuser()
    if longest is not None:
        fuser.region_limit, fuser.longest_region, fuser.cached_bytes = 2, longest, 16
    bsyms = []
    for i, sources in enumerate(edges):
        tags = (OpTags.EFFECT,) if effects[i] else ()
        symbol = Symbol(f"op{i}", lambda *a: a, id=f"op{i}", is_prim=True, tags=tags)
        kind = Fusable if fusable[i] else BoundSymbol
        bsyms.append(kind(symbol, tuple(values[j] for j in sources), {}, values[i]))
        if fusable[i]:
            bsyms[-1].fuser = fuser
    return bsyms


@st.composite
def graphs(draw):
    n = draw(st.integers(1, 14))
    edges = [draw(st.lists(st.integers(0, i - 1), max_size=3, unique=True)) if i else [] for i in range(n)]
    flags = st.lists(st.booleans(), min_size=n, max_size=n)
    return edges, draw(flags), draw(flags) if draw(st.booleans()) else [False] * n


@given(graphs(), st.none() | st.integers(2, 6))
@settings(max_examples=300, deadline=None)
def test_regions_of_a_random_graph_are_a_valid_program(graph, longest):
    edges, fusable, effects = graph
    bsyms = _graph(edges, fusable, effects, longest)
    groups = find_regions(bsyms)
    assert longest is None or max(map(len, groups)) <= longest
    flat = [b for g in groups for b in g]
    assert sorted(map(id, flat)) == sorted(map(id, bsyms)), "every operation stands once"
    done = set()
    for group in groups:
        # A region runs as one step: all that it reads from outside is there when it starts.
        made = {p.name for b in group for p in b.flat_outputs}
        inside = set()
        for b in group:
            for p in b.flat_inputs:
                assert p.name in done or p.name in inside, f"{b} reads {p.name} too early"
            inside.update(p.name for p in b.flat_outputs)
        assert inside == made
        done |= made
        assert len(group) == 1 or all(isinstance(b, Fusable) for b in group)
    assert [b for b in flat if b.has_tag(OpTags.EFFECT)] == [b for b in bsyms if b.has_tag(OpTags.EFFECT)]


def test_what_reads_arguments_alone_joins_the_region_of_its_reader():
    bsyms = _graph([[], [0], [], [2], [1, 3]], [True, False, True, True, True], [False] * 5)
    assert find_regions(bsyms) == [bsyms[:1], bsyms[1:2], bsyms[2:]]


@given(st.lists(st.sampled_from(["add", "sin", "cos", "multiply", "write"]), min_size=1, max_size=9), st.randoms())
@settings(max_examples=40, deadline=None)
def test_random_programs_fuse_to_the_same(steps, random):
    choices = [(random.random(), random.random(), random.randrange(3)) for _ in steps]

    def f(x):
        found = [x * 0.5]
        for step, (p, q, row) in zip(steps, choices):
            a, b = found[int(p * len(found))], found[int(q * len(found))]
            if step == "write":
                x[row] = a[row] + b[row]
            elif step in ("sin", "cos"):
                found.append(getattr(np, step)(a))
            else:
                found.append(getattr(np, step)(a, b) * 0.25)
        return tuple(found)

    jitted = tnp.jit(f, executors=[Fuser()])
    for _ in range(2):
        x, y = X.copy(), X.copy()
        assert_same(jitted(x), f(y))
        assert_same(x, y)
