"""The gallery's notebooks run in a kernel, compile, and agree with NumPy."""

import importlib.util
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "docs"))

import notebooks

SCRIPTS = sorted(notebooks.GALLERY.glob("*.py"))
HAS_KERNEL = all(importlib.util.find_spec(m) for m in ("nbclient", "nbformat", "ipykernel", "matplotlib", "scipy"))


@pytest.fixture(scope="module")
def manager():
    """One kernel for all: it imports the libraries once."""
    with notebooks.kernel() as running:
        yield running


@pytest.mark.skipif(not HAS_KERNEL, reason="notebooks need nbclient, ipykernel, matplotlib and SciPy")
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda p: p.stem)
def test_notebook(path, manager):
    script = path.read_text()
    if "import torch" in script and importlib.util.find_spec("torch") is None:
        pytest.skip("it uses PyTorch")
    made = notebooks.run(notebooks.notebook(script), manager)
    outputs = [o for c in made.cells if c.cell_type == "code" for o in c.outputs]
    assert not [o for o in outputs if o.get("name") == "stderr"]
    text = "".join(o.get("text", "") for o in outputs)
    assert "True" in text and "False" not in text  # what a notebook compares
    assert notebooks.page(made, path.stem)[1], "it shows no picture"


def test_cells_of_a_script():
    script = "# %% [markdown]\n# # Title\n#\n# Text.\n\n# %%\nx = 1\n\n\n# %%\nprint(x)\n"
    assert notebooks.cells(script) == [("markdown", "# Title\n\nText."), ("code", "x = 1"), ("code", "print(x)")]
    assert notebooks.title(script) == "Title"
    with pytest.raises(ValueError, match="before its first cell"):
        notebooks.cells("x = 1\n" + script)
