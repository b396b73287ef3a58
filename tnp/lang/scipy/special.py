"""``scipy.special``: elementwise functions as compositions of prims, and calls of SciPy's own ufuncs where there are none.

A composition is native, fused with what stands around it, and has a gradient. It computes real numbers; complex ones are
SciPy's. A call of SciPy's ufunc is an operation whose dtype and shape are known, so it may stand in loops and branches.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from tnp.core import clang, dtypes, sizes
from tnp.core.dtypes import DType
from tnp.core.errors import NeedsEager, NeedsOpaque
from tnp.core.proxies import TensorProxy
from tnp.core.symbol import Namespace, OpTags, Symbol
from tnp.lang import numpy as lnp
from tnp.lang.numpy.dtypes import result_of, to_numpy_dtype, weak_type
from tnp.lang.numpy.elementwise import ufunc_out
from tnp.lang.numpy.operands import as_array, check_order, normalize_operand, promote
from tnp.lang.numpy.registry import NumpyFunction, by_id, language, npsymbol
from tnp.lang.scipy import special_approximations as approximations
from tnp.lang.scipy.special_beta import beta, betaln

__all__ = ["COMPOSED_NAMES", "composed", "symbol_of", "ufunc"]

_NAMESPACE = Namespace("special", "from scipy import special")


def _special(name: str) -> Any:
    """SciPy's ufunc, which may be one of those that only SciPy itself uses."""
    found = getattr(sys.modules["scipy.special"], name, None)
    return getattr(sys.modules["scipy.special._ufuncs"], name) if found is None else found


@cache
def _loop(name: str, operands: tuple[Any, ...], dtype: Any) -> tuple[DType, ...]:
    """The dtypes of the loop that a ufunc of SciPy runs: inputs, then outputs. Raises NumPy's own errors."""
    ufunc = _special(name)
    signature = None if dtype is None else (*(None,) * ufunc.nin, *(np.dtype(dtype),) * ufunc.nout)
    with np.errstate(all="ignore"):
        if all(isinstance(o, type) for o in operands):
            operands = tuple(np.dtype(o) for o in operands)
        options = {} if signature is None else {"signature": signature}
        return tuple(map(result_of, ufunc.resolve_dtypes((*operands, *(None,) * ufunc.nout), **options)))


def _operands(name: str, xs: tuple[Any, ...], dtype: Any) -> tuple[list[TensorProxy], tuple[DType, ...]]:
    """The operands in the dtypes of the loop, and the dtypes of its results."""
    ufunc = _special(name)
    if len(xs) != ufunc.nin:
        raise TypeError(f"{name}() takes {ufunc.nin} positional arguments but {len(xs)} were given")
    operands = [normalize_operand(x) for x in xs]
    loop = _loop(name, tuple(weak_type(x) for x in operands), dtype)
    return [as_array(x, d) for x, d in zip(operands, loop)], loop[ufunc.nin :]


# Compositions


def _sigmoid(x: Any) -> Any:
    return clang.reciprocal(clang.add(1.0, clang.exp(clang.neg(x))))


def _log_sigmoid(x: Any) -> Any:
    return clang.sub(clang.minimum(x, 0.0), clang.log1p(clang.exp(clang.neg(clang.abs(x)))))


def _logit(p: Any) -> Any:
    """Near a half the difference of two logarithms, which are exact there."""
    s = clang.mul(2.0, clang.sub(p, 0.5))
    near = clang.sub(clang.log1p(s), clang.log1p(clang.neg(s)))
    is_near = clang.logical_and(clang.gt(p, 0.3), clang.lt(p, 0.65))
    return clang.where(is_near, near, clang.log(clang.div(p, clang.sub(1.0, p))))


