"""Small programs with SciPy's filters, distributions and special functions between NumPy's: none runs eagerly as a whole."""

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same

ndimage = pytest.importorskip("scipy.ndimage")
signal = pytest.importorskip("scipy.signal")
special = pytest.importorskip("scipy.special")
stats = pytest.importorskip("scipy.stats")

RNG = np.random.default_rng(0)
IMAGE = RNG.gamma(2.0, size=(24, 32))
SERIES = np.cumsum(RNG.normal(size=300))
POINTS = RNG.normal(size=(40, 3))
B, A = signal.butter(2, 0.1)


def unsharp_mask(image, amount):
    blurred = ndimage.gaussian_filter(image, 2)
    sharp = image + amount * (image - blurred)
    return np.clip(sharp, image.min(), image.max())


def harris_corners(image):
    dx, dy = ndimage.sobel(image, 0), ndimage.sobel(image, 1)
    xx, xy, yy = (ndimage.gaussian_filter(p, 1.5) for p in (dx * dx, dx * dy, dy * dy))
    response = xx * yy - xy**2 - 0.05 * (xx + yy) ** 2
    peaks = (ndimage.maximum_filter(response, 5) == response) & (response > 0.01 * response.max())
    return response, peaks.sum()


def edges(image):
    gradient = ndimage.gaussian_gradient_magnitude(image, 1)
    threshold = gradient.mean() + gradient.std()
    thick = ndimage.binary_dilation(gradient > threshold, iterations=2)
    return np.where(thick, image, 0)


def diffusion(image, steps):
    for _ in range(steps):
        image = image + 0.1 * ndimage.laplace(image, mode="nearest")
        image[0] = image[-1]
    return image


def blobs(image):
    scales = [s**2 * ndimage.gaussian_laplace(image, s) for s in (1, 2, 3)]
    return np.stack(scales).min(axis=0) - ndimage.uniform_filter(image, 5)


def labelled_sums(image):
    labels, count = ndimage.label(image > 2)
    sums = ndimage.sum_labels(np.sqrt(image), labels, index=np.arange(1, 4))
    return sums / sums.sum() + count


def local_contrast(image):
    mean = ndimage.uniform_filter(image, 7)
    square = ndimage.uniform_filter(image**2, 7)
    return (image - mean) / np.sqrt(np.maximum(square - mean**2, 1e-6))


def warped(image, angle):
    turned = ndimage.rotate(np.log1p(image), 30.0, reshape=False, order=1)
    return np.exp(turned) * np.cos(angle)


def denoised(series):
    smooth = signal.savgol_filter(series, 11, 3)
    rest = series - smooth
    keep = np.abs(rest) < 3 * stats.median_abs_deviation(rest)
    return np.where(keep, series, smooth)


def filtered(series):
    y = signal.lfilter(B, A, series - series.mean())
    z = signal.filtfilt(B, A, series)
    return np.sqrt(np.mean(y**2)), z * np.hanning(z.size)


def envelope(series):
    flat = signal.detrend(series)
    analytic = signal.hilbert(flat)
    return np.abs(analytic), np.unwrap(np.angle(analytic))


def spectrum(series, rate):
    frequencies, power = signal.welch(np.diff(series), fs=rate, nperseg=64)
    return frequencies[np.argmax(power)], np.log(power + 1e-12)


def template_match(series):
    template = np.sin(np.arange(15)) * signal.windows.hann(15)
    scores = signal.correlate(series, template, "same")
    return scores / np.sqrt(signal.convolve(series**2, np.ones(15), "same") + 1)


def log_likelihood(points, mean, scale):
    total = stats.norm.logpdf(points, mean, scale).sum()
    for k in range(points.shape[1]):
        total = total + stats.t.logpdf(points[:, k], 4.0).mean()
    return total


def mixture(points, weight):
    first = weight * stats.norm(-1, 0.5).pdf(points)
    second = (1 - weight) * stats.laplace(1, 0.7).pdf(points)
    share = first / (first + second)
    return share.mean(axis=0), stats.entropy(share + 1e-3)


