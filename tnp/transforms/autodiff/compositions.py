"""Gradients of compositions for which a rule of their own is better than their parts' rules: no NaN where a norm is 0,
no second factorisation.
"""

from __future__ import annotations

from typing import Any

from tnp.core import clang, dtypes
from tnp.core.proxies import TensorProxy, is_number, pyval
from tnp.core.symbol import BoundSymbol
from tnp.transforms.autodiff.reverse import Reverse
from tnp.transforms.autodiff.rules import of_bound_symbol, rule

__all__: list[str] = []


@rule("numpy.linalg.norm")
def _norm(g: TensorProxy, out: TensorProxy, x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    """Of Euclidean norms: ``g * x / norm``, 0 at 0, the subgradient of least norm."""
    if not isinstance(x, TensorProxy) or x.dtype is not _dtype_of_operand(x, out):
        return NotImplemented
    if axis is None:
        if not (ord is None or (ord == 2 and x.ndim == 1) or (ord == "fro" and x.ndim == 2)):
            return NotImplemented
        dims = tuple(range(x.ndim))
    else:
        axes = axis if isinstance(axis, (tuple, list)) else (axis,)
        if not all(is_number(d) and not isinstance(d, bool) for d in axes):
            return NotImplemented
        dims = tuple(pyval(d) % x.ndim for d in axes)
        if not (ord is None or (ord == 2 and len(dims) == 1) or (ord == "fro" and len(dims) == 2)):
            return NotImplemented
    shape = tuple(1 if d in dims else n for d, n in enumerate(x.shape))
    wide = [clang.reshape(t, shape) for t in (g, out)]
    regular = clang.ne(wide[1], 0)
    scale = clang.where(regular, clang.div(wide[0], clang.where(regular, wide[1], 1.0)), 0.0)
    return clang.mul(x, clang.convert(scale, x.dtype))


def _dtype_of_operand(x: TensorProxy, out: TensorProxy) -> Any:
    """The dtype of ``x`` if the norm is computed in it: floating or complex, in the result's precision."""
    return x.dtype if x.dtype.kind in "fc" and dtypes.real_counterpart(x.dtype) is out.dtype else None


_LOG_SUMS = {"logaddexp": clang.exp, "logaddexp2": clang.exp2}


@rule("ufunc_call.reduce")
def _log_sum(
    g: TensorProxy, out: TensorProxy, ufunc: Any, a: TensorProxy, *, axis: Any = 0, dtype: Any = None, keepdims: Any = False,
    **options: Any,
) -> Any:  # fmt: skip
    """Of ``logaddexp.reduce``: ``g * exp(a - out)``, the weights of softmax, 0 where all that is summed is."""
    power = _LOG_SUMS.get(getattr(ufunc, "__name__", ""))
    if power is None or options or a.dtype is not out.dtype:
        return NotImplemented
    axes = range(a.ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    dims = tuple(pyval(d) % max(a.ndim, 1) for d in axes)
    shape = tuple(1 if d in dims else n for d, n in enumerate(a.shape))
    spread = [clang.broadcast_to(clang.reshape(t, shape), a.shape) for t in (g, out)]
    finite = clang.isfinite(spread[1])
    difference = clang.sub(a, clang.where(finite, spread[1], 0))
    return None, clang.mul(spread[0], clang.where(finite, power(difference), 0))


@rule("numpy.partition")
@of_bound_symbol
def _partition(reverse: Reverse, bsym: BoundSymbol, g: TensorProxy) -> Any:
    """NumPy's partition leaves elements in another order than the sort that it is made of: that is what has to run, then."""
    reverse.replaced[id(bsym)] = list(bsym.subsymbols)
    return NotImplemented
