"""Makes docs/images: the drawing of a trace (which needs graphviz's ``dot``), and the chart of the benchmarks' results.

python docs/make_pictures.py
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np

import tnp

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"

KERNELS = (
    "exp(sin(x))", "Black–Scholes", "5-point stencil in place", "layer norm", "pairwise distances + min", "masked update", "gather + sum",
    "matmul + epilogue",
)  # fmt: skip
COLOURS = {"tnp": "black", "numba": "tab:orange", "jax.jit": "tab:green", "torch.compile": "tab:red"}


def trace() -> None:
    """README's trace, drawn from left to right."""

    @tnp.jit
    def top(x):
        x[x < 0] *= 0.5
        return np.sort(np.exp(x))[-3:]

    top(np.linspace(-1, 1, 1000))
    source = tnp.draw(tnp.last_traces(top)[-1]).replace("{", "{\n  rankdir=LR; ranksep=0.35;", 1)
    source = source.replace(f"{ROOT.resolve()}/", "")
    subprocess.run(["dot", "-Tsvg", "-o", str(IMAGES / "trace.svg")], input=source, text=True, check=True)


def rows(page: str, heading: str) -> tuple[list[str], dict[str, list[str]]]:
    """A table of benchmarks.md: the names of its columns, and its cells by kernel."""
    lines = page[page.index(heading) :].split("\n")[2:]
    table = [[c.strip() for c in line.strip("|").split("|")] for line in lines[: lines.index("")]]
    return table[0], {cells[0]: cells for cells in table[2:]}


def speed() -> None:
    """How many times as fast as NumPy: some kernels at one size, and every contestant that has a figure."""
    import matplotlib.pyplot as plt

    page = (ROOT / "benchmarks" / "results" / "benchmarks.md").read_text()
    names, cells = rows(page, "### 1,000,000 elements, float64, 2 threads")
    figure, ax = plt.subplots(figsize=(8, 4.6), dpi=110)
    height = 0.8 / len(COLOURS)
    for i, (contestant, colour) in enumerate(COLOURS.items()):
        column = names.index(contestant)
        for k, kernel in enumerate(KERNELS):
            value = cells[kernel][column]
            if re.fullmatch(r"[\d.]+", value):
                at = k + (i - 1.5) * height
                ax.barh(at, float(value), height, color=colour, label=contestant if k == 0 else None)
                ax.text(float(value) * 1.04, at, f"{float(value):.1f}", va="center", fontsize=7)
    ax.set_yticks(range(len(KERNELS)), KERNELS, fontsize=10)
    ax.invert_yaxis()
    ax.set_xscale("log")
    ax.set_xlim(0.5, 130)
    ax.set_xticks([1, 3, 10, 30, 100], ["1", "3", "10", "30", "100"])
    ax.axvline(1, color="grey", linewidth=1)
    ax.set_xlabel("times as fast as NumPy: 10⁶ elements, float64, two threads, AMD EPYC", fontsize=9)
    ax.legend(loc="upper center", bbox_to_anchor=(0.4, 1.1), ncols=len(COLOURS), frameon=False, fontsize=10)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    figure.tight_layout()
    figure.savefig(IMAGES / "speed.png")


if __name__ == "__main__":
    IMAGES.mkdir(parents=True, exist_ok=True)
    trace()
    speed()
