"""torch's functions of integers, bools, single numbers and nothing at all: decomposed, with what eager gives, errors included."""

import pytest

import tnp

torch = pytest.importorskip("torch")

F = torch.nn.functional

WHOLE = torch.tensor([[-7, 3, 0], [5, -1, 2]])
OTHER = torch.tensor([[2, -2, 3], [-3, 4, 1]])
FLAGS = WHOLE > 0
REAL = torch.tensor([[-0.0, float("nan"), 2.5], [float("inf"), -1.25, 3.0]])
NUMBER = torch.tensor(3.0)
NOTHING = torch.zeros(2, 0)
LINE = torch.arange(4.0)


def divisions(a, b):
    quotients = (
        a // b,
        a % b,
        torch.fmod(a, b),
        torch.div(a, b, rounding_mode="trunc"),
        torch.div(a, 3, rounding_mode="trunc"),
    )
    return *quotients, 7 % b, a << b, a >> b, a**b, 2**b, b[:0] // (b[:0] - b[:0])


def of_bools(a, b):
    choices = torch.clamp_min(a, b), torch.clamp_max(a, b), torch.heaviside(a, b), torch.masked_fill(a, b, 7)
    orders = torch.sort(a, dim=1, stable=True), torch.max(a, 1), torch.min(a), torch.aminmax(a, dim=0), torch.nansum(a)
    return *choices, *orders, torch.square(a), torch.addr(a, a[:, 0], b[0]), torch.isclose(a, b, 0, 0), torch.kron(a, b)


def of_integers(a, b):
    losses = (
        F.margin_ranking_loss(a, b, a, 2),
        F.pairwise_distance(a, b, 3.0),
        F.poisson_nll_loss(abs(a), abs(b), full=True),
    )
    shaped = F.hardtanh(a, -1.7, 2.9), F.softsign(a), F.tanhshrink(a), F.threshold(a, 1, -7), torch.heaviside(a, b)
    return (
        *losses,
        *shaped,
        torch.isclose(a, b, 0.5),
        torch.addcmul(a, a, b, value=3),
        torch.trapezoid(a, b),
        torch.diff(a, 2),
    )


def of_reals(a, line):
    rounded = torch.round(a, decimals=1), torch.round(a, decimals=-1), torch.logit(a, 0.25), torch.digamma(a + 1)
    borders = [F.pad(a, (1, 2), mode) for mode in ("reflect", "circular", "replicate")] + [
        F.pad(a, (-3, 4), "replicate")
    ]
    areas = (
        torch.trapezoid(line, line * line),
        torch.cumulative_trapezoid(line, dx=0.5),
        torch.diff(line, 5),
        torch.diff(line, 0, 0, line),
    )
    placed = torch.diagonal_scatter(a, line[:2], 1), torch.diag_embed(a, -1, 0, 2), torch.norm(line, "fro")
    return *rounded, *borders, *areas, *placed, torch.cartesian_prod(line, line[:2]), torch.inner(line[:3], a)


def products(a, b, none):
    nothing = (
        none @ none.T,
        torch.addmm(-0.0 * torch.ones(2, 2), none, none.T),
        torch.addmm(REAL[:, :2], none, none.T, beta=0),
    )
    return (
        *nothing,
        a @ b.T,
        torch.addmm(a[:, :2], a, b.T, beta=2.7, alpha=-1.9),
        F.linear(a, b),
        torch.linalg.cross(a, b),
        torch.inner(a, b),
    )


def of_nothing(a):
    reduced = torch.max(a, 0), torch.argmax(a, 0, True), torch.aminmax(a, dim=0), torch.cumsum(a, 0), torch.nonzero(a)
    normed = torch.softmax(a, 1), torch.log_softmax(a, 0), F.layer_norm(a.T, (2,)), F.pad(a, (1, 2), value=5.0)
    return (
        *reduced,
        *normed,
        torch.sort(a),
        torch.take(a, torch.zeros(0, 3, dtype=torch.int64)),
        torch.linalg.qr(a.new_zeros(0, 2, 2)),
    )


