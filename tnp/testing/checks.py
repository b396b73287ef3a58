"""Running an operation's samples through ``tnp.jit`` and comparing with its reference."""

from __future__ import annotations

import re
import shlex
import sys
import warnings
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import tnp
from tnp.core import dtypes as core_dtypes
from tnp.core.dtypes import DType
from tnp.testing.arrays import as_dtype
from tnp.testing.compare import assert_same
from tnp.testing.gradients import check_gradients
from tnp.testing.opinfo import EXECUTORS, TORCH_EXECUTORS, OpInfo, SampleInput, opinfos

__all__ = ["Refused", "check_error", "check_errors", "check_gradient", "check_op", "check_sample", "run_sample"]

#: older versions of NumPy refuse some samples, and accept some inputs that must raise in later ones
_OLDER_NUMPY = np.lib.NumpyVersion(np.__version__) < "2.4.0"


class Refused(Exception):
    """The reference itself raised for a sample; what, is the cause."""


def _call_of(op: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        return op(*args, **kwargs)

    return call


def _seeded() -> None:
    """Random numbers that an operation of torch's draws are then the same. (``torch.manual_seed`` takes milliseconds where there is no device:
    it writes down the whole stack for each kind of device.)"""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.default_generator.manual_seed(0)
        if torch.cuda.is_available():
            torch.cuda.manual_seed_all(0)


def run_sample(
    jitted: Callable[..., Any], reference: Callable[..., Any], sample: SampleInput, **tolerances: Any
) -> None:
    """Runs one sample through both, twice each (traced, then from the cache), and compares results and arguments.

    ``tolerances`` are those of :func:`assert_same`. Raises ``AssertionError`` where they differ, and :class:`Refused` where the
    reference raises; errors of ``jitted`` pass through.
    """
    for _ in range(2):
        expected_sample, actual_sample = sample.copied(), sample.copied()
        with np.errstate(all="ignore"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                _seeded()
                try:
                    expected = reference(*expected_sample.args, **expected_sample.kwargs)
                except Exception as refusal:
                    raise Refused(f"{type(refusal).__name__}: {refusal}") from refusal
            _seeded()
            actual = jitted(*actual_sample.args, **actual_sample.kwargs)
        assert_same(actual, expected, **tolerances)
        assert_same(actual_sample.args, expected_sample.args, what="arguments", **tolerances)
        assert_same(actual_sample.kwargs, expected_sample.kwargs, what="keyword arguments", **tolerances)


def check_sample(info: OpInfo, sample: SampleInput, executor: str, dtype: DType) -> None:
    """Runs one sample through ``tnp.jit`` and through the reference of ``info``, and compares. ``executor`` is one of the names that
    :meth:`OpInfo.executor_lists` gives, ``dtype`` says which tolerances hold.

    Raises ``AssertionError`` where they differ in type, dtype, shape, values, or in what they did to the arguments; and
    lets errors and fallback warnings through.

    >>> import numpy as np
    >>> from tnp.core.dtypes import float64
    >>> from tnp.testing import OpInfo, SampleInput, check_sample
    >>> check_sample(OpInfo(np.sort), SampleInput(np.array([2.0, 1.0])), "llvm", float64)
    """
    jitted = tnp.jit(_call_of(info.op), executors=info.executor_lists()[executor])
    exact = executor == "numpy" and info.reference is info.op
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not info.may_run_eagerly:
            warnings.simplefilter("error", tnp.EagerFallbackWarning)
        try:
            run_sample(jitted, info.reference, sample, exact=exact, rtol=info.rtol.get(dtype))
        except Refused as refused:
            if not _OLDER_NUMPY or info.torch_reference is not None or refused.__cause__ is None:
                raise
            _check_raises(type(refused.__cause__), "", jitted, sample.copied())


@contextmanager
def _reproduced_by(command: str, sample: SampleInput) -> Iterator[None]:
    """Errors get the command that runs that one sample."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"{sample}\nreproduce with: {command}")
        raise


def _command(info: OpInfo, source: str | None, *options: str) -> str:
    where = [] if source is None or any(info is i for i in opinfos) else ["--from", source]
    return " ".join(("python -m tnp.testing", info.name, *where, *options))


def check_op(
    info: OpInfo, executor: str, dtype: Any, *, device: str = "cpu", only: Container[int] | None = None,
    source: str | None = None,
) -> int:  # fmt: skip
    """Checks all samples of the operation of ``info`` (or those whose numbers are in ``only``) on one executor, by name, with one dtype, on a
    ``device``.

    Returns how many there were. An error has a note with the command that reproduces it; ``source`` is the file that has
    the OpInfo, for that command.

    >>> from tnp.testing import check_op, opinfos
    >>> check_op(opinfos.named("rot90"), "numpy", "int32", only=range(3))
    3
    """
    kind = as_dtype(dtype)
    count = 0
    for i, sample in enumerate(info.samples(kind, device=device)):
        if only is None or i in only:
            count += 1
            options = [f"--executor {shlex.quote(executor)}", f"--dtype {kind}", f"--sample {i}"]
            options += [f"--device {device}"] if device != "cpu" else []
            with _reproduced_by(_command(info, source, *options), sample):
                check_sample(info, sample, executor, kind)
    return count


def check_gradient(
    info: OpInfo, executor: str, *, source: str | None = None, only: Container[int] | None = None
) -> int:
    """Compares the gradients of the operation of ``info`` on an ``executor``, by name, with differences of its values, in float64, for each
    sample; those of operations on tensors, as autograd gets them, by a backward program, also with what torch's autograd finds for the
    reference.

    Samples come from the generator with ``requires_grad=True``; the gradient is that of the result's elements, each with a weight of its
    own, by the arguments that are arrays of floating numbers, or by the tensors that require a gradient. Returns how many samples there
    were; empty ones count, but say nothing. ``only`` and ``source`` are as in :func:`check_op`. Raises ``AssertionError`` where gradients
    differ.

    >>> import numpy as np
    >>> from tnp.testing import OpInfo, check_gradient, shapes_generator
    >>> check_gradient(OpInfo(np.tanh, sample_input_generator=shapes_generator((3,))), "numpy")
    3
    """
    kind = core_dtypes.float64
    count = 0
    for i, sample in enumerate(info.samples(kind, requires_grad=True)):
        if only is not None and i not in only:
            continue
        count += 1
        command = _command(info, source, "--gradients", f"--executor {shlex.quote(executor)}", f"--sample {i}")
        with _reproduced_by(command, sample):
            if info.torch_reference is None:
                executors = info.executor_lists()[executor]
                check_gradients(_weighted(info.op, sample), list(sample.args), executors=executors)
            else:
                _check_tensors(info, sample, executor)
    return count


def _check_tensors(info: OpInfo, sample: SampleInput, executor: str) -> None:
    from tnp.testing.torch_gradients import check_tensor_gradients

    jitted = tnp.jit(_call_of(info.op), executors=info.executor_lists()[executor])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not info.may_run_eagerly:
            warnings.simplefilter("error", tnp.EagerFallbackWarning)
        check_tensor_gradients(info, jitted, sample)


def _weighted(op: Callable[..., Any], sample: SampleInput) -> Callable[..., Any]:
    kwargs = sample.kwargs

    def value(*args: Any) -> Any:
        out = np.asarray(op(*args, **kwargs))
        return (out * np.cos(np.arange(out.size) + 1.0).reshape(out.shape)).sum()

    return value


def check_errors(info: OpInfo, *, device: str = "cpu", source: str | None = None) -> int:
    """Checks that the inputs of ``error_input_generator`` of ``info`` raise as it says, on a ``device``; returns how many there were.

    An error has a note with the command that reproduces it, for which ``source`` is the file that has the OpInfo.

    >>> from tnp.testing import check_errors, opinfos
    >>> check_errors(opinfos.named("rot90"))
    2
    """
    count = 0
    for sample, error, pattern in info.errors(device=device):
        count += 1
        with _reproduced_by(_command(info, source, "--errors"), sample):
            check_error(info, sample, error, pattern)
    return count


def check_error(info: OpInfo, sample: SampleInput, error: type[BaseException], pattern: str) -> None:
    """Checks that a jitted call of the operation of ``info`` with the arguments in ``sample`` raises ``error`` with a message matching
    ``pattern``, its arguments as eager leaves them.

    Where this version of NumPy does something else, the call must do that.

    >>> import numpy as np
    >>> from tnp.testing import OpInfo, SampleInput, check_error
    >>> check_error(OpInfo(np.fliplr), SampleInput(np.zeros(3)), ValueError, "2-d")
    """
    # Executors of its own may be needed to run it at all.
    own = tuple(e for e in info.executors or () if not (isinstance(e, str) and e in {**EXECUTORS, **TORCH_EXECUTORS}))
    jitted = tnp.jit(_call_of(info.op), executors=own or None)
    before = sample.copied()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if _OLDER_NUMPY and info.torch_reference is None:
            try:
                expected = info.reference(*sample.args, **sample.kwargs)
            except Exception as raised:
                error, pattern = type(raised), re.escape(str(raised))
            else:
                assert_same(jitted(*before.args, **before.kwargs), expected)
                return
        warnings.simplefilter("error", tnp.EagerFallbackWarning)
        _check_raises(error, pattern, jitted, sample)
    assert_same(sample.args, before.args, what="arguments")


def _check_raises(error: type[BaseException], pattern: str, call: Callable[..., Any], sample: SampleInput) -> None:
    try:
        call(*sample.args, **sample.kwargs)
    except error as raised:
        assert re.search(pattern, str(raised)), f"{error.__name__}: {raised} does not match {pattern!r}"
    else:
        raise AssertionError(f"{call} did not raise {error.__name__} for {sample}")
