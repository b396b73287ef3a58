"""What the tests of the edges share: a call jitted against the same call eager."""

import contextlib
import re
import warnings

import numpy as np

import tnp
from tnp.runtime import logs
from tnp.testing import assert_same

EXECUTORS = ("numpy", "numpy[prims]", "llvm")


@contextlib.contextmanager
def not_compiled_whole(match=""):
    """Expects that a call in it is found to run eagerly, or in parts, and that a reason matches. A call that runs in parts gives no
    warning."""
    found = []
    logs.listeners.append(found.append)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tnp.EagerFallbackWarning)
            yield
    finally:
        logs.listeners.remove(found.append)
    reasons = [e.reason for e in found if e.kind in ("eager", "parts")]
    assert any(re.search(match, reason) for reason in reasons), reasons


def functions_of(names, first):
    """The functions of a module, whose ``names`` these are, that have a first parameter of that name."""
    codes = ((f, getattr(f, "__code__", None)) for f in list(names.values()))
    return [f for f, code in codes if code is not None and code.co_varnames[:1] == (first,)]


def copied(args):
    return [a.copy() if isinstance(a, np.ndarray) else a for a in args]


def outcome(f, args):
    """What a call gives or raises, and what it leaves its arguments as."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = f(*args)
        except Exception as error:
            result = (type(error), str(error))
    return result, args


def check(f, *args, executors=EXECUTORS, error=None):
    """``f`` on each executor against eager, twice; ``error`` is what eager must raise, so that the case tests something."""
    expected, left = outcome(f, copied(args))
    if error is not None:
        assert isinstance(expected, tuple) and issubclass(expected[0], error), expected
    for executor in executors:
        jitted = tnp.jit(f, executors=[executor])
        for _ in range(2):
            got, mine = outcome(jitted, copied(args))
            assert_same(got, expected, what=f"{executor}: the result")
            assert_same(mine, left, exact=True, what=f"{executor}: the arguments")


def as_plain(x):
    """``x`` with each object replaced by its class and attributes, so that two of them compare as equal."""
    if isinstance(x, (list, tuple)):
        return [type(x), *map(as_plain, x), *([as_plain(vars(x))] if hasattr(x, "__dict__") else [])]
    if isinstance(x, dict):
        of_object = [as_plain(vars(x))] if hasattr(x, "__dict__") else []
        return [type(x), *((k, as_plain(v)) for k, v in x.items()), *of_object]
    if isinstance(x, type) or type(x).__module__.partition(".")[0] in ("builtins", "numpy", "torch"):
        return x
    names = [*getattr(x, "__dict__", ()), *(n for c in type(x).__mro__ for n in c.__dict__.get("__slots__", ()))]
    return [type(x), *((n, as_plain(getattr(x, n))) for n in names if hasattr(x, n) and not n.startswith("__"))]


def check_in_turn(f, executor, arrays):
    """Calls one jitted ``f`` with a copy of each of some arrays, and compares results and what is left of the arrays with eager."""
    jitted = tnp.jit(f, executors=[executor])
    for x in arrays:
        expected, left = outcome(f, (x.copy(),))
        found, mine = outcome(jitted, (x.copy(),))
        assert_same(found, expected, rtol=1e-12)
        assert_same(mine, left)


def whole(f, *args):
    """Compares three calls of the jitted ``f`` with eager, and checks that it is compiled whole. Returns it."""
    jitted = tnp.jit(f)
    for _ in range(3):
        mine, theirs = (
            [np.array(a) if isinstance(a, np.ndarray) else a for a in args] for _ in range(2)
        )  # of one layout
        assert_same(jitted(*mine), f(*theirs))
        assert_same(mine, theirs)
    assert compiled_whole(jitted), tnp.explain(jitted)
    return jitted


def compiled_whole(jitted):
    """Whether no call of a jitted function was found to run eagerly, or in parts."""
    return not re.search(": eager|eagerly|in parts", str(tnp.explain(jitted)))
