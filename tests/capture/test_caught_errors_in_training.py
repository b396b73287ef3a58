"""Models in training whose ``forward`` catches errors, or does something in a ``finally``: one program, and eager where it raises."""

import numpy as np
import pytest

import tnp

torch = pytest.importorskip("torch")
nn = torch.nn


class Model(nn.Module):
    """An index out of range raises when the program runs."""

    def __init__(self, p, normed):
        super().__init__()
        self.embedding, self.linear = nn.Embedding(10, 4), nn.Linear(4, 4)
        self.drop, self.norm = nn.Dropout(p), nn.BatchNorm1d(4) if normed else nn.Identity()
        self.mode = "outside"

    def body(self, indices):
        noise = torch.rand(indices.shape[0], 4) if self.drop.p else 0.0
        return (
            self.linear(torch.tanh(self.norm(self.embedding(indices)))) + self.drop(self.embedding.weight[:1]) + noise
        )


class Catching(Model):
    def forward(self, indices):
        x = self.drop(self.linear.weight)
        try:
            return self.body(indices).sum() + x.sum()
        except IndexError:
            return x.sum() * 2


class Finally(Model):
    def forward(self, indices):
        before, self.mode = self.mode, "inside"
        try:
            return self.body(indices).sum()
        finally:
            self.mode = before


def step(model, called, indices):
    """A step of training: the result or the error, gradients, buffers, the mode and what is drawn next."""
    torch.manual_seed(3)
    model.zero_grad()
    try:
        result = called(torch.tensor(indices))
        result.backward()
    except IndexError as error:
        result = str(error)
    found = [result.detach() if isinstance(result, torch.Tensor) else result, torch.rand(1), model.mode]
    return [*found, *(p.grad for p in model.parameters()), *model.buffers()]


@pytest.mark.filterwarnings("ignore:.* runs :tnp.EagerFallbackWarning")
@pytest.mark.parametrize("normed", [False, True])
@pytest.mark.parametrize("p", [0.0, 0.4])
@pytest.mark.parametrize("kind", [Catching, Finally])
def test_steps(kind, p, normed):
    torch.manual_seed(0)
    eager = kind(p, normed)
    compiled = kind(p, normed)
    compiled.load_state_dict(eager.state_dict())
    jitted = tnp.jit(compiled)
    for n, indices in enumerate([[1, 2, 3]] * 9 + [[3, 4, 5], [1, 2, 30], [1, 2, 4]]):
        expected, found = step(eager, eager, indices), step(compiled, jitted, indices)
        for x, y in zip(expected, found, strict=True):
            if isinstance(x, torch.Tensor):
                torch.testing.assert_close(y, x, rtol=1e-5, atol=1e-6)
            else:
                assert x == y
        if n == 8:
            text = str(tnp.explain(jitted))
            assert "in parts" not in text and "runs eagerly" not in text, text


def test_draws_of_numpy_are_not_made_twice():
    layer, rng = nn.Linear(2, 2), np.random.default_rng(0)

    def f(indices):
        noise = rng.random()
        try:
            return layer.weight[indices].sum() * noise
        except IndexError:
            return layer.weight.sum() * 2

    def results(called):
        rng.bit_generator.state = np.random.default_rng(0).bit_generator.state
        return [called(torch.tensor(i)).item() for i in ([0, 1], [0, 5], [1, 1])] + [rng.random()]

    with pytest.warns(tnp.EagerFallbackWarning):
        found = results(tnp.jit(f))
    assert found == pytest.approx(results(f), rel=1e-6)
