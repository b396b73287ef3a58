"""Signals: transforms, filters, windows."""

import numpy as np

from .registry import call, program


@program(lambda rng: call(rng.random(8)))
def dft_by_matrix(x):
    N = x.shape[0]
    n = np.arange(N)
    k = n.reshape((N, 1))
    M = np.exp(-2j * np.pi * k * n / N)
    return np.dot(M, x)


@program(lambda rng: call(rng.random(20), np.array([0.25, 0.5, 0.25])))
def fir(x, taps):
    y = np.zeros(len(x))
    for k, h in enumerate(taps):
        y[k:] += h * x[: len(x) - k]
    return y


@program(lambda rng: call(rng.random(32), 0.2))
def fft_low_pass(x, cutoff):
    spectrum = np.fft.rfft(x)
    frequencies = np.fft.rfftfreq(x.size)
    spectrum[frequencies > cutoff] = 0
    return np.fft.irfft(spectrum, n=x.size)


@program(lambda rng: call(rng.random(12)))
def autocorrelation(x):
    x = x - x.mean()
    full = np.correlate(x, x, mode="full")
    half = full[full.size // 2 :]
    return half / half[0]


@program(lambda rng: call(rng.random(40), 16, hop=8))
def stft(x, size, hop=4):
    window = np.hanning(size)
    frames = np.stack([x[i : i + size] * window for i in range(0, len(x) - size + 1, hop)])
    spectrum = np.fft.fft(frames, axis=-1)
    return np.abs(spectrum[:, : size // 2 + 1]) ** 2, np.angle(spectrum)


@program(lambda rng: call(rng.random(16), rng.random(5)))
def fft_convolution(a, b):
    n = len(a) + len(b) - 1
    size = 1 << (n - 1).bit_length()
    y = np.fft.ifft(np.fft.fft(a, size) * np.fft.fft(b, size)).real[:n]
    return y, np.abs(y - np.convolve(a, b)).max() < 1e-10


@program(lambda rng: call(rng.standard_normal(12), 0.3, 0.8))
def biquad(x, b0, a1):
    y = np.zeros_like(x)
    state = 0.0
    for i, sample in enumerate(x):
        state = b0 * sample + a1 * state
        y[i] = state
    return y


@program(lambda rng: call(rng.random(8) + 1j * rng.random(8)))
def fft_radix_two(x):
    def fft(a):
        n = a.shape[0]
        if n == 1:
            return a
        even, odd = fft(a[::2]), fft(a[1::2])
        twiddle = np.exp(-2j * np.pi * np.arange(n // 2) / n) * odd
        return np.concatenate([even + twiddle, even - twiddle])

    return fft(x)


@program(lambda rng: call(np.sin(np.linspace(0, 9, 30)) + 0.1 * rng.random(30)))
def zero_crossings(x):
    signs = np.sign(x)
    return np.sum(np.abs(np.diff(signs)) > 0), np.interp(0.5, np.linspace(0, 1, x.size), x)


@program(lambda rng: call(rng.random((2, 24)).astype(np.float32), 3))
def resample(stereo, factor):
    left, right = stereo
    mono = (left + right) / 2
    down = mono[: len(mono) // factor * factor].reshape(-1, factor).mean(1)
    up = np.repeat(down, factor)
    stereo[0] -= up
    stereo[1, ::factor] = 0
    return down