def probit(points, w):
    p = special.ndtr(points @ w)
    return -(special.xlogy(0.3, p) + special.xlog1py(0.7, -p)).sum()


def copula(points):
    u = stats.norm.cdf(points)
    x = stats.gamma.ppf(u, 2.0)
    return np.corrcoef(np.log(x).T), stats.skew(x)


def bayes_factor(points, prior):
    n, k = 12, np.floor(np.abs(points[:, 0]) * 3)
    evidence = special.betaln(k + prior, n - k + prior) - special.betaln(prior, prior)
    return evidence - stats.binom.logpmf(k, n, 0.5)


def von_mises(points, kappa):
    angles = np.arctan2(points[:, 0], points[:, 1])
    density = np.exp(kappa * (np.cos(angles) - 1)) / (2 * np.pi * special.i0e(kappa))
    ratio = special.i1e(kappa) / special.i0e(kappa)
    return density.sum() * ratio + special.k0(1 + angles**2).mean()


def queue(points, rate):
    counts = np.floor(np.abs(points) * 4)
    late = stats.poisson.sf(counts, rate)
    for k in range(3):
        late = late + special.gammaincc(k + 1.0, rate + np.abs(points))
        if late.mean() > 1:
            late = late * 0.5
    return late.sum(axis=1)


PROGRAMS = {
    unsharp_mask: (IMAGE, 1.5), harris_corners: (IMAGE,), edges: (IMAGE,), diffusion: (IMAGE, 7), blobs: (IMAGE,), labelled_sums: (IMAGE,),
    local_contrast: (IMAGE,), warped: (IMAGE, 0.3), denoised: (SERIES,), filtered: (SERIES,), envelope: (SERIES,), spectrum: (SERIES, 10.0),
    template_match: (SERIES,), log_likelihood: (POINTS, 0.1, 1.3), mixture: (POINTS, 0.4), probit: (POINTS, POINTS[0]), copula: (POINTS,),
    bayes_factor: (POINTS, 1.5), von_mises: (POINTS, 2.5), queue: (POINTS, 3.3),
}  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_programs(program):
    jitted = tnp.jit(program)
    for _ in range(2):
        args = [a.copy() if isinstance(a, np.ndarray) else a for a in PROGRAMS[program]]
        again = [a.copy() if isinstance(a, np.ndarray) else a for a in PROGRAMS[program]]
        found, expected = jitted(*args), program(*again)
        assert_same(found, expected, rtol=1e-10)
        assert_same(args, again)
    explained = tnp.explain(jitted)
    assert "runs eagerly" not in explained and "Python runs" not in explained
    assert "llvm" in explained


