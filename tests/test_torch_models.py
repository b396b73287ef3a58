"""Whole models against eager torch. benchmarks/models.py runs those of the transformers package, too."""

import pytest

import tnp

torch = pytest.importorskip("torch")

from models import MODELS, compared  # noqa: E402


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)
def test_inference(model):
    module, inputs = model.made()
    jitted = tnp.jit(module, strict=True)
    with torch.no_grad():
        for _ in range(2):
            compared(jitted(**inputs), module(**inputs))
    assert tnp.cache_info(jitted) == (1, 1, 1)
