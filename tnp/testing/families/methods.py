"""OpInfos: ndarray's methods and attributes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tnp.core.dtypes import DType, complex64, float64, int32
from tnp.testing.arrays import make_array, variants
from tnp.testing.families.selection import info
from tnp.testing.opinfo import OpInfo, SampleInput, opinfos

S = SampleInput
_SHAPE = (2, 3)

#: calls of a method on an array of shape (2, 3): the arguments of each
_CALLS: dict[str, tuple[SampleInput, ...]] = {
    "all": (S(), S(0)),
    "any": (S(), S(axis=1, keepdims=True)),
    "argmax": (S(), S(1)),
    "argmin": (S(), S(axis=0)),
    "argsort": (S(), S(0, kind="stable")),
    "astype": (
        S(np.float32),
        S("i8"),
        S(float, copy=False),
        S(np.int32, copy=False),
        S(bool),
        S(complex, casting="safe"),
    ),
    "choose": (),
    "clip": (S(-1, 2), S(max=0), S(np.array([0, 1, 2]), 5)),
    "compress": (S([True, False, True], 1), S([0, 1, 1])),
    "conj": (S(),),
    "conjugate": (S(),),
    "copy": (S(), S("F"), S(order="C")),
    "cumprod": (S(), S(1)),
    "cumsum": (S(), S(axis=0, dtype=np.complex128)),
    "diagonal": (S(), S(1)),
    "dot": (S(np.arange(3)), S(2)),
    "fill": (S(7), S(2.5)),
    "flatten": (S(), S("F")),
    "item": (S(4), S(1, 2), S((0, 1)), S(-1)),
    "max": (S(), S(0)),
    "mean": (S(), S(axis=1)),
    "min": (S(), S(0)),
    "nonzero": (S(),),
    "prod": (S(), S(1)),
    "put": (S([0, -1], [5, 6]), S(np.array([7, 8]), 1, mode="wrap")),
    "ravel": (S(),),
    "repeat": (S(2), S(3, axis=1)),
    "reshape": (S(3, 2), S((6,)), S(-1), S(1, -1, order="F"), S((3, -1))),
    "round": (S(), S(1)),
    "sort": (S(), S(0)),
    "squeeze": (S(),),
    "std": (S(), S(0, ddof=1)),
    "sum": (S(), S(1, keepdims=True)),
    "swapaxes": (S(0, 1),),
    "take": (S([0, 4]), S([2, 0], 1), S(1, axis=0)),
    "tolist": (S(),),
    "trace": (S(), S(1)),
    "transpose": (S(), S(1, 0), S((-1, 0)), S(None)),
    "var": (S(), S(axis=1)),
    "view": (S(), S(np.uint32), S(np.int64)),
}
_ORDERED = ("argmax", "argmin", "argsort", "clip", "max", "min", "sort")
_ERRORS: dict[str, list[Any]] = {
    "astype": [(S(np.zeros(3), int, casting="safe"), TypeError, "Cannot cast")],
    "item": [(S(np.zeros(3)), ValueError, "size 1"), (S(np.zeros(3), 5), IndexError, "out of bounds")],
    "reshape": [(S(np.zeros(3), 2, 2), ValueError, "cannot reshape"), (S(np.zeros(3)), TypeError, "argument")],
    "transpose": [(S(np.zeros((2, 3)), 0), ValueError, "axes don't match")],
    "compress": [(S(np.zeros(3), [[True]]), ValueError, "1-d")],
}


def _fits(name: str, call: SampleInput, dtype: DType) -> bool:
    """Whether NumPy takes the call (casts of complex numbers to real ones warn)."""
    if name == "view" and call.args:
        return bool(np.dtype(call.args[0]).itemsize == dtype.itemsize)
    return not (
        name in ("astype", "fill", "dot") and dtype.kind == "c" and name == "astype" and call.args[0] is not complex
    )


def _method(name: str) -> OpInfo:
    def call(a: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(a, name)(*args, **kwargs)

    def samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
        for c in _CALLS[name]:
            if _fits(name, c, dtype):
                for a in variants(make_array(_SHAPE, dtype=dtype)):
                    yield S(a, *c.args, **c.kwargs)
        if name == "choose":
            yield S(np.array([0, 1, 1]), [make_array((3,), dtype=dtype), 5])
        if name in ("astype", "copy", "conj", "round", "view"):  # NumPy scalars have these too
            arguments = _CALLS[name][0].args
            for a in (make_array((), dtype=dtype), make_array((), dtype=dtype)[()]):
                if _fits(name, _CALLS[name][0], dtype):
                    yield S(a, *arguments)

    dtypes = (int32, float64) if name in (*_ORDERED, "choose", "view") else (int32, float64, complex64)
    wrong = _ERRORS.get(name)
    return OpInfo(
        call,
        name=f"ndarray.{name}",
        sample_input_generator=samples,
        error_input_generator=(lambda info, device: iter(wrong)) if wrong else None,
        dtypes=dtypes,
    )


def attributes(a: Any) -> Any:
    return a.T, a.mT, a.real, a.imag, a.ndim, a.size, a.shape, a.itemsize, a.nbytes, a.dtype.name, a.device, len(a)


def contiguous_strides(a: Any) -> Any:
    return a.strides, a.T.strides, a[:, ::2].strides, (a + a).strides


def flat_reads(a: Any) -> Any:
    return a.flat[1], a.flat[::2], a.flat[[0, 3]], sum(a.flat), len(a.flat), a.flat.copy()


def flat_writes(a: Any) -> Any:
    a.flat[1] = 5
    a.flat[::2] = [7, 8]
    a.T.flat[0] = 1
    return a


def part_writes(a: Any) -> Any:
    a.real = 2
    a.real[0] += 1
    a[1].imag = a[0].real
    return a


def astype_function(a: Any) -> Any:
    return np.astype(a, np.float32), np.astype(a, a.dtype, copy=False), np.real(a), np.imag(a)


def searches(a: Any) -> Any:
    return a.searchsorted([1, 2.5]), a.searchsorted(3, side="right")


opinfos.add(
    "methods",
    *(_method(name) for name in _CALLS),
    info(
        attributes,
        lambda make: [S(a) for a in variants(make(_SHAPE))],
        name="ndarray attributes",
        dtypes=(int32, complex64),
    ),
    info(contiguous_strides, lambda make: [S(make((3, 4)))], name="ndarray.strides"),
    info(flat_reads, lambda make: [S(a) for a in variants(make(_SHAPE))], name="ndarray.flat"),
    info(flat_writes, lambda make: [S(a) for a in variants(make(_SHAPE))], name="ndarray.flat writes"),
    info(
        part_writes,
        lambda make: [S(a) for a in variants(make(_SHAPE))],
        name="ndarray.real writes",
        dtypes=(complex64,),
    ),
    info(astype_function, lambda make: [S(make(_SHAPE))], name="astype"),
    info(searches, lambda make: [S(np.arange(5.0))], name="ndarray.searchsorted", dtypes=(float64,)),
)
