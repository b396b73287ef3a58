"""Functions that return views: writes through them are seen where eager sees them; copies stay apart."""

import warnings

import numpy as np
import pytest

import tnp
from tests.eager_checks import compiled_whole, not_compiled_whole
from tests.sampling import EVERYTHING, some_of
from tnp.testing import assert_same

EXECUTORS = ((), ("numpy[prims]",))


def _matrix():
    return np.arange(12.0).reshape(3, 4)


#: from an array of shape (3, 4) to a view of it (in NumPy: of every layout below, or of some)
VIEWS = {
    "T": lambda x: x.T,
    "transpose": lambda x: np.transpose(x, (1, 0)),
    "permute_dims": np.permute_dims,
    "from_dlpack": np.from_dlpack,
    "matrix_transpose": np.matrix_transpose,
    "swapaxes": lambda x: np.swapaxes(x, 0, -1),
    "moveaxis": lambda x: np.moveaxis(x, 0, 1),
    "rollaxis": lambda x: np.rollaxis(x, 1),
    "expand_dims": lambda x: np.expand_dims(x, (0, 2)),
    "squeeze": lambda x: np.squeeze(x[:1]),
    "atleast_3d": np.atleast_3d,
    "atleast_1d": np.atleast_1d,
    "atleast_2d": lambda x: np.atleast_2d(x[1]),
    "reshape": lambda x: np.reshape(x, (2, 6)),
    "reshape to itself": lambda x: x.reshape(x.shape),
    "reshape of a part": lambda x: x[:, :2].reshape(3, 2, 1),
    "reshape in columns": lambda x: np.reshape(x, (4, 3), order="F"),
    "ravel": np.ravel,
    "ravel of a row": lambda x: np.ravel(x[1]),
    "ravel of a column": lambda x: np.ravel(x[:, 1]),
    "ravel of every other": lambda x: x[0, ::2].ravel(),
    "ravel of columns": lambda x: np.ravel(x, order="F"),
    "ravel of a transpose": lambda x: np.ravel(x.T),
    "flip": np.flip,
    "flip of one": lambda x: np.flip(x, 1),
    "fliplr": np.fliplr,
    "flipud": np.flipud,
    "rot90": np.rot90,
    "rot90 twice": lambda x: np.rot90(x, 2),
    "rot90 back": lambda x: np.rot90(x, -1),
    "rot90 by none": lambda x: np.rot90(x, 4),
    "split": lambda x: np.split(x, 2, 1)[1],
    "split at": lambda x: np.split(x, [1, 2])[1],
    "array_split": lambda x: np.array_split(x, 2)[0],
    "hsplit": lambda x: np.hsplit(x, 4)[2],
    "vsplit": lambda x: np.vsplit(x, 3)[2],
    "asarray": np.asarray,
    "asarray in columns": lambda x: np.asarray(x, order="F"),
    "asanyarray": np.asanyarray,
    "ascontiguousarray": np.ascontiguousarray,
    "ascontiguousarray of a transpose": lambda x: np.ascontiguousarray(x.T),
    "asfortranarray": np.asfortranarray,
    "asfortranarray of a transpose": lambda x: np.asfortranarray(x.T),
    "array without a copy": lambda x: np.array(x, copy=None),
    "array of more dimensions": lambda x: np.array(x, copy=None, ndmin=3),
    "meshgrid without a copy": lambda x: np.meshgrid(x[0], x[:, 0], sparse=True, copy=False)[1],
    "ix_": lambda x: np.ix_(x[0], x[1])[0],
    "chain": lambda x: np.rot90(np.flip(x.T[1:], 0)).reshape(3, 3, 1)[::2],
    "chain of splits": lambda x: np.split(np.swapaxes(x, 0, 1), 2)[1].T[1:],
    "chain of reshapes": lambda x: np.squeeze(np.expand_dims(x.reshape(2, 2, 3), 1), 1).reshape(4, 3)[1:],
}

