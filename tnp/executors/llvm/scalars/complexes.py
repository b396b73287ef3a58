"""complex64 and complex128 as pairs of registers."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from typing import Any

from tnp.core import dtypes
from tnp.core.dtypes import DType
from tnp.executors.llvm import vectormath
from tnp.executors.llvm.code import Code
from tnp.executors.llvm.scalars import elementary
from tnp.executors.llvm.scalars.elementary.powers import sum_of_squares
from tnp.executors.llvm.scalars.registers import (
    Complex,
    Register,
    intrinsic,
    known_float,
    register_type,
    select,
)
from tnp.runtime.engine import target

__all__ = ["COMPLEXES", "NEED_LIBM", "has_complex_libm"]


def _magnitude(a: Register) -> Register:
    return intrinsic("fabs", a)


def _abs(a: Complex) -> Register:
    return elementary.call("hypot", a.re, a.im)


def _is_infinite(a: Register) -> Register:
    return _magnitude(a) == math.inf


def _is_finite(a: Register) -> Register:
    return _magnitude(a) < math.inf


def _choose(condition: Register, a: Complex, b: Complex) -> Complex:
    return Complex(select(condition, a.re, b.re), select(condition, a.im, b.im))


def _multiply(a: Complex, b: Complex) -> Complex:
    """The product as NumPy's loops take it, whose bits differ with the processor: one product of each part is fused with the sum."""
    if not vectormath.has_fma():
        return a * b
    return Complex(
        intrinsic("fma", a.re, b.re, -(a.im * b.im)),
        intrinsic("fma", a.re, b.im, a.im * b.re),
    )


def _divide(a: Complex, b: Complex) -> Complex:
    """Smith's algorithm, as NumPy: divides by the larger part first (R. L. Smith, "Algorithm 116", 1962)."""
    re_larger = _magnitude(b.re) >= _magnitude(b.im)
    large, small = select(re_larger, b.re, b.im), select(re_larger, b.im, b.re)
    ratio = small / large
    scale = 1.0 / (large + small * ratio)
    re = select(re_larger, a.re + a.im * ratio, a.re * ratio + a.im) * scale
    im = select(re_larger, a.im - a.re * ratio, a.im * ratio - a.re) * scale
    zero = re_larger & (large == 0)
    return _choose(zero, Complex(a.re / _magnitude(large), a.im / _magnitude(large)), Complex(re, im))


def _reciprocal(a: Complex) -> Complex:
    re_larger = _magnitude(a.im) <= _magnitude(a.re)
    large, small = select(re_larger, a.re, a.im), select(re_larger, a.im, a.re)
    ratio = small / large
    # The sums' order is NumPy's.
    size = select(re_larger, a.re + a.im * ratio, a.re * ratio + a.im)
    return Complex(select(re_larger, 1.0, ratio) / size, select(re_larger, -ratio, ratio.lift(-1.0)) / size)


def _ordered(strict: Callable[[Register, Register], Register], ties: Callable[[Register, Register], Register]) -> Any:
    """Lexicographic order, false if an imaginary part is NaN and the real parts decide."""

    def compare(a: Complex, b: Complex) -> Register:
        ordered = a.im.code.op(f"fcmp ord {a.im.type} {a.im.text}, {b.im.text}")
        return (strict(a.re, b.re) & Register(a.im.code, ordered, dtypes.bool8)) | ((a.re == b.re) & ties(a.im, b.im))

    return compare


def _lt(a: Register, b: Register) -> Register:
    return a < b


def _le(a: Register, b: Register) -> Register:
    return a <= b


_less, _less_equal = _ordered(_lt, _lt), _ordered(_lt, _le)


def _greater(a: Complex, b: Complex) -> Register:
    return _less(b, a)


def _greater_equal(a: Complex, b: Complex) -> Register:
    return _less_equal(b, a)


_SUFFIXES = {dtypes.float32: "f", dtypes.float64: ""}


