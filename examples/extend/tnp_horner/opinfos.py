"""What the tests of ``horner`` need to know: samples, wrong inputs, and what is right."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tnp.testing import OpInfo, SampleInput, variants
from tnp_horner import horner

__all__ = ["horner_opinfo"]


def _samples(op: OpInfo, device: Any, dtype: Any, requires_grad: bool = False, **kwargs: Any) -> Iterator[SampleInput]:
    options = {"device": device, "dtype": dtype, "requires_grad": requires_grad}
    if requires_grad:  # few and small: gradients are compared with differences, element by element
        for n, shape in ((1, (2,)), (3, (2, 2))):
            yield SampleInput(op.make((n,), **options), op.make(shape, seed=1, **options))
        return
    for n in (1, 4):
        for shape in ((), (0,), (3, 4)):
            yield SampleInput(op.make((n,), **options), op.make(shape, seed=1, **options))
    for x in variants(op.make((3, 4), **options)):
        yield SampleInput(op.make((3,), **options), x)


def _errors(op: OpInfo, device: Any) -> Iterator[tuple[SampleInput, type, str]]:
    yield SampleInput(np.ones(0), np.ones(3)), IndexError, "out of bounds"


horner_opinfo = OpInfo(
    horner,
    sample_input_generator=_samples,
    error_input_generator=_errors,
    numpy_reference=np.polyval,
    dtypes=("float32", "float64"),
    executors=("horner", "numpy[prims]"),
    domain=(-1.5, 1.5),
    supports_grad=True,
)