#: from an array of shape (3, 4) to new memory
COPIES = {
    "array": np.array,
    "copy": np.copy,
    "method copy": lambda x: x.copy(),
    "asarray of another dtype": lambda x: np.asarray(x, np.float32),
    "array of a list": lambda x: np.array([x]),
    "roll": lambda x: np.roll(x, 0, 1),
    "roll by 1": lambda x: np.roll(x, 1),
    "resize": lambda x: np.resize(x, (3, 4)),
    "concatenate": lambda x: np.concatenate([x]),
    "stack": lambda x: np.stack([x]),
    "vstack": lambda x: np.vstack([x]),
    "hstack": lambda x: np.hstack([x]),
    "dstack": lambda x: np.dstack([x]),
    "column_stack": lambda x: np.column_stack([x]),
    "block": np.block,
    "append": lambda x: np.append(x, x[:0], 0),
    "insert": lambda x: np.insert(x, [], 0, axis=0),
    "delete": lambda x: np.delete(x, [], axis=0),
    "tile": lambda x: np.tile(x, 1),
    "repeat": lambda x: np.repeat(x, 1, axis=0),
    "pad": lambda x: np.pad(x, 0),
    "pad with edges": lambda x: np.pad(x, 0, "edge"),
    "tril": lambda x: np.tril(x, 10),
    "triu": lambda x: np.triu(x, -10),
    "diag of a vector": lambda x: np.diag(x[0]),
    "diagflat": np.diagflat,
    "meshgrid": lambda x: np.meshgrid(x[0], x[:, 0], indexing="ij")[0],
    "full_like": lambda x: np.full_like(x, x),
}

if hasattr(np, "unstack"):  # since NumPy 2.1, as is the copy of np.reshape
    VIEWS["unstack"] = lambda x: np.unstack(x, axis=1)[1]
    COPIES["reshape with a copy"] = lambda x: np.reshape(x, (3, 4), copy=True)

#: layouts of the argument: contiguous, transposed, strided, reversed
LAYOUTS = {
    "rows": _matrix,
    "columns": lambda: np.asfortranarray(_matrix()),
    "every other": lambda: np.repeat(_matrix(), 2, 1)[:, ::2],
    "reversed": lambda: np.ascontiguousarray(_matrix()[::-1, ::-1])[::-1, ::-1],
}


def _compare(function, layout, executors):
    """Results and arguments of the function, jitted and eager; falling back to eager is allowed, being right is not optional."""
    expected_argument, argument = LAYOUTS[layout](), LAYOUTS[layout]()
    jitted = tnp.jit(function, executors=executors)
    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected, actual = function(expected_argument), jitted(argument)
        for a, e in zip(actual, expected, strict=True):
            np.testing.assert_array_equal(a, e)
            assert a.dtype == e.dtype
            assert np.shares_memory(a, argument) == np.shares_memory(e, expected_argument)
        np.testing.assert_array_equal(argument, expected_argument)


@pytest.mark.parametrize(
    ("name", "layout", "executors"),
    [
        (name, layout, executors)
        for i, name in enumerate(VIEWS | COPIES)
        for j, executors in enumerate(EXECUTORS)
        for layout in some_of(LAYOUTS, i + j, 2)
    ],
)
def test_write_through_a_result(name, layout, executors):
    """``y = f(x); y[...] = …; x[0] += …``: each sees the other's writes as eager does. Each function has each layout and each executor."""
    function = (VIEWS | COPIES)[name]

    def program(x):
        y = function(x)
        y[...] = y * 2 + 1
        x[0] += 100
        z = y + 1
        y[0] -= 5
        return y, z, x

    _compare(program, layout, executors)


@pytest.mark.parametrize(
    ("name", "layout"), [(name, layout) for i, name in enumerate(VIEWS | COPIES) for layout in some_of(LAYOUTS, i, 2)]
)
def test_write_into_memory_of_the_program(name, layout):
    """The same on an array that the program made, of which nothing goes back to the caller but the results."""
    function = (VIEWS | COPIES)[name]

    def program(x):
        made = x * 2
        y = function(made)
        y += 1
        made[1:] *= 3
        return y.sum(), made

    _compare(program, layout, ())


@pytest.mark.parametrize("name", VIEWS)
def test_views_of_contiguous_memory_are_compiled(name):
    """No view function on a contiguous array falls back to eager."""
    function = VIEWS[name]

    def program(x):
        y = function(x)
        y += 1
        return y

    with warnings.catch_warnings():
        warnings.simplefilter("error", tnp.EagerFallbackWarning)
        tnp.jit(program)(_matrix())


