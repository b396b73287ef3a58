"""``thunder.core.dtypes``: :mod:`tnp.core.dtypes`."""

from tnp.core import dtypes
from tnp.core.dtypes import *

__all__ = dtypes.__all__