def _times_log(log: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """``x * log(y)``, 0 where ``x`` is 0 and ``y`` is a number."""

    def compute(x: Any, y: Any) -> Any:
        is_zero = clang.logical_and(clang.eq(x, 0.0), clang.eq(y, y))
        return clang.where(is_zero, 0.0, clang.mul(x, log(clang.where(is_zero, 1.0, y))))

    return compute


def _entropy(x: Any) -> Any:
    some = clang.where(clang.gt(x, 0.0), x, 1.0)
    found = clang.neg(clang.mul(some, clang.log(some)))
    nothing = clang.where(clang.eq(x, 0.0), 0.0, clang.full_like(x, -math.inf))
    return clang.where(clang.eq(x, x), clang.where(clang.gt(x, 0.0), found, nothing), x)


def _divergence(x: Any, y: Any, *, is_whole: bool) -> Any:
    """``x * log(x / y)``, and with ``is_whole`` ``- x + y``: 0 (or ``y``) where ``x`` is 0, infinite where one is negative."""
    both = clang.logical_and(clang.gt(x, 0.0), clang.gt(y, 0.0))
    a, b = clang.where(both, x, 1.0), clang.where(both, y, 1.0)
    ratio = clang.div(a, b)
    is_near = clang.logical_and(clang.gt(ratio, 0.5), clang.lt(ratio, 2.0))
    near = clang.log1p(clang.where(is_near, clang.div(clang.sub(a, b), b), 0.0))
    found = clang.mul(a, clang.where(is_near, near, clang.log(ratio)))
    nothing: Any = 0.0
    if is_whole:
        found, nothing = clang.add(clang.sub(found, a), b), y
    is_nothing = clang.logical_and(clang.eq(x, 0.0), clang.ge(y, 0.0))
    found = clang.where(both, found, clang.where(is_nothing, nothing, clang.full_like(x, math.inf)))
    return clang.where(clang.logical_and(clang.eq(x, x), clang.eq(y, y)), found, math.nan)


def _normal(a: Any) -> Any:
    """The distribution function of the normal distribution: by ``erf`` in the middle, by ``erfc`` in the tails."""
    x = clang.mul(a, math.sqrt(0.5))
    z = clang.abs(x)
    tail = clang.mul(0.5, clang.erfc(z))
    tail = clang.where(clang.gt(x, 0.0), clang.sub(1.0, tail), tail)
    return clang.where(clang.lt(z, math.sqrt(0.5)), clang.add(0.5, clang.mul(0.5, clang.erf(x))), tail)


def _huber(delta: Any, r: Any) -> Any:
    size = clang.abs(r)
    inside = clang.mul(0.5, clang.mul(r, r))
    outside = clang.mul(delta, clang.sub(size, clang.mul(0.5, delta)))
    return clang.where(clang.lt(delta, 0.0), math.inf, clang.where(clang.le(size, delta), inside, outside))


def _pseudo_huber(delta: Any, r: Any) -> Any:
    ratio = clang.div(r, clang.where(clang.eq(delta, 0.0), 1.0, delta))
    half = clang.mul(0.5, clang.log1p(clang.mul(ratio, ratio)))
    found = clang.mul(clang.mul(delta, delta), clang.expm1(half))
    is_nothing = clang.logical_or(clang.eq(delta, 0.0), clang.eq(r, 0.0))
    return clang.where(clang.lt(delta, 0.0), math.inf, clang.where(is_nothing, 0.0, found))


def _relative_exp(x: Any) -> Any:
    """``(exp(x) - 1) / x``."""
    is_small = clang.lt(clang.abs(x), 1e-16)
    found = clang.div(clang.expm1(x), clang.where(is_small, 1.0, x))
    return clang.where(is_small, 1.0, clang.where(clang.gt(x, 717.0), math.inf, found))


#: what each computes of arrays of one floating-point dtype; those whose names are in ``_IN_DOUBLE`` in double precision, as SciPy does
_COMPOSED: dict[str, Callable[..., Any]] = {
    "beta": beta,
    "betaln": betaln,
    "cbrt": clang.cbrt,
    "digamma": clang.digamma,
    "entr": _entropy,
    "erf": clang.erf,
    "erfc": clang.erfc,
    "erfinv": clang.erfinv,
    "exp2": clang.exp2,
    "expit": _sigmoid,
    "expm1": clang.expm1,
    "exprel": _relative_exp,
    "gammaln": lambda x: clang.where(clang.eq(x, -math.inf), x, clang.lgamma(x)),
    "huber": _huber,
    "kl_div": lambda x, y: _divergence(x, y, is_whole=True),
    "log1p": clang.log1p,
    "log_expit": _log_sigmoid,
    "logit": _logit,
    "ndtr": _normal,
    "pseudo_huber": _pseudo_huber,
    "psi": clang.digamma,
    "rel_entr": lambda x, y: _divergence(x, y, is_whole=False),
    "xlog1py": _times_log(clang.log1p),
    "xlogy": _times_log(clang.log),
}
for _name in approximations.FUNCTIONS:
    _COMPOSED[_name] = getattr(approximations, _name)
_IN_DOUBLE = frozenset(
    (
        "beta",
        "betaln",
        "digamma",
        "erfinv",
        "exprel",
        "gammaln",
        "kl_div",
        "logit",
        "ndtr",
        "pseudo_huber",
        "psi",
        "rel_entr",
    )
) | frozenset(approximations.FUNCTIONS)


def _composed(name: str, compute: Callable[..., Any]) -> Symbol:
    def meta(*xs: Any, where: Any = True, casting: str = "same_kind", order: str = "K", dtype: Any = None) -> Any:
        check_order(order)
        operands, (result_dtype,) = _operands(name, xs, dtype)
        if casting != "same_kind" or where is not True:
            raise NeedsEager(f"scipy.special.{name} with where= or casting= is not compiled")
        if result_dtype.kind != "f":
            raise NeedsOpaque(f"scipy.special.{name} of {result_dtype}")
        inside = dtypes.float64 if name in _IN_DOUBLE else result_dtype
        result = compute(*clang.broadcast(*(clang.convert(x, inside) for x in operands)))
        return clang.convert(result, result_dtype)

    meta.__name__ = name
    meta.__doc__ = f"``scipy.special.{name}``."
    nin = compute.__code__.co_argcount if hasattr(compute, "__code__") else 1
    return npsymbol(f"special.{name}", tags=(OpTags.ELEMENTWISE,), out=ufunc_out(nin), id_prefix="scipy")(meta)


_composed_symbols = {name: _composed(name, compute) for name, compute in _COMPOSED.items()}
#: ufuncs that are compositions
COMPOSED_NAMES = frozenset(_COMPOSED)


def composed(name: str) -> Symbol:
    """The composition that is a ufunc of SciPy's."""
    return _composed_symbols[name]


# Functions of whole arrays


def _floating(name: str, x: Any) -> TensorProxy:
    x = as_array(x)
    if x.dtype.kind in "biu":
        return as_array(x, dtypes.float64)
    if x.dtype not in (dtypes.float32, dtypes.float64):
        raise NeedsEager(f"scipy.special.{name} of {x.dtype} is not compiled")
    return x


@npsymbol("special.softmax", id_prefix="scipy")
def softmax(x: Any, axis: Any = None) -> Any:
    """``scipy.special.softmax``: exponentials, of which the sums along ``axis`` are 1."""
    x = _floating("softmax", x)
    e = lnp.exp(lnp.subtract(x, lnp.max(x, axis=axis, keepdims=True)))
    return lnp.true_divide(e, lnp.sum(e, axis=axis, keepdims=True))


@npsymbol("special.log_softmax", id_prefix="scipy")
def log_softmax(x: Any, axis: Any = None) -> Any:
    """``scipy.special.log_softmax``: the logarithm of :func:`softmax`."""
    x = _floating("log_softmax", x)
    largest = lnp.max(x, axis=axis, keepdims=True)
    rest = lnp.subtract(x, lnp.where(lnp.isfinite(largest), largest, 0.0))
    return lnp.subtract(rest, lnp.log(lnp.sum(lnp.exp(rest), axis=axis, keepdims=True)))


@npsymbol("special.logsumexp", id_prefix="scipy")
def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False) -> Any:
    """``scipy.special.logsumexp``; with ``return_sign`` the sum's sign, too."""
    a = _floating("logsumexp", a)
    if not a.ndim or not sizes.is_never_empty(a.shape):
        raise NeedsOpaque("scipy.special.logsumexp of a number or of an empty array is not compiled")
    if b is not None:
        weights = _floating("logsumexp", b)
        a, weights = clang.broadcast(*promote(a, weights))
        a = lnp.where(lnp.equal(weights, 0), -math.inf, a)  # what does not count sets no scale
    dims = axis
    largest = lnp.max(a, axis=dims, keepdims=True)
    shift = lnp.where(lnp.isfinite(largest), largest, 0.0)
    terms = lnp.exp(lnp.subtract(a, shift))
    total = lnp.sum(terms if b is None else lnp.multiply(weights, terms), axis=dims, keepdims=True)
    sign = lnp.sign(total)
    found = lnp.add(lnp.log(lnp.absolute(total) if return_sign else total), shift)
    if not keepdims:
        found, sign = (lnp.squeeze(x, axis=dims) for x in (found, sign))
    return (found, sign) if return_sign else found