@pytest.mark.parametrize("name", VIEWS)
def test_chains_of_two(name):
    """A view of a view of a part of the argument."""
    function = VIEWS[name]

    def program(x):
        part = x[::-1][:, ::-1]
        y = function(part)
        y *= 2
        again = np.flip(np.atleast_2d(y))
        again[0] = -1
        return part, again

    _compare(program, "rows", ())


READ_ONLY = {
    "diagonal": lambda x: np.diagonal(x),
    "diag": lambda x: np.diag(x),
    "broadcast_to": lambda x: np.broadcast_to(x, (2, 3, 4)),
    "broadcast_to its own shape": lambda x: np.broadcast_to(x, (3, 4)),
}


@pytest.mark.parametrize("name", READ_ONLY)
def test_read_only_views(name):
    """Writing raises as in eager and changes nothing; reading sees later writes to the array."""
    function = READ_ONLY[name]

    def write(x):
        function(x)[...] = 0

    def read(x):
        y = function(x)
        x[0] = -1
        return y.copy(), y.sum()

    x = _matrix()
    with pytest.raises(ValueError, match="read-only"):
        tnp.jit(write)(x)
    np.testing.assert_array_equal(x, _matrix())
    expected, actual = read(_matrix()), tnp.jit(read)(_matrix())
    np.testing.assert_array_equal(actual[0], expected[0])
    assert actual[1] == expected[1]


def test_a_reshape_of_what_numpy_lays_out_otherwise_is_a_copy():
    """np.stack along the last dimension is not row-major, so that its reshape copies."""

    def program(x):
        both = np.stack([x, x], axis=-1)
        flat = both.reshape(-1)
        flat[0] = 99
        return both.sum(), flat

    _compare(program, "rows", ())


def test_asarray_is_the_same_array():
    """np.asarray of an array is that array, not one like it."""

    def program(x):
        assert np.asarray(x) is x
        return np.asarray(x)

    x = _matrix()
    assert tnp.jit(program)(x) is x


def _new_by_functions():
    return [
        np.array([1.0, 2.0]), np.zeros(2), np.full(2, 3.0), np.concatenate([[1.0], [2.0]]), np.tile([1.0], 2),
        np.atleast_1d([1.0, 2.0]), np.linspace(0, 1, 2), np.arange(2.0), np.asarray([5.0, 6.0]), np.diag([1.0, 2.0]),
        np.ones_like([1.0, 2.0]), np.meshgrid([1.0, 2.0], [3.0])[0], np.stack([[1.0], [2.0]]), np.pad([1.0], 1),
    ]  # fmt: skip


def _new_by_other_means():
    return [np.mgrid[0:2] * 1.0, np.ogrid[0:1:3j], np.r_[1.0, 2.0], np.reshape([1.0, 2.0], 2), np.flip([1.0, 2.0])]


@pytest.mark.parametrize(("make", "compiled"), [(_new_by_functions, True), (_new_by_other_means, False)])
def test_arrays_made_of_constants_are_new_at_each_call(make, compiled):
    """A program may write to what it made of constants; of what no traced function made, it runs eagerly then."""

    def program(a):
        made = make()
        for x in made:
            x += a
        return made

    jitted = tnp.jit(program)
    with warnings.catch_warnings():
        warnings.simplefilter("error" if compiled else "ignore", tnp.EagerFallbackWarning)
        for _ in range(3):
            for actual, expected in zip(jitted(1.5), program(1.5), strict=True):
                np.testing.assert_array_equal(actual, expected)


def test_grids_of_index_objects():
    """np.mgrid and np.ogrid with plain numbers are constants of the program; reading them is compiled."""

    def program(x):
        i, j = np.mgrid[0:3, 0:4]
        a, b = np.ogrid[0:3, 0:4]
        return x * i + j, x[a, b] - (a + b)

    with warnings.catch_warnings():
        warnings.simplefilter("error", tnp.EagerFallbackWarning)
        _compare(program, "rows", ())


