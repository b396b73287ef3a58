"""``thunder.torch``, which programs import as ``ltorch``: the torch language, :mod:`tnp.lang.torch`."""

from tnp.core.proxies import TensorProxy
from tnp.lang import torch
from tnp.lang.torch.dtypes import to_dtype, to_torch_device, to_torch_dtype
from tnp.lang.torch.registry import torchctx, torchsymbol

TensorLike = TensorProxy


def __getattr__(name: str) -> object:
    return getattr(torch, name)


__all__ = ["TensorLike", "to_dtype", "to_torch_device", "to_torch_dtype", "torchctx", "torchsymbol"]
