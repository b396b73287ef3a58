"""Structured arrays: their fields are inputs of programs."""

import numpy as np
import pytest

import tnp
from tests.eager_checks import compiled_whole, not_compiled_whole
from tnp.testing import assert_same

KIND = np.dtype([("x", "f8"), ("v", "f4", (3,)), ("n", "i4")])
WIDE = np.dtype([("n", "i8"), ("x", "f4"), ("v", "f8", (3,))])


def records(n=50, scale=1.0, kind=KIND):
    rng = np.random.default_rng(0)
    made = np.zeros(n, kind)
    made["x"], made["v"], made["n"] = rng.normal(size=n) * scale, rng.normal(size=(n, 3)), np.arange(n)
    return made


def read(a):
    return np.sin(a["x"]) * a["n"] + a["v"].sum(axis=1), len(a), a.shape, a.ndim, a["v"][:, 0] * 2, a["n"]


def changed_in_place(a):
    x = a["x"]
    x += 1
    a["v"] *= 2
    a["n"][0] = 7
    return a["x"].sum() + a["v"].mean()


def stored(a):
    a["x"] = a["x"] * 2 + a["v"][:, 1]
    a["n"] = 3
    a["v"] = np.arange(3.0)
    return a["x"] + a["n"]


def in_a_loop(a):
    for i in range(len(a)):
        a["x"][i] += a["v"][i, 0] * a["n"][i - 1]
    return a


class Mesh:
    def __init__(self, data):
        self.data = data

    @property
    def v(self):
        return self.data["v"]

    def moved(self, by):
        self.v[:] += by
        self.data["x"] = np.linalg.norm(self.v, axis=1)
        return self.data["x"].mean()


@pytest.mark.parametrize("f", [read, changed_in_place, stored, in_a_loop], ids=lambda f: f.__name__)
def test_programs_do_what_eager_does(f):
    jitted = tnp.jit(f)
    for a in (
        records(),
        records(scale=3.0),
        records(20),
        records(kind=WIDE),
        records()[::2],
        records().view(np.ndarray),
    ):
        mine, eagers = a.copy(), a.copy()
        found, expected = jitted(mine), f(eagers)
        is_same = expected is eagers
        assert is_same == (found is mine)
        if not is_same:
            assert_same(found, expected, rtol=1e-5)
        for name in a.dtype.names:
            assert_same(mine[name], eagers[name], rtol=1e-5, what=name)
    assert compiled_whole(jitted)


def test_an_attribute():
    jitted, mine, eagers = tnp.jit(Mesh.moved), Mesh(records()), Mesh(records())
    for k in range(3):
        by = np.array([k, 1.0, 2.0], "f4")
        assert_same(jitted(mine, by), eagers.moved(by), rtol=1e-5)
    mine.data, eagers.data = records(kind=WIDE), records(kind=WIDE)
    assert_same(jitted(mine, by), eagers.moved(by), rtol=1e-5)
    for name in KIND.names:
        assert_same(mine.data[name], eagers.data[name], rtol=1e-5)
    assert compiled_whole(jitted)


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_other_arrays_at_other_calls():
    jitted = tnp.jit(read)
    assert_same(jitted(records()), read(records()), rtol=1e-5)
    for bad in (np.zeros(50), records()[["x", "n"]]):
        with pytest.raises((IndexError, ValueError)) as expected:
            read(bad)
        with pytest.raises(type(expected.value)) as found:
            jitted(bad)
        assert str(found.value) == str(expected.value)


def test_fields_of_one_memory():
    """A view of the same records is written to: the program would not see it."""

    def f(a, b):
        a["x"] += 1
        return b["x"] * 2 + a["v"][:, 0]

    jitted = tnp.jit(f)
    for of_one in (False, True, False):
        mine, eagers = records(), records()
        other, others = (mine[:], eagers[:]) if of_one else (records(), records())
        if of_one:
            with not_compiled_whole("may overlap"):
                assert_same(jitted(mine, other), f(eagers, others), rtol=1e-5)
        else:
            assert_same(jitted(mine, other), f(eagers, others), rtol=1e-5)
        assert_same(mine["x"], eagers["x"])


#: records of 50 bytes: rows of a field are no whole number of elements apart
FACETS = np.dtype([("v", "f4", (3, 3)), ("flags", "u2"), ("w", "f4", (3,))])


def facets(n=20):
    made = np.zeros(n, FACETS)
    made["v"], made["w"] = np.arange(9.0 * n).reshape(n, 3, 3), np.arange(3.0 * n).reshape(n, 3) / 7
    return made


def first_of_each(a):
    rows = a["v"].reshape(len(a), 9)
    rows[:, 0] += 1
    rows[:, 4:6] *= 2
    return rows.sum(), a["v"].strides, rows[:, ::2].strides


def flattened(a):
    flat = a["v"].reshape(-1)
    flat[1] = 100
    return flat[:3], a["v"][0]


def reversed_rows(a):
    a["w"].reshape(-1, 3)[::-1, 1] = np.arange(len(a))
    a["v"].transpose(1, 2, 0).reshape(9, -1)[3] -= 1
    return a["v"] + a["w"][:, None]


@pytest.mark.parametrize("f", [first_of_each, flattened, reversed_rows], ids=lambda f: f.__name__)
def test_rows_that_are_no_whole_number_of_elements_apart(f):
    """Strides tell for sure which reshapes of a field are views."""
    jitted = tnp.jit(f)
    for _ in range(2):
        mine, eagers = facets(), facets()
        assert_same(jitted(mine), f(eagers), rtol=1e-5)
        assert mine.tobytes() == eagers.tobytes()
    assert compiled_whole(jitted)


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_what_else_is_done_is_pythons():
    def f(a):
        first = a[0]
        b = a[["x", "n"]]
        return (
            first["x"],
            b["n"] * 2,
            a.copy()["x"],
            a.dtype.names,
            np.sqrt(abs(a["x"])) * 2 + a["n"],
            "x" in a.dtype.names,
        )

    jitted = tnp.jit(f)
    for _ in range(2):
        assert_same(jitted(records()), f(records()), rtol=1e-5)


def test_a_read_only_array():
    a = records()
    a.flags.writeable = False
    jitted = tnp.jit(changed_in_place)
    with pytest.raises(ValueError, match="read-only"):
        jitted(a)
    assert_same(jitted(records()), changed_in_place(records()), rtol=1e-5)
    with pytest.raises(ValueError, match="read-only"):
        jitted(a)


def test_strided_arguments_that_share_no_element():
    """They interleave, as fields of one array do."""

    def f(a, b):
        a += np.sin(b)
        return a.sum()

    jitted = tnp.jit(f, strict=True)
    for k in (1.0, 2.0):
        mine, eagers = np.arange(40.0) * k, np.arange(40.0) * k
        assert_same(jitted(mine[::2], mine[1::2]), f(eagers[::2], eagers[1::2]), rtol=1e-12)
        assert_same(mine, eagers, rtol=1e-12)
    with pytest.raises(tnp.TraceError, match="may overlap"):
        jitted(mine[::2], mine[4:24])
