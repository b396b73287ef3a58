"""An interpreter of the IR of whole loops, on the memory of real arrays: slow and obviously right."""

import ctypes
import math
import operator

import numpy as np

from tests.executors.llvm.loop_ir_interpreter import ROUTINES, function_of
from tnp.core.reduction_table import REDUCTIONS
from tnp.executors.llvm.program.instructions import SHAPES, SLOTS
from tnp.executors.llvm.program.integers import Int
from tnp.executors.llvm.program.ir import Branch, Constant, Instruction, Loop
from tnp.executors.llvm.scalars.registers import known_float

__all__ = ["Failed", "Left", "Unsupported", "interpret"]

_COMBINES = {row.name: row.combines for row in REDUCTIONS}


class Left(Exception):
    """The program declines its arguments, or refuses to go on."""


class Failed(Exception):
    """A check failed: its number, and the values of its message."""


class Unsupported(Exception):
    """An instruction that is not interpreted: a call of a library."""


class _Break(Exception):
    pass


def interpret(program, slots):
    """Runs a program on the memory whose addresses are at ``slots``."""
    with np.errstate(all="ignore"):
        _Interpreter(program).run(program, slots)


def _wrapped(x):
    return (x + 2**63) % 2**64 - 2**63


def _unsigned(x):
    return x % 2**64


