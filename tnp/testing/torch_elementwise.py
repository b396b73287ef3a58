"""OpInfos of the torch language's elementwise functions, generated from the table of elementwise operations.

torch's own database (``opinfos.family("torch")``) has more samples, and takes seconds to import.

>>> from tnp.testing.torch_elementwise import opinfo
>>> info = opinfo("maximum")
>>> info.name, next(info.samples("float32")).args[0].shape
('ltorch.maximum', torch.Size([4, 4]))
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import torch

from tnp.core.elementwise_table import ROWS
from tnp.lang.torch.registry import by_id, function_of
from tnp.testing.arrays import as_dtype
from tnp.testing.opinfo import OpInfo, SampleInput
from tnp.testing.samples import elementwise_generator

__all__ = ["names", "opinfo"]

_ROWS = {row.torch: row for row in ROWS if row.torch and f"torch.{row.torch}" in by_id}


def names() -> tuple[str, ...]:
    """The functions that have one, below ``torch``."""
    return tuple(_ROWS)


@cache
def opinfo(name: str) -> OpInfo:
    """The OpInfo of ``torch.<name>``; its samples begin with matrices of 4 by 4. Raises ``KeyError`` for what is no elementwise function."""
    row = _ROWS[name]
    generate = elementwise_generator(row.nargs)

    def samples(
        op: OpInfo, device: Any, dtype: Any, requires_grad: bool = False, **kwargs: Any
    ) -> Iterator[SampleInput]:
        options = {"device": device, "dtype": as_dtype(dtype), "requires_grad": requires_grad}
        yield SampleInput(*(op.make((4, 4), seed=i, **options) for i in range(row.nargs)))
        yield from generate(op, **options)

    function = function_of(f"torch.{name}")
    kinds = [d for d in (torch.float32, torch.float64, torch.int64, torch.bool) if as_dtype(d).kind in row.takes]
    return OpInfo(
        by_id[f"torch.{name}"].symbol,
        sample_input_generator=samples,
        torch_reference=function,
        dtypes=tuple(kinds),
        domain=row.domain,
    )
