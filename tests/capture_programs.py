"""Programs that read and write the states of :mod:`capture_states`, from each place where a function can find them."""

from __future__ import annotations

import builtins
import contextlib
import decimal
import importlib.util
import itertools
import os
import random
import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

import tnp
from tests.capture_states import PRELUDE, Way
from tnp.api import programs_of
from tnp.testing import assert_same

__all__ = ["PLACES", "Outcome", "check_way"]

#: how a program finds an object: the text of ``f``, in which {body} stands, and of the call
PLACES = {
    "argument": ("def f(x, v, o):\n{body}", "f(x, v, o)"),
    "global": ("def f(x, v):\n{body}", "f(x, v)"),
    "attribute": ("holder = Plain()\nholder.o = o\ndef f(x, v, holder):\n    o = holder.o\n{body}", "f(x, v, holder)"),
    "closure": ("def outer(o):\n    def f(x, v):\n{deeper}\n    return f\nf = outer(o)", "f(x, v)"),
    "default": ("def f(x, v, o=o):\n{body}", "f(x, v)"),
}
_serial = itertools.count()


def _source(way: Way, place: str, *, writes: bool) -> str:
    lines = [f"r = {way.read}"]
    if writes:
        lines += [way.write or "pass", f"r = r + ({way.read})"]
    lines.append("return x * r")
    body, deeper = ("\n".join(f"{' ' * n}{line}" for line in lines) for n in (4, 8))
    text, call = PLACES[place]
    return "\n".join(
        (PRELUDE, f"o = {way.make}", text.format(body=body, deeper=deeper), f"def call(x, v):\n    return {call}",
         f"def change():\n    {way.change or 'pass'}", f"def state():\n    return {way.state or way.read}")
    )  # fmt: skip


def _loaded(text: str, folder: Path) -> ModuleType:
    name = f"captured_{next(_serial)}"
    path = folder / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[name]
    return module


@contextlib.contextmanager
def _surroundings():
    """What a program may change of Python itself is put back."""
    environ, drawn, argv, modules = dict(os.environ), random.getstate(), list(sys.argv), set(sys.modules)
    names = set(vars(builtins))
    with np.errstate(), np.printoptions(), decimal.localcontext(), warnings.catch_warnings():
        warnings.simplefilter("ignore", tnp.EagerFallbackWarning)
        warnings.simplefilter("ignore", PendingDeprecationWarning)  # of np.matrix
        yield
    for name in {"hm", "hm2"} & (sys.modules.keys() - modules):
        del sys.modules[name]
    for name in vars(builtins).keys() - names:
        delattr(builtins, name)
    os.environ.clear()
    os.environ.update(environ)
    random.setstate(drawn)
    sys.argv[:] = argv


def _run(module: ModuleType) -> list[Any]:
    """What calls give, and what is there after each, where what they read changes between them."""
    found: list[Any] = []
    for v, changes in ((5.0, False), (5.0, True), (6.0, True), (7.0, False)):
        if changes:
            module.change()
        for act in (lambda v=v: module.call(np.ones(2), v), module.state):
            try:
                found.append(act())
            except tnp.InternalError:
                raise
            except Exception as error:
                found.append(type(error))
    return found


class Outcome(NamedTuple):
    """How many compiled programs a function has after its calls, and how many calls were found to run eagerly."""

    programs: int
    eager: int


def check_way(way: Way, place: str, folder: Path, *, writes: bool) -> Outcome:
    """Compares a program with eager, which must not raise at the first call."""
    text = _source(way, place, writes=writes)
    with _surroundings():
        expected = _run(_loaded(text, folder))
        assert not isinstance(expected[0], type), f"{way.name}: eager raises {expected[0]}"
    with _surroundings():
        module: Any = _loaded(text, folder)
        module.f = tnp.jit(module.f)
        got = _run(module)
    assert_same(got, expected, what=f"{way.name} as {place}{', written' if writes else ''}")
    entries = [entry for entry, _ in programs_of(module.f)]
    compiled = sum(entry.eager_reason is None for entry in entries)
    return Outcome(compiled, len(entries) - compiled)
