"""Views, and other functions that only rearrange elements."""

from __future__ import annotations

import math
from typing import Any

import torch

from tnp.core import clang, devices, dtypes, prims, sizes, symbols
from tnp.core.errors import NeedsEager, NeedsOpaque
from tnp.core.proxies import TensorProxy
from tnp.core.sizes import Shape
from tnp.core.symbol import OpTags
from tnp.lang.torch.dtypes import to_device, to_dtype
from tnp.lang.torch.operands import (
    dimension,
    dimensions,
    extent,
    extents,
    integers,
    on_device,
    shape_argument,
    size_or_int,
    static_int,
    tensor_only,
)
from tnp.lang.torch.registry import torchsymbol

__all__ = ["detach", "inferred", "sliced"]

Tensor = torch.Tensor


def inferred(old: Shape, shape: Shape) -> Shape:
    """The new ``shape`` of an array of shape ``old``, with -1 replaced by the length that fits. Raises ``RuntimeError`` if none does."""
    lengths, found = sizes.extents(old, "a view"), list(sizes.extents(shape, "a view"))
    unknown = [i for i, n in enumerate(found) if type(n) is int and n == -1]
    if len(unknown) > 1:
        raise RuntimeError("only one dimension can be inferred")
    total, rest = math.prod(lengths), math.prod(n for i, n in enumerate(found) if i not in unknown)
    if unknown and type(total) is int and type(rest) is not int:  # nothing is divided by any number of parts
        rest = symbols.fixed(rest) if total else 1
    if (unknown and (rest == 0 or total % rest)) or (not unknown and rest != total):
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {total}")
    for i in unknown:
        found[i] = total // rest
    return symbols.dimensions(found)


def _reshaped(input: TensorProxy, shape: Shape) -> TensorProxy:
    return clang.reshape(input, inferred(input.shape, shape))


@torchsymbol(torch.reshape, returns="view")
def reshape(input: Any, shape: Any) -> TensorProxy:
    """The elements in another shape: a view where the strides allow one."""
    return _reshaped(input, shape_argument((shape,)))


@torchsymbol(Tensor.reshape, returns="view")
def _reshape_method(input: Any, *shape: Any) -> TensorProxy:
    """``x.reshape(2, 3)``, ``x.reshape((2, 3))``."""
    return _reshaped(input, shape_argument(shape))


@torchsymbol(Tensor.view, returns="view")
def view(input: Any, *shape: Any) -> TensorProxy:
    """A view in another shape, or of the same bytes as another dtype of the same width."""
    if len(shape) == 1 and isinstance(shape[0], torch.dtype):
        dtype = to_dtype(shape[0])
        if dtype.bits != input.dtype.bits or "b" in (dtype.kind, input.dtype.kind):
            raise NeedsOpaque("a view as a dtype of another width")
        return input if dtype is input.dtype else prims.bitcast(input, dtype)
    return _reshaped(input, shape_argument(shape))


@torchsymbol("view_as", returns="view")
def view_as(input: Any, other: Any) -> TensorProxy:
    """A view in the shape of ``other``."""
    return _reshaped(input, other.shape)


@torchsymbol("reshape_as", returns="view")
def reshape_as(input: Any, other: Any) -> TensorProxy:
    """The elements in the shape of ``other``."""
    return _reshaped(input, other.shape)


@torchsymbol("unflatten", returns="view")
def unflatten(input: Any, dim: Any, sizes: Any) -> TensorProxy:
    """One dimension as several."""
    d = dimension(input.ndim, dim)
    shape = inferred(input.shape[d : d + 1], shape_argument((sizes,)))
    return clang.reshape(input, (*input.shape[:d], *shape, *input.shape[d + 1 :]))


@torchsymbol("flatten", returns="argument")
def flatten(input: Any, start_dim: Any = 0, end_dim: Any = -1) -> TensorProxy:
    """Several dimensions as one."""
    first, last = dimension(input.ndim, start_dim), dimension(input.ndim, end_dim)
    if input.ndim == 0:
        return clang.reshape(input, (1,))
    if first > last:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if first == last:
        return input
    middle = sizes.product(input.shape[first : last + 1])
    return clang.reshape(input, (*input.shape[:first], middle, *input.shape[last + 1 :]))