@pytest.mark.parametrize(
    ("program", "at"),
    [(log_likelihood, (0, 1, 2)), (probit, (0, 1)), (von_mises, (0, 1)), (unsharp_mask, (1,)), (template_match, (0,))],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_gradients_of_programs(program, at):
    args = [a[:12] if isinstance(a, np.ndarray) else a for a in PROGRAMS[program]]
    f = lambda *xs: np.sum(program(*xs)) * 2  # noqa: E731
    for i in at:
        found = tnp.grad(f, argnums=i)(*args)
        x = np.asarray(args[i], float)
        moved = [(args[:i] + [x + s] + args[i + 1 :], args[:i] + [x - s] + args[i + 1 :]) for s in steps(x)]
        expected = np.reshape([(f(*a) - f(*b)) / 2e-6 for a, b in moved], x.shape)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def steps(x):
    return 1e-6 * np.eye(x.size).reshape(-1, *x.shape)


#: arguments of other kinds than those that programs mostly have: numbers, lists, other dtypes, nothing
UNUSUAL = {
    "a list of numbers": lambda x: ndimage.laplace([x[0], x[1], x[2]]) * 2,
    "an array of bools": lambda x: ndimage.gaussian_filter(x > 0, 1) | (x > 1),
    "as floats": lambda x: ndimage.gaussian_filter(x > 0, 1, output=float) * 2,
    "bytes that overflow": lambda x: ndimage.convolve((x * 9).astype("i1"), [9, 9, 9]) * 1,
    "bytes that would be negative": lambda x: ndimage.convolve(np.abs(x * 9).astype("u1"), [-1, -1, 0.5]) * 1,
    "complex numbers": lambda x: ndimage.gaussian_filter(x * 1j, 1) * 2,
    "a mode for each axis": lambda x: ndimage.gaussian_filter(x.reshape(-1, 5), 1, mode=["wrap", "constant"]) * 2,
    "some axes": lambda x: ndimage.uniform_filter(x.reshape(4, 5, -1), 3, axes=(0, 2)) * 2,
    "a window of one": lambda x: ndimage.maximum_filter(x, 1) + ndimage.uniform_filter(x, 1),
    "lists": lambda x: signal.convolve([1, 2, 3], [x[0], 1]) * 2,
    "bools": lambda x: signal.convolve(x > 0, x[:3] > 0) | True,
    "two dtypes": lambda x: signal.convolve(x, [1, 2, 3]) + signal.convolve(x, np.arange(3)),
    "integers": lambda x: signal.savgol_filter(np.floor(x * 9).astype(int), 5, 2) + signal.detrend(np.arange(len(x)) ** 2),
    "single precision": lambda x: signal.sosfiltfilt(signal.butter(1, 0.2, output="sos"), x.astype("f4")) * 2,
    "half precision": lambda x: special.gamma(np.abs(x).astype("f2")) * 2,
    "an order in an array": lambda x: special.jv(np.arange(x.size), x) * 2,
    "an axis tuple": lambda x: special.logsumexp(x.reshape(-1, 5), axis=(0, 1), b=np.abs(x).reshape(-1, 5)) * 2,
    "no elements": lambda x: special.gamma(x[:0]).sum() + stats.gamma.pdf(x[:0], 2.0).sum() + x.sum(),
    "a row and a column": lambda x: stats.gamma.cdf(np.abs(x[:3]), np.arange(1.0, 4)[:, None], scale=[[1.0, 2.0, 3.0]]) * 2,
    "all in single precision": lambda x: stats.norm.pdf(x.astype("f4"), np.float32(1), np.float32(2)) * 2,
    "integers as variables": lambda x: stats.norm.pdf(np.arange(4)) + stats.binom.pmf(np.arange(4), np.arange(4), 0.3) + x[0],
    "moved counts": lambda x: stats.poisson.cdf(np.floor(x * 4), 2.0, loc=1) * 2,
}  # fmt: skip


@pytest.mark.parametrize("name", UNUSUAL)
def test_unusual_arguments(name):
    f = UNUSUAL[name]
    x = RNG.normal(size=40)
    jitted = tnp.jit(f)
    for _ in range(2):
        assert_same(jitted(x), f(x), rtol=1e-11)


def test_maps_and_second_derivatives():
    images = RNG.gamma(2.0, size=(3, 6, 7))
    f = lambda a: ndimage.sobel(a) * stats.norm(a.mean(), 2.0).logpdf(a) + signal.convolve2d(a, a[:2, :2], "same")  # noqa: E731
    assert_same(tnp.vmap(f)(images), np.stack([f(a) for a in images]), rtol=1e-11)
    g = lambda v: (special.log_ndtr(v) * special.gamma(v) + special.i0(v) + stats.t.logpdf(v, 4.0)).sum()  # noqa: E731
    x, gradient = images[0, 0], tnp.grad(g)
    expected = [(gradient(x + s) - gradient(x - s)) / 2e-6 for s in steps(x)]
    np.testing.assert_allclose(tnp.hessian(g)(x), expected, rtol=1e-6, atol=1e-6)
