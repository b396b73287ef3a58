"""The primitive operations: what executors must run and what transforms have rules for.

By family: :mod:`elementwise` (from the table), :mod:`shape`, :mod:`reduction`, :mod:`indexing`, :mod:`linalg`,
:mod:`fft`, :mod:`nn`, :mod:`random`, :mod:`program`. A prim neither broadcasts nor promotes: its arguments already
agree. :data:`registry` has them all by name.
"""

from tnp.core.prims import (
    elementwise,
    fft as _fft,
    indexing,
    linalg as _linalg,
    nn as _nn,
    program,
    random as _random,
    reduction,
    shape,
)
from tnp.core.prims.base import PrimID, PrimIDs, make_prim, registry

globals().update(registry)

__all__ = ["PrimID", "PrimIDs", "make_prim", "registry", *registry]