# Functions of other functions here


@npsymbol("special.zeta", id_prefix="scipy")
def zeta(x: Any, q: Any = None) -> Any:
    """``scipy.special.zeta``: Riemann's without ``q``, else Hurwitz's."""
    return ufunc("_riemann_zeta")(x) if q is None else ufunc("_zeta")(x, q)


@npsymbol("special.polygamma", id_prefix="scipy")
def polygamma(n: Any, x: Any) -> Any:
    """``scipy.special.polygamma``."""
    order, n, x = n, as_array(n), as_array(x)
    if type(order) is int:
        if order == 0:
            return _composed_symbols["psi"](x)
        sign = 1.0 if order % 2 else -1.0
        scale = sign * float(_special("gamma")(order + 1.0))
        return lnp.multiply(scale, ufunc("_zeta")(order + 1, x))
    following = lnp.add(n, 1)
    factor = lnp.multiply(lnp.power(-1.0, following), _composed_symbols["gamma"](lnp.add(n, 1.0)))
    found = lnp.multiply(factor, ufunc("_zeta")(following, x))
    return lnp.where(lnp.equal(n, 0), _composed_symbols["psi"](x), found)


@npsymbol("special.comb", id_prefix="scipy")
def comb(N: Any, k: Any, *, exact: bool = False, repetition: bool = False) -> Any:
    """``scipy.special.comb`` of arrays, as floats."""
    if exact or repetition:
        raise NeedsEager("scipy.special.comb of exact integers, or with repetition, is not compiled")
    n, k = as_array(N), as_array(k)
    inside = lnp.logical_and(lnp.logical_and(lnp.less_equal(k, n), lnp.greater_equal(n, 0)), lnp.greater_equal(k, 0))
    return lnp.where(inside, ufunc("binom")(n, k), 0.0)


