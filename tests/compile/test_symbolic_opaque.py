"""Opaque calls of torch functions in programs for any size: the shapes of their results are PyTorch's own expressions."""

import pytest

import tnp
from tests.compile.test_symbolic_tensors import with_gradients
from tnp.api import programs_of
from tnp.testing import assert_same

torch = pytest.importorskip("torch")
F = torch.nn.functional


def _argument(n):
    return torch.randn(n, n + 2, 8, generator=torch.Generator().manual_seed(n))


def _heads(a):
    q = a[..., :4].transpose(0, 1)
    weights = torch.ones(12, 4), torch.zeros(12)
    return F.multi_head_attention_forward(
        q, q, q, 4, 2, *weights, None, None, False, 0.0, torch.ones(4, 4), torch.zeros(4)
    )[0]


ONE_PROGRAM = {
    "einsum": lambda a: torch.einsum("bij,bkj->bik", a, a),
    "norm": lambda a: torch.linalg.norm(a, dim=-1),
    "cdist": lambda a: torch.cdist(a, a),
    "topk": lambda a: torch.topk(a, 3, dim=1),
    "sort": lambda a: torch.sort(a, dim=1),
    "median": lambda a: a.median(1),
    "cov": lambda a: torch.cov(a[0]),
    "searchsorted": lambda a: torch.searchsorted(a.detach().sort(-1).values, a.detach()),
    "adaptive pool": lambda a: F.adaptive_avg_pool1d(a, 3),
    "group norm": lambda a: F.group_norm(a, 1),
    "normalize": lambda a: F.normalize(a, dim=-1),
    "solve": lambda a: torch.linalg.solve(a @ a.mT + torch.eye(a.shape[1]), a),
    "kron": lambda a: torch.kron(a[0], a[0]),
    "tensordot": lambda a: torch.tensordot(a, a, dims=([0, 1], [0, 1])),
    "pairs": lambda a: torch.cartesian_prod(a[0, 0], a[0, 1]),
    "quantile": lambda a: torch.quantile(a, 0.3),
    "scatter": lambda a: torch.zeros_like(a).scatter(1, a.argsort(1), a),
    "heads": _heads,
    "interpolate": lambda a: F.interpolate(a, scale_factor=2.0),
    "interpolate lines": lambda a: F.interpolate(a.mT, scale_factor=2.0),
    "size": lambda a: F.interpolate(a.mT, size=a.shape[1] * 2, mode="linear"),
    "other size": lambda a: F.interpolate(a.mT, size=11, mode="linear", align_corners=True),
}


@pytest.mark.filterwarnings("error::tnp.EagerFallbackWarning")
@pytest.mark.parametrize("trains", [False, True])
@pytest.mark.parametrize("function", [pytest.param(f, id=name) for name, f in ONE_PROGRAM.items()])
def test_one_program_for_all_sizes(function, trains):
    jitted = tnp.jit(function, dynamic=True)
    for n in (5, 8, 13, 8):
        found = [with_gradients(f, [_argument(n)], trains) for f in (jitted, function)]
        assert_same(*found, exact=False, what=f"size {n}")
    assert len(programs_of(jitted)) == 1


def test_what_pytorch_relies_on_is_a_relation():
    """Which shapes fit is PyTorch's to say."""
    function = lambda a, b: torch.linalg.norm(torch.cat([a, b], 1), dim=1) + torch.linalg.norm(b, dim=1)  # noqa: E731
    jitted = tnp.jit(function, dynamic=True)
    for n, m in ((3, 3), (4, 4), (5, 2)):
        a, b = _argument(n), _argument(n)[:, :m]
        b = b.contiguous()
        assert_same(jitted(a, b), function(a, b), exact=False)
    with pytest.raises(RuntimeError, match="must match"):
        jitted(_argument(3), _argument(4))


def test_a_transformer_of_pytorchs_layers():
    """In inference its layers are one opaque call each, in training several."""
    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    for trains in (False, True):
        model.train(trains)
        jitted = tnp.jit(model)
        for batch, length in ((2, 4), (2, 7), (3, 5), (4, 9), (2, 6)):
            x, found = torch.randn(batch, length, 16), []
            for f in (model, jitted):
                with torch.set_grad_enabled(trains):
                    out = f(x)
                gradients = torch.autograd.grad(out.square().mean(), list(model.parameters())) if trains else ()
                found.append((out.detach(), gradients))
            assert_same(found[1], found[0], exact=False, what=f"batch {batch}, length {length}")
        assert len(programs_of(jitted.__tnp_programs__)) == 3
