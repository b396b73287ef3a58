"""tnp compiles array programs: put ``@tnp.jit`` on a NumPy function."""

from tnp import extend
from tnp.api import (
    CacheInfo,
    cache_info,
    get_num_threads,
    jit,
    last_backward_traces,
    last_prologue_traces,
    last_traces,
    set_num_threads,
    trace,
)
from tnp.core.errors import (
    BatchError,
    EagerFallbackWarning,
    ExtensionError,
    GradientError,
    NoDeviceError,
    NoExecutorError,
    TraceError,
)
from tnp.executors.registry import get_all_executors, get_default_executors, set_default_executors
from tnp.gradients import grad, hessian, jacobian, jvp, value_and_grad, vjp
from tnp.looking import draw, examine, explain, profile
from tnp.mapping import vmap
from tnp.transforms.autodiff import get_grad, put_grad, put_grads, register_grad

__all__ = [
    "BatchError",
    "CacheInfo",
    "EagerFallbackWarning",
    "ExtensionError",
    "GradientError",
    "NoDeviceError",
    "NoExecutorError",
    "TraceError",
    "cache_info",
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
