"""Arrays for random programs: values that are easy to get wrong, in layouts that are easy to forget."""

from __future__ import annotations

from typing import Any

import numpy as np

DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
          "float16", "float32", "float64", "complex64", "complex128")  # fmt: skip
#: the dtypes of which most arguments are
COMMON = ("float64", "float64", "float64", "float32", "float32", "int64", "int32", "uint8", "bool", "complex128")
LAYOUTS = ("C", "F", "swapped axes", "flipped", "flipped rows", "every other", "every third row", "inner", "zero stride", "readonly",
           "misaligned", "field", "packed field", "foreign byte order")  # fmt: skip


def values(seed: int, shape: tuple[int, ...], dtype: str, kind: str = "uniform") -> np.ndarray:
    """An array of random values: ``uniform`` in [-3, 3], multiples of a quarter (``tidy``), or those that are easy to get wrong
    (``special``)."""
    rng = np.random.default_rng(seed)
    d = np.dtype(dtype)
    if d.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if d.kind in "iu":
        if kind == "special":
            limits = np.iinfo(d)
            choices = [0, 1, 2, 3, 7, limits.max, limits.max - 1, limits.min, limits.min + 1]
            return rng.choice(np.array(choices, d), shape)
        return rng.integers(-9 if d.kind == "i" else 0, 10, shape).astype(d)
    real = rng.uniform(-3, 3, shape)
    if kind == "tidy":
        real = np.round(real * 4) / 4
    elif kind == "special":
        choices = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, np.inf, -np.inf, np.nan, 1e-4, 100.0, 1e-40, 6e-8]
        real = np.where(rng.random(shape) < 0.7, real, rng.choice(choices, shape))
    if d.kind == "c":
        real = real + 1j * values(seed + 1, shape, "float64", "uniform" if kind == "special" else kind)
    return np.asarray(real).astype(d)


def layout(name: str, a: np.ndarray) -> np.ndarray:
    """``a`` with another place in memory; the same values, but where strides are zero."""
    if name == "foreign byte order":
        return a.astype(a.dtype.newbyteorder())
    if name == "misaligned":
        raw = bytearray(a.nbytes + 1)
        made = np.frombuffer(raw, a.dtype, a.size, offset=1).reshape(a.shape)
    elif name in ("field", "packed field"):
        other = a.dtype if name == "field" else np.dtype("i1")
        made = np.zeros(a.shape, [("before", other), ("value", a.dtype)])["value"]
    elif name == "readonly":
        made = a.copy()
        made.flags.writeable = False
        return made
    elif a.ndim == 0 or name == "C":
        return a.copy()
    elif name == "F":
        return np.asfortranarray(a).copy(order="F")
    elif name == "swapped axes":
        made = np.zeros(np.swapaxes(a, 0, -1).shape, a.dtype).swapaxes(0, -1)
    elif name == "flipped":
        made = np.zeros_like(a, order="C")[..., ::-1]
    elif name == "flipped rows":
        made = np.zeros_like(a, order="C")[::-1]
    elif name == "every other":
        made = np.zeros((*a.shape[:-1], a.shape[-1] * 2 + 1), a.dtype)[..., 1::2]
    elif name == "every third row":
        made = np.zeros((a.shape[0] * 3, *a.shape[1:]), a.dtype)[::3]
    elif name == "inner":
        made = np.zeros([n + 3 for n in a.shape], a.dtype)[tuple(slice(1, n + 1) for n in a.shape)]
    elif name == "zero stride":
        return np.broadcast_to(a[:1].copy(), a.shape)
    made[...] = a
    return made


def whole_memory(a: np.ndarray) -> Any:
    """The array, or the buffer, whose memory ``a`` is a part of."""
    while isinstance(a, np.ndarray) and a.base is not None:
        a = a.base
    if isinstance(a, np.ndarray):
        return a
    return np.frombuffer(a, np.uint8)
