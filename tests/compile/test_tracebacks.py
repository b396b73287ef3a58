"""Errors of compiled functions end in the user's lines: tnp's frames are not in their tracebacks."""

import os
import traceback

import numpy as np
import pytest

import tnp

OWN = os.path.dirname(tnp.__file__)


def frames(error):
    """Function and source line of each entry of a traceback below the test's own."""
    entries = traceback.extract_tb(error.__traceback__)[1:]
    assert not [e for e in traceback.extract_tb(error.__traceback__) if e.filename.startswith((OWN, "<tnp"))]
    return [(e.name, e.line) for e in entries]


def caught(f, *args, **kwargs):
    with np.errstate(all="ignore"), pytest.raises(Exception) as info:
        f(*args, **kwargs)
    return info.value


def element(x, i):
    y = np.sin(x)
    return y[i]


def outer(x, i):
    z = x * 2
    return element(z, i) + 1


def writes(x, i):
    x += 1
    return (x * 2)[i] * 3


def in_parts(x, seen):
    y = np.sin(x) * 2
    seen.add(1)
    z = np.cos(y) + 1
    return (z * 2)[10]


def chained(x, d):
    try:
        return d["a"] * x
    except KeyError as error:
        raise ValueError("no a") from error


def in_context(x, d):
    try:
        return d["a"] * x
    except KeyError:
        return x[10]


def singular(a):
    return np.linalg.inv(a)


def native_loop_that_has_written(x, n):
    for i in range(n):
        x[i] = np.sqrt(x[i + 1])
    return x


def solves_after_a_write(x, i):
    x += 1
    y = x * 2
    return np.linalg.solve(y, np.ones(i))


def loop_of_arrays(x, n):
    for i in range(n):
        x[i] += np.sort(x[i]) * 2
    return x


CASES = [
    (native_loop_that_has_written, lambda: (np.ones(30), 30)),
    (solves_after_a_write, lambda: (np.ones((2, 2)), 2)),
    (loop_of_arrays, lambda: (np.ones((20, 4)), 30)),
    (outer, lambda: (np.ones(3), 7)),
    (writes, lambda: (np.ones(3), 7)),
    (in_parts, lambda: (np.ones(3), set())),
    (chained, lambda: (np.ones(3), {})),
    (in_context, lambda: (np.ones(3), {})),
    (singular, lambda: (np.zeros((2, 2)),)),
]


@pytest.mark.parametrize("f, make", CASES, ids=lambda x: x.__name__)
@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_tracebacks_are_eagers(f, make):
    expected = caught(f, *make())
    jitted = tnp.jit(f)
    for _ in range(3):
        found = caught(jitted, *make())
        assert type(found) is type(expected) and str(found) == str(expected)
        assert frames(found) == frames(expected)
        for of_found, of_expected in (
            (found.__cause__, expected.__cause__),
            (found.__context__, expected.__context__),
        ):
            assert type(of_found) is type(of_expected)
            if of_found is not None:
                assert frames(of_found) == frames(of_expected)


@pytest.mark.parametrize("executors", [["numpy"], ["numpy[prims]"]])
def test_other_executors_name_the_line_too(executors):
    for f, make in CASES[:3]:
        expected, found = caught(f, *make()), caught(tnp.jit(f, executors=executors), *make())
        assert type(found) is type(expected) and frames(found)[0] == frames(expected)[0]


def test_a_program_that_may_not_run_again_names_the_innermost_function():
    def outer(x, i):
        x += 1
        return solved(x * 2, i)

    def solved(y, i):
        return np.linalg.solve(y, np.ones(i))

    found = [entry for entry in frames(caught(tnp.jit(outer), np.ones((2, 2)), 2)) if entry[0] in ("outer", "solved")]
    assert found[-1] == ("solved", "return np.linalg.solve(y, np.ones(i))")


def test_wrong_arguments_name_the_call():
    assert frames(caught(tnp.jit(element), np.ones(3))) == []
    assert frames(caught(tnp.jit(element), np.ones(3), 1, 2)) == []
    assert frames(caught(tnp.jit(element, strict=True), np.ones(3, object), 1)) == []


def test_derivatives():
    for f in (tnp.grad(element), lambda x, i: tnp.vjp(element, x, 1.0), lambda x, i: tnp.jvp(element, (x,), (x,))):
        assert not [name for name, _ in frames(caught(f, np.ones(3), 9)) if "tnp" in name]
    assert frames(caught(tnp.grad(lambda x: element(x, 9)), np.ones(3)))[-1] == ("element", "return y[i]")


def test_modules():
    torch = pytest.importorskip("torch")

    class Square(torch.nn.Module):
        def forward(self, x):
            return x @ x

    assert frames(caught(tnp.jit(Square()), torch.ones(2, 3)))[-1] == ("forward", "return x @ x")


def test_all_frames_are_shown_if_asked_for():
    with tnp.config.set(full_traceback=True):
        error = caught(tnp.jit(outer), np.ones(3), 7)
    assert any(e.filename.startswith(OWN) for e in traceback.extract_tb(error.__traceback__))


def test_internal_errors_show_all_frames(monkeypatch):
    def fail(*args, **kwargs):
        raise KeyError("first")

    monkeypatch.setattr(tnp.compile.driver, "capture_trace", fail)
    error = caught(tnp.jit(element), np.ones(3), 1)
    assert isinstance(error, tnp.InternalError)
    assert any(e.filename.startswith(OWN) for e in traceback.extract_tb(error.__traceback__))


def test_recursion_keeps_its_frames():
    @tnp.jit
    def down(x, n):
        return x[10] if n == 0 else helper(x, n)

    def helper(x, n):
        return down(x, n - 1) + 1

    names = [name for name, _ in frames(caught(down, np.ones(3), 2))]
    assert names == ["down", "helper", "down", "helper", "down"]
