"""Lists that loops append to in branches, or as often as values say: their items are the first rows of arrays, which the program
counts."""

import collections

import numpy as np
import pytest

import tnp
from tests.eager_checks import EXECUTORS, check_in_turn, functions_of
from tnp.testing import assert_same

X = np.random.default_rng(0).standard_normal(120).cumsum()


def peaks(x):
    out = []
    for i in range(1, len(x) - 1):
        if x[i] > x[i - 1] and x[i] > x[i + 1]:
            out.append(i)
    return np.array(out)


def zero_crossings(x):
    idx, val = [], []
    prev = x[0]
    for i, v in enumerate(x[1:]):
        if prev * v < 0:
            idx.append(i)
            val.append(v - prev)
        prev = v
    return np.array(idx), np.array(val)


def runs(x):
    starts, lengths = [], []
    n = 0
    for i in range(len(x)):
        if x[i] > 0:
            n += 1
        elif n > 0:
            starts.append(i - n)
            lengths.append(n)
            n = 0
    if n > 0:
        starts.append(len(x) - n)
        lengths.append(n)
    return starts, lengths


def pairs(x):
    found = []
    for i in range(20):
        for j in range(i + 1, 20):
            if abs(x[i] - x[j]) < 0.3:
                found.append((i, j))
    return np.array(found)


def newton(x):
    hist = []
    y = abs(x[0]) + 5
    while abs(y * y - 2) > 1e-10:
        hist.append(y)
        y = (y + 2 / y) / 2
    return np.array(hist), y


def brk(x):
    out = []
    for v in x:
        out.append(v * v)
        if v > 3:
            break
    return np.array(out)


def cont(x):
    out = []
    for v in x:
        if v < 0:
            continue
        out.append(np.sqrt(v))
    return np.mean(out)


def count_len(x):
    out = []
    for v in x:
        if v > 1:
            out.append(v)
    return len(out) / len(x)


def last(x):
    out = [x[0]]
    for v in x[1:]:
        if v > out[-1]:
            out.append(v)
    return np.array(out)


def empty_check(x):
    out = []
    for v in x:
        if v > 1e3:
            out.append(v)
    if len(out) == 0:
        return 0.0
    return np.mean(out)


def empty_check2(x):
    out = []
    for v in x:
        if v > 1:
            out.append(v)
    if not out:
        return 0.0
    return np.max(out)


def nested_rows(x):
    rows = []
    m = x[:120].reshape(12, 10)
    for r in m:
        if r.sum() > 0:
            rows.append(r / np.linalg.norm(r))
    return np.array(rows)


def iterate_after(x):
    idx = []
    for i in range(len(x)):
        if x[i] > 2:
            idx.append(i)
    s = 0.0
    for i in idx:
        s += x[i] ** 2
    return s


def helper(out, x):
    for v in x:
        if v > 0:
            out.append(v)


def by_helper(x):
    out = []
    helper(out, x)
    return np.array(out)


def dict_lists(x):
    d = {"pos": [], "neg": []}
    for v in x:
        if v > 0:
            d["pos"].append(v)
        else:
            d["neg"].append(v)
    return np.array(d["pos"]).sum(), np.array(d["neg"]).sum()


def two_ifs(x):
    out = []
    for v in x:
        if v > 5:
            out.append(1)
        elif v > 0:
            out.append(0)
        else:
            out.append(-1)
    return np.array(out)


def diffs(x):
    t = []
    for i in range(len(x)):
        if x[i] > 0 and (i == 0 or x[i - 1] <= 0):
            t.append(i)
    d = np.diff(t)
    return d.mean() if len(d) else 0.0


