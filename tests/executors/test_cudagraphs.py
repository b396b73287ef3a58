"""``jit(cudagraphs=True)``: programs captured and replayed, by a stand-in that records on the CPU. test_gpu.py has what needs a device."""

import inspect

import pytest

import tnp

torch = pytest.importorskip("torch")

from tests.stand_ins import cuda_graphs as stand_in  # noqa: E402
from tnp.core.devices import DeviceType  # noqa: E402
from tnp.executors import cudagraphs  # noqa: E402


@pytest.fixture(autouse=True)
def recorded(monkeypatch):
    monkeypatch.setattr(cudagraphs, "DEVICES", frozenset((DeviceType.CPU,)))
    monkeypatch.setattr(cudagraphs, "_torch_cuda", lambda: stand_in)
    monkeypatch.setattr(cudagraphs, "_pools", {})
    for name in ("pools", "used"):
        monkeypatch.setattr(stand_in, name, [])


def jit(function):
    return tnp.jit(function, executors=["torch"], cudagraphs=True)


def said(f):
    return [line.strip() for line in str(tnp.explain(f)).splitlines() if "CUDA graph" in line]


def agree(f, function, calls):
    """Calls both with each of the arguments; results, and arguments afterwards, are the same."""
    kept = []
    for i, args in enumerate(calls):
        mine = [a.clone() if isinstance(a, torch.Tensor) and i % 2 else a for a in args]
        eagers = [a.clone() if isinstance(a, torch.Tensor) else a for a in args]
        results = f(*mine), function(*eagers)
        kept.append(results)
        for a, b in zip(mine, eagers):
            torch.testing.assert_close(a, b, rtol=0, atol=0)
    for a, b in kept:  # no replay has changed what an earlier call returned
        torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "name", ["CUDAGraph", "graph", "graph_pool_handle", "current_stream", "is_current_stream_capturing"]
)
def test_the_stand_in_has_torchs_signatures(name):
    mine, real = getattr(stand_in, name), getattr(torch.cuda, name)
    pairs = [(mine, real)]
    if name == "CUDAGraph":
        pairs = [
            (getattr(mine, m), getattr(real, m)) for m in ("__new__", "capture_begin", "capture_end", "replay", "pool")
        ]
    elif name == "graph":
        pairs = [(mine.__init__, real.__init__)]
    for a, b in pairs:
        names = [[p for p in inspect.signature(f).parameters if p not in ("args", "kwargs")] for f in (a, b)]
        assert names[1][: len(names[0])] == names[0]


def layer(x, w, b):
    return torch.relu(x @ w + b), (x * 2).sum(0)


def test_from_the_second_call_on_a_graph_is_replayed():
    f = jit(layer)
    w, b = torch.randn(3, 4), torch.randn(4)
    for i in range(5):
        x = torch.randn(2, 3)
        mine, eager = f(x, w, b), layer(x, w, b)
        torch.testing.assert_close(mine, eager)
        assert len(stand_in.used) == (0 if i == 0 else len(stand_in.used))
    assert said(f)[0].startswith("CUDA graph: replayed 4 times" if len(stand_in.used) == 1 else "CUDA graph: replayed")
    assert tnp.cache_info(f) == (4, 1, 1)


def test_what_moves_is_copied_and_what_stays_is_read_where_it_is():
    f = jit(layer)
    w, b = torch.randn(3, 4), torch.randn(4)
    batches = [torch.randn(2, 3) for _ in range(4)]  # alive together, so in four places
    for x in batches:
        torch.testing.assert_close(f(x, w, b), layer(x, w, b))
    w *= 2  # in its place, as an optimiser's step
    torch.testing.assert_close(f(batches[0], w, b), layer(batches[0], w, b))
    assert said(f) == ["CUDA graph: replayed 4 times; of 3 inputs each call copies 1"]
    moved = w.clone()
    torch.testing.assert_close(f(batches[1], moved, b), layer(batches[1], moved, b))
    assert said(f) == ["CUDA graph: replayed 5 times; of 3 inputs each call copies 2"]


def test_arguments_are_written_where_they_are_and_through_buffers():
    def step(x, total, scale):
        total += x * scale
        x[0] = 0
        return total.sum()

    calls = [(torch.randn(4), torch.zeros(4), s) for s in (1.0, 1.0, 1.0, 2.0, 2.0, -0.0, 0.0, 0.0, -0.0, -0.0)]
    agree(jit(step), step, calls)


def test_versions_of_written_arguments_grow():
    def f(x):
        x += 1

    jitted, x = jit(f), torch.zeros(3)
    versions = []
    for _ in range(4):
        jitted(x)
        versions.append(x._version)
    assert len(set(versions)) == 4
    assert x[0] == 4


def test_results_that_share_memory_share_it_again_and_arguments_come_back_as_themselves():
    def f(x):
        y = x + 1
        return y, y[0], y.t(), x, x[1:, 1]

    jitted = jit(f)
    for i in range(4):
        x = torch.full((2, 3), float(i))
        y, row, turned, same, part = jitted(x)
        x[1, 1] = 50
        assert part.tolist() == [50]
        y[0, 0] = 100
        assert row[0] == turned[0, 0] == 100
        assert same is x
        assert turned.stride() == (1, 3)
    assert "replayed" in said(jitted)[0]


