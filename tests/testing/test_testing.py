"""``tnp.testing`` finds what is wrong with an operation, says how to run it again, and lets what is right pass."""

import functools
import re
import shlex
import sys

import numpy as np
import pytest

import tnp
from tests import operations
from tnp.core.devices import DeviceType
from tnp.core.dtypes import bfloat16, float16, float32
from tnp.extend import OperatorExecutor, TensorProxy, get_grad, put_grads, register_grad
from tnp.inspect.copies import copied
from tnp.testing import (
    DecorateInfo,
    OpInfo,
    SampleInput,
    check_errors,
    check_gradient,
    check_op,
    make_tests,
    opinfos,
    ops,
    shapes_generator,
    variants,
)
from tnp.testing.__main__ import main

test_right = make_tests(operations.RIGHT, operations.OWN)


@pytest.mark.parametrize("info", operations.WRONG, ids=lambda info: info.name)
def test_wrong_operations_are_found(info, capsys):
    with pytest.raises(AssertionError) as found:
        check_op(info, "numpy", "float32", source=operations.__file__)
    (note,) = found.value.__notes__
    command = shlex.split(note.partition("reproduce with: ")[2])
    assert command[:3] == ["python", "-m", "tnp.testing"]
    path = sys.path.copy()
    with pytest.raises(AssertionError) as again:
        main(command[3:])
    assert again.value.__notes__ == [note]
    assert sys.path == path
    options = command[3 : command.index("--sample")]
    if info.name != "value":  # of an empty array all values are right
        return
    main([*options, "--sample", "1"])
    assert "1 samples agree" in capsys.readouterr().out


def test_a_wrong_gradient_is_found():
    check_op(operations.WRONG_SLOPE, "operations", "float64")
    with pytest.raises(AssertionError, match="argument 0") as found:
        check_gradient(operations.WRONG_SLOPE, "operations")
    assert "--gradients --executor operations --sample 0" in found.value.__notes__[0]


def of_tensors(rule, reference=None, **options):
    """An operation on tensors, ``a * b + b``, with a gradient rule of two factors, and its OpInfo."""
    torch = pytest.importorskip("torch")
    ex = OperatorExecutor("of_tensors")
    op = ex.register_operator("op", meta=lambda a, b: TensorProxy(like=a), fn=lambda a, b: a * b + b)

    def samples(info, device, dtype, requires_grad):
        make = functools.partial(info.make, dtype=dtype, device=device, requires_grad=requires_grad)
        for shape in ((), (0,), (2, 3)):
            yield SampleInput(make(shape), b=make(shape, seed=1))
        yield SampleInput(next(reversed(list(variants(make((2, 3)))))), make((2, 3), seed=1).detach())

    if rule is not None:

        def grad(a, b):
            out = op(a, b)
            put_grads((a, b), rule(a, b, get_grad(out)))
            return out

        register_grad(op, grad)
    reference = reference or (lambda a, b: torch.add(a * b, b))
    return OpInfo(
        op, sample_input_generator=samples, torch_reference=reference, executors=(ex,), dtypes=("float64",), **options
    )


def test_gradients_of_operations_on_tensors():
    right = of_tensors(lambda a, b, g: (g * b, g * (a + 1)), supports_grad=True)
    (test,) = make_tests(right).pytestmark
    assert [p.id for p in test.args[1]] == ["op-of_tensors-cpu-float64", "op-of_tensors-gradients"]
    assert check_gradient(right, "of_tensors") == 4
    assert check_op(right, "of_tensors", "float64") == 4


@pytest.mark.parametrize("first, second", [(2, 1), (1, 0)])
def test_wrong_gradients_of_operations_on_tensors_are_found(first, second):
    wrong = of_tensors(lambda a, b, g: (g * b * first, g * (a + 1) * second))
    with pytest.raises(AssertionError, match=f"tensor {0 if first > 1 else 1}, against torch's autograd") as found:
        check_gradient(wrong, "of_tensors", source=__file__)
    assert "--gradients --executor of_tensors --sample 0" in found.value.__notes__[0]


def test_gradients_of_tensors_where_torch_has_none_to_compare_with():
    """The reference computes with NumPy: differences of its values say what is right."""
    torch = pytest.importorskip("torch")

    def reference(a, b):
        return torch.tensor(a.detach().numpy() * b.detach().numpy() + b.detach().numpy())

    assert check_gradient(of_tensors(lambda a, b, g: (g * b, g * (a + 1)), reference), "of_tensors") == 4
    with pytest.raises(AssertionError, match="tensor 1, against differences"):
        check_gradient(of_tensors(lambda a, b, g: (g * b, g * a), reference), "of_tensors")


def test_gradients_that_there_are_not():
    torch = pytest.importorskip("torch")
    none = of_tensors(None)
    with pytest.raises(tnp.EagerFallbackWarning, match="op has no gradient rule"):
        check_gradient(none, "of_tensors")
    none.may_run_eagerly = True
    with pytest.raises(tnp.GradientError, match=r"op has no gradient rule; register one with tnp.register_grad"):
        check_gradient(none, "of_tensors")
    info = OpInfo(
        lambda x: x.detach(),
        sample_input_generator=shapes_generator((2,)),
        torch_reference=lambda x: x + 0,
        executors=("default",),
    )
    with pytest.raises(AssertionError, match="no result requires a gradient"):
        check_gradient(info, "default")
    several = OpInfo(
        torch.frexp, sample_input_generator=shapes_generator((3,)), torch_reference=torch.frexp, may_run_eagerly=True
    )
    assert check_gradient(several, "default") == 2  # one result of floats, one of integers


