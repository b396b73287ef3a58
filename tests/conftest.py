"""Every pass of every test's compilation is checked by the trace checker; random tests are the same at every run of CI."""

import os

from hypothesis import settings

os.environ.setdefault("TNP_CHECK", "1")
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")
