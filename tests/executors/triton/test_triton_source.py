"""What the triton executor generates, without Triton: which kernels, how much they load and store, how they index."""

import re

import numpy as np
import pytest

import tnp
from tests import triton_regions as regions
from tests.triton_regions import generated
from tnp.executors.triton import emit, schedule
from tnp.executors.triton.graph import lower
from tnp.executors.triton.index import Coordinate, Index, offset_of, quotient, remainder, within


def counts(source):
    return source.count("tl.load("), source.count("tl.store(")


def matrix(rows, columns, dtype=np.float32):
    return np.linspace(0.1, 1, rows * columns, dtype=dtype).reshape(rows, columns)


def test_a_chain_is_one_kernel_with_a_load_per_input_and_a_store_per_output():
    ((source, launches),) = generated(regions.chain, matrix(30, 40), matrix(30, 40))
    assert len(launches) == 1
    assert counts(source) == (2, 1)
    assert "in0 + x," in source, "contiguous arrays of two dimensions are one run"
    assert launches[0].grid == (2,)


def test_two_outputs_share_their_loads():
    def two(a, b):
        c = a * b
        return c + 1, c - 1

    ((source, launches),) = generated(two, matrix(3, 4), matrix(3, 4))
    assert len(launches) == 1
    assert counts(source) == (2, 2)


def test_what_is_broadcast_is_indexed_by_the_dimensions_it_has():
    def outer(a, b):
        return a[:, None] * b + 1

    ((source, _),) = generated(outer, np.ones(6, np.float32), np.ones(7, np.float32))
    assert "x0 = x // 7" in source
    assert "x1 = x % 7" in source
    assert re.search(r"tl\.load\(in0 \+ x0, ", source)
    assert re.search(r"tl\.load\(in1 \+ x1, ", source)


def test_a_softmax_that_fits_a_tile_reads_its_rows_once():
    ((source, launches),) = generated(regions.softmax, matrix(8, 1000))
    assert len(launches) == 1
    assert counts(source) == (1, 1)
    assert "for " not in source


def test_a_softmax_of_long_rows_loops():
    ((source, launches),) = generated(regions.softmax, matrix(2, 50_257))
    assert len(launches) == 1
    assert source.count("for start in range(0, 50257, RBLOCK)") == 3
    assert counts(source) == (3, 1)
    assert launches[0].constants == {"XBLOCK": 1, "RBLOCK": emit.TILE}


def test_a_layer_norm_is_one_kernel_that_sums_for_the_mean_once():
    x = matrix(8, 100)
    ((source, launches),) = generated(regions.layer_norm, x, x[0], x[1])
    assert len(launches) == 1
    assert counts(source) == (3, 1)
    assert source.count("tl.sum(") == 2


def test_rows_side_by_side_in_memory_are_in_one_tile():
    def columns(x):
        return x.sum(0)

    ((_, launches),) = generated(columns, matrix(3000, 200))
    assert launches[0].constants == {"XBLOCK": 64, "RBLOCK": 32}


def test_few_results_of_many_elements_are_reduced_in_parts():
    def total(x):
        return np.sqrt(x).sum()

    ((source, launches),) = generated(total, np.ones(100_000, np.float32))
    assert [launch.rows for launch in launches] == [64, 1]
    assert counts(source) == (2, 2)


def test_sums_over_the_coordinates_of_a_point_are_written_out():
    def distances(a, b):
        return np.sqrt(((a[:, None] - b[None]) ** 2).sum(-1))

    ((source, launches),) = generated(distances, matrix(40, 3), matrix(50, 3))
    assert len(launches) == 1
    assert "tl.sum(" not in source
    assert counts(source) == (6, 1)
    assert launches[0].constants == {"XBLOCK": emit.BLOCK}


def test_what_two_kernels_need_is_stored_once():
    def two_axes(x):
        return (x - x.sum(0)).sum(1)

    ((source, launches),) = generated(two_axes, matrix(5, 6))
    assert [len(launch.stores) for launch in launches] == [1, 1]
    assert counts(source) == (3, 2)


def test_what_is_computed_in_many_places_has_memory():
    ((source, launches),) = generated(regions.many_stencils, matrix(40, 40))
    assert 1 < len(launches) < 7
    assert len(source.splitlines()) < 10 * schedule.STATEMENT_LIMIT


def test_equal_layers_have_one_kernel():
    def layers(x, w, v):
        for weight in (w, v, w):
            x = np.tanh(x @ weight) * 2
        return x

    made = generated(layers, *(matrix(8, 8) for _ in range(3)))
    assert len(made) == 3
    assert len({launch.source for _, launches in made for launch in launches}) == 1


@pytest.mark.parametrize(
    ("shape", "axis", "grids"),
    [
        ((8192, 768), 0, [(384,), (12,)]),
        ((8192, 768), 1, [(4096,)]),
        ((300, 40), 0, [(1,)]),
        ((2048, 40), 0, [(10,), (1,)]),
    ],
)
def test_sums_of_columns_keep_a_device_busy(shape, axis, grids):
    ((_, launches),) = generated(lambda x: (x * 2).sum(axis), np.broadcast_to(np.float32(1), shape))
    assert [launch.grid for launch in launches] == grids
    assert launches[0].constants["XBLOCK"] == (64 if axis == 0 else 2)


def test_offsets_beyond_31_bits_are_wide():
    def doubled(x):
        return x * 2 + x

    trace = tnp.trace()(doubled, np.broadcast_to(np.float32(1), (70_000, 70_000)))
    graph = lower(trace.bound_symbols[1:-1], trace.args, [trace.output])
    source, launches = regions.kernels_of(graph, [(70_000, 1)])
    assert "x = tl.program_id(0).to(tl.int64) * XBLOCK" in source
    assert launches[0].grid[0] == -(-(70_000**2) // emit.BLOCK)


@pytest.mark.parametrize("by", [1, 2, 3, 5, 12])
def test_forms_of_indices_divide_as_numbers_do(by):
    rows, columns = Coordinate(0, 5), Coordinate(1, 12)
    form = Index.of(rows) * 12 + Index.of(columns) + 3

    def value(index, r, c):
        at = {"c0": r, "c1": c}
        return eval(str(index), at)

    for r in range(5):
        for c in range(12):
            assert value(quotient(form, by), r, c) == (12 * r + c + 3) // by
            assert value(remainder(form, by), r, c) == (12 * r + c + 3) % by


def test_views_that_split_and_join_dimensions_leave_no_divisions():
    part, row, column = (Index.of(Coordinate(d, n)) for d, n in enumerate((4, 256, 12)))
    flat = part * 256 + row  # 4 parts of 256 rows; a view splits the 1024 rows into 8 times 128
    apart = quotient(flat, 128), remainder(flat, 128)
    assert str(offset_of((*apart, column), (1536, 12, 1))) == str(part * 3072 + row * 12 + column)
    # 96 columns are of a second array from 32 on: of its 64, which are 4 heads
    behind = within(Index.of(Coordinate(0, 96)) + -32, 64)
    flat = column * 64 + behind
    assert str(quotient(flat, 64)) == "c2"
    assert str(remainder(quotient(flat, 16), 4)) == "((c0 + -32) // 16)"
