"""Gradients of whole programs: loops, branches, the programs of ``tests/programs``, and random ones, against finite differences."""

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tnp
from tests.programs import programs
from tnp.core.subtraces import bodies_of
from tnp.testing.gradients import check_gradients, check_jvp
from tnp.transforms.autodiff import control_flow

X = np.random.default_rng(0).normal(size=5)


# Branches


def branches(x):
    if x.sum() > 0:
        y = np.sin(x)
        y[0] = 2 * x[1]
    else:
        y = x * x
    return y.sum() if y[0] > 0 else (y * 3).sum()


def writes_on_one_side(x):
    y = x * 1.0
    for i in range(5):
        if y[i] < 0:
            y[i] = y[i] ** 2 * x[0]
    return (y * np.arange(5.0)).sum()


@pytest.mark.parametrize("f", (branches, writes_on_one_side))
@pytest.mark.parametrize("sign", (1, -1))
def test_branches(f, sign):
    check_gradients(f, [sign * X])


def test_a_branch_takes_one_side_backwards_too():
    g = tnp.grad(branches)
    g(X)
    conditions = [b for b in tnp.last_traces(g)[0].bound_symbols if b.sym.name == "cond"]
    assert len(conditions) == 4


def broadcast_cotangent(x):
    w = np.sin(x)
    w[0] = w[1] * 2
    if x[2] > 0:
        u = w + 0.5
    else:
        u = w - 0.5
    return u.sum()


@pytest.mark.parametrize("executor", ("numpy", "numpy[prims]", "llvm"))
def test_what_a_branch_broadcasts_is_not_written_to(executor):
    found = tnp.jit(tnp.grad(broadcast_cotangent), executors=[executor])(X)
    np.testing.assert_allclose(found, np.cos(X) * [0, 3, 1, 1, 1])


# Loops


def in_place(x, n=12):
    y = x.copy()
    for i in range(n):
        y[1:] += 0.1 * np.sin(y[:-1]) * x[i % 5]
    return (y * y).sum()


def recurrence(x):
    s = 1.0
    for i in range(20):
        s = s * 0.9 + np.sin(x[i % 5]) * s
    return s


def backwards_by_twos(x):
    y = x * 0.0
    s = 0.0
    for i in range(18, 0, -2):
        y[i % 5] += np.cos(x[(i + 1) % 5]) * i
        s = s + y.max()
    return s


def triangular(x):
    a = np.outer(x[:3], x[2:]) + 3 * np.eye(3)
    for i in range(a.shape[0]):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[j, :j]
            a[i, j] /= a[j, j]
        a[i, i] -= a[i, :i] @ a[i, :i]
    return (a * np.cos(np.arange(9.0)).reshape(3, 3)).sum()


def leaves_early(x):
    s = x * 1.0
    for _ in range(30):
        s = s + 0.3 * np.cos(s)
        if s.sum() > 4:
            break
    return (s**2).sum()


def until(x):
    s = x * 1.0
    while s.sum() < 4:
        s = s + 0.3 * np.cos(s) + 0.1
    return (s**2).sum()


def branches_inside(x):
    total = x[0] * 0.0
    y = x.copy()
    for i in range(11):
        if y[i % 5] > 0:
            y[i % 5] *= 0.5
            total += y.sum()
        else:
            y += x * 0.1
    return total + (y**2).sum()


LOOPS = (in_place, recurrence, backwards_by_twos, triangular, leaves_early, until, branches_inside)


@pytest.mark.parametrize("f", LOOPS)
def test_loops(f):
    check_gradients(f, [X], order=1 if f in (triangular, branches_inside) else 2)


@pytest.mark.parametrize("f", (in_place, until))
def test_loops_forward(f):
    check_jvp(tnp.jit(f, executors=["numpy"]), [X])


