"""Gradients of branches and loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tnp.core import prims
from tnp.core.bodies import Body
from tnp.core.current import current_trace
from tnp.core.proxies import NumberProxy, Proxy, TensorProxy, is_number

__all__ = ["rolled"]


def like(x: Any) -> Proxy:
    """A new value of the kind of ``x``: what a body has for a carried one."""
    if isinstance(x, TensorProxy):
        return TensorProxy(like=x, lang=x.lang, scalar=x.scalar)
    assert is_number(x)
    return NumberProxy(None, x.python_type if isinstance(x, NumberProxy) else type(x))


def rolled(
    start: Any, stop: Any, step: Any, inits: Sequence[Any], make: Callable[..., Sequence[Any]]
) -> tuple[Proxy, ...]:
    """Records a loop: ``make(index, *carried)`` records a round and gives what is carried on. Carried arrays are memory."""
    trace = current_trace()
    assert trace is not None
    index = NumberProxy(trace.make_name("i"), int)
    args = [like(x) for x in inits]
    trace.push_body()
    try:
        results = list(make(index, *args))
        for i, (arg, result) in enumerate(zip(args, results)):
            if isinstance(arg, TensorProxy) and not arg.scalar and result.name != arg.name:
                results[i] = prims.copy_(result, arg)
    finally:
        scope = trace.pop_body()
    return prims.for_loop(start, stop, step, Body([index, *args], scope, results), *inits)  # type: ignore[no-any-return]
