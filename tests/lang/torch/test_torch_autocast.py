"""Programs under ``torch.autocast``: the casts that torch makes are part of the program."""

import warnings

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402

import tnp  # noqa: E402
from tnp.testing.compare import assert_same  # noqa: E402

HALF = torch.bfloat16


def numbers(*shape, dtype=torch.float32):
    return torch.rand(*shape, generator=torch.Generator().manual_seed(len(shape))).to(dtype)


def positive(n=3):
    """A symmetric positive definite matrix."""
    return numbers(n, n) @ numbers(n, n).T + torch.eye(n)


#: of each function on torch's lists, and of some on none, a call: those with a name of torch's own by that
CALLS = {
    # in the lower precision
    "addbmm": lambda: (torch.addbmm, numbers(2, 3), numbers(4, 2, 5), numbers(4, 5, 3)),
    "addmm": lambda: (torch.addmm, numbers(2, 3), numbers(2, 5), numbers(5, 3)),
    "baddbmm": lambda: (torch.baddbmm, numbers(4, 2, 3), numbers(4, 2, 5), numbers(4, 5, 3)),
    "bmm": lambda: (torch.bmm, numbers(4, 2, 5), numbers(4, 5, 3)),
    "conv1d": lambda: (F.conv1d, numbers(1, 2, 9), numbers(3, 2, 3), numbers(3)),
    "conv2d": lambda: (F.conv2d, numbers(1, 2, 6, 6), numbers(3, 2, 3, 3)),
    "conv3d": lambda: (F.conv3d, numbers(1, 1, 4, 4, 4), numbers(2, 1, 3, 3, 3)),
    "conv_transpose1d": lambda: (F.conv_transpose1d, numbers(1, 2, 5), numbers(2, 3, 3)),
    "conv_transpose2d": lambda: (F.conv_transpose2d, numbers(1, 2, 4, 4), numbers(2, 3, 3, 3)),
    "conv_transpose3d": lambda: (F.conv_transpose3d, numbers(1, 1, 3, 3, 3), numbers(1, 2, 2, 2, 2)),
    "linear": lambda: (F.linear, numbers(2, 5), numbers(3, 5), numbers(3)),
    "matmul": lambda: (torch.matmul, numbers(2, 3), numbers(3)),
    "mm": lambda: (torch.mm, numbers(2, 3), numbers(3, 4)),
    "prelu": lambda: (F.prelu, numbers(2, 3) - 0.5, numbers(1)),
    "scaled_dot_product_attention": lambda: (F.scaled_dot_product_attention, *(numbers(1, 2, 4, 8),) * 3),
    "vecdot": lambda: (torch.linalg.vecdot, numbers(3), numbers(3)),
    # in float32
    "avg_pool3d": lambda: (F.avg_pool3d, numbers(1, 1, 4, 4, 4, dtype=HALF), 2),
    "adaptive_avg_pool3d": lambda: (F.adaptive_avg_pool3d, numbers(1, 1, 4, 4, 4, dtype=HALF), 2),
    "binary_cross_entropy": lambda: (F.binary_cross_entropy, numbers(4, dtype=HALF), numbers(4)),
    "bce_with_logits": lambda: (F.binary_cross_entropy_with_logits, numbers(4, dtype=HALF), numbers(4)),
    "cdist": lambda: (torch.cdist, numbers(2, 3, dtype=HALF), numbers(4, 3)),
    "cholesky": lambda: (torch.linalg.cholesky, positive().to(HALF)),
    "cosine_embedding_loss": lambda: (
        F.cosine_embedding_loss, numbers(2, 3, dtype=HALF), numbers(2, 3), torch.tensor([1, -1])
    ),
    "cross_entropy": lambda: (F.cross_entropy, numbers(3, 4, dtype=HALF), torch.tensor([0, 3, 1])),
    "fft": lambda: (torch.fft.fft, numbers(8, dtype=HALF)),
    "irfftn": lambda: (torch.fft.irfftn, numbers(4, 4, dtype=HALF)),
    "grid_sample": lambda: (
        F.grid_sample, numbers(1, 1, 4, 4, dtype=HALF), numbers(1, 2, 2, 2), "bilinear", "zeros", False
    ),
    "hinge_embedding_loss": lambda: (F.hinge_embedding_loss, numbers(3, dtype=HALF), torch.tensor([1.0, -1, 1])),
    "huber_loss": lambda: (F.huber_loss, numbers(3, dtype=HALF), numbers(3)),
    "inv": lambda: (torch.linalg.inv, positive().to(HALF)),
    "kl_div": lambda: (F.kl_div, numbers(3, dtype=HALF), numbers(3), None, None, "sum"),
    "l1_loss": lambda: (F.l1_loss, numbers(3, dtype=HALF), numbers(3, dtype=HALF)),
    "margin_ranking_loss": lambda: (F.margin_ranking_loss, numbers(3, dtype=HALF), numbers(3), torch.ones(3)),
    "mse_loss": lambda: (F.mse_loss, numbers(3, dtype=HALF), numbers(3, dtype=HALF)),
    "multi_margin_loss": lambda: (F.multi_margin_loss, numbers(2, 3, dtype=HALF), torch.tensor([0, 2])),
    "nll_loss": lambda: (F.nll_loss, numbers(2, 3, dtype=HALF), torch.tensor([0, 2])),
    "poisson_nll_loss": lambda: (F.poisson_nll_loss, numbers(3, dtype=HALF), numbers(3)),
    "polar": lambda: (torch.polar, numbers(3, dtype=HALF), numbers(3)),
    "prod": lambda: (torch.prod, numbers(3, dtype=HALF)),
    "qr": lambda: (torch.linalg.qr, positive().to(HALF)),
    "quantile": lambda: (torch.quantile, numbers(5, dtype=HALF), 0.5),
    "smooth_l1_loss": lambda: (F.smooth_l1_loss, numbers(3, dtype=HALF), numbers(3)),
    "soft_margin_loss": lambda: (F.soft_margin_loss, numbers(3, dtype=HALF), torch.ones(3)),
    "solve": lambda: (torch.linalg.solve, positive().to(HALF), numbers(3)),
    "svdvals": lambda: (torch.linalg.svdvals, positive().to(HALF)),
    "trace": lambda: (torch.trace, numbers(3, 3, dtype=HALF)),
    "triplet_margin_loss": lambda: (F.triplet_margin_loss, *(numbers(2, 3, dtype=HALF) + i for i in range(3))),
    # in the widest dtype
    "cat": lambda: (torch.cat, [numbers(2, dtype=HALF), numbers(2)]),
    "stack": lambda: (torch.stack, [numbers(2), numbers(2)]),
    "index_copy": lambda: (torch.index_copy, numbers(3, dtype=HALF), 0, torch.tensor([1]), numbers(1)),
    # on none of the lists
    "add": lambda: (torch.add, numbers(3, dtype=HALF), numbers(3)),
    "softmax": lambda: (torch.softmax, numbers(3, dtype=HALF), 0),
    "layer_norm": lambda: (F.layer_norm, numbers(2, 3), (3,)),
    "einsum": lambda: (torch.einsum, "ij,jk->ik", numbers(2, 3), numbers(3, 4)),
    "max_pool3d": lambda: (F.max_pool3d, numbers(1, 1, 4, 4, 4, dtype=HALF), 2),
    "reflection_pad": lambda: (F.pad, numbers(1, 2, 4, dtype=HALF), (1, 1), "reflect"),
    "multi_dot": lambda: (torch.linalg.multi_dot, [numbers(2, 3), numbers(3, 4), numbers(4, 2)]),
    "bilinear": lambda: (F.bilinear, numbers(2, 3), numbers(2, 4), numbers(5, 3, 4)),
    "integers": lambda: (torch.matmul, torch.arange(4).reshape(2, 2), torch.arange(2)),
    "doubles": lambda: (torch.matmul, numbers(2, 2, dtype=torch.float64), numbers(2, dtype=torch.float64)),
}  # fmt: skip


