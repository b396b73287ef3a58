"""A sample of each operator of torch's own database through tnp.jit against eager; benchmarks/opdb.py runs them all."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest", reason="torch's operator database needs it")

from tnp.testing import check_op, opinfos  # noqa: E402
from tnp.testing.torch_samples import databases_operators, outcomes  # noqa: E402

#: one of so many operators is run here, others in each of the two tests
EVERY = 30
OPERATORS = opinfos.family("torch")
CHOSEN = {info.name for info in OPERATORS[::EVERY]}
#: of operators; their variants are run with the first
DTYPES = (torch.float32, torch.int64, torch.bool)


def named_as(name):
    """The operator that a variant is of."""
    return ".".join(name.split(".")[:2])


@pytest.mark.parametrize(
    "info", [i for i in databases_operators(variants=True) if named_as(i.name) in CHOSEN], ids=lambda info: info.name
)
def test_operators(info):
    for dtype in DTYPES if info.name in CHOSEN else DTYPES[:1]:
        for found in outcomes(info, dtype, limit=1):
            assert found.kind != "wrong", f"{found.reason}\nreproduce with: {found.command}"


#: which of equal elements the prim gives is another choice than torch's
TIES = {"torch.topk"}


@pytest.mark.parametrize("info", OPERATORS[1::EVERY], ids=lambda info: info.name)
def test_operators_in_prims(info):
    if info.name in TIES:
        pytest.skip("which of equal elements are taken is free")
    for found in outcomes(info, torch.float32, limit=2, executor="torch_functions[prims]"):
        assert found.kind != "wrong", f"{found.reason}\nreproduce with: {found.command}"


def test_an_operator_by_its_name():
    assert check_op(opinfos.named("torch.acos"), "default", "float32", only=[0]) == 1
