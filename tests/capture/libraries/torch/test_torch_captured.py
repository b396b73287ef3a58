"""Programs that draw in place or from generators, subscript by tensors, and view memory in other ways: compiled, as eager does them."""

import copy
import warnings

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402

import tnp  # noqa: E402
from tests.eager_checks import not_compiled_whole  # noqa: E402
from tnp.testing.compare import assert_same  # noqa: E402


def runs(f, *args, traced=True):
    """Checks two calls of the jitted function against eager's: results, arguments afterwards, gradients, and the generators' states."""
    found = []
    jitted = tnp.jit(f)
    for g in (jitted, f):
        torch.manual_seed(3)
        given = [
            a.clone_state() if isinstance(a, torch.Generator) else copy.deepcopy(a) if a.requires_grad else a.clone()
            for a in args
        ]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tnp.EagerFallbackWarning)
            results = [g(*given) for _ in range(2)]
        required = [a for a in given if isinstance(a, torch.Tensor) and a.requires_grad]
        first = results[0][0] if isinstance(results[0], tuple) else results[0]
        gradients = torch.autograd.grad(first.square().sum(), required) if required else ()
        states = [a.get_state() if isinstance(a, torch.Generator) else a.detach() for a in given]
        found.append(
            ([r.detach() if isinstance(r, torch.Tensor) else r for r in results], states, gradients, torch.rand(2))
        )
    if required:
        found = [[[x.detach() for r in a for x in (r if isinstance(r, tuple) else (r,))], *rest] for a, *rest in found]
    assert_same(*found)
    assert bool(tnp.last_traces(jitted)) == traced


def randn(*shape, grad=False):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1)).requires_grad_(grad)


def fills(x):
    x.uniform_(-1, 2)
    x[0].bernoulli_(0.3)
    whole = torch.zeros(4, dtype=torch.int64).random_(0, 9)
    return x * 2, torch.empty(17).normal_(2, 3), whole, torch.empty(3).exponential_(), torch.empty(3).cauchy_()


def others(x):
    return x + torch.empty(3).geometric_(0.5), torch.empty(3).log_normal_(), torch.empty(3).bernoulli_(x.sigmoid())


def generators(g, x):
    drawn = torch.rand(3, generator=g) + x
    return (
        drawn,
        torch.randint(0, 9, (3,), generator=g),
        torch.empty(4).normal_(generator=g),
        torch.randperm(5, generator=g),
    )


def test_random_methods_and_generators():
    runs(fills, randn(3, 4))
    runs(others, randn(3))
    runs(generators, torch.Generator().manual_seed(5), randn(3))
    runs(lambda x: x.t().normal_(), randn(3, 4))


def subscripts(x, i):
    return x[i], x[i, 1:], x[:, i] * 2


def stores(x, i):
    x[i] = 0
    x[i] += 1
    return x * 1


def test_subscripts_by_tensors_without_dimensions():
    runs(subscripts, randn(4, 4), torch.tensor(-2))
    runs(subscripts, randn(4, 4, grad=True), torch.tensor(1))
    runs(stores, randn(4, 4), torch.tensor(1))
    with pytest.raises(IndexError, match="out of"):
        tnp.jit(subscripts)(randn(4, 4), torch.tensor(7))


def masked(x):
    chosen = x[x > 0]
    return chosen.sum(), chosen.mean(), chosen.sort().values, torch.cat([chosen, chosen])


def test_masked_values_in_any_function():
    runs(masked, randn(8))
    runs(masked, randn(8, grad=True))


def strided(x):
    y = x * 2
    seen, parts = y.as_strided((2, 2), (2, 1)), torch.view_as_real(torch.view_as_complex((y * 1).view(3, 2)))
    y.add_(1)
    return seen + 1, seen, parts


def beyond(x):
    return torch.as_strided(x, (2,), (1,), 1) * 1


def written(x):
    y = x.as_strided((2, 2), (2, 1))
    y.mul_(2)
    return y * 1


def test_other_views_of_memory():
    runs(strided, torch.arange(6.0))
    runs(strided, torch.arange(6.0).requires_grad_())
    runs(beyond, torch.arange(6.0))
    x = torch.arange(6.0)
    with pytest.warns(tnp.EagerFallbackWarning, match="a part of a tensor's memory"):
        assert_same(tnp.jit(beyond)(x[2:]), beyond(x[2:]))
    runs(written, torch.arange(6.0), traced=False)
    z = randn(2, 2)
    assert tnp.jit(lambda z: torch.as_strided(z, (4,), (1,)))(z).data_ptr() == z.data_ptr()


