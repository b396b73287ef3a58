"""What tensors carry beside their elements, and which kinds of tensors there are: asked anew at each call, or left to torch."""

import copy
import pickle
from collections.abc import Hashable, Sequence

import pytest

torch = pytest.importorskip("torch")

from tests.torch_cases import Table, attempt, check  # noqa: E402

table = Table()


def count(n):
    return torch.arange(float(n))


@table(True)
def gradients_of_arguments(jit):
    x = count(3).requires_grad_()
    j = jit(lambda x: x * 2 if x.grad is None else x.grad * 3)
    found = [j(x)]
    (x * x).sum().backward()
    found += [j(x), j(x.requires_grad_(False))]
    x.grad = None
    return *found, j(x)


@table(True)
def gradients_that_are_changed(jit):
    x = count(3).requires_grad_()
    (x * x).sum().backward()

    @torch.no_grad()
    def f(x):
        x.grad.mul_(0.5)
        return x - x.grad

    j = jit(f)
    return j(x), j(x), x.grad


@table(False)
def counts_of_versions(jit):
    x, j = count(3), jit(lambda x: x._version)
    before = j(x)
    x.add_(1)
    return j(x) - before


@table(True)
def attributes_of_the_users(jit):
    x, j = count(3), jit(lambda x: x * x.scale if hasattr(x, "scale") else x)
    found = [j(x)]
    for scale in (2, 3):
        x.scale = scale
        found.append(j(x))
    return *found, j(count(3)), attempt(jit(lambda x: x.scale), count(3))


@table(False)
def attributes_that_it_sets(jit):
    def f(x):
        x.requires_grad = True
        return x * 2

    def g(x):
        x.data = x.data * 2
        return x + 1

    x = count(3)
    return jit(f)(count(3)), jit(g)(x), x


@table(True)
def hooks_of_tensors(jit):
    x, kept = count(3).requires_grad_(), []
    j = jit(lambda x: (x * 3).sum())
    handle = x.register_hook(lambda g: g * 2)
    x.register_post_accumulate_grad_hook(lambda x: kept.append(x.grad.clone()))
    j(x).backward()
    handle.remove()
    j(x).backward()
    return kept


@table(True)
def numbers_of_one_element(jit):
    j = jit(lambda x: ([10, 20, 30][x], x.item(), hex(x)))
    return j(torch.tensor([2])), j(torch.tensor(1)), attempt(j, torch.tensor([1, 2]))


@table(True)
def classes_that_it_is_of(jit):
    f = jit(lambda x: (isinstance(x, Sequence), isinstance(x, Hashable), isinstance(x, torch.nn.Parameter), x * 2))
    return f(count(2)), f(torch.nn.Parameter(count(2)))


@table(True)
def copies(jit):
    j = jit(lambda x: (copy.copy(x).mul_(2), copy.deepcopy(x).add_(1), x * 1))
    return j(count(3)), j((count(3) * 1).requires_grad_(False)), attempt(jit(copy.deepcopy), count(3).requires_grad_())


@table(False)
def pickled(jit):
    return jit(lambda x: pickle.loads(pickle.dumps(x)) * 2)(count(3))


@table(False)
def conjugate_and_negative_views(jit):
    x = torch.complex(count(3), count(3) + 1)

    def f(x):
        y = x.conj()
        return y, y.is_conj(), y.imag.is_neg(), y.resolve_conj().is_conj(), x.is_conj()

    def g(x):
        return x * 2, x.is_conj(), x.is_neg()

    return jit(f)(x), jit(g)(x.conj()), jit(g)(x.conj().imag)


@table(False)
def sparse_results(jit):
    x = torch.diag(count(3))
    return jit(lambda x: x.to_sparse().to_dense())(x), jit(lambda x: x.to_sparse() @ x)(x)


class Scaled:
    """Something that overrides torch's functions."""

    def __init__(self, value):
        self.value = value

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return function(*[x.value if isinstance(x, cls) else x for x in args]) * 10


@table(False)
def objects_that_override_functions(jit):
    j = jit(lambda x, y: torch.add(x, y))
    return j(count(3), Scaled(count(3)))


@pytest.mark.filterwarnings("ignore")  # of sparse tensors
@table.parametrized
def test_attributes(case, compiles):
    check(case, compiles)
