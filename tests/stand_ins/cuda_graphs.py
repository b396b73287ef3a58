"""A stand-in for what ``torch.cuda`` captures with, on the CPU: operations are recorded, not run, and a replay runs them in their memory.

Its names and signatures are torch's. While a graph is captured nothing is computed: new tensors hold NaN, or 77, until the first replay. To ask for a
value is the error that CUDA has for it. A test compares the signatures with those of the torch that is there.
"""

import threading
from contextlib import contextmanager

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

_capturing = threading.local()


class Stream:
    def __init__(self, device=None, priority=0, **kwargs):
        self.cuda_stream = 0


_default = Stream()
#: the pools that were asked for, and those that graphs were captured into
pools = []
used = []


def current_stream(device=None):
    return _default


@contextmanager
def stream(stream):
    """Within it ``stream`` is the current one."""
    global _default
    before, _default = _default, stream
    try:
        yield
    finally:
        _default = before


def graph_pool_handle():
    pools.append((0, len(pools) + 1))
    return pools[-1]


def is_current_stream_capturing():
    return getattr(_capturing, "graph", None) is not None


class CUDAGraph:
    def __new__(cls, keep_graph=False):
        return super().__new__(cls)

    def __init__(self, keep_graph=False):
        self.steps = None
        self._pool = None

    def capture_begin(self, pool=None, capture_error_mode="global", check_input_liveness=False):
        assert capture_error_mode in ("global", "thread_local", "relaxed")
        self.steps, self._pool = [], pool
        used.append(pool)

    def capture_end(self):
        pass

    def replay(self):
        for function, args, kwargs, made in self.steps:
            result = function(*args, **kwargs)
            if made is not None:
                for a, b in zip(_tensors(made), _tensors(result), strict=True):
                    if a is not b:
                        a.copy_(b)

    def pool(self):
        return self._pool


class graph:
    def __init__(self, cuda_graph, pool=None, stream=None, capture_error_mode="global", *args, **kwargs):
        self.graph, self.pool, self.mode = cuda_graph, pool, capture_error_mode
        self.recorder = _Recorder(cuda_graph)

    def __enter__(self):
        self.graph.capture_begin(pool=self.pool, capture_error_mode=self.mode)
        _capturing.graph = self.graph
        self.recorder.__enter__()

    def __exit__(self, *args):
        self.recorder.__exit__(*args)
        _capturing.graph = None
        self.graph.capture_end()


class _Recorder(TorchDispatchMode):
    def __init__(self, cuda_graph):
        super().__init__()
        self.graph = cuda_graph

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = str(function)
        if "local_scalar_dense" in name or "nonzero" in name or "equal.default" in name:
            raise RuntimeError("CUDA error: operation not permitted when stream is capturing")
        schema = function._schema
        writes = [a.alias_info is not None and a.alias_info.is_write for a in schema.arguments]
        returned = [r.alias_info for r in schema.returns]
        if not any(writes) and any(a is not None for a in returned):  # a view: nothing is computed
            return function(*args, **kwargs)
        if any(writes):
            self.graph.steps.append((function, args, kwargs, None))
            return args[writes.index(True)]
        on_meta = tree_map_only(torch.Tensor, lambda t: t.to("meta"), (args, kwargs))
        options = {**on_meta[1], **({"device": "meta"} if "device" in kwargs else {})}
        made = tree_map_only(torch.Tensor, _memory_like, function(*on_meta[0], **options))
        self.graph.steps.append((function, args, kwargs, made))
        return made


def _memory_like(t):
    made = torch.empty_strided(t.size(), t.stride(), dtype=t.dtype)
    made.fill_(float("nan") if t.dtype.is_floating_point else 77)
    return made


def _tensors(x):
    return [x] if isinstance(x, torch.Tensor) else [t for y in x for t in _tensors(y)]
