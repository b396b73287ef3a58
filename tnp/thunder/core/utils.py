"""``thunder.core.utils``: what metas check their arguments with."""

from functools import partial

from tnp.core.prims.base import canonicalize_dim, canonicalize_dims, check, check_same_device, check_same_dtype

check = partial(check, exception_type=RuntimeError)

__all__ = ["canonicalize_dim", "canonicalize_dims", "check", "check_same_device", "check_same_dtype"]
