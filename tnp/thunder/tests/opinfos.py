"""``thunder.tests.opinfos``: OpInfos, and what makes them; those of elementwise functions are attributes
(``add_opinfo``).
"""

from tnp.testing import (
    DecorateInfo,
    OpInfo,
    SampleInput,
    elementwise_binary_generator,
    elementwise_unary_generator,
    make_tensor,
    opinfos,
)
from tnp.testing.torch_elementwise import names, opinfo

globals().update({f"{name.replace('.', '_')}_opinfo": opinfo(name) for name in names()})

__all__ = [
    "DecorateInfo",
    "OpInfo",
    "SampleInput",
    "elementwise_binary_generator",
    "elementwise_unary_generator",
    "make_tensor",
    "opinfos",
]
