"""Functions that are no operations and whose calls tnp makes itself: those that call a function of the user's, or remember what it gave,
those that say how errors are reported, and those that ask what kind of value they are given."""

from __future__ import annotations

from typing import Any

import numpy as np

from tnp.capture.libraries.numpy.dtype_queries import answer_by_kind
from tnp.capture.libraries.numpy.errstate import set_errors
from tnp.capture.libraries.numpy.initial_values import solution
from tnp.capture.libraries.numpy.quadrature import integral
from tnp.capture.libraries.numpy.root_finders import root_of
from tnp.capture.libraries.numpy.window_functions import filtered
from tnp.capture.tracing.remembering import CACHES

__all__ = ["called_here"]


def called_here(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of a call of a Python function, ``NotImplemented`` if it is none of these."""
    if f is np.seterr:
        return set_errors(*args, **kwargs)
    if f in CACHES:
        return CACHES[f](*args, **kwargs)
    for made in (answer_by_kind, root_of, integral, solution, filtered):
        found = made(f, args, kwargs)
        if found is not NotImplemented:
            return found
    return NotImplemented
