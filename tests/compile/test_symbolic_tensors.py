"""How many programs functions need for tensors of the sizes 5, 8, 13, and 8 again, with the results of eager."""

import inspect
import math

import pytest

import tnp
from tests.eager_checks import compiled_whole
from tests.models.language import GPT, Encoder
from tnp.api import programs_of
from tnp.testing import assert_same

torch = pytest.importorskip("torch")
F = torch.nn.functional


def _random(n, *shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(n))


def _integers(n, limit, *shape):
    return torch.randint(0, limit, shape, generator=torch.Generator().manual_seed(n))


#: what the names of parameters stand for: vectors, matrices, states and queries of a transformer, images and their kernels, indices, a mask
MAKERS = {
    "x": lambda n: _random(n, n),
    "y": lambda n: _random(n + 1, n),
    "a": lambda n: _random(n, n, n + 2),
    "b": lambda n: _random(n, n + 2, n),
    "square": lambda n: _random(n, n, n),
    "even": lambda n: _random(n, 2 * n, 4 * n),
    "h": lambda n: _random(n, 2, n, 8),
    "q": lambda n: _random(n, 2, 4, n, 8),
    "w": lambda n: _random(3, 8, 8),
    "bias": lambda n: _random(4, 8),
    "img": lambda n: _random(n, n, 3, 8, 8),
    "img2": lambda n: _random(n, 2, 3, 2 * n + 8, 2 * n + 10),
    "k": lambda n: _random(5, 5, 3, 3, 3),
    "ids": lambda n: _integers(n, 8, 2, n),
    "at": lambda n: _integers(n, n, n),
    "mask": lambda n: _integers(n, 2, n) > 0,
}

