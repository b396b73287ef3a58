"""An interpreter of the loop IR in NumPy: slow and obviously right. Tests compare code with it."""

import operator

import numpy as np

from tests.executors.llvm import lapack_interpreter
from tnp.core import symbols
from tnp.core.elementwise_table import by_name
from tnp.core.reduction_table import REDUCTIONS
from tnp.executors.llvm.index import Part, Quotient
from tnp.executors.llvm.loop_ir import nodes
from tnp.executors.numpy import kernels

_SIZES = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
}
_COMBINES = {row.name: row.combines for row in REDUCTIONS}


def interpret(kernel, arrays, numbers, sizes):
    """The outputs of a kernel: ``arrays`` and ``numbers`` are its inputs, ``sizes`` the values of symbols by name."""
    return Interpreter(kernel, arrays, numbers, sizes).run()


def squares(*parts):
    x, y = parts if len(parts) == 2 else (parts[0].real, parts[0].imag)
    return x * x + y * y


def squares_or_infinity(*parts):
    x, y = parts if len(parts) == 2 else (parts[0].real, parts[0].imag)
    return np.where(np.isinf(x) | np.isinf(y), np.inf, squares(*parts))


_OTHERS = {"squares": squares, "squares_or_infinity": squares_or_infinity}


def function_of(op):
    if op in _OTHERS:
        return _OTHERS[op]
    name = by_name[op].numpy if op in by_name else op
    return getattr(np, name) if name else getattr(kernels, op)


def eliminated(a):
    """Gaussian elimination of each matrix, with the signs of exchanged rows changed."""
    made, n = a.copy(), a.shape[-2]
    for m in made.reshape(-1, *a.shape[-2:]):
        for k in range(n):
            size = np.abs(m[k:, k].real) + np.abs(m[k:, k].imag)
            p = k + int(np.argmax(size))
            if p != k:
                m[k, k:], m[p, k:] = m[p, k:].copy(), -m[k, k:]
            for i in range(k + 1, n) if size.max() != 0 else ():
                m[i, k + 1 :] -= m[i, k] / m[k, k] * m[k, k + 1 :]
        for k in reversed(range(n)):
            m[k, n:] = (m[k, n:] - m[k, k + 1 : n] @ m[k + 1 :, n:]) / m[k, k]
    return made


ROUTINES = {"sort": np.sort, "eliminate": eliminated, "cholesky": np.linalg.cholesky, **lapack_interpreter.ROUTINES}


