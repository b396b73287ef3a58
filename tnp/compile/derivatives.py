"""Derivatives of functions: ``grad``, ``value_and_grad``, ``vjp``, ``jvp``, ``jacobian``, ``hessian``.

A derivative is a function that is traced like any other. It gives the differentiated arguments new names, runs the
function on them, and walks back through the recorded operations (:mod:`tnp.transforms.autodiff`). So it can be called
inside a jitted function, jitted, and differentiated again. Outside of tracing, it compiles itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar, TypeVarTuple, overload

import numpy as np

from tnp.capture.tracing.traced_values import Storage, TracedArray, TracedNumber
from tnp.capture.tracing.tracer import Tracer
from tnp.compile.jacobians import jacobians_of
from tnp.compile.tracebacks import own_frames_hidden
from tnp.compile.transform_wrapper import (
    Transformed,
    call,
    is_traced,
    leaves_of,
    mapped,
    own_handles,
    transformed,
    value_of,
)
from tnp.core import clang, languages, prims, sizes
from tnp.core.errors import GradientError, user_location
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy
from tnp.core.views import Path
from tnp.lang import numpy as lnp
from tnp.transforms.autodiff import Program, is_differentiable, zeros_for
from tnp.transforms.autodiff.reverse import active_names

if TYPE_CHECKING:
    from tnp.compile.function_types import JittedFunction

P = ParamSpec("P")
X = TypeVar("X")
R = TypeVar("R")
Aux = TypeVar("Aux")
Xs = TypeVarTuple("Xs")

__all__ = ["grad", "hessian", "jacobian", "jvp", "value_and_grad", "vjp"]


# What is differentiated with respect to


class Variables:
    """The differentiated values in an argument, each under a new name.

    ``value`` is the argument with these values. Writes to them stay inside the function: the caller's arrays do not
    change.
    """

    def __init__(self, tracer: Tracer, what: str, argument: Any, name: str) -> None:
        self.tracer = tracer
        self.what = what
        self.proxies: list[Proxy] = []
        self.value = mapped(lambda x, path: self._variable(x, f"{name}{path}"), argument)
        self.structure = argument

    def _variable(self, x: Any, name: str) -> Any:
        tracer = self.tracer
        if x is None:
            return None
        if isinstance(x, np.ndarray) and not is_traced(x):
            x = tracer.array_handle(x)
        elif isinstance(x, np.generic) and not is_traced(x):
            x = tracer.call(lnp.asarray, (x,), {})[()]
        if type(x) is TracedArray:
            value = x.__tnp_value__()
            self._check(value, name)
            with languages.language_context(value.lang):
                own = prims.reshape(value, value.shape)
            own.scalar = value.scalar
            self.proxies.append(own)
            return TracedArray(Storage(own, writable=not own.scalar), Path(), own, x._strides)
        if type(x) is TracedNumber or type(x) in (float, complex, int, bool):
            given = x.proxy if type(x) is TracedNumber else x
            self._check(given, name)
            number = prims.convert_number(given, x.__class__)
            self.proxies.append(number)
            return TracedNumber(number)
        raise GradientError(
            f"{self.what} differentiates with respect to arrays, numbers and containers of them, and {name} is a {type(x).__name__}",
            user_location(),
        )

    def _check(self, x: Any, name: str) -> None:
        if is_differentiable(x) or type(x) in (float, complex):
            return
        if isinstance(x, TensorProxy):
            kind, way = f"an array of {x.dtype}", "convert it with .astype(float)"
        else:
            kind, way = (
                f"a Python {(x.python_type if isinstance(x, NumberProxy) else type(x)).__name__}",
                "pass a float",
            )
        raise GradientError(
            f"{self.what} differentiates with respect to floating-point values, and {name} is {kind}; "
            f"{way}, or leave it out of argnums",
            user_location(),
        )

    def results(self, values: Sequence[Any]) -> Any:
        """One value for each variable, in the structure of the argument."""
        rest = iter(values)
        return mapped(lambda x, path: None if x is None else next(rest), self.structure)


def check_numbers(program: Program, variables: Sequence[Proxy], what: str) -> None:
    """Raises :class:`GradientError` if the trace is specialized on a number that depends on ``variables``."""
    guards = program.trace.value_guards
    if not any(is_differentiable(p) for p in guards.values()):
        return
    active = active_names(program.bound_symbols, (p.name for p in variables))
    if any(is_differentiable(p) and p.name in active for p in guards.values()):
        raise GradientError(
            f"{what}: the program is one for the present value of a number (an exponent, an option) that depends on what is "
            "differentiated by; pass that as an array (np.asarray(…))",
            user_location(),
        )


class Traced:
    """A function that ran on variables: its result, and the program that it recorded."""

    def __init__(
        self, tracer: Tracer, what: str, function: Any, args: Sequence[Any], kwargs: dict[str, Any],
        argnums: int | tuple[int, ...],
    ) -> None:  # fmt: skip
        self.tracer = tracer
        self.what = what
        self.argnums = argnums if isinstance(argnums, tuple) else (argnums,)
        given = list(args)
        for i in self.argnums:
            if not -len(given) <= i < len(given):
                raise GradientError(f"{what} has no positional argument {i}: there are {len(given)}", user_location())
        self.variables = {i: Variables(tracer, what, given[i], f"argument {i}") for i in self.argnums}
        for i, v in self.variables.items():
            given[i] = v.value
        start = len(tracer.trace.statements)
        tracer.differentiating += 1
        try:
            with nullcontext() if tracer.gradients is None else tracer.gradients.differentiating():
                self.result = call(function, given, kwargs)
        finally:
            tracer.differentiating -= 1
        self.leaves = [value_of(x) for x in leaves_of(self.result)]
        self.program = Program(start)
        check_numbers(self.program, self.proxies, what)

    def check_results(self) -> None:
        """Raises :class:`GradientError` if a result is neither an array nor a number."""
        for x in self.leaves:
            if not isinstance(x, (Proxy, np.ndarray, np.generic, bool, int, float, complex)):
                raise GradientError(
                    f"{self.what} needs a function that returns arrays, numbers or containers of them, and this one returns a "
                    f"{type(x).__name__}",
                    user_location(),
                )

    @property
    def proxies(self) -> list[Proxy]:
        return [p for v in self.variables.values() for p in v.proxies]

    def structured(self, values: Sequence[Any], argnums: int | tuple[int, ...]) -> Any:
        """One value per variable, in the structure of the arguments: of the single argument, or a tuple of several."""
        rest = list(values)
        found = []
        for v in self.variables.values():
            n = len(v.proxies)
            found.append(v.results(rest[:n]))
            del rest[:n]
        return tuple(found) if isinstance(argnums, tuple) else found[0]

    def cotangents(self, seeds: Sequence[tuple[Proxy, TensorProxy]]) -> list[Any]:
        """Traced values of the cotangents of the variables, each in memory of its own."""
        found = self.program.pull_back(self.proxies, seeds)
        return own_handles(self.tracer, found, self.proxies, self.program.stop)


def _scalar_output(value: Any, what: str) -> Proxy | None:
    """The proxy of a function's value, ``None`` if it is a constant. Raises :class:`GradientError` unless it is a real scalar."""
    proxy = value_of(value)
    if type(proxy) in (float, int, bool) or isinstance(proxy, np.generic):
        return None
    if not isinstance(proxy, Proxy):
        kind = type(value).__name__
        raise GradientError(f"{what} needs a function with a real scalar for its value, not a {kind}", user_location())
    way = "sum it, or use tnp.jacobian or tnp.vjp"
    if isinstance(proxy, TensorProxy) and proxy.ndim:
        raise GradientError(
            f"{what} needs a function with a scalar for its value, and this one has an array of shape {sizes.show(proxy.shape)}; {way}",
            user_location(),
        )
    if not is_differentiable(proxy) or _is_complex(proxy):
        kind = proxy.dtype.name if isinstance(proxy, TensorProxy) else _python_type(proxy).__name__
        raise GradientError(
            f"{what} needs a function with a real floating-point value, and this one's is {kind}", user_location()
        )
    return proxy