#: functions that give the argument itself, a view of it, or a copy, as its memory is laid out
MAYBE_COPIES = {
    "asarray": np.asarray,
    "asarray in rows": lambda x: np.asarray(x, order="C"),
    "asarray in columns": lambda x: np.asarray(x, order="F"),
    "asarray, copied": lambda x: np.asarray(x, order="C", copy=True),
    "asanyarray in rows": lambda x: np.asanyarray(x, order="C"),
    "array if needed": lambda x: np.array(x, copy=None),
    "array in rows": lambda x: np.array(x, copy=None, order="C"),
    "array in columns": lambda x: np.array(x, copy=None, order="F"),
    "array in rows of more dimensions": lambda x: np.array(x, copy=None, order="C", ndmin=3),
    "array": np.array,
    "ascontiguousarray": np.ascontiguousarray,
    "ascontiguousarray of a transpose": lambda x: np.ascontiguousarray(x.T),
    "ascontiguousarray of a part": lambda x: np.ascontiguousarray(x[::2] if x.ndim else x),
    "asfortranarray": np.asfortranarray,
    "reshape": lambda x: x.reshape(-1),
    "reshape to itself": lambda x: np.reshape(x, x.shape),
    "reshape in columns": lambda x: x.reshape(-1, order="F"),
    "ravel": np.ravel,
    "ravel in columns": lambda x: x.ravel(order="F"),
    "astype": lambda x: x.astype(np.float64, copy=False),
    "astype in rows": lambda x: x.astype(np.float64, order="C", copy=False),
    "astype in columns": lambda x: x.astype(np.float64, order="F", copy=False),
    "squeeze": np.squeeze,
    "atleast_1d": np.atleast_1d,
    "atleast_2d": np.atleast_2d,
    "atleast_3d": np.atleast_3d,
    "real": np.real,
    "conj": lambda x: x.conj(),
}
#: of each layout, an array
MEMORY = {
    **LAYOUTS,
    "part": lambda: np.arange(35.0).reshape(5, 7)[1:4, 2:6],
    "rows of rows": lambda: np.repeat(_matrix(), 2, 0)[::2],
    "repeated": lambda: np.broadcast_to(np.arange(4.0), (3, 4)),
    "nothing": lambda: np.zeros((3, 8))[:, 4:4],
    "one": lambda: np.ones((2, 3))[:1, :1],
    "one row": lambda: np.ones((2, 8))[:1, ::2],
    "vector": lambda: np.arange(4.0),
    "strided vector": lambda: np.arange(8.0)[::2],
    "0-d": lambda: np.array(3.0),
    "three axes": lambda: np.arange(24.0).reshape(2, 3, 4).transpose(0, 2, 1),
}


def _sharing(results, arguments):
    return [(np.shares_memory(r, a), r is a, r.flags.writeable) for r, a in zip(results, arguments, strict=True)]


@pytest.mark.parametrize(
    ("layout", "executors"),
    [
        (layout, executors)
        for i, layout in enumerate(MEMORY)
        for k, executors in enumerate([("numpy",), ("numpy[prims]",), ("llvm[everything]",), None])
        if EVERYTHING or k in (i % 2, i % 2 + 2)
    ],
)
def test_what_may_be_a_copy_is_one_where_numpy_copies(layout, executors):
    """On every executor results are views, copies, or the argument itself where NumPy's are, and writes through either are seen alike."""

    def returned(*xs):
        return [f(x) for f, x in zip(MAYBE_COPIES.values(), xs, strict=True)]

    def written(*xs):
        made = returned(*xs)
        for y in made:
            y += 1
        for x in xs:
            x *= 2
        for y in made[::2]:
            y -= 5
        return made

    for program in (returned, written) if MEMORY[layout]().flags.writeable else (returned,):
        expected_arguments, arguments = ([MEMORY[layout]() for _ in MAYBE_COPIES] for _ in range(2))
        expected = program(*expected_arguments)
        with warnings.catch_warnings():
            warnings.simplefilter("error", tnp.EagerFallbackWarning)
            actual = tnp.jit(program, executors=executors)(*arguments)
        seen, wanted = _sharing(actual, arguments), _sharing(expected, expected_arguments)
        assert dict(zip(MAYBE_COPIES, seen)) == dict(zip(MAYBE_COPIES, wanted))
        for a, e in zip([*actual, *arguments], [*expected, *expected_arguments], strict=True):
            np.testing.assert_array_equal(a, e)


def test_what_is_required_in_columns_and_is_in_columns():
    def program(x):
        columns = x.T
        y = np.require(columns, requirements="F")
        columns[...] = 7
        return y, columns

    y, columns = tnp.jit(program, strict=True)(_matrix())
    assert y is columns


