"""The primitive operations: what executors must run and what transforms have rules for.

By family: :mod:`elementwise` (from the table), :mod:`shape`, :mod:`reduction`, :mod:`indexing`, :mod:`linalg`,
:mod:`fft`, :mod:`nn`, :mod:`random`, :mod:`program`, :mod:`control_flow`. A prim neither broadcasts nor promotes: its
arguments already agree. :data:`registry` has them all by name.
"""

import importlib
from typing import TYPE_CHECKING

from tnp.core.prims.base import PrimID, PrimIDs, make_prim, registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from tnp.core.symbol import Symbol

    #: Prims are made from tables, which a type checker cannot see. A variable, since a checker knows variables' types before those of
    #: functions where modules import each other.
    __getattr__: Callable[[str], Symbol]

FAMILIES = ("elementwise", "shape", "reduction", "indexing", "linalg", "fft", "nn", "random", "program", "control_flow")

for _family in FAMILIES:
    importlib.import_module(f"{__name__}.{_family}")

globals().update(registry)

__all__ = ["FAMILIES", "PrimID", "PrimIDs", "make_prim", "registry", *registry]