def sort_after(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
    out.sort()
    return out


def zip_after(x):
    a, b = [], []
    for i, v in enumerate(x):
        if v > 4:
            a.append(i)
            b.append(v)
    return sum(i * w for i, w in zip(a, b))


def while_pop(x):
    stack = [0]
    n = 0
    while stack:
        i = stack.pop()
        n += 1
        if i < 30:
            stack.append(i * 2 + 1)
            stack.append(i * 2 + 2)
    return n + x[0]


def uniq(x):
    seen = []
    for v in np.round(x):
        if v not in seen:
            seen.append(v)
    return np.array(seen)


def two_names(x):
    out = []
    same = out
    for v in x:
        if v > 0:
            same.append(v)
    return len(out), np.sum(out)


def in_tuple(x):
    t = ([], [])
    for v in x:
        if v > 0:
            t[0].append(v)
        else:
            t[1].append(v)
    return np.array(t[0]), len(t[1])


def merge(x):
    out = []
    for i, v in enumerate(x):
        if out and out[-1] > i - 3:
            continue
        if v > 0:
            out.append(i)
    return out


def while_len(x):
    out = []
    i = 0
    while len(out) < 5 and i < len(x):
        if x[i] > 0:
            out.append(x[i])
        i += 1
    return np.array(out), i


def over_self(x):
    q = [0]
    for i in q:
        if i < 20 and x[i] > -100:
            q.append(i + 1)
    return q


def early(x):
    out = []
    for v in x:
        if v > 3:
            return np.array(out)
        out.append(v)
    return np.array(out)


def fresh_each(x):
    tot = []
    for i in range(10):
        row = []
        for v in x[i * 10 : i * 10 + 10]:
            if v > 0:
                row.append(v)
        tot.append(len(row))
    return tot


def nested_len(x):
    tot = []
    for i in range(10):
        row = [v for v in x[i * 10 : i * 10 + 10] if v > 0]
        if len(row) > 3:
            tot.append(np.sum(row))
    return np.array(tot)


def eq(x):
    out = []
    for v in x:
        if v > 1e6:
            out.append(v)
    return out == []


def ext(x):
    out = []
    for v in x:
        if v > 0:
            out.extend([v, -v])
    return np.array(out)


def iadd(x):
    out = []
    for v in x:
        if v > 0:
            out += [v, -v]
    return np.array(out)


def start(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
    return sum(out, 10.0)


def dtype(x):
    out = []
    for i, v in enumerate(x):
        if v > 0:
            out.append(i)
    return np.array(out, dtype=np.float32), np.asarray(out, dtype=float)


def reshape(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
            out.append(-v)
    return np.array(out).reshape(-1, 2)


def take(x):
    idx = []
    for i in range(len(x)):
        if x[i] > 0:
            idx.append(i)
    return x[idx], np.take(x, idx)


def kinds(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
    return isinstance(out, list), type(out) is list, np.sum(out)


def d_list(x):
    d = collections.defaultdict(list)
    for i in range(len(x)):
        if x[i] > 0:
            d["a"].append(i)
    return len(d["a"])


class Holder:
    def __init__(self):
        self.out = []

    def add(self, v):
        self.out.append(v)


def holder(x):
    h = Holder()
    for v in x:
        if v > 0:
            h.add(v)
    return np.array(h.out)


def tryit(x):
    out = []
    for v in x:
        try:
            if v > 0:
                out.append(v)
        except ValueError:
            pass
    return np.array(out)


def rebinding(x):
    groups = []
    cur = []
    for v in x:
        if v > 0:
            cur.append(v)
        elif cur:
            groups.append(cur)
            cur = []
    return [np.mean(g) for g in groups]


def elsefor(x):
    out = []
    for v in x:
        if v > 1e5:
            break
        if v > 0:
            out.append(v)
    else:
        out.append(99.0)
    return np.array(out)


def add_after(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
    out.append(x[0])
    out.append(x[1])
    if x[2] > 0:
        out.append(x[2])
    return np.array(out)


def twoloops(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
    for v in x[:50]:
        if v < 0:
            out.append(v)
    return np.array(out)


def arr_ops(x):
    out = []
    for v in x:
        if v > 0:
            out.append(v)
    return np.diff(out), np.array(out) * 2 + out


def idx_item(x):
    out = []
    for i, v in enumerate(x):
        if v > 0:
            out.append(i)
    return x[out[0]], x[out[-1]], out[1]


def idx_oob(x):
    out = []
    for i, v in enumerate(x):
        if v > 1e6:
            out.append(i)
    return out[0]


def peeled(x):
    a = []
    for i, v in enumerate(x):
        if v > 1:
            a.append(i)
    return np.array(a), i


def peeled2(x):
    a = []
    s = 0
    for _i, v in enumerate(x):
        s += v
        if v > 1:
            a.append(s)
    return a, s


def while_known(x):
    out = []
    i = 0
    while i < 60:
        if x[i] > 0:
            out.append(x[i])
        i += 1
    return np.array(out)


def few(x):
    out = []
    for v in x[:6]:
        if v > 0:
            out.append(v)
    return np.array(out)


def few_list(x):
    out = []
    for k in (0, 5, 7):
        if x[k] > 0:
            out.append(x[k])
    return out


def opt(x):
    parts = [x[:3]]
    if x[0] > 0:
        parts.append(x[3:5])
    return np.concatenate(parts)


PROGRAMS = functions_of(globals(), "x")


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_lists(f, executor):
    """Also of few items, and of none."""
    check_in_turn(f, executor, (X, X, X * 1.1, -X, X[:61] + 3, np.abs(X) + 3000, -np.abs(X) - 9))


WHOLE = [
    peaks, zero_crossings, runs, pairs, cont, count_len, last, empty_check, empty_check2, nested_rows, iterate_after, by_helper, dict_lists, two_ifs, diffs, sort_after, zip_after, two_names, in_tuple, merge, while_len, ext, iadd, dtype, reshape, take, kinds, holder, tryit, elsefor, add_after, twoloops, arr_ops, idx_item, early, fresh_each, nested_len, peeled, peeled2, while_known,
]  # fmt: skip


@pytest.mark.parametrize("f", WHOLE, ids=lambda f: f.__name__)
def test_they_are_compiled_whole(f):
    jitted = tnp.jit(f, strict=True)
    assert_same(jitted(X), f(X), rtol=1e-12)
    assert "for the value" not in str(tnp.explain(jitted))


def test_gradients():
    def f(x):
        out = []
        for v in x:
            if v > 0:
                out.append(v * v)
        return np.sum(np.array(out)) + np.mean([v**2 for v in x if v > 0])

    many = np.sum(X > 0)
    assert_same(tnp.grad(f)(X), np.where(X > 0, 2 * X * (1 + 1 / many), 0.0), rtol=1e-12)