@functools.cache
def _convention() -> str:
    """How C functions take and give complex numbers here: ``x86``, ``arm``, or ``""`` for a convention that is not known."""
    triple = target().triple
    if "windows" in triple:
        return ""
    return {"x86_64": "x86", "aarch64": "arm", "arm64": "arm"}.get(triple.partition("-")[0], "")


def has_complex_libm() -> bool:
    """Whether libm's functions of complex numbers can be called."""
    return bool(_convention())


def _pack(code: Code, type_: str, parts: Iterable[str], of: str) -> str:
    """An aggregate or vector of two parts."""
    insert, index = ("insertelement", "i64 ") if type_.startswith("<") else ("insertvalue", "")
    value = "poison"
    for i, part in enumerate(parts):
        value = code.op(f"{insert} {type_} {value}, {of} {part}, {index}{i}")
    return value


def _libm_complex(name: str) -> Callable[..., Complex]:
    """libm's ``c<name>``, one element at a time: the function that NumPy calls.

    A complex double goes in two registers and comes so; the System V convention for x86-64 has both floats of a complex float in
    one register, that for AArch64 takes them as an array.
    """

    def call(*args: Complex) -> Complex:
        first = args[0].re
        code, dtype, part = first.code, first.dtype, first.type
        function = f"@c{name}{_SUFFIXES[dtype]}"
        result, argument = f"{{{part}, {part}}}", f"[2 x {part}]"
        if _convention() == "x86":
            argument = f"<2 x {part}>" if dtype is dtypes.float32 else ""
            result = argument or result
        if argument:
            types = [argument] * len(args)
            values = [_pack(code, argument, (a.re.text, a.im.text), part) for a in args]
        else:
            types = [part] * (2 * len(args))
            values = [p.text for a in args for p in (a.re, a.im)]
        code.require(function, f"declare {result} {function}({', '.join(types)}) nounwind willreturn memory(none)")
        value = code.op(f"call {result} {function}({', '.join(f'{t} {v}' for t, v in zip(types, values))})")
        extract, index = ("extractelement", "i64 ") if result.startswith("<") else ("extractvalue", "")
        return Complex(*(Register(code, code.op(f"{extract} {result} {value}, {index}{i}"), dtype) for i in (0, 1)))

    return call


def _exp(a: Complex) -> Complex:
    """exp(re) · (cos(im) + i sin(im)), with C's special cases (ISO C, G.6.3.1); it vectorises, unlike libm's."""
    # Where exp(re) may overflow and the product not, a factor is kept apart.
    top = math.floor(math.log(2.0) * {dtypes.float32: 128, dtypes.float64: 1024}[a.re.dtype])
    large = (a.re > top) & (a.re < math.inf)
    size = elementary.call("exp", select(large, a.re - float(top), a.re))
    rest = select(large, a.re.lift(math.exp(top)), 1.0)
    re = size * elementary.call("cos", a.im) * rest
    im = select(a.im == 0, a.im, size * elementary.call("sin", a.im) * rest)
    endless = (_magnitude(a.re) == math.inf) & ~_is_finite(a.im)
    vanished = intrinsic("copysign", a.im.lift(0.0), a.im)
    return Complex(
        select(a.im == 0, size * rest, select(endless, size, re)), select(endless & (a.re < 0), vanished, im)
    )


def _expm1(a: Complex) -> Complex:
    half_sine = elementary.call("sin", a.im * 0.5)
    re = elementary.call("expm1", a.re) * elementary.call("cos", a.im) - 2.0 * half_sine * half_sine
    return Complex(re, elementary.call("exp", a.re) * elementary.call("sin", a.im))


def _log1p(a: Complex) -> Complex:
    shifted = a.re + 1.0
    return Complex(
        elementary.call("log", elementary.call("hypot", shifted, a.im)), elementary.call("atan2", a.im, shifted)
    )