def test_gradients_of_torchs_own_functions():
    pytest.importorskip("torch")
    from tnp.testing.torch_elementwise import opinfo

    assert check_gradient(opinfo("tanh"), "default") > 5


@pytest.mark.parametrize(
    "error, pattern, complaint",
    [
        (ValueError, "another text", "does not match"),
        (TypeError, "broadcast", "broadcast"),
        (None, "", "did not raise"),
    ],
)
def test_wrong_errors_are_found(error, pattern, complaint):
    def errors(op, device):
        yield SampleInput(np.ones(3), np.ones(3 if error is None else 4)), error or ValueError, pattern

    info = OpInfo(np.hypot, error_input_generator=errors)
    with pytest.raises((AssertionError, ValueError), match=complaint):
        check_errors(info)


def ids_of(decorated):
    (mark,) = decorated.pytestmark
    return [p.id for p in mark.args[1]]


def test_ops_gives_each_combination_once():
    @ops([operations.RIGHT], where=lambda info, executor, dtype: executor != "llvm" or dtype is float32)
    def test(info, executor, device, dtype): ...

    assert ids_of(test) == ["mul_add-numpy-cpu-float32", "mul_add-numpy-cpu-int64", "mul_add-llvm-cpu-float32"]

    @ops(opinfos.family("fft"), executors=["llvm"], dtypes=[np.float32])
    def test(info, executor, device, dtype): ...

    assert "fft.rfft-llvm-cpu-float32" in ids_of(test) and all(i.endswith("-llvm-cpu-float32") for i in ids_of(test))


def test_directives():
    xfail = pytest.mark.xfail(reason="for the test")
    directives = (
        DecorateInfo(xfail, "test_core_vs_numpy_consistency", dtypes=(np.float16,), devicetypes=(DeviceType.CPU,)),
        DecorateInfo(xfail, executors=("llvm",), devicetypes=("cuda",)),
    )
    assert directives[0].applies("test_consistency", "numpy", "cpu", float16)
    assert not directives[0].applies("test_consistency", "numpy", "cuda:1", float16)
    assert not directives[0].applies("test_consistency", "numpy", "cpu", float32)
    assert not directives[0].applies("test_errors", "numpy", "cpu", float16)
    assert directives[1].applies("test_errors", "llvm", "cuda", None)
    info = OpInfo(np.sin, dtypes=("float16", "float32"), executors=("numpy",), test_directives=directives)

    @ops([info])
    def test_consistency(info, executor, device, dtype): ...

    (mark,) = test_consistency.pytestmark
    assert [bool(p.marks) for p in mark.args[1]] == [True, False]


def test_copies_lie_in_memory_as_the_samples():
    for a in variants(np.arange(12.0).reshape(3, 4)):
        b, again, as_well = copied((a, a, [a]))
        assert b is again is as_well[0] and b is not a
        assert b.strides == a.strides and not np.shares_memory(a, b)
        np.testing.assert_array_equal(a, b)
    broadcast = np.broadcast_to(np.arange(3.0), (2, 3))
    assert copied(broadcast).strides == (0, 8) and not copied(broadcast).flags.writeable


def test_registry():
    assert opinfos.named("hypot") in opinfos.family("elementwise")
    assert {i.name for f in opinfos.families for i in opinfos.family(f)} == {i.name for i in opinfos}
    with pytest.raises(KeyError, match=r"there are elementwise, .*torch"):
        opinfos.family("nothing")
    with pytest.raises(KeyError, match=r"no OpInfo named 'nothing'"):
        opinfos.named("nothing")
    with pytest.raises(ValueError, match="which is right"):
        OpInfo(np.sin, numpy_reference=np.sin, torch_reference=np.sin)


@pytest.mark.parametrize(
    "arguments, complaint",
    [
        (["nothing"], "no OpInfo named 'nothing'"),
        (["hypot", "--executor", "opened"], "hypot is tested on numpy, .*, not on opened"),
        (["mul_add", "--from", "nowhere.py"], "there is no file nowhere.py"),
        (["nothing", "--from", operations.__file__], "has no OpInfo named 'nothing'"),
    ],
)
def test_the_command_refuses(arguments, complaint):
    with pytest.raises(SystemExit) as refused:
        main(arguments)
    assert re.search(complaint, str(refused.value))


def test_tensors():
    torch = pytest.importorskip("torch")
    from tnp.testing import assert_same, elementwise_unary_generator, make_tensor

    a = make_tensor((2, 3), dtype=torch.bfloat16, low=-1, high=1, requires_grad=True)
    assert a.dtype == torch.bfloat16 and a.requires_grad and a.abs().max() <= 1
    assert not make_tensor((2,), dtype=np.int8, requires_grad=True).requires_grad
    for b in variants(a):
        assert torch.equal(a, b) and b.requires_grad
        assert copied(b).stride() == b.stride()
    acos = OpInfo(torch.acos, domain=(-1, 1), sample_input_generator=elementwise_unary_generator,
                  torch_reference=torch.acos)  # fmt: skip
    assert bfloat16 in acos.dtypes
    assert check_op(acos, "default", torch.float32) == 9
    with pytest.raises(AssertionError, match="result"):
        assert_same(torch.ones(2), torch.zeros(2))
