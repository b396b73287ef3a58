"""Objects of classes that inherit from PyTorch's, and optimizers: programs read and change their attributes as those of other objects."""

import pytest

import tnp
from tests.eager_checks import compiled_whole
from tnp.testing import assert_same

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore:.* runs ")


class Momentum(torch.optim.Optimizer):
    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if len(state) == 0:
                    state["step"], state["mean"] = 0, torch.zeros_like(p)
                state["step"] += 1
                state["mean"].mul_(0.9).add_(p.grad)
                p.data.add_(state["mean"], alpha=-group["lr"] / state["step"])


class Points(torch.utils.data.Dataset):
    def __init__(self):
        self.scale, self.seen = 1.0, {}

    def __getitem__(self, i):
        self.seen[i] = self.seen.get(i, 0) + 1
        return self.scale * i


class Shifted(torch.distributions.Normal):
    shift = 0.5

    def shifted(self, x):
        return self.log_prob(x - self.shift)


def trained(jit):
    """The parameters after some steps, and what the optimizer keeps of each."""
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 2)
    optimizer = Momentum(model.parameters(), 0.1)
    step = jit(optimizer.step)
    for i in range(4):
        optimizer.param_groups[0]["lr"] = 0.1 / (i + 1)
        optimizer.zero_grad()
        model(torch.linspace(-1, 1, 12).reshape(4, 3)).square().mean().backward()
        step()
    return [(p.detach(), dict(optimizer.state[p])) for p in model.parameters()]


def test_steps_of_an_optimizer_of_the_users():
    torch.testing.assert_close(trained(tnp.jit), trained(lambda f: f))


def test_a_learning_rate_that_changes_is_seen():
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(3))], lr=0.1)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)

    def decayed(x):
        return x * (1 - optimizer.param_groups[0]["lr"]) + schedule.gamma

    jitted = tnp.jit(decayed)
    for gamma in (0.5, 0.25, 2.0):
        schedule.gamma = gamma
        assert_same(jitted(torch.ones(2)), decayed(torch.ones(2)))
        optimizer.step()
        schedule.step()


def test_a_data_set():
    mine, theirs = Points(), Points()

    def f(x, points):
        return x * points[2] + points[3]

    jitted = tnp.jit(f)
    for scale in (1.0, 2.0, 3.0):
        mine.scale = theirs.scale = scale
        assert_same(jitted(torch.ones(2), mine), f(torch.ones(2), theirs))
    assert mine.seen == theirs.seen == {2: 3, 3: 3}


def test_a_distribution_of_the_users():
    normal = Shifted(0.0, torch.tensor(2.0))
    jitted = tnp.jit(lambda x: normal.shifted(x))
    for shift in (0.5, 1.0, -1.0):
        normal.shift = shift
        torch.testing.assert_close(jitted(torch.ones(2)), normal.shifted(torch.ones(2)))


def test_a_distribution_of_pytorchs_is_part_of_programs():
    normal = torch.distributions.Normal(0.0, 1.0)
    jitted = tnp.jit(lambda x: normal.log_prob(x))
    torch.testing.assert_close(jitted(torch.ones(2)), normal.log_prob(torch.ones(2)))
    assert compiled_whole(jitted)


def test_a_distribution_whose_parameters_are_replaced():
    normal = torch.distributions.Normal(torch.zeros(()), torch.ones(()))
    jitted = tnp.jit(lambda x: normal.log_prob(x))
    for loc in (0.0, 0.0, 1.0, 2.0):
        normal.loc = torch.tensor(loc)
        torch.testing.assert_close(jitted(torch.ones(2)), normal.log_prob(torch.ones(2)))
