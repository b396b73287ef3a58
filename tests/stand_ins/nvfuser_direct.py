"""Stands in for nvFuser's direct bindings: the documented calls with their signatures, recorded, and computed by torch on the CPU.

What is not documented is missing here: another name, keyword or kind of argument is an error. Stricter than nvFuser, operands of
different dtypes are errors, too, since its promotion is not NumPy's.
"""

import enum
import inspect
import types

import torch

__version__ = "0.2.36"
DEVICE_TYPES = ("cpu",)
#: what the next execution raises, if anything
failures = []
#: definitions that were compiled: executed for the first time
compiled = []


def version():
    return __version__


class DataType(enum.Enum):
    Double = torch.float64
    Float = torch.float32
    Half = torch.float16
    BFloat16 = torch.bfloat16
    Int = torch.int64
    Int32 = torch.int32
    Bool = torch.bool
    ComplexFloat = torch.complex64
    ComplexDouble = torch.complex128
    Null = None


_OF_PYTHON = {bool: DataType.Bool, int: DataType.Int, float: DataType.Double, complex: DataType.ComplexDouble}
_HALVES = (DataType.Half, DataType.BFloat16)


class Val:
    """A value of a definition: ``ndim`` is ``None`` for a scalar."""

    def __init__(self, fd, dtype, shape):
        self.fd, self.dtype, self._shape = fd, dtype, shape
        self.ndim = None if shape is None else len(shape)
        self.index = len(fd._values)
        fd._values.append(self)


_current = []


def _fd():
    return _current[-1]


def _record(function, dtype, shape, *args):
    made = Val(_fd(), dtype, None if shape is None else tuple(shape))
    _fd()._steps.append((made, function, args))
    return made


def _check_val(x):
    assert isinstance(x, Val) and x.fd is _fd(), f"{x!r} is no value of this definition"
    return x


def _tensor(x):
    assert _check_val(x).ndim is not None, "a scalar stands where a tensor is needed"
    return x


def _ints(xs, n=None):
    assert type(xs) is list and all(type(x) is int for x in xs), f"{xs!r} is no list of ints"
    assert n is None or len(xs) == n, f"{xs!r} has not {n} items"
    return xs


def _operands(*xs):
    """The operands, their one dtype, that which is computed in, and their one shape."""
    dtypes = {_check_val(x).dtype for x in xs}
    assert len(dtypes) == 1, f"operands of {dtypes}"
    shapes = {x._shape for x in xs if x.ndim is not None}
    assert len(shapes) <= 1, f"operands of shapes {shapes}"
    dtype = dtypes.pop()
    return dtype, DataType.Float if dtype in _HALVES else dtype, next(iter(shapes), None)


class _Operations(types.SimpleNamespace):
    pass


ops = _Operations()


def _operation(f):
    setattr(ops, f.__name__, f)
    return f


def _unary(name, function, result=None, promotes=True):
    def f(x):
        _, work, shape = _operands(x)
        if promotes and work in (DataType.Int, DataType.Int32, DataType.Bool):
            work = DataType.Float
        return _record(lambda t: function(t.to(work.value)), result or work, shape, x)

    f.__name__ = name
    _operation(f)


for (
    _name
) in """acos acosh asin asinh atan atanh ceil cos cosh exp exp2 expm1 erf erfc erfinv floor frac lgamma log log10 log1p
        log2 reciprocal round rsqrt sigmoid sin sinh tan tanh trunc""".split():
    _unary(_name, getattr(torch, _name))
_unary(
    "sqrt", lambda t: t.double().sqrt().to(t.dtype)
)  # rounded correctly, as on CUDA; torch's on the CPU is not always
_unary("relu", torch.relu, promotes=False)
_unary("abs", torch.abs, promotes=False)
_unary("neg", torch.neg, promotes=False)
_unary("bitwise_not", torch.bitwise_not, promotes=False)
for _name in ("isfinite", "isinf", "isnan", "isneginf", "isposinf", "signbit", "logical_not"):
    _unary(_name, getattr(torch, _name), DataType.Bool, promotes=False)


@_operation
def set(x):
    return _record(lambda t: t.view_as(t), _check_val(x).dtype, x._shape, x)


