"""Running programs under NumPy and tnp, and what differs."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.kernel_bounds import out_of_bounds

from .arguments import whole_memory
from .programs import Program, Statement, define
from .replay import Rejected, Replay
from .tally import Tally

#: constants of the executor's modules with which small arrays take the ways of large ones
SMALL_BLOCKS = {
    "target": {
        "GRAIN": 200,
        "ROW_STACK_BYTES": 256,
        "PLACE_STACK_BYTES": 256,
        "KERNEL_STACK_BYTES": 512,
        "RECOMPUTE": 4,
        "SKEWED_BYTES": 0,
        "SKEWED_ROW_BYTES": 0,
        "SKEWED_CODE_BYTES": 0,
        "SWEPT_BYTES": 0,
        "SECOND_PASS_BYTES": 0,
    },
    "loop_ir.dead_stores": {"LEAST": 0},
    "loop_ir.functions": {"CHUNK": 16},
    "loop_ir.nests": {"BLOCKS": 5, "BLOCK_LENGTH": 16, "WIDE": 8, "NARROW": 8, "ROWS": 4, "ROW_BLOCKS": 3},
    "loop_ir.strips": {"UNROLLED": 3, "CHUNK": 16},
    "loop_ir.lowering": {"DEPTH": 6},
    "loop_ir.skewed": {"ROWS_FOR_EACH_LEFT": 1},
    "loop_ir.sweeping": {"ROWS": 2},
}


def difference(actual: Any, expected: Any, error: float = 0.0, *, signed_zeros: bool = False) -> str | None:
    """What is wrong with ``actual``: type, dtype, shape, or values further from ``expected`` than ``error``."""
    if type(expected) is complex and type(actual) is np.complex128:
        expected = np.complex128(expected)  # known to differ: Python's complex and NumPy's float64 are added by Python
    if type(actual) is not type(expected):
        return f"type {type(actual).__name__} instead of {type(expected).__name__}"
    a, e = np.asarray(actual), np.asarray(expected)
    if a.dtype == e.dtype and a.dtype.kind == "c":
        for part in ("real", "imag"):
            found = difference(getattr(a, part), getattr(e, part), error)
            if found is not None:
                return f"{part} part: {found}"
        return None
    if a.dtype != e.dtype or a.shape != e.shape:
        return f"{a.dtype}{list(a.shape)} instead of {e.dtype}{list(e.shape)}"
    if math.isinf(error):
        return None
    with np.errstate(all="ignore"):
        same = (a == e) | ((a != a) & (e != e))
        if e.dtype.kind in "fc":
            same |= np.abs(a - e) <= error
        if e.dtype.kind == "f" and signed_zeros and not error:
            same &= (np.signbit(a) == np.signbit(e)) | (a != a)
    if np.all(same):
        return None
    at = tuple(int(i) for i in np.argwhere(~same)[0]) if same.shape else ()
    return f"{np.count_nonzero(~same)} of {same.size} elements differ (bound {error:.3g}), at {at} {a[at]!r} instead of {e[at]!r}"


def run(f: Any, arguments: list[Any]) -> tuple[Any, Exception | None]:
    """The result, or what is raised."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return f(*arguments), None
        except Exception as error:
            return None, error


def bounds(program: Program, k: int) -> tuple[dict[str, float], bool, int]:
    """Of a call: the bounds of all variables' errors, whether zeros have a sign that is to be compared, and the statement that
    raises."""
    replay = Replay(program.names, program.arguments(k))
    for number, s in enumerate(program.statements):
        try:
            replay.step(s)
        except Rejected:
            return dict.fromkeys((*replay.variables, *(s.target for s in program.statements)), math.inf), False, -1
        except Exception:
            return replay.variables, replay.signed_zeros, number
    return replay.variables, replay.signed_zeros, -1


def _has_data_shape(s: Statement) -> bool:
    return any(x in s.text for x in ("nonzero", "> 0]", "compress"))


def is_dead(program: Program, number: int) -> bool:
    """Whether nothing needs a statement's result: tnp leaves out such statements, and what they raise."""
    live = {*program.result, *program.names}
    for i in reversed(range(number, len(program.statements))):
        s = program.statements[i]
        if s.target in live:
            live.update(s.reads)
        elif i == number:
            return True
    return False


def sharing(values: Sequence[Any]) -> list[tuple[int, int]]:
    """Which of the arrays share memory."""
    arrays = [(i, x) for i, x in enumerate(values) if isinstance(x, np.ndarray) and x.size]
    return [(i, j) for i, x in arrays for j, y in arrays if i < j and np.may_share_memory(x, y)]


def first_failure(program: Program, executors: Sequence[str] | None, tally: Tally | None = None) -> str | None:
    """What is wrong with a jitted program: an access out of bounds (in :func:`~tests.kernel_bounds.within_bounds`), or the first difference
    from NumPy in any of its calls, each made twice. ``tally`` counts how it was run."""
    import tnp

    f = define(program.source())
    jitted = tnp.jit(f, executors=executors)
    found = _first_difference(program, f, jitted)
    if tally is not None:
        tally.add(jitted)
    return "an access of a kernel is out of bounds" if out_of_bounds() else found


def _first_difference(program: Program, f: Any, jitted: Any) -> str | None:
    for k in range(len(program.calls)):
        eager_arguments = program.arguments(k)
        expected, error = run(f, eager_arguments)
        errors, signed_zeros, failing = bounds(program, k)
        for again in range(2):
            where = f"call {k}{', again' * again}: "
            arguments = program.arguments(k)
            actual, jitted_error = run(jitted, arguments)
            if error is not None and jitted_error is None and is_dead(program, failing):
                break
            if type(jitted_error) is not type(error) or (
                isinstance(error, IndexError) and str(error) != str(jitted_error)
            ):
                return f"{where}{jitted_error!r} instead of {error!r}"
            if isinstance(error, ValueError) and k > 0 and any(_has_data_shape(s) for s in program.statements):
                break  # known to differ: writes around an operation on shapes that turn out not to fit
            pairs = list(zip(program.names, arguments, eager_arguments))
            if error is None:
                pairs += zip(program.result, actual, expected)
                if sharing([*actual, *arguments]) != sharing([*expected, *eager_arguments]):
                    return f"{where}other memory is shared"
            for name, x, y in pairs:
                found = difference(x, y, errors.get(name, 0.0), signed_zeros=signed_zeros)
                if found is not None:
                    return f"{where}{name}: {found}"
                if isinstance(x, np.ndarray) and name in program.names and x.dtype.isnative:
                    found = _change_outside(program, k, name, x)
                    if found:
                        return f"{where}{name}: {found}"
    return None


def _change_outside(program: Program, k: int, name: str, x: np.ndarray) -> str | None:
    """Whether memory beside the argument (the padding of its layout) was written."""
    if not any(f"{name} = layout('{kind}'" in line for line in program.calls[k] for kind in ("every other", "every third row", "inner", "misaligned", "field", "packed field")):  # fmt: skip
        return None
    memory = whole_memory(x)
    if memory.dtype.names:
        inside = "value"
        if memory[next(n for n in memory.dtype.names if n != inside)].any():
            return "memory beside the field was written"
        return None
    if x.size and memory.dtype == x.dtype and memory.ndim == x.ndim:
        offset = (x.__array_interface__["data"][0] - memory.__array_interface__["data"][0]) // x.itemsize
        marks = np.zeros(memory.size, bool)
        np.lib.stride_tricks.as_strided(marks[offset:], x.shape, [s // x.itemsize for s in x.strides])[...] = True
        if memory.reshape(-1)[~marks].any():
            return "memory beside the argument was written"
    return None