def _is_complex(p: Proxy) -> bool:
    return (p.dtype.kind == "c") if isinstance(p, TensorProxy) else _python_type(p) is complex


def _python_type(p: Proxy) -> type:
    return p.python_type if isinstance(p, NumberProxy) else object


def _ones(p: Proxy) -> TensorProxy:
    with languages.language_context(p.lang if isinstance(p, TensorProxy) else languages.current()):
        return clang.full_like(zeros_for(p), 1)


def _with_value(
    transform: Any, function: Any, argnums: int | tuple[int, ...], has_aux: bool, result: Callable[[Any, Any], Any]
) -> Transformed:
    argnums = tuple(argnums) if isinstance(argnums, (list, tuple)) else argnums
    what = f"tnp.{transform.__name__}"

    def compute(tracer: Tracer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        traced = Traced(tracer, what, function, args, kwargs, argnums)
        value = traced.result
        if has_aux:
            if not (isinstance(value, tuple) and len(value) == 2):
                raise GradientError(f"{what} with has_aux=True needs a function that returns a pair", user_location())
            value, _ = value
        out = _scalar_output(value, what)
        cotangents = traced.cotangents([] if out is None else [(out, _ones(out))])
        return result(traced.result, traced.structured(cotangents, argnums))

    return transformed(transform, function, {"argnums": argnums, "has_aux": has_aux}, compute)


@overload
def grad(
    function: Callable[Concatenate[X, P], Any], argnums: Literal[0] = 0, has_aux: Literal[False] = False
) -> JittedFunction[Concatenate[X, P], X]: ...
@overload
def grad(
    function: Callable[P, Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> JittedFunction[P, Any]: ...


def grad(function: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Any:
    """The gradient of a function whose value is a real scalar, as a function of the same arguments.

    Args:
        function: a function that tnp compiles; jitted or not.
        argnums: which positional arguments to differentiate with respect to: floating-point or complex arrays, Python numbers, or
            containers of them. The gradient has the structure of the argument; for several arguments it is a tuple.
        has_aux: the function returns a pair, its value and something else, which is returned beside the gradient.

    The gradient by a complex ``z = x + iy`` is ``df/dx + i df/dy``, the direction of steepest ascent, as in torch. The arguments that
    are differentiated with respect to are not changed, even if the function writes to them.

    Raises:
        GradientError: for integer arguments, values that are no scalars, and operations without a gradient.

    >>> import numpy as np, tnp
    >>> def energy(x):
    ...     return (x ** 2).sum() / 2
    >>> tnp.grad(energy)(np.array([1.0, 2.0]))
    array([1., 2.])
    >>> tnp.grad(tnp.grad(lambda x: x ** 3))(2.0)
    np.float64(12.0)
    """
    if has_aux:
        return _with_value(grad, function, argnums, True, lambda result, found: (found, result[1]))
    return _with_value(grad, function, argnums, False, lambda result, found: found)


@overload
def value_and_grad(
    function: Callable[Concatenate[X, P], R], argnums: Literal[0] = 0, has_aux: bool = False
) -> JittedFunction[Concatenate[X, P], tuple[R, X]]: ...
@overload
def value_and_grad(
    function: Callable[P, R], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> JittedFunction[P, tuple[R, Any]]: ...


def value_and_grad(function: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Any:
    """As :func:`grad`, with respect to the arguments ``argnums``; returns the function's value and the gradient, from
    one run. With ``has_aux`` the value is the pair.

    ``scipy.optimize.minimize(..., jac=True)`` accepts the returned function.

    >>> import numpy as np, tnp
    >>> tnp.value_and_grad(lambda x: np.sin(x).sum())(np.zeros(2))
    (np.float64(0.0), array([1., 1.]))
    """
    return _with_value(value_and_grad, function, argnums, has_aux, lambda result, found: (result, found))


def all_grads(function: Callable[..., Any]) -> Any:
    """The gradients of the sum of all results, with respect to all floating-point arguments: a list, as a function of
    the same arguments. (Lightning Thunder's ``grad``.)

    Arguments with values other than floating-point arrays and numbers are skipped, and so are results of other dtypes.
    Raises :class:`GradientError` for operations without a gradient.

    >>> import numpy as np, tnp
    >>> from tnp.compile.derivatives import all_grads
    >>> all_grads(lambda x, y, n: (x * y, x * n))(np.array([1.0, 2.0]), np.array([3.0, 4.0]), 2)
    [array([5., 6.]), array([1., 2.])]
    """

    def compute(tracer: Tracer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        argnums = tuple(i for i, a in enumerate(args) if leaves_of(a) and all(map(_can_vary, leaves_of(a))))
        traced = Traced(tracer, "all_grads", function, args, kwargs, argnums)
        outputs = [p for p in traced.leaves if isinstance(p, Proxy) and is_differentiable(p)]
        return traced.cotangents([(p, _ones(p)) for p in outputs])

    return transformed(all_grads, function, {}, compute)


def _can_vary(x: Any) -> bool:
    return is_differentiable(value_of(x)) or type(x) in (float, complex)


# Products with Jacobians


def _paired(what: str, outputs: list[Any], given: Any, kind: str) -> list[tuple[Any, Any]]:
    """Pairs of outputs, or variables, and the given values. Raises :class:`GradientError` if they do not match."""
    values = leaves_of(given)
    if len(values) != len(outputs):
        raise GradientError(f"{what} needs {len(outputs)} {kind}, not {len(values)}", user_location())
    return list(zip(outputs, values))


def _as_proxy(tracer: Tracer, x: Any, like: Proxy, what: str) -> TensorProxy:
    """A tangent or cotangent from the user, as an array of the shape of ``like``."""
    value = (
        tracer.array_handle(x).__tnp_value__()
        if type(x) is not TracedNumber
        else clang.convert(x.proxy, zeros_for(like).dtype)
    )
    wanted = like.shape if isinstance(like, TensorProxy) else ()
    if sizes.shapes_equal(value.shape, wanted) is False:
        raise GradientError(
            f"{what}: an array of shape {sizes.show(value.shape)} stands for one of {sizes.show(wanted)}",
            user_location(),
        )
    dtype = zeros_for(like).dtype
    if value.dtype.kind == "c" and dtype.kind != "c":
        raise GradientError(f"{what}: a complex array stands for one of {dtype}", user_location())
    return clang.convert(value, dtype)


@overload
def vjp(function: Callable[[*Xs], R], *primals: *Xs) -> tuple[R, Callable[[R], tuple[*Xs]]]: ...
@overload
def vjp(function: Callable[..., R], *primals: Any) -> tuple[R, Callable[[R], tuple[Any, ...]]]: ...


def vjp(function: Any, *primals: Any) -> Any:  # type: ignore[misc]
    """The function's value, and the function that pulls cotangents of the value back to those of the arguments, a
    tuple.

    ``primals`` are the arguments: floating-point or complex arrays, numbers, and containers of them. Cotangents have
    the structure, shapes and dtypes of the value. The pullback runs the forward computation again. Arguments that the
    function writes to do not change. Raises :class:`GradientError` for cotangents that do not match, and for operations
    without a gradient.

    >>> import numpy as np, tnp
    >>> value, pull = tnp.vjp(lambda x, y: x * y, np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    >>> pull(np.array([1.0, 10.0]))
    (array([ 3., 40.]), array([ 1., 20.]))
    """
    primals = mapped(lambda x, path: x.copy() if isinstance(x, np.ndarray) else x, primals)
    pull = _pulling(function)

    def pullback(cotangents: Any) -> Any:
        with own_frames_hidden():
            return pull(primals, cotangents)

    with own_frames_hidden():
        return _valued(function)(*primals), pullback


def _valued(function: Any) -> Transformed:
    """The function, without its writes to arguments."""

    def compute(tracer: Tracer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        traced = Traced(tracer, "tnp.vjp", function, args, kwargs, tuple(range(len(args))))
        traced.check_results()
        return traced.result

    return transformed(vjp, function, {"part": "value"}, compute)


def _pulling(function: Any) -> Transformed:
    def compute(tracer: Tracer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        primals, cotangents = args
        argnums = tuple(range(len(primals)))
        traced = Traced(tracer, "tnp.vjp", function, primals, kwargs, argnums)
        seeds = [
            (p, _as_proxy(tracer, g, p, "tnp.vjp"))
            for p, g in _paired("tnp.vjp", traced.leaves, cotangents, "cotangents")
            if isinstance(p, Proxy) and is_differentiable(p)
        ]
        return traced.structured(traced.cotangents(seeds), argnums)

    return transformed(vjp, function, {"part": "cotangents"}, compute)


def jvp(function: Callable[..., R], primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[R, R]:
    """The function's value, and its derivative in the direction of ``tangents``.

    ``tangents`` have the structure, shapes and dtypes of ``primals``, the arguments; the derivative has those of the
    value. Raises :class:`GradientError` for tangents that do not match, and for operations without a gradient.

    >>> import numpy as np, tnp
    >>> tnp.jvp(lambda x: x ** 2, (np.array([1.0, 3.0]),), (np.array([1.0, 0.0]),))
    (array([1., 9.]), array([2., 0.]))
    """
    with own_frames_hidden():
        value, tangent = _pushing(function)(tuple(primals), tuple(tangents))
    return value, tangent


def _pushing(function: Any) -> Transformed:
    def compute(tracer: Tracer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        primals, tangents = args
        traced = Traced(tracer, "tnp.jvp", function, primals, kwargs, tuple(range(len(primals))))
        traced.check_results()
        pairs = _paired("tnp.jvp", traced.proxies, tangents, "tangents")
        inputs = [(p, _as_proxy(tracer, t, p, "tnp.jvp")) for p, t in pairs]
        outputs = [p for p in traced.leaves if isinstance(p, Proxy) and is_differentiable(p)]
        tangents_out = traced.program.push_forward(inputs, outputs)
        found = iter(own_handles(tracer, tangents_out, outputs, traced.program.stop))

        def tangent(x: Any, path: str) -> Any:
            value = value_of(x)
            if isinstance(value, Proxy) and is_differentiable(value):
                return next(found)
            return x * 0 if isinstance(value, Proxy) else np.zeros((), np.asarray(value).dtype)[()]

        return traced.result, mapped(tangent, traced.result)

    return transformed(jvp, function, {}, compute)


# Jacobians


def jacobian(function: Callable[P, Any], argnums: int | tuple[int, ...] = 0) -> JittedFunction[P, Any]:
    """The derivatives of each element of a function's value with respect to each element of an argument: arrays with
    the shape of the value followed by that of the argument. ``argnums`` selects the arguments, as in :func:`grad`;
    several give a tuple.

    The value and the argument may be containers of arrays: the result has the structure of the value, and in it that of
    the argument. Raises :class:`GradientError` for complex values.

    Of a program without loops, columns are computed, all at once, if the arguments have at most half as many elements as
    the value (forward mode). Otherwise rows are, by a loop in the program, or, if the program has loops, all at once
    (reverse mode).

    >>> import numpy as np, tnp
    >>> tnp.jacobian(lambda x: np.array([2.0, 3.0]) * x)(np.ones(2))
    array([[2., 0.],
           [0., 3.]])
    """
    argnums = tuple(argnums) if isinstance(argnums, (list, tuple)) else argnums

    def compute(tracer: Tracer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        traced = Traced(tracer, "tnp.jacobian", function, args, kwargs, argnums)
        traced.check_results()

        def of_leaf(x: Any, path: str) -> Any:
            out = value_of(x)
            with languages.language_context(out.lang if isinstance(out, TensorProxy) else languages.current()):
                return traced.structured(_rows(tracer, traced, out), argnums)

        return mapped(of_leaf, traced.result)

    made: Any = transformed(jacobian, function, {"argnums": argnums}, compute)
    return made  # type: ignore[no-any-return]


def _rows(tracer: Tracer, traced: Traced, out: Any) -> list[Any]:
    """The Jacobians of one array of the value by each variable."""
    is_real = is_differentiable(out) and not _is_complex(out) if isinstance(out, Proxy) else np.isrealobj(out)
    if not is_real:
        raise GradientError("tnp.jacobian needs a function with real floating-point values", user_location())
    if any(map(_is_complex, traced.proxies)):
        raise GradientError("tnp.jacobian takes real arguments; use tnp.vjp for complex ones", user_location())
    shape = sizes.concrete(out.shape, "tnp.jacobian") if isinstance(out, TensorProxy) else np.shape(out)
    variables = traced.proxies
    own = [p.shape if isinstance(p, TensorProxy) else () for p in variables]
    rows = jacobians_of(traced.program, variables, out) if isinstance(out, Proxy) else [None] * len(variables)
    like = [
        TensorProxy("", shape=(*shape, *n), dtype=zeros_for(p).dtype, lang=getattr(p, "lang", lnp.language))
        for n, p in zip(own, variables)
    ]
    rows = [None if r is None else clang.reshape(r, p.shape) for r, p in zip(rows, like)]
    return own_handles(tracer, rows, like, traced.program.stop)


def hessian(function: Callable[P, Any], argnums: int | tuple[int, ...] = 0) -> JittedFunction[P, Any]:
    """The second derivatives of a function whose value is a real scalar: the Jacobian of its gradient, an array with
    the argument's shape twice. ``argnums`` is as in :func:`grad`; several give a tuple of tuples. Raises
    :class:`GradientError` as :func:`grad` and :func:`jacobian` do.

    >>> import numpy as np, tnp
    >>> tnp.hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 2.0]))
    array([[4., 2.],
           [2., 0.]])
    """
    gradient: Callable[P, Any] = grad(function, argnums)
    return jacobian(gradient, argnums)