class Interpreter:
    def __init__(self, kernel, arrays, numbers, sizes):
        self.kernel, self.numbers, self.sizes = kernel, numbers, sizes
        self.memory = dict(zip(kernel.inputs, arrays, strict=True))
        for buffer in (*kernel.outputs, *kernel.temporaries):
            self.memory[buffer] = np.empty(tuple(map(self.size, buffer.shape)), buffer.dtype.name)

    def run(self):
        with np.errstate(all="ignore"):
            for nest in self.kernel.nests:
                if isinstance(nest, nodes.Check):
                    assert not self.memory[nest.buffer], "the kernel refuses its arguments"
                elif isinstance(nest, nodes.Moments):
                    self.nest(nest.first, {})
                elif isinstance(nest, nodes.Centered):
                    self.nest(nest.nest, {})
                elif isinstance(nest, nodes.Swept):
                    for part in nest.parts:
                        self.entry(part, part.loops, {})
                elif isinstance(nest, nodes.Skewed):
                    self.skewed(nest)
                else:
                    self.entry(nest, nest.loops, {})
        return [self.memory[b] for b in self.kernel.outputs]

    def entry(self, entry, loops, around):
        if not isinstance(entry, nodes.Rows):
            self.nest(nodes.Nest(loops, entry.statements), around)
            return
        for at in np.ndindex(*(self.size(v.limit) for v in loops)):
            for inner in entry.nests:
                self.nest(inner, around | dict(zip(loops, at)))

    def skewed(self, nest):
        """Each row of the second nest as soon as the first one is done with what it needs."""
        (first, *others), (second, *more) = nest.first.loops, nest.second.loops
        done = 0
        for i in range(self.size(first.limit)):
            self.entry(nest.first, others, {first: i})
            ready = self.size(second.limit) if i + 1 == self.size(first.limit) else i - nest.high + 1
            for j in range(done, min(ready, self.size(second.limit))):
                self.entry(nest.second, more, {second: j})
                done = j + 1

    def size(self, n):
        if isinstance(n, int):
            return n
        number = n.number if isinstance(n, symbols.Extent) else n
        if number.name in self.sizes:
            return self.sizes[number.name]
        operation, args = number.origin
        return _SIZES[operation](*map(self.size, args))

    def nest(self, nest, around):
        """Statement by statement, at all points of the loops: each loop is an axis."""
        lengths = [self.size(v.limit) for v in nest.loops]
        values = around | {
            v: np.arange(n).reshape([-1 if u is v else 1 for u in nest.loops]) for v, n in zip(nest.loops, lengths)
        }
        for s in nest.statements:
            value = np.broadcast_to(self.value(s.value, values), lengths)
            if isinstance(s, nodes.Reduce) and s.op in ("argmax", "argmin"):
                value = getattr(np, s.op)(value, axis=nest.loops.index(*s.over), keepdims=True)
            elif isinstance(s, nodes.Reduce):
                axes = tuple(i for i, v in enumerate(nest.loops) if v in s.over)
                reduce = function_of(_COMBINES[s.op]).reduce
                value = reduce(value, axis=axes, dtype=value.dtype, keepdims=True)
            if isinstance(s, nodes.Search):
                axis = nest.loops.index(s.along)
                assert np.all(np.diff(value.astype("i1"), axis=axis) <= 0), "what is searched is not sorted"
                value = np.count_nonzero(value, axis=axis, keepdims=True)
            if isinstance(s, nodes.InPlace):
                value = ROUTINES[s.op](value)
            if isinstance(s, nodes.Scan):
                value = function_of(_COMBINES[s.op]).accumulate(
                    value, axis=nest.loops.index(s.along), dtype=value.dtype
                )
            if s.buffer.role == "point":
                self.memory[s.buffer] = value
                continue
            if isinstance(s, nodes.Positions):
                self.memory[s.buffer][...] = np.nonzero(value)[0]
                continue
            if isinstance(s, nodes.Compress):
                mask = np.broadcast_to(self.value(s.mask, values), lengths)
                self.memory[s.buffer][...] = value[mask]
                continue
            at = self.place(s.at, values)
            if isinstance(s, nodes.Scatter):
                where = np.broadcast_arrays(*at, value)[:-1]
                for point in np.ndindex(*lengths):
                    place = tuple(w[point] for w in where)
                    before = self.memory[s.buffer][place] if s.adds else None
                    self.memory[s.buffer][place] = np.add(before, value[point]) if s.adds else value[point]
                continue
            self.memory[s.buffer][at] = value.reshape(np.broadcast_shapes(*map(np.shape, at), ()))

    def place(self, at, values):
        return tuple(self.index(i, values) for i in at)

    def index(self, index, values):
        terms = [(self.atom(atom, values), c) for atom, c in index.terms.items()]
        return sum((self.size(c) * v for v, c in terms), self.size(index.constant))

    def atom(self, atom, values):
        if isinstance(atom, nodes.Element):
            return self.element(atom, values)
        if isinstance(atom, Part):
            return (operator.floordiv if isinstance(atom, Quotient) else operator.mod)(
                self.index(atom.of, values), atom.by
            )
        return values[atom]

    def element(self, element, values):
        found, limit = self.value(element.x, values).astype("i8"), self.size(element.limit)
        found = np.where(found < 0, found + limit, found)
        return np.where((found < 0) | (found >= limit), limit - 1, found)

    def value(self, x, values):
        if isinstance(x, nodes.Load) and x.buffer.role == "point":
            return self.memory[x.buffer]
        if isinstance(x, nodes.Load):
            at = self.place(x.at, values)
            for i, n in zip(at, self.memory[x.buffer].shape):
                assert np.min(i) >= 0 and np.max(i) < n, f"{x.buffer.name}[{x.at}] is out of bounds"
            return np.asarray(self.memory[x.buffer][at])
        if isinstance(x, nodes.Apply):
            return np.asarray(function_of(x.op)(*(self.value(a, values) for a in x.args))).astype(x.dtype.name)
        if isinstance(x, nodes.Convert):
            value = self.value(x.x, values)
            return value.view(x.dtype.name) if x.bits else value.astype(x.dtype.name)
        if isinstance(x, nodes.Number):
            return np.asarray(self.numbers[x.index], x.dtype.name)
        if isinstance(x, nodes.Size):
            return np.asarray(self.size(x.size), x.dtype.name)
        if isinstance(x, nodes.Position):
            return np.asarray(self.index(x.index, values), x.dtype.name)
        return np.asarray(x.value, x.dtype.name)