def _quotient(a, b):
    """Rounded to zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


_WHOLE = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "and": operator.and_, "or": operator.or_,
    "xor": operator.xor, "shl": lambda a, b: a << b, "lshr": lambda a, b: _unsigned(a) >> b, "ashr": lambda a, b: a >> b,
    "udiv": lambda a, b: _unsigned(a) // _unsigned(b), "urem": lambda a, b: _unsigned(a) % _unsigned(b),
    "sdiv": lambda a, b: _quotient(a, b), "srem": lambda a, b: a - b * _quotient(a, b),
}  # fmt: skip
_EXACT = {"sadd": operator.add, "ssub": operator.sub, "smul": operator.mul}
_FLOATING = {"fadd": np.add, "fsub": np.subtract, "fmul": np.multiply, "fdiv": np.divide}
_COMPARISONS = {
    "eq": operator.eq, "ne": operator.ne, "slt": operator.lt, "sle": operator.le, "sge": operator.ge,
    "ule": lambda a, b: _unsigned(a) <= _unsigned(b), "ugt": lambda a, b: _unsigned(a) > _unsigned(b),
    "uge": lambda a, b: _unsigned(a) >= _unsigned(b),
    "ogt": operator.gt, "oge": operator.ge, "olt": operator.lt, "une": operator.ne,
    "ord": lambda a, b: a == a and b == b,
}  # fmt: skip


class _Interpreter:
    def __init__(self, program):
        self.values = {}
        self.cells = {}
        self.memory = []
        for a in program.allocations:
            assert isinstance(a.size, int)
            room = ctypes.create_string_buffer(a.size + 64)
            self.memory.append(room)
            self.values[a.register] = ctypes.addressof(room)

    def run(self, program, slots):
        self.values[SLOTS] = slots
        self.values[SHAPES] = None
        for block in (program.head, program.ahead, program.copies):
            self.block(block)
        try:
            self.block(program.body_block)
        except Left:
            self.block(program.restores)
            raise

    def block(self, block):
        for item in block:
            if isinstance(item, Instruction):
                self.instruction(item)
            elif isinstance(item, Loop):
                self.loop(item)
            elif isinstance(item, Branch):
                self.block(item.then if self.value(item.condition) else item.otherwise)
            else:
                self.repeat(item)

    def loop(self, x):
        first, last, step = (int(self.value(n)) for n in (x.first, x.last, x.step))
        assert bool(self.value(x.some)) == (first < last if x.ascends else last < first)
        try:
            for i in range(first, last, step):
                self.values[x.variable] = i
                self.block(x.body)
        except _Break:
            assert not x.of_elements

    def repeat(self, x):
        try:
            while True:
                self.block(x.test)
                if not self.value(x.goes_on):
                    break
                self.block(x.body)
        except _Break:
            pass

    def value(self, x):
        if isinstance(x, Int):
            total = x.constant
            for atom, c in x.terms.items():
                total += c * math.prod(int(self.values[f.register]) for f in atom.factors)
            return np.int64(_wrapped(total))
        if isinstance(x, Constant):
            return _number(x.text, x.dtype)
        return self.values[x]

    def instruction(self, x):
        made = getattr(self, f"_{x.op}")(x, *map(self.value, x.args))
        if x.result is not None:
            if x.result.dtype is not None:
                made = np.asarray(made).astype(x.result.dtype.name)[()]
            self.values[x.result] = made

    def _nothing(self, x):
        pass

    def _hidden(self, x, number):
        return number

    def _apply(self, x, *args):
        name, of = x.info
        if name == "where":
            return args[1] if args[0] else args[2]
        if name == "complex":
            return np.complex128(complex(args[0], args[1]))
        return function_of(name)(*(np.asarray(a).astype(of.name)[()] for a in args))

    def _convert(self, x, a):
        return np.asarray(a).astype(x.result.dtype.name)[()]

    def _bitcast(self, x, a):
        return np.asarray(a).astype(x.info.name).view(x.result.dtype.name)[()]

    def _raw(self, x, a, b):
        op, dtype = x.info
        if op.startswith(("icmp", "fcmp")):
            a, b = (v if dtype is None or dtype.kind == "f" else int(v) for v in (a, b))
            return bool(_COMPARISONS[op.split()[1]](a, b))
        if dtype.kind == "f":
            return _FLOATING[op](a, b)
        found = int(_WHOLE[op.split()[0]](int(a), int(b)))
        return np.bool_(found) if dtype.kind == "b" else np.int64(_wrapped(found))

    def _exactly(self, x, a, b):
        found = _EXACT[x.info](int(a), int(b))
        self.values[x.also] = np.bool_(found != _wrapped(found))
        return np.int64(_wrapped(found))

    def _extreme(self, x, a, b):
        return {"smin": min, "smax": max}[x.info](int(a), int(b))

    def _combine(self, x, a, b):
        return function_of(_COMBINES[x.info[0]])(a, b)

    def _multiply_add(self, x, a, b, total):
        return a * b + total if x.info.kind != "b" else (a and b) or total

    def _pow_of_c(self, x, a, b):
        return np.power(a, b)

    def _get(self, x):
        return self.cells[x.info]

    def _set(self, x, value):
        self.cells[x.info] = value

    def _address(self, x, pointer, offset):
        return pointer + int(offset)

    def _load(self, x, pointer, offset):
        dtype = x.result.dtype
        if dtype is None:
            return ctypes.c_void_p.from_address(pointer + int(offset)).value
        found = ctypes.string_at(pointer + int(offset), dtype.itemsize)
        return np.frombuffer(found, dtype.name)[0]

    def _store(self, x, pointer, offset, value):
        dtype, _ = x.info
        content = np.asarray(value).astype(dtype.name).tobytes()
        ctypes.memmove(pointer + int(offset), content, len(content))

    def _copy(self, x, to, begin, count):
        ctypes.memmove(to, begin, int(count))

    def _in_place(self, x, place, n, width):
        op, dtype, *_ = x.info
        n, width = int(n), int(width)
        raw = (ctypes.c_char * (n * width * dtype.itemsize)).from_address(place)
        matrix = np.frombuffer(raw, dtype.name).reshape(n, width)
        matrix[...] = ROUTINES[op](matrix)

    def _check(self, x, ok, *values):
        if not ok:
            raise Left if x.info is None else Failed(x.info, *map(int, values))

    def _decline(self, x, ok):
        if not ok:
            raise Left

    def _break(self, x, leaves):
        if leaves:
            raise _Break

    def _call(self, x, *args):
        raise Unsupported(x.info[0])

    def _place(self, x):
        raise Unsupported("the address of a variable")


def _number(text, dtype):
    """A constant, as LLVM spells it."""
    if isinstance(text, tuple):
        part = {"complex64": "float32", "complex128": "float64"}[dtype.name]
        re, im = (np.dtype(part).type(known_float(t)) for t in text)
        return np.dtype(dtype.name).type(complex(re, im))
    if dtype.kind == "b":
        return np.bool_(text == "true")
    if text.startswith("0xH"):
        return np.uint16(int(text[3:], 16)).view(np.float16)
    return np.dtype(dtype.name).type(known_float(text) if dtype.kind == "f" else int(text))
