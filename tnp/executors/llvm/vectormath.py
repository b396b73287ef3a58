"""Mathematical functions as calls that LLVM's loop vectoriser can turn into calls of vectors of them.

glibc's libmvec has vector variants of libm's functions, of at most 4 ulp error: six functions before glibc 2.35, most
of libm since. A scalar function is declared with the attribute ``vector-function-abi-variant``, which names the
variants that this machine's libmvec has; LLVM's own switch for vector libraries does not reach its pass manager through
llvmlite. What libmvec lacks, and all on other systems, is a call of libm for each element;
:mod:`~tnp.executors.llvm.scalars.elementary` decides where functions of our own take the place of either.

The variants have no masked forms: a call under a condition is not vectorised, so conditions are selects between
results.

``exp2`` and ``pow`` go by names of glibc that LLVM does not know: it would make ``ldexp`` of ``exp2(n)`` and ``exp2``
of ``pow(2, x)``, which are then computed one element at a time.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable

from tnp.core import dtypes
from tnp.core.dtypes import DType
from tnp.core.elementwise_table import ROWS
from tnp.executors.llvm.code import Code
from tnp.runtime.engine import load_library, target

__all__ = ["FUNCTIONS", "call", "define_with_forms", "has_fma", "is_vectorised", "widths"]

#: functions of C that are instructions, LLVM's or ours
_NOT_CALLED = ("ceil", "copysign", "floor", "fmod", "nextafter", "rint", "sqrt", "trunc")
#: number of arguments of each function of libm that may be called
FUNCTIONS = {row.c: row.nargs for row in ROWS if row.c and row.c not in _NOT_CALLED}

#: letters of the vector function ABI, widest first, with the bits of a vector
_WIDTHS = (("e", 512), ("d", 256), ("b", 128))


@functools.cache
def has_fma() -> bool:
    """Whether products are fused with sums in hardware; where not, LLVM calls libm for each."""
    t = target()
    return "+fma," in f"{t.features}," or t.triple.startswith(("aarch64", "arm64"))


def widths(dtype: DType) -> tuple[tuple[str, int], ...]:
    """(letter, lanes) of the kinds of vectors of ``dtype`` that this processor has, widest first; none if it is no x86."""
    t = target()
    if not t.triple.startswith("x86_64"):
        return ()
    return tuple((letter, bits // dtype.bits) for letter, bits in _WIDTHS if bits <= t.vector_bits)


def define_with_forms(
    code: Code, symbol: str, dtype: DType, arity: int, definition: Callable[[str, DType, int, str], str]
) -> None:  # fmt: skip
    """Adds a function to the module, and forms of it for vectors, which the vectoriser finds as it finds libmvec's.

    ``definition(name, dtype, lanes, attributes)`` writes the function of vectors, or of one element for ``lanes`` 0. For what
    has to branch: a straight line of instructions needs no forms.
    """
    attributes = "noinline nounwind willreturn memory(none)"
    forms = widths(dtype)[:2]
    if target().triple.startswith(("aarch64", "arm64")):
        forms = (("n", 128 // dtype.bits),)
    names = []
    for letter, lanes in forms:
        vector = f"_ZGV{letter}N{lanes}{'v' * arity}_{symbol}"
        code.require(f"@{vector}", definition(vector, dtype, lanes, attributes))
        code.keep(f"@{vector}")
        names.append(f"{vector}({vector})")
    if names:
        attributes += f' "vector-function-abi-variant"="{",".join(names)}"'
    # Kept as well: passes that specialise a function for a constant argument would change its type, not its forms'.
    code.keep(f"@{symbol}")
    code.require(f"@{symbol}", definition(symbol, dtype, 0, attributes))


#: functions whose names LLVM must not recognise
_HIDDEN = ("exp2", "pow")


@functools.cache
def _library(name: str) -> ctypes.CDLL | None:
    """A library of glibc, where there is one: compiled code finds its functions through the engine, we their names through ctypes."""
    return ctypes.CDLL(name) if load_library(name) else None


@functools.cache
def _variants(name: str, dtype: DType) -> tuple[tuple[str, int], ...]:
    """(symbol, lanes) of the vector variants that there are for this processor."""
    library = _library("libmvec.so.1")
    suffix = "f" if dtype is dtypes.float32 else ""
    found = []
    for letter, lanes in widths(dtype):
        symbol = f"_ZGV{letter}N{lanes}{'v' * FUNCTIONS[name]}_{name}{suffix}"
        if hasattr(library, symbol):
            found.append((symbol, lanes))
    return tuple(found)


@functools.cache
def _scalar(name: str, dtype: DType) -> str:
    """The scalar function's symbol."""
    hidden = f"{name}f{dtype.bits}"
    if hasattr(_library("libm.so.6"), hidden) and name in _HIDDEN:
        return hidden
    return name + ("f" if dtype is dtypes.float32 else "")


def is_vectorised(name: str, dtype: DType) -> bool:
    """Whether a loop over the function takes several elements at a time."""
    return bool(_variants(name, dtype))


def call(code: Code, name: str, args: list[str], dtype: DType) -> str:
    """The register of ``name`` (one of :data:`FUNCTIONS`) of float32 or float64 operands."""
    type_ = "float" if dtype is dtypes.float32 else "double"
    scalar = _scalar(name, dtype)
    variants = _variants(name, dtype)
    arity = FUNCTIONS[name]
    attributes = "nounwind willreturn memory(none)"
    for symbol, lanes in variants:
        vector = f"<{lanes} x {type_}>"
        code.require(f"@{symbol}", f"declare {vector} @{symbol}({', '.join([vector] * arity)}) {attributes}")
        code.keep(f"@{symbol}")
    if variants:
        names = ",".join(f"{s.rpartition('_')[0]}_{scalar}({s})" for s, _ in variants)
        attributes += f' "vector-function-abi-variant"="{names}"'
    code.require(f"@{scalar}", f"declare {type_} @{scalar}({', '.join([type_] * arity)}) {attributes}")
    return code.op(f"call {type_} @{scalar}({', '.join(f'{type_} {a}' for a in args)})")
