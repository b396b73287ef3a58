"""Jitted modules: parameters and buffers are inputs, attributes are the module's."""

import copy
import pickle
from contextlib import nullcontext
from unittest.mock import Mock

import pytest

import tnp

torch = pytest.importorskip("torch")

from tests import torch_programs as programs  # noqa: E402
from tests.lang.torch.test_torch_language import _close, randn  # noqa: E402


@pytest.fixture
def network():
    torch.manual_seed(0)
    return programs.Network().eval()


def test_module_is_called_through_a_program(network):
    jitted, x = tnp.jit(network), randn(5, 8)
    with torch.no_grad():
        _close(jitted(x), network(x))
        _close(jitted(x, twice=True), network(x, twice=True))
        assert "Network_blocks_0_inner_weight" in str(tnp.last_traces(jitted)[-1])
        assert tnp.cache_info(jitted).misses == 2


def test_parameters_are_inputs_and_structure_is_guarded(network):
    jitted, x = tnp.jit(network), randn(5, 8)
    with torch.no_grad():
        jitted(x)
        network.head[0].weight.mul_(2)
        network.load_state_dict({k: v + 0.01 for k, v in network.state_dict().items()})
        _close(jitted(x), network(x))
        assert tnp.cache_info(jitted).misses == 1
        network.head[0] = torch.nn.Linear(8, 4, bias=False)  # no longer the one that is tied
        _close(jitted(x), network(x))
        network.blocks[1].iterations = 3
        _close(jitted(x), network(x))


def test_train_and_eval(network):
    jitted, x = tnp.jit(network), randn(5, 8)
    assert jitted.train() is jitted and network.training
    with torch.no_grad():
        torch.manual_seed(1)
        dropped = jitted(x)
        torch.manual_seed(1)
        _close(dropped, network(x))
        jitted.eval()
        _close(jitted(x), network(x))


def test_buffers_and_attributes_that_forward_writes():
    mine, eager = programs.Statistics(), programs.Statistics()
    jitted, x = tnp.jit(mine), randn(4, 3)
    for _ in range(3):
        _close(jitted(x), eager(x))
    assert mine.calls.item() == 3
    _close(mine.state_dict(), eager.state_dict())
    _close(mine.last, eager.last)
    assert tnp.last_traces(jitted)


def test_hooks(network):
    jitted, x = tnp.jit(network), randn(5, 8)
    with torch.no_grad():
        plain = jitted(x)
        handles = [
            network.head.register_forward_hook(lambda module, args, result: result + 1),
            network.tied.register_forward_pre_hook(lambda module, args: (args[0] * 2,)),
        ]
        _close(jitted(x), network(x))
        for handle in handles:
            handle.remove()
        _close(jitted(x), plain)


def test_hooks_that_take_what_is_passed_by_name():
    class Scaled(torch.nn.Module):
        def forward(self, x, *, factor=1.0):
            return x * factor

    model = Scaled()
    jitted = tnp.jit(model)
    x = torch.ones(3)
    model.register_forward_pre_hook(
        lambda m, args, kwargs: ((args[0] + 1,), {"factor": kwargs["factor"] * 2}), with_kwargs=True
    )
    model.register_forward_hook(lambda m, args, kwargs, result: result + kwargs["factor"], with_kwargs=True)
    assert torch.equal(jitted(x, factor=3.0), model(x, factor=3.0))
    assert jitted(x, factor=3.0).tolist() == [18, 18, 18]
    assert tnp.last_traces(jitted)


def test_attributes_are_the_modules(network):
    jitted = tnp.jit(network)
    assert jitted.head is network.head
    assert jitted.state_dict().keys() == network.state_dict().keys()
    assert len(list(jitted.parameters())) == len(list(network.parameters()))
    assert jitted.double() is jitted and network.head[0].weight.dtype is torch.float64
    with torch.no_grad():
        _close(jitted(randn(2, 8, dtype=torch.float64)), network(randn(2, 8, dtype=torch.float64)))
    with pytest.raises(AttributeError):
        jitted.missing  # noqa: B018


