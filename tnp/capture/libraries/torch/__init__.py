"""torch for tracing: tensors as inputs and handles, torch's functions captured from wherever they are called.

While a program is traced a torch function mode is on, so that factories, Tensor's methods and the functions that modules
call come to :meth:`TorchLibrary.call`; calls in the user's own code come through the rewriter's hooks, with numbers of the
program among their arguments.
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
