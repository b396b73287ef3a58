"""Where long regions are cut: what crosses, and between which operations."""

import itertools
import random
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import tnp
from tnp.core import dtypes
from tnp.core.proxies import TensorProxy
from tnp.core.symbol import BoundSymbol, Symbol
from tnp.transforms.region_cuts import bytes_that_cross, cut_region


def region(edges, lengths):
    """Operations on float64 arrays: number ``i`` reads the values of ``edges[i]`` and makes one of ``lengths[i]`` elements."""
    values = [TensorProxy(f"v{i}", shape=(n,), dtype=dtypes.float64) for i, n in enumerate(lengths)]
    symbol = Symbol("op", lambda *a: a, id="op", is_prim=True)
    return [BoundSymbol(symbol, tuple(values[j] for j in read), {}, v) for read, v in zip(edges, values)]


def fuser(length, longest, cached, operands=None):
    return SimpleNamespace(region_limit=length, longest_region=longest, cached_bytes=cached, most_operands=operands)


def lengths_of(parts):
    return [len(part) for part in parts]


def chain(lengths):
    return region([[i - 1] if i else [] for i in range(len(lengths))], lengths)


def test_bytes_that_cross_are_those_of_values_that_are_read_behind():
    bsyms = region([[], [0], [0], [1, 2], [3]], [10, 20, 30, 40, 50])
    assert bytes_that_cross(bsyms) == [0, 80, 240, 400, 320]


def test_an_input_crosses_where_it_is_read_again():
    x = TensorProxy("x", shape=(7,), dtype=dtypes.float32)
    symbol = Symbol("op", lambda *a: a, id="op", is_prim=True)
    made = [TensorProxy(f"v{i}", shape=(1,), dtype=dtypes.float32) for i in range(3)]
    bsyms = [BoundSymbol(symbol, args, {}, v) for args, v in zip([(x,), (made[0],), (x, made[1])], made)]
    assert bytes_that_cross(bsyms) == [0, 28 + 4, 28 + 4]


def test_short_regions_are_whole():
    bsyms = chain([10**6] * 8)
    assert cut_region(bsyms, fuser(8, 8, 0)) == [bsyms]


def test_fusers_without_a_longest_region_get_regions_as_they_are():
    bsyms = chain([10**6] * 8)
    assert cut_region(bsyms, fuser(4, None, 0)) == [bsyms]


def test_a_cut_that_the_cache_holds_is_made():
    bsyms = chain([10] * 20)
    assert lengths_of(cut_region(bsyms, fuser(8, 1000, 80))) == [8, 8, 4]


def test_a_cut_that_the_cache_does_not_hold_is_not_made():
    bsyms = chain([10] * 20)
    assert lengths_of(cut_region(bsyms, fuser(8, 1000, 79))) == [20]


def test_the_cut_is_where_least_crosses():
    lengths = [10] * 20
    lengths[5] = 1
    assert lengths_of(cut_region(chain(lengths), fuser(8, 1000, 79))) == [6, 14]
    lengths[5], lengths[13] = 10, 1  # further on than a region is long otherwise
    assert lengths_of(cut_region(chain(lengths), fuser(8, 1000, 79))) == [14, 6]


def test_a_region_that_is_too_long_is_cut_in_spite_of_what_crosses():
    bsyms = chain([10] * 20)
    assert lengths_of(cut_region(bsyms, fuser(4, 10, 0))) == [10, 10]


@pytest.mark.parametrize("seed", range(20))
def test_cuts_of_long_regions_cross_the_fewest_bytes(seed):
    r = random.Random(seed)
    n, longest = 14, r.randint(3, 6)
    edges = [r.sample(range(i), min(i, r.randint(1, 3))) for i in range(n)]
    bsyms = region(edges, [r.randint(1, 9) for _ in range(n)])
    crossing = bytes_that_cross(bsyms)
    parts = cut_region(bsyms, fuser(2, longest, -1))
    assert [b for part in parts for b in part] == bsyms
    assert max(lengths_of(parts)) <= longest
    found = sum(crossing[k] for k in itertools.accumulate(lengths_of(parts)[:-1]))
    every = (c for k in range(n) for c in itertools.combinations(range(1, n), k))
    possible = (c for c in every if max(b - a for a, b in itertools.pairwise([0, *c, n])) <= longest)
    assert found == min(sum(crossing[k] for k in c) for c in possible)


def test_a_region_of_many_operands_is_cut():
    bsyms = region([[] for _ in range(20)], [8] * 20)
    assert lengths_of(cut_region(bsyms, fuser(32, 1000, 0, operands=6))) == [5, 5, 5, 5]
    assert lengths_of(cut_region(chain([8] * 20), fuser(32, 1000, 0, operands=6))) == [20]


def test_many_results_of_one_region():
    def norms(a):
        return np.array([np.linalg.norm(x, "fro") for x in a])

    a = np.random.default_rng(0).normal(size=(1300, 2, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tnp.EagerFallbackWarning)  # that the loop is long
        np.testing.assert_allclose(tnp.jit(norms)(a), norms(a), rtol=1e-14)
