"""Dates, paths, UUIDs and signatures: their functions are part of a program, which holds for equal ones."""

import calendar
import functools
import inspect
import pathlib
import uuid
from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import numpy as np
import pytest

import tnp
from tests.eager_checks import not_compiled_whole
from tnp.testing import assert_same

T = datetime(2020, 1, 2, 3, 4, 5, 6)
ZULU = T.replace(tzinfo=UTC)
X = np.arange(1.0, 4)


def replaced(x, t):
    day = t.replace(hour=0, minute=0, tzinfo=None)
    return x * (day - datetime(t.year, 1, 1)).days + (t.replace(tzinfo=None) - T).total_seconds()


def texts(x, t):
    return x * t.toordinal(), t.isoformat(), t.strftime("%Y-%m %j"), datetime.fromisoformat(t.isoformat()) == t


def parts(x, t):
    return x * calendar.isleap(t.year), t.date(), t.time(), t.timetuple().tm_yday, t + timedelta(days=2), t < t


def in_lists(x, t):
    return [x * (t + timedelta(seconds=i)).second for i in range(3)], np.array([(t - u).days for u in (t, t)]) * x[0]


def behind_a_value(x, t):
    if x.sum() > 3:
        later = t + timedelta(days=2)
        return x * later.day
    return x


@pytest.mark.parametrize("f", [replaced, texts, parts, in_lists, behind_a_value])
@pytest.mark.parametrize("times", [(T, T + timedelta(days=40)), (ZULU, ZULU + timedelta(hours=5))])
def test_times(f, times):
    jitted = tnp.jit(f, strict=True)
    for t in (*times, *times):
        for x in (X, X * 3):
            assert_same(jitted(x, t), f(x, t))


def hours(x, t):
    return x * t.hour, t.fold, str(t)


def test_equal_times_in_other_zones():
    jitted = tnp.jit(hours, strict=True)
    east = timezone(timedelta(hours=2))
    times = [ZULU, ZULU.astimezone(east), ZULU.astimezone(timezone(timedelta(0), "zero")), ZULU.replace(fold=1)]
    for t in (*times, *times):
        assert_same(jitted(X, t), hours(X, t))
    for zone in ("Europe/Berlin", "Africa/Lagos"):
        assert_same(jitted(X, ZULU.astimezone(ZoneInfo(zone))), hours(X, ZULU.astimezone(ZoneInfo(zone))))


@pytest.mark.parametrize("of", [lambda t: t.timestamp(), lambda t: t.astimezone(UTC).hour])
def test_the_zone_of_the_computer(of):
    def f(x, t):
        return x * of(t)

    assert_same(tnp.jit(f, strict=True)(X, ZULU), f(X, ZULU))
    with not_compiled_whole("something else at each call"):
        assert_same(tnp.jit(f)(X, T), f(X, T))


@pytest.mark.parametrize(
    "now", [datetime.now, date.today, lambda: T.strftime("%B"), pathlib.Path.cwd, lambda: pathlib.Path("a").exists()]
)
def test_what_differs_from_call_to_call(now):
    def f(x):
        now()
        return x + 1

    with not_compiled_whole("something else at each call"):
        assert_same(tnp.jit(f)(X), f(X))


def paths(x, p):
    return (
        x * len(p.suffix),
        p.parent / "c",
        str(pathlib.PurePath(p.name) / "b"),
        p.with_suffix(".x"),
        uuid.UUID(int=5).int * x,
    )


def test_paths():
    jitted = tnp.jit(paths, strict=True)
    for p in (pathlib.PurePosixPath("/a/b.txt"), pathlib.Path("q/r.c"), pathlib.PurePosixPath("/a/b.txt")):
        assert_same(jitted(X, p), paths(X, p))


def with_defaults(a, b=2.0, *, c=None):
    return a * b


def of_signature(x):
    signature = inspect.signature(with_defaults)
    bound = signature.bind(x, c=3)
    bound.apply_defaults()
    return len(signature.parameters) * bound.arguments["a"] * bound.arguments["b"]


def test_signatures(monkeypatch):
    jitted = tnp.jit(of_signature, strict=True)
    for b in (2.0, 3.0, 2.0):
        monkeypatch.setattr(with_defaults, "__defaults__", (b,))
        assert_same(jitted(X), of_signature(X))


class Asked:
    def method(self, a, b=1.0):
        return a * b


def of_arguments(x, o):
    spec = inspect.getfullargspec(o.method)
    return x * len(spec.args) * spec.defaults[0], inspect.getfullargspec(with_defaults).kwonlyargs


def test_arguments_of_functions():
    assert_same(tnp.jit(of_arguments, strict=True)(X, Asked()), of_arguments(X, Asked()))


@functools.lru_cache
def remembered(name):
    CALLED.append(name)
    return {"a": 1.5, "b": 2.5}[name]


CALLED = []


def asks_behind_a_value(x, name):
    if x.sum() > 10:
        return x * remembered(name)
    return x * 2


def test_a_function_with_a_cache_behind_a_value():
    jitted = tnp.jit(asks_behind_a_value, strict=True)
    assert_same(jitted(X, "none of them"), X * 2)
    for x, name in ((X * 3, "a"), (X, "b"), (X * 4, "b"), (X * 3, "a"), (X, "none of them")):
        assert_same(jitted(x, name), x * 2 if x.sum() <= 10 else x * {"a": 1.5, "b": 2.5}[name])
    assert set(CALLED) == {"a", "b"}
    remembered.cache_clear()
    with pytest.raises(KeyError):
        jitted(X * 3, "none of them")


#: coefficients of polynomials, one behind the other
COEFFICIENTS = tuple(range(1, 201))


def polynomial(at, degree, x):
    value = COEFFICIENTS[at]
    for i in range(1, degree + 1):
        value = value * x + COEFFICIENTS[at + i]
    return value


def test_a_tuple_that_is_read_many_times_is_guarded_once():
    def f(x):
        found = x * 0
        for at in range(0, 160, 2):
            if x[0] > 0.5:
                found = found + polynomial(at, at % 5, x)
        return found

    jitted = tnp.jit(f, strict=True)
    for x in (np.linspace(0.6, 0.9, 5), np.linspace(0.1, 0.2, 5)):
        assert_same(jitted(x), f(x), rtol=1e-14)
    text = str(tnp.explain(jitted))
    assert text.count("COEFFICIENTS is a tuple of 200") == 1
    assert tnp.cache_info(jitted).misses == 1
