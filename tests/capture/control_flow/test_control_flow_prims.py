"""Loops and branches in traces made by hand: printing, renaming, passes, checks."""

import numpy as np
import pytest

from tnp.core import dtypes, languages, prims
from tnp.core.errors import TraceCheckError
from tnp.core.proxies import NumberProxy, TensorProxy
from tnp.core.subtraces import Body
from tnp.core.trace import Trace, tracing
from tnp.core.trace_check import check_trace
from tnp.core.views import Path, Step, update
from tnp.lang import numpy as lnp
from tnp.transforms.dce import common_subexpressions, dead_code


class Building:
    """A trace made by hand, of an array ``A`` and a number ``n``."""

    def __enter__(self):
        self.trace = Trace()
        self._contexts = [tracing(self.trace), languages.language_context(lnp.language)]
        for c in self._contexts:
            c.__enter__()
        self.A = TensorProxy(self.trace.add_name("A"), shape=(6,), dtype=dtypes.float64)
        self.n = NumberProxy(self.trace.add_name("n"), int, 4)
        self.trace.args = [self.A, self.n]
        self.trace.bound_symbols += [prims.unpack_trivial.bind(output=p) for p in self.trace.args]
        return self

    def __exit__(self, *error):
        for c in reversed(self._contexts):
            c.__exit__(*error)

    def number(self, python_type=int):
        return NumberProxy(None, python_type)

    def body(self, args, make):
        scope = self.trace.push_body()
        results = make()
        self.trace.pop_body()
        return Body(args, scope, results)

    def finish(self, output):
        self.trace.output = output
        prims.python_return(output)
        check_trace(self.trace)
        return self.trace


def counting_loop(extra=lambda b, i: None):
    """``for i in range(n): s += A[i] * 2``, with what ``extra`` adds to the body."""
    with Building() as b:
        i, s = b.number(), TensorProxy("s", shape=(), dtype=dtypes.float64, scalar=True)

        def make():
            extra(b, i)
            return (lnp.add(s, lnp.multiply(lnp.getitem(b.A, i), 2.0)),)

        zero = lnp.getitem(b.A, 0)
        body = b.body((i, s), make)
        (out,) = prims.for_loop(0, b.n, 1, body, zero)
        return b.finish(out), body


def test_a_for_loop_prints_and_runs_as_python():
    trace, body = counting_loop()
    program = [line for line in trace.python().splitlines() if "#" not in line.lstrip()[:1]]
    assert any(line.startswith("  for n0 in range(n):") for line in program)
    assert any(line.startswith("    t1 = lnp.getitem(A, n0)") for line in program)
    assert program[-2:] == ["    s = t3", "  return s"]
    assert [p.name for p in body.captures] == ["A"]
    loop = trace.bound_symbols[-2]
    assert [p.name for p in loop.flat_inputs] == ["n", "A", "t0"]
    assert [p.name for p in loop.flat_outputs] == ["s"]


def test_renaming_reaches_into_bodies():
    trace, _ = counting_loop()
    loop = trace.bound_symbols[-2]
    other = TensorProxy("B", shape=(6,), dtype=dtypes.float64)
    renamed = loop.substitute({"A": other})
    assert [p.name for p in renamed.flat_inputs] == ["n", "B", "t0"]
    assert "getitem(B, n0)" in str(renamed)
    assert "getitem(A, n0)" in str(loop)


def test_dead_code_goes_from_bodies_and_then_from_around_them():
    with_dead, _ = counting_loop(lambda b, i: lnp.exp(lnp.getitem(b.A, slice(1, 3))))
    plain, _ = counting_loop()
    assert "exp" in with_dead.python()
    assert "exp" not in dead_code(with_dead).python()
    assert len(dead_code(with_dead).bound_symbols) == len(plain.bound_symbols)


def test_repeats_in_a_body_are_merged():
    trace, _ = counting_loop(lambda b, i: lnp.getitem(b.A, i))
    inner = common_subexpressions(trace).bound_symbols[-2].args[3]
    assert [s.sym.name for s in inner.bound_symbols] == ["getitem", "multiply", "add"]


def test_a_loop_refuses_values_that_change_their_metadata():
    with Building() as b:
        i, s = b.number(), b.number(float)
        body = b.body((i, s), lambda: (1,))
        with pytest.raises(TypeError, match="becomes 1"):
            prims.for_loop(0, b.n, 1, body, 0.0)
        with pytest.raises(TypeError, match="begins as 0"):
            prims.for_loop(0, b.n, 1, b.body((i, s), lambda: (s,)), 0)
        with pytest.raises(ValueError, match="carries 1 values"):
            prims.for_loop(0, b.n, 1, body)
        with pytest.raises(TypeError, match="gives"):
            prims.cond(b.n, b.body((), lambda: (1,)), b.body((), lambda: (1.0,)))


def test_the_checker_looks_into_bodies():
    with Building() as b:
        i = b.number()
        stranger = TensorProxy("stranger", shape=(6,), dtype=dtypes.float64)
        prims.for_loop(0, b.n, 1, b.body((i,), lambda: (lnp.exp(stranger), ())[1]))
        with pytest.raises(TraceCheckError, match="stranger is used before it is defined"):
            b.finish(b.A)


def test_while_and_cond_print_and_run_as_python():
    with Building() as b:
        k = b.number()
        test = b.body((k,), lambda: (k < b.n,))
        (last,) = prims.while_loop(test, b.body((k,), lambda: (k + 2,)), 0)
        (big,) = prims.cond(last > 4, b.body((), lambda: (last * 10,)), b.body((), lambda: (last,)))
        trace = b.finish((last, big))
    lines = [line.partition("  #")[0] for line in trace.python().splitlines()]
    assert "  while True:" in lines
    assert "    if not n1: break" in lines
    assert "  else:" in lines
    from tnp.compile.driver import backend_of
    from tnp.executors import registry
    from tnp.transforms.pipeline import compile_trace

    program = compile_trace(trace, backend_of(registry.get_always_executors()))[-1]
    assert program.python_callable()(4) == (4, 4)
    assert program.python_callable()(5) == (6, 60)


def test_an_update_in_a_body_writes_to_the_memory_of_the_argument():
    with Building() as b:
        i, m = b.number(), TensorProxy("m", shape=(6,), dtype=dtypes.float64)

        def make():
            new = update(m, lnp.multiply(lnp.getitem(m, i), 2.0), Path([Step(lnp.getitem, (i,))]))
            return (prims.copy_(new, m),)

        (out,) = prims.for_loop(0, b.n, 1, b.body((i, m), make), b.A)
        prims.copy_(out, b.A)
        trace = b.finish(None)
    from tnp.compile.driver import backend_of
    from tnp.executors import registry
    from tnp.transforms.pipeline import compile_trace

    program = compile_trace(trace, backend_of(registry.get_always_executors()))[-1]
    assert "A[n0] = " in program.python()
    assert "m" not in [p.name for p in program.bound_symbols[2].flat_inputs]
    x = np.arange(6.0)
    program.python_callable()(x, 4)
    np.testing.assert_array_equal(x, [0, 2, 4, 6, 4, 5])
