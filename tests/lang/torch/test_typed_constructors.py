"""``torch.Tensor(…)`` and its like: of elements and of lengths, and tensors of one element in lists of numbers."""

import warnings

import numpy as np
import pytest

import tnp
from tests.eager_checks import compiled_whole, outcome
from tnp.testing import assert_same

torch = pytest.importorskip("torch")


def of_elements(x):
    rows = torch.Tensor([[1, 2], [3.5, x.shape[0]]]), torch.FloatTensor((1, 2)), torch.DoubleTensor([True, x.shape[1]])
    whole = torch.LongTensor([[1, x.shape[0]]]), torch.BoolTensor([2, 0]), torch.IntTensor([x.shape[1]] * 3)
    return *rows, *whole, torch.Tensor([x.sum(), 2]), torch.LongTensor([x[0, 0].long(), 3])


def of_lengths(x):
    made = torch.Tensor(x.shape[0], 2).zero_(), torch.Tensor(3).fill_(x.shape[1]), torch.LongTensor(2, 1).zero_()
    return *made, torch.Tensor(x.shape).copy_(x), torch.Tensor(), torch.Tensor([]), torch.Tensor([[]])


def as_it_stands(x):
    return torch.Tensor([x.shape[0]]).to(x) * x


@pytest.mark.parametrize("f", [of_elements, of_lengths, as_it_stands], ids=lambda f: f.__name__)
@pytest.mark.parametrize("default", [torch.float32, torch.float64], ids=str)
def test_they_are_part_of_programs(f, default):
    jitted = tnp.jit(f)
    before = torch.get_default_dtype()
    torch.set_default_dtype(default)
    try:
        for n in (4, 4, 5, 6):
            x = torch.arange(3.0 * n).reshape(n, 3)
            assert_same(jitted(x), f(x))
    finally:
        torch.set_default_dtype(before)
    assert f is of_elements or compiled_whole(jitted)


@pytest.mark.parametrize("cls", [torch.Tensor, torch.DoubleTensor, torch.LongTensor], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64], ids=lambda d: d.__name__)
def test_of_an_array_they_share_its_memory_where_the_dtype_is_the_same(cls, dtype):
    def f(a):
        t = cls(a)
        t[0] = 7
        return t, a.sum()

    jitted = tnp.jit(f)
    for n in (3, 3, 5):
        a = np.arange(n).astype(dtype)
        b = a.copy()
        assert_same(jitted(b), f(a))
        np.testing.assert_array_equal(b, a)


def wrong(make):
    def f(x):
        return x + make(x)

    return f


@pytest.mark.parametrize(
    "make",
    [
        lambda x: torch.Tensor(True),
        lambda x: torch.Tensor(2.5),
        lambda x: torch.Tensor(-1),
        lambda x: torch.Tensor([[1], [1, 2]]),
        lambda x: torch.Tensor([1 + 2j]),
        lambda x: torch.Tensor(["a"]),
        lambda x: torch.IntTensor([2**40]),
        lambda x: torch.FloatTensor(x.long()),
        lambda x: torch.tensor([x[0], x[1]], dtype=torch.float32),
    ],
)
def test_what_they_refuse(make):
    f = wrong(make)
    x = torch.arange(6.0).reshape(2, 3)
    expected, _ = outcome(f, [x])
    assert isinstance(expected, tuple) and issubclass(expected[0], Exception), expected
    jitted = tnp.jit(f)
    for _ in range(2):
        assert_same(outcome(jitted, [x])[0], expected)


def of_single_elements(x):
    made = torch.tensor([x[:1, 0]], dtype=torch.float32), torch.tensor([x[:1, :1], x[0, 1]], dtype=torch.float64)
    return *made, torch.tensor([[x[:1, :1], x[0, 1]]]), torch.as_tensor([x[:1, 0], x[:1, 1]], dtype=torch.float32)


def test_a_tensor_of_one_element_is_a_number_in_a_list():
    jitted = tnp.jit(of_single_elements)
    for n in (2, 2, 4):
        x = torch.arange(3.0 * n).reshape(n, 3)
        assert_same(jitted(x), of_single_elements(x))
    assert compiled_whole(jitted)


@pytest.mark.parametrize("scale", [2.0, torch.tensor(0.5)], ids=["number", "tensor"])
def test_powers_in_pytorchs_own_modules(scale):
    normal = torch.distributions.Normal(0.5, scale)

    def f(x):
        return normal.log_prob(x).sum()

    jitted = tnp.jit(f)
    x = torch.linspace(-1, 1, 7)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.testing.assert_close(jitted(x), f(x))
    assert compiled_whole(jitted)


def test_variables_are_detached_views():
    def f(x):
        y = x * 2
        v = torch.autograd.Variable(y)
        v += 1
        return y, v, v.requires_grad

    for x in (torch.ones(3), torch.ones(3, requires_grad=True)):
        jitted = tnp.jit(f, strict=not x.requires_grad)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tnp.EagerFallbackWarning)
            found, expected = jitted(x), f(x)
        assert_same([t.detach() for t in found[:2]], [t.detach() for t in expected[:2]])
        assert found[0].requires_grad == expected[0].requires_grad and found[2] is expected[2] is False