@torchsymbol("ravel", returns="argument")
def ravel(input: Any) -> TensorProxy:
    """The elements in one dimension."""
    return input if input.ndim == 1 else clang.reshape(input, (input.numel,))


@torchsymbol("permute", returns="view")
def permute(input: Any, *dims: Any) -> TensorProxy:
    """The dimensions in another order."""
    if not dims:
        raise TypeError('permute() missing 1 required positional arguments: "dims"')
    order = [dimension(input.ndim, d) for d in integers(dims)]
    if sorted(order) != list(range(input.ndim)):
        raise RuntimeError("permute(sparse_coo): duplicate or missing dims")
    return prims.transpose(input, order)


@torchsymbol("transpose", "swapaxes", "swapdims", returns="view")
def transpose(input: Any, dim0: Any, dim1: Any) -> TensorProxy:
    """Two dimensions exchanged."""
    i, j = dimension(input.ndim, dim0), dimension(input.ndim, dim1)
    order = list(range(input.ndim))
    if order:
        order[i], order[j] = j, i
    return prims.transpose(input, order)


@torchsymbol("t", returns="view", method="t")
def t(input: Any) -> TensorProxy:
    """A matrix transposed; fewer dimensions as they are."""
    if input.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    return prims.transpose(input, list(reversed(range(input.ndim))))


@torchsymbol("adjoint", returns="view")
def adjoint(input: Any) -> TensorProxy:
    """Matrices transposed; complex ones are left to torch."""
    if input.dtype.kind == "c" or input.ndim < 2:
        raise NeedsOpaque("an adjoint of complex numbers")
    return transpose(input, -2, -1)


@torchsymbol("movedim", "moveaxis", returns="view")
def movedim(input: Any, source: Any, destination: Any) -> TensorProxy:
    """Dimensions moved to other places."""
    sources = source if isinstance(source, (tuple, list)) else (source,)
    targets = destination if isinstance(destination, (tuple, list)) else (destination,)
    if len(sources) != len(targets):
        raise RuntimeError("movedim: Invalid source or destination dims")
    moved = [dimension(input.ndim, d) for d in sources]
    to = [dimension(input.ndim, d) for d in targets]
    if len(set(moved)) < len(moved) or len(set(to)) < len(to):
        raise RuntimeError("movedim: repeated dim")
    order: list[int | None] = [None] * input.ndim
    for d, place in zip(moved, to):
        if input.ndim:
            order[place] = d
    rest = iter(d for d in range(input.ndim) if d not in moved)
    return prims.transpose(input, [next(rest) if d is None else d for d in order])


@torchsymbol("unsqueeze", returns="view")
def unsqueeze(input: Any, dim: Any) -> TensorProxy:
    """With a dimension of length 1 more."""
    return clang.expand_dims(input, (dimension(input.ndim + 1, dim),))


@torchsymbol("squeeze", returns="view")
def squeeze(input: Any, dim: Any = None) -> TensorProxy:
    """Without dimensions of length 1."""
    wanted = dimensions(input.ndim, dim) if dim != () else ()
    alone = [d for d in wanted if sizes.equal(input.shape[d], 1)]
    return prims.squeeze(input, alone) if alone else prims.reshape(input, input.shape)


def expanded(input: TensorProxy, shape: Shape) -> TensorProxy:
    """``input`` repeated to ``shape``, in which -1 keeps a length. Raises ``RuntimeError`` where it does not fit."""
    new = len(shape) - input.ndim
    if new < 0:
        raise RuntimeError("expand: the number of sizes provided must be greater or equal to the number of dimensions")
    is_kept = [type(n) is int and n == -1 and i >= new for i, n in enumerate(shape)]
    full = tuple(input.shape[i - new] if kept else n for i, (n, kept) in enumerate(zip(shape, is_kept)))
    for n, m in zip(input.shape, full[new:]):
        if sizes.fits(n, m) is False:
            raise RuntimeError(f"The expanded size of the tensor ({m}) must match the existing size ({n})")
    if any(type(n) is int and n < 0 for n in full):
        raise RuntimeError("The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension")
    return prims.broadcast_in_dim(input, full, tuple(range(new, len(full))))