def test_attributes_of_any_name_are_the_modules():
    class Named(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.called, self.uses, self._entries, self._hits = 1, 2, "entries", 7

        def invalidate(self):
            return "forgotten"

        def options(self):
            return self

        def forward(self, x):
            self.called += 1
            return x * self.uses

    model = Named()
    jitted = tnp.jit(model)
    with torch.no_grad():
        assert jitted(torch.ones(2)).tolist() == [2, 2]
    jitted.traced = 5
    assert model.traced == jitted.traced == 5
    assert (jitted.called, jitted.uses, jitted._entries, jitted._hits) == (2, 2, "entries", 7)
    assert jitted.invalidate() == "forgotten" and jitted.options() is jitted
    assert tnp.cache_info(jitted).misses == 1 and tnp.jit(jitted).uses == 2
    assert copy.deepcopy(jitted).called == 2
    assert "1 program" in str(tnp.explain(jitted))


def test_gradients_of_parameters(network):
    jitted, x = tnp.jit(network, executors=["numpy"]), randn(5, 8)
    jitted(x)["y"].sum().backward()
    other = copy.deepcopy(network)
    other.zero_grad()
    other(x)["y"].sum().backward()
    for p, q in zip(network.parameters(), other.parameters()):
        assert (p.grad is None) == (q.grad is None)
        _close(p.grad, q.grad) if q.grad is not None else None


def test_module_in_a_function(network):
    def loss(model, x, y):
        return torch.nn.functional.mse_loss(model(x)["y"], y)

    jitted = tnp.jit(loss)
    with torch.no_grad():
        for model in (network, programs.Network().eval()):
            _close(jitted(model, randn(5, 8), randn(5, 3)), loss(model, randn(5, 8), randn(5, 3)))
    assert tnp.cache_info(jitted).misses == 1


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (programs.Attention, (2, 6, 16)),
        (programs.Residual, (2, 3, 8, 8)),
        (programs.Recurrent, (2, 5, 3)),
        (lambda: torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (2, 4, 8)),
    ],
    ids=["attention", "residual", "recurrent", "encoder"],
)
def test_kinds_of_models(make, shape):
    torch.manual_seed(0)
    model = make().eval()
    jitted, x = tnp.jit(model), randn(*shape)
    with torch.no_grad():
        for _ in range(2):
            _close(jitted(x), model(x))
    assert tnp.last_traces(jitted), tnp.explain(jitted)
    assert tnp.cache_info(jitted) == (1, 1, 1)


def _second_hook(module, args, result):
    return {"seen": len(args), **result}


def test_hooks_see_what_is_passed_by_position_and_what_by_name(network):
    jitted, x = tnp.jit(network), randn(5, 8)
    network.register_forward_hook(_second_hook)
    with torch.no_grad():
        assert jitted(x, twice=True)["seen"] == network(x, twice=True)["seen"] == 1
        assert jitted(x=x)["seen"] == network(x=x)["seen"] == 0
        _close(jitted(x=x, twice=True), network(x=x, twice=True))
        assert tnp.last_traces(jitted)


def test_objects_and_dicts_of_fields_that_a_module_makes_and_configurations_that_it_copies():
    model = programs.Configured(programs.Settings(3))
    jitted, x = tnp.jit(model), randn(2, 3)
    with torch.no_grad():
        for keywords in ({}, {"scaled": True}, {"scaled": True, "other": 1}, {}):
            found, expected = jitted(x, **keywords), model(x, **keywords)
            assert type(found) is programs.Output and list(found) == list(expected) == ["hidden", "cache"]
            assert found["hidden"] is found.hidden and found["cache"] is found.cache and found.extra is None
            _close(found.hidden, expected.hidden)
            _close(found.cache.layers[0].keys, expected.cache.layers[0].keys)
            assert found.cache.width == 6 and model.settings.width == 3
        assert tnp.cache_info(jitted) == (1, 3, 3)
        model.settings.width = 5
        _close(jitted(x).hidden, model(x).hidden)
    assert tnp.last_traces(jitted)


class _Checked(torch.nn.Module):
    def forward(self, x, mask):
        if not torch.compiler.is_compiling() and bool(mask.all()):
            return x
        return torch.where(mask, x, 0.0)


def test_a_shortcut_by_value_is_left_out_where_the_module_asks_for_compilers():
    jitted, x, mask = tnp.jit(_Checked()), randn(3), torch.tensor([True, False, True])
    for m in (mask, torch.ones(3, dtype=torch.bool)):
        _close(jitted(x, m), _Checked()(x, m))
    assert tnp.cache_info(jitted) == (1, 1, 1) and not torch.compiler.is_compiling()
    assert tnp.last_traces(jitted)


