"""``tnp.testing`` works if tnp is installed, not only in a checkout: its functions count as the user's there, too."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent

PROGRAM = """
import numpy as np
import tnp
from tnp.core.dtypes import float64
from tnp.extend import OperatorExecutor
from tnp.testing import OpInfo, SampleInput, check_sample

assert "site-packages" in tnp.__file__
ex = OperatorExecutor("sums")
powers = ex.register_operator("powers", like=lambda x: x * x + x, fn=lambda x: x**2 + x)
info = OpInfo(powers, numpy_reference=lambda x: x**2 + x, executors=(ex,))
check_sample(info, SampleInput(np.array([1.0, 2.0])), "sums", float64)
check_sample(info, SampleInput(np.array(3.0)), "sums", float64)
"""


def test_an_operation_is_tested_by_an_installed_tnp(tmp_path):
    folder = tmp_path / "site-packages"
    shutil.copytree(ROOT / "tnp", folder / "tnp", ignore=shutil.ignore_patterns("__pycache__"))
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environment, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
