"""OpInfos of operations, right and wrong, that test_testing.py tests the testing with; not tests."""

import numpy as np

import tnp
from tnp.core import clang
from tnp.executors.base import OperatorExecutor
from tnp.testing import OpInfo, SampleInput, elementwise_generator, elementwise_unary_generator, shapes_generator

executor = OperatorExecutor("operations", version="1")
mul_add = executor.register_operator(
    "mul_add", like=lambda a, b, c: clang.add(clang.mul(a, b), c), fn=lambda a, b, c: a * b + c
)


def errors(op, device):
    yield SampleInput(op.make((3,), dtype="float32"), np.ones(4, np.float32), 1.0), ValueError, "broadcast"


RIGHT = OpInfo(
    lambda a, b, c: a * b + c,
    "mul_add",
    sample_input_generator=elementwise_generator(3),
    error_input_generator=errors,
    numpy_reference=lambda a, b, c: a * b + c,
    dtypes=(np.float32, "int64"),
    executors=("numpy", "llvm"),
    supports_grad=True,
)

OWN = OpInfo(
    mul_add,
    sample_input_generator=shapes_generator((2, 3), arguments=((1.5, 2.0),)),
    numpy_reference=lambda a, b, c: a * b + c,
    dtypes=("float64",),
    executors=(executor, "numpy[prims]"),
)


def keeps(x):
    x *= 2
    return x


WRONG = [
    OpInfo(np.sin, "value", numpy_reference=np.cos),
    OpInfo(lambda x: np.sin(x).astype(np.float64), "dtype", numpy_reference=np.sin),
    OpInfo(lambda x: np.sin(x)[None], "shape", numpy_reference=np.sin),
    OpInfo(keeps, "argument", numpy_reference=lambda x: x * 2),
]
for _info in WRONG:
    _info.sample_input_generator = elementwise_unary_generator
    _info.dtypes = RIGHT.dtypes[:1]


half = executor.register_operator("half", like=lambda a: clang.mul(a, 0.5), fn=lambda a: a * 0.5)


def _rule(a):
    out = half(a)
    tnp.put_grad(a, tnp.get_grad(out))
    return out


tnp.register_grad(half, _rule)
WRONG_SLOPE = OpInfo(half, sample_input_generator=shapes_generator((3,)), executors=(executor,), supports_grad=True)
