"""Which members of large families of tests run: a fixed part of them, or all, under ``TNP_EVERY_SAMPLE=1``."""

import itertools
import os

EVERYTHING = os.environ.get("TNP_EVERY_SAMPLE", "") not in ("", "0")


def one_of(cases, number):
    """The one of the cases that a test with this number takes, as a list."""
    return list(cases) if EVERYTHING else [list(cases)[number % len(cases)]]


def some_of(cases, number, one_in):
    """The cases that a test with this number takes, one in so many, as a list: others for each of as many numbers that follow each other,
    which together take all."""
    return list(cases) if EVERYTHING else list(cases)[number % one_in :: one_in]


def pairs(*axes):
    """Rows with a value of each axis, such that each two values of two axes are in a row together: enough for faults that two values
    make. The rows are the same in every run."""
    rows = [*itertools.product(*(range(len(axis)) for axis in axes))]
    missing = {pair for row in rows for pair in itertools.combinations(enumerate(row), 2)}
    chosen = rows if EVERYTHING else []
    while not EVERYTHING and missing:
        best = max(rows, key=lambda row: len(missing.intersection(itertools.combinations(enumerate(row), 2))))
        missing.difference_update(itertools.combinations(enumerate(best), 2))
        chosen.append(best)
    return [tuple(axis[i] for axis, i in zip(axes, row)) for row in sorted(chosen)]
