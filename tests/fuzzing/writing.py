"""Writing random programs, statement by statement, each run under NumPy as it is written."""

from __future__ import annotations

import math
import re
from random import Random

import numpy as np

from .arguments import COMMON, DTYPES, LAYOUTS
from .programs import Program, Statement
from .replay import Rejected, Replay

UNARY = {
    "": ("-{0}", "+{0}", "{0} * 2", "1 - {0}", "2.5 * {0}", "{0}.copy()", "np.conj({0})", "{0} * np.float32(1.5)", "{0} - np.int8(3)",
         "{0} + 1j", "~{0}", "{0} & 3", "{0} << 1", "{0} >> 1", "{0}.astype(np.{T})",
         "{0}.astype(np.{T}, copy=False)", "np.ones_like({0}) + {0}", "np.positive({0})", "{0} + np.array(2)", "{0} + True"),
    "c": ("{0} / 4", "{0} * {0}", "({0} + 1) * ({0} - 1)", "abs({0})", "np.square({0})", "{0} ** 2", "{0} / np.float32(3)", "{0} * 1j"),
    "d": ("np.sign({0})", "np.floor({0})", "np.ceil({0})", "np.trunc({0})", "np.rint({0})", "np.isnan({0})", "np.isfinite({0})",
          "np.signbit({0})", "np.logical_not({0})", "{0} // 2", "{0} % 3", "7 // {0}", "5 % {0}", "{0} > 0.5", "{0} == 0", "0 <= {0}",
          "np.isinf({0})", "np.heaviside({0}, 0.5)", "np.modf({0})[0]", "np.frexp({0})[1]", "np.nan_to_num({0})", "{0} != 1",
          "np.divmod({0}, 3)[1]", "np.fmod({0}, -2)", "np.logical_and({0}, {0} > 1)", "np.spacing({0})"),
    "sc": ("np.sqrt({0})", "np.sqrt(abs({0}))", "1 / {0}", "np.reciprocal({0})", "1.0 / ({0} + 4)"),
    "z": ("np.clip({0}, -1, 1)", "np.maximum({0}, 0)", "np.minimum(1, {0})", "np.clip({0}, None, 2)", "np.fmax({0}, 0.5)"),
    "~": ("np.sin({0})", "np.cos({0})", "np.exp(-abs({0}))", "np.exp({0})", "np.log1p(abs({0}))", "np.expm1({0})", "np.tanh({0})",
          "np.arctan({0})", "np.exp2({0})", "np.sinh({0})", "np.arcsinh({0})", "np.deg2rad({0})", "{0} ** 3", "1 / (1 + np.exp(-{0}))",
          "np.hypot({0}, 1)", "np.log(1 + abs({0}))", "np.power(abs({0}) + 1, 1.5)", "np.sin({0}) * np.cos({0}) + {0}"),
    "~s": ("np.log({0})", "np.cbrt({0})", "{0} ** 0.5", "np.sinc({0})", "np.arcsin({0})", "np.log2({0})", "np.angle({0})", "{0} ** -1.5"),
}  # fmt: skip
BINARY = {
    "": ("{0} + {1}", "{0} - {1}", "{0} & {1}", "{0} | {1}", "{0} ^ {1}", "{0} << abs({1})", "{0} >> abs({1})", "np.add({0}, {1})"),
    "c": ("{0} * {1}", "{0} * {1} + {0}", "({0} + {1}) * 0.5", "np.subtract.outer({0}, {1})", "2 * {0} - {1} / 2"),
    "d": ("{0} == {1}", "{0} != {1}", "{0} < {1}", "{0} <= {1}", "{0} > {1}", "{0} >= {1}", "{0} // {1}", "{0} % {1}", "np.copysign({0}, {1})",
          "np.fmod({0}, {1})", "np.where({0} > {1}, {0}, {1})", "np.where({0}, {1}, 0)", "np.where({1} < 0, {0}, {1} * 2)", "np.logical_or({0}, {1})",
          "np.logical_xor({0}, {1})", "np.gcd({0}, {1})", "np.lcm({0}, {1})", "np.divmod({0}, {1})[0]", "np.nextafter({0}, {1})",
          "np.floor({0} + {1})", "np.ldexp({0}, {1})", "np.searchsorted(np.sort({1}.ravel()), {0})", "np.isin({0}, {1})", "np.where({0} == {1}, np.nan, {0})"),
    "sc": ("{0} / {1}", "np.true_divide({0}, {1})", "({0} + 1) / {1}", "{0} / ({1} * {1} + 1)"),
    "z": ("np.maximum({0}, {1})", "np.minimum({0}, {1})", "np.fmax({0}, {1})", "np.fmin({0}, {1})", "np.clip({0}, {1}, 2)"),
    "~": ("np.hypot({0}, {1})", "np.logaddexp({0}, {1})", "np.exp(-abs({0} - {1}))", "np.sin({0}) + np.cos({1})"),
    "~s": ("np.arctan2({0}, {1})", "np.power(abs({0}), {1})", "np.float_power(abs({0}) + 1, {1})", "{0} ** {1}"),
    "r": ("np.dot({0}, {1})", "{0} @ {1}", "np.inner({0}, {1})", "np.outer({0}, {1})", "np.correlate({0}, {1})",
          "np.linalg.solve({0} + 99 * np.eye({0}.shape[-1]), {1})", "np.linalg.inv({0} + 99 * np.eye({0}.shape[-1])) * {1}", "np.linalg.det({0} * 0.1 + np.eye({0}.shape[-1]))"),
}  # fmt: skip
TERNARY = {
    "c": ("{0} * {1} + {2}", "({0} - {1}) * {2}", "{0} + {1} - {2}"),
    "d": ("np.where({0}, {1}, {2})", "np.where({0} > {1}, {2}, {1})", "np.where({0} < 1, {1} + 1, {2} * 2)"),
    "z": ("np.clip({0}, {1}, {2})", "np.maximum(np.minimum({0}, {1}), {2})"),
}
#: {a} is an axis, {p} a permutation, {I} an index, {S} a shape of as many elements, {B} one to broadcast to, {W} a window
VIEWS = ("{0}[{I}]", "{0}[{I}]", "{0}[{I}]", "{0}[{I}]", "{0}.T", "{0}.transpose({p})", "np.swapaxes({0}, {a}, {b})",
         "np.moveaxis({0}, {a}, {b})", "{0}.reshape({S})", "{0}.reshape({S})", "{0}.ravel()", "np.expand_dims({0}, {a})",
         "np.flip({0})", "np.flip({0}, {a})", "np.squeeze({0})", "np.diagonal({0})", "np.diagonal({0}, 1, {a}, {b})", "np.diag({0})",
         "np.broadcast_to({0}, {B})", "np.atleast_2d({0})", "np.rot90({0})", "np.lib.stride_tricks.sliding_window_view({0}, {W}, {a})",
         "{0}.real", "{0}.imag", "np.array_split({0}, 2, {a})[1]", "{0}.reshape(-1, order='F')", "{0}.reshape({S}, order='F')", "{0}[:, None]")  # fmt: skip
