"""tnp as a backend of torch.compile. Dynamo takes seconds to import, so these tests are few."""

import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import tnp

torch = pytest.importorskip("torch")

from tests.models.base import compared  # noqa: E402


class Branching(torch.nn.Module):
    """A forward that looks at values, which is beyond a trace: Dynamo cuts it in two."""

    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(4, 8), torch.nn.Linear(8, 2)
        self.norm = torch.nn.BatchNorm1d(8)

    def forward(self, x):
        y = torch.nn.functional.gelu(self.norm(self.first(x)))
        y = y * 2 if float(y.sum()) > 0 else y - 1
        return {"out": self.second(y), "seen": y}


@pytest.fixture
def backend():
    """What torch finds under the name, as the entry point of the project file says."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    value = project["entry-points"]["torch_dynamo_backends"]["tnp"]
    return EntryPoint("tnp", value, "torch_dynamo_backends").load()


@pytest.mark.filterwarnings("ignore")  # Dynamo's own
def test_models_beyond_the_tracer_run_and_train(backend):
    torch.manual_seed(0)
    eager, mine = Branching(), Branching()
    mine.load_state_dict(eager.state_dict())
    graphs = []

    def watched(graph, examples, **options):
        graphs.append(backend(graph, examples, **options))
        return graphs[-1]

    compiled = torch.compile(mine, backend=watched, options={"strict": True})
    for x in (torch.randn(5, 4), torch.randn(5, 4)):
        found, expected = compiled(x), eager(x)
        compared(found, expected)
        for result in (found, expected):
            (result["out"].square().mean() + result["seen"].sum()).backward()
        compared([p.grad for p in mine.parameters()], [p.grad for p in eager.parameters()])
        compared(mine.state_dict(), eager.state_dict())
    assert len(graphs) >= 2 and all(tnp.cache_info(g).size and tnp.last_traces(g) for g in graphs)


def trained(call, module, x):
    """Losses of three steps of a module, called by ``call``."""
    optimizer, losses = torch.optim.SGD(module.parameters(), 0.1), []
    for _ in range(3):
        loss = call(x).square().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return losses


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.Linear(8, 2))


@pytest.mark.filterwarnings("ignore")  # Dynamo's own
def test_what_is_jitted_is_left_alone():
    x = torch.randn(5, 4)
    expected = trained(eager := network(), eager, x)
    whole = network()
    jitted = tnp.jit(whole)
    compared(trained(torch.compile(jitted, backend="eager"), whole, x), expected)
    part = network()
    part[0] = tnp.jit(part[0])
    compared(trained(torch.compile(part, backend="eager"), part, x), expected)
    sine = tnp.jit(lambda x: x.sin() * 2)
    compared(torch.compile(lambda x: sine(x + 1).cos() + tnp.grad(lambda y: (y * y).sum())(x), backend="eager")(x),
             ((x + 1).sin() * 2).cos() + 2 * x)  # fmt: skip
    assert all(tnp.cache_info(f).size == 1 and tnp.last_traces(f) for f in (jitted, part[0], sine))
    with pytest.raises(torch._dynamo.exc.Unsupported, match="tnp compiles it"):
        torch.compile(lambda x: sine(x), backend="eager", fullgraph=True)(x)
