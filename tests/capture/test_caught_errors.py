"""Errors that a program catches, and what it has done when one stops it: as in eager, to the word."""

import inspect
import linecache
import math
import warnings

import numpy as np
import pytest

import tnp
from tests.eager_checks import check, not_compiled_whole
from tnp.testing import assert_same

X = np.array([1.0, 4.0, 9.0, 0.0])
MATRIX = np.arange(12.0).reshape(3, 4)

#: what raises when the program runs, because of values
VALUES = [
    "math.sqrt(-x[1])", "math.log(x[3])", "math.exp(x[1] * 300)", "math.sin(x[1] / x[3])", "int(x[1] / x[3])", "int(-x[3] / x[3])",
    "x.astype(int) ** -1", "np.power(x.astype(int), -1)", "x.astype(int) ** (x.astype(int) - 5)", "1 / float(x[3])", "float(x[3]) ** -1",
    "x[[0, 9]]", "x[..., [9]]", "x.flat[[9]]", "np.take(x, x.astype(int))", "np.uint8(int(x[1] * 100))", "np.linalg.inv(m[:2, :2] * 0)",
    "x.astype(int).__setitem__(0, float('nan'))", "x.__setitem__(0, complex(x[1]))",
    "x.astype(int).flat.__setitem__(0, float(x[1] / x[3]))", "x.astype('i1').flat.__setitem__(1, int(x[1] * 100))",
]  # fmt: skip

#: what raises while it is traced, because of shapes, dtypes or arguments: in other words than NumPy's, or as another class
TRACED = [
    "x.reshape(3)", "m.reshape(5, -1)", "m @ x", "np.dot(m, m)", "np.concatenate([m, x])", "np.vstack([m, x])", "np.transpose(m, (0, 0))",
    "np.add(x, x, out=m)", "np.add(x, 1, out=np.zeros(4, int))", "np.add(x)", "np.zeros(2.5)", "np.fft.fft(x, axis=2)", "x + None",
    "x ** 'a'", "np.percentile(x, -1)", "np.vander(x, -1)", "math.sqrt(x)", "[1, 2][x[0]]", "range(x[0])", "x(3)", "next(x)",
    "x.astype(int).__iadd__(0.5)", "setattr(x, 'dtype', 'i1')", "setattr(x, 'name', 1)", "pow(x, 2, 3)", "x.flat[10]", "x.fill('a')",
    "x.astype(int).flat.__setitem__(0, 1e300)", "x.astype('u1').flat.__setitem__(0, 300)", "np.diag(np.zeros(2**40))",
]  # fmt: skip


def function(text):
    """The function of this text, with source."""
    text = inspect.cleandoc(text)
    name = f"<caught {hash(text)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope = {"np": np, "math": math}
    exec(compile(text, name, "exec"), scope)
    return scope["f"]


#: handlers, which read the error, or look at its class alone
HANDLERS = {
    "words": "except Exception as error: x[1] = 99; return type(error), str(error)",
    "class": """except (TypeError, AttributeError): return 1, x
    except ArithmeticError: return 2, x
    except LookupError: return 3, x
    except np.linalg.LinAlgError: return 4, x
    except ValueError: return 5, x
    except: return 6, x""",
}


@pytest.mark.parametrize("expression", VALUES + TRACED)
@pytest.mark.parametrize("handler", HANDLERS)
def test_a_handler_gets_the_error_that_eager_raises(handler, expression):
    lines = [
        "def f(x, m):",
        "    x[0] = 0",
        "    try:",
        f"        y = {expression}",
        f"    {HANDLERS[handler]}",
        "    return y, x",
    ]
    check(function("\n" + "\n".join(lines)), X, MATRIX, executors=("numpy", "llvm"))


#: what functions try to find out what they were given, with the class of the error
TRIED = [
    ("n = len(x)", "TypeError"), ("y = iter(x)", "TypeError"), ("y = x[0]", "(TypeError, IndexError)"), ("x[x < 2] = 0", "TypeError"),
    ("y = float(x)", "TypeError"), ("y = x.shape[0]", "(AttributeError, IndexError)"), ("y = x.reshape(-1, 3)", "(AttributeError, ValueError)"),
    ("y = x[:, 0]", "(TypeError, IndexError)"), ("y = np.concatenate([x, x])", "ValueError"), ("a, b, *c = x", "(ValueError, TypeError)"),
    ("y = x.item()", "(AttributeError, ValueError)"), ("assert np.ndim(x) == 2, 'no'", "AssertionError"), ("y = x + np.ones(4)", "ValueError"),
    ("y = np.stack([x, np.ones(2)])", "ValueError"), ("y = np.matmul(x, np.ones((3, 2)))", "ValueError"),
]  # fmt: skip