def _changes(model, x):
    """Ways to change a module after which what was compiled may not hold, each done in place."""
    yield model.head[0].weight.data.zero_
    yield lambda: setattr(model.head[0], "weight", torch.nn.Parameter(torch.ones(4, 8)))
    yield lambda: setattr(model.blocks[0], "scale", torch.full((), 2.0))
    yield lambda: setattr(model.blocks[0], "scale", torch.full((8,), 2.0))
    yield lambda: model.blocks[0].norm.weight.data.resize_(8)
    yield lambda: setattr(model.blocks[0].norm, "weight", torch.nn.Parameter(torch.arange(16.0)[::2]))
    yield lambda: setattr(model.head, "1", torch.nn.Tanh())
    yield lambda: model.head[3].register_forward_hook(lambda module, args, result: result * 3)
    yield model.double
    yield lambda: model.requires_grad_(False)
    yield model.float


def test_modules_changed_between_calls(network):
    jitted, x = tnp.jit(network, executors=["numpy"]), randn(5, 8)
    # native code is for the other tests: here programs are many
    with torch.no_grad():
        jitted(x)
        for change in _changes(network, x):
            change()
            given = x.to(network.head[0].weight.dtype)
            _close(jitted(given), network(given))
        with torch.inference_mode():
            _close(jitted(x), network(x))
    _close(jitted(x), network(x))
    assert tnp.last_traces(jitted)
    network.requires_grad_(True)
    jitted(x)["y"].sum().backward()
    assert network.head[3].weight.grad is not None


class _Outer(torch.nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
        self.last = torch.nn.Linear(3, 2)

    def forward(self, x):
        return self.last(self.inner(x))


def test_a_jitted_module_is_a_part_of_another():
    torch.manual_seed(0)
    inner, x = torch.nn.Linear(3, 3), torch.randn(2, 3)
    mine, eager = _Outer(tnp.jit(inner)), _Outer(inner)
    eager.last = mine.last
    assert isinstance(mine.inner, torch.nn.Linear) and "inner" in dict(mine.named_children())
    assert list(mine.state_dict()) == list(eager.state_dict())
    assert [p is q for p, q in zip(mine.parameters(), eager.parameters())] == [True] * 4
    mine.eval()
    assert not inner.training
    whole, by_name = tnp.jit(mine), tnp.jit(lambda x: mine.inner(x) * 2)
    for _ in range(2):
        for f, expected in ((mine, eager(x)), (whole, eager(x)), (by_name, inner(x) * 2)):
            _close(f(x).detach(), expected.detach())
        inner.weight = torch.nn.Parameter(torch.ones(3, 3))  # an input of all three programs, and no constant
    assert tnp.cache_info(whole).misses == tnp.cache_info(by_name).misses == 1
    whole(x).sum().backward()
    assert inner.weight.grad is not None
    sequence = tnp.jit(torch.nn.Sequential(mine.inner, torch.nn.ReLU()))
    assert len(sequence) == 2 and sequence[0] is mine.inner and list(sequence)[1] is sequence[-1]
    _close(sequence(x).detach(), inner(x).relu().detach())


def test_attributes_are_set_on_the_module(network):
    jitted, x = tnp.jit(network.blocks[0]), randn(5, 8)
    jitted(x)
    jitted.scale = torch.full((), 3.0)
    assert network.blocks[0].scale == 3
    _close(jitted(x).detach(), network.blocks[0](x).detach())
    jitted.register_buffer("more", torch.ones(2))
    del jitted.more
    assert not hasattr(network.blocks[0], "more")


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, copy.copy, lambda j: pickle.loads(pickle.dumps(j))], ids=["deepcopy", "copy", "pickle"]
)
def test_copies_are_jitted_modules(copied):
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh())
    jitted, x = tnp.jit(model, specialisations=3), torch.ones(2, 3)
    expected = jitted(x).detach()
    again = copied(jitted)
    assert (
        type(again) is type(jitted)
        and again.__tnp_programs__.options["specialisations"] == 3
        and again.state_dict().keys() == model.state_dict().keys()
    )
    _close(again(x).detach(), expected)
    assert tnp.cache_info(again) == (0, 1, 1)
    with torch.no_grad():
        again[0].weight.zero_()
    assert (jitted(x) == expected).all().item() == (copied is not copy.copy)