def _binary(name, function, result=None, kinds=""):
    def f(lhs, rhs):
        dtype, work, shape = _operands(lhs, rhs)
        assert not kinds or dtype.name in kinds, f"{name} of {dtype}"
        return _record(lambda a, b: function(a.to(work.value), b.to(work.value)), result or work, shape, lhs, rhs)

    f.__name__ = name
    _operation(f)


def _div(a, b):
    return a / b if a.is_floating_point() else torch.div(a, b, rounding_mode="trunc")


for _name in ("add", "sub", "mul", "fmod", "remainder", "pow", "atan2", "nextafter"):
    _binary(_name, getattr(torch, _name))
_binary("div", _div)
_binary("minimum", torch.fmin)  # what becomes of NaN is not documented
_binary("maximum", torch.fmax)
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    _binary(_name, getattr(torch, _name), DataType.Bool)
for _name in ("logical_and", "logical_or"):
    _binary(_name, getattr(torch, _name), DataType.Bool, "Bool")
for _name in ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift"):
    _binary(_name, getattr(torch, _name), None, "Int Int32")


@_operation
def where(pred, a, b):
    assert _check_val(pred).dtype is DataType.Bool
    assert _check_val(a).dtype is _check_val(b).dtype, f"branches of {a.dtype} and {b.dtype}"
    shapes = {x._shape for x in (pred, a, b) if x.ndim is not None}
    assert len(shapes) <= 1, f"operands of shapes {shapes}"
    dtype = a.dtype
    if a.ndim is None or b.ndim is None:  # of numbers, nvFuser may make another dtype
        dtype = DataType.Double if a.dtype in (DataType.Double, DataType.Float) else DataType.Int
    return _record(lambda p, x, y: torch.where(p, x, y).to(dtype.value), dtype, next(iter(shapes), None), pred, a, b)


@_operation
def cast(arg, dtype):
    assert type(dtype) is DataType and dtype is not DataType.Null
    return _record(lambda t: t.to(dtype.value), dtype, _check_val(arg)._shape, arg)


# Shapes


@_operation
def broadcast_in_dim(arg, shape, broadcast_dims):
    _ints(list(shape)), _ints(list(broadcast_dims), _tensor(arg).ndim)
    middle = [1] * len(shape)
    for n, d in zip(arg._shape, broadcast_dims):
        assert n in (1, shape[d])
        middle[d] = n
    return _record(lambda t: t.reshape(middle).expand(shape), arg.dtype, shape, arg)


@_operation
def reshape(arg, new_shape):
    assert torch.Size(_ints(new_shape)).numel() == torch.Size(_tensor(arg)._shape).numel()
    return _record(lambda t: t.reshape(new_shape), arg.dtype, new_shape, arg)


@_operation
def permute(arg, dims):
    assert sorted(_ints(dims)) == list(range(_tensor(arg).ndim))
    return _record(lambda t: t.permute(dims), arg.dtype, [arg._shape[d] for d in dims], arg)


@_operation
def squeeze(arg, dims, squeeze_expanded=False):
    assert all(_tensor(arg)._shape[d] == 1 for d in _ints(dims))
    shape = [n for i, n in enumerate(arg._shape) if i not in dims]
    return _record(lambda t: t.reshape(shape), arg.dtype, shape, arg)


@_operation
def slice(arg, start_indices, end_indices, strides=None, manual_normalization=False):
    _ints(start_indices, _tensor(arg).ndim), _ints(end_indices, arg.ndim)
    assert strides is None and all(0 <= a <= b <= n for a, b, n in zip(start_indices, end_indices, arg._shape))
    shape = [b - a for a, b in zip(start_indices, end_indices)]

    def run(t):
        for d, (a, n) in enumerate(zip(start_indices, shape)):
            t = t.narrow(d, a, n)
        return t

    return _record(run, arg.dtype, shape, arg)


@_operation
def cat(tensors, dim=0, manual_padding=False):
    assert type(tensors) is list and len({_tensor(t).dtype for t in tensors}) == 1
    shape = list(tensors[0]._shape)
    shape[dim] = sum(t._shape[dim] for t in tensors)
    return _record(lambda *ts: torch.cat(ts, dim), tensors[0].dtype, shape, *tensors)


