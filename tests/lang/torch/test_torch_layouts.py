"""How tensors lie in memory: what is drawn for which element, what ``stride()`` says, and what is a view of what are as in eager, whatever
layout a program's results really have."""

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from tests.torch_cases import Table, attempt, check  # noqa: E402

F = torch.nn.functional
table = Table()


def count(*shape):
    return torch.arange(1.0, 1 + torch.Size(shape).numel()).reshape(shape) / 8


LAYOUTS = {
    "row_major": lambda: count(2, 3, 4),
    "turned": lambda: count(4, 3, 2).permute(2, 1, 0),
    "swapped": lambda: count(3, 2, 4).transpose(0, 1),
    "every_other": lambda: count(2, 3, 8)[:, :, ::2],
    "repeated": lambda: count(2, 1, 4).expand(2, 3, 4),
    "of_one": lambda: count(2, 3, 1, 4).transpose(1, 2),
}


def drawn(x):
    """Draws in memory like that of ``x``, and of what is computed of it."""
    y = x * 2 + 1
    likes = (
        torch.rand_like(x),
        torch.randn_like(y),
        torch.bernoulli(y.clamp(0, 1)),
        torch.poisson(y),
        torch.normal(y, 1.0),
    )
    fills = [
        (x * 1).normal_(),
        torch.empty_like(y).uniform_(),
        y.clone().bernoulli_(0.5),
        torch.zeros_like(y).exponential_(),
    ]
    return *likes, *fills, F.gumbel_softmax(y), F.alpha_dropout(y, 0.3, training=True), y.new_empty(y.shape).normal_()


def dropped(x):
    """Dropout of what functions compute of ``x``."""
    index = torch.tensor([1, 0])
    made = [
        x,
        x + 1,
        x.softmax(0),
        F.layer_norm(x, x.shape[-1:]),
        x[index],
        torch.cat([x, x], -1),
        x.flip(0),
        x.amax(1),
    ]
    made += [
        torch.where(x > 1, x, 0.0),
        x.cumsum(1),
        x + x[:1],
        F.gelu(x),
        x.mT @ x,
        (x * 2).transpose(0, 1),
        x.bfloat16(),
    ]
    return [F.dropout(y, 0.4) for y in made], F.dropout(x * 1, 0.5, inplace=True), F.dropout1d(x.flatten(0, -3))


for _name, _make in LAYOUTS.items():
    for _program in (drawn, dropped):

        def _case(jit, make=_make, program=_program):
            j = jit(program)
            return j(make()), j(make()), torch.rand(2)

        _case.__name__ = f"{_program.__name__}_{_name}"
        table(True)(_case)


class Head(nn.Module):
    """Features in channels that come from a matrix, as decoders of segmentation have them."""

    def __init__(self):
        super().__init__()
        self.line, self.fuse, self.drop = nn.Linear(4, 6), nn.Conv2d(6, 6, 1), nn.Dropout(0.3)
        self.last = nn.Conv2d(6, 2, 1)

    def forward(self, x):
        b, _, h, w = x.shape
        y = self.line(x.flatten(2).transpose(1, 2)).permute(0, 2, 1).reshape(b, -1, h, w)
        return self.last(self.drop(F.relu(self.fuse(F.interpolate(y, size=(2 * h, 2 * w), mode="bilinear")))))


MODULES = {
    "convolution": lambda: nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), nn.ReLU(), nn.Dropout(0.5), nn.Conv2d(4, 2, 1)),
    "channels_last": lambda: nn.Sequential(nn.Conv2d(4, 4, 1), nn.Dropout(0.5)).to(memory_format=torch.channels_last),
    "head": Head,
}


def trained(jit, make, gradients):
    torch.manual_seed(1)
    module = make().double() if gradients else make()
    j, found = jit(module), []
    for _ in range(2):
        with torch.set_grad_enabled(gradients):
            found.append(j(count(2, 4, 3, 3).to(next(module.parameters()).dtype)))
    if gradients:
        found += torch.autograd.grad(found[-1].square().sum(), list(module.parameters()))
    return found