def test_backward_hooks_run_eagerly_until_they_are_removed():
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 2))
    jitted, x, seen = tnp.jit(model), torch.ones(2, 3, requires_grad=True), []
    handle = model[0].register_full_backward_hook(lambda module, gi, go: seen.append(go[0].shape))
    with pytest.warns(tnp.EagerFallbackWarning, match="_backward_hooks"):
        jitted(x).sum().backward()
    jitted(x).sum().backward()
    assert seen == [(2, 3)] * 2 and tnp.cache_info(jitted) == (1, 1, 1)
    handle.remove()
    jitted(x).sum().backward()
    assert len(seen) == 2 and tnp.last_traces(jitted)


class _Labelled(torch.nn.Module):
    def forward(self, x):
        with torch.profiler.record_function("part"):
            return x * 2


@pytest.mark.parametrize("model", [_Labelled(), torch.nn.DataParallel(_Labelled())], ids=["user", "library"])
def test_labels_for_torchs_profiler_are_left_out(model):
    jitted = tnp.jit(model, executors=["numpy"])
    assert jitted(torch.ones(3)).tolist() == [2, 2, 2] and tnp.last_traces(jitted)


def test_parameters_that_a_call_puts_in_place_of_a_modules():
    model = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.BatchNorm1d(5), torch.nn.Linear(5, 2)).eval()

    def loss(x, parameters):
        return torch.func.functional_call(model, parameters, (x,)).sum() + model(x).mean()

    jitted, x = tnp.jit(loss), randn(3, 4)
    for factor in (2, 3):
        given = {k: (p.detach() * factor).requires_grad_() for k, p in model.named_parameters() if "1" not in k}
        found = [
            (value.detach(), *torch.autograd.grad(value, list(given.values())))
            for value in (jitted(x, given), loss(x, given))
        ]
        _close(*found)
    assert tnp.cache_info(jitted) == (1, 1, 1) and tnp.last_traces(jitted)


def _buffer_in_its_dict(self, x):
    self._buffers["n"] = self._buffers["n"] + x
    return x * self.n


def _buffer_after_a_look(self, x):
    before = dict(self.named_buffers())["n"]
    self.n = self.n + x
    return before * self.n


def _buffer_registered(self, x):
    self.register_buffer("last", x * 2)
    return self.last + self.n


@pytest.mark.parametrize("forward", [_buffer_in_its_dict, _buffer_after_a_look, _buffer_registered])
def test_buffers_that_forward_stores_by_other_ways(forward):
    class Keeping(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("n", torch.ones(3))

    Keeping.forward = forward
    mine, eager = Keeping(), Keeping()
    jitted = tnp.jit(mine)
    for i in range(2):
        x = torch.arange(3.0) + i
        with nullcontext() if i else pytest.warns(tnp.EagerFallbackWarning):
            found = jitted(x)
        _close(found, eager(x))
        _close(dict(mine.state_dict()), dict(eager.state_dict()))


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_an_encoder_leaves_out_padding_where_torchs_does(monkeypatch):
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    encoder = torch.nn.TransformerEncoder(layer, 1, norm=torch.nn.LayerNorm(8)).eval()
    jitted, x = tnp.jit(encoder, executors=["numpy"]), randn(2, 4, 8)
    ends = torch.tensor([[0, 0, 1, 1], [0, 0, 0, 1]]).bool()
    for short, gradients in ((True, False), (False, False), (True, True)):
        monkeypatch.setattr(torch.backends.mha, "_is_fastpath_enabled", short)
        with torch.set_grad_enabled(gradients):
            for mask in (ends, ends.flip(1), torch.zeros(2, 4).masked_fill(ends, -torch.inf)):
                mine, eager = (f(x, src_key_padding_mask=mask).detach() for f in (jitted, encoder))
                _close(mine, eager)
    assert tnp.last_traces(jitted)


class _Asking(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(3))
        self.plain, self.told = torch.ones(3), torch.nn.Buffer(torch.ones(3))

    def forward(self, x):
        tensors = self.weight, self.plain, self.told, x, self.weight * 2, self.weight.data
        kinds = [
            (
                isinstance(t, torch.nn.Parameter),
                isinstance(t, torch.nn.Buffer),
                isinstance(t, torch.Tensor),
                type(t).__name__,
            )
            for t in tensors
        ]
        return kinds, self.get_parameter("weight") * self.get_buffer("told")


def test_parameters_and_buffers_are_such_to_isinstance():
    model, x = _Asking(), torch.ones(3)
    jitted = tnp.jit(model)
    for given in (x, torch.nn.Parameter(x)):
        assert jitted(given)[0] == model(given)[0]
    assert tnp.cache_info(jitted) == (0, 2, 2) and tnp.last_traces(jitted)


class Doubling(torch.nn.Module):
    """A module that is called in a way of its own."""

    def __call__(self, x):
        return super().__call__(x) * 2

    def forward(self, x):
        return x + 1


class Delegating(torch.nn.Module):
    """A module that looks up in another what it does not have."""

    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(3, 3)

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("inner"), name)

    def forward(self, x):
        return x @ self.weight


