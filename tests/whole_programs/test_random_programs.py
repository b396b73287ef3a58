"""Random programs over arrays, views and writes, jitted and eager: the same results, arguments and aliasing.

A program is a list of statements of Python source, so that the rewriter sees what it sees in a user's file; a failing one
prints whole.
"""

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import tnp
from tests.fuzzing import Tally, define
from tnp.testing import assert_same

DTYPES = ("float64", "float32", "int64", "int32", "uint8", "bool", "complex128")
UNARY = ("np.sin({0})", "np.exp(-abs({0}))", "{0} * 2", "1 - {0}", "np.sqrt(abs({0}))", "{0}.copy()", "+({0} * 1)", "np.square({0})",
         "{0}.astype(np.float32)", "np.cumsum({0}, axis=-1)", "np.sort(abs({0}), axis=-1)", "np.where(abs({0}) > 1, {0}, 0)", "np.flip({0})")  # fmt: skip
BINARY = ("{0} + {1}", "{0} * {1}", "np.maximum(abs({0}), abs({1}))", "np.where(abs({0}) > abs({1}), {0}, {1})",
          "np.hypot(abs({0}), abs({1}))", "({0} == {1})", "np.add.outer({0}, {1}).sum(axis=0)")  # fmt: skip
REDUCE = (
    "{0}.sum()",
    "{0}.mean(axis=0)",
    "abs({0}).max(axis=-1, keepdims=True)",
    "{0}.sum(axis=0)",
    "np.prod({0} * 0.1)",
    "{0}.any(axis=-1)",
)
VIEWS = ("{0}[1:]", "{0}[::-1]", "{0}[..., ::2]", "{0}.T", "{0}[0]", "{0}[-1:]", "{0}[None]", "{0}.reshape(-1)", "{0}.ravel()",
         "np.swapaxes({0}, 0, -1)", "np.squeeze({0})", "{0}[...]", "np.atleast_2d({0})")  # fmt: skip
WRITES = ("{0}[...] = {1}", "{0} += 1", "{0} *= 2", "{0}[0] = {1}", "{0}[1:] = {0}[:-1]", "{0}[..., 0] += 3", "{0}[{0} == {0}] = 1",
          "np.multiply({0}, 3, out={0}, casting='unsafe')", "{0}[::2] = 7", "{0}.fill(2)", "{0} -= {1}", "{0}[[0]] = 5", "{0}[abs({0}) > 1] *= 2")  # fmt: skip


@st.composite
def programs(draw):
    """(source, arguments): statements over variables a, b, c and what they define."""
    shapes = draw(st.lists(st.sampled_from([(4,), (3, 4), (2, 3, 4), (1,), (3, 1), (4, 4)]), min_size=2, max_size=3))
    names = ["a", "b", "c"][: len(shapes)]
    arguments = []
    for i, shape in enumerate(shapes):
        dtype = draw(st.sampled_from(DTYPES))
        rng = np.random.default_rng(draw(st.integers(0, 100)) + i)
        arguments.append(
            (rng.uniform(-3, 3, shape) * (1 if dtype != "uint8" else 0.5) + (2 if dtype == "uint8" else 0)).astype(
                dtype
            )
        )
    variables = list(names)
    lines = []
    for i in range(draw(st.integers(2, 9))):
        kind = draw(st.sampled_from(("unary", "binary", "reduce", "view", "view", "write", "write")))
        table = {"unary": UNARY, "binary": BINARY, "reduce": REDUCE, "view": VIEWS, "write": WRITES}[kind]
        x, y = draw(st.sampled_from(variables)), draw(st.sampled_from(variables))
        text = draw(st.sampled_from(table)).format(x, y)
        if kind == "write":
            lines.append(text)
        else:
            lines.append(f"v{i} = {text}")
            variables.append(f"v{i}")
    result = draw(st.lists(st.sampled_from(variables), min_size=1, max_size=3))
    body = "\n".join(f"    {line}" for line in lines)
    return f"def program({', '.join(names)}):\n{body}\n    return {', '.join(result)},\n", arguments


def run(f, arguments):
    """The result, or the type of what is raised; and the arguments afterwards."""
    copies = [a.copy() for a in arguments]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return f(*copies), copies, None
        except Exception as error:
            return None, copies, error


def sharing(result, arguments):
    arrays = [x for x in (*result, *arguments) if isinstance(x, np.ndarray)]
    return [[np.shares_memory(x, y) for y in arrays] for x in arrays]


@pytest.fixture
def tally():
    """Counts how a test's programs are run: writes to what may share memory make a third of them eager."""
    counts = Tally()
    yield counts
    counts.check(0.5)


@pytest.mark.parametrize("executors", [None, ("numpy[prims]",)], ids=["numpy", "numpy[prims]"])
@settings(max_examples=75, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs())
def test_random_program(executors, tally, program):
    source, arguments = program
    note(source)
    note(repr(arguments))
    f = define(source)
    expected, after, error = run(f, arguments)
    jitted = tnp.jit(f, executors=executors)
    for _ in range(2):
        actual, jitted_after, jitted_error = run(jitted, arguments)
        assert type(jitted_error) is type(error), f"{jitted_error!r} instead of {error!r}"
        assert_same(jitted_after, after, what="arguments")
        if error is None:
            assert_same(actual, expected)
            assert sharing(actual, jitted_after) == sharing(expected, after)
    tally.add(jitted)
