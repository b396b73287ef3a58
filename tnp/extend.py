"""The public interface for adding operations, executors, gradient rules, and functions of the languages.

An *operation* is a :class:`Symbol`; an *executor* runs operations. tnp's own are made with these functions, too. A
package with an executor names it under the entry point group ``tnp.executors`` in its ``pyproject.toml``::

    [project.entry-points."tnp.executors"]
    my_executor = "my_package:executor"

and ``tnp.jit(f, executors=["my_executor"])`` finds it. docs/extending.md is the guide, and ``examples/extend`` is such
a package.

>>> import numpy as np, tnp
>>> ex = OperatorExecutor("halves", version="1.0")
>>> halve = ex.register_operator("halve", like=lambda a: a / 2, fn=lambda a: np.multiply(a, 0.5))
>>> f = tnp.jit(lambda x: halve(x).sum(), executors=[ex])
>>> f(np.array([2.0, 4.0])), tnp.grad(f)(np.array([2.0, 4.0]))
(np.float64(3.0), array([0.5, 0.5]))
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload

import numpy as np

from tnp.core import devices, dtypes, sizes
from tnp.core import symbol as symbols
from tnp.core.clang.base import clangop
from tnp.core.context import registrations
from tnp.core.errors import ExtensionError
from tnp.core.prims.base import PrimIDs, check, make_prim
from tnp.core.proxies import NumberProxy, TensorProxy
from tnp.core.symbol import BoundSymbol, Namespace, OpTags, Symbol, make_operation
from tnp.executors.base import Executor, Fused, FusionExecutor, OperatorExecutor, Refusal, Region, value_of
from tnp.executors.registry import (
    add_always_executor,
    add_default_executor,
    add_operator_executor,
    deregister_executor,
    get_all_executors,
    get_always_executors,
    get_default_executors,
    get_executor,
    register_executor,
    remove_always_executor,
    remove_default_executor,
    set_always_executors,
    set_default_executors,
)
from tnp.lang import scipy
from tnp.lang.numpy.dtypes import result_of, weak_type
from tnp.lang.numpy.operands import normalize_operand
from tnp.lang.numpy.registry import npmethod, npproperty, npsymbol
from tnp.lang.numpy.registry import symbol_of as numpy_symbol_of
from tnp.transforms.autodiff.rules import get_grad, put_grad, put_grads, register_grad
from tnp.transforms.batching import register_vmap

if TYPE_CHECKING:
    from tnp.lang.torch.registry import torchsymbol as torchsymbol

__all__ = [
    "BoundSymbol",
    "Executor",
    "ExtensionError",
    "Fused",
    "FusionExecutor",
    "Namespace",
    "NumberProxy",
    "OpTags",
    "OperatorExecutor",
    "PrimIDs",
    "Refusal",
    "Region",
    "Symbol",
    "TensorProxy",
    "add_always_executor",
    "add_default_executor",
    "add_operator_executor",
    "check",
    "clangop",
    "deregister_executor",
    "devices",
    "dtypes",
    "get_all_executors",
    "get_always_executors",
    "get_default_executors",
    "get_executor",
    "get_grad",
    "make_prim",
    "npmethod",
    "npproperty",
    "npsymbol",
    "operation",
    "operation_of",
    "put_grad",
    "put_grads",
    "register_executor",
    "register_grad",
    "register_vmap",
    "remove_always_executor",
    "remove_default_executor",
    "set_always_executors",
    "set_default_executors",
    "value_of",
]


def __getattr__(name: str) -> object:
    if name == "torchsymbol":  # which needs torch
        from tnp.lang.torch.registry import torchsymbol

        return torchsymbol
    raise AttributeError(f"module 'tnp.extend' has no attribute {name!r}")


#: runs what :func:`operation` makes
_operations = OperatorExecutor("operations")


_F = TypeVar("_F", bound=Callable[..., Any])
_Rule: TypeAlias = Callable[..., Any] | None


@overload
def operation(
    function: _F, *, meta: _Rule = None, grad: _Rule = None, vmap: _Rule = None, name: str | None = None, tags: Iterable[OpTags] = ()
) -> _F: ...  # fmt: skip
@overload
def operation(
    function: None = None, *, meta: _Rule = None, grad: _Rule = None, vmap: _Rule = None, name: str | None = None,
    tags: Iterable[OpTags] = (),
) -> Callable[[_F], _F]: ...  # fmt: skip
def operation(
    function: Any = None, *, meta: _Rule = None, grad: _Rule = None, vmap: _Rule = None, name: str | None = None,
    tags: Iterable[OpTags] = (),
) -> Any:  # fmt: skip
    """Makes any callable an operation: a ufunc, a function of Cython's or numba's, a function of a library. Programs then call it at run
    time, with arrays, and are compiled whole.

    Args:
        function: what programs call. Equal arguments must give equal results, and it may not write to its arguments. A result that
            shares memory with an argument is copied. Without it, the result is a decorator.
        meta: a function from proxies to the proxies of the results; an argument stands for an array like it. Ufuncs need none.
        grad: a function from the cotangents of the result (of several results a tuple) and the arguments to the cotangents of the
            arguments: one, or a tuple of one for each argument that is passed by position, with ``None`` where there is none.
            It computes with operators, methods, and operations (:func:`operation_of`), NumPy's and SciPy's among them. Cotangents of broadcast arguments are
            summed.
        vmap: a batch rule (:func:`register_vmap`).
        name: what programs print; the function's name by default.
        tags: what passes must know of it (:class:`OpTags`).

    Returns ``function``. Registering again replaces, for programs that are compiled already, too.

    Raises ``TypeError`` if ``function`` cannot be called, and ``ValueError`` if ``meta`` is missing.

    >>> import numpy as np, tnp
    >>> from tnp.extend import operation, operation_of
    >>> def smooth(x):  # of C, say
    ...     return np.convolve(x, [0.25, 0.5, 0.25], "same")
    >>> _ = operation(smooth, meta=lambda x: x, grad=lambda g, x: operation_of(smooth)(g))
    >>> f = tnp.jit(lambda x: smooth(x * 2).sum())
    >>> f(np.arange(4.0)), tnp.grad(f)(np.arange(4.0))
    (np.float64(10.5), array([1.5, 2. , 2. , 1.5]))
    """
    if function is None:
        return functools.partial(operation, meta=meta, grad=grad, vmap=vmap, name=name, tags=tags)
    if not callable(function):
        raise TypeError(f"operation takes a function, not {type(function).__name__} {function!r}")
    if meta is None:
        if not isinstance(function, np.ufunc) or function.signature is not None:
            raise ValueError(f"operation({function!r}) needs meta=, which says what its results are")
        meta = functools.partial(_like_ufunc, function)
    text = str(name or getattr(function, "__name__", type(function).__name__))
    text = text if text.isidentifier() else "operation"
    taken = [text, *(f"{text}_{i}" for i in range(2, 2 + len(_operations.operators)))]
    text = next(t for t in taken if t not in _operations.operators)
    symbol = _operations.register_operator(
        text, meta=_results_of(text, meta), fn=_with_own_results(function), tags=tags
    )
    if grad is not None:
        register_grad(symbol, functools.partial(_differentiated, symbol, grad))
    if vmap is not None:
        register_vmap(symbol, vmap)
    again = symbols.operation_of(function) is not None
    make_operation(function, symbol)
    if again:
        registrations.note(f"{text} is another operation now", lambda f: True)
    return function


def operation_of(function: Any) -> Symbol | None:
    """The operation that programs call for ``function``: a callable that :func:`operation` was given, or a function of NumPy or SciPy that
    tnp knows; ``None`` for others. Gradient rules call it.

    >>> import numpy as np
    >>> from tnp.extend import operation_of
    >>> operation_of(np.sort), operation_of(print)
    (<symbol lnp.sort>, None)
    """
    return symbols.operation_of(function) or numpy_symbol_of(function) or scipy.symbol_of(function)


def _results_of(name: str, meta: Callable[..., Any]) -> Callable[..., Any]:
    """``meta``, with new proxies for arguments that it returns. Errors say whose they are, as the function may not raise them."""

    @functools.wraps(meta)
    def results(*args: Any, **kwargs: Any) -> Any:
        try:
            found = meta(*args, **kwargs)
        except Exception as error:
            error.__dict__["__tnp_meta_of__"] = name
            raise
        many = found if isinstance(found, tuple) else (found,)
        made = tuple(TensorProxy(like=x, scalar=x.scalar) if isinstance(x, TensorProxy) else x for x in many)
        return made if isinstance(found, tuple) else made[0]

    return results


def _with_own_results(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps ``function``: results that share memory with an argument are copied, since the program may write to that argument later."""
    if isinstance(function, np.ufunc):
        return function

    def own(x: Any, arguments: list[Any]) -> Any:
        shares = isinstance(x, np.ndarray) and any(
            x is a or (x.base is not None and np.may_share_memory(x, a)) for a in arguments
        )
        return x.copy() if shares else x

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        found = function(*args, **kwargs)
        arrays = [a for a in (*args, *kwargs.values()) if isinstance(a, np.ndarray)]
        return tuple(own(x, arrays) for x in found) if type(found) is tuple else own(found, arrays)

    return call


