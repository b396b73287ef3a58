"""``thunder.examine``: :mod:`tnp.inspect`."""

from tnp.inspect.draw import draw
from tnp.inspect.examine import examine

make_trace_dot = draw

__all__ = ["examine", "make_trace_dot"]
