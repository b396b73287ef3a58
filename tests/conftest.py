"""Every pass of every test's compilation is checked by the trace checker."""

import os

os.environ.setdefault("TNP_CHECK", "1")