@torchsymbol(Tensor.expand, returns="view")
def expand(input: Any, *size: Any) -> TensorProxy:
    """Repeated to a shape, without copies."""
    return expanded(input, shape_argument(size))


@torchsymbol(torch.broadcast_to, Tensor.broadcast_to, returns="view")
def broadcast_to(input: Any, size: Any) -> TensorProxy:
    """Repeated to a shape, without copies."""
    return expanded(input, shape_argument((size,)))


@torchsymbol(Tensor.expand_as, returns="view")
def expand_as(input: Any, other: Any) -> TensorProxy:
    """Repeated to the shape of ``other``, without copies."""
    return expanded(input, other.shape)


@torchsymbol("select", returns="view")
def select(input: Any, dim: Any, index: Any) -> TensorProxy:
    """One position of a dimension, which the result lacks."""
    if input.ndim == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    return prims.select(input, dimension(input.ndim, dim), size_or_int(index, "index"))


def sliced(input: TensorProxy, dim: int, start: int, stop: int, step: int = 1) -> TensorProxy:
    return clang.slice_dim(input, start, stop, step, dim=dim)


def bounds(start: Any, end: Any, n: Any) -> tuple[Any, Any]:
    """Where a slice of a dimension of ``n`` begins and ends, as Python has it."""
    (n,) = sizes.extents((n,), "slice")
    at = [extent(x) if x is not None else default for x, default in ((start, 0), (end, n))]
    first, last = (max(x + n, 0) if x < 0 else min(x, n) for x in at)
    return first, last


@torchsymbol(torch.ops.aten.slice, torch.ops.aten.slice.Tensor, name="ops.aten.slice", returns="view")
def aten_slice(input: Any, dim: Any = 0, start: Any = None, end: Any = None, step: Any = 1) -> TensorProxy:
    """``input[start:end:step]`` in one dimension: what torch's own Python calls it."""
    d = dimension(input.ndim, dim)
    first, last = bounds(start, end, input.shape[d])
    return sliced(input, d, first, max(first, last), static_int(step))


@torchsymbol("narrow", returns="view")
def narrow(input: Any, dim: Any, start: Any, length: Any) -> TensorProxy:
    """``length`` positions of a dimension from ``start``."""
    d = dimension(input.ndim, dim)
    first, n = (symbols.extent(size_or_int(x)) for x in (start, length))
    (total,) = sizes.extents(input.shape[d : d + 1], "narrow")
    first = first + total if first < 0 else first
    if not 0 <= first <= first + n <= total:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({total}).")
    return sliced(input, d, first, first + n)


def _pieces(input: TensorProxy, dim: int, lengths: list[Any]) -> tuple[TensorProxy, ...]:
    starts = [sum(lengths[:i]) for i in range(len(lengths))]
    return tuple(sliced(input, dim, a, a + n) for a, n in zip(starts, lengths))


@torchsymbol("split", returns="view")
def split(tensor: Any, split_size_or_sections: Any, dim: Any = 0) -> tuple[TensorProxy, ...]:
    """Pieces of a length, or of given lengths."""
    d = dimension(tensor.ndim, dim)
    (total,) = sizes.extents(tensor.shape[d : d + 1], "split")
    if isinstance(split_size_or_sections, (tuple, list)):
        lengths = [symbols.extent(size_or_int(n)) for n in split_size_or_sections]
        if sum(lengths) != total or any(n < 0 for n in lengths):
            raise RuntimeError(f"split_with_sizes expects split_sizes to sum exactly to {total}")
        return _pieces(tensor, d, lengths)
    size = symbols.extent(size_or_int(split_size_or_sections))
    if size < 0 or (size == 0 and total):
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={size}")
    if total == 0:
        return (sliced(tensor, d, 0, 0),)
    return _pieces(tensor, d, _of_length(size, total))