for _name, _make in MODULES.items():
    for _gradients in (True, False):

        def _case(jit, make=_make, gradients=_gradients):
            return trained(jit, make, gradients)

        _case.__name__ = f"{_name}_with{'' if _gradients else 'out'}_gradients"
        table(True)(_case)


# How results lie, as the caller sees it


NOT_IN_ORDER = {
    "softmax": lambda x: x.softmax(-1),
    "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "rms_norm": lambda x: F.rms_norm(x, x.shape[-1:]),
    "batch_norm": lambda x: F.batch_norm(x, torch.zeros(x.shape[1]), torch.ones(x.shape[1])),
    "cumsum": lambda x: x.exp().cumsum(2),
    "tril": lambda x: x.tril(),
    "masked_fill": lambda x: x.masked_fill(x > 1, 0.0),
    "var": lambda x: x.var(-1),
    "sum": lambda x: x.sum(0),
    "avg_pool": lambda x: F.avg_pool2d(x, 2),
    "conv": lambda x: F.conv2d(x, torch.ones(3, x.shape[1], 1, 1)),
    "linear": lambda x: F.linear(x, torch.ones(5, x.shape[-1])),
    "product": lambda x: x * torch.ones(x.shape),
    "lerp": lambda x: torch.lerp(x, x * 2, 0.5),
    "elementwise": lambda x: (x * 2 + x.sigmoid()).clamp(0, 1),
    "chain": lambda x: (x * 2).softmax(-1) + 1,
    "written": lambda x: x.cumsum(-1).mul_(3),
}
TURNS = {
    "transposed": lambda x: x.transpose(1, 2),
    "permuted": lambda x: x.permute(0, 3, 2, 1),
    "last": lambda x: x.permute(0, 2, 3, 1),
}
for _name, _function in NOT_IN_ORDER.items():

    def _case(jit, function=_function):
        found = []
        for gradients in (False, True):
            for turn in TURNS.values():
                x = (5 * count(2, 4, 6, 4)).sin().requires_grad_(gradients)
                whole = jit(lambda x, turn=turn: function(turn(x)))(x)
                line = jit(lambda x, turn=turn: function(turn(x)).contiguous().view(-1))(x)
                found += [whole, whole.stride(), line]
                if gradients:
                    found += torch.autograd.grad(line.sin().sum(), x)
        return found

    _case.__name__ = f"strides_of_{_name}"
    table(True)(_case)


@table(True)
def strides_for_any_size(jit):
    j = jit(lambda x: (x.transpose(1, 2).softmax(-1), x.transpose(1, 2).softmax(-1).contiguous().view(-1)))
    found = [j(count(n, 3, m, 4)) for n, m in ((2, 5), (3, 7), (5, 6), (4, 9))]
    return found, [whole.stride() for whole, _ in found]


@table(True)
def strides_in_branches(jit):
    def f(x):
        y = x.T.softmax(-1)
        if x.sum() > 0:
            z = y.contiguous().view(-1) * 2
        else:
            z = (y * 2).cumsum(0).contiguous().view(-1)
        return z, y

    j, found = jit(f), []
    for gradients in (False, True):
        for shape in ((4, 6), (6, 4), (8, 4)):
            for sign in (1, -1):
                found += j((sign * count(*shape)).requires_grad_(gradients))
    return found, [x.stride() for x in found]


# What a program asks


@table(True)
def strides_of_results(jit):
    def f(x):
        y = x.transpose(0, 2)
        z = y * 2
        made = y, z, z + x.permute(2, 1, 0), z.contiguous(), torch.empty_like(y), y.clone(), y.softmax(0), y.rot90()
        return [(a.stride(), a.is_contiguous()) for a in made], (y.mT @ y).stride(), x[:, torch.tensor([0, 1])].stride()

    return jit(f)(count(2, 3, 4)), jit(f)(count(4, 3, 2).permute(2, 1, 0))


