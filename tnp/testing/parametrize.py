"""Generated pytest tests, one per combination of operation, executor, device and dtype."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tnp.core.dtypes import DType, float64
from tnp.testing.arrays import as_dtype
from tnp.testing.checks import check_errors, check_gradient, check_op
from tnp.testing.opinfo import DecorateInfo, OpInfo

__all__ = ["make_tests", "ops"]


def _marks(info: OpInfo, test_name: str, executor: str | None, device: str, dtype: DType | None) -> list[Any]:
    directives: tuple[DecorateInfo, ...] = info.test_directives
    marks = [d.decorator for d in directives if d.applies(test_name, executor, device, dtype)]
    if device == "cuda":
        import pytest

        marks.append(pytest.mark.gpu)
    return marks


def _consistency(
    infos: Iterable[OpInfo], executors: Any, dtypes: Any, devices: Any
) -> Iterator[tuple[OpInfo, str, str, DType]]:
    for info in infos:
        for executor in info.executor_lists():
            if executors is not None and executor not in executors:
                continue
            for device in info.devices() if devices is None else devices:
                for dtype in info.dtypes or ():
                    if dtypes is None or dtype in {as_dtype(d) for d in dtypes}:
                        yield info, executor, device, dtype


def ops(
    infos: Iterable[OpInfo],
    *,
    executors: Iterable[str] | None = None,
    dtypes: Iterable[Any] | None = None,
    devices: Iterable[str] | None = None,
    where: Callable[[OpInfo, str, DType], bool] | None = None,
) -> Any:
    """A decorator: the test runs for each of ``infos`` × executors × devices × dtypes that they have here, as
    ``test(info, executor, device, dtype)``.

    ``executors`` (names), ``dtypes`` and ``devices`` narrow that down; so does ``where(info, executor, dtype)``. The test's id is
    ``NAME-executor-device-dtype``, so that ``pytest -k NAME`` runs one operation's. An OpInfo's ``test_directives`` for a test of the
    function's name are applied.

    >>> import numpy as np
    >>> from tnp.testing import check_op, ops, opinfos
    >>> @ops(opinfos.family("fft"), executors=["llvm"])
    ... def test_consistency(info, executor, device, dtype):
    ...     check_op(info, executor, dtype, device=device)
    """
    import pytest

    def decorate(test: Callable[..., None]) -> Any:
        params = [
            pytest.param(
                info, executor, device, dtype,
                id=f"{info.name}-{executor}-{device}-{dtype}",
                marks=_marks(info, test.__name__, executor, device, dtype),
            )
            for info, executor, device, dtype in _consistency(infos, executors, dtypes, devices)
            if where is None or where(info, executor, dtype)
        ]  # fmt: skip
        return pytest.mark.parametrize(("info", "executor", "device", "dtype"), params)(test)

    return decorate


def make_tests(*infos: OpInfo) -> Any:
    """A test function for a test module that tests the operations of ``infos`` on every executor, device and dtype, their errors, and
    (with ``supports_grad``) their gradients.

    Three lines test an operation::

        from tnp.testing import OpInfo, elementwise_generator, make_tests
        info = OpInfo(mul_add, sample_input_generator=elementwise_generator(3), numpy_reference=lambda a, b, c: a * b + c)
        test_mul_add = make_tests(info)
    """
    import pytest

    source = sys._getframe(1).f_globals.get("__file__")
    params = []
    for info, executor, device, dtype in _consistency(infos, None, None, None):
        check = lambda i=info, e=executor, v=device, d=dtype: check_op(i, e, d, device=v, source=source)  # noqa: E731
        marks = _marks(info, "test_consistency", executor, device, dtype)
        params.append(pytest.param(check, id=f"{info.name}-{executor}-{device}-{dtype}", marks=marks))
    for info in infos:
        if info.error_input_generator is not None:
            marks = _marks(info, "test_errors", None, "cpu", None)
            check_wrong = lambda i=info: check_errors(i, source=source)  # noqa: E731
            params.append(pytest.param(check_wrong, id=f"{info.name}-errors", marks=marks))
        for executor in info.executor_lists() if info.supports_grad else ():
            marks = _marks(info, "test_gradients", executor, "cpu", float64)
            check_slope = lambda i=info, e=executor: check_gradient(i, e, source=source)  # noqa: E731
            params.append(pytest.param(check_slope, id=f"{info.name}-{executor}-gradients", marks=marks))

    @pytest.mark.parametrize("check", params)
    def test(check: Callable[[], int]) -> None:
        check()

    return test
