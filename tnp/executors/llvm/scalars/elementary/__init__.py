"""Elementary functions of our own, as straight lines of instructions: loops over them vectorise whatever libraries
there are.

Each becomes an internal function of the module, which LLVM puts in place of its calls before it optimises. So what is
said about an element holds wherever it stands: in a vector or in what remains after the vectors, on one thread or on
many, the bits are the same. A vector function of a library, besides, would make its caller keep all constants on the
stack around the call.

``OWN`` says for each function where it is used although libmvec has the function (where it is faster), and its
largest error in ulp, as measured against functions of wider types: all exponents at random, and densely where the
results are neither 0 nor infinite. Where there is no libmvec, all are used, except those that need fused products on
processors without. ``tests/executors/llvm/test_elementary.py`` holds them to the errors.

Polynomials are ``tools/minimax.py``'s; the methods are described in the modules.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from tnp.core.dtypes import DType
from tnp.executors.llvm import vectormath
from tnp.executors.llvm.code import Code
from tnp.executors.llvm.scalars.elementary import circular, errors, exponentials, logarithms, powers
from tnp.executors.llvm.scalars.registers import Register, libm
from tnp.runtime.engine import target

__all__ = ["OWN", "Own", "call", "inlined", "is_own"]


@dataclass(frozen=True)
class Own:
    """An implementation; ``preferred`` has the bits of the dtypes for which it is faster than libmvec's, and from which width of
    vectors on."""

    function: Callable[..., Register]
    preferred: dict[int, int]
    ulps: dict[int, float]
    needs_fma: bool = False


OWN: dict[str, Own] = {
    "cbrt": Own(powers.cbrt, {}, {32: 1.0, 64: 1.0}),
    "cos": Own(circular.cos, {}, {32: 1.75, 64: 1.75}, needs_fma=True),
    "cosh": Own(exponentials.cosh, {}, {32: 2.0, 64: 1.75}),
    "erf": Own(errors.erf, {32: 512, 64: 512}, {32: 1.75, 64: 2.0}),
    "exp": Own(exponentials.exp, {32: 256, 64: 256}, {32: 1.25, 64: 1.25}),
    "exp2": Own(exponentials.exp2, {}, {32: 1.25, 64: 1.25}),
    "expm1": Own(exponentials.expm1, {}, {32: 1.5, 64: 1.5}),
    "hypot": Own(powers.hypot, {}, {32: 1.25, 64: 1.25}),
    "log": Own(logarithms.log, {64: 256}, {32: 1.0, 64: 1.0}),
    "log10": Own(logarithms.log10, {}, {32: 1.25, 64: 1.25}),
    "log1p": Own(logarithms.log1p, {}, {32: 1.75, 64: 1.5}),
    "log2": Own(logarithms.log2, {}, {32: 1.25, 64: 1.25}),
    "pow": Own(powers.power, {32: 256, 64: 256}, {32: 0.75, 64: 1.5}),
    "sin": Own(circular.sin, {}, {32: 1.75, 64: 1.75}, needs_fma=True),
    "sinh": Own(exponentials.sinh, {64: 512}, {32: 1.75, 64: 1.75}),
    "tan": Own(circular.tan, {}, {32: 3.5, 64: 3.5}, needs_fma=True),
    "tanh": Own(exponentials.tanh, {64: 256}, {32: 1.5, 64: 1.5}),
}


def is_own(name: str, dtype: DType) -> bool:
    """Whether :func:`call` takes the implementation here."""
    own = OWN.get(name)
    if own is None or (own.needs_fma and not vectormath.has_fma()):
        return False
    faster = vectormath.has_fma() and target().vector_bits >= own.preferred.get(dtype.bits, math.inf)
    return faster or not vectormath.is_vectorised(name, dtype)


def call(name: str, *args: Register) -> Register:
    """A function of :data:`vectormath.FUNCTIONS` of float32 or float64 values: ours, libmvec's or libm's."""
    return inlined(name, *args) if is_own(name, args[0].dtype) else libm(name, *args)


def inlined(name: str, *args: Register) -> Register:
    """The implementation here."""
    first = args[0]
    code, type_ = first.code, first.type
    function = f"@tnp_{name}_{type_}"
    if not code.has(function):
        code.require(function, _definition(name, function, len(args), first))
    operands = ", ".join(f"{type_} {a.text}" for a in args)
    return Register(code, code.op(f"call {type_} {function}({operands})"), first.dtype)


def _definition(name: str, function: str, arity: int, like: Register) -> str:
    body = Code(like.code)
    body.fast = False  # by reordering, the sums that keep small errors would lose them
    names = "ab"[:arity]
    result = OWN[name].function(*(Register(body, f"%{n}", like.dtype) for n in names))
    head = f"define internal {like.type} {function}({', '.join(f'{like.type} %{n}' for n in names)})"
    return (
        f"{head} alwaysinline nounwind willreturn memory(none) {{\n{body.text()}\n  ret {like.type} {result.text}\n}}"
    )
