"""Whole programs: what jit gives is what eager gives, in results, in arguments, in who shares memory with whom.

A failing program is reproduced with ``pytest tests/whole_programs/test_programs.py -k NAME``.
"""

import itertools
import re

import numpy as np
import pytest

import tnp
from tests.programs import programs
from tnp.core.printing import compile_source
from tnp.testing import assert_same
from tnp.testing.opinfo import EXECUTORS

#: programs that are compiled for values that they compute, so that other arguments may need another program
FOR_VALUES = {
    "sequence.run_starts",
    "values.a_number_that_becomes_complex",
    "values.a_random_number_of_draws",
    "values.a_report",
    "values.counts_of",
    "values.events_in_bins",
    "values.spectrum_of_what_is_positive",
    "values.steps_until_full",
}

#: the executors that programs run on here: NumPy, each operation decomposed to prims, and the default
EXECUTOR_NAMES = ("numpy", "numpy[prims]", "llvm")
SEEDS = (0, 1, 2)


def inputs_of(program, seed):
    return program.make_inputs(np.random.default_rng(seed))


def is_instance(x):
    """Whether ``x`` is an object of one of the programs' own classes."""
    return type(x).__module__.startswith("tests.programs") and not isinstance(x, tuple)


def state_of(x):
    """``x`` as plain containers of arrays and numbers: objects are their class's name and attributes."""
    if isinstance(x, (np.random.Generator, np.random.RandomState)):
        state = x.bit_generator.state if isinstance(x, np.random.Generator) else x.get_state(legacy=False)
        return str(state)
    if isinstance(x, (tuple, list)):
        items = [state_of(y) for y in x]
        return type(x)(*items) if hasattr(x, "_fields") else type(x)(items)
    if isinstance(x, dict):
        return {k: state_of(v) for k, v in x.items()}
    if is_instance(x):
        return {"class": type(x).__qualname__, **{k: state_of(v) for k, v in sorted(vars(x).items())}}
    return x


def arrays_of(x):
    """The arrays in ``x``, in the order in which :func:`state_of` shows them."""
    if isinstance(x, np.ndarray):
        return [x]
    if isinstance(x, dict):
        x = list(x.values())
    elif is_instance(x):
        x = [v for _, v in sorted(vars(x).items())]
    return [a for y in x for a in arrays_of(y)] if isinstance(x, (tuple, list)) else []


def sharing(arrays):
    """For each pair of arrays whether they are one object, and whether they share memory."""
    return [(a is b, np.shares_memory(a, b)) for a, b in itertools.combinations(arrays, 2)]


def assert_same_call(program, jitted, eager, seed, same_strides=False):
    """Calls both on equal arguments and compares all that can be seen of it, ``same_strides`` of results included."""
    expected_call, actual_call = inputs_of(program, seed), inputs_of(program, seed)
    np.random.seed(seed)
    expected = eager(*expected_call.args, **expected_call.kwargs)
    expected_random = np.random.random()
    np.random.seed(seed)
    actual = jitted(*actual_call.args, **actual_call.kwargs)
    assert np.random.random() == expected_random, "the state of np.random differs"
    expected_arguments = [expected_call.args, expected_call.kwargs]
    actual_arguments = [actual_call.args, actual_call.kwargs]
    assert_same(state_of(actual), state_of(expected))
    assert_same(state_of(actual_arguments), state_of(expected_arguments), what="arguments")
    for a, e in zip(arrays_of(actual), arrays_of(expected)):
        assert a.flags.writeable == e.flags.writeable, "a result differs in being writable"
        assert not same_strides or a.strides == e.strides or e.size <= 1, (
            f"a result has strides {a.strides}, not {e.strides}"
        )
    actual_sharing = sharing(arrays_of([actual, actual_arguments]))
    assert actual_sharing == sharing(arrays_of([expected, expected_arguments])), "results share other memory"


def printed_program(jitted):
    """A function that runs the source of the final trace, its arguments fetched as the compiled program's are."""
    final = tnp.last_traces(jitted)[-1]
    computation = compile_source(final.python(), final.name, final.python_context())
    context = {**jitted._entries[0].prologue.context, "computation": computation}
    source = tnp.last_prologue_traces(jitted)[0]
    # Native checks that say nothing: what stands behind them, in Python, decides.
    context |= dict.fromkeys(re.findall(r"fits\d+", source), lambda *arrays: None)
    prologue = compile_source(source, "prologue", context)

    def run(*args, **kwargs):
        return prologue(*jitted._bind(*args, **kwargs))

    return run


@pytest.mark.parametrize("executor", EXECUTOR_NAMES)
@pytest.mark.parametrize("program", [p for p in programs.values() if p.name not in FOR_VALUES], ids=lambda p: p.name)
def test_same_as_eager(program, executor):
    eager = program.make()
    jitted = tnp.jit(program.make(), executors=EXECUTORS[executor])
    for seed in SEEDS:
        assert_same_call(program, jitted, eager, seed, same_strides=executor == "numpy")
    assert tnp.cache_info(jitted) == (len(SEEDS) - 1, 1, 1), tnp.explain(jitted)
    assert_same_call(program, printed_program(jitted), eager, len(SEEDS))


@pytest.mark.filterwarnings("error::tnp.EagerFallbackWarning")
@pytest.mark.parametrize("executor", EXECUTOR_NAMES)
@pytest.mark.parametrize("name", sorted(FOR_VALUES))
def test_for_values(name, executor):
    program = programs[name]
    eager, jitted = program.make(), tnp.jit(program.make(), executors=EXECUTORS[executor])
    for seed in (*SEEDS, *SEEDS):
        assert_same_call(program, jitted, eager, seed)
    assert tnp.cache_info(jitted).hits >= len(SEEDS), tnp.explain(jitted)
