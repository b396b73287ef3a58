"""torch for the frontend: tensors as inputs and handles, torch's functions captured from wherever they are called.

While a program is traced a torch function mode is on, so that factories, Tensor's methods and the functions that modules
call come to :meth:`TorchLibrary.call`; calls in the user's own code come through the rewriter's hooks, with numbers of the
program among their arguments.
"""

from tnp.frontend.torch.library import TorchLibrary
from tnp.lang.torch import language

__all__ = ["TorchLibrary"]

TorchLibrary(language)