@table(True)
def channels_last(jit):
    def f(x):
        y = x.contiguous(memory_format=torch.channels_last)
        asked = [a.is_contiguous(memory_format=torch.channels_last) for a in (x, y, y * 2, x + 1)]
        y.add_(1)  # a copy, unless it was so
        return asked, y.stride(), x * 1, x.float(memory_format=torch.channels_last).stride()

    j = jit(f)
    return j(count(2, 3, 4, 5)), j(count(2, 3, 4, 5).contiguous(memory_format=torch.channels_last))


@table(True)
def strides_along_dimensions_of_one(jit):
    j = jit(lambda x: (x * 2, x.stride()))
    return j(torch.ones(1, 3)), j(torch.ones(3, 1).T)


@table(True)
def views_of_results(jit):
    def f(t, i):
        turned = (t.mT + t.mT).mT
        return t[i.view(-1)].view(-1), turned.view(-1), attempt(lambda: (t.T * 2).T.view(-1, 2))

    return jit(f)(count(4, 2), torch.tensor([[0, 1], [2, 3]]))


# What is a view of what


@table(True)
def ravelled(jit):
    def f(x):
        x.ravel().add_(1)
        return x * 1

    makes = (lambda: count(6)[::2], lambda: count(2, 3).T, lambda: count(2, 3), lambda: count(5, 4)[:, ::2])
    return [(jit(f)(x), x) for x in (make() for make in makes)]


@table(True)
def pieces_that_autograd_does_not_follow(jit):
    def f(x):
        x.unsafe_chunk(2)[0].add_(1)
        x.split(split_size=3)[1].mul_(2)
        return x * 1

    x = count(4, 2)
    return jit(f)(x), x


@table(True)
def functions_that_may_give_their_argument(jit):
    def f(x):
        same = x.conj_physical(), x.float(), x.contiguous(), F.dropout3d(x, training=False), x.ravel()
        return [y is x for y in same], same

    x = count(2, 3)
    found = jit(f)(x)
    x.add_(1)
    return found


@table(False)
def views_of_arguments_that_require_gradients(jit):
    x = count(4).requires_grad_()
    y = jit(lambda x: x[1:])(x * 1)
    y.mul_(3)
    y.sum().backward()
    return y, x.grad


@table(True)
def views_beside_results(jit):
    x = count(4).requires_grad_()
    whole = x * 1
    view, total, turned = jit(lambda x: (x[1:], (x * 2).sum(), x.view(1, -1).t()))(whole)
    view.mul_(3)
    (view.sum() + total + turned.square().sum()).backward()
    return view, whole, turned, x.grad, view._base is whole


@table(False)
def elements_in_one_place(jit):
    def f(x):
        x.mul_(2)
        return x

    makes = (
        lambda: count(10).as_strided((4, 3), (2, 1)),
        lambda: count(3, 1).expand(3, 4),
        lambda: count(9).unfold(0, 4, 1),
    )
    return [attempt(jit(f), make()) for make in makes]


@table(True)
def arrays_that_run_backwards(jit):
    j = jit(lambda a: torch.from_numpy(a) * 2)
    line = count(6).numpy()
    return j(line), attempt(j, line[::-1]), j(line[::2])


@table(True)
def itself_in_an_unknown_order(jit):
    """``y.float()`` is ``y``, whose order in memory is unknown for batches of any size."""

    def f(a, b):
        y = torch.einsum("bst,bsd->dstb", a, b)
        first = y.reshape(-1)[0]
        return y.float().reshape(-1).sin() + first

    j = jit(f)
    return [j(count(n, 1, 2), count(n, 1, 3)) for n in (4, 7, 5)]


@pytest.mark.filterwarnings("ignore")  # dropout1d of matrices
@table.parametrized
def test_layouts(case, compiles):
    check(case, compiles)