def call(function, *args):
    return function(*args)


@pytest.mark.parametrize("name", CALLS)
def test_functions(name):
    function, *args = CALLS[name]()
    jitted = tnp.jit(call)
    with torch.autocast("cpu"), warnings.catch_warnings():
        warnings.simplefilter("error")  # of programs that run eagerly, too
        assert_same(jitted(function, *args), function(*args))
    assert tnp.last_traces(jitted)


def test_functions_whose_arguments_do_not_fit_raise_what_torch_raises():
    args = torch.cat, [numbers(2, dtype=torch.float16), numbers(2)]
    with torch.autocast("cpu", dtype=HALF):
        for f in (call, tnp.jit(call)):
            with pytest.raises(RuntimeError, match="Unexpected floating ScalarType"):
                f(*args)


def nested(x, w):
    a = x @ w
    with torch.autocast("cpu", dtype=torch.float16):
        b = x @ w
        with torch.autocast("cpu", enabled=False):
            c = x @ w + b.float()
        d = F.linear(c, w) if torch.is_autocast_enabled("cpu") else c
    return a, b, c, d, x @ w


def test_contexts_in_functions_and_around_them():
    f = tnp.jit(nested)
    x, w = numbers(3, 3), numbers(3, 3)
    assert_same(f(x, w), nested(x, w))
    for dtype in (HALF, torch.float16):
        with torch.autocast("cpu", dtype=dtype):
            assert_same(f(x, w), nested(x, w))
            with torch.autocast("cpu", enabled=False):
                assert_same(f(x, w), nested(x, w))
    assert tnp.cache_info(f).size == 3  # one without, one for each dtype
    assert not torch.is_autocast_enabled("cpu")


