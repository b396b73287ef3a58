"""A stand-in for CuPy: the names that the cupy executor uses, by NumPy, on arrays of a class of their own.

What is missing here is missing there. As CuPy does, it refuses NumPy arrays, and wraps indices that are out of bounds.
"""

import ctypes as _ctypes
import os as _os
import shutil as _shutil
import subprocess as _subprocess
import tempfile as _tempfile

import numpy as _np

__version__ = "0"


class _Memory:
    def __init__(self, ptr):
        self.ptr = ptr


class ndarray(_np.ndarray):
    """An array that is not NumPy's."""

    @property
    def data(self):
        return _Memory(self.ctypes.data)

    @property
    def device(self):
        return cuda.Device(0)

    def __getitem__(self, key):
        """Single elements are arrays, too."""
        key = key if isinstance(key, tuple) else (key,)
        return super().__getitem__(key if [k for k in key if k is ...] else (*key, ...))


def _given(x):
    if type(x) is _np.ndarray:
        raise TypeError(f"Unsupported type {type(x)}")
    if isinstance(x, (list, tuple)):
        return type(x)(map(_given, x))
    return x.view(_np.ndarray) if isinstance(x, ndarray) else x


def _made(x):
    if isinstance(x, (list, tuple)):
        return tuple(map(_made, x))
    return _np.asarray(x).view(ndarray)


def _function(f):
    def call(*args, **kwargs):
        return _made(f(*map(_given, args), **{k: _given(v) for k, v in kwargs.items()}))

    return call


_NAMES = """
absolute add all amax amin any arange arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin argsort array ascontiguousarray
bitwise_and bitwise_count bitwise_or bitwise_xor broadcast_to cbrt ceil concatenate conjugate copysign cos cosh cumprod cumsum
empty empty_like equal exp exp2 expm1 flip floor floor_divide fmax fmin fmod full gcd greater greater_equal heaviside hypot invert
isfinite isinf isnan lcm ldexp left_shift less less_equal log log10 log1p log2 logaddexp logaddexp2 logical_and logical_not
logical_or logical_xor matmul maximum minimum multiply negative nextafter nonzero not_equal positive power prod reciprocal remainder
right_shift rint searchsorted sign signbit sin sinh sort sqrt square subtract sum take_along_axis tan tanh true_divide trunc var where
""".split()
globals().update({name: _function(getattr(_np, name)) for name in _NAMES if hasattr(_np, name)})


def take(a, indices, axis=None, out=None):
    return _made(_np.take(_given(a), _given(indices), axis, mode="wrap"))


def asarray(a, dtype=None, order=None):
    return _np.array(a, dtype, order=order).view(ndarray)


def asnumpy(a, stream=None, order="C", out=None):
    assert isinstance(a, ndarray)
    return _np.array(a.view(_np.ndarray), order=order)


class lib:
    class stride_tricks:
        as_strided = staticmethod(_function(_np.lib.stride_tricks.as_strided))


class linalg:
    qr = staticmethod(_function(_np.linalg.qr))
    svd = staticmethod(_function(_np.linalg.svd))


class fft:
    fftn = staticmethod(_function(_np.fft.fftn))
    ifftn = staticmethod(_function(_np.fft.ifftn))
    rfft = staticmethod(_function(_np.fft.rfft))
    irfft = staticmethod(_function(_np.fft.irfft))


class _Stream:
    ptr = 0


class cuda:
    class Device:
        def __init__(self, device=None):
            self.id = device

    @staticmethod
    def get_current_stream(device_id=-1):
        return _Stream()

    class runtime:
        class CUDARuntimeError(RuntimeError):
            pass

        @staticmethod
        def getDevice():
            return 0

        @staticmethod
        def getDeviceProperties(device):
            return {"name": b"a stand-in"}

        @staticmethod
        def getDeviceCount():
            return 1

        @staticmethod
        def deviceSynchronize():
            pass


def from_dlpack(x):
    return _made(_np.from_dlpack(x))


# Kernels: their C++ compiled for the host, which is what it means there as well


class _CompileException(Exception):
    """What CuPy raises for a kernel that does not compile."""

    def __init__(self, msg, source, name, options, backend="nvrtc"):
        super().__init__(msg)


class _Compiler:
    CompileException = _CompileException


cuda.compiler = _Compiler

_compiled = {}


def _native(text, name):
    """The function ``name`` of a C++ source, compiled once."""
    if text not in _compiled:
        folder = _tempfile.mkdtemp()
        path = _os.path.join(folder, "kernel.cpp")
        with open(path, "w") as file:
            file.write("#include <cmath>\nusing namespace std;\n#define __device__ static inline\n" + text)
        library = path.replace(".cpp", ".so")
        options = ["-O0", "-fwrapv", "-ffp-contract=off", "-w", "-shared", "-fPIC", "-std=c++14"]
        done = _subprocess.run(["g++", *options, path, "-o", library], capture_output=True, text=True)
        if done.returncode:
            raise _CompileException(done.stderr, text, name, options, "g++")
        _compiled[text] = getattr(_ctypes.CDLL(library), name)
        _shutil.rmtree(folder)
    return _compiled[text]


