"""Inspection: what a function compiles to, where its time goes, and drawings of its traces.

``examine`` shows what of a function tnp can compile, ``explain`` what a jitted function was compiled to, and
``profile`` the times of its operations. ``draw`` draws a trace; :func:`tnp.last_traces` has one per pass.
"""

from tnp.inspect.draw import draw
from tnp.inspect.examine import Examination, examine
from tnp.inspect.explain import Explanation, explain
from tnp.inspect.profile import Profile, profile

__all__ = ["Examination", "Explanation", "Profile", "draw", "examine", "explain", "profile"]