@pytest.mark.parametrize("grad", [False, True])
def test_draws_in_training_are_eagers_and_gradients_go_through_them(grad):
    def attended(x):
        return F.scaled_dot_product_attention(x, x, x, dropout_p=0.3)

    for f in (
        lambda x: F.rrelu(x, training=True),
        lambda x: F.alpha_dropout(x, 0.4, training=True),
        lambda x: F.feature_alpha_dropout(x, 0.4, training=True),
        attended,
    ):
        runs(f, randn(1, 2, 3, 4, grad=grad))


@pytest.mark.parametrize(
    ("make", "width"),
    [
        (lambda: torch.nn.LSTM(3, 4, 2, dropout=0.2), 3),
        (lambda: torch.nn.GRU(3, 4, bidirectional=True), 3),
        (lambda: torch.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.3), 4),
        (lambda: torch.nn.MultiheadAttention(4, 2, dropout=0.3), 4),
    ],
)
def test_layers_that_draw_or_are_opaque_train(make, width):
    torch.manual_seed(0)
    layer = make()
    x, jitted, found = randn(5, 2, width), tnp.jit(layer), []
    for f in (jitted, layer):
        torch.manual_seed(1)
        layer.zero_grad()
        out = f(x, x, x) if isinstance(layer, torch.nn.MultiheadAttention) else f(x)
        (out if isinstance(out, torch.Tensor) else out[0]).square().sum().backward()
        found.append((out, [p.grad.clone() for p in layer.parameters()]))
    torch.testing.assert_close(*found)
    assert tnp.last_traces(jitted)


def moved(p, x):
    with torch.no_grad():
        p.mul_(0.9).add_(x * 0.1)
    return p.sum() * 1


def detached(p, x):
    y = p * x
    y.detach().mul_(2)
    return y * 1


@pytest.mark.parametrize("f", [moved, detached])
def test_writes_that_autograd_sees_otherwise_say_so(f):
    runs(f, randn(3, grad=True), randn(3), traced=False)
    jitted = tnp.jit(f)
    with not_compiled_whole("requires a gradient"):
        jitted(randn(3, grad=True), randn(3))
    assert "requires a gradient" in str(tnp.explain(jitted))


def distinct(x):
    values, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True)
    runs, lengths = torch.unique_consecutive(x, return_counts=True)
    return values, inverse, counts, runs, lengths, values.sum()


def test_distinct_elements():
    for x in (torch.tensor([3.0, 1, 1, 3, 2]), torch.tensor([[2, 2], [0, 2]]), torch.tensor(4.0)):
        runs(distinct, x)


DISTANCE = torch.nn.PairwiseDistance(p=1)


def judged(a, b, c):
    return F.triplet_margin_with_distance_loss(a, b, c, distance_function=DISTANCE, swap=True)


def counted(x, cuts):
    return F.one_hot(x), torch.tensor_split(x, cuts)


def test_functions_that_call_others_or_need_values():
    runs(judged, randn(2, 3), randn(2, 3) + 1, randn(2, 3) * 2)
    runs(judged, randn(2, 3, grad=True), randn(2, 3) + 1, randn(2, 3) * 2)
    runs(counted, torch.tensor([0, 2, 1, 1]), torch.tensor([1, 3]))


def joined(x, y):
    return torch.cat([x, y])


def test_joining_with_tensors_of_no_elements():
    runs(joined, randn(0, grad=True), randn(2, 3, grad=True))
    runs(joined, randn(0, grad=True), randn(3, grad=True))