COMBINED = ("np.concatenate([{0}, {1}], axis={a})", "np.concatenate([{0}, {0}, {1}], axis={a})", "np.stack([{0}, {1}], axis={a})",
            "np.hstack([{0}, {1}])", "np.vstack([{0}, {1}])", "np.pad({0}, {k})", "np.pad({0}, ({k}, {k2}), mode='edge')",
            "np.pad({0}, {k}, mode='wrap')", "np.pad({0}, {k}, mode='reflect')", "np.pad({0}, ({k2}, {k}), constant_values=7)",
            "np.roll({0}, {k}, axis={a})", "np.roll({0}, -{k})", "np.roll({0}, ({k}, {k2}), axis=(0, 1))", "np.tile({0}, {k})", "np.repeat({0}, 2, axis={a})",
            "np.diff({0}, axis={a})", "np.tril({0})", "np.triu({0}, 1)", "np.append({0}, {1})", "np.concatenate([{0}.ravel(), {1}.ravel()])",
            "np.arange({0}.size).reshape({0}.shape) * {0}", "np.eye({0}.shape[0], {0}.shape[-1]) + {0}", "np.full_like({0}, 3) * {1}",
            "np.arange({0}.shape[{a}]) + 0.5", "np.insert({0}, 1, 5, axis={a})", "np.block([[{0}, {0}], [{0}, {0}]])", "np.delete({0}, 0, axis={a})")  # fmt: skip
