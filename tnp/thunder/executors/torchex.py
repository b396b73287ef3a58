"""``thunder.executors.torchex``: the executor that runs torch's functions whole."""

from tnp.executors.torch.functions import own

ex = own

__all__ = ["ex"]