@pytest.mark.parametrize("make", [Doubling, Delegating])
@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
def test_modules_that_are_called_and_read_in_ways_of_their_own(make):
    module, x = make(), randn(2, 3)
    jitted = tnp.jit(module)
    _close(jitted(x), module(x))
    _close(jitted(x), module(x))


def test_hooks_of_libraries_are_not_traced():
    module, x = torch.nn.Linear(3, 3), randn(2, 3)
    hook = Mock(return_value=None)  # it counts its calls
    module.register_forward_hook(lambda module, inputs, result: result * 2)
    jitted = tnp.jit(module)
    _close(jitted(x), module(x))
    module.register_forward_pre_hook(hook)
    with pytest.warns(tnp.EagerFallbackWarning, match="hook of a library's"):
        jitted(x)
    _close(jitted(x), module(x))
    assert hook.call_count == 3


def test_a_jitted_module_is_its_module_to_libraries(network):
    jitted = tnp.jit(network)
    assert jitted == network and network == jitted and hash(jitted) == hash(network) and jitted != torch.nn.ReLU()
    assert {network: 1}[jitted] == 1 and vars(jitted) is vars(network)
    assert next(jitted.modules()) is jitted and dict(jitted.named_modules())["head"] is network.head
    assert jitted.eval.__func__ is jitted.eval.__func__ and jitted.__doc__ == network.__doc__
    traced = torch.fx.symbolic_trace(tnp.jit(torch.nn.Sequential(torch.nn.Linear(8, 2), torch.nn.ReLU())))
    assert [n.op for n in traced.graph.nodes] == ["placeholder", "call_module", "call_module", "output"]


@pytest.mark.filterwarnings("ignore")  # torch.jit is deprecated
def test_modules_that_torch_has_traced():
    module, x = torch.nn.Linear(3, 3), randn(2, 3)
    _close(tnp.jit(torch.jit.trace(module, x))(x), module(x))