#: {A} is an axis, some axes or none, {K} whether they are kept
REDUCTIONS = {
    "r": ("{0}.sum({A}{K})", "np.sum({0}, {A}{K})", "{0}.mean({A}{K})", "np.var({0}, {A}{K})", "{0}.std({A}{K}, ddof=1)", "np.nansum({0}, {A}{K})",
          "np.nanmean({0}, {A}{K})", "({0} * {0}).sum({A}{K})", "np.add.reduce({0}, {A}{K})", "np.abs({0}).sum({A}{K})", "np.linalg.norm({0})",
          "{0}.sum({A}{K}, dtype=np.float64)", "np.sum({0}, {A}{K}, where={0} > 0)", "np.average({0}, {A})", "np.trace({0})"),
    "rm": ("{0}.prod({A}{K})", "np.prod({0} * 0.5, {A}{K})"),
    "z": ("{0}.max({A}{K})", "{0}.min({A}{K})", "np.nanmax({0}, {A}{K})", "np.max(np.abs({0}), {A}{K})", "np.fmax.reduce({0})", "np.median({0}, {A}{K})", "np.quantile({0}, 0.3, {A}{K})"),
    "": ("np.ptp({0}, {A}{K})",),
    "d": ("{0}.any({A}{K})", "{0}.all({A}{K})", "({0} > 0).sum({A}{K})", "np.count_nonzero({0}, {A}{K})", "np.any({0} > 2, {A}{K})",
          "np.all({0} == {0}, {A}{K})", "{0}.argmax({a})", "np.argmin({0}, {a}{K})", "np.bitwise_or.reduce({0}, {a})", "np.argsort({0}, {a}, kind='stable')"),
}  # fmt: skip
CUMULATIVE = {
    "r": (
        "np.cumsum({0}, {a})",
        "{0}.cumsum()",
        "np.cumsum({0}[::-1], 0)[::-1]",
        "np.nancumsum({0}, {a})",
        "np.add.accumulate({0}, {a})",
    ),
    "rm": ("np.cumprod({0}, {a})", "np.cumprod({0} * 0.5)"),
    "z": ("np.maximum.accumulate({0}, {a})", "np.minimum.accumulate({0}, {a})", "np.sort({0}, {a})"),
}
COMPOSED = (
    "{n} = np.exp({0} - {0}.max(axis={a}, keepdims=True))\n{n} = {n} / {n}.sum(axis={a}, keepdims=True)",
    "{n} = ({0} - {0}.mean(axis={a}, keepdims=True)) / (1 + {0}.std(axis={a}, keepdims=True))",
    "{n} = ({0} * {1}).sum(axis={a})",
    "{n} = np.sqrt(1 + (({0}[:, None] - {1}[None]) ** 2).sum(-1))",
    "{n} = ({0}[1:] + {0}[:-1]) * 0.5",
    "{n} = ({0}[2:] - 2 * {0}[1:-1] + {0}[:-2])",
    "{n} = np.zeros_like({0})\n{n}[1:] = {0}[1:] - {0}[:-1]",
    "{n} = np.zeros({0}.shape)\nfor k in range({k}):\n    {n} += {0} * k",
    "{n} = np.empty_like({0})\n{n}[...] = {1}\n{n} *= 2",
    "{n} = ({0} - {0}.mean()) / (1 + {0}.var())",
    "{n} = {0} + {1}\nfor k in range({k}):\n    {n}[1:] = {n}[:-1] + {n}[1:]",
    "{n} = np.cumsum({0}, {a}) / (1 + np.arange({0}.shape[{a}]).reshape({R}))",
)
GATHERS = {
    "v": ("{0}[{i}]", "np.take({0}, {i}, axis={a})", "{0}[..., {i}]", "{0}[:, {i}]", "{0}[{i}, {i}]", "{0}[{i} % 2]", "{0}[{i}, 0]", "np.take({0}, {i}, axis={a}, mode='clip')",
          "{0}[{i}[::-1]]", "{0}[:, {i}, ...]", "{0}[[0, -1]]", "{0}[np.arange(2), [1, 0]]", "np.take({0}, [{k}, 0])", "{0}[{i}[0]]", "{0}[{i} + 1]", "np.take({0}, {i}, axis={a}, mode='wrap')"),
    "d": ("{0}[{0} > 0]", "np.take_along_axis({0}, np.argsort({0}, {a}), {a})", "np.nonzero({0})[0]", "{0}[np.argmax({0})]", "np.compress({0}.ravel() > 0, {0}.ravel())"),
}  # fmt: skip
#: {I} is an index, {J} and {L} two of the same shape, {v} a number
WRITES = {
    "": ("{0}[{I}] = {v}", "{0}[...] = {1}", "{0}[{I}] = {1}", "{0} += 1", "{0} += {1}", "{0} -= {1}", "{0}[{I}] += {v}", "{0}[{I}] -= {1}",
         "{0}[{J}] = {0}[{L}]", "{0}[{J}] += {0}[{L}]", "{0}[{J}] = {0}[{L}] + 1", "{0}[{J}] = {1}[{L}]", "{0}[...] = {0}[::-1]", "{0}[...] = {0}.T", "{0} += {0}.T",
         "{0}[{J}], {0}[{L}] = {0}[{L}].copy(), {0}[{J}].copy()", "{0}.fill({v})", "{0}.T[0] = {v}", "{0}.T[0] = {1}", "{0}[[0]] = 5", "{0}[{i}] = {v}",
         "np.fill_diagonal({0}, {v})", "np.copyto({0}, {1})", "np.add({0}, {1}, out={0})", "np.negative({0}, out={0})", "{0}.reshape(-1)[0] = {v}", "{0}.reshape(-1)[1::2] = {v}",
         "{0}[{i}] += 1", "np.add.at({0}, {i}, 1)", "{0}.real = {v}", "{0}.imag[...] = 1", "for k in range({k}):\n    {0}[{J}] = {0}[{L}] + k", "for k in range({k}):\n    {0}[k] = k",
         "for k in range(1, {k}):\n    {0}[k] = {0}[k - 1] + {0}[k]", "for k in range({k}):\n    {0}[{J}] += {1}[{L}]", "np.subtract({0}[{L}], 1, out={0}[{J}])", "np.put({0}, {i}, {v})"),
    "c": ("{0} *= 2", "{0} *= {1}", "{0}[{I}] *= 3", "{0}[{J}] *= {0}[{L}]", "np.multiply({0}, 3, out={0}, casting='unsafe')", "{0}[1:-1] = ({0}[2:] + {0}[:-2]) * 2",
          "{0}[{J}] = {0}[{L}] * {0}[{J}]", "{0}[...] = {0} * {0}[::-1]"),
    "d": ("{0}[{0} > 1] = {v}", "{0}[{0} > 1] *= 2", "{0} //= 2", "{0}[{0} == {0}] += 1", "np.copyto({0}, {1}, where={0} > 0)", "{0} %= 3", "{0}[{1} > 0] = {v}", "np.putmask({0}, {0} < 0, {1})",
          "{0}[...] = np.where({0} > 0, {0}, {0}[::-1])", "{0}[{I}] = {1} > 0", "np.maximum({0}, {1}, out={0}, where={1} > 0)", "np.floor({0}, out={0})", "{0}[np.nonzero({0})] = 1"),
    "sc": ("{0} /= 3", "{0} /= {1}", "{0}[{I}] /= 2"),
    "~": ("{0}[{I}] = np.sin({1})", "{0}[{J}] = np.exp(-abs({0}[{L}]))", "np.exp(-abs({0}), out={0})", "{0} += np.sin({1})"),
    "r": ("{0}[...] = np.cumsum({0}, {a})", "{0} -= {0}.mean()", "{0} += {1}.sum()", "{0}[{I}] = {1}.sum()", "np.cumsum({0}, {a}, out={0})", "{0}[0] = {0}.sum(axis=0)", "{0} += {0}.sum(axis={a}, keepdims=True)",
          "{0}[...] = {0} - {0}.mean(axis={a}, keepdims=True)", "np.sum({1}, axis={a}, out={0})", "{0}[1:] += {0}[:-1].sum(0)"),
    "z": ("{0}[{I}] = {0}.max()", "np.maximum({0}, {1}, out={0})", "{0}.sort()", "np.clip({0}, -1, 1, out={0})"),
}  # fmt: skip
#: several elements may go to one place; {q} is a sequence of indices in a few dimensions
SCATTERS = {
    "": ("{0}[{i}] = {v}", "{0}[{i}] = {1}", "{0}[{i}] = {1}[:{i}.shape[0]]", "{0}[{i}] += {1}", "{0}[{i}] += {v}", "{0}[{i}] = {0}[{i}[::-1]]", "{0}[..., {i}] = {v}", "{0}[:, {i}] -= 1",
         "{0}[{i}, {i}[::-1]] = {v}", "{0}[{i}, 0] = {1}", "{0}[0, {i}] += {v}", "np.add.at({0}, {i}, {1})", "np.add.at({0}, {i}, {v})", "np.add.at({0}, ({i}, {i}), 2)", "np.subtract.at({0}, {i}, {0}[{i}])",
         "{0}[{I}][{i}] = {v}", "{0}[1:][{i} - 1] += 1", "{0}.T[{i}] = {v}", "{0}[{q}] = {v}", "{0}[{q}] += {1}", "np.add.at({0}, {q}, 3)", "{0}[{q}, 0] = {v}", "{0}[::-1][{q}] = {0}[{q}]",
         "{0}[np.arange({0}.shape[0])] = {0}[::-1]", "{0}[np.arange({0}.shape[0]), 0] += {v}", "np.add.at({0}, abs({0}).ravel()[:60].astype(np.int64) % {0}.shape[0], 1)", "np.put_along_axis({0}, np.argsort({0}, {a}), {v}, {a})",
         "{0}[np.arange(12).reshape(3, 4)[::-1] % {0}.shape[0]] = {v}", "{0}[{i}[0], {i}] = {v}", "for k in range({k}):\n    {0}[{i} - k] += k", "np.add.at({0}, np.arange({1}.size).reshape({1}.shape) % {0}.shape[0], {1})",
         "np.put_along_axis({0}, np.zeros(np.shape({0})[:-1] + ({k},), np.int64), {v}, -1)", "{0}[np.arange({1}.size).reshape({1}.shape) % {0}.size] = {1}"),
    "c": ("{0}[{i}] *= 2", "{0}[{i}] = {1} * {1}", "np.add.at({0}, {i}, {1} * 2)"),
}  # fmt: skip
FAMILIES = (UNARY, BINARY, BINARY, TERNARY, {"v": VIEWS}, {"v": VIEWS}, {"v": COMBINED}, REDUCTIONS, CUMULATIVE, {"~rs": COMPOSED}, GATHERS, WRITES, WRITES, WRITES, SCATTERS)  # fmt: skip
NUMBERS = ("0", "1", "-2", "3", "2.5", "True", "7", "1e3", "-0.0", "np.float32(1.5)", "np.int64(4)")


