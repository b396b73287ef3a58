"""float32 and float64; float16 and bfloat16 are computed in float32.

NaN, infinities and signed zeros follow NumPy's loops.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tnp.core.elementwise_table import ROWS
from tnp.executors.llvm import vectormath
from tnp.executors.llvm.scalars.elementary import call
from tnp.executors.llvm.scalars.elementary.powers import SHORT, short_power, sum_of_squares
from tnp.executors.llvm.scalars.fmod import fmod
from tnp.executors.llvm.scalars.registers import Register, intrinsic, known_float, select
from tnp.executors.llvm.scalars.special import SPECIAL

__all__ = ["FLOATS"]


def _function(name: str) -> Callable[..., Register]:
    return lambda *args: call(name, *args)


def _intrinsic(name: str) -> Callable[..., Register]:
    return lambda *args: intrinsic(name, *args)


def _magnitude(a: Register) -> Register:
    return intrinsic("fabs", a)


def _maximum(a: Register, b: Register) -> Register:
    return select((a > b) | a.isnan(), a, b)


def _minimum(a: Register, b: Register) -> Register:
    return select((a < b) | a.isnan(), a, b)


def _sign(a: Register) -> Register:
    return select(a > 0, 1.0, select(a < 0, -1.0, select(a == 0, 0.0, a)))


def _adjusted_remainder(a: Register, b: Register) -> tuple[Register, Register]:
    """C's remainder, and whether Python's, which has the divisor's sign, is that plus the divisor."""
    rest = fmod(a, b)
    return rest, (rest != 0) & ((b < 0) ^ (rest < 0))


def _remainder(a: Register, b: Register) -> Register:
    rest, other_sign = _adjusted_remainder(a, b)
    whole = select(rest == 0, intrinsic("copysign", rest, b), rest)
    return select(other_sign, rest + b, whole)


def _floor_divide(a: Register, b: Register) -> Register:
    """``npy_divmod``'s quotient, which is a whole number even where ``a / b`` iterations up to one."""
    rest, other_sign = _adjusted_remainder(a, b)
    exact = (a - rest) / b
    exact = select(other_sign, exact - 1.0, exact)
    floor = intrinsic("floor", exact)
    floor = select(exact - floor > 0.5, floor + 1.0, floor)
    quotient = a / b
    floor = select(exact == 0, intrinsic("copysign", a.lift(0.0), quotient), floor)
    return select(b == 0, quotient, floor)


def _log_of_sum(log1p_exp: Callable[[Register], Register], log_of_2: float) -> Callable[..., Register]:
    """log(exp(a) + exp(b)), as the larger plus what the smaller adds."""

    def logarithm(a: Register, b: Register) -> Register:
        difference = a - b
        larger = select(difference > 0, a, b)
        result = larger + log1p_exp(-_magnitude(difference))
        # Equal infinities have no difference.
        return select(a == b, a + log_of_2, select(difference.isnan(), difference, result))

    return logarithm


def _heaviside(a: Register, b: Register) -> Register:
    return select(a.isnan(), a, select(a == 0, b, select(a < 0, a.lift(0.0), 1.0)))


#: exponents for which a power is a few operations, as accurate as libm's
_EXPONENTS: dict[float | None, Callable[[Register], Register]] = {
    -1.0: lambda a: 1.0 / a,
    0.5: lambda a: select(a == -math.inf, math.inf, intrinsic("sqrt", a + 0.0)),
    1.0: lambda a: a,
    2.0: lambda a: a * a,
    3.0: lambda a: a * a * a,
}


def _power(a: Register, b: Register) -> Register:
    exponent = known_float(b.text)
    rule = _EXPONENTS.get(exponent)
    if rule is not None:
        return rule(a)
    return short_power(a, exponent) if exponent in SHORT else call("pow", a, b)


FLOATS: dict[str, Callable[..., Any]] = {
    **{row.name: _function(row.c) for row in ROWS if row.c in vectormath.FUNCTIONS},
    **SPECIAL,
    "abs": _magnitude,
    "add": lambda a, b: a + b,
    "ceil": _intrinsic("ceil"),
    "conj": lambda a: a,
    "copysign": _intrinsic("copysign"),
    "div": lambda a, b: a / b,
    "eq": lambda a, b: a == b,
    "floor": _intrinsic("floor"),
    "floor_divide": _floor_divide,
    "fmax": lambda a, b: select((a > b) | b.isnan(), a, b),
    "fmin": lambda a, b: select((a < b) | b.isnan(), a, b),
    "fmod": fmod,
    "ge": lambda a, b: a >= b,
    "gt": lambda a, b: a > b,
    "heaviside": _heaviside,
    "isfinite": lambda a: _magnitude(a) < math.inf,
    "isinf": lambda a: _magnitude(a) == math.inf,
    "isnan": lambda a: a.isnan(),
    "le": lambda a, b: a <= b,
    "logaddexp": _log_of_sum(lambda d: call("log1p", call("exp", d)), math.log(2)),
    "logaddexp2": _log_of_sum(lambda d: call("log1p", call("exp2", d)) * math.log2(math.e), 1.0),
    "logical_and": lambda a, b: (a != 0) & (b != 0),
    "logical_not": lambda a: a == 0,
    "logical_or": lambda a, b: (a != 0) | (b != 0),
    "logical_xor": lambda a, b: (a != 0) ^ (b != 0),
    "lt": lambda a, b: a < b,
    "maximum": _maximum,
    "minimum": _minimum,
    "mul": lambda a, b: a * b,
    "ne": lambda a, b: a != b,
    "neg": lambda a: -a,
    "positive": lambda a: a,
    "pow": _power,
    "reciprocal": lambda a: 1.0 / a,
    "remainder": _remainder,
    "round": _intrinsic("rint"),
    "rsqrt": lambda a: 1.0 / intrinsic("sqrt", a),
    "sign": _sign,
    "sqrt": _intrinsic("sqrt"),
    "square": lambda a: a * a,
    "squares": sum_of_squares,
    "squares_or_infinity": lambda a, b: sum_of_squares(a, b, infinite=True),
    "sub": lambda a, b: a - b,
    "trunc": _intrinsic("trunc"),
}