def _growth(x: Register) -> tuple[Register, Register, Register]:
    """cosh and sinh of ``|x|``, but for a factor, by which the products with sines overflow no earlier than they must. Of numbers as large
    as those where it is not 1, both are exp(x) / 2."""
    top, shift = {dtypes.float32: (80.0, 16.0), dtypes.float64: (700.0, 32.0)}[x.dtype]
    size = _magnitude(x)
    is_large = size > top
    size = select(is_large, size - shift, size)
    rest = select(is_large, x.lift(math.exp(shift)), 1.0)
    return elementary.call("cosh", size), elementary.call("sinh", size), rest


def _cosh(a: Complex) -> Complex:
    """cosh(re) cos(im) + i sinh(re) sin(im), with C's special cases (ISO C, G.6.2.4); it vectorises, unlike libm's."""
    cosh, sinh, rest = _growth(a.re)
    sinh = intrinsic("copysign", sinh, a.re)
    re, im = cosh * elementary.call("cos", a.im) * rest, sinh * elementary.call("sin", a.im) * rest
    one = a.re.lift(1.0)
    zero = select(a.im == 0, a.im * intrinsic("copysign", one, a.re), a.re * intrinsic("copysign", one, a.im))
    endless = _is_infinite(a.re) & ~_is_finite(a.im)
    return Complex(select(endless, math.inf, re), select((a.re == 0) | (a.im == 0), zero, im))


def _sinh(a: Complex) -> Complex:
    """sinh(re) cos(im) + i cosh(re) sin(im) (ISO C, G.6.2.5)."""
    cosh, sinh, rest = _growth(a.re)
    sinh = intrinsic("copysign", sinh, a.re)
    re, im = sinh * elementary.call("cos", a.im) * rest, cosh * elementary.call("sin", a.im) * rest
    undefined = ~_is_finite(a.im)
    re = select(undefined & (a.re == 0), a.re, select(undefined & _is_infinite(a.re), math.inf, re))
    return Complex(re, select(a.im == 0, a.im, im))


def _tanh(a: Complex) -> Complex:
    """(sinh(re) cosh(re) + i sin(im) cos(im)) / (sinh(re)² + cos(im)²); ±1 of large real parts (ISO C, G.6.2.6)."""
    top = {dtypes.float32: 12.0, dtypes.float64: 24.0}[a.re.dtype]
    size = _magnitude(a.re)
    is_large = size > top
    small = select(is_large, a.re.lift(top), size)
    cosh, sinh = elementary.call("cosh", small), elementary.call("sinh", small)
    cos, sin = elementary.call("cos", a.im), elementary.call("sin", a.im)
    below = sinh * sinh + cos * cos
    re = intrinsic("copysign", select(is_large, 1.0, sinh * cosh / below), a.re)
    im = sin * cos * select(is_large, elementary.call("exp", size * -2.0) * 4.0, 1.0 / below)
    undefined, endless = ~_is_finite(a.im), _is_infinite(a.re)
    im = select(undefined & endless, intrinsic("copysign", a.im.lift(0.0), a.im), select(a.im == 0, a.im, im))
    re = select(a.re == 0, a.re, select(undefined & ~endless, math.nan, re))
    return Complex(re, im)


def _cos(a: Complex) -> Complex:
    return _cosh(Complex(-a.im, a.re))


def _sin(a: Complex) -> Complex:
    found = _sinh(Complex(-a.im, a.re))
    endless = _is_infinite(a.im) & ~_is_finite(a.re)
    return Complex(found.im, select(endless, math.inf, -found.re))


def _tan(a: Complex) -> Complex:
    found = _tanh(Complex(-a.im, a.re))
    return Complex(found.im, -found.re)


def _in_vectors(name: str, function: Callable[[Complex], Complex]) -> Callable[[Complex], Complex]:
    """``function``; libm's, where there is no quick sine."""

    def call(a: Complex) -> Complex:
        return function(a) if vectormath.has_fma() else _libm_complex(name)(a)

    return call


