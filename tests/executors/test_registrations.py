"""What extensions register after a function was compiled is in use from its next call on, and what it does not concern stays compiled."""

import threading

import numpy as np
import pytest

import tnp
from tnp import extend
from tnp.executors import registry
from tnp.extend import OperatorExecutor, TensorProxy, get_grad, make_prim, put_grad, register_grad, register_vmap
from tnp.testing import assert_same

pytestmark = pytest.mark.usefixtures("executors_as_before")

X = np.arange(6.0).reshape(2, 3) + 1


def operations(f):
    return [b.sym.name for b in tnp.last_traces(f)[-1].body]


@pytest.fixture
def ex():
    return OperatorExecutor("late")


def unary(ex, name, fn, **options):
    return ex.register_operator(name, meta=lambda a: TensorProxy(like=a), fn=fn, **options)


def test_an_implementation_registered_again(ex):
    ex.register_implementation("numpy.sin", unary(ex, "first", np.sin))
    other = tnp.jit(lambda x: np.sin(x), executors=["numpy"])
    f = tnp.jit(lambda x: np.sin(x), executors=[ex])
    made_of_it = tnp.grad(tnp.jit(lambda x: np.sin(x).sum(), executors=[ex]))
    inside = tnp.jit(lambda x: tnp.vmap(lambda y: np.sin(y))(x), executors=[ex])
    for g in (other, f, made_of_it, inside):
        g(X), g(X[0]) if g is not inside else g(X)
    ex.register_implementation("numpy.sin", unary(ex, "second", lambda a: np.sin(a) + 1))
    assert_same(f(X), np.sin(X) + 1)
    assert operations(f) == ["second"]
    assert_same(f(X[0]), np.sin(X[0]) + 1)  # each of its programs
    assert_same(inside(X), np.sin(X) + 1)
    made_of_it(X), other(X)
    assert tnp.cache_info(made_of_it).misses == 3 and tnp.cache_info(other) == (1, 2, 2)
    assert "recompiled because the executor late has another implementation" in tnp.explain(f)


def test_rules_registered_again(ex):
    op = unary(ex, "op", lambda a: 2 * a)

    def rule(factor):
        def f(a):
            fwd = op(a)
            put_grad(a, get_grad(fwd) * factor)
            return fwd

        return f

    f = tnp.grad(lambda x: op(x).sum())
    around = tnp.jit(lambda x: f(x) + 0, executors=[ex])
    for factor in (2, 3):
        register_grad(op, rule(factor))
        assert_same(f(X), np.full_like(X, factor))
        assert_same(around(X), np.full_like(X, factor))
    assert tnp.grad(lambda x: op(x).sum())(X)[0, 0] == 3

    mapped = tnp.jit(tnp.vmap(lambda x: op(x)), executors=[ex])
    assert_same(mapped(X), 2 * X)  # in a loop
    for factor in (2, 5):
        register_vmap(op, lambda size, batched, a, factor=factor: op(a) * factor)
        assert_same(mapped(X), 2 * X * factor)


def test_rules_of_operations_that_nobody_has_met_forget_nothing(ex):
    f = tnp.grad(lambda x: (x * x).sum())
    f(X)
    new = unary(ex, "new", np.sin)
    register_grad(new, lambda a: new(a))
    register_vmap(new, lambda size, batched, a: new(a))
    f(X)
    assert tnp.cache_info(f) == (1, 1, 1)


def test_models_and_training(ex):
    torch = pytest.importorskip("torch")
    first, second = (unary(ex, f"op_{n}", lambda a, n=n: a * n) for n in (1, 2))
    ex.register_implementation("torch.tanh", first)
    model = tnp.jit(torch.nn.Tanh(), executors=[ex])
    x = torch.ones(2)
    assert model(x)[0] == model(input=x)[0] == 1
    ex.register_implementation("torch.tanh", second)
    assert model(x)[0] == model(input=x)[0] == 2

    def rule(factor):
        def f(a):
            fwd = first(a)
            put_grad(a, get_grad(fwd) * factor)
            return fwd

        return f

    f = tnp.jit(lambda x: first(x).sum(), executors=[ex])
    for factor in (3, 4):
        register_grad(first, rule(factor))
        y = torch.ones(2, requires_grad=True)
        f(y).backward()
        assert y.grad[0] == factor


def test_lists_of_executors(ex):
    ex.register_implementation("numpy.sin", unary(ex, "late_sin", np.sin))
    f, fixed = tnp.jit(lambda x: np.sin(x)), tnp.jit(lambda x: np.sin(x), executors=["numpy"])
    f(X), fixed(X), tnp.lang.numpy.sin(X)
    extend.register_executor(ex)
    f(X)
    assert tnp.cache_info(f).misses == 1  # it is known, and in no list
    extend.add_default_executor("late")
    f(X)
    assert operations(f) == ["late_sin"]
    extend.deregister_executor("late")
    f(X)
    assert "late_sin" not in operations(f)
    extend.add_always_executor(ex)
    f(X), fixed(X)
    assert tnp.cache_info(f).misses == 4 and tnp.cache_info(fixed).misses == 2
    extend.remove_always_executor(ex)
    fixed(X)
    assert tnp.cache_info(fixed).misses == 3


