"""The torch language: programs of tensors through tnp.jit against eager, arguments afterwards included."""

import copy
import subprocess
import sys

import numpy as np
import pytest

import tnp
from tests.eager_checks import not_compiled_whole

torch = pytest.importorskip("torch")

from tests import torch_programs as programs  # noqa: E402


def _close(got, expected):
    assert type(got) is type(expected)
    if isinstance(expected, torch.Tensor):
        torch.testing.assert_close(got, expected, equal_nan=True)
    elif isinstance(expected, (np.ndarray, np.generic)):
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=1e-6)
    elif isinstance(expected, (tuple, list)):
        assert len(got) == len(expected)
        for x, y in zip(got, expected):
            _close(x, y)
    elif isinstance(expected, dict):
        assert got.keys() == expected.keys()
        for k in expected:
            _close(got[k], expected[k])
    else:
        assert got == expected


def compare(f, *args, compiled=True, **options):
    """Calls ``f`` eagerly and jitted, twice, on copies of the arguments, from one state of torch's generator."""
    jitted = tnp.jit(f, **options)
    for _ in range(2):
        eager_args, tnp_args = copy.deepcopy(args), copy.deepcopy(args)
        torch.manual_seed(0)
        expected = f(*eager_args)
        torch.manual_seed(0)
        got = jitted(*tnp_args)
        _close(got, expected)
        _close(tnp_args, eager_args)
    if compiled:
        assert tnp.last_traces(jitted), tnp.explain(jitted)
        assert tnp.cache_info(jitted) == (1, 1, 1)
    return jitted


def randn(*shape, dtype=torch.float32):
    generator = torch.Generator().manual_seed(1)
    return torch.randn(*shape, generator=generator, dtype=dtype)


CASES = {
    "activations": (randn(6, 5), randn(4, 5), randn(4)),
    "in_place": (randn(6, 4), 3),
    "views": (randn(4, 6),),
    "masked": (randn(5, 4),),
    "factories": (5,),
    "promotion": (torch.tensor([1, 2, 3]), torch.tensor([0.5, -2.0, 4.0])),
    "loop": (randn(3), 20),
    "branch": (randn(4),),
    "functional_in_place": (randn(7),),
    "out_argument": (randn(3), torch.zeros(3)),
    "both_languages": (np.array([1.0, 4.0, 9.0]), randn(3)),
    "write_through_numpy": (randn(5),),
    "opaque": (torch.tensor([[1.0, 1.0, 2.0, 3.0], [4.0, 5.0, 5.0, 5.0]]),),
    "draws": (randn(8),),
    "attributes": (randn(2, 3),),
}


@pytest.mark.parametrize("name", CASES)
def test_programs_do_what_eager_does(name):
    compare(getattr(programs, name), *CASES[name])


@pytest.mark.parametrize("name", ["activations", "in_place", "views", "masked", "promotion", "both_languages"])
def test_programs_in_prims_do_what_eager_does(name):
    compare(getattr(programs, name), *CASES[name], executors=["llvm[everything]", "torch_functions[prims]"])


@pytest.mark.parametrize("name", ["activations", "in_place", "promotion"])
def test_tensors_that_are_not_contiguous(name):
    args = [a.repeat_interleave(2, 0)[::2] if isinstance(a, torch.Tensor) else a for a in CASES[name]]
    compare(getattr(programs, name), *args)


@pytest.mark.filterwarnings("ignore:__array_wrap__ must accept:DeprecationWarning")  # of torch's, in eager
def test_an_operator_between_the_languages_follows_torch():
    compare(programs.array_meets_tensor, np.array([1.0, 4.0, 9.0]), randn(3))


def test_fused_regions_read_and_write_the_memory_of_tensors():
    jitted = tnp.jit(lambda x: x.mul_(2).add_(1))
    x = torch.ones(1000)
    assert jitted(x) is x
    assert torch.equal(x, torch.full((1000,), 3.0))
    called = [b.sym.name for b in tnp.last_traces(jitted)[-1].body]
    assert called == ["to_ndarray", "llvm_fusion0", "increment_version"]


def test_results_belong_to_the_language_of_the_operation():
    t = randn(3)
    jitted = tnp.jit(lambda t: (np.exp(t), torch.exp(t), np.add(t, 1)))
    kinds = [type(x) for x in jitted(t)]
    assert kinds == [np.ndarray, torch.Tensor, np.ndarray]


def test_returned_argument_is_the_argument_and_views_share_its_memory():
    jitted = tnp.jit(lambda x: (x, x[1:], x.contiguous()))
    x = torch.zeros(4)
    same, tail, contiguous = jitted(x)
    assert same is x and contiguous is x
    tail += 1
    assert x.tolist() == [0, 1, 1, 1]


def test_errors_of_the_program_are_torchs():
    for f, args in (
        (lambda x: x.view(5, 5), (randn(4),)),
        (lambda x: x.view(-1), (randn(4, 6).t(),)),
        (lambda a, b: a @ b, (randn(2, 3), randn(2, 3))),
        (lambda x: x.sum(3), (randn(2),)),
        (lambda x, i: x.add_(i), (torch.ones(2, dtype=torch.int64), 1.5)),
        (lambda x: torch.nn.functional.embedding(torch.tensor([-1]), x), (randn(2, 3),)),
    ):
        with pytest.raises(Exception) as eager:
            f(*copy.deepcopy(args))
        with pytest.raises(type(eager.value)) as raised:
            tnp.jit(f)(*args)
        assert str(raised.value) == str(eager.value)


