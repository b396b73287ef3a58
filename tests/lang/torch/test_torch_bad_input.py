"""What eager torch refuses of tensors, and what has no gradient: the same from jitted functions.

Sparse, quantised and nested tensors, those of subclasses, parameters that are replaced, writes to leaves and control flow on data are in
test_torch_gradients.py.
"""

import warnings

import pytest

torch = pytest.importorskip("torch")

import tnp  # noqa: E402


def errors_of(f, *args):
    """The error of eager, and that of the jitted function."""
    found = []
    for g in (f, tnp.jit(f)):
        with warnings.catch_warnings(), pytest.raises(Exception) as caught:
            warnings.simplefilter("ignore", tnp.EagerFallbackWarning)
            g(*args)
        found.append((type(caught.value), str(caught.value)))
    return found


Z = torch.tensor([1 + 2j, 3 - 1j])


@pytest.mark.parametrize(
    "f",
    [torch.floor, torch.relu, torch.sort, torch.argmax, lambda z: z < z, lambda z: z.clamp(0, 1), lambda z: z % 2, lambda z: z.to(torch.float32) @ z],
    ids=["floor", "relu", "sort", "argmax", "less", "clamp", "remainder", "product"],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:Casting complex values to real")
def test_complex_numbers_where_torch_has_none(f):
    eager, mine = errors_of(f, Z)
    assert mine == eager


def test_tensors_on_different_devices():
    def add(a, b):
        return (a * 2 + b).sum()

    a, b = torch.ones(3), torch.ones(3, device="meta")
    for args in ((a, b), (b, a)):
        eager, mine = errors_of(add, *args)
        assert mine == eager
        assert eager[0] is RuntimeError
    assert tnp.jit(add)(a, a) == 9


def test_shapes_and_dtypes_that_do_not_fit():
    for f, *args in (
        (lambda x, y: x + y, torch.ones(3), torch.ones(4)),
        (lambda x, y: x @ y, torch.ones(2, 3), torch.ones(2, 3)),
        (lambda x: x.view(4, 2), torch.ones(6)),
        (lambda x, y: torch.cat([x, y]), torch.ones(2, 3), torch.ones(2, 4)),
        (lambda x: x.add_(0.5), torch.arange(3)),
        (lambda x, i: x[i], torch.ones(3), torch.tensor([0, 5])),
    ):
        eager, mine = errors_of(f, *args)
        assert mine[0] is eager[0]


def several(x):
    y = x * 2
    return y, y.argmax(), y > 0, y.long(), y.detach(), torch.ones(2)


def test_results_that_are_not_differentiable():
    x = torch.tensor([1.0, 3.0, -2.0], requires_grad=True)
    found, expected = tnp.jit(several)(x), several(x)
    assert [t.requires_grad for t in found] == [t.requires_grad for t in expected]
    found[0].sum().backward()
    assert x.grad.tolist() == [2, 2, 2]
    for t in found[1:]:
        with pytest.raises(RuntimeError, match="does not require grad"):
            t.sum().backward()


def quantised(x):
    return torch.quantize_per_tensor(x, 0.1, 0, torch.quint8).dequantize()


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor")
def test_quantised_tensors_that_a_program_makes(caplog):
    x = torch.tensor([0.11, 0.52, 3.0])
    with pytest.warns(tnp.EagerFallbackWarning, match="quantize_per_tensor returns a quantised tensor"):
        assert torch.equal(tnp.jit(quantised)(x), quantised(x))
    errors_of(lambda x: torch.histc(x), torch.ones(3, dtype=torch.complex64))
    assert not caplog.records  # torch logs what fake tensors refuse


def test_numpys_names_of_parameters():
    x = torch.arange(6.0).reshape(2, 3)
    for f in (
        lambda x: x.sum(axis=0, keepdims=True),
        lambda x: torch.amax(x, axis=1),
        lambda x: torch.add(x1=x, x2=x),
        lambda x: torch.neg(a=x),
        lambda x: torch.trapezoid(x, x=x),
    ):
        torch.testing.assert_close(tnp.jit(f, strict=True)(x), f(x), rtol=0, atol=0)
    for f in (
        lambda x: torch.neg(x=x, a=x),
        lambda x: x.sum(axis=0, dim=1),
        lambda x: torch.nn.functional.softmax(x, axis=1),
    ):
        mine, eager = errors_of(f, x)
        assert mine == eager and mine[0] is TypeError
