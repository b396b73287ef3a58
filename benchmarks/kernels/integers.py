"""Unsigned integers of 32 and 64 bits (in the tables of float32 and float64): hashing, shifting."""

from __future__ import annotations

import numpy as np

from .base import Kernel, prange, with_numpy_as

_NUMEXPR = {"numexpr": "numexpr has no unsigned integers"}


def hash_integers(x):
    """The finalizer of C. Wellons's lowbias32, on integers of either width."""
    x = (x ^ (x >> 16)) * 0x7FEB352D
    x = (x ^ (x >> 15)) * 0x846CA68B
    return x ^ (x >> 16)


def hash_integers_loops(x):
    t = x.dtype.type
    out = np.empty_like(x)
    a, b, s, r = t(0x7FEB352D), t(0x846CA68B), t(16), t(15)
    for i in prange(x.size):
        h = t(x[i] ^ (x[i] >> s)) * a
        h = t(h ^ (h >> r)) * b
        out[i] = h ^ (h >> s)
    return out


def hash_integers_torch():
    """On signed integers of that width: torch has no arithmetic of unsigned ones. The shift clears the sign's copies."""
    import torch

    def f(x):
        bits = 8 * x.element_size()
        signed = x.view(torch.int32 if bits == 32 else torch.int64)

        def right(v, k):
            return (v >> k) & ((1 << (bits - k)) - 1)

        b = 0x846CA68B - (1 << 32) if bits == 32 else 0x846CA68B
        h = (signed ^ right(signed, 16)) * 0x7FEB352D
        h = (h ^ right(h, 15)) * b
        return (h ^ right(h, 16)).view(x.dtype)

    return f


def xorshift(x):
    """A step of Marsaglia's generator, in Gray code, to ten bits."""
    x = x ^ (x << 13)
    x = x ^ (x >> 7)
    x = x ^ (x << 17)
    return (x ^ (x >> 1)) & 1023


def xorshift_loops(x):
    t = x.dtype.type
    out = np.empty_like(x)
    a, b, c, one, mask = t(13), t(7), t(17), t(1), t(1023)
    for i in prange(x.size):
        v = t(x[i] ^ (x[i] << a))
        v = t(v ^ (v >> b))
        v = t(v ^ (v << c))
        out[i] = (v ^ (v >> one)) & mask
    return out


def xorshift_torch():
    import torch

    def f(x):
        bits = 8 * x.element_size()
        v = x.view(torch.int32 if bits == 32 else torch.int64)
        v = v ^ (v << 13)
        v = v ^ ((v >> 7) & ((1 << (bits - 7)) - 1))
        v = v ^ (v << 17)
        return ((v ^ (v >> 1)) & 1023).view(x.dtype)

    return f


def _words(n, dtype):
    kind = np.uint32 if np.dtype(dtype) == np.float32 else np.uint64
    return (np.random.default_rng(0).integers(0, np.iinfo(kind).max, n, dtype=kind),)


KERNELS = (
    Kernel(
        "integer hash",
        hash_integers,
        _words,
        loops=hash_integers_loops,
        jax=with_numpy_as("jax.numpy", hash_integers),
        torch=hash_integers_torch,
        cannot=_NUMEXPR,
        memory_bound=True,
    ),
    Kernel(
        "xorshift",
        xorshift,
        _words,
        loops=xorshift_loops,
        jax=with_numpy_as("jax.numpy", xorshift),
        torch=xorshift_torch,
        cannot=_NUMEXPR,
        memory_bound=True,
    ),
)
