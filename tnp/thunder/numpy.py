"""``thunder.numpy``: the NumPy language, :mod:`tnp.lang.numpy`."""

from tnp.extend import npsymbol
from tnp.lang import numpy


def __getattr__(name: str) -> object:
    return getattr(numpy, name)


__all__ = ["npsymbol"]
