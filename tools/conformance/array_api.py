"""The test suite of the Array API standard, through jitted functions, methods and operators, against the same eagerly.

git clone --recurse-submodules https://github.com/data-apis/array-api-tests
python tools/conformance/array_api.py OUT array-api-tests              # all of it, eagerly and jitted
python tools/conformance/array_api.py OUT array-api-tests --only fft   # files with that in their names
python tools/conformance/array_api.py OUT array-api-tests --report     # what the last run left in OUT
"""

from __future__ import annotations

import argparse
from pathlib import Path

import report
import suite


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("tests", type=Path)
    parser.add_argument("--only", nargs="*", default=[""], help="parts of the names of files")
    parser.add_argument("--examples", type=int, default=20, help="of each test")
    parser.add_argument("--limit", type=float, default=300, help="seconds a test")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--report", action="store_true", help="run nothing")
    given = parser.parse_args()
    root = given.tests.resolve()
    files = [f for f in sorted((root / "array_api_tests").glob("test_*.py")) if any(o in f.name for o in given.only)]
    arguments = ["-q", "--tb=short", "--disable-deadline", "--derandomize", "--max-examples", str(given.examples)]
    env = {"ARRAY_API_TESTS_MODULE": "jitted_namespace", "TNP_CHECK": "1"}
    for how in () if given.report else ("eager", "jitted"):
        suite.run_all(
            files, root, given.out / how, arguments=[*arguments, "--eagerly"], env={**env, "TNP_EAGERLY": str(int(how == "eager"))},
            limit=given.limit, jobs=given.jobs,
        )  # fmt: skip
    report.show(
        suite.read(given.out / "eager"),
        suite.read(given.out / "jitted"),
        Path(__file__).with_name("array_api_differences.txt"),
    )


if __name__ == "__main__":
    main()
