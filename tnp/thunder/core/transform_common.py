"""``thunder.core.transform_common``: passes that other transforms use, from :mod:`tnp.transforms.dce`."""

from tnp.transforms.dce import common_subexpressions, dead_code

cse = common_subexpressions
dce = dead_code

__all__ = ["cse", "dce"]
