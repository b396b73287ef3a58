"""Whole models against eager torch. benchmarks/models.py runs those of the transformers package, too."""

import pytest

import tnp

torch = pytest.importorskip("torch")

from tests.models import MODELS, compared, tensors_in  # noqa: E402

#: whose gradients are compared here; benchmarks/models.py compares all
TRAINED = ("MLP", "U-Net", "LSTM and GRU cells")


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)
def test_inference(model):
    module, inputs = model.made()
    jitted = tnp.jit(module, strict=True)
    with torch.no_grad():
        for _ in range(2):
            compared(jitted(**inputs), module(**inputs))
    assert tnp.cache_info(jitted) == (1, 1, 1)


def _trained(function, module, inputs):
    optimizer = torch.optim.SGD(module.parameters(), lr=1e-2, momentum=0.9)
    for _ in range(2):
        optimizer.zero_grad()
        loss = sum(t.square().mean() for t in tensors_in(function(**inputs)) if t.requires_grad)
        loss.backward()
        optimizer.step()
    return {"loss": loss.detach(), "gradients": [p.grad for p in module.parameters()], "state": module.state_dict()}


@pytest.mark.parametrize("model", [m for m in MODELS if m.name in TRAINED], ids=lambda m: m.name)
def test_training(model):
    (eager, inputs), (mine, _) = model.made(training=True), model.made(training=True)
    jitted = tnp.jit(mine, strict=True)
    compared(_trained(jitted, mine, inputs), _trained(eager, eager, inputs), rtol=1e-3, atol=1e-4)
    assert tnp.cache_info(jitted) == (1, 1, 1)
