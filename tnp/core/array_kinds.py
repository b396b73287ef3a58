"""The library of a NumPy program's arrays at its boundary: NumPy or CuPy."""

from __future__ import annotations

from tnp.core.metadata import Metadata

__all__ = ["HOST_ARRAYS", "USER_KIND"]

#: ``"numpy"``, or ``"cupy"`` where such arrays are among the arguments
USER_KIND: Metadata[str] = Metadata(lambda: "numpy")
#: the names of the arguments that are ndarrays or NumPy's scalars, whatever that kind is
HOST_ARRAYS: Metadata[set[str]] = Metadata(set)
