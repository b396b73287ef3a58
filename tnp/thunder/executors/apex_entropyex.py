"""``thunder.executors.apex_entropyex``, as :mod:`~tnp.thunder.executors.apexex` was called before."""

from tnp.thunder.executors.apexex import apex_ex, register_apex_entropyex

__all__ = ["apex_ex", "register_apex_entropyex"]
