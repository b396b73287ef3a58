"""NumPy's functions and methods as texts with holes, from its reference, chapter by chapter.

The holes: ``{a}`` an array; ``{b}`` what broadcasts with it; ``{s}`` a scalar; ``{f}`` floating point; ``{r}`` real; ``{i}`` integers; ``{z}``
complex; ``{m}`` a mask of the first array's shape; ``{v}``, ``{w}`` one and two dimensions; ``{q}`` at least one; ``{c}`` an array of the
first one's shape; ``{k}`` an axis of the first array; ``{n}`` a small integer; ``{p}`` a small positive one; ``{x}`` a Python float; ``{d}`` a dtype; ``{o}`` places
in the first array's first dimension; ``{u}``, ``{t}``, ``{g}`` names of functions of one and of two arguments, and of logical ones.
"""

from __future__ import annotations

__all__ = ["BINARY", "CALLS", "METHODS", "OPERATORS", "UNARY", "UPDATES"]

UNARY = (
    "negative positive absolute fabs sign rint floor ceil trunc sqrt cbrt square reciprocal exp exp2 expm1 log log2 log10 log1p sin cos "
    "tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh deg2rad rad2deg isnan isinf isfinite signbit logical_not invert "
    "conjugate spacing fix real imag angle i0 sinc nan_to_num isreal iscomplex"
).split()
BINARY = (
    "add subtract multiply divide true_divide floor_divide remainder mod fmod power float_power maximum minimum fmax fmin arctan2 hypot "
    "copysign nextafter logaddexp logaddexp2 bitwise_and bitwise_or bitwise_xor left_shift right_shift equal not_equal less less_equal "
    "greater greater_equal logical_and logical_or logical_xor gcd lcm heaviside ldexp"
).split()
OPERATORS = "+ - * / + - * // % ** & | ^ << >> < <= > >= == !=".split()