def _shape(random: Random) -> tuple[int, ...]:
    """The shape that most arrays of a program are like."""
    chance = random.random()
    if chance < 0.06:
        return (random.choice([4097, 5000, 16390, 20001, 40000]),)
    if chance < 0.12:
        shape = [random.choice([4097, 5000, 16385]), random.choice([1, 2, 3])]
        random.shuffle(shape)
        return tuple(shape)
    if chance < 0.16:
        return random.choice([(130, 140), (300, 70), (2, 4100, 3), (9, 40, 50), (600, 40)])
    rank = random.choice([0, 1, 1, 2, 2, 2, 3, 3, 4])
    shape = [random.choice([1, 2, 3, 4, 5, 7, 8, 12, 17, 33, 40][: 11 - 2 * max(0, rank - 1)]) for _ in range(rank)]
    if rank and random.random() < 0.04:
        shape[random.randrange(rank)] = 0
    if rank >= 2 and random.random() < 0.3:
        shape[-1] = shape[0]
    return tuple(shape)


def _related(random: Random, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape itself, or one that broadcasts to it, or a transposed one."""
    chance = random.random()
    if chance < 0.6 or not shape:
        return shape
    if chance < 0.7:
        return shape[random.randrange(len(shape)) :]
    if chance < 0.85:
        return tuple(1 if random.random() < 0.4 else n for n in shape)
    if chance < 0.92:
        return shape[::-1]
    if chance < 0.96:
        return ()
    return tuple(n + 1 for n in shape)


def _arguments(random: Random) -> Program:
    core = _shape(random)
    names = ["a", "b", "c"][: random.choice([1, 2, 2, 3])]
    count = random.choice([1, 2, 2, 3])
    lines: list[list[str]] = [[] for _ in range(count)]
    dtype = random.choice(COMMON)
    shapes = {}
    for n, name in enumerate(names):
        if n and random.random() < 0.15:
            # A view of an argument before.
            base = random.choice(names[:n])
            index = random.choice(["", "[...]", "[::-1]", ".T", "[1:]", "[:-1]", "[..., ::2]", "[:1]", "[1:-1]"])
            index = index if shapes[base] and min(shapes[base]) > 2 else ""
            shapes[name] = np.empty(shapes[base])[eval("np.s_" + index)].shape if "[" in index else shapes[base]
            for call in lines:
                call.append(f"{name} = {base}{index}")
            continue
        shapes[name] = _related(random, core)
        if random.random() < 0.4:
            dtype = random.choice(COMMON if random.random() < 0.6 else DTYPES)
        kind = random.choice(["uniform", "uniform", "tidy", "special"])
        seed = random.randrange(1000)
        for k, call in enumerate(lines):
            chosen = random.choice(LAYOUTS) if random.random() < 0.5 else "C"
            if chosen == "foreign byte order" and random.random() < 0.7:
                chosen = "F"
            call.append(f"{name} = layout({chosen!r}, values({seed + k}, {shapes[name]}, {dtype!r}, {kind!r}))")
    if random.random() < 0.35:
        names.append("s")
        kind = random.choice(["int", "float", "np.float32", "np.int64", "complex", "0-d", "bool"])
        for call in lines:
            n = random.choice(["-2", "3", "5", "1"])
            text = {"int": n, "float": n + ".5", "complex": n + ".5j", "0-d": f"np.array({n})", "bool": f"{n} > 0"}
            call.append(f"s = {text.get(kind, f'{kind}({n})')}")
    if random.random() < 0.35:
        names.append("i")
        n = max(1, min([d for d in core if d > 1], default=1))
        size = random.choice([2, 3, 5, 5000 if random.random() < 0.1 else 4])
        dtype = random.choice(["int64", "int64", "int32", "uint8", "int8", "uint64"])
        low = 0 if dtype.startswith("u") else -n
        for call in lines:
            high = n + (3 if random.random() < 0.1 else 0)
            shape = random.choice([f"{size}", f"{size}", f"({size}, 2)"])
            call.append(
                f"i = np.random.default_rng({random.randrange(99)}).integers({low}, {min(high, 127)}, {shape}).astype('{dtype}')"
            )
    return Program(names, lines)


def _index(random: Random, shape: tuple[int, ...]) -> str:
    parts = []
    for n in shape:
        chance = random.random()
        if chance < 0.35:
            parts.append(":")
        elif chance < 0.5:
            parts.append(str(random.choice([0, -1, n // 2])))
        else:
            start = random.choice(["", "1", "-2", str(n // 2)])
            stop = random.choice(["", "", "-1", str(n)])
            step = random.choice(["", ":2", ":-1", ":3", ":-2"])
            start, stop = (stop, start) if step.startswith(":-") and random.random() < 0.7 else (start, stop)
            parts.append(f"{start}:{stop}{step}")
    chance = random.random()
    if chance < 0.1:
        parts.insert(random.randrange(len(parts) + 1), "None")
    elif chance < 0.3 and parts:
        at = random.randrange(len(parts))
        parts[at : at + random.choice([0, 1, 2])] = ["..."]
    return ", ".join(parts) or "..."


def _two_indices(random: Random, shape: tuple[int, ...]) -> tuple[str, str]:
    """Indices of two parts of an array, often overlapping, of one shape."""
    axis = random.randrange(len(shape)) if shape else 0
    pairs = [("1:", ":-1"), (":-1", "1:"), ("2:", ":-2"), ("::-1", ":"), ("1:-1", "2:"), ("1:-1", ":-2"), ("0", "1"), ("-1", "0"), (":1", "1:2"), (":2", "1:3"), (":", "0:1")]  # fmt: skip
    if shape and shape[axis] % 2 == 0:
        pairs += [("::2", "1::2"), (f":{shape[axis] // 2}", f"{shape[axis] // 2}:"), (f":{shape[axis] // 2}", "::2")]
    chosen = random.choice(pairs)
    lead = random.choice([":, ", "..., "][: 1 + (axis < 2)]) if axis else ""
    if axis > 1 and lead == ":, ":
        lead = ":, " * axis
    elif lead == "..., " and axis != len(shape) - 1:
        lead = ":, " * axis
    return lead + chosen[0], lead + chosen[1]


def _reshaped(random: Random, size: int) -> str:
    factors = [n for n in range(1, min(size, 60) + 1) if size % n == 0] or [0]
    first = random.choice(factors)
    if not size:
        return "(0,)"
    if random.random() < 0.4:
        rest = size // first
        second = random.choice([n for n in range(1, min(rest, 60) + 1) if rest % n == 0])
        return f"({first}, {second}, -1)"
    return random.choice([f"(-1, {first})", f"({first}, -1)", "-1"])


def _statement(random: Random, replay: Replay, number: int) -> Statement | None:
    family = random.choice(FAMILIES)
    writes = family is WRITES or family is SCATTERS
    kind = random.choice(list(family)) if family is not WRITES else random.choice(["", "", "", *WRITES])
    text = random.choice(family[kind])
    variables = [n for n in replay.variables if n not in ("s", "i") or random.random() < 0.3]
    recent = variables + variables[-3:]
    names = [random.choice(recent) for _ in range(3)]
    first = np.asarray(replay.scope[names[0]])
    if family is BINARY or family is TERNARY or ("{1}" in text and not writes):
        # What has the first one's shape is more often of use.
        fitting = [n for n in variables if _broadcasts(first.shape, np.shape(replay.scope[n]))]
        names[1:] = [random.choice(fitting) if fitting and random.random() < 0.9 else n for n in names[1:]]
    elif writes:
        fitting = [n for n in variables if _broadcasts(np.shape(replay.scope[n]), first.shape, into=True)]
        names[1] = random.choice(fitting) if fitting and random.random() < 0.8 else names[1]
    if "{i}" in text:
        if "i" not in replay.variables:
            return None
        names[2] = "i"
    rank = first.ndim
    axes = [random.randrange(-rank, rank) if rank else 0 for _ in range(2)]
    permutation = list(range(rank))
    random.shuffle(permutation)
    chosen = random.random()
    if chosen < 0.3:
        some = "axis=None"
    elif chosen < 0.75 or rank < 2:
        some = f"axis={axes[0]}"
    else:
        some = f"axis={tuple(sorted(random.sample(range(rank), random.randint(1, rank))))}"
    index_1, index_2 = _two_indices(random, first.shape)
    target = names[0] if writes else f"v{number}"
    stretched = tuple(n if n != 1 else random.choice([1, 3]) for n in first.shape)
    if first.dtype.kind == "b" and "**" in text:
        return None  # known to differ: NumPy's bool ** 2 is int8, the NumPy language's int64
    if first.dtype.kind != "c" and ".imag" in text:
        return None  # known to differ: the imaginary part of a real array is read-only, and lies in memory as the array does
    if family is WRITES and (("{0}[...] = {1}" in text and names[0] == names[1]) or (".T" in text and rank < 2)):
        return None  # known to differ: storing a read-only array into itself is no error under tnp
    made = text.format(
        *names, n=target, a=axes[0], b=axes[1], p=", ".join(map(str, permutation)) or "()", I=_index(random, first.shape), A=some,
        K=random.choice(["", ", keepdims=True"]), J=index_1, L=index_2, S=_reshaped(random, first.size), T=random.choice(DTYPES).replace("bool", "bool_"),
        B=random.choice([stretched, (2, *stretched)]), W=random.choice([1, 2, 3]), k=random.randint(1, 3), k2=random.randint(0, 3), i="i", v=random.choice(NUMBERS),
        q=random.choice(("[0, -1, 0]", "[[0, 1], [1, 0]]", "[1]", "[-1, 0], [0, 0]", "[0, 1, 1, 0], None")),
        R=tuple(-1 if d == axes[0] % rank else 1 for d in range(rank)) if rank else (),
    )  # fmt: skip
    if "astype" in made and first.dtype.kind in "fc":
        kind += "d"
    if not writes and family[kind if kind in family else kind[:-1]] is not COMPOSED:
        made = f"{target} = {made}"
    reads = tuple(dict.fromkeys(n for n in (*names, target) if n in replay.variables and _names(made, n)))
    return Statement(made, reads, target, kind)


def _names(text: str, name: str) -> bool:
    return re.search(rf"\b{name}\b", text) is not None


def _broadcasts(a: tuple[int, ...], b: tuple[int, ...], into: bool = False) -> bool:
    try:
        made = np.broadcast_shapes(a, b)
    except ValueError:
        return False
    return made == b if into else True


def _may_fail(s: Statement) -> bool:
    return "i" in s.reads or "**" in s.text or "take" in s.text


def random_program(random: Random) -> Program:
    program = _arguments(random)
    replay = Replay(program.names, program.arguments(0))
    wanted = random.choice([1, 1, 2, 3, 4, 6, 9, 14])
    for number in range(wanted * 3):
        if len(program.statements) >= wanted:
            break
        statement = _statement(random, replay, number)
        if statement is None:
            continue
        # What fails must leave nothing behind: it is tried on what the program has come to by now, made anew.
        trial = Replay(program.names, program.arguments(0))
        for s in program.statements:
            trial.step(s)
        try:
            trial.step(statement)
            if math.isinf(trial.variables[statement.target]):
                continue
        except Rejected:
            continue
        except Exception as error:
            if random.random() < (0.5 if isinstance(error, IndexError) and statement.text.count("i") else 0.02):
                program.statements.append(statement)
                break
            continue
        replay = trial
        program.statements.append(statement)
    made = [n for n in replay.variables if n not in program.names]
    chosen = (
        [s.target for s in program.statements if _may_fail(s)]
        + made[-2:]
        + ([random.choice(list(replay.variables))] if random.random() < 0.5 else [])
    )
    program.result = list(dict.fromkeys(chosen)) or [random.choice(program.names)]
    return program
