"""Results of calls, or the exceptions that they raise."""

import tnp


def outcome(f, *args):
    """The result of a call, or the exception that it raises."""
    try:
        return f(*args)
    except Exception as error:
        return error


def with_each(f, x, parameters):
    """Calls ``f(x, p)`` eagerly and compiled, with each parameter as an argument and as a constant. Yields the parameter and both outcomes."""
    for p in parameters:
        for g, args in ((f, (x, p)), (lambda x, p=p: f(x, p), (x,))):
            yield p, outcome(g, *args), outcome(tnp.jit(g), *args)