@npsymbol("special.factorial", id_prefix="scipy")
def factorial(n: Any, exact: bool = False, extend: str = "zero") -> Any:
    """``scipy.special.factorial`` of an array, as floats."""
    if exact or extend != "zero":
        raise NeedsEager("scipy.special.factorial of exact integers, or of negative numbers, is not compiled")
    n = as_array(n)
    if (n.dtype.kind not in "iu" and n.dtype is not dtypes.float64) or not n.ndim or not sizes.is_never_empty(n.shape):
        raise NeedsOpaque("scipy.special.factorial of a number, of no elements, or of low precision is not compiled")
    found = _composed_symbols["gamma"](lnp.add(as_array(n, dtypes.float64), 1.0))
    return lnp.where(lnp.less(n, 0), 0.0, found)


@npsymbol("special.softplus", id_prefix="scipy")
def softplus(x: Any, **kwargs: Any) -> Any:
    """``scipy.special.softplus``: ``log(1 + exp(x))``."""
    return lnp.logaddexp(0, x, **kwargs)


#: what is a function in Python, by name
_FUNCTIONS = {
    "comb": comb,
    "factorial": factorial,
    "log_softmax": log_softmax,
    "logsumexp": logsumexp,
    "polygamma": polygamma,
    "sinc": lnp.sinc,
    "softmax": softmax,
    "softplus": softplus,
    "zeta": zeta,
}


