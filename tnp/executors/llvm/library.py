"""Routines of the BLAS and the LAPACK that NumPy is linked with, for native code to call.

Looking up a symbol in NumPy's extension modules finds it in the library. Integers are passed with 64 bits; of those, a
library whose integers have 32 reads the lower half.
"""

from __future__ import annotations

import ctypes
import functools
import sys

import numpy as np

from tnp.runtime.engine import define_symbol

__all__ = ["defined"]

#: How libraries spell a routine: OpenBLAS as NumPy's wheels have it, any with integers of 64 bits, Accelerate.
_SPELLINGS = {
    "cblas": ("scipy_cblas_{}64_", "cblas_{}64_", "cblas_{}$NEWLAPACK$ILP64"),
    "lapack": ("scipy_{}_64_", "{}_64_", "{}$NEWLAPACK$ILP64"),
}
#: those with integers of 32 bits, whose upper halves would be elsewhere on Apple's ARM
_SPELLINGS_32 = {"cblas": ("scipy_cblas_{}", "cblas_{}"), "lapack": ("scipy_{}_", "{}_")}


@functools.cache
def defined(routine: str, kind: str = "lapack") -> str | None:
    """The symbol of a routine (``dgemm``) for native code; ``None`` if NumPy's library has no such routine."""
    module = np._core._multiarray_umath if kind == "cblas" else np.linalg._umath_linalg
    try:
        library = ctypes.CDLL(module.__file__)
    except (AttributeError, OSError):
        return None
    for spelling in (*_SPELLINGS[kind], *(_SPELLINGS_32[kind] if sys.platform == "linux" else ())):
        try:
            found = ctypes.cast(library[spelling.format(routine)], ctypes.c_void_p).value
        except AttributeError:
            continue
        if found:
            symbol = f"tnp_{kind}_{routine}"
            define_symbol(symbol, found)
            return symbol
    return None