def test_a_loop_is_no_longer_for_more_iterations():
    g = tnp.grad(in_place)
    lengths = {len(str(tnp.trace()(g, X, n))) // 100 for n in (20, 200)}
    assert max(lengths) - min(lengths) <= 1


def test_a_loop_that_replaces_an_array_by_one_of_another_shape():
    def replaced(x, y):
        v = x
        for _ in range(14):
            v = np.outer(y, y)
        return v.sum() + x.sum()

    arguments = np.ones((2, 3)), np.arange(1.0, 3)
    np.testing.assert_allclose(tnp.grad(replaced, 1)(*arguments), [6, 6])
    np.testing.assert_allclose(tnp.grad(replaced)(*arguments), np.ones((2, 3)))


def test_lengths_known_at_run_time_through_two_loops():
    def twice(x):
        kept = x[x != 1]
        for _i in range(2):
            for _j in range(9):
                np.sin(kept, out=kept)
        return kept.sum()

    check_gradients(twice, [X])


@pytest.mark.parametrize("executor", ("numpy", "torch", "llvm[everything]"))
@pytest.mark.parametrize("f", (lambda x: x[3, None], lambda x: x[3][None], lambda x: np.broadcast_to(x[2], (3,))))
def test_elements_as_arrays(f, executor):
    g = tnp.jit(tnp.grad(lambda x: (f(x) ** 2).sum()), executors=[executor])
    np.testing.assert_allclose(g(X), tnp.grad(lambda x: (f(x) ** 2).sum())(X))
    assert np.count_nonzero(g(X)) == 1


def test_loops_over_nothing_mapped():
    def squares(x):
        y = x[3:1]
        for _ in range(12):
            y = y * y
        return y.sum()

    mapped = tnp.jit(tnp.vmap(tnp.grad(squares)), executors=["numpy"])
    np.testing.assert_array_equal(mapped(np.ones((3, 5))), np.zeros((3, 5)))


def test_no_round_at_all():
    np.testing.assert_array_equal(tnp.grad(in_place)(X, 0), 2 * X)


# Memory


def kept_by(g, *args):
    """The elements of the largest array that the gradient's program makes."""
    return max(
        int(np.prod(b.output.shape))
        for b in everything(tnp.trace()(g, *args).bound_symbols)
        if b.sym.name == "empty"
    )  # fmt: skip


def everything(bsyms):
    for b in bsyms:
        yield b
        for body in bodies_of(b):
            yield from everything(body.bound_symbols)


@pytest.mark.parametrize("iterations", (23, 400))
def test_long_loops_keep_few_states(iterations, monkeypatch):
    expected = tnp.grad(in_place)(X, iterations)
    monkeypatch.setattr(control_flow, "KEPT_BYTES", 100)
    g = tnp.jit(tnp.grad(lambda x, n: in_place(x, n)))
    assert kept_by(g, X, iterations) <= 5 * 2 * iterations**0.5
    np.testing.assert_allclose(g(X, iterations), expected)
    np.testing.assert_allclose(g(X, iterations), expected)


def test_divided_loops_have_second_derivatives(monkeypatch):
    monkeypatch.setattr(control_flow, "KEPT_BYTES", 1)
    check_gradients(lambda x: in_place(x, 19), [X])


def test_states_that_nothing_needs_are_not_kept():
    def linear(x):
        for _ in range(50):
            x = x * 0.9 + 0.1
        return x.sum()

    trace = tnp.trace()(tnp.grad(linear), X)
    assert not any(b.sym.name == "empty" for b in everything(trace.bound_symbols))


# The programs of tests/programs


#: programs that differ in kind, as they stand in tests/programs
PROGRAMS = (
    "branches.bisection", "branches.insertion_sort", "branches.piecewise", "branches.returns_early", "clustering.k_means",
    "clustering.centroids_by_add_at", "finance.black_scholes", "finance.drawdown", "image.gaussian_blur", "image.max_pool",
    "linear_algebra.thomas", "linear_algebra.chained_products", "loops.symmetric_product", "loops.lu_in_place",
    "loops.levinson_durbin", "loops.gram_schmidt", "loops.sparse_times_vector", "loops.two_buffers",
    "misc.great_circle", "misc.chained_stores", "misc.fancy_indexing", "misc.mixed_dtypes", "misc.scalars", "ml.attention", "ml.rnn",
    "ml.batch_norm", "ml.conv2d_by_im2col", "nbody.lennard_jones", "physics.split_step_schroedinger", "physics.yee_1d",
    "sequence.maximum_subarray", "signal.resample", "statistics.pca", "statistics.impute_missing",
    "stencils.upwind_advection",
)  # fmt: skip


def leaves(x):
    if isinstance(x, (list, tuple)):
        return [z for y in x for z in leaves(y)]
    return [z for y in x.values() for z in leaves(y)] if isinstance(x, dict) else [x]


def widened(x):
    """Single-precision arrays as double-precision ones, whose differences tell more."""
    if isinstance(x, (list, tuple)):
        items = [widened(y) for y in x]
        return type(x)(*items) if hasattr(x, "_fields") else type(x)(items)
    if isinstance(x, dict):
        return {k: widened(v) for k, v in x.items()}
    return x.astype(np.float64) if isinstance(x, (np.ndarray, np.generic)) and x.dtype == np.float32 else x


def weighted_sum(x):
    if isinstance(x, (list, tuple)):
        total = 0.0
        for y in x:
            total = total + weighted_sum(y)
        return total
    if isinstance(x, dict):
        return weighted_sum(list(x.values()))
    if isinstance(x, (np.ndarray, np.generic)):
        if x.dtype.kind == "f":
            return (x * np.cos(np.arange(x.size) + 1.0).reshape(x.shape)).sum()
        return (x.real + 2 * x.imag).sum() if x.dtype.kind == "c" else 0.0
    return x if isinstance(x, float) else 0.0


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    """The derivative of all that a program returns and writes, in a random direction of all its floating-point arguments."""
    f = programs[name].make()
    inputs = programs[name].make_inputs(np.random.default_rng(0))
    args = widened(inputs.args)

    def value(*xs, **options):
        return weighted_sum(f(*xs, **options)) + weighted_sum(xs)

    argnums = tuple(
        i
        for i, a in enumerate(args)
        if leaves(a) and all(isinstance(x, np.ndarray) and x.dtype.kind == "f" for x in leaves(a))
    )
    found = tnp.grad(value, argnums)(*copy.deepcopy(args), **inputs.kwargs)
    rng = np.random.default_rng(5)
    directions = [[rng.normal(size=x.shape) for x in leaves(args[i])] for i in argnums]
    ends = []
    for sign in (1, -1):
        moved = copy.deepcopy(args)
        for i, ds in zip(argnums, directions):
            for x, d in zip(leaves(moved[i]), ds):
                x += sign * 1e-6 * d
        ends.append(float(value(*moved, **inputs.kwargs)))
    expected = (ends[0] - ends[1]) / 2e-6
    actual = sum((g * d).sum() for i, ds in enumerate(directions) for g, d in zip(leaves(found[i]), ds))
    assert abs(actual - expected) <= 1e-5 * max(1.0, abs(expected))


# Random programs

UNARY = ("np.sin({})", "np.tanh({})", "np.exp(-{} * {})", "np.sqrt({} * {} + 1.0)", "np.arctan({})", "({} * 0.5)", "np.cumsum({}, axis=0)",
         "{}[::-1]", "{}.T", "np.roll({}, 1)", "np.where({} > 0.1, {}, 0.3)", "np.sort({}, axis=1)", "np.linalg.norm({}, axis=0) * {}",
         "{}.mean(axis=0) + {}", "np.maximum({}, 0.05)", "({} @ {})")  # fmt: skip
BINARY = (
    "({} + {})",
    "({} * {})",
    "({} - {} * 0.3)",
    "({} @ {}.T) * 0.1",
    "np.hypot({} + 3.0, {})",
    "({} / ({} * {} + 2.0))",
)
STORES = ("{}[1:] += {}[:-1] * 0.5", "{}[0] = {}[1] * {}[2]", "{}[{} > 0.4] = 0.25", "{}[:, 1] *= {}[0]", "{}.T[2] = 1.5 * {}[1]",
          "{}[np.array([0, 2])] += {}[np.array([1, 1])]")  # fmt: skip


@st.composite
def sources(draw):
    """The source of a function of two 3 × 3 arrays: expressions, stores, a loop, a branch."""
    names = ["a", "b"]
    lines = []

    def fill(template):
        return template.format(*(draw(st.sampled_from(names)) for _ in range(template.count("{}"))))

    for k in range(draw(st.integers(2, 5))):
        kind = draw(st.sampled_from(("unary", "unary", "binary", "store", "loop", "branch")))
        if kind in ("unary", "binary"):
            lines.append(f"v{k} = {fill(draw(st.sampled_from(UNARY if kind == 'unary' else BINARY)))}")
        elif kind == "store":
            lines += [f"v{k} = {draw(st.sampled_from(names))}.copy()"]
            store = draw(st.sampled_from(STORES))
            lines.append(
                store.replace("{}", f"v{k}", 1 if "> 0.4" not in store else 2).replace(
                    "{}", draw(st.sampled_from(names))
                )
            )
        elif kind == "loop":
            lines += [f"v{k} = {draw(st.sampled_from(names))} * 1.0", f"for i in range({draw(st.integers(2, 11))}):"]
            lines.append(f"    v{k}[i % 3] = np.sin(v{k}[(i + 1) % 3]) + {draw(st.sampled_from(names))}[i % 2] * 0.5")
        else:
            condition, other = draw(st.sampled_from(names)), draw(st.sampled_from(names))
            lines += [
                f"if {condition}[0, 0] > 0.2:",
                f"    v{k} = {fill('{} * {}')}",
                "else:",
                f"    v{k} = {other} + 0.5",
            ]
        names.append(f"v{k}")
    body = "\n".join(f"    {line}" for line in lines)
    return f"def f(a, b):\n{body}\n    return ({names[-1]} * np.cos(np.arange(9.0)).reshape(3, 3)).sum() + {names[-2]}.sum()\n"


@settings(max_examples=10, deadline=None, derandomize=True)
@given(source=sources(), seed=st.integers(0, 1000))
def test_random_programs(source, seed, tmp_path_factory):
    path = tmp_path_factory.mktemp("programs") / "random_program.py"
    path.write_text("import numpy as np\n" + source)
    scope = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    f = scope["f"]
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
    da, db = rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
    with np.errstate(all="ignore"):
        steps = [(f(a + h * da, b + h * db) - f(a - h * da, b - h * db)) / (2 * h) for h in (1e-6, 2e-6)]
    found = tnp.grad(f, (0, 1))(a, b)
    actual = (found[0] * da).sum() + (found[1] * db).sum()
    scale = max(1.0, abs(steps[0]))
    if abs(steps[0] - steps[1]) <= 1e-6 * scale:  # else a step crosses a kink
        assert abs(actual - steps[0]) <= 1e-5 * scale, source
