"""``torch.einsum``: results, gradients and errors are eager's, and it is no opaque call."""

import pytest
import torch

import tnp
from tests.lang.outcomes import outcome

CASES = [
    ("b h i d, b h j d -> b h i j", (2, 4, 8, 3), (2, 4, 7, 3)),
    ("bhij,bhjd->bhid", (2, 4, 5, 8), (2, 4, 8, 3)),
    ("b h i j, h g -> b g i j", (2, 4, 5, 6), (4, 3)),
    ("bid,d->bi", (2, 4, 8), (8,)),
    ("bid,bid->bi", (2, 4, 8), (2, 4, 8)),
    ("bn,bnd->bd", (2, 3), (2, 3, 4)),
    ("bi,bk->b", (2, 3), (2, 4)),
    ("bi,bj->bij", (2, 3), (2, 4)),
    ("i,j", (3,), (4,)),
    ("kj,ik", (3, 4), (5, 3)),
    ("ij,jk->ki", (3, 4), (4, 5)),
    ("ij,ij->", (3, 4), (3, 4)),
    ("ii,i->i", (3, 3), (3,)),
    ("bij->b", (2, 3, 4)),
    ("ii", (3, 3)),
    ("...d,de->...e", (2, 3, 4), (4, 5)),
    ("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 2)),
    ("bd,ndv->bnv", (2, 3), (1, 3, 4)),
    ("bd,bd->b", (2, 3), (1, 3)),
    ("ij,jk->ik", (3, 0), (0, 5)),
    ("ab,bc,cd->ad", (2, 3), (3, 4), (4, 5)),
    ("a,b,c->abc", (2,), (3,), (4,)),
]


@pytest.mark.parametrize("permuted", [False, True])
@pytest.mark.parametrize(
    ("equation", *["shapes"]), [(e, s) for e, *s in CASES], ids=lambda x: x if type(x) is str else ""
)
def test_products_and_their_gradients(equation, shapes, permuted):
    def f(*operands):
        return torch.einsum(equation, *operands) * 2

    def numbers(shape):
        made = torch.randn(shape[::-1]).permute(*reversed(range(len(shape)))) if permuted else torch.randn(*shape)
        return made.requires_grad_()

    torch.manual_seed(0)
    jitted = tnp.jit(f, strict=True)
    for _ in range(2):
        operands = [numbers(shape) for shape in shapes]
        expected, found = f(*operands), jitted(*operands)
        torch.testing.assert_close(found, expected)
        weight = torch.randn_like(expected)
        torch.testing.assert_close(
            torch.autograd.grad(found, operands, weight), torch.autograd.grad(expected, operands, weight)
        )
    assert "opaque" not in str(tnp.explain(jitted))


def test_lengths_that_vary():
    def f(q, k):
        scores = torch.einsum("b h i d, b h j d -> b h i j", q, k).softmax(-1)
        return torch.einsum("b h i j, b h j d, b h i -> b h i d", scores, k, q.sum(-1))

    jitted = tnp.jit(f, strict=True)
    for batch, length in ((2, 5), (3, 5), (3, 7), (4, 9), (5, 11)):
        q, k = torch.randn(batch, 2, length, 4), torch.randn(batch, 2, length, 4)
        torch.testing.assert_close(jitted(q, k), f(q, k))
    assert tnp.cache_info(jitted).size <= 3
    assert "opaque" not in str(tnp.explain(jitted))


@pytest.mark.filterwarnings("ignore:.* runs eagerly:tnp.EagerFallbackWarning")
@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", [(2, 3), (4, 5)]),
        ("ij->ijk", [(2, 3)]),
        ("ij->ii", [(2, 2)]),
        ("ij,jk", [(2, 3)]),
        ("i1->i", [(2, 3)]),
        ("i->i", [(2, 3)]),
        ("ijk->i", [(2, 3)]),
    ],
)
def test_subscripts_that_do_not_fit(equation, shapes):
    def f(*operands):
        return torch.einsum(equation, *operands) + 1

    operands = [torch.ones(shape) for shape in shapes]
    assert type(outcome(tnp.jit(f), *operands)) is type(outcome(f, *operands)) is RuntimeError


@pytest.mark.parametrize("equation", ["ij->ji", "ij->ij", "ij", "ji", "ii->i", "...j->j..."])
def test_views(equation):
    def f(a):
        b = torch.einsum(equation, a)
        b.mul_(2)
        return b, b + a.sum(), b.stride()

    jitted = tnp.jit(f, strict=True)
    for _ in range(2):
        mine, left = torch.arange(9.0).reshape(3, 3), torch.arange(9.0).reshape(3, 3)
        torch.testing.assert_close(jitted(mine), f(left))
        torch.testing.assert_close(mine, left)


def test_other_forms():
    a, b = torch.randn(3, 4), torch.randn(4, 5)
    for f in (
        lambda a, b: torch.einsum("ij,jk->ik", [a, b]) + 1,
        lambda a, b: torch.einsum(a, [0, 1], b, [1, 2], [0, 2]) + 1,
        lambda a, b: torch.einsum("ij,jk->ik", a.half(), b.half()) + 1,
        lambda a, b: torch.einsum("ij,jk->ik", a.to(torch.complex64), b.to(torch.complex64)) + 1,
    ):
        torch.testing.assert_close(tnp.jit(f)(a, b), f(a, b))
