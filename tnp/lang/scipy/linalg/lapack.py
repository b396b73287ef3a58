"""``scipy.linalg.blas`` and ``scipy.linalg.lapack``: each routine is a call of its own.

Results follow from the arguments' dtypes and shapes. Of LAPACK these are the listed routines: others take functions, pivots of other
kinds, or give as many results as there are. Routines that write to an argument in place (``daxpy``) are left to Python, as dry
runs tell.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tnp.core.proxies import TensorProxy
from tnp.core.symbol import map_proxies
from tnp.lang.numpy.dtypes import to_numpy_dtype
from tnp.lang.scipy.registry import by_dry_run, function_of, scipysymbol

__all__: list[str] = []

#: LAPACK's drivers and what they consist of, without the letter of the dtype. Pivots that are arguments are counted from 0.
_LAPACK = (
    "gbsv gbtrf gbtrs geev gels geqrf gesdd gesv gesvd getrf getri getrs gtsv heev heevd hesv lauum orgqr pbsv pbtrf pbtrs posv potrf "
    "potri potrs ptsv syev syevd sysv tbtrs trtri trtrs ungqr"
).split()


_BLAS = (
    "asum axpy copy dot dotc dotu gbmv gemm gemv ger gerc geru hbmv hemm hemv her her2 her2k herk hpmv hpr hpr2 nrm2 rot rotg rotm rotmg "
    "sbmv scal spmv spr spr2 swap symm symv syr syr2 syr2k syrk tbmv tbsv tpmv tpsv trmm trmv trsm trsv"
).split()
#: those whose names begin in another way
_OF_BLAS = ("csrot csscal dzasum dznrm2 icamax idamax isamax izamax scasum scnrm2 zdrot zdscal").split()

for _module, _names in (("blas", _BLAS), ("lapack", _LAPACK)):
    by_dry_run(f"linalg.{_module}", " ".join(letter + name for letter in "sdcz" for name in _names))
by_dry_run("linalg.blas", " ".join(_OF_BLAS))


def _chosen(name: str) -> None:
    """A function that chooses routines by the dtypes of arrays, which are known while a program is traced."""

    def choose(names: Any, arrays: Any = (), dtype: Any = None, ilp64: Any = False) -> Any:
        def example(p: Any) -> Any:
            return np.empty((1,) * p.ndim, to_numpy_dtype(p.dtype)) if isinstance(p, TensorProxy) else p.known()

        return function_of(f"linalg.{name}")(names, map_proxies(example, arrays), dtype, ilp64)

    choose.__name__, choose.__doc__ = name, f"``scipy.linalg.{name}``: the routines for arrays of these dtypes."
    scipysymbol(f"linalg.{name}", whole=False)(choose)


for _name in ("get_blas_funcs", "get_lapack_funcs"):
    _chosen(_name)
