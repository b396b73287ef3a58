"""What a program prints, logs and warns of, and what it asks of the clock: at each call, in its place, with the values of then."""

import logging
import sys
import time
import warnings

import numpy as np
import pytest

import tnp
from tests.flow_checks import EXECUTORS, not_whole, source
from tnp.testing import assert_same

pytestmark = pytest.mark.filterwarnings("error::tnp.EagerFallbackWarning")

logger = logging.getLogger("tests.effects")


def printed(f, args, capsys):
    capsys.readouterr()
    try:
        f(*args)
    except Exception as error:
        print(f"raised {error!r}")
    return capsys.readouterr()


def same_text(f, *calls, capsys):
    for names in EXECUTORS:
        jitted = tnp.jit(f, executors=names)
        for make in (*calls, *calls):
            args, expected = make(), make()
            assert printed(jitted, args, capsys) == printed(f, expected, capsys)
            assert_same(args, expected)
        assert tnp.cache_info(jitted).misses == 1, "it prints as it runs"
    return jitted


def test_a_program_prints_what_eager_prints(capsys):
    def f(x, n, name):
        print("begin", x, n, name, x.dtype, x.shape, sep="; ")
        x[0] = n
        print(x, x[0], x.sum(), x[:1], [x[1], {"a": n + 1}], (), end="!\n")
        print(n / 2, n > 2, None, x[1] > 0, x.sum() * 1j)
        print()
        print("error", n, file=sys.stderr, flush=True)

    calls = [lambda n=n: (np.arange(3.0), n, "x") for n in (1, 4)]
    assert tnp.cache_info(same_text(f, *calls, capsys=capsys)).size == 1, "another number runs the same program"


def test_formatted_texts(capsys):
    def f(x, n):
        width = 8
        print(f"{x[0]:.2f} and {x!r}, {n=}, {n:03d} {x.mean():{width}.1e} {n!s:>4} {{}} {'a' + 'b'}")
        print(f"first {x[0]}", f"{x.sum()}", sep=f"{n}")

    same_text(f, *(lambda n=n: (np.arange(3.0), n) for n in (1, 4)), capsys=capsys)


def test_a_formatted_text_holds_the_values_of_when_it_is_made(capsys):
    def change(x):
        x[0] = 100
        return x[0]

    def f(x):
        print(f"before {x[0]} {x}", change(x), f"after {x[0]}")

    same_text(f, lambda: (np.arange(3.0),), capsys=capsys)


def test_prints_in_loops_and_branches(capsys):
    def f(x, n):
        for i in range(n):
            x[i] += 1
            print(i, x[i], end=" ")
            if x[i] > 3:
                print("large", x[i])
            else:
                print(f"small {x[i]}")
        while x[0] < 4:
            x[0] += 1
            print("up", x[0])
        return x

    jitted = same_text(f, *(lambda n=n: (np.arange(12.0), n) for n in (9, 12)), capsys=capsys)
    assert source(jitted).count("for ") == 1


def test_what_was_printed_before_an_error_was_printed(capsys):
    def f(x):
        for i in range(12):
            print(i, x)
            x[i] = -1

    same_text(f, lambda: (np.arange(9.0),), capsys=capsys)


def test_values_of_either_kind_are_printed_as_they_are(capsys):
    def f(x):
        s = 0
        for i in range(12):
            if x[i] > 0.5:
                s = s + x[i]
        print([s], s, f"{s!r} {s:5.1f}")

    same_text(f, *(lambda k=k: (np.linspace(0, k, 12),) for k in (0, 1)), capsys=capsys)


def test_logging_names_the_users_line(caplog):
    def f(x, n):
        logger.info("the sum of %d is %s", n, x.sum())
        if x[0] > 1:
            logger.warning("large: %.1f", x[0])
        logger.log(logging.ERROR, f"{x[0]}")
        logger.debug("not shown")

    with caplog.at_level(logging.INFO):
        for make in (lambda: np.zeros(3), lambda: np.full(3, 2.5)):
            said = []
            jitted = tnp.jit(f)
            for g in (f, jitted, jitted):
                caplog.clear()
                g(make(), 3)
                said.append([(r.getMessage(), r.levelno, r.lineno, r.funcName, r.pathname) for r in caplog.records])
            assert said[0] == said[1] == said[2]


