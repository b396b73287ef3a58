"""NumPy's own tests, each test function jitted whole, against the same eagerly.

    python tools/conformance/numpy_tests.py OUT                       # all of them, eagerly and jitted
    python tools/conformance/numpy_tests.py OUT --only lib/ fft/      # files with one of these in their names
    python tools/conformance/numpy_tests.py OUT --report              # what the last run left in OUT

They are copied to ``OUT/numpy_tests``, and so is numpy.testing, as the package ``numpy_testing``: what lies among installed packages is a
library to tnp, whose functions it does not trace, and a test that calls an assertion of a library's runs eagerly.
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

import numpy as np
import report
import suite

#: what computes no arrays: Fortran, types, packaging
_LEFT_OUT = ("_pyinstaller", "distutils", "f2py", "typing")
_INI = """[pytest]
filterwarnings =
    error
    ignore:the matrix subclass is not
    ignore:Importing from numpy.matlib is
    ignore::pytest.PytestDeprecationWarning
    ignore::tnp.EagerFallbackWarning
"""


def copied(out: Path) -> Path:
    """The folder with a copy of NumPy's tests, which import numpy.testing from beside them."""
    root = out / "numpy_tests"
    installed = Path(np.__path__[0])
    for folder in sorted(installed.rglob("tests")):
        where = folder.relative_to(installed)
        if folder.is_dir() and where.parts[0] not in _LEFT_OUT and not (root / where).exists():
            shutil.copytree(folder, root / where, ignore=shutil.ignore_patterns("__pycache__"))
    if not (root / "numpy_testing").exists():
        shutil.copytree(
            installed / "testing",
            root / "numpy_testing",
            ignore=shutil.ignore_patterns("__pycache__", "tests", "*.pyi"),
        )
        for file in root.rglob("test*.py"):
            file.write_text(file.read_text().replace("from numpy.testing", "from numpy_testing"))
    shutil.copy(installed / "conftest.py", root)
    (root / "pytest.ini").write_text(_INI)
    return root


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", nargs="*", default=[""], help="parts of the names of files")
    parser.add_argument("--limit", type=float, default=120, help="seconds a test")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--report", action="store_true", help="run nothing")
    given = parser.parse_args()
    root = copied(given.out.resolve())
    files = [f for f in sorted(root.rglob("test_*.py")) if any(o in str(f.relative_to(root)) for o in given.only)]
    arguments = ["-q", "--assert=plain", "--import-mode=importlib", "-m", "not slow", "--tb=short"]
    env = {"NPY_AVAILABLE_MEM": "2 GB", "TNP_CHECK": "1"}
    for how in () if given.report else ("eager", "jitted"):
        eagerly = ["--eagerly"] * (how == "eager")
        suite.run_all(
            files, root, given.out / how, arguments=arguments + eagerly, env=env, limit=given.limit, jobs=given.jobs
        )
    report.show(
        suite.read(given.out / "eager"),
        suite.read(given.out / "jitted"),
        Path(__file__).with_name("numpy_differences.txt"),
    )


if __name__ == "__main__":
    main()
