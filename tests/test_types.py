"""Type checkers see the signatures of compiled functions: mypy, and pyright if it is installed, check programs that use tnp."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PROGRAMS = ("typed_programs.py", "typed_modules.py")
#: the command of pyright, or of basedpyright, which includes Node.js
PYRIGHT = shutil.which("pyright") or shutil.which("basedpyright")


def programs():
    try:
        import torch  # noqa: F401
    except ImportError:
        return [str(HERE / PROGRAMS[0])]
    return [str(HERE / p) for p in PROGRAMS]


def mypy(folder, *files):
    pytest.importorskip("mypy", reason="mypy is of the extra dev")
    options = (
        "--config-file=",
        "--strict",
        "--warn-unused-ignores",
        "--follow-imports=silent",
        f"--cache-dir={folder}",
    )
    environment = os.environ | {"MYPYPATH": str(HERE.parent)}
    command = [sys.executable, "-m", "mypy", *options, *files]
    return subprocess.run(command, capture_output=True, text=True, env=environment)


REVEALING = """
import tnp
def f(x: float, *, scale: int = 1) -> float:
    return x * scale
reveal_type(tnp.jit(f))
reveal_type(tnp.jit(strict=True)(f))
reveal_type(tnp.grad(f))
reveal_type(tnp.jit(f)("text"))
"""


def test_mypy_sees_signatures_and_finds_mistakes(tmp_path):
    """All in one run of mypy, which reads the package and what it imports."""
    file = tmp_path / "revealing.py"
    file.write_text(REVEALING)
    found = mypy(tmp_path, *programs(), str(file))
    told = [line.replace("builtins.", "") for line in found.stdout.splitlines() if file.name in line]
    assert len(found.stdout.splitlines()) == len(told) + 1, found.stdout + found.stderr  # and the number of mistakes
    notes = [line.split('"')[1].rpartition(".")[2] for line in told if "Revealed type" in line]
    assert notes == [
        "JittedFunction[[x: float, *, scale: int =], float]",
        "JittedFunction[[x: float, *, scale: int =], float]",
        "JittedFunction[[float, *, scale: int =], float]",
        "float",
    ]
    mistakes = [line for line in told if "error:" in line]
    assert len(mistakes) == 1 and 'has incompatible type "str"; expected "float"' in mistakes[0]


@pytest.mark.skipif(PYRIGHT is None, reason="pyright is not installed; it needs Node.js, so no extra has it")
def test_pyright_sees_signatures_and_finds_mistakes(tmp_path):
    config = {
        "typeCheckingMode": "standard",
        "reportUnnecessaryTypeIgnoreComment": "error",
        "include": programs(),
        "extraPaths": [str(HERE.parent)],
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(config))
    command = [PYRIGHT, "--project", str(tmp_path), "--pythonpath", sys.executable]
    found = subprocess.run(command, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr
