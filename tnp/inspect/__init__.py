"""Looking inside: what a function can be compiled to, where its time goes, its traces as pictures.

``examine`` says what of a function tnp compiles, ``explain`` what a jitted function was compiled to, ``profile`` how
long its operations take, ``draw`` draws a trace, of which :func:`tnp.last_traces` has one for each pass.
"""

from tnp.inspect.draw import draw
from tnp.inspect.examine import Examination, examine
from tnp.inspect.explain import Explanation, explain
from tnp.inspect.profile import Profile, profile

__all__ = ["Examination", "Explanation", "Profile", "draw", "examine", "explain", "profile"]
