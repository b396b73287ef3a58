"""Everything else: geometry, number games, closures, views, random numbers of the old kind."""

import numpy as np

from .registry import call, program

EARTH_RADIUS = 6371.0
COEFFICIENTS = np.array([1.0, -2.5, 0.5, 3.0])


@program(lambda rng: call(*(rng.uniform(-90, 90, 6) for _ in range(4))))
def great_circle(lat1, lon1, lat2, lon2):
    lat1, lon1, lat2, lon2 = map(np.radians, [lat1, lon1, lat2, lon2])
    a = np.sin((lat2 - lat1) / 2) ** 2 + np.cos(lat1) * np.cos(lat2) * np.sin((lon2 - lon1) / 2) ** 2
    return EARTH_RADIUS * 2 * np.arcsin(np.sqrt(a))


@program(lambda rng: call(rng.standard_normal((5, 3))))
def cartesian_to_spherical(points):
    x, y, z = points.T
    r = np.sqrt(x**2 + y**2 + z**2)
    points[:, 0] = r
    points[:, 1] = np.arccos(z / r)
    points[:, 2] = np.arctan2(y, x)
    return points


@program(lambda rng: call(rng.random((6, 2)), 0.7, scale=2.0))
def rotate(points, angle, *, centre=None, scale=1.0):
    if centre is None:
        centre = points.mean(axis=0)
    c, s = np.cos(angle), np.sin(angle)
    R = scale * np.array([[c, -s], [s, c]])
    return (points - centre) @ R.T + centre


@program(lambda rng: call(rng.random(7)))
def horner(x):
    """The coefficients are a global array."""
    result = np.zeros_like(x)
    for c in COEFFICIENTS[::-1]:
        result = result * x + c
    return result


@program(lambda rng: call(50))
def sieve(n):
    is_prime = np.ones(n + 1, dtype=bool)
    is_prime[:2] = False
    for i in range(2, int(n**0.5) + 1):
        is_prime[i * i :: i] = False
    return is_prime, is_prime.sum()