def _scaled(a: Complex, factor: float) -> Complex:
    return Complex(a.re * factor, a.im * factor)


def _log(a: Complex) -> Complex:
    """log of the magnitude, and the angle. It vectorises, unlike libm's."""
    if not vectormath.has_fma():
        return _libm_complex("log")(a)
    re, im = _magnitude(a.re), _magnitude(a.im)
    large, small = select(re > im, re, im), select(re > im, im, re)
    # Near 1, half the logarithm of 1 + above: that of what this is rounded to, and the rest.
    is_near = (large > math.sqrt(0.5)) & (large < math.sqrt(2.0))
    above = _squares_above_one(large, small)
    rounded = above + 1.0
    rest = (above - (rounded - 1.0)) / rounded
    logarithm = elementary.call("log", select(is_near, rounded, elementary.call("hypot", a.re, a.im)))
    length = select(is_near, (logarithm + rest) * 0.5, logarithm)
    return Complex(length, elementary.call("atan2", a.im, a.re))


def _squares_above_one(large: Register, small: Register) -> Register:
    """``large² + small² - 1`` with twice the digits, of a ``large`` near 1: what the sum differs from 1 by is all that counts."""
    if large.dtype is dtypes.float32:
        wide = [_float(x, "fpext", dtypes.float64) for x in (large, small)]
        return _float((wide[0] * wide[0] - 1.0) + wide[1] * wide[1], "fptrunc", dtypes.float32)
    first, second = large * large, small * small
    lost = intrinsic("fma", large, large, -first) + intrinsic("fma", small, small, -second)
    above = first - 1.0  # exactly, if that is between a half and 2
    total = above + second
    kept = total - above
    return total + ((above - (total - kept)) + (second - kept) + lost)


def _float(x: Register, operation: str, dtype: DType) -> Register:
    return Register(x.code, x.code.op(f"{operation} {x.type} {x.text} to {register_type(dtype)}"), dtype)


def _sqrt(a: Complex) -> Complex:
    """sqrt((|re| + |a|) / 2) is one part, up to signs, and the other is im over twice that. Extreme numbers are scaled. It vectorises,
    unlike libm's."""
    bits = {dtypes.float32: 126, dtypes.float64: 1022}[a.re.dtype]
    re, im = _magnitude(a.re), _magnitude(a.im)
    largest = select(re > im, re, im)
    is_large, is_small = largest > 2.0 ** (bits - 2), largest < 2.0 ** (50 - bits)
    scale = select(is_large, a.re.lift(2.0**-4), select(is_small, a.re.lift(2.0**48), 1.0))
    back = select(is_large, a.re.lift(4.0), select(is_small, a.re.lift(2.0**-24), 1.0))
    x, y = re * scale, im * scale
    longer = intrinsic("sqrt", (x + elementary.call("hypot", x, y)) * 0.5)
    shorter = select(longer == 0, 0.0, y / (longer + longer)) * back
    longer = longer * back
    is_right, is_endless = a.re >= 0, im == math.inf
    real = select(is_endless, math.inf, select(is_right | a.re.isnan(), longer, shorter))
    imaginary = select(is_endless, math.inf, select(is_right | a.re.isnan(), shorter, longer))
    return Complex(real, intrinsic("copysign", imaginary, a.im))


def _sign(a: Complex) -> Complex:
    """a / abs(a); 0 of 0. An infinite part makes the other 0, two infinite ones NaN."""
    size = _abs(a)
    re, im = a.re / size, a.im / size
    re_infinite, im_infinite = _is_infinite(a.re), _is_infinite(a.im)
    one, zero = a.re.lift(1.0), a.re.lift(0.0)
    re = select(re_infinite, intrinsic("copysign", one, a.re), select(im_infinite, zero, re))
    im = select(im_infinite, intrinsic("copysign", one, a.im), select(re_infinite, zero, im))
    undefined = size.isnan() | (re_infinite & im_infinite)
    none = size == 0
    return Complex(*(select(undefined, math.nan, select(none, 0.0, x)) for x in (re, im)))


