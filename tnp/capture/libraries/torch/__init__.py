"""PyTorch's adapter: tensors as inputs and traced values, and torch's functions captured wherever they are called.

A torch function mode is active while a program is traced, so factories, Tensor's methods and functions that modules
call reach :meth:`TorchLibrary.call`. Calls in the user's own code come through the rewriter's hooks, since their
arguments may include traced numbers.
"""

import torch

from tnp.capture.libraries.base import register, tell_dynamo
from tnp.capture.libraries.torch.library import TorchLibrary
from tnp.core.errors import hide_frames_of
from tnp.lang.torch import language

__all__ = ["TorchLibrary"]

tell_dynamo()
hide_frames_of(torch.__path__[0])
register(TorchLibrary(language))