def _of_length(size: Any, total: Any) -> list[Any]:
    """The lengths of pieces of ``size``, the last maybe shorter. The program relies on how many there are."""
    count = -(-symbols.present(total) // symbols.present(size))
    are_so_many = size * (count - 1) < total <= size * count  # becomes relations
    assert are_so_many
    return [size] * (count - 1) + [total - size * (count - 1)]


@torchsymbol("split_with_sizes", returns="view")
def split_with_sizes(input: Any, split_sizes: Any, dim: Any = 0) -> tuple[TensorProxy, ...]:
    """Pieces of given lengths."""
    return split(input, list(split_sizes), dim)


@torchsymbol("chunk", returns="view")
def chunk(input: Any, chunks: Any, dim: Any = 0) -> tuple[TensorProxy, ...]:
    """So many pieces of one length, the last maybe shorter, maybe fewer of them."""
    d, n = dimension(input.ndim, dim), static_int(chunks)
    (total,) = sizes.extents(input.shape[d : d + 1], "chunk")
    if n < 1 or total == 0:
        raise NeedsOpaque("chunks of nothing")
    return _pieces(input, d, _of_length((total + (n - 1)) // n, total))


@torchsymbol("tensor_split", returns="view")
def tensor_split(input: Any, indices_or_sections: Any, dim: Any = 0) -> tuple[TensorProxy, ...]:
    """Pieces of nearly one length, or between given positions."""
    d = dimension(input.ndim, dim)
    (total,) = sizes.extents(input.shape[d : d + 1], "tensor_split")
    if isinstance(indices_or_sections, TensorProxy):
        raise NeedsOpaque("positions that are values")
    if isinstance(indices_or_sections, (tuple, list)):
        at = extents((indices_or_sections,))
        ends = [max(0, min(total, i + total if i < 0 else i)) for i in at]
        pairs = zip([0, *ends], [*ends, total])
        return tuple(sliced(input, d, a, max(a, b)) for a, b in pairs)
    n = static_int(indices_or_sections)
    if n < 1:
        raise RuntimeError(f"number of sections must be larger than 0, got {n}")
    return _pieces(input, d, [(total + (n - 1 - i)) // n for i in range(n)])


@torchsymbol("unbind", returns="view")
def unbind(input: Any, dim: Any = 0) -> tuple[TensorProxy, ...]:
    """The positions of a dimension, one by one."""
    d = dimension(input.ndim, dim)
    if input.ndim == 0:
        raise RuntimeError("Dimension specified as 0 but tensor has no dimensions")
    return tuple(prims.select(input, d, i) for i in range(input.shape[d]))


@torchsymbol("diagonal", returns="view")
def diagonal(input: Any, offset: Any = 0, dim1: Any = 0, dim2: Any = 1) -> TensorProxy:
    """The diagonals of planes, as a new last dimension."""
    i, j = dimension(input.ndim, dim1), dimension(input.ndim, dim2)
    if i == j:
        raise RuntimeError("diagonal dimensions cannot be identical")
    return prims.diagonal(input, static_int(offset), i, j)


@torchsymbol(Tensor.unfold, returns="view")
def unfold(input: Any, dimension: Any, size: Any, step: Any) -> TensorProxy:
    """Windows along a dimension, as a new last dimension."""
    a = input if input.ndim else clang.reshape(input, (1,))
    n = size_or_int(size)
    if input.ndim == 0 and n not in (0, 1):
        raise RuntimeError(f"maximum size for tensor at dimension 0 is 1 but size is {n}")
    windows = prims.unfold(a, static_int(dimension), n, size_or_int(step))
    return windows if input.ndim else clang.reshape(windows, (n,))


@torchsymbol("detach", returns="view", tags=(OpTags.DETACHES,))
def detach(input: Any) -> TensorProxy:
    """The same memory, outside of any gradient."""
    return prims.reshape(input, input.shape)


@torchsymbol("contiguous", returns="argument", row_major="always", unknown_sizes=True)
def contiguous(input: Any, *, memory_format: Any = torch.contiguous_format) -> TensorProxy:
    """The tensor itself if it is contiguous, else a copy; capture decides."""
    if memory_format is not torch.contiguous_format:
        raise NeedsOpaque("another memory format")
    return clang.contiguous(input)


@torchsymbol("clone", unknown_sizes=True)
def clone(input: Any, *, memory_format: Any = torch.preserve_format) -> TensorProxy:
    """A copy."""
    if memory_format not in (torch.preserve_format, torch.contiguous_format):
        raise NeedsOpaque("another memory format")
    return prims.clone(input)


@torchsymbol(torch.real, returns="argument")
def real(input: Any) -> TensorProxy:
    """The real part, a view; of a real tensor itself."""
    return prims.real(input) if input.dtype.kind == "c" else input


@torchsymbol(torch.imag, returns="view")
def imag(input: Any) -> TensorProxy:
    """The imaginary part, a view."""
    if input.dtype.kind != "c":
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return prims.imag(input)


def _of_reals(name: str) -> None:
    @torchsymbol(name, returns="argument")
    def itself(input: Any) -> TensorProxy:
        """The tensor itself, of real numbers."""
        tensor_only(input)
        if input.dtype.kind == "c":
            raise NeedsOpaque("complex numbers")
        return input


for _name in ("conj", "resolve_conj", "resolve_neg"):
    _of_reals(_name)


@torchsymbol("conj_physical", returns="argument")
def conj_physical(input: Any) -> TensorProxy:
    """The complex conjugate; of real numbers the tensor itself."""
    tensor_only(input)
    return clang.conj(input) if input.dtype.kind == "c" else input


def _split_along(name: str, dim: int, least: int) -> None:
    @torchsymbol(name, returns="view")
    def split_along(input: Any, indices_or_sections: Any) -> tuple[TensorProxy, ...]:
        """Pieces along one dimension, of one length or between positions."""
        if input.ndim < least:
            raise RuntimeError(f"torch.{name} requires a tensor with at least {least} dimension")
        along = 0 if input.ndim == 1 else dim
        if not isinstance(indices_or_sections, (tuple, list)) and input.shape[along] % static_int(indices_or_sections):
            raise RuntimeError(f"torch.{name} attempted to split along a dimension that does not divide evenly")
        return tensor_split(input, indices_or_sections, along)


_split_along("hsplit", 1, 1)
_split_along("vsplit", 0, 2)
_split_along("dsplit", 2, 3)


# Between dtypes and languages


def _converter(name: str, dtype: torch.dtype) -> None:
    @torchsymbol(getattr(Tensor, name), returns="argument")
    def convert(input: Any, memory_format: Any = torch.preserve_format) -> TensorProxy:
        """The tensor in that dtype; itself if it has it."""
        if memory_format is not torch.preserve_format:
            raise NeedsOpaque("another memory format")
        if input.dtype.kind == "c" and not dtype.is_complex:
            raise NeedsOpaque("complex numbers as others")
        return clang.convert(input, to_dtype(dtype))


for _name, _dtype in {
    "bool": torch.bool, "byte": torch.uint8, "char": torch.int8, "double": torch.float64, "float": torch.float32,
    "half": torch.float16, "bfloat16": torch.bfloat16, "int": torch.int32, "long": torch.int64, "short": torch.int16,
    "cdouble": torch.complex128, "cfloat": torch.complex64,
}.items():  # fmt: skip
    _converter(_name, _dtype)


@torchsymbol(Tensor.to, returns="argument")
def to(input: Any, *args: Any, **kwargs: Any) -> TensorProxy:
    """In another dtype, on another device; the tensor itself if it is so."""
    given = dict(kwargs)
    flags = [x for x in args if type(x) is bool]
    if args and type(args[0]) is bool:
        raise NeedsOpaque("a dtype that is a bool")
    given.update(zip(("non_blocking", "copy"), flags))
    for x in args[: len(args) - len(flags)]:
        if isinstance(x, torch.dtype):
            given.setdefault("dtype", x)
        elif isinstance(x, (str, torch.device)):
            given.setdefault("device", x)
        elif isinstance(x, TensorProxy):
            given.setdefault("dtype", x.dtype)
            given.setdefault("device", x.device)
        elif x is not None:
            raise NeedsOpaque("flags by position")
    copies = given.pop("copy", False)
    if given.pop("memory_format", None) not in (None, torch.preserve_format):
        raise NeedsOpaque("a copy in another format")
    given.pop("non_blocking", None)
    dtype, device = given.pop("dtype", None), given.pop("device", None)
    other = given.pop("other", None)
    if given or other is not None:
        raise NeedsOpaque(f"to(…, {', '.join(given)})")
    wanted = input.dtype if dtype is None else to_dtype(dtype)
    if input.dtype.kind == "c" and wanted.kind != "c":
        raise NeedsOpaque("complex numbers as others")
    made = clang.convert(input if device is None else on_device(input, to_device(device)), wanted)
    return prims.clone(made) if copies else made


@torchsymbol(Tensor.type_as, returns="argument")
def type_as(input: Any, other: Any) -> TensorProxy:
    """In the dtype of ``other``."""
    return to(input, other)


@torchsymbol(Tensor.type, returns="argument")
def type_(input: Any, dtype: Any = None, non_blocking: Any = False) -> TensorProxy:
    """In another dtype."""
    if not isinstance(dtype, torch.dtype):
        raise NeedsOpaque("the name of a type")
    return to(input, dtype)


@torchsymbol(Tensor.cpu, returns="argument")
def cpu(input: Any) -> TensorProxy:
    """The tensor on the CPU, itself if it is there."""
    return on_device(input, devices.cpu)


@torchsymbol(Tensor.cuda, returns="argument")
def cuda(input: Any, device: Any = None, non_blocking: Any = False) -> TensorProxy:
    """The tensor on a CUDA device, by default the current one; itself if it is there."""
    return on_device(input, to_device("cuda" if device is None else device))


@torchsymbol(Tensor.numpy, returns="view")
def numpy(input: Any, *, force: Any = False) -> TensorProxy:
    """An ndarray on the same memory."""
    if input.dtype.name == "bfloat16":
        raise NeedsOpaque("NumPy has no bfloat16")
    if input.device is not devices.cpu:
        raise NeedsEager(f"it gives a tensor on {input.device} to NumPy")
    return prims.as_language(input, "numpy")


@torchsymbol(torch.from_numpy, returns="view")
def from_numpy(ndarray: Any) -> TensorProxy:
    """A tensor on the memory of an ndarray."""
    tensor_only(ndarray)
    if ndarray.lang.name != "numpy":
        raise TypeError("expected np.ndarray (got Tensor)")
    return prims.as_language(ndarray, "torch")


@torchsymbol(torch.from_dlpack, returns="view")
def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> TensorProxy:
    """Another tensor on the memory of a tensor or an ndarray, or, with ``copy``, a new one."""
    tensor_only(ext_tensor)
    if device is not None:
        raise NeedsOpaque("a tensor on a device that is named")
    made = ext_tensor if ext_tensor.lang.name == "torch" else prims.as_language(ext_tensor, "torch")
    return prims.clone(made) if copy else prims.reshape(made, made.shape)


@torchsymbol("broadcast_tensors", returns="view")
def broadcast_tensors(*tensors: Any) -> tuple[TensorProxy, ...]:
    """All repeated to one shape."""
    tensor_only(*tensors)
    return tuple(clang.broadcast(*tensors)) if len(tensors) > 1 else (prims.reshape(tensors[0], tensors[0].shape),)


@torchsymbol(Tensor.sum_to_size)
def sum_to_size(input: Any, *size: Any) -> TensorProxy:
    """Summed over what would be repeated if a tensor of that shape were expanded to this one's."""
    shape = shape_argument(size)
    new = input.ndim - len(shape)
    if input.dtype.kind not in "bif" or input.dtype.bits == 16 or new < 0:
        raise NeedsOpaque("a sum of other numbers")
    if any(sizes.fits(m, n) is False for n, m in zip(input.shape[new:], shape)):
        raise RuntimeError("size is not expandable to the size of the tensor")
    dims = tuple(d for d, n in enumerate(input.shape) if d < new or not sizes.equal(shape[d - new], n))
    if shape and not dims:
        return input
    a = clang.convert(input, dtypes.int64) if input.dtype.kind in "bi" else input
    return clang.reshape(prims.sum(a, dims), shape)


@torchsymbol("unsafe_chunk", returns="view")
def unsafe_chunk(input: Any, chunks: Any, dim: Any = 0) -> tuple[TensorProxy, ...]:
    """:func:`chunk`, of which autograd does not know that the pieces are views."""
    return chunk(input, chunks, dim)


@torchsymbol("unsafe_split", returns="view")
def unsafe_split(tensor: Any, split_size: Any, dim: Any = 0) -> tuple[TensorProxy, ...]:
    """:func:`split`, of which autograd does not know that the pieces are views."""
    return split(tensor, split_size, dim)
