"""Values that a mask selects, in torch programs: one program for any number of them, with gradients and without."""

import pytest

import tnp
from tnp.api import programs_of
from tnp.testing import assert_same

torch = pytest.importorskip("torch")
F = torch.nn.functional

FUNCTIONS = {
    "mse": lambda p, t: F.mse_loss(p[t > 0], t[t > 0]),
    "mean": lambda p, t: (p[t > 0] - t[t > 0]).abs().mean(),
    "detached": lambda p, t: (F.l1_loss(p[t > 0], t[t > 0].detach()), p[t > 0].mean()),
    "sums": lambda p, t: ((p[t > 0] - t[t > 0]) ** 2).sum() / (t > 0).sum(),
    "statistics": lambda p, t: ((p[t > 0] ** 2).mean(), p[t > 0].norm(), p[t > 0].max()),
    "softmax": lambda p, t: p[t > 0].log_softmax(0).sum(),
    "positions": lambda p, t: p.flatten()[torch.nonzero(t.flatten() > 0).squeeze(1)].sum(),
    "huber": lambda p, t: F.smooth_l1_loss(p[t > 0], t[t > 0], reduction="sum") / max(1, (t > 0).sum().item()),
    "selected": lambda p, t: p.masked_select(t > 0).mean(),
    "entropy": lambda p, t: F.binary_cross_entropy_with_logits(p[t > 0], (t[t > 0] > 0.5).float()),
    "rows": lambda p, t: p[(t > 0).any(1)].softmax(-1).sum(0),
    "twice": lambda p, t: (p[t > 0].sum() * 2, p[t > 0][:, None] * p[t > 0][None]),
    "two losses": lambda p, t: (F.l1_loss(p[t > 0], t[t > 0]), F.mse_loss(p[t > 0], t[t > 0].detach())),
    "written": lambda p, t: p.clone().masked_fill_(t > 0, 0.0)[t < 0].exp().sum(),
}
#: how many of 128 elements are selected. A program made for less than eight is for so many.
COUNTS = (60, 0, 1, 2, 30, 128, 5)


def _targets(count):
    generator = torch.Generator().manual_seed(count)
    t = -torch.rand(16, 8, generator=generator) - 0.1
    t.view(-1)[torch.randperm(128, generator=generator)[:count]] *= -1
    return t


def _outcome(function, count, trains):
    """The results and the gradient, or the error."""
    p = torch.randn(16, 8, generator=torch.Generator().manual_seed(7 + count)).requires_grad_(trains)
    try:
        found = function(p, _targets(count))
    except RuntimeError as error:
        return type(error), str(error)
    tensors = list(found) if isinstance(found, tuple) else [found]
    if trains:
        sum(x.sum() for x in tensors).backward()
    return [x.detach() for x in tensors], p.grad


@pytest.mark.parametrize("trains", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_program_for_any_number(name, trains):
    jitted = tnp.jit(FUNCTIONS[name], strict=True)
    for count in COUNTS:
        expected = _outcome(FUNCTIONS[name], count, trains)
        found = _outcome(jitted, count, trains)
        if isinstance(expected[0], type):
            assert found == expected
        else:
            assert_same(found, expected, exact=False, what=f"{count} elements")
    assert len(programs_of(jitted)) == 1


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
@pytest.mark.parametrize("counts", [(0, 60, 1), (1, 60, 0), (3, 60, 0, 1)])
def test_few_elements_first(counts):
    for function in FUNCTIONS.values():
        jitted = tnp.jit(function)
        for count in counts:
            expected, found = (_outcome(f, count, True) for f in (function, jitted))
            if isinstance(expected[0], type):
                assert found == expected
            else:
                assert_same(found, expected, exact=False, what=f"{count} elements")


def test_parameters_that_come_after_the_mask():
    model = torch.nn.Linear(1, 3)

    def function(x):
        y = x[x > 0]
        return model(F.layer_norm(y, y.shape)[:, None]).square().mean()

    jitted = tnp.jit(function, strict=True)
    for count in (20, 31, 2):
        x, found = _targets(count).view(-1), []
        for f in (function, jitted):
            loss = f(x)
            found.append((loss.detach(), torch.autograd.grad(loss, list(model.parameters()))))
        assert_same(found[1], found[0], exact=False)
    assert len(programs_of(jitted)) == 1
