"""Results of calls, or the exceptions that they raise."""

import tnp
from tests.sampling import EVERYTHING, one_of


def outcome(f, *args):
    """The result of a call, or the exception that it raises."""
    try:
        return f(*args)
    except Exception as error:
        return error


def with_each(f, x, parameters, number):
    """Calls ``f(x, p)`` eagerly and compiled, with each parameter as an argument or as a constant. Yields the parameter and both outcomes.

    Of two functions with ``number``s that follow each other, one has a parameter as an argument or as a constant, and one has it not at all;
    in the next two it is the other.
    """
    for i, p in enumerate(parameters):
        if (i + number) % 2 and not EVERYTHING:
            continue
        for g, args in one_of([(f, (x, p)), (lambda x, p=p: f(x, p), (x,))], (i + number) // 2):
            yield p, outcome(g, *args), outcome(tnp.jit(g), *args)