def _parameters(text):
    """(dtype, name) of each parameter, as CuPy reads them."""
    return [(_np.dtype(p.split()[0]), p.split()[1]) for p in text.split(",")]


_TYPES = dict(zip("?bhilqBHILQfd", ["bool", "signed char", "short", "int", "long", "long long", "unsigned char", "unsigned short", "unsigned int", "unsigned long", "unsigned long long", "float", "double"]))  # fmt: skip


def _c_type(dtype):
    return "long long" if dtype == _np.int64 else "unsigned long long" if dtype == _np.uint64 else _TYPES[dtype.char]


def _operands(parameters, args):
    """Contiguous arrays of one shape, of the parameters' dtypes, which CuPy wants arrays to have."""
    assert len(parameters) == len(args)
    for (dtype, _), a in zip(parameters, args):
        assert type(a) in (bool, int, float) or (isinstance(a, ndarray) and a.dtype == dtype), (dtype, a)
    given = [_np.asarray(_given(a), dtype) for (dtype, _), a in zip(parameters, args)]
    shape = _np.broadcast_shapes(*(a.shape for a in given))
    return [_np.ascontiguousarray(_np.broadcast_to(a, shape)).reshape(shape) for a in given], shape


def _call(function, n, arrays):
    function(*map(_ctypes.c_longlong, n), *(_ctypes.c_void_p(a.ctypes.data) for a in arrays))


class ElementwiseKernel:
    def __init__(
        self, in_params, out_params, operation, name="kernel", reduce_dims=True, preamble="", no_return=False, return_tuple=False,
        **kwargs,
    ):  # fmt: skip
        assert kwargs.keys() <= {"options", "loop_prep", "after_loop"}
        self.ins, self.outs, self.name, self.return_tuple = (
            _parameters(in_params),
            _parameters(out_params),
            name,
            return_tuple,
        )
        pointers = ", ".join(f"{_c_type(d)} *p_{n}" for d, n in [*self.ins, *self.outs])
        read = " ".join(f"const {_c_type(d)} {n} = p_{n}[i];" for d, n in self.ins)
        written = " ".join(f"{_c_type(d)} &{n} = p_{n}[i];" for d, n in self.outs)
        self.text = (
            f'{preamble}\nextern "C" void {name}(long long n, {pointers}) {{\n'
            f"for (long long i = 0; i < n; ++i) {{ {read} {written}\n{operation}; }} }}\n"
        )

    def __call__(self, *args, size=None, stream=None, block_size=128):
        given, shape = _operands(self.ins, args)
        made = [_np.empty(shape, d) for d, _ in self.outs]
        _call(_native(self.text, self.name), [int(_np.prod(shape))], [*given, *made])
        return _made(made) if self.return_tuple or len(made) > 1 else _made(made[0])


class ReductionKernel:
    def __init__(
        self, in_params, out_params, map_expr, reduce_expr, post_map_expr, identity, name="reduce_kernel", reduce_type=None,
        reduce_dims=True, preamble="", options=(),
    ):  # fmt: skip
        self.ins, ((self.dtype, out),), self.name = _parameters(in_params), _parameters(out_params), name
        pointers = ", ".join(f"{_c_type(d)} *p_{n}" for d, n in self.ins)
        read = " ".join(f"const {_c_type(d)} {n} = p_{n}[i * m + j];" for d, n in self.ins)
        self.text = (
            f'{preamble}\nextern "C" void {name}(long long n, long long m, {pointers}, {_c_type(self.dtype)} *p_{out}) {{\n'
            f"for (long long i = 0; i < n; ++i) {{ {reduce_type} total = {identity};\n"
            f"for (long long j = 0; j < m; ++j) {{ {read} {reduce_type} a = total, b = {map_expr}; total = {reduce_expr}; }}\n"
            f"{reduce_type} a = total; {_c_type(self.dtype)} &{out} = p_{out}[i]; {post_map_expr}; }} }}\n"
        )

    def __call__(self, *args, out=None, axis=None, keepdims=False, stream=None):
        given, shape = _operands(self.ins, args)
        axes = tuple(range(len(shape))) if axis is None else axis
        kept = [d for d in range(len(shape)) if d not in axes]
        rows, length = (int(_np.prod([shape[d] for d in ds])) for ds in (kept, axes))
        given = [_np.ascontiguousarray(a.transpose([*kept, *axes])) for a in given]
        made = _np.empty([shape[d] for d in kept], self.dtype)
        _call(_native(self.text, self.name), [rows, length], [*given, made])
        return _made(made)
