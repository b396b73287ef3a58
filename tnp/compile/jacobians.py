"""The Jacobian of one array of a program's values: by rows, walking back, or by columns, pushing forward."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tnp.core import clang, dtypes, prims, sizes
from tnp.core.context import current_trace
from tnp.core.errors import BatchError, GradientError
from tnp.core.proxies import Proxy, TensorProxy
from tnp.core.subtraces import is_control_flow
from tnp.core.symbol import BoundSymbol
from tnp.core.views import Path, Step, update
from tnp.transforms.autodiff import Program, zeros_for
from tnp.transforms.autodiff.replay import rolled
from tnp.transforms.batching.walk import Walk, run_batched

__all__ = ["jacobians_of"]

#: the core functions of the table, which the type checker does not see
_elementwise: Any = clang
#: rows, or columns, are computed at once if no array on the way then has more elements
AT_ONCE = 2**24
#: how many rows take as long as a column: pushing forward walks back twice
ROWS_FOR_A_COLUMN = 2

_Arrays = list[TensorProxy | None]


def jacobians_of(program: Program, variables: Sequence[Proxy], out: Any) -> _Arrays:
    """The Jacobians of ``out`` by each variable, with the elements of ``out`` along the first axes; ``None`` stands for zeros."""
    count = math.prod(sizes.concrete(out.shape, "tnp.jacobian")) if isinstance(out, TensorProxy) else 1
    if count == 1:
        ones = clang.full(getattr(out, "shape", ()), 1, dtype=zeros_for(out).dtype)
        return program.pull_back(variables, [(out, ones)])
    return (
        _columns_at_once(program, variables, out, count)
        or _rows_at_once(program, variables, out, count)
        or _rows_in_turn(program, variables, out, count)
    )


def _columns_at_once(program: Program, variables: Sequence[Proxy], out: TensorProxy, count: int) -> _Arrays | None:
    """The forward walk, mapped over the elements of each variable; ``None`` if rows are fewer, or where it cannot be done."""
    arrays = [p for p in variables if isinstance(p, TensorProxy) and sizes.is_known(p.shape)]
    total: Any = sum(p.numel for p in arrays)
    few = ROWS_FOR_A_COLUMN * total <= count
    if len(arrays) < len(variables) or not few or any(map(is_control_flow, program.bound_symbols)):
        return None
    before = len(program.trace.statements)
    columns: _Arrays = []
    for p in arrays:
        length: Any = p.numel
        try:
            tangent, scratch, found = _recorded(p, lambda t, p=p: program.push_forward([(p, t)], [out]))
            made = _mapped(scratch, tangent, length, found)
        except (BatchError, GradientError):
            made = None
        if made is None:
            del program.trace.statements[before:]
            return None
        (column,) = made
        columns.append(None if column is None else clang.transpose(clang.reshape(column, (length, count)), (1, 0)))
    return columns


def _rows_at_once(program: Program, variables: Sequence[Proxy], out: TensorProxy, count: int) -> _Arrays | None:
    """The reverse walk, mapped over all seeds; ``None`` if that takes too much memory, cannot be mapped, or does not
    pay.

    Measured: for straight-line programs, one row at a time is at least as fast (the Hessian of 200 variables of
    Rosenbrock's function in a tenth of the time), because a row's values stay in the cache. Loops, whose iterations
    have more overhead than work, are faster once for all rows.
    """
    if not any(map(is_control_flow, program.bound_symbols)):
        return None
    seed, scratch, found = _recorded(out, lambda g: program.pull_back(variables, [(out, g)]))
    before = len(program.trace.statements)
    try:
        return _mapped(scratch, seed, count, found)
    except BatchError:
        del program.trace.statements[before:]
        return None


def _rows_in_turn(program: Program, variables: Sequence[Proxy], out: TensorProxy, count: int) -> _Arrays:
    """One reverse walk per row, in a loop of the program."""
    at = clang.reshape(clang.arange(count, dtype=dtypes.int64), out.shape)
    inits = [clang.full((count, *getattr(p, "shape", ())), 0, dtype=zeros_for(p).dtype) for p in variables]

    def row(index: Any, *matrices: TensorProxy) -> list[TensorProxy]:
        seed = clang.convert(_elementwise.eq(at, index), out.dtype)
        found = program.pull_back(variables, [(out, seed)])
        place = Path([Step(prims.select, (0, index))])
        return [m if g is None else update(m, g, place) for m, g in zip(matrices, found)]

    made: Any = rolled(0, count, 1, inits, row)
    return list(made)


def _recorded(like: TensorProxy, walk: Any) -> tuple[TensorProxy, list[BoundSymbol], _Arrays]:
    """What ``walk`` records for a seed, and gives."""
    trace = current_trace()
    assert trace is not None
    seed = TensorProxy(like=like)
    scratch = trace.push_body()
    try:
        found = walk(seed)
    finally:
        trace.pop_body()
    return seed, scratch, found


def _mapped(scratch: list[BoundSymbol], seed: TensorProxy, count: int, found: _Arrays) -> _Arrays | None:
    """What was recorded for one ``seed``, for the ``count`` units; ``None`` if that takes too much memory. Raises :class:`BatchError`."""
    shapes = [p for b in scratch for p in b.flat_outputs if isinstance(p, TensorProxy) and sizes.is_known(p.shape)]
    largest: Any = max((p.numel for p in shapes), default=0)
    if count * largest > AT_ONCE:
        return None
    at = clang.arange(count, dtype=dtypes.int64)
    unit = clang.convert(_elementwise.eq(clang.expand_dims(at, (1,)), clang.expand_dims(at, (0,))), seed.dtype)
    seeds = clang.reshape(unit, (count, *seed.shape))
    made = run_batched(scratch, {seed.name: seeds}, count, found)
    return [None if x is None else Walk(count, {}).array(x) for x in made]
