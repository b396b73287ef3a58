"""Axes, shifts and lengths that arrays and lists hold, where NumPy takes them so, and where it does not."""

import numpy as np
import pytest

from tests.lang.numpy.test_functions import check

X = np.arange(24.0).reshape(2, 3, 4)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, s: np.transpose(x, s),
        lambda x, s: np.transpose(x, np.concatenate([[x.ndim - 1], np.arange(x.ndim - 1)])),
        lambda x, s: x.transpose(s[::-1]),
        lambda x, s: np.permute_dims(x, s),
        lambda x, s: np.moveaxis(x, s[:2], s[1:]),
        lambda x, s: np.flip(x, s[:2]),
        lambda x, s: np.rot90(x, 1, s[1:]),
        lambda x, s: np.roll(x, s, s[::-1] * 1),
        lambda x, s: np.roll(x, s[1:], (0, 2)),
        lambda x, s: np.roll(x, s),
        lambda x, s: np.gradient(x, axis=s[:2]),
        lambda x, s: np.median(x, s[:2]),
        lambda x, s: np.quantile(x, 0.3, s[1:]),
        lambda x, s: np.average(x, s[1:]),
        lambda x, s: np.average(x, s[1:], weights=np.ones((2, 3))),
        lambda x, s: np.fft.fftshift(x, s[1:]),
        lambda x, s: np.tensordot(x, x, ([0, 1], s[1:][::-1])),
        lambda x, s: np.tensordot(x, x, np.array([[0, 1], [0, 1]])),
        lambda x, s: np.einsum(x, [0, 1, 2], s),
        lambda x, s: np.lib.stride_tricks.sliding_window_view(x, s[:2], axis=(0, 2)),
        lambda x, s: [np.median(x, [0, 1]), np.nanmedian(x, [0, 1]), np.quantile(x, 0.5, axis=[0, 1], keepdims=True)],
        lambda x, s: [np.nanquantile(x, 0.5, [0, 1]), np.average(x, [0, 1])],
    ],
)
def test_axes_that_an_array_or_a_list_holds(function):
    check(function, X, np.array([2, 1, 0]))


@pytest.mark.parametrize(
    "function",
    [
        lambda x, s: np.sum(x, s),
        lambda x, s: np.mean(x, s),
        lambda x, s: np.squeeze(x, s),
        lambda x, s: np.expand_dims(x, s),
    ],
)
def test_axes_that_an_array_may_not_hold(function):
    with pytest.raises(TypeError, match="only integer scalar arrays"):
        function(X, np.array([1, 0]))
    check(function, X, np.array([1, 0]))


def test_axes_that_the_operand_itself_holds():
    check(lambda s: np.roll(s, s, 0), np.array([1, 2]), eagerly="is known only when the program runs")
    check(lambda x, s: np.nanmedian(x, s), X, np.array([1, 0]), eagerly="along axes that an array holds")