CALLS = (
    # mathematical functions
    "np.{u}({a})", "np.{u}({f})", "np.{u}({r})", "np.{t}({a}, {b})", "np.{t}({r}, {b})", "np.{t}({i}, {b})", "np.divmod({r}, {b})[0]",
    "np.modf({f})[1]", "np.frexp({f})[0]", "np.clip({r}, {n}, {p})", "np.clip({r}, None, {s})", "np.round({f}, {n})", "np.around({f})",
    "np.interp({r}, [0, 1, 2], [0.0, 1.5, 1.0])", "np.convolve({v}, {v})", "np.cross([1, 0, 2], [3, 1, 1])", "np.trapezoid({q})",
    "np.diff({q})", "np.diff({q}, n={n}, axis={k})", "np.ediff1d({a})", "np.gradient({v})", "np.unwrap({v})",
    # reductions
    "np.sum({a})", "np.sum({a}, axis={k})", "np.sum({a}, axis={k}, keepdims=True)", "np.sum({a}, dtype={d})", "np.sum({a}, where={m})",
    "np.prod({a}, axis={k})", "np.mean({a})", "np.mean({a}, axis={k}, keepdims=True)", "np.var({f}, ddof={n})", "np.std({f}, axis={k})",
    "np.max({r}, axis={k})", "np.min({r}, initial={n})", "np.max({r}, initial={n}, where={m})", "np.amin({r})", "np.ptp({r}, axis={k})",
    "np.any({a}, axis={k})", "np.all({a})", "np.all({a}, axis={k}, keepdims=True)", "np.argmax({r})", "np.argmin({r}, axis={k})",
    "np.count_nonzero({a})", "np.count_nonzero({a}, axis={k})", "np.median({r})", "np.median({r}, axis={k})", "np.average({r}, weights={c})",
    "np.cumsum({a})", "np.cumsum({a}, axis={k})", "np.cumprod({a}, axis={k}, dtype={d})", "np.nansum({f})", "np.nanmean({f}, axis={k})",
    "np.nanmax({f})", "np.nancumsum({f})", "np.percentile({r}, {n})", "np.quantile({f}, 0.25, axis={k})", "np.sum({a}, axis=())",
    "np.linalg.norm({f})", "np.linalg.norm({v})", "np.add.reduce({a})", "np.add.reduce({a}, axis={k})", "np.multiply.reduce({a}, axis=None)",
    "np.maximum.reduce({q})", "np.{g}.reduce({a}, axis={k})", "np.add.accumulate({q})", "np.maximum.accumulate({q}, axis={k})",
    "np.multiply.accumulate({q})", "np.subtract.accumulate({v})", "np.add.outer({v}, {v})", "np.{t}.outer({v}, {v})",
    "np.add.reduceat({v}, [0])", "np.bitwise_or.reduce({i})", "np.logaddexp.reduce({r})", "np.subtract.reduce({q})",
    # linear algebra
    "np.dot({v}, {v})", "np.dot({w}, {w})", "np.dot({w}.T, {w})", "np.matmul({w}, {w}.T)", "({w} @ {w}.T)", "np.inner({v}, {v})",
    "np.outer({v}, {v})", "np.vdot({a}, {c})", "np.tensordot({w}, {w}, axes=([0], [0]))", "np.einsum('ij,kj->ik', {w}, {w})",
    "np.einsum('i,i->', {v}, {v})", "np.einsum('ij->ji', {w})", "np.einsum('i,j', {v}, {v})", "np.einsum('...i->...', {q})", "np.trace({w})",
    "np.kron({v}, {v})", "np.linalg.matrix_power({w}, {n})", "np.einsum('ii->i', {w} @ {w}.T)", "np.linalg.det({w} @ {w}.T)",
    # creation
    "np.zeros({n})", "np.zeros(({p}, {n}), dtype={d})", "np.ones_like({a})", "np.full({p}, {s})", "np.full_like({a}, {n})", "np.arange({n})",
    "np.arange({n}, {p} * 3, {p})", "np.arange({n}, dtype={d})", "np.arange({x}, {p})", "np.linspace({x}, {p}, {p})", "np.eye({p})", "np.eye({p}, {n}, k=1)",
    "np.identity({n}, dtype={d})", "np.array([{n}, {p}])", "np.array([{x}, {n}])", "np.array([[{n}, {p}], [{p}, {n}]], dtype={d})", "np.array({a})",
    "np.asarray({a})", "np.asarray({a}, dtype={d})", "np.array({a}, copy=True)", "np.array([{c}, {c}])", "np.zeros_like({a}, dtype={d})", "np.diag({v})", "np.diag({w})",
    "np.tri({p})", "np.tril({w})", "np.triu({w}, {n})", "np.vander({v}, {n})", "np.meshgrid({v}, {v})[0]", "np.indices(({p}, {n}))[1]",
    "np.ones({a}.shape)", "np.zeros({a}.shape, {a}.dtype)", "np.fromfunction(lambda i, j: i + j, ({p}, {p}))", "np.logspace(0, {p}, {n})",
    "np.geomspace(1, 8, {p})", "np.ascontiguousarray({a})", "np.copy({a})", "np.asfortranarray({a})", "np.diagflat({v})", "np.ix_([0], [0])[0]",
    # manipulation
    "np.reshape({a}, -1)", "np.ravel({a})", "np.ravel({a}, 'F')", "np.reshape({a}, (-1, 1))", "np.transpose({a})", "np.swapaxes({a}, {k}, 0)", "np.moveaxis({a}, {k}, -1)",
    "np.expand_dims({a}, 0)", "np.squeeze({a})", "np.concatenate([{q}, {c}])", "np.concatenate(({a}, {c}), axis={k})", "np.concatenate(({a}, {c}), axis=None)",
    "np.stack([{a}, {c}])", "np.stack(({a}, {c}), axis=-1)", "np.vstack([{q}, {c}])", "np.hstack(({q}, {c}))", "np.column_stack([{v}, {c}])", "np.append({a}, {s})",
    "np.append({v}, {v})", "np.insert({v}, 0, {s})", "np.delete({v}, [0])", "np.tile({a}, {p})", "np.repeat({a}, {p})", "np.repeat({q}, {n}, axis={k})", "np.flip({a})",
    "np.flip({a}, {k})", "np.fliplr({w})", "np.roll({a}, {n})", "np.roll({q}, -{p}, axis={k})", "np.rot90({w})", "np.pad({a}, 1)", "np.pad({q}, {n}, mode='edge')",
    "np.broadcast_to({a}, (2, *{a}.shape))", "np.broadcast_arrays({a}, {b})[1]", "np.split({v}, [1])[1]", "np.array_split({q}, 2)[0]", "np.atleast_1d({a})", "np.atleast_2d({s})",
    "np.block([{v}, {v}])", "np.resize({a}, ({p}, 2))", "np.trim_zeros({v})", "np.hsplit({v}, [{n}])[0]",
    # sorting, searching, sets
    "np.sort({r})", "np.sort({q}, axis={k})", "np.sort({a}, axis=None)", "np.argsort({q}, kind='stable')", "np.argsort({q}, axis={k}, kind='stable')", "np.sort({q})[::-1]",
    "np.searchsorted(np.sort({v}), {r})", "np.searchsorted(np.sort({v}), {s}, side='right')", "np.partition({v}, 0)[0]", "np.lexsort(({v},))", "np.nonzero({a})[0]",
    "np.flatnonzero({a})", "np.argwhere({a})", "np.where({m}, {a}, {b})", "np.where({a}, {n}, {x})", "np.where({m})[0]", "np.extract({m}, {a})", "np.unique({a})",
    "np.unique({r}, return_counts=True)[1]", "np.unique({r}, return_inverse=True)[1]", "np.isin({a}, {v})", "np.intersect1d({r}, {r})", "np.union1d({r}, {r})", "np.setdiff1d({r}, {r})",
    "np.digitize({r}, [0, 1, 2])", "np.histogram({r}, bins={p})[0]", "np.bincount(np.abs({i}).ravel() % 7)", "np.bincount([1, {n}], minlength={p})",
    # indexing
    "np.take({a}, {o}, axis=0)", "np.take({a}, [0])", "np.take_along_axis({v}, np.argsort({v}, kind='stable'), 0)", "np.compress([True], {q}, axis=0)",
    "np.choose([0, 1, 1], [{n}, {p}])", "np.select([{m}], [{a}], default={s})", "np.diagonal({w})", "{q}[{o}]", "{a}[{m}]", "{q}[{o}, ...]", "np.delete({q}, 0, axis={k})",
    "{a}[np.nonzero({m})]", "{w}[{o}, 0]", "{q}[np.argsort({v}, kind='stable')]", "np.unravel_index({n}, (3, 4))[1]", "{a}[...]", "{a}[()]", "{a}.flat[0]",
    # types and logic
    "{a}.astype({d})", "np.isclose({a}, {b})", "np.array_equal({a}, {c})", "np.allclose({a}, {c})", "np.result_type({a}, {s})", "np.can_cast({a}.dtype, {d})", "np.shape({a})",
    "np.ndim({b})", "np.size({a})", "np.float32({s})", "np.int64({n})", "np.float64({x})", "np.isscalar({s})", "np.array_equiv({a}, {b})", "np.iscomplexobj({a})",
    "np.uint8({n}) - np.uint8({p})", "np.int8(100) + np.int8({p})", "np.dtype({d})", "np.shares_memory({a}, {b})", "np.minimum({s}, {n})", "np.finfo(np.float32).eps", "np.issubdtype({a}.dtype, np.floating)",
)  # fmt: skip

