"""What the tests of control flow ask: the program that ran, and whether it is as eager."""

import pytest

import tnp
from tests.eager_checks import not_compiled_whole
from tnp.testing import assert_same

#: on which programs of loops run; the last one's program shows the loops
EXECUTORS = (None, ["torch"], ["numpy[prims]"], ["numpy"])


def source(jitted, which=-1):
    """The program without its comments."""
    lines = tnp.last_traces(jitted)[which].python().splitlines()
    return "\n".join(line.partition("  # ")[0].rstrip() for line in lines if not line.lstrip().startswith("#"))


def statements(jitted):
    return source(jitted).partition("def computation")[2].splitlines()[1:]


def same_as_eager(f, *calls, executors=(["numpy"],)):
    """Calls ``f`` compiled and as it is, and compares results, errors and arguments; gives the last one compiled."""
    for names in executors:
        jitted = tnp.jit(f, executors=names)
        for make in calls:
            expected_args, args = make(), make()
            try:
                expected = f(*expected_args)
            except Exception as error:
                with pytest.raises(type(error)) as caught:
                    jitted(*args)
                assert type(caught.value) is type(error)
                assert str(caught.value) == str(error)
            else:
                assert_same(jitted(*args), expected)
            assert_same(args, expected_args, what="arguments")
    return jitted


def not_whole(f, make, match):
    jitted = tnp.jit(f)
    expected_args, args = make(), make()
    with not_compiled_whole(match):
        assert_same(jitted(*args), f(*expected_args))
    assert_same(args, expected_args)