def of_a_number(a):
    at = torch.tensor([0])
    picked = (
        torch.index_select(a, 0, at),
        torch.gather(a, 0, at),
        torch.scatter_add(a, 0, at[0], a),
        torch.masked_select(a, a > 0),
    )
    changed = (
        torch.index_add(a, 0, at, a, alpha=-2),
        torch.index_copy(a, 0, at, -a),
        torch.index_fill(a, 0, at, 5.0),
        a.unfold(0, 1, 1),
    )
    reduced = (
        torch.max(a, 0, True),
        torch.argmax(a, -1),
        torch.sort(a),
        torch.topk(a, 1),
        torch.cumprod(a, 0),
        torch.nonzero(a),
    )
    return (
        *picked,
        *changed,
        *reduced,
        torch.index_select(a, -1, at),
        torch.scatter_add(a, -1, at[0], a),
        F.cosine_similarity(a, -a, 0),
    )


def of_matrices(a, b):
    left = torch.linalg.solve(a, b[0]), torch.linalg.solve(a, b, left=False), torch.linalg.cholesky(a @ a.T, upper=True)
    triangular = torch.linalg.solve_triangular(a.tril(), b, upper=False, left=False)
    return *left, triangular, torch.linalg.matrix_power(a, -3), torch.linalg.matrix_power(a, 0)


def transforms(a):
    there = torch.fft.fft(a, 5, norm="ortho"), torch.fft.rfft2(a, (4, 3)), torch.fft.ihfftn(a), torch.fft.fftn(a > 0)
    return (
        *there,
        torch.fft.irfftn(there[1], (4, -1)),
        torch.fft.hfft(a, norm="forward"),
        torch.fft.fftshift(a),
        torch.fft.ifftshift(a, 1),
    )


def ranges():
    whole = (
        torch.linspace(0, 10, 4, dtype=torch.int64),
        torch.linspace(7, -20, 6, dtype=torch.int32),
        torch.linspace(3, 9, 1),
    )
    return (
        *whole,
        torch.linspace(3, 9, 0),
        torch.arange(-0.9, 2.1, 2.0, dtype=torch.int64),
        torch.tril_indices(3, 4, -1),
        torch.triu_indices(2, 3, 5),
    )


CASES = {
    divisions: (WHOLE, OTHER), of_bools: (FLAGS, ~FLAGS), of_integers: (WHOLE, OTHER), of_reals: (REAL, LINE), of_nothing: (NOTHING,),
    products: (WHOLE, OTHER, NOTHING), of_a_number: (NUMBER,), transforms: (REAL.nan_to_num(1.0, 2.0),), ranges: (),
    of_matrices: (torch.tensor([[3.0, 1.0], [0.5, 2.0]]), torch.tensor([[1.0, -2.0], [4.0, 0.25]])),
}  # fmt: skip


@pytest.mark.parametrize("executors", [None, ["llvm[everything]", "torch_functions[prims]"]], ids=["default", "prims"])
@pytest.mark.parametrize("program", CASES, ids=lambda f: f.__name__)
def test_programs_are_decomposed_and_do_what_eager_does(program, executors):
    jitted = tnp.jit(program) if executors is None else tnp.jit(program, executors=executors)
    args, expected = CASES[program], program(*CASES[program])
    got = jitted(*args)
    for i, (x, y) in enumerate(zip(got, expected, strict=True)):
        torch.testing.assert_close(x, y, equal_nan=True, msg=lambda text, i=i: f"result {i}: {text}")
        for u, v in zip(*((t,) if isinstance(t, torch.Tensor) else t for t in (x, y))):
            if u.is_floating_point():
                assert torch.equal(u.signbit()[u == 0], v.signbit()[u == 0]), f"result {i}: another zero"
    opaque = [b.sym.name for b in tnp.last_traces(jitted)[0].bound_symbols if str(b.sym.id).startswith("torch_opaque.")]
    assert opaque == []


