"""``thunder.executors.torchex``: the executor that runs torch's functions as they are."""

from tnp.executors.torch.functions import own

ex = own

__all__ = ["ex"]
