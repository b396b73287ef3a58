"""Which operations of a program one call of oneDNN computes, and which of these calls hand on what lies channels last.

A *unit* is a convolution with what comes behind it and is read nowhere else: a batch normalisation by running
statistics, the sum with a residual, ``relu``; or a ``max_pool2d``. Units that read each other's results are a *chain*:
inside of it values lie channels last. What comes in is put into that order once, what is read outside is copied to C's
order, since the rest of the program relies on it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tnp.core import prims
from tnp.core.devices import DeviceType
from tnp.core.dtypes import float32
from tnp.core.proxies import TensorProxy
from tnp.core.subtraces import is_control_flow
from tnp.core.symbol import BoundSymbol, OpTags, Symbol
from tnp.core.trace import Trace
from tnp.executors.base import Executor
from tnp.executors.onednn.convolutions import Convolution, Geometry, max_pool, row_major

__all__ = ["chained", "has_convolutions"]

_CONVOLUTION = "torch.conv2d"
_NORMALISATION = "torch.nn.functional.batch_norm"
_POOL = "torch.nn.functional.max_pool2d"
_SUMS = frozenset(("torch.add", "torch.Tensor.add"))
_RELU = frozenset(("torch.relu", "torch.nn.functional.relu"))
#: no more than what a fingerprint takes: the parameters of a convolution and of a normalisation
_PARAMETERS = ("running_mean", "running_var", "weight", "bias")


@dataclass
class _Unit:
    """One call: the statements that it stands for, what of the program it reads and computes."""

    covered: list[BoundSymbol]
    x: TensorProxy
    result: TensorProxy
    geometry: Geometry | None = None
    #: weight and bias, and the parameters of the normalisation
    parameters: list[Any] = field(default_factory=list)
    eps: float | None = None
    other: TensorProxy | None = None
    relu: bool = False
    #: arguments of ``max_pool2d``
    pool: tuple[Any, ...] = ()

    @property
    def values(self) -> list[TensorProxy]:
        return [self.x] if self.other is None else [self.x, self.other]


def has_convolutions(trace: Trace) -> bool:
    """Whether there may be units in ``trace``."""
    return any(b.sym.id == _CONVOLUTION for b in trace.bound_symbols)


def chained(trace: Trace, executor: Executor) -> Trace:
    """``trace`` with units in place of the operations that they stand for; itself if there are none."""
    units = _Units(trace).found
    if not units:
        return trace
    linked = _linked(units)
    new = Trace.like(trace)
    last = {id(u.covered[-1]): u for u in units.values()}
    gone = {id(b) for u in units.values() for b in u.covered}
    #: results of units of chains, as they lie channels last
    inside: dict[str, TensorProxy] = {}
    outside = (b for b in trace.bound_symbols if id(b) not in gone)
    read_outside = {p.name for b in outside for p in b.flat_inputs if p.name in units}
    for b in trace.bound_symbols:
        unit = last.get(id(b))
        if unit is None:
            if id(b) not in gone:
                new.bound_symbols.append(b)
            continue
        chain = unit.result.name in linked
        result = unit.result
        if chain:
            result = inside[unit.result.name] = TensorProxy(new.make_name("t"), like=unit.result, lang=unit.result.lang)
        new.bound_symbols.append(_call(unit, result, inside, new, executor, chain))
        if chain and unit.result.name in read_outside:
            new.bound_symbols.append(
                BoundSymbol(_operation("row_major", row_major, executor), (result,), {}, unit.result, (), b.location)
            )
    return new


def _call(
    unit: _Unit, result: TensorProxy, inside: dict[str, TensorProxy], trace: Trace, executor: Executor, chain: bool
) -> BoundSymbol:
    """The statement of a unit, with the statements that it stands for as its parts."""
    x = inside.get(unit.x.name, unit.x)
    parts = tuple(b.substitute(inside) for b in unit.covered)
    if unit.geometry is None:
        op = _operation("max_pool", max_pool, executor)
        return BoundSymbol(op, (x, *unit.pool), {}, result, parts, unit.covered[-1].location)
    other = None if unit.other is None else inside.get(unit.other.name, unit.other)
    function = Convolution(unit.geometry, tuple(unit.x.shape), unit.eps, other is not None, unit.relu, chain)
    op = _operation(trace.add_name("onednn_convolution"), function, executor)
    arguments = [x, *unit.parameters, *[None] * (6 - len(unit.parameters)), other]
    while arguments[-1] is None:
        arguments.pop()
    return BoundSymbol(op, tuple(arguments), {}, result, parts, unit.covered[-1].location)


def _operation(name: str, function: Callable[..., Any], executor: Executor) -> Symbol:
    return Symbol(name, None, id=f"onednn.{name}", is_prim=True, executor=executor, fn=function)


def _linked(units: dict[str, _Unit]) -> set[str]:
    """The results of units that belong to a chain of several."""
    found: set[str] = set()
    for name, unit in units.items():
        for p in unit.values:
            if p.name in units:
                found |= {name, p.name}
    return found


class _Units:
    """The units of a trace, by the names of their results."""

    def __init__(self, trace: Trace) -> None:
        self.statements = trace.bound_symbols
        self.place = {id(b): i for i, b in enumerate(self.statements)}
        self.reads: dict[str, list[BoundSymbol]] = {}
        for b in self.statements:
            for name in {p.name for p in b.flat_inputs}:
                self.reads.setdefault(name, []).append(b)
        self.found: dict[str, _Unit] = {}
        #: the statements that units stand for
        self.taken: set[int] = set()
        for b in self.statements:
            unit = self._convolution(b) if b.sym.id == _CONVOLUTION else self._pool(b) if b.sym.id == _POOL else None
            if unit is not None:
                self._extend(unit)
                self.taken.update(map(id, unit.covered))
                self.found[unit.result.name] = unit

    def _convolution(self, b: BoundSymbol) -> _Unit | None:
        """The unit of a convolution alone, if it is one of ``float32`` on the CPU with two dimensions."""
        inner = b.subsymbols[0] if b.subsymbols else None
        if inner is None or inner.sym is not prims.convolution:
            return None
        given = _arguments(b)
        x, weight, *sizes, groups = inner.args
        if x is not given["input"] or not _is_image(x) or not _is_image(weight):
            return None
        bias = given["bias"]
        if bias is not None and not _is_float(bias):
            return None
        geometry = Geometry(*(tuple(s) for s in sizes), groups)
        return _Unit([b], x, b.output, geometry, [weight, bias])

    def _pool(self, b: BoundSymbol) -> _Unit | None:
        """The unit of a pool of what a convolution made."""
        given = _arguments(b)
        x = given["input"]
        if not isinstance(x, TensorProxy) or x.name not in self.found or not _is_image(b.output):
            return None
        sizes = [given[n] for n in ("kernel_size", "stride", "padding", "dilation")]
        if sizes[1] is None:
            sizes[1] = sizes[0]
        if not all(_is_known(s) for s in sizes) or type(given["ceil_mode"]) is not bool:
            return None
        return _Unit([b], x, b.output, pool=(*sizes, given["ceil_mode"]))

    def _extend(self, unit: _Unit) -> None:
        """Adds what comes behind a convolution, as far as nothing else reads what is between."""
        while unit.geometry is not None and not unit.relu:
            behind = self._only_reader(unit.result)
            if behind is None or id(behind[0]) in self.taken or not self._may_wait(unit.covered[0], behind[-1]):
                return
            b, result = behind[0], behind[-1].output
            if b.sym.id == _NORMALISATION and unit.eps is None and unit.other is None:
                if not self._take_normalisation(unit, b):
                    return
            elif b.sym.id in _SUMS and unit.other is None:
                if not self._take_sum(unit, b):
                    return
            elif b.sym.id in _RELU:
                unit.relu = True
            else:
                return
            unit.covered += behind
            unit.result = result

    def _only_reader(self, value: TensorProxy) -> list[BoundSymbol] | None:
        """The one statement that reads ``value``, with the store if that puts what it computes in its place (``relu_``)."""
        readers = self.reads.get(value.name, [])
        if not readers or not isinstance(readers[0].output, TensorProxy):
            return None
        if len(readers) == 1:
            return readers
        made = readers[0].output
        stores = self.reads.get(made.name, [])
        if len(readers) == 2 and stores == readers[1:] and _replaces(readers[1], value, made):
            return readers
        return None

    def _may_wait(self, first: BoundSymbol, last: BoundSymbol) -> bool:
        """Whether what ``first`` reads is the same where ``last`` stands."""
        between = self.statements[self.place[id(first)] : self.place[id(last)]]
        return not any(b.has_tag_inside(OpTags.EFFECT) or is_control_flow(b) for b in between)

    def _take_normalisation(self, unit: _Unit, b: BoundSymbol) -> bool:
        given = _arguments(b)
        parameters = [given[name] for name in _PARAMETERS]
        is_one = given["input"] is not None and given["input"].name == unit.result.name
        if not is_one or given["training"] is not False or type(given["eps"]) is not float:
            return False
        if any(p is not None and (not _is_float(p) or p.name == unit.result.name) for p in parameters):
            return False
        if parameters[0] is None or parameters[1] is None:
            return False
        unit.eps = given["eps"]
        unit.parameters += parameters
        return True

    def _take_sum(self, unit: _Unit, b: BoundSymbol) -> bool:
        given = _arguments(b)
        operands = [given["input"], given["other"]]
        if given.get("alpha", 1) != 1 or not all(isinstance(p, TensorProxy) and _is_image(p) for p in operands):
            return False
        others = [p for p in operands if p.name != unit.result.name]
        if len(others) != 1 or others[0].shape != unit.result.shape:
            return False
        unit.other = others[0]
        return True


def _replaces(b: BoundSymbol, a: TensorProxy, value: TensorProxy) -> bool:
    """Whether ``b`` puts ``value`` in the place of all of ``a``."""
    if b.sym.id != "core.update" or len(b.args) < 2 or (len(b.args) > 2 and b.args[2]):
        return False
    return b.args[0].name == a.name and isinstance(b.args[1], TensorProxy) and b.args[1].name == value.name


@functools.cache
def _signature(sym: Symbol) -> inspect.Signature:
    return inspect.signature(sym.meta)


def _arguments(b: BoundSymbol) -> dict[str, Any]:
    """The arguments of a call by the names of the function's parameters."""
    bound = _signature(b.sym).bind(*b.args, **b.kwargs)
    bound.apply_defaults()
    return bound.arguments


def _is_float(p: Any) -> bool:
    return isinstance(p, TensorProxy) and p.dtype is float32 and p.device.devicetype is DeviceType.CPU


def _is_image(p: Any) -> bool:
    """Whether it is a float32 tensor [n, c, height, width] with elements, of lengths that are known."""
    return _is_float(p) and p.ndim == 4 and all(type(n) is int and n > 0 for n in p.shape)


def _is_known(x: Any) -> bool:
    return type(x) is int or (isinstance(x, (tuple, list)) and all(type(n) is int for n in x))
