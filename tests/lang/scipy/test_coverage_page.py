"""The page of what is compiled of SciPy is the registry's, and says enough."""

import runpy
from collections import Counter
from pathlib import Path

import pytest

scipy = pytest.importorskip("scipy")
DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture(scope="module")
def generator():
    return runpy.run_path(str(DOCS / "make_scipy_coverage.py"))


def test_the_page_is_up_to_date(generator):
    page = (DOCS / "scipy_coverage.md").read_text()
    if f"for SciPy {scipy.__version__}." not in page:
        pytest.skip("the page was made for another version of SciPy, which has other names")
    assert page == generator["page"](), "run `make docs`"


def test_most_functions_of_arrays_are_compiled(generator):
    counts = Counter(
        (module, generator["status"](f"{module}.{name}", found)) for module, name, found in generator["public_names"]()
    )
    assert counts["linalg", "native"] >= 19 and counts["linalg", "call"] + counts["linalg", "call with gradient"] >= 60
    assert counts["fft", "native"] >= 18 and counts["fft", "call"] >= 12
    assert counts["interpolate", "native"] >= 8
    assert counts["sparse", "native"] >= 10
