"""The package of ``examples/extend``: built, installed, and found by its entry point; its own tests pass then."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import tnp

EXAMPLE = Path(__file__).parents[2] / "examples" / "extend"


def python(*arguments, path, cwd):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(tnp.__file__).parent.parent), str(path)])}
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=env, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_package_is_installed_and_passes_its_tests(tmp_path):
    source, site = tmp_path / "source", tmp_path / "site"
    shutil.copytree(EXAMPLE, source)
    offline = ("--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check")
    python("-m", "pip", "install", "-q", *offline, "--target", site, source, path=site, cwd=tmp_path)
    shutil.rmtree(source / "tnp_horner")  # what runs is what was installed
    said = python(
        "-W", "error", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--doctest-modules", "tests", site / "tnp_horner",
        path=site, cwd=source,
    )  # fmt: skip
    assert "passed" in said or "100%" in said
