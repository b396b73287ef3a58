"""``thunder.executors.apexex``: :mod:`tnp.executors.apex`."""

from tnp.executors.apex import executor, register_apex_entropyex

apex_ex = executor

__all__ = ["apex_ex", "register_apex_entropyex"]
