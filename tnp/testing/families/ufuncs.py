"""OpInfos: ufuncs that are not in the elementwise table, and the methods of ufuncs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tnp.core import dtypes
from tnp.core.dtypes import DType
from tnp.testing.arrays import make_array, special_values, variants
from tnp.testing.families.elementwise import dtypes_of
from tnp.testing.opinfo import OpInfo, SampleInput, opinfos
from tnp.testing.samples import elementwise_unary_generator

_UNARY = ("deg2rad", "degrees", "fabs", "frexp", "modf", "rad2deg", "radians")
_FLOATS = (dtypes.float32, dtypes.float64)


def _divmod_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    for left, right in (((), ()), ((5,), (5,)), ((4, 1), (3,)), ((0,), (1,))):
        yield SampleInput(make_array(left, dtype=dtype), make_array(right, dtype=dtype, low=1, high=9, seed=1))
    yield SampleInput(make_array((3,), dtype=dtype), 2)
    yield SampleInput(7, make_array((3,), dtype=dtype, low=1, high=5))
    yield SampleInput(special_values(dtype), np.array([3, 5], dtype.name)[:, None])


def _power_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    for left, right in (((), ()), ((5,), (5,)), ((4, 1), (3,)), ((3,), ())):
        yield SampleInput(*(make_array(s, dtype=dtype, low=1, high=4, seed=i) for i, s in enumerate((left, right))))
    yield SampleInput(make_array((3,), dtype=dtype, low=1, high=4), 2)


def _ldexp_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    for exponent in (3, -1, np.int32(2), make_array((3,), dtype="int32"), make_array((2, 1), dtype="int64")):
        yield SampleInput(make_array((3,), dtype=dtype), exponent)
    yield SampleInput(np.float64(1.5), 4)


def _broadcast_errors(info: OpInfo, device: str) -> Iterator[Any]:
    yield SampleInput(np.ones(3), np.ones(4)), ValueError, "broadcast"


def _isnat_errors(info: OpInfo, device: str) -> Iterator[Any]:
    yield SampleInput(np.ones(3)), TypeError, "isnat"


opinfos.add(
    "ufuncs",
    *(
        OpInfo(
            getattr(np, name),
            sample_input_generator=elementwise_unary_generator,
            dtypes=dtypes_of(getattr(np, name)),
            rtol={dtypes.float16: 1e-2},
        )
        for name in _UNARY
    ),
    OpInfo(
        np.divmod,
        sample_input_generator=_divmod_samples,
        error_input_generator=_broadcast_errors,
        dtypes=dtypes_of(np.divmod),
    ),
    OpInfo(np.float_power, sample_input_generator=_power_samples, dtypes=dtypes_of(np.float_power)),
    OpInfo(np.ldexp, sample_input_generator=_ldexp_samples, dtypes=(dtypes.float16, *_FLOATS)),
    OpInfo(np.isnat, error_input_generator=_isnat_errors, dtypes=()),
)


# Methods of ufuncs

_REDUCED = ("add", "multiply", "maximum", "minimum", "logical_and", "logical_or", "logical_xor")
_BITWISE = ("bitwise_and", "bitwise_or", "bitwise_xor")
_OTHERS = ("subtract", "fmax", "hypot", "gcd")


def _takes(ufunc: np.ufunc, dtype: DType) -> bool:
    return dtype in dtypes_of(ufunc)


def _method(ufunc: np.ufunc, method: str) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(ufunc, method)(*args, **kwargs)

    return call


def _info(ufunc: np.ufunc, method: str, samples: Any, errors: Any = None, kinds: Any = None) -> OpInfo:
    wanted = kinds or (dtypes.bool8, dtypes.int8, dtypes.uint32, *_FLOATS, dtypes.complex64)
    return OpInfo(
        _method(ufunc, method),
        name=f"{ufunc.__name__}.{method}",
        sample_input_generator=samples,
        error_input_generator=errors,
        dtypes=tuple(d for d in wanted if _takes(ufunc, d)),
    )


def _small(shape: Any, dtype: DType, seed: int = 0) -> Any:
    return make_array(shape, dtype=dtype, low=0 if dtype.kind == "u" else -2, high=3, seed=seed)


def _reduce_samples(ufunc: np.ufunc) -> Any:
    def samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
        for a in variants(_small((3, 4), dtype)):
            yield SampleInput(a)
        a = _small((2, 3, 4), dtype)
        for axis in (None, -1, 1) + (((0, 2), ()) if ufunc.identity is not None else ()):
            if axis is not None or ufunc.identity is not None:
                yield SampleInput(a, axis=axis)
                yield SampleInput(a, axis=axis, keepdims=True)
        yield SampleInput(_small((), dtype))
        if ufunc.identity is not None:
            yield SampleInput(_small((0, 3), dtype))
            yield SampleInput(a, axis=1, where=a != 0)
        if ufunc.__name__ in _REDUCED:
            yield SampleInput(a, axis=(0, 1), initial=1)
            yield SampleInput(_small((0, 3), dtype), initial=1)
            yield SampleInput(a, axis=2, initial=1, where=_small((3, 1), dtypes.bool8))
        if ufunc.__name__ in ("add", "multiply"):
            yield SampleInput(a, dtype=np.complex128)
        if dtype.kind == "f":
            yield SampleInput(special_values(dtype))

    return samples


def _reduce_errors(info: OpInfo, device: str) -> Iterator[Any]:
    yield SampleInput(np.zeros((2, 3)), axis=2), np.exceptions.AxisError, "out of bounds"
    yield SampleInput(np.zeros((2, 3)), axis=(0, 0)), ValueError, "duplicate"


def _maximum_errors(info: OpInfo, device: str) -> Iterator[Any]:
    yield SampleInput(np.zeros((0, 3))), ValueError, "no identity"
    yield SampleInput(np.zeros((2, 3)), where=np.ones(3, bool)), ValueError, "identity"


def _accumulate_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    for a in variants(_small((3, 4), dtype)):
        yield SampleInput(a)
    yield SampleInput(_small((2, 3), dtype), 1)
    if info.name != "logical_or.accumulate":
        yield SampleInput(_small((2, 3), dtype), axis=-1, dtype=np.float64)
    yield SampleInput(_small((0,), dtype))


def _accumulate_errors(info: OpInfo, device: str) -> Iterator[Any]:
    yield SampleInput(np.zeros(())), TypeError, "accumulate"


def _outer_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    for left, right in (((2,), (3,)), ((2, 2), (3,)), ((), (3,)), ((0,), (2,)), ((), ())):
        yield SampleInput(_small(left, dtype), _small(right, dtype, 1))
    yield SampleInput(_small((2,), dtype), 2)
    yield SampleInput(_small((2,), dtype), np.array([1.5, 2.5]))


def _reduceat_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    yield SampleInput(_small((6,), dtype), [0, 2, 4])
    yield SampleInput(_small((2, 6), dtype), np.array([0, 5, 1]), axis=1)
    yield SampleInput(_small((6, 2), dtype), [3])


def _reduceat_errors(info: OpInfo, device: str) -> Iterator[Any]:
    yield SampleInput(np.zeros(3), [5]), IndexError, "out-of-bounds"


def _at_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    yield SampleInput(_small((4,), dtype), np.array([0, 0, 2]), _small((3,), dtype, 1))
    yield SampleInput(_small((4, 2), dtype), [1, 1, -1], _small((2,), dtype, 1))
    yield SampleInput(_small((4, 2), dtype), ([1, 1], [0, 0]), 1)
    yield SampleInput(_small((4, 2), dtype), np.s_[1:, [0, 0]], 1)
    yield SampleInput(_small((4,), dtype), np.array([True, False, True, True]), 1)
    yield SampleInput(_small((4,), dtype), 2, 1)
    yield SampleInput(_small((6,), dtype)[::-2], [0, 0], 1)


def _at_errors(info: OpInfo, device: str) -> Iterator[Any]:
    yield SampleInput(np.zeros(3), [7], 1.5), IndexError, "out of bounds"


def _negative_at_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    yield SampleInput(_small((4,), dtype), [0, 0, 1])


def _into(reduce: Any) -> Any:
    def call(a: Any, out: Any, **kwargs: Any) -> Any:
        return reduce(a, out=out, **kwargs)

    return call


def _out_samples(info: OpInfo, device: str, dtype: DType, requires_grad: bool) -> Iterator[SampleInput]:
    a = _small((3, 3), dtype)
    yield SampleInput(a, np.zeros((2, 3), dtype.name)[0])
    yield SampleInput(a, np.zeros(3, np.float64), axis=1)


_AT = (dtypes.int8, dtypes.uint32, *_FLOATS, dtypes.complex64)

opinfos.add(
    "ufuncs",
    *(
        _info(getattr(np, n), "reduce", _reduce_samples(getattr(np, n)), _reduce_errors if n == "add" else None)
        for n in (*_REDUCED, *_BITWISE, *_OTHERS)
    ),
    OpInfo(np.maximum.reduce, name="maximum.reduce errors", error_input_generator=_maximum_errors, dtypes=()),
    *(
        _info(getattr(np, n), "accumulate", _accumulate_samples, _accumulate_errors if n == "add" else None, _FLOATS)
        for n in ("add", "multiply", "maximum", "minimum", "subtract")
    ),
    _info(np.add, "accumulate", _accumulate_samples, None, (dtypes.bool8, dtypes.int8, dtypes.complex64)),
    _info(np.logical_or, "accumulate", _accumulate_samples, None, (dtypes.bool8, dtypes.int8)),
    *(_info(getattr(np, n), "outer", _outer_samples, None, _AT) for n in ("add", "multiply", "less", "hypot")),
    *(_info(getattr(np, n), "reduceat", _reduceat_samples, None, _AT) for n in ("add", "maximum")),
    OpInfo(np.add.reduceat, name="add.reduceat errors", error_input_generator=_reduceat_errors, dtypes=()),
    *(
        _info(getattr(np, n), "at", _at_samples, _at_errors if n == "add" else None, _AT)
        for n in ("add", "subtract", "multiply", "maximum")
    ),
    _info(np.negative, "at", _negative_at_samples, None, _FLOATS),
    OpInfo(
        _into(np.add.reduce),
        name="add.reduce out",
        sample_input_generator=_out_samples,
        dtypes=(dtypes.int64, *_FLOATS),
    ),
    OpInfo(
        _into(np.maximum.accumulate),
        name="maximum.accumulate out",
        sample_input_generator=lambda info, **kind: iter([SampleInput(np.arange(3.0), np.zeros(3))]),
        dtypes=(dtypes.float64,),
    ),
)