METHODS = (
    ".T", ".real", ".imag", ".copy()", ".ravel()", ".flatten()", ".reshape(-1)", ".sum()", ".sum(axis={k})", ".mean()", ".max()", ".min(axis={k})", ".any()", ".all(axis={k})",
    ".cumsum()", ".prod()", ".std()", ".argmax()", ".astype({d})", ".clip({n}, {p})", ".round({n})", ".conj()", ".squeeze()", ".transpose()", ".swapaxes({k}, -1)", ".repeat({n})",
    ".take({o}, axis=0)", ".nonzero()[0]", ".diagonal()", ".trace()", ".dot({b})", ".reshape(-1, 1)", ".reshape({c}.shape)", ".view()", ".item(0)", ".tolist()", ".argsort(kind='stable')", ".size", ".shape", ".ndim",
    ".dtype", ".T.copy().T", ".flat[-1]", ".mean(axis={k}, keepdims=True)", ".var(ddof=1)", ".searchsorted({n})", ".compress([False, True])", ".nbytes", ".itemsize", ".strides[-1:]", ".flags.writeable",
    ".dtype.kind", ".dtype.name", ".__len__()", ".astype({d}, copy=False)", ".copy('F')", ".ravel('F')", ".view(np.uint8).size", ".sum(0, keepdims=True)", ".max(initial={n})", ".byteswap().byteswap()",
)  # fmt: skip