def test_what_is_not_compiled_runs_eagerly_and_says_why():
    for make, reason in (
        (lambda: randn(2).to_sparse(), "sparse"),
        (lambda: torch.ones(2, dtype=torch.complex64).conj(), "conjugate"),
    ):
        jitted = tnp.jit(lambda x: x + x)
        with pytest.warns(tnp.EagerFallbackWarning, match=reason):
            jitted(make())
        assert jitted(torch.ones(2)).tolist() == [2, 2]  # which is compiled
        assert tnp.last_traces(jitted)


def test_autograd_notices_what_a_program_wrote():
    w = torch.ones(3, requires_grad=True)
    saved = torch.ones(3)
    loss = (w * saved).sum()
    tnp.jit(lambda x: x.mul_(2))(saved)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_explain_lists_opaque_calls():
    jitted = compare(programs.opaque, *CASES["opaque"])
    assert "opaque call: torch.mode" in str(tnp.explain(jitted))


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")  # of torch's own
def test_modes_that_watch_torch_see_what_eager_does():
    jitted = tnp.jit(lambda x: x * 2 + 1)
    x = torch.ones(3)
    jitted(x)
    with pytest.warns(tnp.EagerFallbackWarning, match="a transform of torch.func"):
        assert torch.equal(torch.func.vmap(jitted)(torch.ones(4, 3)), torch.full((4, 3), 3.0))
    with torch.autocast("cpu"):
        assert torch.equal(jitted(x), x * 3)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, x)
        assert torch.equal(torch.autograd.forward_ad.unpack_dual(jitted(dual)).tangent, 2 * x)
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False):
        assert torch.equal(jitted(x), x * 3)
    assert torch.equal(jitted(x), x * 3)
    assert tnp.cache_info(jitted).hits > 0


def test_inference_mode():
    jitted = tnp.jit(lambda x: x.mul_(2))
    with torch.inference_mode():
        x = torch.ones(3)
        assert jitted(x).tolist() == [2, 2, 2]
        assert tnp.last_traces(jitted)
    with (
        pytest.raises(RuntimeError, match="Inplace update to inference tensor"),
        pytest.warns(tnp.EagerFallbackWarning),
    ):
        jitted(x)


def test_guards_on_dtype_shape_strides_and_the_default_dtype():
    jitted = tnp.jit(lambda x: x * 1.5)
    for x in (torch.ones(3), torch.ones(3, dtype=torch.int64), torch.ones(4), torch.ones(2, 4)[:, ::2]):
        assert torch.equal(jitted(x), x * 1.5)
    assert tnp.cache_info(jitted).misses == 4
    torch.set_default_dtype(torch.float64)
    try:
        assert jitted(torch.ones(3, dtype=torch.int64)).dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_seeding_in_code_that_is_not_traced_runs_eagerly():
    def seeded(x):
        torch.manual_seed(3)
        return x + torch.rand(2)

    with not_compiled_whole("manual_seed"):
        assert torch.equal(tnp.jit(seeded)(torch.zeros(2)), seeded(torch.zeros(2)))


def test_strict_refuses_opaque_calls():
    with pytest.raises(tnp.TraceError, match="opaque"):
        tnp.jit(programs.opaque, strict=True)(CASES["opaque"][0])


def test_overlapping_tensors_of_which_one_is_written():
    def write(x, y):
        x += 1
        return y * 2

    jitted = tnp.jit(write)
    a = torch.zeros(6)
    assert jitted(a[:3], a[3:]).tolist() == [0, 0, 0]
    a = torch.zeros(6)
    with pytest.warns(tnp.EagerFallbackWarning, match="overlap"):
        assert jitted(a[:4], a[2:]).tolist() == [2, 2, 0, 0]


def test_numpy_programs_do_not_import_torch():
    code = (
        "import numpy as np, sys, tnp; tnp.jit(lambda x: np.sin(x) + 1)(np.ones(2)); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_examine_of_torch():
    found = tnp.examine(lambda t: (torch.special.i0(t) + 1).relu_().mul_(2), torch.ones(3))
    assert found.compiles and list(found.unsupported) == ["torch.special.i0"]

    def f(t):
        t.data_ptr()
        return torch.special.i0(t).relu_()

    found = tnp.examine(f, torch.ones(3))
    assert not found.compiles and "torch.special.i0" in found.unsupported
    assert not any("relu" in name for name in found.unsupported)


def test_isinstance_holds_in_code_that_python_has_specialised():
    @tnp.jit
    def f(x):
        return x + 1 if all(map(torch.is_tensor, (x,))) else None

    for _ in range(50):
        torch.is_tensor(1)
    _close(f(torch.ones(2)), torch.full((2,), 2.0))


def test_profile_of_a_module():
    module = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh())
    for jitted in (tnp.jit(module), tnp.jit(module.requires_grad_(False))):
        found = tnp.profile(jitted, torch.ones(2, 3))
        assert found.rows and all(row.calls == found.calls for row in found.rows)
        assert "torch_functions" in {row.executor for row in found.rows}


@pytest.mark.parametrize(
    "arrange",
    [
        lambda x: x.permute(2, 0, 1), lambda x: torch.permute(x, (2, 0, 1)), lambda x: x.flip(0, 1), lambda x: torch.flip(x, dims=(0, 1)),
        lambda x: torch.flip(input=x, dims=(0,)), lambda x: x.tile(2, 1, 1), lambda x: torch.tile(x, (2, 1, 1)), lambda x: x.reshape(3, 8),
    ],
    ids=["permute", "permute_of", "flip", "flip_of", "flip_by_name", "tile", "tile_of", "reshape"],
)  # fmt: skip
def test_dimensions_one_by_one_of_what_is_not_fused(arrange):
    x = torch.arange(24).reshape(2, 3, 4).to(torch.bfloat16)
    torch.testing.assert_close(tnp.jit(lambda x: arrange(x) * 2)(x), arrange(x) * 2)