@program(lambda rng: call(5))
def magic_square(n):
    i, j = np.indices((n, n))
    square = n * ((i + j + 1 + n // 2) % n) + (i + 2 * j + 2) % n + 1
    return square, square.sum(0), square.sum(1), np.trace(square)


@program(lambda rng: call((5, 10, 3, 12, 5)))
def matrix_chain_order(p):
    n = len(p) - 1
    cost = np.zeros((n, n), dtype=np.int64)
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            options = [cost[i, k] + cost[k + 1, j] + p[i] * p[k + 1] * p[j + 1] for k in range(i, j)]
            cost[i, j] = min(options)
    return cost[0, n - 1]


@program(lambda rng: call(rng.random((8, 9)), rng.random((3, 3))))
def convolve_2d(image, kernel):
    kh, kw = kernel.shape
    h, w = image.shape[0] - kh + 1, image.shape[1] - kw + 1
    out = np.zeros((h, w))
    flipped = kernel[::-1, ::-1]
    for i in range(kh):
        for j in range(kw):
            out += flipped[i, j] * image[i : i + h, j : j + w]
    return out


@program(lambda rng: call(rng.random(5)))
def seeded(x):
    np.random.seed(42)
    noise = np.random.rand(x.size)
    x += 0.1 * noise
    return np.random.randint(0, 10, size=4), np.random.normal(size=(2, 2))


@program(lambda rng: call(10))
def estimate_pi(n):
    rng = np.random.default_rng(7)
    points = rng.uniform(-1, 1, (n, 2))
    return 4 * np.mean(np.sum(points**2, axis=1) <= 1)


@program(lambda rng: call(rng.random(4)), makes_function=True)
def accumulator():
    """A closure over an array that each call changes."""
    total = np.zeros(4)
    weights = np.array([1.0, 0.5, 0.25, 0.125])

    def add(x):
        total[:] += weights * x
        return total.copy()

    return add


@program(lambda rng: call(rng.random(3)), makes_function=True)
def counter():
    """A closure over a number that the program only reads, and an array whose element it counts in."""
    calls = np.zeros(1, dtype=int)
    scale = 2.5

    def scaled(x):
        calls[0] += 1
        return scale * x, calls[0]

    return scaled


@program(lambda rng: call(rng.random((4, 6))))
def views_of_arguments(a):
    top, bottom = a[:2], a[2:]
    top *= 2
    flat = a.reshape(-1)
    flat[::5] = 0
    return bottom, a.T, flat[3:9], a[1, 2:4]


@program(lambda rng: call(rng.random(6), rng.random(6), np.empty(6)))
def out_arguments(a, b, out):
    np.add(a, b, out=out)
    np.multiply(out, 2, out)
    np.sqrt(out, out=a)
    return np.subtract(a, b, out=b)


@program(lambda rng: call(rng.integers(-5, 5, (3, 4)), rng.random((3, 4)).astype(np.float32)))
def mixed_dtypes(i, f):
    i //= 2
    i <<= 1
    f += i
    f **= 2
    half = f[:, ::2]
    half -= half.mean(dtype=np.float64)
    return i % 3, i / 2, f.sum(), (i & 1).astype(bool), np.float32(2) * f[0]


def area_or_length(x):
    if x.ndim == 1:
        return np.abs(np.diff(x)).sum()
    if x.shape[1] != 2:
        raise ValueError("points of two coordinates, please")
    x1, y1 = x[:, 0], x[:, 1]
    return 0.5 * abs(np.dot(x1, np.roll(y1, 1)) - np.dot(y1, np.roll(x1, 1)))


@program(lambda rng: call(rng.random((5, 2)), rng.random(7)))
def early_returns(polygon, line):
    return area_or_length(polygon), area_or_length(line)


def bump(v):
    return 1 / (1 + v**2)


twice = lambda f: lambda x: f(f(x))  # noqa: E731
bump_twice = twice(bump)


@program(lambda rng: call(rng.standard_normal((4, 5)), bump, np.tanh, bump_twice, axis=1))
def apply_all(x, *functions, axis=0, keepdims=True):
    for f in functions:
        x = f(x)
    return x.sum(axis=axis, keepdims=keepdims)


@program(lambda rng: call(rng.random(5), rng.random(5)))
def swaps(a, b):
    a[:], b[:] = b.copy(), a.copy()
    a[0], a[-1] = a[-1], a[0]
    c = a
    c += 1
    a = a + 1
    a[2] = b[1] = 7.0
    return a, c


@program(lambda rng: call(rng.random((3, 3, 2))))
def chained_stores(x):
    x[0][1] += 5
    x[1][2][0] = -1
    x[..., 1][x[..., 1] > 0.5] = 0.5
    row = x[2]
    row[:, 0] = row[::-1, 1]
    x.T[0] *= 10
    return row


@program(lambda rng: call(rng.random((4, 5)), rng.permutation(5), rng.integers(0, 4, 3)))
def fancy_indexing(x, columns, rows):
    shuffled = x[:, columns]
    x[rows] = -1
    x[np.arange(4), [0, 1, 2, 3]] += 100
    return shuffled, x[rows][:, columns[:2]], np.take(x, rows, axis=0), x[rows, columns[:3]]


@program(lambda rng: call(rng.random((3, 4)), 2))
def report(x, digits):
    """Makes a table of text on its way."""
    print("mean", x.mean())
    return np.round(x, digits)


@program(lambda rng: call(rng.random(4) + 1, 1e-6))
def newton_square_root(a, tolerance):
    """Iterates until the values say that it is enough."""
    x = a.copy()
    iterations = 0
    while np.abs(x * x - a).max() > tolerance and iterations < 20:
        x = 0.5 * (x + a / x)
        iterations += 1
    return x, iterations


@program(lambda rng: call(rng.random((3, 5)), [rng.random(5), rng.random(5)], {"scale": rng.random(3), "shift": 1.5}))
def containers(x, rows, options):
    scaled = x * options["scale"][:, None] + options["shift"]
    rows[0][:] = scaled[0]
    rows[1] += 1
    return {"all": scaled, "rows": rows, "pair": (rows[0], options["scale"])}


@program(lambda rng: call(rng.random((4, 4)) - 0.5, np.float32(1.5), 3, 2.5, True))
def scalars(x, single, whole, real, flag):
    first = x[0, 0]
    y = single * x.astype(np.float32)
    z = np.where(x > 0, whole, real)
    n = x.shape[0] * whole if flag else 0
    return first * real, y, z, n, real / whole, np.int8(3) + whole, float(x[1, 1]), x.max() > first


@program(lambda rng: call(rng.random((2, 3)), rng.random((3, 2))))
def joining(a, b):
    tall = np.vstack((a, b.T))
    wide = np.hstack([tall, np.ones((4, 1))])
    first, second = np.split(wide, 2)
    blocks = np.block([[a, np.zeros((2, 1))], [np.full((1, 3), 9.0), np.ones((1, 1))]])
    return first + second, blocks, np.tile(a, (1, 2)), np.repeat(b, 2, axis=0), np.meshgrid(a[0], b[:, 0])


@program(lambda rng: call(rng.random(5), rng.integers(0, 9, 3), 2.5))
def index_tricks(x, i, offset):
    padded = np.r_[0, x[1:], offset, x[0], 1:3, (x[0],) * 2, (1, 2)]
    pairs = np.c_[x[:3], i, padded[:3] * 2]
    X, Y = np.mgrid[0:3, 0:2]
    X += len(x)
    yy, xx = np.ogrid[:4, 0:1:3j]
    yy *= 2
    return padded, pairs, X * offset, Y, yy + xx, x[np.s_[1:3]]