# Calls of SciPy's own ufuncs


#: positions of arguments whose loops take integers, to which SciPy casts floats by their values: it warns or raises
_INTEGERS = {
    "bdtr": (1,), "bdtrc": (1,), "bdtri": (1,), "expn": (0,), "kn": (0,), "nbdtr": (0, 1), "nbdtrc": (0, 1), "nbdtri": (0, 1),
    "pdtri": (0,), "smirnov": (0,), "smirnovi": (0,), "yn": (0,),
}  # fmt: skip


def _called(name: str, prefix: str = "scipy.special") -> Symbol:
    """The symbol of a ufunc that SciPy computes."""

    def meta(*xs: Any) -> Any:
        operands, results = _operands(name, xs, None)
        for i in _INTEGERS.get(name, ()):
            if normalized_kind(xs[i]) not in "iu":
                raise NeedsEager(f"scipy.special.{name} with a float for an integer is not compiled")
        if any(to_numpy_dtype(d).kind not in "biufc" for d in results):
            raise NeedsEager(f"scipy.special.{name} of these dtypes is not compiled")
        shape = sizes.broadcast(*(x.shape for x in operands))
        made = [TensorProxy(shape=shape, dtype=d, lang=language, scalar=not shape) for d in results]
        return made[0] if len(made) == 1 else tuple(made)

    meta.__name__ = name
    meta.__doc__ = f"``scipy.special.{name}``, called."
    found = _special(name)
    is_public = getattr(sys.modules["scipy.special"], name, None) is not None
    path = name if is_public else f"_ufuncs.{name}"
    symbol = Symbol(name, meta, id=f"{prefix}.{path}", is_prim=True, namespace=_NAMESPACE, language=language)
    by_id[symbol.id] = NumpyFunction(symbol, f"special.{path}", "scalar", False, True, ufunc_out(found.nin, found.nout))
    return symbol


def normalized_kind(x: Any) -> str:
    """The kind of dtype of an operand."""
    return as_array(normalize_operand(x)).dtype.kind


@cache
def ufunc(name: str) -> Symbol:
    """The call of a ufunc of SciPy's, by name."""
    return _called(name)


#: Bessel functions of an order that is a number: what computes those of order 0 and 1
_OF_ORDER = {
    "iv": ("i0", "i1"), "ive": ("i0e", "i1e"), "jn": ("j0", "j1"), "jv": ("j0", "j1"), "kn": ("k0", "k1"), "kv": ("k0", "k1"),
    "kve": ("k0e", "k1e"),
}  # fmt: skip


def _of_order(name: str) -> Symbol:
    called = _called(name, "scipy_call.special")

    def meta(v: Any, z: Any) -> Any:
        if type(v) in (int, float) and v in (0, 1):
            z = normalize_operand(z)
            kind = as_array(z).dtype.kind
            if kind in "iuf":
                return _composed_symbols[_OF_ORDER[name][int(v)]](z)
        return called(v, z)

    meta.__name__ = name
    meta.__doc__ = f"``scipy.special.{name}``: of order 0 and 1 a composition, else called."
    return npsymbol(f"special.{name}", out=ufunc_out(2), id_prefix="scipy")(meta)


#: by the ``id`` of SciPy's functions, their symbols
_by_function: dict[int, Symbol] = {}


def symbol_of(function: Any) -> Symbol | None:
    """The symbol of a function of ``scipy.special``; ``None`` if the language lacks it."""
    if not _by_function:
        module = sys.modules["scipy.special"]
        defined = {**_FUNCTIONS, **_composed_symbols}
        for name, found in list(vars(module).items()):
            if name in defined:
                _by_function[id(found)] = defined[name]
            elif name in _OF_ORDER and id(found) not in _by_function:
                _by_function[id(found)] = _of_order(name)
            elif isinstance(found, np.ufunc) and getattr(np, name, None) is not found:
                if id(found) not in _by_function:
                    _by_function[id(found)] = ufunc(name)
    return _by_function.get(id(function))
