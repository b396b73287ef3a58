"""Cases: functions of ``jit`` that make a program, call it a few times while things change around it, and return all that can be seen.

A case is run with ``jit = lambda f: f`` and with :func:`tnp.jit`, from the same seed; both must see the same, and leave torch's modes and
its generator in the same state.
"""

import warnings

import pytest
import torch

import tnp
from tnp.compile.compiled_function import programs_behind
from tnp.testing import assert_same


def told(x):
    """``x`` with what can be told of tensors beside their values; errors by their classes."""
    if isinstance(x, torch.Tensor):
        flags = x.requires_grad, x.grad_fn is None, x.is_leaf, x.is_inference(), x.is_conj(), type(x).__name__
        return [flags, x.detach().resolve_conj().resolve_neg().clone()]
    if isinstance(x, (tuple, list)):
        return [type(x).__name__, *map(told, x)]
    return type(x) if isinstance(x, BaseException) else x


def attempt(f, *args):
    """What a call gives, or the error that it raises."""
    try:
        return f(*args)
    except Exception as error:
        return error


def seen(case, jit):
    """What a case sees, and how it leaves torch."""
    torch.manual_seed(0)
    try:
        found = told(case(jit))
        return found, (torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.rand(2))
    finally:
        torch.set_grad_enabled(True)


def check(case, compiles):
    """``case`` jitted against eager; ``compiles``: whether there are programs at its end, or all calls run eagerly."""
    made = []

    def jit(f):
        made.append(tnp.jit(f))
        return made[-1]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_same(seen(case, jit), seen(case, lambda f: f))
    entries = [e for f in made for e in programs_behind(f)._entries]
    assert any(e.eager_reason is None for e in entries) == compiles, [e.eager_reason for e in entries]


class Table:
    """Cases in the order in which they are added: ``@table(compiles)``."""

    def __init__(self):
        self.rows = []

    def __call__(self, compiles):
        def add(case):
            self.rows.append((case.__name__, case, compiles))
            return case

        return add

    def parametrized(self, test):
        """``test``, run for every case."""
        rows = [pytest.param(case, compiles, id=name) for name, case, compiles in self.rows]
        return pytest.mark.parametrize("case, compiles", rows)(test)
