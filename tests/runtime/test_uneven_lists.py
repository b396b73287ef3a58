"""Lists of arrays of several lengths as one array and offsets, by native code and without."""

import numpy as np
import pytest

from tnp.runtime import uneven_lists

rng = np.random.default_rng(0)


@pytest.fixture(params=["native", "python"])
def functions(request, monkeypatch):
    if request.param == "python":
        monkeypatch.setattr(uneven_lists, "_native", ())
    return uneven_lists


@pytest.mark.parametrize("dtype", ["f8", "f4", "i1", "?", "c16"])
@pytest.mark.parametrize("rest", [(), (3,), (2, 2), (0,)])
def test_there_and_back(functions, dtype, rest):
    items = [(rng.random((n, *rest)) * 9).astype(dtype) for n in (3, 0, 1, 5, 0)]
    rows, offsets = functions.joined(items)
    assert offsets.tolist() == [0, 3, 3, 4, 9, 9]
    np.testing.assert_array_equal(rows, np.concatenate(items), strict=True)
    assert not rows.flags.writeable
    assert not offsets.flags.writeable
    for a, b in zip(functions.parted(rows, offsets), items, strict=True):
        np.testing.assert_array_equal(a, b, strict=True)
        assert a.base is None
        assert a.flags.writeable
    measured, offsets_alone = functions.measured(items)
    assert (measured.shape, measured.dtype, offsets_alone.tolist()) == (rows.shape, rows.dtype, offsets.tolist())


class Own(np.ndarray):
    pass


@pytest.mark.parametrize(
    "items",
    [
        [],
        (np.ones(2), np.ones(3)),
        [np.ones(2), np.ones(3, np.float32)],
        [np.ones(2), np.ones((3, 1))],
        [np.ones((2, 2)), np.ones((3, 1))],
        [np.ones(2), [1.0]],
        [np.ones(2), None],
        [1.0, np.ones(2)],
        [np.array(1.0), np.array(2.0)],
        [np.ones(6)[::2], np.ones(2)],
        [np.ones(3), np.ones(4)[::-1]],
        [np.ones(2).view(Own), np.ones(3).view(Own)],
        [np.ones(2), np.ones(3).view(Own)],
        [np.ones(2), np.ones(3, ">f8")],
        [np.ones(0)] * 3,
    ],
    ids=str,
)
def test_others_are_left(functions, items):
    assert functions.joined(items) == functions.measured(items) == (None, None)


def test_one_array_of_a_list(functions):
    rows, offsets = functions.joined([np.arange(3)])
    assert (rows.tolist(), offsets.tolist()) == ([0, 1, 2], [0, 3])
    (made,) = functions.parted(rows[:1], np.array([0, 1]))
    assert made.tolist() == [0]
