"""``thunder.extend``: :mod:`tnp.extend`."""

from tnp import extend
from tnp.extend import *

__all__ = extend.__all__