def _like_ufunc(ufunc: np.ufunc, *args: Any) -> Any:
    """The results of a ufunc: NumPy says their dtypes."""
    if len(args) != ufunc.nin:
        raise TypeError(f"{ufunc.__name__}() takes {ufunc.nin} positional arguments but {len(args)} were given")
    operands = [normalize_operand(x) for x in args]
    kinds = [weak_type(x) for x in operands]
    if not any(isinstance(k, np.dtype) for k in kinds):
        kinds = [np.dtype(k) for k in kinds]
    found = ufunc.resolve_dtypes((*kinds, *(None,) * ufunc.nout))[ufunc.nin :]
    shape = sizes.broadcast(*(x.shape for x in operands if isinstance(x, TensorProxy)))
    like = next((x for x in operands if isinstance(x, TensorProxy)), None)
    made = tuple(TensorProxy(like=like, shape=shape, dtype=result_of(d), scalar=not shape) for d in found)
    return made[0] if ufunc.nout == 1 else made


def _differentiated(symbol: Symbol, grad: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The gradient rule of an operation whose cotangents ``grad`` computes."""
    results = symbol(*args, **kwargs)
    cotangents = tuple(map(get_grad, results)) if isinstance(results, tuple) else get_grad(results)
    found = grad(cotangents, *args, **kwargs)
    for a, g in zip(args, found if isinstance(found, tuple) else (found,)):
        if isinstance(a, (TensorProxy, NumberProxy)):
            put_grad(a, None if g is None else _summed_to(g, a))
    return results


def _summed_to(g: Any, a: TensorProxy | NumberProxy) -> Any:
    """A cotangent in the shape of an argument that was broadcast."""
    if not isinstance(g, TensorProxy) or not isinstance(a, TensorProxy) or g.shape == a.shape:
        return g
    more = g.ndim - a.ndim
    axes = (*range(more), *(i + more for i, n in enumerate(a.shape) if n == 1 and g.shape[i + more] != 1))
    return g.sum(axis=axes).reshape(a.shape)