@pytest.mark.parametrize(
    "f",
    [lambda a, b: a // b, lambda a, b: a % b, lambda a, b: torch.fmod(a, b), lambda a, b: torch.div(a, b, rounding_mode="trunc")],
    ids=["floor_divide", "remainder", "fmod", "div"],
)  # fmt: skip
def test_integers_by_zero_raise_after_what_was_written(f):
    def program(a, b):
        a.add_(1)
        return f(a, b)

    a = torch.ones(3, dtype=torch.int64)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        tnp.jit(program)(a, torch.tensor([2, 0, 1]))
    assert a.tolist() == [2, 2, 2]


@pytest.mark.filterwarnings("ignore:Using padding='same':UserWarning")  # of torch's, in eager, too
def test_padding_by_name_has_its_gradient():
    def loss(x, w):
        return (F.conv1d(x, w, padding="same", dilation=3) ** 2).sum()

    tensors = [torch.randn(2, 3, 9, dtype=torch.float64), torch.randn(4, 3, 2, dtype=torch.float64)]
    found = []
    for f in (loss, tnp.jit(loss)):
        copies = [t.clone().requires_grad_() for t in tensors]
        f(*copies).backward()
        found.append([c.grad for c in copies])
    torch.testing.assert_close(*found)


def test_a_length_of_nothing_and_of_what_is_divided_by_one_that_varies():
    def f(x):
        nothing = torch.zeros(0, 4).expand(len(x), 0, 4)
        return nothing.reshape(len(x), -1, 4), torch.ones(24).reshape(len(x), -1), torch.cat([x, nothing.flatten(1)], 1)

    jitted = tnp.jit(f, strict=True)
    for n in (2, 3, 4, 6, 3):
        x = torch.ones(n, 5)
        torch.testing.assert_close(jitted(x), f(x))


@pytest.mark.parametrize(("shape", "dim"), [((3, 1, 1), 0), ((1, 1, 5), 2), ((), -1), ((1, 4, 1), 1)])
def test_weights_with_lengths_of_their_own(shape, dim):
    def f(v, g):
        return torch._weight_norm(v, g, dim) * 2

    torch.manual_seed(0)
    v, g, weight = torch.randn(3, 4, 5, requires_grad=True), torch.rand(shape, requires_grad=True), torch.randn(3, 4, 5)
    jitted = tnp.jit(f, strict=True)
    found, expected = jitted(v, g), f(v, g)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(
        torch.autograd.grad(found, (v, g), weight), torch.autograd.grad(expected, (v, g), weight)
    )
    assert "opaque" not in str(tnp.explain(jitted))


def test_blocks_of_any_size_with_empty_results():
    """The block's operations run one by one, on arrays, as its native code takes them."""

    def f(x, w):
        y = x @ w
        a, b = x.sum(), y.sum()
        d = ((x + a * y) @ w - y).square().mean().sqrt() / a
        if d <= 1e-15:
            e = torch.max(a, a * 1e-3)
        else:
            e = 0.01 / max(b, d)
        return e, torch.tensor([])

    jitted = tnp.jit(f)
    w = torch.eye(3, requires_grad=True)
    for n in (2, 4, 7):
        x = torch.linspace(0.1, 1, 3 * n).view(n, 3)
        torch.testing.assert_close(jitted(x, w), f(x, w))


def test_a_dtype_by_type():
    for f in (
        lambda x: x.type(torch.float64) * 2,
        lambda x: (x * 2).type(),
        lambda x: x.type("torch.DoubleTensor") + 1,
    ):
        found, expected = tnp.jit(f)(LINE), f(LINE)
        assert found == expected if type(expected) is str else torch.equal(found, expected)
