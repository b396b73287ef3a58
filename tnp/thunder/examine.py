"""``thunder.examine``: :mod:`tnp.looking`."""

from tnp.looking.drawing import draw
from tnp.looking.examination import examine

make_trace_dot = draw

__all__ = ["examine", "make_trace_dot"]