@_operation
def pad(arg, pad_widths, value=None):
    assert all(n >= 0 for n in _ints(pad_widths)) and len(pad_widths) <= 2 * _tensor(arg).ndim
    assert value is None or _check_val(value).dtype is arg.dtype
    shape = list(arg._shape)
    for i in range(0, len(pad_widths), 2):
        shape[-1 - i // 2] += pad_widths[i] + pad_widths[i + 1]

    def run(t, v=None):
        return torch.nn.functional.pad(t, pad_widths, value=0 if v is None else v.item())

    return _record(run, arg.dtype, shape, arg, *(() if value is None else (value,)))


@_operation
def stride_order(arg, stride_order):
    slowest = sorted(range(_tensor(arg).ndim), key=lambda d: -_ints(stride_order, arg.ndim)[d])
    back = [slowest.index(d) for d in range(arg.ndim)]
    return _record(lambda t: t.permute(slowest).contiguous().permute(back), arg.dtype, arg._shape, arg)


# Arrays of nothing


@_operation
def full(shape, fill_value, dtype):
    assert _check_val(fill_value).ndim is None and type(dtype) is DataType
    _ints(shape)
    return _record(lambda v: torch.full(shape, v.item(), dtype=dtype.value), dtype, shape, fill_value)


@_operation
def iota(length, start=None, step=None, dtype=DataType.Int):
    first, by = start or 0, 1 if step is None else step
    assert type(length) is type(first) is type(by) is int
    return _record(lambda: torch.arange(length, dtype=dtype.value) * by + first, dtype, [length])


def _random(name, draw):
    def f(minval, maxval, shape, *, rng_seed=None, rng_offset=None, dtype=DataType.Float):
        assert _check_val(minval).ndim is _check_val(maxval).ndim is None
        assert dtype in (DataType.Float, DataType.Double)

        def run(a, b):
            return draw(torch.empty(shape, dtype=dtype.value), a.item(), b.item())

        return _record(run, dtype, _ints(shape), minval, maxval)

    if name == "normal":
        f.__signature__ = inspect.Signature(
            [
                p.replace(name={"minval": "mean", "maxval": "std"}.get(p.name, p.name))
                for p in inspect.signature(f).parameters.values()
            ]
        )
    f.__name__ = name
    _operation(f)


_random("uniform", lambda t, a, b: t.uniform_(a, b))
_random("normal", lambda t, a, b: t.normal_(a, b))


# Reductions


def _dims(arg, dims):
    found = [dims] if type(dims) is int else _ints(dims)
    assert found, "No reduction axis specified"
    assert len({*found}) == len(found) and all(0 <= d < _tensor(arg).ndim for d in found)
    return found


def _reduced(arg, dims, keepdim):
    shape = [1 if i in dims else n for i, n in enumerate(arg._shape)]
    return shape if keepdim else [n for i, n in enumerate(arg._shape) if i not in dims]


def _along(function, t, dims, keepdim):
    for d in sorted(dims, reverse=True):
        t = function(t, d, keepdim)
    return t


def _sum_like(name, function):
    def f(arg, dims, keepdim=False, dtype=DataType.Null):
        dims = _dims(arg, dims)
        assert arg.dtype not in _HALVES
        made = dtype
        if dtype is DataType.Null:
            made = DataType.Int if arg.dtype in (DataType.Int32, DataType.Bool, DataType.Int) else arg.dtype

        def run(t):
            return _along(lambda u, d, k: function(u, d, k, dtype=made.value), t, dims, keepdim)

        return _record(run, made, _reduced(arg, dims, keepdim), arg)

    f.__name__ = name
    _operation(f)


_sum_like("sum", torch.sum)
_sum_like("prod", torch.prod)


def _extreme(name, function, without_nan):
    def f(arg, dims, keepdim=False):
        dims = _dims(arg, dims)
        assert arg.dtype not in (*_HALVES, DataType.Bool)

        def run(t):  # what becomes of NaN is not documented
            t = torch.where(torch.isnan(t), without_nan, t) if t.is_floating_point() else t
            return function(t, dims, keepdim)

        return _record(run, arg.dtype, _reduced(arg, dims, keepdim), arg)

    f.__name__ = name
    _operation(f)


_extreme("max", torch.amax, -torch.inf)
_extreme("min", torch.amin, torch.inf)


@_operation
def var(arg, dims, correction=1, keepdim=False):
    dims = _dims(arg, dims)
    assert type(correction) is int and arg.dtype in (DataType.Float, DataType.Double)

    def run(t):
        return torch.var(t, dims, correction=correction, keepdim=keepdim)

    return _record(run, arg.dtype, _reduced(arg, dims, keepdim), arg)


@_operation
def var_mean(arg, dims, correction=1, keepdim=False):
    mean = _record(lambda t: t.mean(dims, keepdim=keepdim), arg.dtype, _reduced(arg, _dims(arg, dims), keepdim), arg)
    return var(arg, dims, correction, keepdim), mean


def _scan(name, function):
    def f(arg, dim, init=None):
        assert _tensor(arg).ndim > 1 and init is None and type(dim) is int
        return _record(lambda t: function(t, dim, dtype=t.dtype), arg.dtype, arg._shape, arg)

    f.__name__ = name
    _operation(f)


_scan("cumsum", torch.cumsum)
_scan("cumprod", torch.cumprod)


@_operation
def matmul(arg1, arg2):
    assert _tensor(arg1).dtype is _tensor(arg2).dtype
    return _record(torch.matmul, arg1.dtype, [*arg1._shape[:-1], arg2._shape[-1]], arg1, arg2)


# Definitions


def compute_tensor_descriptor(sizes, strides):
    """(contiguity, from the slowest to the fastest dimension; the place of each dimension, counted from the fastest)."""
    assert type(sizes) is type(strides) is list and all(s >= 0 for s in strides)
    slowest = sorted(range(len(sizes)), key=lambda d: (-strides[d], d))
    contiguity, expected = [], 1
    for d in reversed(slowest):
        if sizes[d] == 1 or strides[d] == 0:
            contiguity.append(None)
            continue
        contiguity.append(strides[d] == expected)
        expected = strides[d] * sizes[d]
    order = tuple(len(sizes) - 1 - slowest.index(d) for d in range(len(sizes)))
    return tuple(reversed(contiguity)), order


class FusionDefinition:
    ops = ops

    def __init__(self):
        self._values, self._steps, self._inputs, self._outputs = [], [], [], []
        self._finished = False

    def __enter__(self):
        _current.append(self)
        return self

    def __exit__(self, *error):
        _current.pop()
        self._finished = True

    def define_tensor(self, shape, contiguity=False, dtype=DataType.Float, is_cpu=False, stride_order=()):
        assert not is_cpu or not shape
        assert _ints(shape) is not None and len(contiguity) == len(stride_order) == len(shape) <= 8
        assert all(n == -1 or n >= 0 for n in shape)
        made = Val(self, dtype, tuple(shape))
        self._inputs.append((made, (tuple(contiguity), tuple(stride_order))))
        return made

    def define_scalar(self, value=None, dtype=None):
        assert value is None or type(value) in _OF_PYTHON
        made = Val(self, dtype or _OF_PYTHON.get(type(value), DataType.Double), None)
        if value is None:
            self._inputs.append((made, None))
        else:
            self._steps.append((made, lambda: torch.tensor(value, dtype=made.dtype.value), ()))
        return made

    def add_output(self, output, alias_input=None):
        assert alias_input is None and output not in self._outputs and _tensor(output)
        self._outputs.append(output)

    def execute(self, inputs, *, device=None, save_repro_inputs=False, _enable_options=(), _disable_options=()):
        assert self._finished and type(inputs) is list and len(inputs) == len(self._inputs)
        assert list(_disable_options) == ["fma"] and not _enable_options
        assert (device is None) == any(isinstance(x, torch.Tensor) for x in inputs)
        if failures:
            raise failures.pop()
        if self not in compiled:
            compiled.append(self)
        values = {}
        for (val, layout), x in zip(self._inputs, inputs):
            if layout is None:
                assert _OF_PYTHON[type(x)] is val.dtype, f"{x!r} for {val.dtype}"
                values[val.index] = torch.tensor(x, dtype=val.dtype.value)
                continue
            assert isinstance(x, torch.Tensor) and tuple(x.shape) == val._shape and x.dtype is val.dtype.value
            assert compute_tensor_descriptor(list(x.shape), list(x.stride())) == layout
            values[val.index] = x
        for val, function, args in self._steps:
            made = function(*(values[a.index] for a in args))
            assert made.dtype is val.dtype.value and tuple(made.shape) == (val._shape or ()), val
            values[val.index] = made
        return [values[v.index] for v in self._outputs]
