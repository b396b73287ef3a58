"""Sample generators for many operations: 0-d, empty, broadcast and non-contiguous operands, special values.

They generate arrays or tensors, with :meth:`~tnp.testing.OpInfo.make`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tnp.core.dtypes import DType
from tnp.testing.arrays import special_values, variants
from tnp.testing.opinfo import OpInfo, SampleInput

__all__ = ["elementwise_binary_generator", "elementwise_generator", "elementwise_unary_generator", "shapes_generator"]

Generator = Callable[..., Iterator[SampleInput]]

#: a number of each kind of dtype, as programs have them beside arrays
_NUMBERS: dict[str, Any] = {"i": 2, "u": 2, "f": 1.5, "c": 1 + 2j}


def _special(info: OpInfo, dtype: DType) -> Any:
    """Special values as the samples of ``info`` are; ``None`` where there is a domain, or no such array."""
    if info.domain is not None or dtype.name == "bfloat16":
        return None
    values = special_values(dtype)
    if info.torch_reference is None:
        return values
    import torch

    return torch.from_numpy(values)


def elementwise_unary_generator(
    op: OpInfo, device: Any, dtype: DType, requires_grad: bool = False, **kwargs: Any
) -> Iterator[SampleInput]:
    """0-d, empty, contiguous and strided arrays in the domain, a NumPy scalar; special values where there is no domain.

    With ``requires_grad`` without the special values, which have no derivative. ``op`` is the OpInfo, whose samples are of ``dtype`` and on
    ``device``.

    >>> import numpy as np
    >>> from tnp.testing import OpInfo, elementwise_unary_generator
    >>> info = OpInfo(np.arcsin, sample_input_generator=elementwise_unary_generator, domain=(-1, 1))
    >>> len(list(info.samples("float32")))
    12
    """
    options = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
    for shape in ((), (0,), (5,), (2, 0, 3), (4, 3)):
        for a in variants(op.make(shape, **options)):
            yield SampleInput(a)
    if op.torch_reference is None:
        yield SampleInput(op.make((), **options)[()])
    values = None if requires_grad else _special(op, dtype)
    if values is not None:
        yield SampleInput(values)


def elementwise_binary_generator(
    op: OpInfo,
    device: Any,
    dtype: DType,
    requires_grad: bool = False,
    *,
    make_second: Any = None,
    special: bool = True,
    **kwargs: Any,
) -> Iterator[SampleInput]:
    """Equal and broadcasting shapes, 0-d and empty ones, numbers on either side, strided operands; every pair of special
    values where there is no domain (and no ``requires_grad``), if ``special``.

    ``make_second(shape, **options)`` makes the second operands, where they have a domain of their own. ``op`` is the OpInfo, whose samples
    are of ``dtype`` and on ``device``.

    >>> import numpy as np
    >>> from tnp.testing import OpInfo, elementwise_binary_generator
    >>> info = OpInfo(np.hypot, sample_input_generator=elementwise_binary_generator)
    >>> [np.shape(x) for x in list(info.samples("float32"))[4].args]
    [(4, 1), (3,)]
    """
    options = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
    make_second = make_second or op.make
    shapes: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
        ((), ()), ((0,), (0,)), ((3, 0), (1, 1)), ((5,), (5,)), ((4, 1), (3,)), ((2, 3, 4), (3, 1)), ((3,), ()),
    )  # fmt: skip
    for left, right in shapes:
        yield SampleInput(op.make(left, **options), make_second(right, seed=1, **options))
    for a in variants(op.make((3, 4), **options)):
        yield SampleInput(a, make_second((4,), seed=1, **options))
    if op.torch_reference is None:
        yield SampleInput(op.make((3,), **options), make_second((), seed=1, **options)[()])
    if dtype.kind != "b":
        number = _NUMBERS[dtype.kind]
        yield SampleInput(op.make((3,), **options), number)
        if op.torch_reference is None:
            yield SampleInput(number, make_second((3,), seed=1, **options))
        yield SampleInput(op.make((3,), **options), 2)
    values = _special(op, dtype) if special and not requires_grad else None
    if values is not None:
        yield SampleInput(values[:, None], values)


def elementwise_generator(nargs: int) -> Generator:
    """A generator for elementwise operations of ``nargs`` arguments, which broadcast; of one and of two,
    :func:`elementwise_unary_generator` and :func:`elementwise_binary_generator`.

    >>> import numpy as np
    >>> from tnp.testing import OpInfo, check_op, elementwise_generator
    >>> info = OpInfo(lambda a, b, c: a * b + c, "madd", sample_input_generator=elementwise_generator(3))
    >>> check_op(info, "numpy[prims]", "float32")
    9
    """
    if nargs <= 2:
        return (elementwise_unary_generator, elementwise_binary_generator)[nargs - 1]

    def samples(
        op: OpInfo, device: Any, dtype: DType, requires_grad: bool = False, **kwargs: Any
    ) -> Iterator[SampleInput]:
        options = {"dtype": dtype, "device": device, "requires_grad": requires_grad}

        def operands(*shapes: tuple[int, ...]) -> list[Any]:
            return [op.make(shapes[i % len(shapes)], seed=i, **options) for i in range(nargs)]

        for shapes in (((),), ((0,),), ((5,),), ((4, 1), (3,)), ((3,), ())):
            yield SampleInput(*operands(*shapes))
        first, *others = operands((4, 3), (3,))
        for a in variants(first):
            yield SampleInput(a, *others)

    return samples


def shapes_generator(*shapes: tuple[int, ...], arguments: tuple[tuple[Any, ...], ...] = ((),)) -> Generator:
    """A generator of one array of each of ``shapes``, in each memory layout, with each of the tuples of further ``arguments``.

    >>> import numpy as np
    >>> from tnp.testing import OpInfo, check_op, shapes_generator
    >>> info = OpInfo(np.flip, sample_input_generator=shapes_generator((2, 3), (0, 2), arguments=((), (1,))))
    >>> check_op(info, "numpy", "int32")
    12
    """

    def samples(
        op: OpInfo, device: Any, dtype: DType, requires_grad: bool = False, **kwargs: Any
    ) -> Iterator[SampleInput]:
        for shape in shapes:
            for a in variants(op.make(shape, dtype=dtype, device=device, requires_grad=requires_grad)):
                for rest in arguments:
                    yield SampleInput(a, *rest)

    return samples
