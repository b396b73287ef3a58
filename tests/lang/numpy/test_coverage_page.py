"""The page of what is compiled is the registry's, and says enough."""

import runpy
from pathlib import Path

import numpy as np
import pytest

DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture(scope="module")
def generator():
    return runpy.run_path(str(DOCS / "make_numpy_coverage.py"))


def test_the_page_is_up_to_date(generator):
    page = (DOCS / "numpy_coverage.md").read_text()
    if f"for NumPy {np.__version__}." not in page:
        pytest.skip("the page was made for another version of NumPy, which has other names")
    assert page == generator["page"](), "run `make docs`"


def test_at_least_350_functions_are_native(generator):
    statuses = [
        generator["status"](name, f)[0]
        for section, name, f in generator["public_names"]()
        if section != "numpy.ndarray"
    ]
    assert statuses.count("native") >= 350 - (np.lib.NumpyVersion(np.__version__) < "2.1.0") * 10


def test_every_refusal_has_a_reason(generator):
    for _, name, f in generator["public_names"]():
        kind, reason = generator["status"](name, f)
        assert kind != "unsupported" or (reason and reason != "not compiled yet"), name