def test_an_array_and_a_reshape_of_it_are_returned_as_numpy_relates_them():
    """Executors may lay out what NumPy has in columns otherwise, so that whether the reshape is a view is not known."""

    def program(x):
        columns = x.T * 2
        return columns, columns.reshape(-1), np.ascontiguousarray(columns)

    for executors in EXECUTORS:
        with pytest.warns(tnp.EagerFallbackWarning, match="may or may not share memory"):
            columns, flat, rows = tnp.jit(program, executors=executors)(_matrix())
        assert not np.shares_memory(columns, flat)
        assert not np.shares_memory(columns, rows)


def test_a_reshape_of_a_line_of_unknown_layout_is_a_view():
    """Rows of a result whose layout tnp does not know, reshaped: they share the memory of one array, and the program is compiled whole."""

    def program(a, b):
        rows = np.dot(a, b.T).T
        first, second = rows[0].reshape(4, 5), rows[1].reshape(2, 10)
        first[1] += 1
        first[2:] *= 2
        return first, second, rows, rows[:, :1].reshape(3).reshape(1, 3, 1)

    a, b = np.arange(60.0).reshape(20, 3), np.arange(9.0).reshape(3, 3)
    expected = program(a, b)
    for executors in EXECUTORS:
        with warnings.catch_warnings():
            warnings.simplefilter("error", tnp.EagerFallbackWarning)
            got = tnp.jit(program, **({"executors": executors} if executors else {}))(a, b)
        assert_same(got, expected)
        assert [np.shares_memory(got[2], x) for x in got] == [np.shares_memory(expected[2], x) for x in expected]


def test_a_ravel_of_a_line_of_unknown_layout_is_none():
    """``ravel`` copies what is not contiguous, so that tnp cannot tell."""

    def program(a, b):
        rows = np.dot(a, b.T).T
        return rows[0], rows[0].ravel()

    a, b = np.arange(60.0).reshape(20, 3), np.arange(9.0).reshape(3, 3)
    with not_compiled_whole("may or may not share memory"):
        got = tnp.jit(program)(a, b)
    assert_same(got, program(a, b))
    assert not np.shares_memory(*got)


EDGES = [0, 1, 1, 2, 2, 0]


def sorted_edges(faces):
    edges = faces[:, EDGES].reshape(-1, 2)
    edges.sort(axis=1)
    edges[0] += 1
    return edges


def edges_in_a_loop(faces):
    total = np.zeros(2)
    for k in range(5):
        edges = (faces[:, EDGES] + k).reshape(-1, 2)
        edges[:, 0] *= k
        total += edges.sum(axis=0)
    return total


def reshaped_twice(faces):
    edges = faces[:, EDGES].reshape(-1, 4).reshape(-1, 2)
    edges[1:] -= edges[:-1]
    return edges


@pytest.mark.parametrize("f", [sorted_edges, edges_in_a_loop, reshaped_twice], ids=lambda f: f.__name__)
def test_a_reshape_of_what_the_program_no_longer_holds_is_written_to(f):
    """Whether it is a view does not matter then."""
    faces = np.random.default_rng(0).integers(0, 40, (20, 3))
    for executors in EXECUTORS:
        jitted = tnp.jit(f, executors=executors)
        for _ in range(2):
            assert_same(jitted(faces), f(faces))
        assert compiled_whole(jitted)


def held(faces):
    table = faces[:, EDGES]
    edges = table.reshape(-1, 2)
    edges[:, 0] += 1
    return edges, table * 1


def held_by_a_view(faces):
    table = faces[:, EDGES]
    row, edges = table[0], table.reshape(-1, 2)
    del table
    edges[:, 0] += 1
    return edges, row * 1


def held_by_a_list(faces):
    kept = [faces[:, EDGES]]
    edges = kept[0].reshape(-1, 2)
    edges[:, 0] += 1
    return edges, kept[0] * 1


def of_one_that_is_gone(faces):
    table = faces[:, EDGES]
    edges, others = table.reshape(-1, 2), table.reshape(-1, 3)
    del table
    edges[:, 0] += 1
    return edges, others * 1


def of_the_callers(faces):
    edges = faces.reshape(faces[0].sum() * 0 + 2, -1)
    edges[0] += 1
    return faces * 1