@pytest.mark.parametrize(("statement", "error"), TRIED)
def test_functions_that_try_what_they_are_given_are_compiled(statement, error):
    f = function(f"""
        def f(x):
            try:
                {statement}
            except {error}:
                return np.sin(x) - 1
            return np.sin(x) + 1
    """)
    for x in (np.arange(3.0), np.eye(2), np.float64(3), 2.5, np.arange(4.0), np.eye(3)):
        given = [np.copy(x) if isinstance(x, np.ndarray) else x for _ in range(2)]
        assert_same(tnp.jit(f, strict=True)(given[0]), f(given[1]))
        assert_same(given[0], given[1])


@pytest.mark.parametrize("expression", VALUES)
def test_an_error_that_stops_the_program_leaves_what_was_written_before(expression):
    f = function(f"""
        def f(x, m):
            x[0] = 7
            y = {expression}
            x[2] = 99
            return y
    """)
    if expression != "x.flat[[9]]":  # whose words name an axis
        check(f, X, MATRIX, executors=("llvm",), error=Exception)


@pytest.mark.parametrize(
    ("f", "good", "bad"),
    [
        (lambda x, a: (x.fill(7), a**-1, x.fill(9)), 2.0, 0.0),
        (lambda x, a: (x.fill(7), int(a), x.fill(9)), 2.0, float("nan")),
        (lambda x, a: (x.fill(7), math.sqrt(a), x.fill(9)), 2.0, -1.0),
        (lambda x, a: (x.fill(7), np.uint8(a), x.fill(9)), 2, 300),
        (lambda x, a: (x.fill(7), x.astype(int) ** a, x.fill(9)), 2, -1),
        (lambda x, a: (x.fill(7), x.__setitem__(0, a), x.fill(9)), 2 + 0j, 2j),
    ],
)
def test_a_program_compiled_for_values_that_fit(f, good, bad):
    for executor in ("numpy", "llvm"):
        jitted, x, e = tnp.jit(f, executors=[executor]), X.copy(), X.copy()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tnp.EagerFallbackWarning)
            if not isinstance(good, complex):
                jitted(X.copy(), good)
            with pytest.raises(Exception) as expected:
                f(e, bad)
            with pytest.raises(type(expected.value)) as actual:
                jitted(x, bad)
        assert str(actual.value) == str(expected.value)
        assert_same(x, e, what=executor)


def test_subscripts_and_errors_of_python_are_caught_in_compiled_programs():
    def f(x, table):
        try:
            x[0] = x[30]
        except IndexError as error:
            said = str(error)
        try:
            found = table["c"]
        except KeyError:
            found = 2.0
        try:
            name = x.name
        except AttributeError:
            name = "none"
        return x * found, said, name

    expected = f(X.copy(), {"a": 1.0})
    assert_same(tnp.jit(f, strict=True)(X.copy(), {"a": 1.0}), expected)


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_numbers_have_no_matrix_product():
    def function(x, k):
        try:
            k @= k
        except TypeError as error:
            return x, str(error)

    jitted = tnp.jit(function)
    for k in (5, 2.5, True, 1j):
        assert_same(jitted(np.ones(3), k), function(np.ones(3), k))


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_an_index_into_an_array_whose_length_values_decide():
    def function(x):
        found = np.argwhere(x)
        try:
            found[4]
        except IndexError:
            found = 3
        return found

    def stored(x, y):
        y[0] = 5
        x[x > 0][4]
        y[1] = 6

    for count in (3, 8):
        x = (np.arange(8) < count) * 1.0
        assert_same(tnp.jit(function)(x), function(x))
        mine, eagers = np.zeros(2), np.zeros(2)
        for g, y in ((tnp.jit(stored), mine), (stored, eagers)):
            try:
                g(x, y)
            except IndexError:
                assert count == 3
        assert_same(mine, eagers)


