"""Pooling, columns and steps of recurrent networks, decomposed to prims: what torch's operator database lacks or samples thinly."""

import math

import pytest

import tnp

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402


def _check(function, *args, **kwargs):
    jitted = tnp.jit(function, executors=["torch_functions[prims]"], strict=True)
    torch.testing.assert_close(jitted(*args, **kwargs), function(*args, **kwargs))
    assert tnp.last_traces(jitted)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_max_pool(rank):
    pool = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[rank - 1]

    def pooled(x, *args):
        return pool(x, *args)

    x = torch.randn(2, 3, *(9, 8, 7)[:rank])
    for settings in ((2,), (3, 2), (3, 2, 1), (3, 1, 1, 2), (3, 2, 1, 1, True), (2, 3, 0, 2, True), (3, 5, 1, 1, True)):
        _check(pooled, x, *settings)
    _check(pooled, x[0], 2)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_adaptive_max_pool(rank):
    """Of windows that fit, that overlap by one, and that are shorter than the input; gradients go to the first of equals."""
    pool = (F.adaptive_max_pool1d, F.adaptive_max_pool2d, F.adaptive_max_pool3d)[rank - 1]
    shape = (6, 5, 4)[:rank]
    x = (torch.arange(2 * math.prod(shape)) * 7 % 5).double().view(1, 2, *shape).requires_grad_()
    for size in (2, 3, 7, *((tuple(range(1, rank + 1)), (None,) * rank) if rank > 1 else (6,))):

        def pooled(x, size=size):
            return pool(x, size)

        _check(pooled, x)
        _check(pooled, x[0])
        jitted = tnp.jit(pooled, executors=["numpy"], strict=True)
        weights = torch.rand_like(pooled(x))
        mine, eager = (torch.autograd.grad((f(x) * weights).sum(), x)[0] for f in (jitted, pooled))
        torch.testing.assert_close(mine, eager)
    places = tnp.jit(lambda x: pool(x, 2, return_indices=True))(x)
    assert torch.equal(places[1], pool(x, 2, return_indices=True)[1])


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_avg_pool_of_windows_that_reach_over_the_end(rank):
    pool = (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)[rank - 1]

    def pooled(x, *args):
        return pool(x, *args)

    x = torch.randn(2, 3, *(9, 8, 7)[:rank])
    for settings in ((2, 2, 0), (3, 2, 1), (3, 2, 1, False), (2, 3, 0), (3, 5, 1, True), (4, 3, 2, False)):
        kernel, stride, padding, *include = settings
        _check(pooled, x, kernel, stride, padding, True, *(include or (True,)), *((5,) if rank > 1 and include else ()))
        _check(pooled, x, kernel, stride, padding, True, *(include or (True,)))
    _check(pooled, x[0], 2, 2, 0, True)


def columns_and_back(x):
    columns = F.unfold(x, (2, 3), dilation=(1, 2), padding=1, stride=(2, 1))
    return columns, F.fold(columns, (6, 7), (2, 3), dilation=(1, 2), padding=1, stride=(2, 1))


def test_fold_and_unfold():
    _check(columns_and_back, torch.randn(2, 3, 6, 7))
    _check(columns_and_back, torch.randn(3, 6, 7))


def cells(x, h, c, weights, biases):
    w, v = weights
    a, b = biases
    return (
        torch.lstm_cell(x, (h, c), w, v, a, b),
        torch.gru_cell(x, h, w[:12], v[:12], a[:12], b[:12]),
        torch.rnn_tanh_cell(x, h, w[:4], v[:4]),
        torch.rnn_relu_cell(x, h, w[:4], v[:4], a[:4], b[:4]),
    )


def test_cells():
    weights = [torch.randn(16, 3), torch.randn(16, 4)]
    _check(cells, torch.randn(2, 3), torch.randn(2, 4), torch.randn(2, 4), weights, [torch.randn(16), torch.randn(16)])


def positions(x, m):
    return (
        torch.nonzero(x),
        x.nonzero(as_tuple=True),
        torch.argwhere(m),
        x.masked_select(m),
        torch.combinations(x[0], 2),
    )


