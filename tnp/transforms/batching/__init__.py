"""Mapping programs over a dimension: from a program on values, the program on arrays of as many values as the dimension
is long.

:mod:`walk` runs a program again on batched values, their new dimension first; what an operation becomes is said by
:data:`~walk.batch_rules`, keyed by symbol as the gradient rules are, and filled by :mod:`rules` and
:mod:`control_flow`, and by extensions with :func:`register_vmap`.
"""

from tnp.transforms.batching import control_flow, rules
from tnp.transforms.batching.walk import Batched, batch_rule, batch_rules, register_vmap, run_batched

__all__ = ["Batched", "batch_rule", "batch_rules", "control_flow", "register_vmap", "rules", "run_batched"]