@pytest.mark.parametrize(
    "f", [held, held_by_a_view, held_by_a_list, of_one_that_is_gone, of_the_callers], ids=lambda f: f.__name__
)
@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_a_reshape_of_what_the_program_holds_shows_what_is_written(f):
    faces = np.random.default_rng(0).integers(0, 40, (20, 3))
    for given in (faces, np.asfortranarray(faces)):
        jitted = tnp.jit(f)
        for _ in range(2):
            mine, eagers = given.copy("K"), given.copy("K")
            assert_same(jitted(mine), f(eagers))
            assert_same(mine, eagers)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.complex128])
def test_scalar_types_of_arrays(kind):
    """``np.float64(x)`` is ``x`` itself where that is an array of this dtype, and a new array of another."""

    def f(x):
        y = kind(x)
        y *= 2
        return y, kind(x) is x

    for x in (np.ones(3), np.arange(4.0)[::2], np.ones((2, 1))):
        expected, actual = x.copy(), x.copy()
        result, same = tnp.jit(f, strict=True)(actual)
        np.testing.assert_array_equal(result, f(expected)[0])
        np.testing.assert_array_equal(actual, expected)
        assert (result is actual) == same == (kind is np.float64)


def test_views_of_an_array_without_dimensions_that_the_program_makes():
    def f(a):
        v = a.imag
        return v, np.transpose(v), v[...]

    results = tnp.jit(f)(np.array(2.0))
    assert all(type(x) is np.ndarray for x in results)
    assert np.shares_memory(results[0], results[1]) and np.shares_memory(results[0], results[2])


def test_results_that_share_memory_still_do_if_the_argument_is_written_afterwards():
    def f(a, b):
        v = a.reshape(-1)  # a copy: the argument is in columns
        w = v[::-1].reshape(-1, 1)
        a -= b
        return w, v

    results, expected = (g(np.asfortranarray(_matrix()), 1.0) for g in (tnp.jit(f), f))
    assert_same(results, expected)
    assert np.shares_memory(*results)


@pytest.mark.parametrize("k", (1.0, 0.5, -1.5))
def test_triangles_whose_diagonal_is_no_integer(k):
    def f(a, k):
        return np.triu(a, k), np.tril(a, k), np.tri(3, 4, k)

    with not_compiled_whole("no integer"):
        assert_same(tnp.jit(f)(_matrix(), k), f(_matrix(), k))


def test_in_place_under_an_errstate_that_raises():
    def f(a, b):
        with np.errstate(all="raise"):
            a //= b

    a, b = (np.array([4.0, 6.0, 1.0], np.float32) for _ in range(2))
    divisor = np.array([2.0, 0.0, 3.0])
    for g, x in ((f, a), (tnp.jit(f), b)):
        with pytest.raises(FloatingPointError), warnings.catch_warnings():
            warnings.simplefilter("ignore", tnp.EagerFallbackWarning)
            g(x, divisor)
    assert_same(b, a)


def test_an_array_of_unknown_length_assigned_to_one_element():
    def f(a):
        a[...] = np.extract(a, a)
        return np.tile(np.zeros(0), -1)

    a, b = np.array(3), np.array(3)
    with not_compiled_whole("more dimensions"):
        assert_same(tnp.jit(f)(a), f(b))
    assert_same(a, b)


def test_a_product_of_lengths_of_which_one_is_unknown():
    def f(a, b):
        return np.einsum("i,i->", a, b.compress([True]))

    def g(a, b, m):
        return np.einsum("i,i->", a[m], b[~m])

    a, b, m = np.arange(7.0), np.arange(7.0) + 1, np.arange(7) > 5
    assert_same(tnp.jit(f, strict=True)(a, b), f(a, b))
    jitted = tnp.jit(g, strict=True)
    assert_same(jitted(a, b, m), g(a, b, m))
    with pytest.raises(ValueError, match="could not be broadcast"):
        jitted(a, b, np.arange(7) > 3)


def test_a_wrong_index_raises_before_a_number_that_does_not_fit():
    def f(a, b, value):
        a[np.argmax(b)] = value

    jitted = tnp.jit(f)
    for value, error in ((2.5, None), (np.inf, OverflowError), (np.inf, IndexError)):
        a, b = np.zeros(3, np.int64), np.arange(9 if error is IndexError else 3)
        for g in (f, jitted):
            if error is None:
                g(a, b, value)
            else:
                with pytest.raises(error):
                    g(a, b, value)
