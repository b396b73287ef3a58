"""Dict arguments whose keys differ from call to call: a program depends on those alone that it reads."""

import json
from collections.abc import Mapping

import numpy as np
import pytest

import tnp
from tnp.testing import assert_same

pytestmark = pytest.mark.filterwarnings("ignore:.* runs (eagerly|in parts):tnp.EagerFallbackWarning")


def misses(f, calls):
    """How many programs some calls make; results, exceptions and arguments are compared with eager's."""
    jitted = tnp.jit(f)
    for make in calls:
        ours, theirs = make(), make()
        try:
            expected = f(*theirs)
        except Exception as e:
            with pytest.raises(type(e)) as found:
                jitted(*ours)
            assert found.value.args == e.args
        else:
            assert_same(jitted(*ours), expected)
        assert_same(ours, theirs)
    return tnp.cache_info(jitted).misses


def with_others(k, **fixed):
    return lambda: ({**fixed, "x": np.arange(3.0) + k, **{f"k{j}": np.ones(2) for j in range(k % 3, k)}},)


def items(d):
    return d["x"] * 2 + d.get("y", 0)


def asked(d):
    return (d["x"] + 1 if "scale" in d else d["x"]), type(d) is dict, isinstance(d, (dict, Mapping)), bool(d), d is None


def nested(d):
    inner = {"options": d}
    return inner["options"]["x"].sum(), d.get("none") is None


def passed_on(d):
    return {"given": d, "sum": d["x"].sum()}


@pytest.mark.parametrize("f", [items, asked, nested, passed_on])
def test_what_is_not_read_is_no_guard(f):
    assert misses(f, [with_others(k) for k in range(20)]) <= 4


def test_what_is_read_is_guarded():
    calls = [with_others(k, **({"y": float(k)} if k % 2 else {})) for k in range(20)]
    assert misses(items, calls) <= 5
    calls = [lambda k=k: ({f"k{k}": k, "x" if k % 4 else "z": np.arange(3.0)},) for k in range(20)]
    assert misses(items, calls) <= 22


def iterated(d):
    return {k: v.sum() for k, v in d.items()}, len(d), sorted(d)


def matched(d):
    match d:
        case {"scale": scale, **rest}:
            return d["x"] * scale, sorted(rest)
        case {"x": x}:
            return x
    return None


def unpacked(d):
    def f(x, **others):
        return x * 2, len(others)

    return f(**d), {**d, "more": d["x"]}, dict(d)


def written(d):
    d["sum"] = d["x"].sum()
    d["x"] += 1
    return d.pop("k0", None)


def compared(d):
    return d["x"] * 1.0, d == {"x": 1}, json.dumps(sorted(d)), list(reversed(d))


def merged(d):
    return (d | {"y": 1})["y"], ({"y": 2} | d)["y"], d.copy()["x"], f"{sorted(d)}"


@pytest.mark.parametrize("f", [iterated, matched, unpacked, written, compared, merged])
def test_other_uses(f):
    misses(f, [with_others(k, **({"scale": 2.0} if k % 3 == 0 else {})) for k in range(8)])


def test_keys_of_other_kinds():
    def f(d):
        return d[1] * d[2.5], d.get(float("inf"), 3), d.get(None)

    assert misses(f, [lambda k=k: ({1: np.arange(3.0), 2.5: 2.0, f"k{k}": 0, k + 10: 1},) for k in range(12)]) <= 3


def test_derivatives_and_batches():
    def loss(d):
        return (d["x"] ** 2).sum() + d.get("y", 0.0)

    def batched(d):
        return tnp.vmap(lambda x: x.sum() + len(d))(d["m"])

    makers = [lambda k=k: ({"x": np.arange(3.0), "m": np.ones((2, 3)), f"k{k}": np.ones(k + 1)},) for k in range(6)]
    gradient = tnp.grad(lambda d: (d["x"] ** 2).sum())
    inside = tnp.jit(lambda d: tnp.grad(lambda d: (d["x"] ** 2).sum())(d))
    for make in makers:
        (d,) = make()
        assert_same(gradient(d)["x"], 2 * d["x"])
        assert list(gradient(d)) == list(d) == list(inside(d))
    misses(batched, makers)


def test_a_dict_whose_object_has_two_names():
    def f(a, b):
        b["x"][0] = 5.0
        return a["x"] * 2, a is b

    def calls(k):
        d = {"x": np.arange(3.0), f"k{k}": 1}
        return (d, d) if k % 2 else (d, {"x": np.arange(3.0), f"k{k}": 1})

    misses(f, [lambda k=k: calls(k) for k in range(8)])
