"""``scipy.linalg.blas`` and ``scipy.linalg.lapack``: each routine is a call of its own.

Results follow from the arguments' dtypes and shapes. Of LAPACK these are the listed routines: others take functions, pivots of other
kinds, or give as many results as there are. Routines that write to an argument in place (``daxpy``) are left to Python, as dry
runs tell.
"""

from __future__ import annotations

import sys
from typing import Any

from tnp.lang.scipy.registry import by_dry_run

__all__: list[str] = []

#: LAPACK's drivers and what they consist of, without the letter of the dtype. Pivots that are arguments are counted from 0.
_LAPACK = (
    "gbsv gbtrf gbtrs geev gels geqrf gesdd gesv gesvd getrf getri getrs gtsv heev heevd hesv lauum orgqr pbsv pbtrf pbtrs posv potrf "
    "potri potrs ptsv syev syevd sysv tbtrs trtri trtrs ungqr"
).split()


def _routines(module: str) -> str:
    loaded: Any = sys.modules[f"scipy.linalg.{module}"]
    names = [n for n, f in vars(loaded).items() if type(f).__name__ == "fortran"]
    return " ".join(n for n in names if module == "blas" or n[1:] in _LAPACK)


for _module in ("blas", "lapack"):  # scipy.linalg has loaded both
    by_dry_run(f"linalg.{_module}", _routines(_module))
