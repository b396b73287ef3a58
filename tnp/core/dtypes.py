"""Element types of arrays.

A :class:`DType` is a singleton with a kind and a width, independent of array libraries. The languages convert to and
from the dtypes of NumPy and torch.

>>> from tnp.core import dtypes
>>> dtypes.float32.itemsize, dtypes.float32.shortname, str(dtypes.float32)
(4, 'f32', 'float32')
>>> dtypes.real_counterpart(dtypes.complex64)
dtypes.float32
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "ALL",
    "DType",
    "bfloat16",
    "bool8",
    "by_name",
    "complex64",
    "complex128",
    "complex_counterpart",
    "dtype",
    "dtype_of_number",
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "is_boolean_dtype",
    "is_complex_dtype",
    "is_exact_dtype",
    "is_float_dtype",
    "is_inexact_dtype",
    "is_integer_dtype",
    "is_signed_integer_dtype",
    "is_unsigned_dtype",
    "real_counterpart",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]


class DType:
    """One element type. ``kind`` is NumPy's letter: ``b i u f c``; ``bits`` the storage width."""

    __slots__ = ("bits", "kind", "name", "shortname")

    def __init__(self, name: str, shortname: str, kind: str, bits: int) -> None:
        self.name: Final = name
        self.shortname: Final = shortname
        self.kind: Final = kind
        self.bits: Final = bits

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return self.bits // 8

    @property
    def limits(self) -> tuple[int, int]:
        """The least and the greatest integer of a dtype of integers."""
        return (0, 2**self.bits - 1) if self.kind == "u" else (-(2 ** (self.bits - 1)), 2 ** (self.bits - 1) - 1)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"dtypes.{'bool8' if self.kind == 'b' else self.name}"

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return by_name, (self.name,)


dtype = DType

bool8: Final = DType("bool", "b8", "b", 8)
int8: Final = DType("int8", "i8", "i", 8)
int16: Final = DType("int16", "i16", "i", 16)
int32: Final = DType("int32", "i32", "i", 32)
int64: Final = DType("int64", "i64", "i", 64)
uint8: Final = DType("uint8", "u8", "u", 8)
uint16: Final = DType("uint16", "u16", "u", 16)
uint32: Final = DType("uint32", "u32", "u", 32)
uint64: Final = DType("uint64", "u64", "u", 64)
float16: Final = DType("float16", "f16", "f", 16)
bfloat16: Final = DType("bfloat16", "bf16", "f", 16)
float32: Final = DType("float32", "f32", "f", 32)
float64: Final = DType("float64", "f64", "f", 64)
complex64: Final = DType("complex64", "c64", "c", 64)
complex128: Final = DType("complex128", "c128", "c", 128)

ALL: Final = (
    bool8,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
    float16,
    bfloat16,
    float32,
    float64,
    complex64,
    complex128,
)
_BY_NAME: Final = {d.name: d for d in ALL}


def by_name(name: str) -> DType:
    """The dtype of that name (``"float32"``, ``"bool"``). Raises ``KeyError`` for any other."""
    return _BY_NAME[name]


def is_boolean_dtype(d: DType) -> bool:
    return d.kind == "b"


def is_unsigned_dtype(d: DType) -> bool:
    return d.kind in "bu"


def is_signed_integer_dtype(d: DType) -> bool:
    return d.kind == "i"


def is_integer_dtype(d: DType) -> bool:
    """Signed or unsigned, bool not among them."""
    return d.kind in "iu"


def is_exact_dtype(d: DType) -> bool:
    """Bool or integer."""
    return d.kind in "biu"


def is_float_dtype(d: DType) -> bool:
    return d.kind == "f"


def is_complex_dtype(d: DType) -> bool:
    return d.kind == "c"


def is_inexact_dtype(d: DType) -> bool:
    """Floating or complex."""
    return d.kind in "fc"


_REAL: Final = {complex64: float32, complex128: float64}
_COMPLEX: Final = {float16: complex64, bfloat16: complex64, float32: complex64, float64: complex128}


def real_counterpart(d: DType) -> DType:
    """The dtype of a value's real part: complex64 → float32, complex128 → float64, any other → itself."""
    return _REAL.get(d, d)


def complex_counterpart(d: DType) -> DType:
    """The complex dtype whose parts hold ``d``; complex dtypes are their own."""
    return _COMPLEX.get(d, d)


_PYTHON_NUMBERS: Final = {bool: bool8, int: int64, float: float64, complex: complex128}


def dtype_of_number(python_type: type) -> DType:
    """The dtype that holds a Python number of that type at full width."""
    return _PYTHON_NUMBERS[python_type]