class Decorated(torch.nn.Module):
    """Methods that torch's context managers decorate."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.arange(3.0))

    @torch.no_grad()
    def scale(self, x):
        return x.abs().amax() + self.weight

    @torch.autocast("cpu", dtype=torch.bfloat16)
    def product(self, x):
        return x @ x.T

    @torch.autocast("cuda", enabled=False)
    def forward(self, x):
        return (x * self.weight / self.scale(x)).sum() + self.product(x).float().sum()


def test_methods_that_context_managers_decorate():
    mine = Decorated()
    left = copy.deepcopy(mine)
    jitted = tnp.jit(mine, strict=True)
    for n in (3, 4):
        x = randn(n, 3).requires_grad_()
        y = x.detach().clone().requires_grad_()
        found, expected = jitted(x), left(y)
        _close(found, expected)
        found.backward()
        expected.backward()
        _close((x.grad, mine.weight.grad), (y.grad, left.weight.grad))


class Layers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(
            [torch.nn.Linear(4, 4), torch.nn.GELU(), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 4)]
        )
        self.recurrent = torch.nn.LSTM(4, 4)


class Chained(Layers):
    def forward(self, x):
        return torch.nn.Sequential(*self.layers)(x * 2) + 1


class ChainedInChains(Layers):
    def forward(self, x):
        made = torch.nn.Sequential(torch.nn.Sequential(*self.layers[:2]), self.layers[2])
        parts = [layer for layer in made if isinstance(layer, torch.nn.Sequential)]
        return (
            made(x),
            len(made),
            len(parts),
            type(made) is torch.nn.Sequential,
            made[1] is self.layers[2],
            list(made.state_dict()),
        )


class ChainedAndChanged(Layers):
    def forward(self, x):
        made = torch.nn.Sequential(*self.layers)
        made.register_forward_hook(lambda module, given, result: result * 2)
        made.eval()
        return made(x), self.layers[2].training


class ChainThatIsKept(Layers):
    def forward(self, x):
        self.made = torch.nn.Sequential(*self.layers)
        return self.made(x), self.made[0] is self.layers[0]


class Moved(Layers):
    def forward(self, x):
        linear = self.layers[0].to(x.device)
        return linear(self.layers[2].to(x.device, dtype=x.dtype).float()(x)).sin(), linear is self.layers[0]


class MovedRecurrent(Layers):
    def forward(self, x):
        return self.recurrent.to(x.device)(x)[0].sin() * 2


class Cast(Layers):
    def forward(self, x):
        return self.layers[0].to(torch.float64)(x.double()), self.layers[0].weight.dtype


@pytest.mark.filterwarnings("ignore::tnp.EagerFallbackWarning")
@pytest.mark.parametrize(
    "kind", [Chained, ChainedInChains, ChainedAndChanged, ChainThatIsKept, Moved, MovedRecurrent, Cast]
)
@pytest.mark.parametrize("training", [False, True])
def test_modules_that_are_chained_or_moved_in_a_forward(kind, training):
    torch.manual_seed(0)
    model = kind().train(training)
    mine = copy.deepcopy(model)
    jitted = tnp.jit(mine)
    for i in range(4):
        x = torch.linspace(-1, 1, 12).reshape(3, 4) * (i + 1)
        if i == 3:  # which a call moves back
            model.layers[2].double(), mine.layers[2].double()
        outcomes = []
        for f in (model, jitted):
            try:
                result = f(x)
            except RuntimeError as error:
                outcomes.append(str(error))
                continue
            first, *rest = result if isinstance(result, tuple) else (result,)
            f.zero_grad()
            first.sum().backward()
            gradients = [p.grad for p in f.parameters()]
            outcomes.append((first.detach(), rest, gradients, f.state_dict()))
        expected, found = outcomes
        if type(expected) is str:
            assert found == expected
            continue
        assert found[1] == expected[1]
        torch.testing.assert_close(found[0], expected[0], rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(found[2:], expected[2:], rtol=1e-4, atol=1e-4)
        if i == 2 and kind in (Chained, ChainedInChains, ChainedAndChanged, Moved):
            assert "it makes" not in str(tnp.explain(jitted)) and "it moves" not in str(tnp.explain(jitted))
            assert tnp.last_traces(jitted)


class Checked(torch.nn.Module):
    """A module with a ``__call__`` of its own, which checks what it is given."""

    def __init__(self):
        super().__init__()
        self.linear, self.factor = torch.nn.Linear(4, 4), 2.0

    def __call__(self, x, *, dim=0, **options):
        if dim >= x.dim():
            raise ValueError(f"no dimension {dim}")
        return super().__call__(x * self.factor, dim=dim, **options)

    def forward(self, x, dim):
        return self.linear(x).sum(dim)


class Inheriting(Checked):
    def forward(self, x, dim):
        return torch.tanh(self.linear(x)).sum(dim)


class Both(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Checked(), Inheriting()
        self.second.register_forward_hook(lambda module, inputs, output: output + 1)

    def forward(self, x):
        return self.first(x) + self.second(x, dim=0)


@pytest.mark.parametrize("kind", [Both, Checked])
def test_calls_of_a_class_of_its_own(kind):
    model, x = kind(), torch.rand(3, 4)
    jitted = tnp.jit(model, strict=True)
    for factor in (2.0, 3.0):
        (model if kind is Checked else model.second).factor = factor
        found = []
        for called in (jitted, model):
            model.zero_grad()
            result = called(x)
            result.sum().backward()
            found.append([result, *(p.grad.clone() for p in model.parameters())])
        for a, b in zip(*found, strict=True):
            torch.testing.assert_close(a, b)
    with pytest.raises(ValueError, match="no dimension 5"):
        tnp.jit(lambda m, x: m(x, dim=5))(Checked(), x)