_OF_LIBM = ("acos", "acosh", "asin", "asinh", "atan", "atanh")
_IN_VECTORS = {
    "cos": _cos,
    "cosh": _cosh,
    "sin": _sin,
    "sinh": _sinh,
    "tan": _tan,
    "tanh": _tanh,
}

#: operations that call libm's functions of complex numbers
NEED_LIBM = frozenset((*_OF_LIBM, *_IN_VECTORS, "log", "log10", "log2", "pow", "rsqrt", "sqrt"))


#: NumPy multiplies for whole exponents of magnitudes below this, and calls cpow for others
_MULTIPLIED = 100


def _number(a: Register, re: float) -> Complex:
    return Complex(a.lift(re), a.lift(0.0))


def _known_exponent(b: Complex) -> int | None:
    """A constant whole exponent for which NumPy multiplies."""
    values = [known_float(part.text) for part in (b.re, b.im)]
    if None in values or values[1] != 0 or not float(values[0]).is_integer() or abs(values[0]) >= _MULTIPLIED:
        return None
    return int(values[0])


def _of_zero(a: Complex, positive: Register, result: Complex) -> Complex:
    """``result``, or for a base of 0 what NumPy says: 0 to a positive exponent, NaN to others."""
    zero = (a.re == 0) & (a.im == 0)
    instead = select(positive, a.re.lift(0.0), math.nan)
    return _choose(zero, Complex(instead, instead), result)


def _whole_power(a: Complex, n: Register) -> Complex:
    """``a**n`` for an int32 of magnitude below 100, by the multiplications that NumPy does."""
    one = _number(a.re, 1.0)
    result, square, magnitude = one, a, intrinsic("abs", n, tail="i1 false")
    for bit in range(_MULTIPLIED.bit_length()):
        result = _choose((magnitude & 1 << bit) != 0, result * square, result)
        square = square * square
    result = _choose(n < 0, _divide(one, result), result)
    result = _choose(n == 0, one, _of_zero(a, n > 0, result))
    twice = a * a
    for small, product in ((1, a), (2, twice), (3, a * twice)):
        result = _choose(n == small, product, result)
    return result


def _product_of_c(a: Complex, b: Complex) -> Complex:
    """The product as C takes it (ISO C, G.5.1): of an infinity and what is not 0, it is infinite."""
    product = a * b
    parts = [a.re, a.im, b.re, b.im]
    ends = [_is_infinite(x) for x in parts]
    a_ends, b_ends = ends[0] | ends[1], ends[2] | ends[3]

    def boxed(x: Register, is_infinite: Register, here: Register, there: Register) -> Register:
        """1 for infinity beside 0, with signs; of the other factor, 0 for NaN."""
        one = intrinsic("copysign", select(is_infinite, x.lift(1.0), 0.0), x)
        zero = intrinsic("copysign", x.lift(0.0), x)
        return select(here, one, select(there & x.isnan(), zero, x))

    pairs = ((a_ends, b_ends), (a_ends, b_ends), (b_ends, a_ends), (b_ends, a_ends))
    c, d, e, f = (boxed(x, end, *pair) for x, end, pair in zip(parts, ends, pairs))
    lost = product.re.isnan() & product.im.isnan() & (a_ends | b_ends)
    return Complex(
        select(lost, (c * e - d * f) * math.inf, product.re), select(lost, (c * f + d * e) * math.inf, product.im)
    )


def _wide(a: Complex) -> Complex:
    """In double precision."""
    return Complex(*(x if x.dtype is dtypes.float64 else _float(x, "fpext", dtypes.float64) for x in (a.re, a.im)))


def _narrow(a: Complex, dtype: DType) -> Complex:
    return a if dtype is dtypes.float64 else Complex(*(_float(x, "fptrunc", dtype) for x in (a.re, a.im)))


