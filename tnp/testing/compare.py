"""Comparison of tnp's results with eager's."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

__all__ = ["TOLERANCES", "assert_same"]

#: relative tolerances by dtype, where the order of floating-point operations may differ
TOLERANCES = {"float16": 5e-3, "float32": 2e-5, "float64": 1e-11, "complex64": 2e-5, "complex128": 1e-11}

#: of tensors, where torch's own tolerances are too tight: sums of products in another order differ by more
_OF_TENSORS = {"torch.float32": {"rtol": 1e-5, "atol": 2e-5}}


def assert_same(
    actual: Any, expected: Any, *, exact: bool = False, rtol: float | None = None, what: str = "result"
) -> None:
    """Raises ``AssertionError`` unless ``actual`` and ``expected`` have one type, dtype, shape and (to a tolerance) values, at every level
    of tuples, lists and dicts; of tensors also the device. ``what`` is what the message calls them.

    Tolerances are by dtype (:data:`TOLERANCES`), times the largest finite magnitude for the absolute part; those of tensors are
    ``torch.testing.assert_close``'s. ``rtol`` stands for both, ``exact`` asks for equal values, NaNs being equal.

    >>> import numpy as np
    >>> from tnp.testing import assert_same
    >>> assert_same(np.float32(1), np.float64(1))
    Traceback (most recent call last):
    ...
    AssertionError: result is float32 np.float32(1.0), not float64 np.float64(1.0)
    """
    if isinstance(expected, (tuple, list)):
        assert type(actual) is type(expected), f"{what} is {type(actual).__name__}, not {type(expected).__name__}"
        assert len(actual) == len(expected), f"{what} has {len(actual)} items, not {len(expected)}"
        for i, (a, e) in enumerate(zip(actual, expected)):
            assert_same(a, e, exact=exact, rtol=rtol, what=f"{what}[{i}]")
        return
    if isinstance(expected, dict):
        assert type(actual) is type(expected) and list(actual) == list(expected), f"{what} has keys {list(actual)}"
        for k in expected:
            assert_same(actual[k], expected[k], exact=exact, rtol=rtol, what=f"{what}[{k!r}]")
        return
    assert type(actual) is type(expected), (
        f"{what} is {type(actual).__name__} {actual!r}, not {type(expected).__name__} {expected!r}"
    )
    if isinstance(expected, (np.ndarray, np.generic)):
        assert actual.dtype == expected.dtype, f"{what} has dtype {actual.dtype}, not {expected.dtype}"
        assert actual.shape == expected.shape, f"{what} has shape {actual.shape}, not {expected.shape}"
        _assert_close(np.asarray(actual), np.asarray(expected), exact, rtol, what)
    elif isinstance(expected, (float, complex)):
        _assert_close(np.asarray(actual), np.asarray(expected), exact, rtol, what)
    elif "torch" in sys.modules and isinstance(expected, sys.modules["torch"].Tensor):
        _assert_tensors_close(actual, expected, exact, rtol, what)
    elif "torch" in sys.modules and isinstance(expected, sys.modules["torch"].nn.Module):
        assert_same(dict(actual.state_dict()), dict(expected.state_dict()), exact=exact, rtol=rtol, what=what)
    else:
        assert actual == expected, f"{what} is {actual!r}, not {expected!r}"


def _assert_tensors_close(actual: Any, expected: Any, exact: bool, rtol: float | None, what: str) -> None:
    import torch

    tolerances: dict[str, Any] = _OF_TENSORS.get(str(expected.dtype), {})
    if exact or rtol is not None:
        tolerances = {"rtol": 0.0, "atol": 0.0} if exact or rtol is None else {"rtol": rtol, "atol": rtol}
    torch.testing.assert_close(actual, expected, equal_nan=True, msg=lambda text: f"{what}: {text}", **tolerances)


def _assert_close(actual: Any, expected: Any, exact: bool, rtol: float | None, what: str) -> None:
    if exact or expected.dtype.kind in "biu":
        np.testing.assert_array_equal(actual, expected, err_msg=what)
        return
    relative = TOLERANCES[expected.dtype.name] if rtol is None else rtol
    finite = np.abs(expected[np.isfinite(expected)]) if expected.size else expected
    scale = float(finite.max()) if finite.size else 1.0
    absolute = relative * max(min(scale, 1e30), 1e-30)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(actual, expected, rtol=relative, atol=absolute, err_msg=what)