def turned(q, angles):
    """Rotary positions: pairs of features as complex numbers."""
    pairs = torch.view_as_complex((q * 2).reshape(*q.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(1)


def parts_and_what_they_are_of(q, angles):
    pairs = torch.view_as_complex((q * 2).reshape(3, 2, 2))
    return pairs, torch.view_as_real(pairs), torch.view_as_real(pairs)[..., 0] * 2


def parts_that_are_written(q, angles):
    pairs = torch.view_as_complex((q * 2).reshape(3, 2, 2))
    torch.view_as_real(pairs)[..., 0].mul_(3)
    return pairs * 1


def parts_of_an_argument(q, angles):
    pairs = torch.view_as_complex(q.reshape(3, 2, 2))
    return pairs, torch.view_as_real(pairs) * 2


def angles_of(q, angles):
    return torch.angle(torch.complex(q, q.flip(0))), torch.complex(q, q.flip(0)).angle() + angles.repeat(1, 2)


def padded(q, angles):
    rows = [q, q[:1] * 2, q[:2]]
    pad = torch.nn.utils.rnn.pad_sequence
    return (
        pad(rows),
        pad(rows, batch_first=True, padding_value=2.0),
        pad(rows, True, padding_side="left"),
        pad(rows[1:2]),
    )


PARTS = [turned, parts_and_what_they_are_of, parts_that_are_written, parts_of_an_argument, angles_of, padded]


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
@pytest.mark.parametrize("f", PARTS)
@pytest.mark.parametrize("requires", [False, True])
def test_parts_of_complex_numbers_and_sequences_side_by_side(f, requires):
    jitted, found = tnp.jit(f), []
    for g in (f, jitted, jitted):
        q = torch.linspace(-2, 2, 12).reshape(3, 4).requires_grad_(requires)
        with torch.no_grad():
            q[0, 0] = q[2, 0] = 0.0
        made = g(q, torch.linspace(0, 3, 6).reshape(3, 2))
        made = made if isinstance(made, tuple) else (made,)
        if not requires and f in (parts_and_what_they_are_of, parts_of_an_argument):  # views are views
            made[0].mul_(2)
        outcome = [[y.detach() for y in made], [y.stride() for y in made], q.detach()]
        if requires:
            sum(torch.view_as_real(y).square().sum() if y.is_complex() else y.square().sum() for y in made).backward()
            outcome.append(q.grad)
        found.append(outcome)
    for other in found[1:]:
        torch.testing.assert_close(other, found[0])
    if f in (turned, angles_of, padded):
        assert "opaque" not in str(tnp.explain(jitted))


def test_sequences_that_torch_refuses():
    pad = tnp.jit(lambda rows: torch.nn.utils.rnn.pad_sequence(rows))
    with pytest.raises(RuntimeError), pytest.warns(tnp.EagerFallbackWarning):
        pad([torch.ones(2, 3), torch.ones(2, 4)])


def test_a_query_that_raises(monkeypatch):
    """Of a device that this torch was not built for."""
    answers = [RuntimeError("no such device")]

    def is_current_stream_capturing():
        if isinstance(answers[0], Exception):
            raise answers[0]
        return answers[0]

    is_current_stream_capturing.__module__ = "torch.cuda.graphs"
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", is_current_stream_capturing)

    def f(x):
        try:
            is_captured = torch.cuda.is_current_stream_capturing()
        except RuntimeError:
            return x * 2
        return x * 3 if is_captured else x

    jitted, x = tnp.jit(f, strict=True), torch.ones(3)
    for answer in (RuntimeError("again"), False, True, RuntimeError("still")):
        answers[0] = answer
        torch.testing.assert_close(jitted(x), f(x))
    assert tnp.cache_info(jitted).misses == 3


KEYS = [torch.full((3,), i + 1.0) for i in range(3)]
STATE = {p: torch.full((3,), 10.0**i) for i, p in enumerate(KEYS)}


def by_tensors(x, p):
    found = STATE[p] * x if p in STATE else x
    return found, len(STATE), sum(k.sum() * v for k, v in STATE.items()), sum((STATE[k] * k * x).sum() for k in KEYS)


def test_dicts_keyed_by_tensors():
    jitted = tnp.jit(by_tensors, strict=True)
    for p in (*KEYS, torch.ones(3), *KEYS):
        assert_same(jitted(torch.tensor(2.0), p), by_tensors(torch.tensor(2.0), p))


def on_a_diagonal(x):
    y = x @ x.T
    same = y.fill_diagonal_(0.5)
    return y * 2, same is y, x.clone().fill_diagonal_(fill_value=3)


def test_diagonals_are_written():
    for shape in ((2, 3), (3, 2), (4, 4)):
        x = torch.arange(float(shape[0] * shape[1])).reshape(shape)
        assert_same(tnp.jit(on_a_diagonal, strict=True)(x), on_a_diagonal(x))
        assert_same(tnp.jit(lambda a: a.fill_diagonal_(7), strict=True)(x.clone()), x.clone().fill_diagonal_(7))
    runs(lambda w: (w * 1).fill_diagonal_(2.0) * w, randn(3, 3, grad=True))


@pytest.mark.filterwarnings("ignore:torch.meshgrid")
def test_grids_whose_order_is_not_given():
    def f(x):
        return [g * x for g in torch.meshgrid(torch.arange(3), torch.arange(4))]

    assert_same(tnp.jit(f, strict=True)(torch.tensor(2.0)), f(torch.tensor(2.0)))