#: statements that write to the array that the text ``{y}`` reads
UPDATES = (
    "np.add({y}, {b}, out={y})", "np.{t}({y}, {b}, out={y})", "np.{u}({y}, out={y})", "np.multiply({y}, {b}, out={y}, where={m})", "np.{u}({y}, out={y}, where={m})", "np.copyto({y}, {b})",
    "np.copyto({y}, {s}, where={m})", "np.put({y}, [0], {s})", "np.place({y}, {m}, [{n}, {p}])", "np.putmask({y}, {m}, {s})", "np.fill_diagonal({y}, {s})", "np.add.at({y}, {o}, {s})", "np.subtract.at({y}, [0, 0], 1)",
    "np.maximum.at({y}, {o}, {s})", "{y}.sort()", "{y}.sort(axis=0)", "{y}.fill({s})", "{y}[...] = {b}", "{y}[:] = {b}", "{y}[{o}] = {s}", "{y}[{m}] = {s}", "{y}[{m}] += {p}", "{y}[{o}] += {s}", "{y}[::2] = {s}", "{y}[::-1] = {y}",
    "{y}[1:] = {y}[:-1]", "{y}[1:] += {y}[:-1]", "{y}[:-1] -= {y}[1:]", "{y}.flat[0] = {s}", "{y}.flat[::2] = {n}", "{y}.T[...] = {s}", "{y}[0] = {y}[-1]", "{y}[-1] *= {p}", "{y} += {b}", "{y} -= {b}", "{y} *= {b}", "{y} /= {b}",
    "{y} //= {p}", "{y} **= 2", "{y} %= {p}", "{y} &= {b}", "{y} |= {b}", "{y} <<= 1", "np.cumsum({y}, axis=0, out={y})", "np.sum({y}, axis=0, keepdims=True, out={y}[:1])", "np.clip({y}, {n}, {p}, out={y})", "{y}.real = {s}",
    "{y}.imag[...] = {s}", "{y}[:, 0] = {s}", "{y}[..., -1] += {s}", "{y}[0], {y}[-1] = {y}[-1], {y}[0]", "{y}[np.argmax({y})] = {s}", "np.negative({y}[1:], out={y}[:-1])", "{y}[{y} > {s}] = {n}", "{y}.partition(0)",
    "np.put_along_axis({y}, np.argsort({y}, kind='stable')[:1], {s}, 0)", "{y}[-{p}:] = {s}", "{y}[{n}:{p} + {n}] *= 2", "np.logical_not({y}, out={y})", "{y}.reshape(-1)[0] = {s}", "{y}.ravel()[{n}:] += 1", "{y}.itemset",
    "np.concatenate([{y}[1:], {y}[:1]], out={y})", "np.take({y}, [0, -1], axis=0, out={y}[:2])", "np.stack([{y}[-1], {y}[0]], out={y}[:2])", "{y}.flat[{o}] = {s}", "{y} += (w0 := {y}.sum())", "np.ptp({y}, axis=0, keepdims=True, out={y}[:1])",
)  # fmt: skip
