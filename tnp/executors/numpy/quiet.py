"""NumPy's functions that pass over NaN, without what they warn of: a program gives those warnings itself, from the
user's line, on any executor (:mod:`tnp.lang.numpy.data_warnings`).

They are a second copy of NumPy's module in which ``warnings.warn`` does nothing: filters of warnings are the whole
process's.
"""

import importlib.util
import types
from typing import Any

_spec = importlib.util.find_spec("numpy.lib._nanfunctions_impl")
assert _spec is not None and _spec.loader is not None
_module: Any = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
_module.warnings = types.SimpleNamespace(warn=lambda *args, **kwargs: None)

globals().update({name: getattr(_module, name) for name in _module.__all__})