ONE_PROGRAM = {
    "elementwise": lambda x, y: torch.exp(x) * y + 1,
    "reductions": lambda a: (a.sum(), a.mean(0), a.max(), a.amax(1), a.std(), a.var(0)),
    "sum keepdim": lambda a: a - a.mean(-1, keepdim=True),
    "max dim": lambda a: (*a.max(1), a.argmax(0), a.min(0).values),
    "softmax": lambda h: F.softmax(h, -1),
    "log_softmax": lambda a: F.log_softmax(a, -1),
    "layer_norm": lambda h, bias: F.layer_norm(h, (8,), bias, bias),
    "linear": lambda h, w, bias: F.linear(h, w, bias),
    "linear2": lambda a, b: a @ b,
    "gelu": lambda h: F.gelu(h),
    "relu": lambda h: F.relu(h),
    "view": lambda h: h.view(-1, 8),
    "view2": lambda h: h.view(2, -1, 2, 4).transpose(1, 2),
    "reshape": lambda h: (
        h.view(2, h.shape[1], 2, 4).transpose(1, 2).reshape(2, h.size(1), 8)
        if False
        else h.view(2, h.shape[1], 2, 4).transpose(1, 2).contiguous().reshape(2, 2, -1)
    ),
    "heads": lambda h: (
        h.view(h.size(0), h.size(1), 2, 4).transpose(1, 2).contiguous().transpose(1, 2).reshape(h.size(0), h.size(1), 8)
    ),
    "flatten": lambda h: (h.flatten(), h.flatten(1), h.flatten(0, 1)),
    "sdpa": lambda q: F.scaled_dot_product_attention(q, q, q),
    "sdpa causal": lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True),
    "attention": lambda q: torch.softmax((q @ q.transpose(-2, -1)) / 8**0.5, -1) @ q,
    "masked attention": lambda q: (
        torch.softmax(
            (q @ q.transpose(-2, -1)).masked_fill(
                torch.triu(torch.ones(q.size(2), q.size(2), dtype=torch.bool), 1), float("-inf")
            ),
            -1,
        )
        @ q
    ),
    "embedding": lambda ids, w: F.embedding(ids, w),
    "index": lambda ids, w: w[ids],
    "positions": lambda ids, w: torch.arange(ids.shape[1]).unsqueeze(0) + ids,
    "posembed": lambda ids, img: img[torch.arange(len(img)).flip(0)],
    "tril": lambda square: (square.tril(), square.triu(1)),
    "buffer slice": lambda h, w: h + torch.zeros(1, 100, 8)[:, : h.size(1)],
    "mask buffer": lambda q: (q @ q.transpose(-2, -1)).masked_fill(
        torch.tril(torch.ones(64, 64)).view(1, 1, 64, 64)[:, :, : q.size(2), : q.size(2)] == 0, float("-inf")
    ),
    "cross_entropy": lambda a, at: F.cross_entropy(a, at),
    "ce view": lambda h, ids: F.cross_entropy(h.view(-1, h.size(-1)), ids.view(-1)),
    "mse": lambda x, y: F.mse_loss(x, y),
    "bce": lambda x, y: F.binary_cross_entropy_with_logits(x, torch.sigmoid(y)),
    "conv": lambda img, k: F.conv2d(img, k, padding=1),
    "conv2": lambda img2, k: F.conv2d(img2, k, stride=2, padding=1),
    "pool": lambda img: F.max_pool2d(img, 2),
    "pool2": lambda img2: F.avg_pool2d(img2, 2),
    "pool3": lambda img2: F.max_pool2d(img2, 2),
    "adaptive": lambda img: F.adaptive_avg_pool2d(img, 1),
    "batchnorm eval": lambda img: F.batch_norm(img, torch.zeros(3), torch.ones(3)),
    "group norm": lambda img: F.group_norm(img, 3),
    "cat": lambda x, y: torch.cat([x, y]),
    "stack": lambda x, y: torch.stack([x, y], 1),
    "chunk": lambda h: h.chunk(2, -1),
    "split": lambda h: h.split(4, 2),
    "split seq": lambda even: even.chunk(2, 1),
    "bmm": lambda h: torch.bmm(h, h.mT),
    "where": lambda x, y: torch.where(x > 0, x, y),
    "masked_fill": lambda x, mask: x.masked_fill(mask, 0),
    "boolean": lambda x, mask: x[mask],
    "nonzero": lambda mask: mask.nonzero(),
    "cumsum": lambda a: (a.cumsum(0), a.cumsum(1)),
    "sort": lambda a: (*a.sort(1), a.argsort(0)),
    "topk": lambda a: a.topk(3),
    "gather": lambda a, at: a.gather(0, at[:, None]),
    "scatter": lambda x, at: torch.zeros(len(x)).scatter_add(0, at, x),
    "index_add": lambda x, at: torch.zeros_like(x).index_add(0, at, x),
    "arange": lambda x: (torch.arange(len(x)), torch.arange(1, x.size(0) + 1) * x),
    "linspace": lambda x: torch.linspace(0, 1, len(x)),
    "eye": lambda x: torch.eye(len(x)),
    "expand": lambda h: h.mean(-1, keepdim=True).expand(-1, -1, 8),
    "repeat": lambda a: a.repeat(2, 1),
    "repeat_interleave": lambda a: a.repeat_interleave(2, 0),
    "permute": lambda h: h.permute(2, 0, 1),
    "T": lambda a: a.T + 1,
    "contig": lambda a: a.t().contiguous(),
    "flip": lambda a: a.flip(1),
    "roll": lambda a: a.roll(1, 0),
    "pad": lambda a: F.pad(a, (1, 2)),
    "slices": lambda a: (a[1:], a[:, :-1], a[::2], a[:, -1], a[0]),
    "slice half": lambda x: x[: len(x) // 2],
    "store": lambda x: x.clone().index_fill_(0, torch.tensor([0, 1]), 3.0),
    "inplace": lambda x, y: x.add_(y).mul_(2),
    "setitem": lambda a: a.__setitem__((slice(1, None), 0), 5.0),
    "strides": lambda a: (a.stride(), a.T.stride(), a.is_contiguous()),
    "cos": lambda a: F.cosine_similarity(a, a + 1, dim=1),
    "one_hot": lambda ids: F.one_hot(ids, 8),
    "dropout eval": lambda h: F.dropout(h, 0.1, False),
    "glu": lambda h: F.glu(h),
    "rms": lambda h: h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-5),
    "rope": lambda q: (
        torch.cat([-q[..., 4:], q[..., :4]], -1) * torch.outer(torch.arange(q.size(2)).float(), torch.ones(8)).cos()
    ),
    "kv": lambda q: torch.cat([q, q[:, :, :1]], dim=2),
    "unsq": lambda x: x[None, :, None] * torch.ones(2, 1, 3),
    "tuple shape": lambda h: h.reshape(*h.shape[:-1], 2, 4).movedim(2, 1),
    "squeeze": lambda h: h[:, :, :1].squeeze(-1),
    "unflatten": lambda h: h.unflatten(-1, (2, 4)),
    "logsumexp": lambda a: a.logsumexp(1),
    "finfo": lambda a: a.masked_fill(a > 0, torch.finfo(a.dtype).min),
    "addmm": lambda a, b, x: torch.addmm(x, a, b),
    "unfold": lambda a: a.unfold(1, 3, 1),
    "loop": lambda h: sum(h[:, :, i] for i in range(8)),
    "tolist shape": lambda a: list(a.shape),
    "float scale": lambda a: a / a.size(0) ** 0.5,
    "triangle": lambda square: square[*torch.triu_indices(len(square), len(square))],
    "triangles by a size": lambda a: (a.tril(a.size(0) - 3), a.triu(2 - a.size(0))),
    "positions by a size": lambda a: (a.select(0, a.size(0) // 2), a.roll(a.size(0) // 2, 0), a.topk(a.size(0) - 1, 0)[0]),
    "windows by a size": lambda a: a.unfold(0, a.size(0) // 2, 1).sum(-1),
    "repeats by a size": lambda a: a.repeat_interleave(a.size(0), 1),
    "one_hot of a size": lambda at: F.one_hot(at, len(at)),
    "pad by a size": lambda a: (F.pad(a, (0, a.size(0), 1, 0)), F.pad(a, (2 * a.size(0), -a.size(0)))),
    "pad to a multiple": lambda img2: F.pad(img2, (0, 64 - img2.shape[3], 0, 64 - img2.shape[2])).view(2, 3, 8, 8, 8, 8),
    "pad with its elements": lambda q: F.pad(q[0], (1, 1, q.size(2) - 2, 2), mode="reflect"),
    "repeated edges": lambda q: F.pad(q[0], (1, 0, 0, q.size(2)), mode="replicate"),
    "parts put back": lambda a: (
        torch.slice_scatter(a, 2 * a[: len(a) // 2], 0, len(a) - len(a) // 2),
        torch.select_scatter(a, a[0], 0, len(a) // 2),
    ),
    "pool of everything": lambda img2: (
        F.avg_pool2d(img2, img2.shape[2:]),
        F.max_pool2d(img2, kernel_size=img2.size()[2:]),
        F.avg_pool2d(img2, (img2.shape[2], 1)),
    ),
    "pool of odd sizes": lambda q: (F.max_pool2d(q, (2, 1)), F.max_pool2d(q, 3, 2, 1), F.avg_pool2d(q, 3, 2, 1)),
    "means inside": lambda q: F.avg_pool2d(q, 3, 2, 1, count_include_pad=False),
    "larger images": lambda img2: (
        F.interpolate(img2, scale_factor=2.0),
        F.interpolate(img2, scale_factor=2.0, mode="bilinear"),
        F.interpolate(img2, scale_factor=0.5, mode="bilinear", align_corners=True),
        F.interpolate(img2, scale_factor=1.5, mode="nearest-exact"),
    ),
    "images of a size": lambda img2, x: (
        F.interpolate(img2, size=(7 * len(x), 2 * len(x)), mode="bilinear"),
        F.interpolate(img2, size=(len(x), 3 * len(x))),
    ),
    "transposed convolution": lambda img2, k: F.conv_transpose2d(img2, k.transpose(0, 1) / 8, stride=2),
    "columns of images": lambda img2: F.unfold(img2, 3, padding=1),
    "transforms of a size": lambda a: (
        torch.fft.rfft(a, 2 * len(a), 0).abs(),
        torch.fft.ifft(torch.fft.fft(a, len(a) + 9), norm="ortho").real,
    ),
    "ranges by a size": lambda x: (
        torch.arange(len(x) - 1, -1, -1) * x,
        torch.linspace(0, len(x) - 1, len(x)) * x,
        torch.trapezoid(x, dx=1 / len(x)),
    ),
}  # fmt: skip

#: results that say what the sizes are
SEVERAL = {
    "zeros": lambda x: (
        torch.zeros(len(x)),
        torch.ones(x.shape),
        torch.full((len(x), 2), 2.0),
        torch.empty(len(x)).shape,
    ),
    "shape": lambda a: (a.shape, a.numel(), a.size(0) * 2, a.shape[:1] + (3,), a.shape.numel()),
    "halves": lambda a: (*a.chunk(2), *a.split(len(a) // 2), *a.tensor_split(3)),
}


@pytest.mark.parametrize(
    ("programs", "function"),
    [pytest.param(n, f, id=name) for n, table in ((1, ONE_PROGRAM), (3, SEVERAL)) for name, f in table.items()],
)
def test_programs_for_all_sizes(programs, function):
    jitted = tnp.jit(function, dynamic=True, strict=True)
    names = inspect.signature(function).parameters
    for n in (5, 8, 13, 8):
        mine, theirs = ([MAKERS[p](n) for p in names] for _ in range(2))
        assert_same(jitted(*mine), function(*theirs), what=f"size {n}")
        assert_same(mine, theirs, what=f"the arguments of size {n}")
    assert len(programs_of(jitted)) == programs


@pytest.mark.parametrize("shape", [(0, 3), (1, 3), (3, 1), (1, 1), (2, 2), (4, 3)])
def test_dimensions_of_0_and_1(shape):
    function = lambda a: (a * 2, a.sum(0), a.T.reshape(-1), a.stride(), a[:, :1].is_contiguous())  # noqa: E731
    jitted = tnp.jit(function, dynamic=True)
    for a in (_random(1, 5, 4), _random(2, *shape), _random(3, *shape[::-1]).T, _random(2, *shape)):
        assert_same(jitted(a), function(a))


def test_views_and_writes_reach_the_argument():
    def function(a):
        a.view(-1)[1:3] = 7
        a[:, 0] += 1
        return a.T

    jitted = tnp.jit(function, dynamic=True)
    for n in (3, 5, 6):
        mine, theirs = (_random(n, n, 4) for _ in range(2))
        found = jitted(mine)
        assert_same(found, function(theirs))
        assert_same(mine, theirs)
        assert found.data_ptr() == mine.data_ptr() and found.stride() == theirs.T.stride()
    assert len(programs_of(jitted)) == 1


def test_sizes_of_tensors_are_marked():
    jitted = tnp.jit(lambda x: x.sum(1))
    x = torch.ones(3, 4)
    tnp.mark_dynamic(x, 0)
    for n in (3, 5, 6):
        x = x if n == 3 else torch.ones(n, 4)
        assert_same(jitted(x), x.sum(1))
    assert len(programs_of(jitted)) == 1


def test_shapes_are_of_torchs_class():
    def function(x):
        assert isinstance(x.shape, torch.Size) and isinstance(x.shape, tuple)
        return torch.zeros(x.shape[:-1] + (2,)) if x.shape == torch.Size([3, 4]) else torch.ones(x.size())

    jitted = tnp.jit(function, dynamic=True)
    for shape in ((3, 4), (5, 6), (3, 4), (2, 7)):
        assert_same(jitted(torch.ones(shape)), function(torch.ones(shape)))


#: of gradients, what runs eagerly or takes a program a size, as for known sizes
NO_GRADIENTS = frozenset(
    ("boolean", "inplace", "setitem", "zeros", "shape", "pool", "pool2", "triangle", "windows by a size")
)
#: functions that return only views of their arguments: they run eagerly, so that autograd records the views
ONLY_VIEWS = frozenset(
    (
        "view",
        "view2",
        "flatten",
        "chunk",
        "split",
        "split seq",
        "permute",
        "slices",
        "tuple shape",
        "squeeze",
        "unflatten",
        "unfold",
    )
)


def with_gradients(function, args, trains=True):
    """The tensors that a function returns, and with ``trains`` the gradients of its floating arguments."""
    for a in args:
        a.requires_grad_(trains and a.is_floating_point())
    out = function(*args)
    tensors = [x for x in (out if isinstance(out, (tuple, list)) else [out]) if isinstance(x, torch.Tensor)]
    weighted = [(x * torch.linspace(0.1, 1, x.numel()).view(x.shape)).sum() for x in tensors if x.requires_grad]
    if weighted:
        sum(weighted).backward()
    return [x.detach() for x in tensors], [a.grad for a in args]


@pytest.mark.parametrize("name", [n for n in ONE_PROGRAM if n not in NO_GRADIENTS | ONLY_VIEWS])
def test_gradients_for_all_sizes(name):
    function = ONE_PROGRAM[name]
    jitted = tnp.jit(function, dynamic=True, strict=True)
    names = inspect.signature(function).parameters
    for n in (5, 8, 13, 8):
        found = [with_gradients(f, [MAKERS[p](n) for p in names]) for f in (jitted, function)]
        assert_same(*found, exact=False, what=f"size {n}")
    assert len(programs_of(jitted)) == 1


SHAPES = [(b, n) for b in (2, 3, 1) for n in (4, 7, 5, 8)]


@pytest.mark.parametrize(
    "model", [GPT(31, 8, layers=1, heads=2, width=16), Encoder(31, 8, layers=1, heads=2, width=16)]
)
@pytest.mark.parametrize("trains", [False, True])
def test_a_transformer_for_all_lengths_and_batches(model, trains):
    """One program for the first shape, one for its batch and any length, one for any batch, one for batches of one."""
    jitted = tnp.jit(model)
    parameters = list(model.parameters())
    for batch, length in SHAPES:
        tokens, found = _integers(batch, 31, batch, length), []
        for f in (model, jitted):
            with torch.set_grad_enabled(trains):
                out = f(tokens)
                out = out["hidden"] if isinstance(out, dict) else out
                loss = out.square().mean()
            gradients = torch.autograd.grad(loss, parameters, allow_unused=True) if trains else ()
            found.append((out.detach(), gradients))
        assert_same(found[1], found[0], exact=False, what=f"batch {batch}, length {length}")
    assert len(programs_of(jitted.__tnp_programs__)) == 4


def test_a_loss_of_targets_leaves_the_model_native():
    # Logits and targets have as many rows: kernels that have no targets compute that number of the tokens' sizes.
    model = GPT(31, 16, layers=1, heads=2, width=16)
    jitted = tnp.jit(model)
    for batch, length in ((2, 5), (3, 7), (4, 9)):
        tokens, targets = _integers(batch, 31, batch, length), _integers(length, 31, batch, length)
        found = []
        for f in (model, jitted):
            loss = f(tokens, targets)[1]
            found.append((loss.detach(), torch.autograd.grad(loss, list(model.parameters()))))
        assert_same(found[1], found[0], exact=False)
    assert len(programs_of(jitted.__tnp_programs__)) == 2
    assert tnp.explain(jitted).count("kernel for any size") >= 4


LAYERS = {
    "lstm": lambda: torch.nn.LSTM(6, 8, batch_first=True),
    "lstm of two layers": lambda: torch.nn.LSTM(6, 8, 2, bidirectional=True),
    "gru": lambda: torch.nn.GRU(6, 8, 2, bidirectional=True, batch_first=True),
    "rnn": lambda: torch.nn.RNN(6, 8),
}


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("trains", [False, True])
def test_recurrent_layers_for_all_lengths(name, trains):
    layers = LAYERS[name]()
    jitted = tnp.jit(lambda x: layers(x * 2), dynamic=True)
    for batch, length in ((3, 5), (4, 7), (6, 2)):
        found = []
        for f in (lambda x: layers(x * 2), jitted):
            x = _random(batch, batch, length, 6).requires_grad_(trains)
            out, states = f(x)
            every = [out, *(states if isinstance(states, tuple) else (states,))]
            gradients = torch.autograd.grad(out.square().sum(), x) if trains else ()
            found.append(([t.detach() for t in every], [t.stride() for t in every], gradients))
        assert_same(found[1], found[0], exact=False, what=f"batch {batch}, length {length}")
    assert len(programs_of(jitted)) == 1


@pytest.mark.parametrize("trains", [False, True])
def test_tensors_in_another_order_of_dimensions(trains):
    """Sizes of transposed tensors are symbols, and results have eager's strides, written in place or not."""

    def written(x):
        y = x * 2
        y.mul_(3)
        z = x + 1
        z[0] = 3
        return y, z, x * 2, x.exp().t(), torch.zeros_like(x) + x

    jitted = tnp.jit(written)
    for n in (5, 3, 7, 4):
        x = _random(n, 6, n).t().requires_grad_(trains)
        expected, found = written(x), jitted(x)
        assert_same([y.detach() for y in found], [y.detach() for y in expected])
        assert [y.stride() for y in found] == [y.stride() for y in expected]
    assert len(programs_of(jitted)) <= 3


def test_gradients_of_gradients_for_all_sizes():
    function = lambda x, w: torch.tanh(x @ w).square().sum()  # noqa: E731
    jitted = tnp.jit(function)
    for n in (3, 5, 8):
        found = []
        for f in (function, jitted):
            x, w = _random(n, n, 4).requires_grad_(), _random(1, 4, 2).requires_grad_()
            (g,) = torch.autograd.grad(f(x, w), x, create_graph=True)
            found.append((g.detach(), *torch.autograd.grad(g.square().sum(), (x, w))))
        assert_same(found[1], found[0], exact=False)
    assert len(programs_of(jitted)) == 2


def test_random_numbers_come_in_the_order_of_memory():
    function = lambda x: (F.dropout(x.T, 0.5, True), x.clone().uniform_(), torch.rand_like(x))  # noqa: E731
    jitted = tnp.jit(function, dynamic=True)
    for n in (3, 5):
        found = []
        for f in (function, jitted):
            torch.manual_seed(n)
            found.append(f(_random(n, n, 4)))
        assert_same(found[1], found[0])


def padded(a):
    n = 2 ** math.ceil(math.log2(2 * a.shape[-1] - 1))
    power = torch.fft.rfft(a, n=n).abs().square()
    return torch.fft.irfft(power, n=n)[..., : a.shape[-1]], torch.fft.fft2(a, s=(n, n)).real


def windows(a):
    n = a.shape[-1]
    return torch.as_strided(a, (a.shape[0], n, n), (n, 1, 0)) * 2, torch.as_strided(a[0] * 1, (n, n), (1, 0)) + 1


@pytest.mark.parametrize("f", [padded, windows], ids=lambda f: f.__name__)
def test_lengths_that_are_computed_of_others(f):
    jitted = tnp.jit(f)
    for n in (5, 8, 13, 8, 30):
        a = _random(n, n, n + 2)
        assert_same(jitted(a), f(a), exact=False)
    assert compiled_whole(jitted), tnp.explain(jitted)
