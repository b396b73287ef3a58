"""PyTorch modules whose ``forward`` cannot be captured whole run in parts."""

import contextvars

import pytest

import tnp

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore:.* runs ")
depth = contextvars.ContextVar("depth", default=0)


class Output(dict):
    """A dict with attributes, as models return them."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class Block(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.wide, self.narrow = torch.nn.Linear(size, 2 * size), torch.nn.Linear(2 * size, size)

    def forward(self, x):
        token = depth.set(depth.get() + 1)
        y = torch.tanh(self.wide(x)) * 2 + 1
        depth.reset(token)
        return self.narrow(y) * 0.5 + x


class Model(torch.nn.Module):
    def __init__(self, size=8):
        super().__init__()
        self.blocks = torch.nn.ModuleList([Block(size), Block(size)])
        self.config = Output(scale=2.0)

    def forward(self, x):
        hidden = torch.sin(x) * self.config.scale + 1
        token = depth.set(3)
        for block in self.blocks:
            hidden = block(hidden)
        depth.reset(token)
        return Output(logits=torch.log_softmax(hidden * 2 + 1, -1), hidden=hidden)


@pytest.fixture
def model():
    torch.manual_seed(0)
    return Model()


def same(found, expected):
    assert type(found) is Output
    assert list(found) == list(expected)
    for name in expected:
        torch.testing.assert_close(found[name], expected[name], rtol=1e-5, atol=1e-5)


def test_results_and_gradients(model):
    jitted, x = tnp.jit(model), torch.linspace(-1, 1, 24).reshape(3, 8)
    for _ in range(5):
        same(jitted(x), model(x))
    assert "in parts" in str(tnp.explain(jitted))
    gradients = []
    for called in (jitted, model):
        model.zero_grad()
        called(x).logits.square().sum().backward()
        gradients.append([p.grad.clone() for p in model.parameters()])
    for found, expected in zip(*gradients):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    assert depth.get() == 0


def test_hooks_that_are_added_later_run(model):
    jitted, x = tnp.jit(model), torch.ones(2, 8)
    for _ in range(5):
        jitted(x)
    hooks = [
        model.register_forward_hook(lambda m, args, result: Output(result, logits=result.logits * 0)),
        model.blocks[1].register_forward_pre_hook(lambda m, args: (args[0] * 2,)),
    ]
    for _ in range(2):
        same(jitted(x), model(x))
    for hook in hooks:
        hook.remove()
    same(jitted(x), model(x))


def test_a_forward_that_is_replaced_runs(model):
    jitted, x = tnp.jit(model), torch.ones(2, 8)
    for _ in range(5):
        jitted(x)
    model.forward = lambda x: Output(logits=x + 1)
    same(jitted(x), Output(logits=x + 1))
