"""``np.linalg.eig`` and ``eigvals``: of a real matrix whose eigenvalues are all real, the results are real, else complex.

The operations give complex numbers. Whether all are real is a value that the program depends on (:mod:`tnp.capture.speculation.value_specialization`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tnp.capture import active
from tnp.capture.tracing.traced_values import TracedArray
from tnp.core.errors import NeedsEager
from tnp.lang import numpy as lnp
from tnp.lang.numpy.linalg.decompositions import complex_eig, complex_eigvals

__all__ = ["BY_VALUES", "EIGENVALUES"]

_EigResult: Any = type(np.linalg.eig(np.eye(1)))


def _call(function: Any, *args: Any) -> Any:
    return active.current().call(function, args, {})


def _matrices(a: Any) -> TracedArray:
    if active.current().regions:
        raise NeedsEager("it wants the eigenvalues of a matrix, whose dtype depends on values, in a loop or a branch")
    made: TracedArray = _call(lnp.asarray, a)
    return made


def _are_real(a: TracedArray, values: TracedArray) -> bool:
    """Whether NumPy gives real results for ``a``, of which these are the eigenvalues. The program depends on it."""
    return a.dtype.kind != "c" and bool(_call(lnp.all, _call(lnp.equal, values.imag, 0)))


def _real(a: TracedArray) -> Any:
    return _call(lnp.copy, a.real)


def _eig(a: Any) -> Any:
    """``np.linalg.eig``."""
    a = _matrices(a)
    values, vectors = _call(complex_eig, a)
    return _EigResult(_real(values), _real(vectors)) if _are_real(a, values) else _EigResult(values, vectors)


def _eigvals(a: Any) -> Any:
    """``np.linalg.eigvals``."""
    a = _matrices(a)
    values = _call(complex_eigvals, a)
    return _real(values) if _are_real(a, values) else values


def _scipys_eig(
    a: Any, b: Any = None, left: Any = False, right: Any = True, overwrite_a: Any = False, overwrite_b: Any = False,
    check_finite: Any = True, homogeneous_eigvals: Any = False,
) -> Any:  # fmt: skip
    """``scipy.linalg.eig``, whose eigenvalues are always complex; ``NotImplemented`` for a call that is another operation's. It decomposes
    matrices of single precision as such, and NumPy does not."""
    is_plain = b is None and left is False and right is True and check_finite is True and homogeneous_eigvals is False
    if not is_plain or type(a) is not TracedArray or a.ndim != 2 or a.dtype.char != "d" or a.shape[0] == 0:
        return NotImplemented
    a = _matrices(a)
    values, vectors = _call(complex_eig, a)
    return values, _real(vectors) if _are_real(a, values) else vectors


#: by NumPy's function, what a program calls in its place
EIGENVALUES: dict[Any, Any] = {np.linalg.eig: _eig, np.linalg.eigvals: _eigvals}
#: by the id of a symbol
BY_VALUES: dict[str, Any] = {"scipy_call.linalg.eig": _scipys_eig}
