"""``thunder.executors.apex_entropyex``, an older name of :mod:`~tnp.thunder.executors.apexex`."""

from tnp.thunder.executors.apexex import apex_ex, register_apex_entropyex

__all__ = ["apex_ex", "register_apex_entropyex"]
