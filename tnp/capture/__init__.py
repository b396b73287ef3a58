"""From a user's function to an acquired trace.

:mod:`rewriter` gives user functions hooks at calls, global names and subscript stores; :mod:`tracer` runs the rewritten
function on :mod:`handles`, which stand for its arguments; :mod:`sources` says where each argument came from and what
must hold for the trace to be used again; :mod:`acquire` puts it together.
"""