def questions(x, y):
    return torch.equal(x, x), torch.equal(x, y), torch.allclose(x, x + 1e-9), x.cov(), torch.corrcoef(x)


def test_results_that_depend_on_data():
    x = torch.tensor([[0.0, 1.5, -2.0], [3.0, 0.0, 0.5]])
    _check(positions, x, x > 0)
    _check(questions, x, x[:1])


def shared_heads(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)


def test_attention_in_which_heads_share_keys():
    _check(shared_heads, torch.randn(2, 6, 5, 4), torch.randn(2, 2, 5, 4), torch.randn(2, 2, 5, 4))


def interpolations(rank):
    """Keywords of ``F.interpolate`` for images of ``rank`` dimensions, of 6, 5 and 4 positions."""
    linear = {1: "linear", 2: "bilinear", 3: "trilinear"}[rank]
    for mode in ("nearest", "nearest-exact", "area", linear):
        for size in ([12, 10, 8], [9, 5, 7], [3, 5, 2], [4, 7, 9], [1, 2, 1], [5, 1, 24]):
            yield {"size": size[:rank], "mode": mode}
        for factor in (2, 3, 0.5, 1.7, 1):
            yield {"scale_factor": factor, "mode": mode}
        yield {"scale_factor": 1.7, "mode": mode, "recompute_scale_factor": True}
        yield {"size": 7, "mode": mode}
    for size in ([12, 10, 8], [3, 9, 1], [6, 5, 4]):
        yield {"size": size[:rank], "mode": linear, "align_corners": True}
    yield {"scale_factor": (2, 1.5, 3)[:rank], "mode": linear, "align_corners": True}


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_images_of_another_size(rank, dtype):
    x = torch.randn(2, 3, *(6, 5, 4)[:rank], dtype=dtype, requires_grad=True)
    for keywords in interpolations(rank):
        jitted = tnp.jit(lambda x: F.interpolate(x, **keywords), strict=True)
        expected = F.interpolate(x, **keywords)
        found = jitted(x)
        torch.testing.assert_close(found, expected, msg=str(keywords))
        seed = torch.randn_like(expected)
        gradients = [torch.autograd.grad(y, x, seed)[0] for y in (found, expected)]
        torch.testing.assert_close(*gradients, msg=str(keywords))


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_images_that_torch_interpolates():
    x = torch.rand(1, 2, 6, 5)
    for keywords in ({"mode": "bicubic"}, {"mode": "bilinear", "antialias": True}):
        jitted = tnp.jit(lambda x: F.interpolate(x, size=(4, 3), **keywords))
        torch.testing.assert_close(jitted(x), F.interpolate(x, size=(4, 3), **keywords))
    jitted = tnp.jit(lambda x: F.interpolate(x, scale_factor=2))
    for y in (x.to(torch.float16), (x * 255).to(torch.uint8), x.contiguous(memory_format=torch.channels_last)):
        found, expected = jitted(y), F.interpolate(y, scale_factor=2)
        torch.testing.assert_close(found, expected)
        assert found.stride() == expected.stride()
    for keywords in (
        {},
        {"size": 3, "scale_factor": 2},
        {"size": (1, 2, 3)},
        {"mode": "linear", "size": 3},
        {"size": 0},
    ):
        outcomes = []
        for f in (F.interpolate, tnp.jit(lambda x: F.interpolate(x, **keywords))):
            with pytest.raises((ValueError, RuntimeError, NotImplementedError)) as error:
                f(x, **(keywords if f is F.interpolate else {}))
            outcomes.append((error.type, str(error.value)))
        assert outcomes[0] == outcomes[1]


def test_gradients_of_large_images():
    x = torch.randn(1, 8, 96, 100, requires_grad=True)
    f = lambda x: F.interpolate(x, size=(50, 130), mode="bilinear", align_corners=True) * 2  # noqa: E731
    gradients = [torch.autograd.grad(g(x).square().sum(), x)[0] for g in (tnp.jit(f), f)]
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-4)
