"""Looking inside: what a function can be compiled to, where its time goes, its traces as pictures.

``examine`` says what of a function tnp compiles, ``profile`` how long its operations take, ``draw`` draws a trace. What a jitted function was
compiled to, :func:`tnp.explain` and :func:`tnp.last_traces` tell.
"""

from tnp.looking.drawing import draw
from tnp.looking.examination import Examination, examine
from tnp.looking.profiling import Profile, profile

__all__ = ["Examination", "Profile", "draw", "examine", "profile"]