@torch.autocast("cpu", dtype=HALF)
def decorated(x, w):
    return torch.relu(x @ w)


def left_on(x):
    torch.autocast("cpu").__enter__()
    return x @ x


def test_decorators_and_contexts_that_are_left_open():
    x = numbers(3, 3)
    assert_same(tnp.jit(decorated)(x, x), decorated(x, x))
    state = torch.is_autocast_enabled("cpu")
    f = tnp.jit(left_on)
    try:
        with pytest.warns(tnp.EagerFallbackWarning, match="turns autocast on"):
            f(x)
        assert torch.is_autocast_enabled("cpu")  # as eager leaves it
    finally:
        torch.set_autocast_enabled("cpu", state)
        torch.autocast_decrement_nesting()


def asks_for_a_value(x):
    with torch.autocast("cpu"):
        y = x @ x
    return y * int(y.sum())


def test_values_that_tracing_asks_for():
    x = torch.eye(3) * 1.001
    f = tnp.jit(asks_for_a_value)
    for _ in range(2):
        assert_same(f(x), asks_for_a_value(x))
    with torch.autocast("cpu", dtype=torch.float16):
        assert_same(f(x), asks_for_a_value(x))


def test_training():
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(64, 8),
        torch.nn.LayerNorm(8), torch.nn.GELU(), torch.nn.Linear(8, 3),
    )  # fmt: skip
    jitted = tnp.jit(model)
    x, target = numbers(5, 1, 6, 6), torch.tensor([0, 2, 1, 1, 0])
    found = []
    for f in (jitted, model):
        model.zero_grad()
        model[1].reset_running_stats()
        with torch.autocast("cpu"):
            out = f(x)
            loss = F.cross_entropy(out, target)
        loss.backward()
        found.append((out.detach(), [p.grad.clone() for p in model.parameters()], model[1].running_var.clone()))
    (out, grads, running), expected = found
    assert out.dtype == HALF
    torch.testing.assert_close((out, running), (expected[0], expected[2]))
    for got, want in zip(grads, expected[1], strict=True):  # sums of half precision may be in another order
        torch.testing.assert_close(got, want, rtol=2e-2, atol=2e-3)
    assert tnp.last_traces(jitted)


def shared(x, w):
    return (F.linear(x, w) + F.linear(x * 2, w)).float().sum()


def test_gradients_of_weights_that_are_used_twice_add_up_in_the_lower_precision():
    w, x = numbers(3, 3).requires_grad_(), numbers(4, 3)
    gradients = []
    for f in (tnp.jit(shared), shared):
        with torch.autocast("cpu"):
            loss = f(x, w)
        gradients += torch.autograd.grad(loss, w)
    assert torch.equal(*gradients)
