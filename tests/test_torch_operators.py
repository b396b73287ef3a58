"""A sample of each operator of torch's own database through tnp.jit against eager; benchmarks/opdb.py runs them all."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="torch's operator database needs it")

from tnp.testing.torch_samples import databases_operators, outcomes  # noqa: E402

#: one of so many operators is run here, others in each of the two tests
EVERY = 9
OPERATORS = databases_operators()
DTYPES = (torch.float32, torch.int64, torch.bool)


@pytest.mark.parametrize("op", OPERATORS[::EVERY], ids=lambda op: op.formatted_name)
def test_operators(op):
    for dtype in DTYPES:
        for found in outcomes(op, dtype, limit=1, variants=True):
            assert found.kind != "wrong", f"{dtype}: {found.reason}"


#: which of equal elements the prim gives is another choice than torch's
TIES = {"topk"}


@pytest.mark.parametrize("op", OPERATORS[1::EVERY], ids=lambda op: op.formatted_name)
def test_operators_in_prims(op):
    if op.name in TIES:
        pytest.skip("which of equal elements are taken is free")
    for found in outcomes(op, torch.float32, limit=2, executors=["llvm_everything", "torch_prims"]):
        assert found.kind != "wrong", found.reason
