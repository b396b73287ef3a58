"""How many programs functions need for arrays of the sizes 5, 8, 13, and 8 again, with the results of eager."""

import inspect

import numpy as np
import pytest

import tnp
from tnp.api import programs_of
from tnp.testing import assert_same

#: what the names of parameters stand for: vectors, matrices, indices, a mask, an integer
MAKERS = {
    "x": lambda rng, n: rng.normal(size=n),
    "y": lambda rng, n: rng.normal(size=n),
    "a": lambda rng, n: rng.normal(size=(n, n + 2)),
    "b": lambda rng, n: rng.normal(size=(n + 2, n)),
    "square": lambda rng, n: rng.normal(size=(n, n)),
    "even": lambda rng, n: rng.normal(size=(2 * n, 4 * n)),
    "at": lambda rng, n: rng.integers(0, n, n),
    "mask": lambda rng, n: rng.random(n) > 0.4,
    "n": lambda rng, n: n,
}

ONE_PROGRAM = {
    "a list": lambda n: [0] * n,
    "pairs": lambda x: x[: len(x) - len(x) % 2].reshape(-1, 2).mean(axis=1),
    "zeros": lambda x: (np.zeros(len(x)), np.ones((x.size, 2)), np.empty(x.shape).shape, np.full(len(x) - 1, 2.5)),
    "arange": lambda x: (np.arange(len(x)) * x, np.arange(1, len(x) + 1), np.arange(len(x) - 1, -1, -1)),
    "arange of floats": lambda x: np.arange(len(x), dtype=float) / len(x),
    "eye": lambda x: (np.eye(len(x)), np.identity(x.size), np.eye(len(x), k=1), np.tri(len(x))),
    "linspace": lambda x: (np.linspace(0, 1, len(x)) * x, np.linspace(0, 1, len(x), endpoint=False)),
    "logspace": lambda x: (np.logspace(0, 1, len(x)), np.blackman(len(x)), np.hanning(len(x)) * x),
    "pad": lambda x: (np.pad(x, 1), np.pad(x, (1, 2), constant_values=3), np.pad(x, 2, mode="edge")),
    "pad by mode": lambda a: (np.pad(a, 2, mode="reflect"), np.pad(a, 1, mode="wrap"), np.pad(a, 2, mode="symmetric")),
    "roll": lambda a: (np.roll(a, 1), np.roll(a, -2, axis=0), np.roll(a, (1, -1), axis=(0, 1))),
    "diff": lambda a: (np.diff(a), np.diff(a, n=2, axis=0), np.ediff1d(a)),
    "gradient": lambda a: (*np.gradient(a), np.trapezoid(a)),
    "interp": lambda x, y: np.interp(y, np.sort(x), x),
    "convolve": lambda x, y: (np.convolve(x, y), np.convolve(x, np.ones(3), mode="same"), np.correlate(x, y)),
    "masks": lambda x, a, mask: (x[x > 0], a[mask], x[mask].sum(), np.nonzero(mask), np.argwhere(a > 0)),
    "repeat": lambda a: (np.repeat(a, 2), np.repeat(a, 3, axis=0), np.tile(a, 2), np.tile(a, (2, 3))),
    "split": lambda even: (*np.split(even, 2), *np.split(even, 2, axis=1), *np.split(even, [1, 3])),
    "quantile": lambda a: (np.percentile(a, 30), np.quantile(a, [0.25, 0.5], axis=0)),
    "unique": lambda at, x: (*np.unique(at, return_counts=True), np.union1d(x, at), np.isin(x, at)),
    "diagonals": lambda a, square: (np.diagonal(a), np.trace(square), np.diag(square), np.einsum("ii->i", square)),
    "diag": lambda x: (np.diag(x), np.diag(x, 1), np.diagflat(x)),
    "scans": lambda a: (np.cumsum(a), np.cumprod(a, axis=0), np.maximum.accumulate(a), np.add.reduce(a)),
    "fft": lambda x, a: (np.fft.fft(x), np.fft.ifft(x), np.fft.rfft(x), np.fft.fft2(a), np.fft.irfft(x + 0j)),
    "fftshift": lambda x: (np.fft.fftshift(x), np.fft.ifftshift(x), np.fft.fftfreq(len(x)), np.fft.rfftfreq(len(x))),
    "insert": lambda x: (np.insert(x, 1, 5.0), np.delete(x, 1), np.delete(x, -1), np.append(x, 1.0)),
    "linear algebra": lambda square, x: np.linalg.solve(square + 9 * np.eye(len(x)), x),
    "places": lambda x: (x[len(x) - 1], x[len(x) // 2], x[: len(x) // 2], x[len(x) // 2 :], x[: int(len(x) * 0.5)]),
    "triangles": lambda square: (square[np.triu_indices(len(square))], np.triu(square), np.tril(square, -1)),
    "reshape": lambda a: (a.reshape(a.size), a.reshape(a.shape[1], a.shape[0]), a.T.ravel(), a.reshape(-1, 1)),
    "blocks": lambda even: even.reshape(len(even) // 2, 2, even.shape[1] // 2, 2).mean(axis=(1, 3)),
    "outer": lambda x: (x.reshape(len(x), 1) * x, np.broadcast_to(x, (3, len(x))), np.squeeze(x[None])),
    "covariance": lambda a, x, y: (np.cov(a), np.corrcoef(x, y)),
    "windows": lambda x: np.lib.stride_tricks.sliding_window_view(x, 3).mean(axis=1),
    "unravel_index": lambda a: np.unravel_index(a.argmax(), a.shape),
    "grids": lambda x: (*np.meshgrid(np.arange(len(x)), x), np.indices((len(x), 2))),
    "sizes": lambda x: (np.size(x), np.shape(x), len(x) // 2, len(x) % 4, len(x) ** 2, 1 / len(x), bool(len(x))),
    "arithmetic": lambda x: x * len(x) ** 0.5 + x / np.sqrt(len(x)) - x * (1 / len(x)) * float(len(x)),
    "draws": lambda x: np.random.default_rng(0).normal(size=len(x)) + np.random.default_rng(1).random(x.shape),
    "shape of an int": lambda n: (np.zeros(n), np.arange(n), np.eye(n), np.ones((n, n)), np.linspace(0, 1, n)),
    "arithmetic of an int": lambda n: (np.zeros(n // 2), np.zeros(n + 1), np.arange(1, n + 1) ** 2, np.zeros(n) + n),
    "slices by an int": lambda x, n: (x[:n], x[n - 1], x[-n:], x.reshape(n, 1), np.tile(x, n), np.repeat(x, n)),
    "generators": lambda x: (sum(v * 2 for v in x), sum((v for v in x if v > 0), 1.5), max(abs(v) for v in x), any(v > 9 for v in x)),
    "comprehensions": lambda x: (np.array([x[i] * 2 for i in range(len(x))]), np.array([v for v in x if v > 0])),
    "maps": lambda x, y: (sum(map(np.sin, x)), np.array(list(map(lambda a, b: a - b, x, y))), sum(map(abs, x))),
    "fromiter": lambda x: (np.fromiter((v * 2 for v in x), float), np.fromiter((v for v in x), dtype=float, count=len(x))),
    "bands": lambda square, x: (np.tril(square, len(x) - 3), np.triu(square, 1 - len(x)), np.tri(len(x), 4, len(x) // 2), np.eye(len(x), k=-(len(x) // 2)), np.diagflat(x, len(x))),
    "ranges of floats": lambda x: (np.arange(0, len(x) * 0.1, 0.1), np.arange(-len(x) / 2, len(x), 0.5), np.r_[1 : len(x), 0.5]),
    "bins of a size": lambda x, at: (np.digitize(x, np.linspace(-1, 1, len(x))), np.bincount(at % 3, minlength=len(x))),
    "places of a size": lambda a: (np.insert(a, len(a) // 2, 0.0, axis=0), np.delete(a, len(a) // 2, axis=0), np.lib.stride_tricks.sliding_window_view(a, len(a) // 2, 0)),
    "gradient of differences": lambda x: tnp.grad(lambda v: np.diff(v).prod() + np.roll(v, 1)[0])(x),
    "gradient of pads": lambda x: tnp.grad(lambda v: (np.pad(v, 1) ** 2).sum() + np.prod(v))(x),
    "gradient of deviations": lambda x: tnp.grad(lambda v: v.std() + v.var(ddof=1) + v.mean())(x),
    "gradient of squares": lambda x: tnp.grad(lambda v: (v**2).sum())(x),
    "gradient of joins": lambda x: tnp.grad(lambda v: np.concatenate([v, v * 2]).sum() * v[v > 0].sum())(x),
    "gradient of products": lambda a, b: tnp.grad(lambda u, v: (u @ v).sum() + np.outer(u[0], v[0]).sum())(a, b),
}  # fmt: skip


def slices_stored(x):
    out = np.zeros((2, len(x)))
    out[0, 1:] = x[:-1]
    out[1] = x
    out[:, : len(x) // 2] = 1
    x[1:-1] += x[:-2]
    return out


def masks_stored(x, mask):
    x[x > 0] += 1
    x[mask] = -x[mask]


def indices_stored(x, at):
    np.add.at(x, at, 1.0)
    out = np.zeros((len(at), 60))
    out[np.arange(len(at)), at] = 1
    return out


def parts_of_complex_numbers_stored(x):
    z = x * 1j
    z.real[1:] = x[:-1]
    z.imag[0] = -2
    np.conj(z[1:]).real[:] = 5
    return z * 2


def diagonal_stored(square):
    square[np.arange(len(square)), np.arange(len(square))] = 0
    np.fill_diagonal(square[1:], 2.0)
    np.fill_diagonal(square, 1.0)
    return square.sum()


def loop_of_an_int(x, n):
    for i in range(n):
        x = x * 0.5 + i
    return x


def iterations_stored(x, n):
    out = np.zeros(n)
    for i in range(1, n):
        out[i] = out[i - 1] * 0.5 + x[i]
    return out


def diffusion(x, n):
    u = np.zeros(len(x))
    for _ in range(n):
        u[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2]) + x[1:-1]
    return u


def power_iteration(square):
    v = np.ones(len(square))
    for _ in range(20):
        v = square @ v
        v = v / np.linalg.norm(v)
    return v


def sizes_inside_a_loop(x, n):
    y = x
    for _ in range(n):
        y = np.roll(y, 1) - np.append(y, len(y)).mean() + np.linspace(0, 1, len(x)).sum()
    return y


def lags(x):
    n = len(x)
    return np.array([np.dot(x[: n - k], x[k:]) / n for k in range(3)])


def lambdas(x):
    scaled = lambda y, k: sum(v * k for v in y)  # noqa: E731
    return scaled(x, 2.0), (lambda y: np.array([v + 1 for v in y]))(x[1:]), scaled(x[:-1], -1.0)


FUNCTIONS = (
    slices_stored, masks_stored, indices_stored, parts_of_complex_numbers_stored, diagonal_stored, loop_of_an_int, iterations_stored, diffusion, power_iteration, sizes_inside_a_loop, lags, lambdas,
)  # fmt: skip
ONE_PROGRAM |= {f.__name__: f for f in FUNCTIONS}


#: what a program relies on beyond sizes of at least 2: parities, comparisons, values
SEVERAL = {
    "median": (2, lambda x: np.median(x)),
    "halves": (2, lambda x: np.array_split(x, 2)),
    "cut or filled": (2, lambda x: np.fft.fft(x, 10)),
    "powers of two": (
        2,
        lambda x: (
            np.pad(x, (0, 2 ** int(np.ceil(np.log2(len(x)))) - len(x)))[len(x) // 2 :].sum(),
            np.zeros(1 << len(x).bit_length()),
            x[: len(x) >> 1],
        ),
    ),
    "at most 6": (2, lambda x: x[: min(len(x), 6)]),
}

ROWS = [(name, 1, f) for name, f in ONE_PROGRAM.items()] + [(name, *row) for name, row in SEVERAL.items()]


@pytest.mark.parametrize(("programs", "function"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_programs_for_all_sizes(programs, function):
    jitted = tnp.jit(function, dynamic=True, strict=True)
    names = inspect.signature(function).parameters
    for n in (5, 8, 13, 8):
        mine, theirs = ([MAKERS[p](np.random.default_rng(n), n) for p in names] for _ in range(2))
        assert_same(jitted(*mine), function(*theirs), what=f"size {n}")
        assert_same(mine, theirs, what=f"the arguments of size {n}")
    assert len(programs_of(jitted)) == programs


@pytest.mark.parametrize("n", [-3, -1, 0, 1, 2, 7])
@pytest.mark.parametrize("name", ["shape of an int", "slices by an int", "loop_of_an_int"])
def test_integers_that_are_no_symbols(name, n):
    """0, 1 and negative numbers have programs of their own, and errors are eager's."""
    function = ONE_PROGRAM[name]
    arguments = [MAKERS[p](np.random.default_rng(5), 5) for p in list(inspect.signature(function).parameters)[:-1]]
    jitted = tnp.jit(function, dynamic=True)
    jitted(*arguments, 5)
    try:
        expected = function(*arguments, n)
    except (ValueError, IndexError) as error:
        with pytest.raises(type(error)) as raised:
            jitted(*arguments, n)
        assert str(raised.value) == str(error)
    else:
        assert_same(jitted(*arguments, n), expected)


@pytest.mark.parametrize("name", ["pad by mode", "roll", "diff", "quantile", "scans", "covariance", "insert"])
def test_decompositions_for_all_sizes(name):
    function = ONE_PROGRAM[name]
    jitted = tnp.jit(function, executors=["numpy[prims]"], dynamic=True, strict=True)
    for n in (6, 9, 33):
        arguments = [MAKERS[p](np.random.default_rng(n), n) for p in inspect.signature(function).parameters]
        assert_same(jitted(*arguments), function(*arguments))
    assert len(programs_of(jitted)) == 1


def test_integers_of_either_sign():
    function = lambda x, n: (np.roll(x, n), x[n:], x[:n], x + n)  # noqa: E731
    jitted = tnp.jit(function)
    for length in (4, 5):
        x = np.arange(float(length))
        for n in (0, -2, 1, 3, 7, -9, -1, -2, 0):
            assert_same(jitted(x, n), function(x, n), what=f"{n}")


def test_a_divisor_of_0_fails_its_guard():
    function = lambda x, n: x[: len(x) // n] + n % 3  # noqa: E731
    jitted = tnp.jit(function, dynamic=True)
    x = np.arange(12.0)
    assert_same(jitted(x, 3), function(x, 3))
    with pytest.raises(ZeroDivisionError):
        jitted(x, 0)
    assert_same(jitted(x, 2), function(x, 2))


def test_grids_of_integers():
    """``np.mgrid`` and ``np.ogrid`` of sizes are one program for any."""

    def disc(x):
        h, w = x.shape
        rows, columns = np.mgrid[0:h, 0:w]
        i, j = np.ogrid[-1:h, 1 : w + 1 : 2]
        steps = np.mgrid[1:h:2, 0:w]
        rows.shape = columns.shape = h * w
        return rows + columns, i * j, steps, np.mgrid[:h], np.mgrid[3:h,]

    jitted = tnp.jit(disc)
    for shape in ((5, 6), (8, 4), (7, 9), (6, 11)):
        x = np.ones(shape)
        assert_same(jitted(x), disc(x), exact=True)
    assert tnp.cache_info(jitted).misses == 2


def test_gradients_of_diagonals():
    """They need a program for each size: the number of elements between those of the diagonal is one."""
    gradient = tnp.grad(lambda v: (np.diag(v, 1) ** 2).sum() + np.diagflat(v).sum())
    for n in (5, 8, 11):
        x = np.arange(1.0, n + 1)
        assert_same(gradient(x), 2 * x + 1)
