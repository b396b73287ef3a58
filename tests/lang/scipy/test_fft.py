"""``scipy.fft`` in compiled functions."""

import numpy as np
import pytest

from tests.lang.scipy.checks import compiled_as_eager, gradient_is_right, layouts, raises_as_eager
from tests.sampling import some_of

fft = pytest.importorskip("scipy.fft")
import scipy  # noqa: E402
from scipy import fftpack  # noqa: E402
from scipy.fft import irfft, next_fast_len, rfft, rfftfreq  # noqa: E402

RNG = np.random.default_rng(0)
X = RNG.normal(size=(4, 6)) * 9

FUNCTIONS = {
    "fft": lambda x: fft.fft(x),
    "fft along the first axis": lambda x: fft.fft(x, 5, 0, "ortho", overwrite_x=True) + 1,
    "ifft": lambda x: fft.ifft(x, norm="forward", workers=1),
    "fft2": lambda x: fft.fft2(x) * 2,
    "ifft2": lambda x: fft.ifft2(x, s=(3, 8)),
    "fftn": lambda x: fft.fftn(x, axes=(1,)),
    "fftn over a range of axes": lambda x: fft.fftn(x, axes=range(-1, 1)),
    "ifftn": lambda x: fft.ifftn(x, norm="ortho"),
    "irfft": lambda x: fft.irfft(x),
    "irfftn": lambda x: fft.irfftn(x, s=(4, 9)),
    "hfft": lambda x: fft.hfft(x, 7),
    "fftshift": lambda x: (fft.fftshift(x), fft.ifftshift(x, axes=1)),
    "legacy": lambda x: (fftpack.fft(x), fftpack.ifft(x, 5, axis=0), fftpack.fft2(x) + 1, fftpack.fftn(x, axes=(1,))),
    "dct": lambda x: (fft.dct(x), fft.idct(x, type=3, norm="ortho"), fft.dctn(x), fft.dst(x, 1)),
}
REAL = {
    "rfft": lambda x: fft.rfft(x),
    "rfft2": lambda x: fft.rfft2(x),
    "rfftn": lambda x: fft.rfftn(x, axes=(0,)),
    "ihfft": lambda x: fft.ihfft(x),
    "frequencies": lambda x: (
        fft.fftfreq(x.shape[1]) * x,
        fft.rfftfreq(8, d=0.5),
        x * fft.fftfreq(6, 1.0 / x.shape[0]),
    ),
    "legacy of numbers": lambda x: (fftpack.rfft(x), fftpack.irfft(x, 8), fftpack.dct(x, 3), fftpack.idst(x)),
    "lengths": lambda x: x * next_fast_len(x.shape[0] * 7) + scipy.fft.prev_fast_len(11),
    "hankel": lambda x: fft.fht(x[0], 0.1, 0.5),
}


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        (name, dtype)
        for i, name in enumerate([*FUNCTIONS, *REAL])
        for dtype in ("f8", "c16", *some_of(("f4", "c8", "i8", "u1", "f2", "?"), i, 3))
    ],
)
def test_values(name, dtype):
    if name in REAL and dtype.startswith("c"):
        return
    if name == "hankel" and dtype != "f8":
        return
    with np.errstate(all="ignore"):
        x = np.abs(X).astype(dtype)
    compiled_as_eager((FUNCTIONS | REAL)[name], x + 1j * x[::-1] if dtype.startswith("c") else x)


def test_memory_layouts_and_one_point():
    f = lambda x: (fft.fft(x), rfft(x, axis=0), irfft(x), rfftfreq(x.shape[0]))  # noqa: E731
    for x in layouts(X):
        compiled_as_eager(f, x)
    compiled_as_eager(lambda x: (fft.fft(x), rfft(x), fft.fft(x[:0], axis=1)), X[:, :1])


def test_filter_in_a_loop():
    def f(x, n):
        for _ in range(n):
            s = rfft(x)
            s[..., 2:] *= 0.5
            x = irfft(s, n=x.shape[-1]) + 0.1
        return x

    for n in (0, 3, 50):
        compiled_as_eager(f, X, n)


def test_errors():
    raised = {
        raises_as_eager(lambda x: fft.fft(x, 0) * 2, X),
        raises_as_eager(lambda x: fft.fft(x, axis=5) * 2, X),
        raises_as_eager(lambda x: fft.rfft(x + 1j) * 2, X),
        raises_as_eager(lambda x: fft.fft(x[:, :0]) * 2, X),
        raises_as_eager(lambda x: fft.fft2(x, norm="none") * 2, X),
    }
    assert raised <= {ValueError, IndexError, TypeError}


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (np.abs(fft.fft(x)) ** 2).sum(),
        lambda x: (fft.irfft(fft.rfft(x) * np.arange(4), n=6) ** 2).sum(),
        lambda x: (fft.fft2(x).real ** 3).sum(),
        lambda x: (fft.dct(x, norm="ortho")[:, :2] ** 2).sum() + (fft.idst(x, norm="ortho", axis=0)[0] ** 3).sum(),
        lambda x: (fft.fftshift(x) * np.arange(6)).sum(),
    ],
)
def test_gradients(f):
    gradient_is_right(f, X)
