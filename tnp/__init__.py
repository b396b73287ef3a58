"""tnp compiles array programs: put ``@tnp.jit`` on a NumPy function."""

import importlib
from typing import TYPE_CHECKING, Any

from tnp.api import (
    CacheInfo,
    cache_info,
    clear,
    get_num_threads,
    jit,
    last_backward_traces,
    last_prologue_traces,
    last_traces,
    mark_dynamic,
    set_num_threads,
    trace,
)
from tnp.compile.derivatives import grad, hessian, jacobian, jvp, value_and_grad, vjp
from tnp.compile.vectorization import vmap
from tnp.core.errors import (
    BatchError,
    EagerFallbackWarning,
    ExtensionError,
    GradientError,
    InternalError,
    InternalErrorWarning,
    NoDeviceError,
    NoExecutorError,
    TraceError,
)
from tnp.executors.registry import get_all_executors, get_default_executors, set_default_executors
from tnp.transforms.autodiff import get_grad, put_grad, put_grads, register_grad

if TYPE_CHECKING:
    from tnp import extend as extend
    from tnp.inspect import draw as draw
    from tnp.inspect import examine as examine
    from tnp.inspect import explain as explain
    from tnp.inspect import profile as profile
    from tnp.inspect.ipython import load_ipython_extension as load_ipython_extension
    from tnp.settings import config as config
    from tnp.settings import debug_nans as debug_nans

__all__ = [
    "BatchError",
    "CacheInfo",
    "EagerFallbackWarning",
    "ExtensionError",
    "GradientError",
    "InternalError",
    "InternalErrorWarning",
    "NoDeviceError",
    "NoExecutorError",
    "TraceError",
    "cache_info",
    "clear",
    "config",
    "debug_nans",
    "draw",
    "examine",
    "explain",
    "extend",
    "get_all_executors",
    "get_default_executors",
    "get_grad",
    "get_num_threads",
    "grad",
    "hessian",
    "jacobian",
    "jit",
    "jvp",
    "last_backward_traces",
    "last_prologue_traces",
    "last_traces",
    "mark_dynamic",
    "profile",
    "put_grad",
    "put_grads",
    "register_grad",
    "set_default_executors",
    "set_num_threads",
    "trace",
    "value_and_grad",
    "vjp",
    "vmap",
]

__version__ = "0.1.0"

#: loaded when it is first named: ``extend`` brings all of the NumPy language, which only a program that is traced needs
_LATER = {
    "extend": "tnp.extend",
    "load_ipython_extension": "tnp.inspect.ipython",
    **dict.fromkeys(("config", "debug_nans"), "tnp.settings"),
    **dict.fromkeys(("draw", "examine", "explain", "profile"), "tnp.inspect"),
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'tnp' has no attribute {name!r}")
    module = importlib.import_module(_LATER[name])
    globals()[name] = module if _LATER[name] == f"tnp.{name}" else getattr(module, name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