def _power(a: Complex, b: Complex) -> Complex:
    """As ``npy_cpow`` decides: by multiplications for whole exponents, and otherwise as cpow computes it. It vectorises.

    The logarithm's rounding is magnified by the exponent, so that of complex64 is taken in double precision.
    """
    known, dtype = _known_exponent(b), a.re.dtype
    if known is not None:
        return _whole_power(a, Register(a.re.code, str(known), dtypes.int32))
    power = _of_zero(a, b.re > 0, _narrow(_exp(_product_of_c(_wide(b), _log(_wide(a)))), dtype))
    if known_float(b.re.text) is not None and known_float(b.im.text) is not None:
        return power
    is_whole = (b.im == 0) & (intrinsic("trunc", b.re) == b.re) & (_magnitude(b.re) < float(_MULTIPLIED))
    whole = select(is_whole, b.re, 0.0)
    n = Register(whole.code, whole.code.op(f"fptosi {register_type(dtype)} {whole.text} to i32"), dtypes.int32)
    return _choose(is_whole, _whole_power(a, n), power)


def _truth(a: Complex) -> Register:
    return (a.re != 0) | (a.im != 0)


COMPLEXES: dict[str, Callable[..., Any]] = {
    **{name: _libm_complex(name) for name in _OF_LIBM},
    **{name: _in_vectors(name, function) for name, function in _IN_VECTORS.items()},
    "abs": _abs,
    "add": lambda a, b: a + b,
    "conj": lambda a: Complex(a.re, -a.im),
    "div": _divide,
    "eq": lambda a, b: (a.re == b.re) & (a.im == b.im),
    "exp": _exp,
    "exp2": lambda a: _exp(_scaled(a, math.log(2.0))),
    "expm1": _expm1,
    "fmax": lambda a, b: _choose(_greater_equal(a, b) | b.isnan(), a, b),
    "fmin": lambda a, b: _choose(_less_equal(a, b) | b.isnan(), a, b),
    "ge": _greater_equal,
    "gt": _greater,
    "imag": lambda a: a.im,
    "isfinite": lambda a: _is_finite(a.re) & _is_finite(a.im),
    "isinf": lambda a: _is_infinite(a.re) | _is_infinite(a.im),
    "isnan": lambda a: a.isnan(),
    "le": _less_equal,
    "log": _log,
    "log10": lambda a: _scaled(_log(a), math.log10(math.e)),
    "log1p": _log1p,
    "log2": lambda a: _scaled(_log(a), math.log2(math.e)),
    "logical_and": lambda a, b: _truth(a) & _truth(b),
    "logical_not": lambda a: ~_truth(a),
    "logical_or": lambda a, b: _truth(a) | _truth(b),
    "logical_xor": lambda a, b: _truth(a) ^ _truth(b),
    "lt": _less,
    "maximum": lambda a, b: _choose(_greater_equal(a, b) | a.isnan(), a, b),
    "minimum": lambda a, b: _choose(_less_equal(a, b) | a.isnan(), a, b),
    "mul": _multiply,
    "ne": lambda a, b: (a.re != b.re) | (a.im != b.im),
    "neg": lambda a: -a,
    "positive": lambda a: a,
    "pow": _power,
    "real": lambda a: a.re,
    "reciprocal": _reciprocal,
    "round": lambda a: Complex(intrinsic("rint", a.re), intrinsic("rint", a.im)),
    "rsqrt": lambda a: _divide(_number(a.re, 1.0), _sqrt(a)),
    "sign": _sign,
    "sqrt": _sqrt,
    "square": lambda a: _multiply(a, a),
    "squares": lambda a: sum_of_squares(a.re, a.im),
    "squares_or_infinity": lambda a: sum_of_squares(a.re, a.im, infinite=True),
    "sub": lambda a, b: a - b,
}