def test_single_operations_follow_the_default_executors(ex):
    prim = make_prim("registrations.twice", "twice", meta=lambda a: TensorProxy(like=a))
    ex.register_implementation(prim, unary(ex, "add_itself", lambda a: a + a))
    with pytest.raises(tnp.NoExecutorError, match="twice"):
        prim(X)
    extend.set_default_executors([ex])
    assert_same(prim(X), X + X)


def test_names_that_are_nobodys_any_more(ex):
    extend.register_executor(ex)
    ex.register_implementation("numpy.sin", unary(ex, "late_sin", np.sin))
    by_name, itself = (tnp.jit(lambda x: np.sin(x), executors=[e]) for e in ("late", ex))
    by_name(X), itself(X)
    extend.deregister_executor("late")
    with pytest.raises(ValueError, match=r"there is no executor 'late' here; known are .*numpy"):
        by_name(X)
    itself(X)
    assert tnp.cache_info(itself) == (1, 1, 1)
    other = OperatorExecutor("late")
    other.register_implementation("numpy.sin", unary(other, "other_sin", np.sin))
    extend.register_executor(other)
    by_name(X)
    assert operations(by_name) == ["other_sin"]


def test_a_definition_of_a_function_that_ran_as_itself(monkeypatch):
    from tnp.lang.numpy import registry

    f = tnp.jit(lambda x: np.i0(x) + 1)
    assert_same(f(X), np.i0(X) + 1)
    extend.npsymbol("i0")(lambda x: x * 0 + 7)
    try:
        assert_same(f(X), X * 0 + 8)
    finally:
        del registry.by_id["numpy.i0"]
        registry._by_function.clear()


def test_registering_while_a_function_is_traced(ex):
    """The program of that call runs, and is not kept."""
    second = unary(ex, "second", lambda a: a + 2)

    def registers(a):
        ex.register_implementation("numpy.sin", second)
        return True

    ex.register_implementation("numpy.sin", unary(ex, "first", lambda a: a + 1), checker=registers)
    f = tnp.jit(lambda x: np.sin(x), executors=[ex])
    assert_same(f(X), X + 1)
    assert_same(f(X), X + 2)
    assert_same(f(X), X + 2)
    assert tnp.cache_info(f) == (1, 2, 1)


def test_calls_of_other_threads_meanwhile(ex):
    ops = [unary(ex, f"op_{n}", lambda a, n=n: a + n) for n in range(20)]
    ex.register_implementation("numpy.sin", ops[0])
    f = tnp.jit(lambda x: np.sin(x), executors=[ex])
    x, wrong, done = np.zeros(2), [], threading.Event()

    def call():
        last = 0.0
        while not done.is_set():
            found = f(x)[0]
            if found < last:  # an older one than was seen before
                wrong.append((last, found))
            last = found

    threads = [threading.Thread(target=call) for _ in range(2)]
    for t in threads:
        t.start()
    for n, op in enumerate(ops):
        ex.register_implementation("numpy.sin", op)
        if f(x)[0] != n:
            wrong.append(n)
    done.set()
    for t in threads:
        t.join()
    assert not wrong


def test_a_compilation_that_begins_during_a_registration(ex, monkeypatch):
    """It waits until the programs are forgotten, so that the next registration finds it."""
    first, second, third = (unary(ex, f"plus_{n}", lambda a, n=n: a + n) for n in (1, 2, 3))
    ex.register_implementation("numpy.sin", first)
    f = tnp.jit(lambda x: np.sin(x), executors=[ex])
    assert_same(f(X), X + 1)
    calls, set_entries = [], type(f)._set_entries

    def in_another_thread(self, entries):
        set_entries(self, entries)
        if self is f and not entries and not calls:
            calls.append(threading.Thread(target=f, args=(X,)))
            calls[0].start()
            calls[0].join(0.5)

    monkeypatch.setattr(type(f), "_set_entries", in_another_thread)
    ex.register_implementation("numpy.sin", second)
    calls[0].join()
    ex.register_implementation("numpy.sin", third)
    assert_same(f(X), X + 3)


def test_gradient_rules_of_the_executors_of_a_device(ex, monkeypatch):
    torch = pytest.importorskip("torch")
    op = unary(ex, "op", torch.tanh)

    def rule(a):
        fwd = op(a)
        put_grad(a, get_grad(fwd) * 5)
        return fwd

    ex.register_implementation("torch.tanh", op, grad_transform=rule)
    monkeypatch.setitem(registry._of_device, "cuda", [ex])
    for in_use in (False, True):
        monkeypatch.setattr(torch.cuda, "is_initialized", lambda in_use=in_use: in_use)
        x = torch.ones(2, requires_grad=True)
        tnp.jit(lambda x: torch.tanh(x).sum())(x).backward()
        assert (x.grad[0] == 5) == in_use
