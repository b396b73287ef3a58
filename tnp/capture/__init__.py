"""Capture: from a user's function to a trace.

:mod:`rewrite` inserts hooks into user functions, at calls, global names and subscript stores. :mod:`tracing` runs the
rewritten function on traced values, which stand for its arguments. :mod:`guards` records the source of each input and
the guards of the trace. :mod:`driver` combines these.
"""