def test_warnings_name_the_users_line_and_may_be_errors():
    def f(x):
        x[0] = 1
        if x[1] > 0:
            warnings.warn(f"positive {x[1]}", RuntimeWarning)  # noqa: B028 (of the user's line)
        x[0] = 2

    jitted = tnp.jit(f)
    for value in (1.0, -1.0, 2.0):
        said = []
        for g in (f, jitted):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                g(np.full(2, value))
            said.append([(str(w.message), w.category, w.filename, w.lineno) for w in caught])
        assert said[0] == said[1]
    for g in (f, jitted):
        x = np.ones(2)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(RuntimeWarning, match=r"positive 1\.0"):
                g(x)
        assert x[0] == 1, "what stands behind it has not happened"


def test_the_clock_is_asked_in_its_place():
    def f(x):
        begin = time.perf_counter()
        y = np.sin(x) + np.cos(x)
        middle = time.perf_counter()
        time.sleep(0.02)
        end = time.perf_counter()
        z = y * 2 + np.exp(y)
        return z, middle - begin, end - middle, time.time_ns()

    jitted = tnp.jit(f)
    for _ in range(2):
        before = time.time_ns()
        z, first, second, now = jitted(np.ones(1000))
        assert_same(z, f(np.ones(1000))[0], rtol=1e-12)
        assert first > 0
        assert second >= 0.02
        assert before <= now <= time.time_ns()
    lines = [line.partition(" = ")[2].partition("(")[0].strip("0123456789") for line in source(jitted).splitlines()]
    order = [x for x in lines if x in ("perf_counter", "llvm_fusion", "time_ns")]
    assert order == ["perf_counter", "llvm_fusion", "perf_counter", "perf_counter", "llvm_fusion", "time_ns"]


def test_texts_made_by_percent_and_format(capsys):
    def steps(x, n):
        for i in range(20):
            x *= 0.5
            if i % 5 == n % 5:
                print("step %d of %s: %g, %s" % (i, n, x.sum(), x[:2]))  # noqa: UP031
                x[0] = 3
        print("{} and {:.3f}, {v!r}".format(i, x[1], v=n), "%(a)s %(b)5.1f" % {"a": n, "b": x.max()})  # noqa: UP031, UP032
        print("%d%%" % n, logging.WARNING, range(3), np.float64, np.add)  # noqa: UP031

    def wrong(x, n):
        x += 1
        print("%d %d" % (x[0],))  # noqa: F507, UP031

    def caught(x, n):
        try:
            print("%d" % x[0])  # noqa: UP031
            print("%d" % "text")  # noqa: UP031
        except TypeError as error:
            print(error)

    for f in (steps, wrong):
        same_text(f, lambda: (np.arange(4.0), 7), capsys=capsys)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tnp.EagerFallbackWarning)
        for names in EXECUTORS:
            expected = printed(caught, (np.ones(2), 1), capsys)
            assert printed(tnp.jit(caught, executors=names), (np.ones(2), 1), capsys) == expected


def test_what_is_printed_otherwise_runs_eagerly(capsys, tmp_path):
    class Thing:
        pass

    thing = Thing()

    def things(x):
        print(thing)
        return x + 1

    def to_file(x):
        with open(tmp_path / "a.txt", "w") as file:
            print(x, file=file)
        return x + 1

    not_whole(things, lambda: (np.ones(2),), "prints or logs a Thing")
    not_whole(to_file, lambda: (np.ones(2),), "")


def test_a_formatted_argument_of_another_function_is_a_text():
    def f(x, n):
        return {f"n{n}": x}, str(f"{n}"), len(f"{n:04d}")

    for n in (1, 22):
        ours, theirs = tnp.jit(f)(np.ones(2), n), f(np.ones(2), n)
        assert ours[0].keys() == theirs[0].keys()
        assert ours[1:] == theirs[1:]


def test_the_level_of_a_logger_is_guarded():
    def f(x):
        y = np.sin(x) * 2
        return (y, logger.name) if logger.level <= logging.INFO and not logger.disabled else y + 1

    x, level = np.arange(4.0), logger.level
    jitted = tnp.jit(f, strict=True)
    try:
        for wanted in (logging.DEBUG, logging.ERROR, logging.DEBUG, logging.ERROR):
            logger.setLevel(wanted)
            assert_same(jitted(x), f(x))
    finally:
        logger.setLevel(level)
    assert tnp.cache_info(jitted).misses == 2
