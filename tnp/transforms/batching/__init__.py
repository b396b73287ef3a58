"""Batching: maps programs over a dimension, for ``vmap``.

:mod:`walk` runs a program again on batched values, with the batch dimension first. :data:`~walk.batch_rules` has the
rule of each operation, keyed by symbol as the gradient rules are. :mod:`rules` and :mod:`control_flow` fill it, and
extensions with :func:`register_vmap`.
"""

from tnp.transforms.batching import control_flow, rules
from tnp.transforms.batching.walk import Batched, Walk, batch_rule, batch_rules, register_vmap, run_batched

__all__ = ["Batched", "Walk", "batch_rule", "batch_rules", "control_flow", "register_vmap", "rules", "run_batched"]
