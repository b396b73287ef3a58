"""Notebooks: the magics, the names of cells, and what objects show. IPython is no dependency: the tests use it where it is installed."""

import atexit
import sys
import types

import numpy as np
import pytest

import tnp
from tnp.core.errors import shown_file


class Shell:
    """IPython's, as far as names of cells come from it."""

    def __init__(self):
        self.compile = types.SimpleNamespace(_filename_map={"/tmp/ipykernel_1/3089996676.py": 3})

    def get_ipython(self):
        return self


def test_cells_have_their_numbers(monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", Shell())
    assert shown_file("/tmp/ipykernel_1/3089996676.py") == "<cell 3>" and shown_file("demo.py") == "demo.py"
    source = "def f(x):\n    return np.sort(np.sin(x) + 1)\n"
    scope = {"np": np}
    exec(compile(source, "/tmp/ipykernel_1/3089996676.py", "exec"), scope)
    jitted = tnp.jit(scope["f"])
    jitted(np.ones(100))
    text = str(tnp.profile(jitted, np.ones(100)))
    assert text.count("<cell 3>:2") == 2 and "3089996676" not in text
    assert "<cell 3>:2" in tnp.explain(jitted) and "3089996676" not in tnp.explain(jitted)


@pytest.fixture
def shell():
    interactive = pytest.importorskip("IPython.core.interactiveshell", reason="IPython is not installed")
    found = interactive.InteractiveShell()  # of its own, and not the process's
    found.run_cell("%load_ext tnp\nimport numpy as np, tnp", store_history=True)
    yield found
    atexit.unregister(found.atexit_operations)
    found.atexit_operations()


def run(shell, cell):
    result = shell.run_cell(cell, store_history=True)
    result.raise_error()
    return result.result


CELL = """%%tnp
def doubled(x, n):
    for _ in range(n):
        x = x * 2
    return x

@tnp.jit(strict=True)
def own(x):
    return x + 1

doubled(np.ones(3), 4)"""


def test_a_cell_is_jitted(shell):
    run(shell, CELL)
    doubled, own = shell.user_ns["doubled"], shell.user_ns["own"]
    assert tnp.cache_info(doubled).size == 1 and doubled(np.ones(3), 1).tolist() == [2, 2, 2]
    assert own._strict and not doubled._strict
    assert not [name for name in shell.user_ns if name.startswith("__tnp")]
    run(shell, CELL.replace("%%tnp", '%%tnp strict=True, executors=["numpy"]'))
    assert shell.user_ns["doubled"].options["executors"] == ("numpy",) and shell.user_ns["doubled"]._strict


def test_explain_by_magic(shell):
    run(shell, CELL)
    text = run(shell, "%tnp_explain doubled")
    assert text.startswith("doubled: 1 program") and "a call takes" not in text and text._repr_html_()
    text = run(shell, "%tnp_explain doubled(np.ones(3), n=4)")
    assert "a call takes" in text
    assert "lambda" in run(shell, "f = tnp.jit(lambda x: x + 1)\nf(1)\n%tnp_explain f")
    with pytest.raises(TypeError, match="not a jitted function"):
        run(shell, "%tnp_explain np.sin")


def test_errors_and_await(shell):
    with pytest.raises(ZeroDivisionError):
        run(shell, "%%tnp\n1 / 0")
    with pytest.raises(ValueError, match="executor"):
        run(shell, "%%tnp executors=['nobody']\ndef f(x):\n    return x\n")
    assert not [name for name in shell.user_ns if name.startswith("__tnp")]
