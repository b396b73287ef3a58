"""Branches on values that are known only when the program runs, as operations of the trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tnp.core import prims
from tnp.core.bodies import Body
from tnp.core.prims.control_flow import are_alike
from tnp.core.proxies import Proxy
from tnp.frontend.handles import Storage, TracedArray, TracedNumber
from tnp.frontend.layout import same_layout
from tnp.frontend.regions import UNBOUND, Region, Retrace
from tnp.frontend.results import mark_shared
from tnp.frontend.trials import BREAK, CONTINUE, Failure, Leaving, Returned, Trial, is_same_array, is_same_constant
from tnp.frontend.values import output_handle, proxy_of

__all__ = ["Branch"]


class Branch(Trial):
    """An ``if`` on a value that is known only when the program runs, tried as one operation."""

    def __init__(
        self, then: Any, orelse: Any, rest: Any, names: Sequence[str], stores: Sequence[str], tail: str | None,
        *functions: Any,
    ) -> None:  # fmt: skip
        super().__init__(functions or (then, orelse, rest), names, stores)
        self.sides = (then, orelse)
        self.rest, self.tail = rest, tail

    def join(self, test: Any) -> tuple[Any] | None:
        """Records the branch and gives its code, in a tuple; ``None``, with everything as before, if that cannot be."""
        self.condition = proxy_of(test)
        try:
            return (self.attempt(),)
        except Failure:
            return None

    def _run(self, side: Any) -> Any:
        code = side() if side is not None else None
        if code is None and self.rest is not None:
            code = self.rest()
        elif isinstance(code, Leaving) and self.rest is not None:
            raise Failure("it leaves a loop in a branch of a branch")
        return None if code is CONTINUE and self.tail == "body" else code

    def once(self, region: Region) -> Any:
        memory = {key: s.value for key, s in self.storages.items()}
        proxies = self.storage_proxies()
        scopes, codes, ends, stores = [], [], [], []
        regions = [region, Region(self.tracer, self.variables)]
        for at, (side, r) in enumerate(zip(self.sides, regions)):
            if at:
                r.serial = region.serial
            r.open()
            try:
                self.carry_storages(r, proxies)
                codes.append(self._run(side))
                self.check_effects(r)
                values = {n: self.variables[n] for n in self.names}
                ends.append({n: (v, None if v is UNBOUND else proxy_of(v)) for n, v in values.items()})
                codes[-1] = self._code_as_value(codes[-1])
                stores.append(self.stored_results(r))
            except Retrace as found:
                if at:
                    r.undo()
                    raise Retrace(region, found.storage) if found.region is r else found from None
                raise
            except BaseException:
                if at:
                    r.undo()
                raise
            scopes.append(r.close())
            r.restore_variables()
        merged = {n: m for n in self.names if (m := self._merge(n, ends[0][n], ends[1][n], region)) is not None}
        code, pair = self._join_codes(*codes, region)
        written = [k for k in proxies if any(k in s for s in stores)]
        unchanged = {proxies[k].name: memory[k] for k in proxies if k not in written}
        bodies = []
        for at, (scope, found) in enumerate(zip(scopes, stores)):
            results = [found.get(k, proxies[k]) for k in written]
            results += [m[at] for m in merged.values()] + ([] if pair is None else [pair[at]])
            bodies.append(Body([proxies[k] for k in written], scope, results).substitute(unchanged))
        outputs = prims.cond(self.condition, *bodies, *(memory[k] for k in written))
        new = outputs[len(written) :]
        self.commit({k: proxies[k] for k in written})
        for (name, (_, _, first, second)), proxy in zip(merged.items(), new):
            self.variables[name] = _either(proxy, first, second)
        return code if pair is None else code(new[-1])

    def _code_as_value(self, code: Any) -> tuple[Any, Any]:
        """A code, and the proxy of its value, made inside of the branch."""
        if isinstance(code, Returned) and code.value is not None:
            return code, proxy_of(code.value)
        return code, code.condition.proxy if isinstance(code, Leaving) else None

    def _merge(self, name: str, a: tuple[Any, Any], b: tuple[Any, Any], region: Region) -> Any:
        """The two values of a variable, as proxies and as they are; ``None`` if they are one."""
        (x, p), (y, q) = a, b
        if x is y or (type(x) is TracedArray and is_same_array(y, x)) or is_same_constant(x, y):
            self.variables[name] = x
            return None
        if p is None or q is None or not are_alike(p, q):
            raise Failure(f"{name} is of another kind on either side")
        _check_mergeable(x, y, region)
        return p, q, x, y

    def _join_codes(self, a: tuple[Any, Any], b: tuple[Any, Any], region: Region) -> tuple[Any, Any]:
        """The code of the branch; or a function that makes it of a value, and that value's proxies on both sides."""
        (x, p), (y, q) = a, b
        if x is y:
            return x, None
        if self.tail == "function":
            x, y = (Returned(None) if c is None else c for c in (x, y))
        if isinstance(x, Returned) and isinstance(y, Returned) and self.tail is not None:
            if x.value is None and y.value is None:
                return x, None
            if is_same_constant(x.value, y.value):
                return x, None
            if p is None or q is None or not are_alike(p, q):
                raise Failure("it returns values of different kinds")
            _check_mergeable(x.value, y.value, region)
            return lambda proxy: Returned(_either(proxy, x.value, y.value)), (p, q)
        leaving = [None, BREAK]
        if self.tail == "body" and all(c in leaving or isinstance(c, Leaving) for c in (x, y)):
            values = [c is BREAK if c in leaving else v for c, v in ((x, p), (y, q))]
            return lambda proxy: Leaving(TracedNumber(proxy)), values
        raise Failure("it jumps on one side")


def _check_mergeable(x: Any, y: Any, region: Region) -> None:
    """Refuses arrays of which it is not known what a write to them would change: those of the caller that the branch writes."""
    for v in (x, y):
        if type(v) is not TracedArray or v.scalar:
            continue
        written = id(v.storage) in region.carried and (v.path or v.storage.origin is not None)
        if type(v.storage) is not Storage or written:
            raise Failure("it chooses between arrays that share memory with others")


def _either(proxy: Proxy, x: Any, y: Any) -> Any:
    """What the program holds for a value that is one of two."""
    handle = x if type(x) is TracedArray and not x.scalar else None
    made = output_handle(proxy, handle)
    if handle is not None:
        if not same_layout(x, y):
            made._strides = None
        for v in (x, y):
            mark_shared(made.storage, v.storage)
    return made
