"""``scipy.fft`` and ``scipy.fftpack``, on the prims of ``numpy.fft``. Cosine and sine transforms are calls of SciPy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tnp.core import dtypes, symbols
from tnp.core.errors import NeedsOpaque
from tnp.core.proxies import TensorProxy
from tnp.core.symbol import Symbol
from tnp.lang.numpy.operands import as_array, integer_or_eager
from tnp.lang.numpy.registry import by_id
from tnp.lang.scipy.registry import by_dry_run, call_symbol, scipysymbol

__all__ = ["fftfreq", "fftshift", "ifftshift", "rfftfreq"]


def _of_numpy(name: str) -> Symbol:
    return by_id[f"numpy.fft.{name}"].symbol


def _covered(x: Any, plan: Any) -> TensorProxy:
    a = as_array(x)
    if plan is not None or a.ndim == 0 or a.dtype is dtypes.float16:
        raise NeedsOpaque("the arguments are not those of the definition")
    return a


def _points(n: Any) -> Any:
    """The number of points. SciPy accepts 0 for real results, and raises for other numbers below 1."""
    points = n if n is None or symbols.is_symbol(n) else integer_or_eager(n)
    if type(points) is int and points < 1:
        raise NeedsOpaque("a length is none")
    return points


def _each(xs: Any) -> Any:
    """A number as a sequence of one, a sequence as it is."""
    if isinstance(xs, TensorProxy):
        raise NeedsOpaque("lengths or axes are an array")
    return xs if xs is None or isinstance(xs, (tuple, list)) else tuple(xs) if isinstance(xs, range) else (xs,)


def _one_dimension(name: str) -> None:
    transform = _of_numpy(name)

    def meta(
        x: Any, n: Any = None, axis: Any = -1, norm: Any = None, overwrite_x: Any = False, workers: Any = None, *,
        plan: Any = None,
    ) -> TensorProxy:  # fmt: skip
        made: TensorProxy = transform(_covered(x, plan), _points(n), axis, norm)
        return made

    meta.__name__, meta.__doc__ = name, f"``scipy.fft.{name}``: as ``numpy.fft.{name}``."
    scipysymbol(f"fft.{name}")(meta)


def _several_dimensions(name: str, default: Any) -> None:
    transform = _of_numpy(name)

    def meta(
        x: Any, s: Any = None, axes: Any = default, norm: Any = None, overwrite_x: Any = False, workers: Any = None, *,
        plan: Any = None,
    ) -> TensorProxy:  # fmt: skip
        points = None if s is None else [_points(n) for n in _each(s)]
        made: TensorProxy = transform(_covered(x, plan), points, _each(axes), norm)
        return made

    meta.__name__, meta.__doc__ = name, f"``scipy.fft.{name}``: as ``numpy.fft.{name}``."
    scipysymbol(f"fft.{name}")(meta)


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    _one_dimension(_name)
for _name in ("fft", "ifft", "rfft", "irfft"):
    _several_dimensions(f"{_name}n", None)
    _several_dimensions(f"{_name}2", (-2, -1))


def _legacy(name: str) -> None:
    transform = _of_numpy(name)

    def meta(x: Any, n: Any = None, axis: Any = -1, overwrite_x: Any = False) -> TensorProxy:
        made: TensorProxy = transform(_covered(x, None), _points(n), axis, None)
        return made

    meta.__name__, meta.__doc__ = name, f"``scipy.fftpack.{name}``: as ``scipy.fft.{name}``."
    scipysymbol(f"fftpack.{name}")(meta)


for _name in ("fft", "ifft"):
    _legacy(_name)


@scipysymbol("fft.fftfreq", factory=True)
def fftfreq(n: Any, d: Any = 1.0, *, xp: Any = None, device: Any = None) -> TensorProxy:
    """The frequencies of the values of an ``n``-point transform for a sample spacing ``d``."""
    if xp is not None or device is not None or isinstance(d, (tuple, list)):
        raise NeedsOpaque("the frequencies are of another library, or of no number")
    made: TensorProxy = _of_numpy("fftfreq")(n, d)
    return made


@scipysymbol("fft.rfftfreq", factory=True)
def rfftfreq(n: Any, d: Any = 1.0, *, xp: Any = None, device: Any = None) -> TensorProxy:
    """The frequencies of the values of an ``n``-point transform of real samples ``d`` apart."""
    if xp is not None or device is not None or isinstance(d, (tuple, list)):
        raise NeedsOpaque("the frequencies are of another library, or of no number")
    made: TensorProxy = _of_numpy("rfftfreq")(n, d)
    return made


@scipysymbol("fft.fftshift")
def fftshift(x: Any, axes: Any = None) -> TensorProxy:
    """The zero frequency moved to the middle of each axis."""
    made: TensorProxy = _of_numpy("fftshift")(as_array(x), _each(axes))
    return made


@scipysymbol("fft.ifftshift")
def ifftshift(x: Any, axes: Any = None) -> TensorProxy:
    """The inverse of :func:`fftshift`."""
    made: TensorProxy = _of_numpy("ifftshift")(as_array(x), _each(axes))
    return made


by_dry_run(
    "fft", "dct dctn dst dstn fht hfft2 hfftn idct idctn idst idstn ifht ihfft2 ihfftn next_fast_len prev_fast_len"
)
by_dry_run("fftpack", "dct dctn dst dstn fft2 fftn idct idctn idst idstn ifft2 ifftn irfft next_fast_len rfft rfftfreq")


def _orthogonal(name: str, inverse: Symbol) -> Callable[..., list[TensorProxy]]:
    """Of an orthogonal transform, which ``norm="ortho"`` makes it: the inverse."""

    def pull(cotangents: Any, wanted: Any, args: Any, kwargs: Any) -> list[TensorProxy]:
        given = dict(zip(("x", "type", "n", "axis", "norm"), args)) | kwargs
        if given.get("norm") != "ortho" or given.get("n") is not None or given.get("orthogonalize") is False:
            raise NeedsOpaque(f"scipy.fft.{name} has a gradient with norm='ortho' and all points only")
        return [inverse(cotangents[0], type=given.get("type", 2), axis=given.get("axis", -1), norm="ortho")]

    return pull


for _name in ("dct", "dst"):
    _forward, _backward = call_symbol(f"fft.{_name}"), call_symbol(f"fft.i{_name}")
    _forward.pulls_back = _orthogonal(_name, _backward)
    _backward.pulls_back = _orthogonal(f"i{_name}", _forward)
