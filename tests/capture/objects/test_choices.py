"""Which object a result is where a branch chose it, and what becomes of lists and dicts that a branch changes on trial."""

import copy
import itertools
import warnings

import numpy as np
import pytest

import tnp


def of_argument(a, c):
    a += 0.0
    t = a.T
    v = a if c[0] else t
    return t, v


def bound_to_two_names(a, c):
    if c[0]:
        v = a[...]
        w = x = v
        return w, x
    return a, a


def view_or_array(a, c):
    b = a * 2
    v = b if c[0] else b[:]
    return v, b


def of_three(a, c):
    b = a * 2
    w = b[:]
    v = b if c[0] else w
    return v, b, w


def chosen_twice(a, c):
    w = a[:]
    v = w if c[0] else a
    x = w if c[1] else v
    return v, w, x


def view_of_the_chosen(a, c):
    v = a if c[0] else a * 2
    return v[...], v


def only_a_view_of_the_chosen(a, c):
    v = a if c[0] else a * 2
    return (v[...],)


def asked(a, c):
    b = a * 2
    v = b if c[0] else b + 1
    return 1 if v is b else 2


def view_of_all_of_an_array(a, c):
    w = (a[0] * 2).T
    return w, w if c[0] else a[0]


def of_empty_views(a, c):
    if a.sum() <= 4:
        for _, row in enumerate(a[:0].reshape(1, -1)):
            part = row[:1]
        return row, part
    return a, a[:1]


@pytest.mark.parametrize(
    "f",
    [
        of_argument,
        bound_to_two_names,
        view_or_array,
        of_three,
        chosen_twice,
        asked,
        view_of_all_of_an_array,
        of_empty_views,
        view_of_the_chosen,
        only_a_view_of_the_chosen,
    ],
)
def test_branches_choose_objects(f):
    jitted = tnp.jit(f)
    for c in itertools.product((0, 1), repeat=2):
        found = []
        for g in (f, jitted):
            a = np.ones((2, 2))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", tnp.EagerFallbackWarning)
                result = g(a, np.array(c))
            values = (a, *(result if isinstance(result, tuple) else ()))
            found.append((result if isinstance(result, int) else None, [[x is y for x in values] for y in values]))
        assert found[0] == found[1], c


class Box:
    def __init__(self, value):
        self.value = value


STATE = {}


def taken_from_a_list(a):
    if a.any():
        STATE["box"].value.pop()
        a[0] = 1
    return a


def taken_from_a_dict(a):
    if a.any():
        STATE["dict"].popitem()
    else:
        STATE["dict"]["k"]


def taken_from_a_set(a):
    if a.any():
        STATE["set"].remove(1)
    else:
        STATE["set"].add(2)


@pytest.mark.parametrize("f", [taken_from_a_list, taken_from_a_dict, taken_from_a_set])
def test_containers_of_a_branch_are_changed_once(f):
    """Tracing restores containers that a speculated branch changed, including those first read in the branch."""

    def after(g):
        STATE.update(box=Box([1, 2]), dict={"k": 1, "x": 2}, set={1, 3})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tnp.EagerFallbackWarning)
            g(np.ones(2))
        return copy.deepcopy((STATE["box"].value, STATE["dict"], STATE["set"]))

    assert after(tnp.jit(f)) == after(f)