def test_an_integer_that_a_dtype_cannot_hold():
    small = np.array([1, 2], "u1")

    def f(a):
        try:
            return small + a[2].item()
        except OverflowError:
            return a + 1

    check(f, np.array([1, 2, -3], "i1"))
    check(f, np.array([1, 2, 3], "i1"))


def test_an_error_in_a_handler_that_finally_drops():
    def f(a):
        try:
            (_b,) = np
        except TypeError:
            a[0] /= 0
        finally:
            return a  # noqa: B012

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(f, np.array([3]))


def test_a_shape_that_an_array_may_not_fit():
    """The reshaped array has a known size; that of the shape is known only when the program runs."""

    def f(a):
        found = np.argwhere(a)
        try:
            v = found[:0].reshape(found.shape)
        except ValueError:
            return a + 1
        return v

    def unread(a):
        found = np.argwhere(a)
        found[:0].reshape(found.shape)
        return a + 1

    for a in (np.array([1, 0, 2]), np.zeros(3, int)):
        check(f, a)
        check(unread, a)


def test_what_stands_in_finally_is_done_after_errors_of_else_and_of_handlers():
    def of_else(x, i):
        try:
            x[0] = 5
        except ValueError:
            pass
        else:
            x[i] = 3
        finally:
            x /= 2
        return x

    def of_a_handler(x, i):
        try:
            x[0] = 5
            raise ValueError
        except ValueError:
            x[i] = 3
        finally:
            x[1] = 7
        return x

    for f in (of_else, of_a_handler):
        for i in (np.array([1, 2]), np.array([1, 9])):
            check(f, X, i, executors=("llvm",))


def test_an_augmented_name_reads_what_was_bound_before_an_error():
    def f(x, log):
        try:
            x = (np.sin(x), 1)
            next(iter([]))
        except Exception:
            log.append(memoryview(b"a"))
        x += (2,)
        return x

    with not_compiled_whole():
        assert_same(tnp.jit(f)(X, []), f(X, []))


def test_flat_stores_where_the_array_itself_says():
    def f(x):
        x.flat[x] = 2
        return x

    check(f, np.array([[2, 0, 1], [4, 3, 5]]), executors=("llvm",))


def test_flat_stores_up_to_a_position_that_is_out_of_bounds():
    def of_scalars(x, i):
        x.flat[[2, i[0]]] = 7
        return x

    def of_an_array(x, i):
        x.flat[i] = 7
        return x

    for f in (of_scalars, of_an_array):
        for i in (np.array([1, 3]), np.array([9, 3]), np.array([-1, 9])):
            check(f, X, i, executors=("llvm",))


def names_an_array(x, k):
    y = np.cos(x)
    try:
        y.name = "aoi"
    except AttributeError:
        y = y * 2
    return y


def names_what_it_is_given(x, k):
    try:
        k.name = "aoi"
    except AttributeError as error:
        return x * k, str(error)
    return x


def deletes_a_name(x, k):
    try:
        del k.name
    except AttributeError:
        return x * k
    return x


def does_not_fit(x, k):
    try:
        return x.reshape(3, 3)
    except ValueError:
        return x * 2


@pytest.mark.parametrize("f", [names_an_array, names_what_it_is_given, deletes_a_name, does_not_fit])
@pytest.mark.parametrize("k", [2.0, 3, np.float64(2), np.ones(4)])
def test_attributes_that_cannot_be_set(f, k):
    x = np.arange(4.0)
    jitted = tnp.jit(f, strict=True)
    for _ in range(2):
        assert_same(jitted(x, k), f(x, k))


LENGTH = [4]


def a_length_that_is_caught(a):
    try:
        for _ in range(2):
            LENGTH[0] = int(a[0])
            a %= 1
    except (ValueError, OverflowError):
        pass
    return np.linspace(0, 4, LENGTH[0])


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
@pytest.mark.parametrize("values", [(3.7, np.inf, np.nan, 2.0, 3.0, np.inf), (np.inf, 3.0, 2.0, np.nan)])
def test_values_that_raise_when_they_are_needed(values):
    """What a value guard computes stands in a ``try`` of the program."""
    jitted = tnp.jit(a_length_that_is_caught)
    for value in values:
        found = []
        for f in (jitted, a_length_that_is_caught):
            LENGTH[0] = 4
            a = np.array([value])
            found.append((f(a).tolist(), LENGTH[0], str(a)))
        assert found[0] == found[1]
