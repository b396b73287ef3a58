"""``thunder.core.utils``: checks of arguments, for metas."""

from functools import partial

from tnp.core.prims import base
from tnp.core.prims.base import canonicalize_dim, canonicalize_dims, check_same_device, check_same_dtype

check = partial(base.check, exception_type=RuntimeError)

#: Thunder's name → that in :mod:`tnp.lang.torch.dtypes`, which needs torch
_OF_TORCH = {
    "ELEMENTWISE_TYPE_PROMOTION_KIND": "TypePromotion",
    "elementwise_type_promotion": "elementwise_type_promotion",
}


def __getattr__(name: str) -> object:
    if name not in _OF_TORCH:
        raise AttributeError(f"module 'thunder.core.utils' has no attribute {name!r}")
    from tnp.lang.torch import dtypes

    return getattr(dtypes, _OF_TORCH[name])


__all__ = ["canonicalize_dim", "canonicalize_dims", "check", "check_same_device", "check_same_dtype"]