def test_results_that_are_updated_in_place():
    def step(x, i, v):
        made = x * 2
        return made.index_add(0, i, v), v.sum()

    calls = [(torch.randn(4), torch.tensor([0, 0, 3]), torch.randn(3)) for _ in range(4)]
    agree(jit(step), step, calls)


def test_random_numbers_are_those_of_eager():
    def f(x):
        return torch.nn.functional.dropout(x, 0.5), torch.rand(3)

    jitted, x = jit(f), torch.ones(20)
    torch.manual_seed(7)
    mine = [jitted(x) for _ in range(4)]
    torch.manual_seed(7)
    for a in mine:
        torch.testing.assert_close(a, f(x), rtol=0, atol=0)
    assert "replayed 3 times" in said(jitted)[0]


def test_graphs_share_a_pool():
    f, g = jit(layer), jit(lambda x: x + 1)
    w, b = torch.randn(3, 4), torch.randn(4)
    x = torch.randn(2, 3)
    for _ in range(3):
        f(x, w, b), g(x)
    assert len(stand_in.pools) == 1
    assert stand_in.used == [stand_in.pools[0]] * 2


@pytest.mark.parametrize("training", [False, True])
def test_modules(training):
    def made():
        torch.manual_seed(0)
        return torch.nn.Sequential(
            torch.nn.Linear(3, 5), torch.nn.BatchNorm1d(5), torch.nn.GELU(), torch.nn.Linear(5, 2)
        ).train(training)

    mine, eager = made(), made()
    jitted = jit(mine)
    both = []
    for module, call in ((mine, jitted), (eager, eager)):
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
        losses = []
        for i in range(5):
            x = torch.linspace(-1, 1, 12).reshape(4, 3) * (i + 1)
            loss = call(x).square().mean()
            if training:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            losses.append(loss.detach())
        both.append([losses, list(module.state_dict().values())])
    torch.testing.assert_close(*both)
    assert len(said(jitted)) == (2 if training else 1)
    assert all("replayed" in line for line in said(jitted))


def test_two_forward_passes_before_their_backward_passes():
    f = jit(lambda x: torch.sin(x).exp())
    x = [torch.full((3,), float(i), requires_grad=True) for i in range(6)]
    for pair in (x[:2], x[2:4], x[4:]):
        results = [f(a).sum() for a in pair]
        for r in results:
            r.backward()
    for a in x:
        torch.testing.assert_close(a.grad, torch.cos(a.detach()) * torch.exp(torch.sin(a.detach())))


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: x.sum().item() + 1, "item reads a value on the host"),
        (lambda x: torch.special.airy_ai(x) + 1, "airy_ai is an opaque call"),
        (lambda x: (x.view(torch.int32), x + 1), "views of"),
    ],
)
def test_what_is_not_captured_runs_as_it_is_and_explain_says_why(function, reason):
    jitted = jit(function)
    x = torch.tensor([2.0, 1.0])
    for _ in range(3):
        torch.testing.assert_close(jitted(x), function(x))
    assert not stand_in.used
    assert any(reason in line for line in said(jitted))


def test_what_fails_to_be_captured_runs_as_it_is():
    def f(x, i):
        y = x.clone()
        y[i] = 0  # of several stores to one place torch's last one counts: the host looks
        return torch.linalg.inv(y @ y.T + torch.eye(2))

    jitted = tnp.jit(f, executors=["torch"], cudagraphs=True)
    x, i = torch.ones(2, 2), torch.tensor([0])
    for _ in range(3):
        torch.testing.assert_close(jitted(x, i), f(x, i))


def test_a_capture_that_fails_at_its_end_leaves_the_stream(monkeypatch):
    before, end = stand_in.current_stream(), stand_in.graph.__exit__

    def fail(self, *args):
        end(self, *args)
        monkeypatch.setattr(stand_in, "_default", stand_in.Stream())  # the capture's stream stays current
        raise UserWarning("The CUDA Graph is empty")

    monkeypatch.setattr(stand_in.graph, "__exit__", fail)
    f, x = jit(lambda x: x * 2 + 1), torch.ones(3)
    for _ in range(3):
        torch.testing.assert_close(f(x), x * 2 + 1)
    assert stand_in.current_stream() is before
    assert said(f) == ["runs without a CUDA graph: capturing it failed with The CUDA Graph is empty"]


def test_on_the_cpu_nothing_is_captured(monkeypatch):
    monkeypatch.setattr(cudagraphs, "DEVICES", frozenset((DeviceType.CUDA,)))
    f = jit(lambda x: x + 1)
    f(torch.ones(2))
    assert said(f) == ["runs without a CUDA graph: it computes on the host"]
    g = tnp.jit(lambda x: x + 1, cudagraphs=True)
    assert (g(torch.ones(2).numpy()) == 2).all()


def test_while_somebody_else_captures_nothing_is_replayed(monkeypatch):
    f, x = jit(lambda x: x * 2), torch.ones(2)
    f(x), f(x)
    monkeypatch.setattr(stand_in, "is_current_stream_capturing", lambda: True)
    assert (f(x) == 2).all()
    assert said(f) == ["CUDA graph: replayed 1 times; of 1 inputs each call copies 0"]


def test_more_sets_of_numbers_than_graphs(monkeypatch):
    monkeypatch.setattr(cudagraphs, "MOST_GRAPHS", 2)
    f, x = jit(lambda x, n: x * n), torch.ones(2)
    for n in (1.0, 2.0, 3.0) * 3:
        assert (f(x, n) == n).all()
    assert len(said(f)) == 2
