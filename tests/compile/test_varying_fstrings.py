"""Texts made of strings and numbers that differ from call to call: no program a value, unless the program reads them."""

import numpy as np
import pytest

import tnp
from tests.compile.test_varying_texts import programs, x
from tnp.testing import assert_same

pytestmark = pytest.mark.filterwarnings("error::tnp.EagerFallbackWarning")


def test_what_is_only_passed_on():
    def label(a, n, name):
        return {"values": a * 2, "label": f"run {name!r}: step {n:03d}"}

    def log(a, n, name):
        lines = []
        lines.append(f"{n:>6}, {n * 1}, {name}")
        lines.append(f"{{{name}}}")
        return a - n, lines

    def helper(a, text):
        return a * 2, [text, text is None, isinstance(text, str)]

    def passed(a, n, name):
        return helper(a, f"{name}-{n}{'!'}")

    for f in (label, log, passed):
        assert programs(f, [(x(), k, f"s{k}") for k in range(20)]) <= 3


def test_numbers_in_formats():
    def f(a, lr, t):
        return a * lr, f"{lr:.3g} {t!s:>8} {lr:+.2e} {t!r}", f"{lr}"

    assert programs(f, [(x(), 0.1 / (k + 1), k * 0.5) for k in range(12)]) <= 3


def test_texts_of_sizes():
    def f(a, n):
        return np.zeros(n) + a.sum(), f"{n} of {len(a)}"

    assert programs(f, [(np.arange(k + 3.0), k + 2) for k in range(12)]) <= 12


def test_what_is_read_is_right():
    def read(a, n, name):
        text = f"{name}{n}"
        return text.upper(), text + "!", len(text), text == "s3", {text: a}, text in ("s1", "s2"), "x" + text

    def formats(a, n, name):
        return f"{f'{name}':>{n + 3}}", a, f"{[n, name]}", f"{a.sum() > n}"

    def given_to_numpy(a, n, name):
        return a.astype(f"f{4 + 4 * (n % 2)}"), a.astype(f"{'f4' if n % 2 else 'f8'}")

    for f in (read, formats, given_to_numpy):
        programs(f, [(x(), k, f"s{k}") for k in range(6)])


@pytest.mark.filterwarnings("ignore:.* runs eagerly:tnp.EagerFallbackWarning")
def test_strings_that_numpy_reads():
    def dtype(a, kind, n):
        return a.astype(kind), np.einsum(f"{kind[0]},{kind[0]}->", a, a), np.zeros(2, f"{kind}")

    def attribute(a, kind, n):
        return getattr(a, f"{'sum' if n % 2 else 'mean'}")(), a.dtype.name == f"{kind}"

    for f in (dtype, attribute):
        programs(f, [(x(), kind, k) for k, kind in enumerate(("f4", "f8", "i4", "f4", "i8"))])


def test_errors_have_the_text():
    def f(a, n, name):
        if n > 3:
            raise ValueError(f"{name} is {n}, too large")
        return a + n

    jitted = tnp.jit(f)
    for k in range(8):
        if k > 3:
            with pytest.raises(ValueError, match=f"n{k} is {k}, too large"):
                jitted(x(), k, f"n{k}")
        else:
            assert_same(jitted(x(), k, f"n{k}"), f(x(), k, f"n{k}"))
