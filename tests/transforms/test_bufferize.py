"""Updates made writes to memory: where a place's shape follows from the program alone."""

import numpy as np
from scipy.ndimage import map_coordinates

import tnp
from tnp.testing import assert_same


def test_an_update_of_a_view_whose_shape_is_computed():
    """The count is computed of sizes and a number, which is guarded: it is a number of the program, and none of the pass."""

    def rings(x, step):
        n, m = x.shape
        radius = np.sqrt(np.arange(float(n))[:, None] ** 2 + np.arange(float(m)) ** 2)
        count = int(np.ceil((radius.max() - radius.min()) / step))
        grid = np.linspace(radius.min(), radius.max(), count, endpoint=False)
        places = np.vstack((grid, grid / step)) / 2
        out = map_coordinates(x, np.repeat(places, m, axis=1), order=1).reshape((count, m))
        out *= grid[:, None]
        return out, grid

    jitted = tnp.jit(rings, strict=True)
    for n in (4, 6):
        x = np.arange(n * 5.0).reshape(n, 5)
        for step in (1, 2, 0.5):
            assert_same(jitted(x, step), rings(x, step), exact=False)


def test_lists_that_loops_extend_are_not_copied():
    """The call may start over where there is no room: what the loop has written by then is the program's own."""

    def f(x, begins, ends):
        found, owners = [], []
        for j, (begin, end) in enumerate(zip(begins, ends)):
            found.extend(x[begin:end])
            owners.extend([j] * (end - begin))
        return found, owners

    x, begins = np.arange(200.0), np.arange(150) % 7
    jitted = tnp.jit(f)
    assert jitted(x, begins, begins + begins % 3) == f(x, begins, begins + begins % 3)
    loop = str(tnp.last_traces(jitted)[-1]).partition("for i")[2]
    assert loop and "np.array(" not in loop and "[...] =" not in loop


def test_a_copy_is_not_copied_before_it_is_written_to():
    """``a.copy()`` and ``np.array(a)`` may not be views, though other results of these functions may."""

    def method(a, b):
        c = a.copy()
        c[0] = b
        return c

    def function(a, b):
        c = np.array(a)
        c[:, 0] = b
        return c

    a, b = np.arange(9.0).reshape(3, 3), np.ones(3)
    for f in (method, function):
        jitted = tnp.jit(f)
        before = a.copy()
        assert_same(jitted(a, b), f(a, b))
        assert_same(a, before)
        text = str(tnp.last_traces(jitted)[-1])
        assert text.count(".copy(") + text.count("np.array(") == 1, text
