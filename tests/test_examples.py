"""The examples run, and find what they compare to be equal."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def run(*arguments):
    done = subprocess.run([sys.executable, "-W", "error", *arguments], capture_output=True, text=True, cwd=EXAMPLES)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_hillshade(tmp_path):
    assert "NumPy and tnp agree" in run("hillshade.py", "--out", str(tmp_path / "relief.png"))
    assert (tmp_path / "relief.png").stat().st_size > 10_000


def test_fluid():
    assert "NumPy and tnp agree after 50 steps" in run("fluid.py", "--steps", "50", "--size", "33")


def test_kmeans():
    assert "agree on every assignment and centre" in run("kmeans.py", "--iterations", "5")


def test_optimize():
    assert "from Scherk's surface" in run("optimize.py", "--size", "15")


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="it trains a network of torch's")
def test_mixed():
    assert "reached a loss of 0.002" in run("mixed.py", "--iterations", "500")
