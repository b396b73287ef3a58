"""OpInfos: descriptions of operations from which their tests are made."""

from __future__ import annotations

import copy
import importlib.util
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tnp
from tnp.core import dtypes
from tnp.core.dtypes import DType
from tnp.testing.compare import assert_same

__all__ = ["EXECUTORS", "DecorateInfo", "OpInfo", "SampleInput", "check_error", "check_sample", "opinfos"]

#: the executor lists that every operation is tested with, by name
EXECUTORS: dict[str, tuple[str, ...]] = {
    "numpy": ("numpy",),
    "numpy_prims": ("numpy_prims",),
    "llvm": ("llvm_everything",),
}
if importlib.util.find_spec("torch") is not None:
    EXECUTORS["torch"] = ("torch",)


#: older versions of NumPy refuse some samples, and accept some inputs that must raise in later ones
_OLDER_NUMPY = np.lib.NumpyVersion(np.__version__) < "2.4.0"


class SampleInput:
    """One call's arguments."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.args = args
        self.kwargs = kwargs

    def __repr__(self) -> str:
        return f"[SampleInput args={self.args} kwargs={self.kwargs}]"


@dataclass(frozen=True)
class DecorateInfo:
    """A mark (``pytest.mark.xfail(reason=…)``) for an operation's tests with some executors or dtypes.

    ``executors`` and ``dtypes`` left ``None`` mean all.
    """

    decorator: Any
    test_name: str | None = None
    executors: tuple[str, ...] | None = None
    dtypes: tuple[DType, ...] | None = None
    devicetypes: tuple[Any, ...] | None = None

    def applies(self, test_name: str, executor: str, dtype: DType) -> bool:
        return (
            self.test_name in (None, test_name)
            and (self.executors is None or executor in self.executors)
            and (self.dtypes is None or dtype in self.dtypes)
        )


ALL_DTYPES = tuple(d for d in dtypes.ALL if d is not dtypes.bfloat16)


@dataclass
class OpInfo:
    """One operation.

    ``op`` is what is called inside a jitted function: a NumPy function, or one of tnp's symbols.
    ``sample_input_generator(opinfo, device, dtype, requires_grad)`` yields :class:`SampleInput`;
    ``error_input_generator(opinfo, device)`` yields ``(SampleInput, error type, regex)``. ``numpy_reference`` (default: ``op``) says what is right.
    ``exact`` executors must give the reference's very bits.
    """

    op: Callable[..., Any]
    name: str = ""
    sample_input_generator: Callable[..., Iterable[SampleInput]] | None = None
    error_input_generator: Callable[..., Iterable[Any]] | None = None
    numpy_reference: Callable[..., Any] | None = None
    torch_reference: Callable[..., Any] | None = None
    dtypes: tuple[DType, ...] = ALL_DTYPES
    executors: tuple[str, ...] | None = None
    domain: tuple[float, float] | None = None
    rtol: dict[DType, float] = field(default_factory=dict)
    test_directives: tuple[DecorateInfo, ...] = ()

    def __post_init__(self) -> None:
        if not self.name:
            self.name = getattr(self.op, "qualified_name", None) or getattr(self.op, "__name__", str(self.op))
        if self.numpy_reference is None:
            self.numpy_reference = self.op

    def samples(self, dtype: DType, *, device: str = "cpu", requires_grad: bool = False) -> Iterator[SampleInput]:
        """The sample inputs for a dtype."""
        if self.sample_input_generator is not None:
            yield from self.sample_input_generator(self, device, dtype, requires_grad)

    def errors(self, *, device: str = "cpu") -> Iterator[tuple[SampleInput, type, str]]:
        """The inputs that must raise, with the error's type and a regex that its message matches."""
        if self.error_input_generator is not None:
            yield from self.error_input_generator(self, device)

    def tests_executor(self, executor: str) -> bool:
        return self.executors is None or executor in self.executors


class _Registry:
    """All OpInfos, by family."""

    def __init__(self) -> None:
        self.families: dict[str, list[OpInfo]] = {}

    def add(self, family: str, *infos: OpInfo) -> None:
        """Adds to a family."""
        self.families.setdefault(family, []).extend(infos)

    def __iter__(self) -> Iterator[OpInfo]:
        for infos in self.families.values():
            yield from infos

    def named(self, name: str) -> OpInfo:
        """The OpInfo of that name. Raises ``KeyError``."""
        for info in self:
            if info.name == name:
                return info
        raise KeyError(name)


opinfos = _Registry()


def _copied(x: Any) -> Any:
    return copy.deepcopy(x)


def check_sample(info: OpInfo, sample: SampleInput, executor: str, dtype: DType) -> None:
    """Runs one sample through ``tnp.jit`` and eagerly, twice each (traced, then from the cache), and compares.

    Raises ``AssertionError`` where they differ in type, dtype, shape, values, or in what they did to the arguments; and
    lets errors and fallback warnings through.
    """
    op = info.op

    def call(*args: Any, **kwargs: Any) -> Any:
        return op(*args, **kwargs)

    jitted = tnp.jit(call, executors=EXECUTORS[executor])
    reference = info.numpy_reference
    assert reference is not None
    for _ in range(2):
        expected_sample, actual_sample = _copied(sample), _copied(sample)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                expected = reference(*expected_sample.args, **expected_sample.kwargs)
            except Exception as refusal:
                if not _OLDER_NUMPY:
                    raise
                _check_raises(type(refusal), "", jitted, actual_sample)
                continue
            warnings.simplefilter("error", tnp.EagerFallbackWarning)
            actual = jitted(*actual_sample.args, **actual_sample.kwargs)
        exact = executor == "numpy" and reference is op
        rtol = info.rtol.get(dtype)
        assert_same(actual, expected, exact=exact, rtol=rtol)
        assert_same(actual_sample.args, expected_sample.args, exact=exact, rtol=rtol, what="arguments")
        assert_same(actual_sample.kwargs, expected_sample.kwargs, exact=exact, rtol=rtol, what="keyword arguments")


def check_error(info: OpInfo, sample: SampleInput, error: type[BaseException], pattern: str) -> None:
    """Checks that a jitted call raises ``error`` with a message matching ``pattern``, its arguments as eager leaves them.

    Where this version of NumPy does something else, the call must do that.
    """
    op = info.op

    def call(*args: Any, **kwargs: Any) -> Any:
        return op(*args, **kwargs)

    before = _copied(sample)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if _OLDER_NUMPY:
            try:
                expected = op(*sample.args, **sample.kwargs)
            except Exception as raised:
                error, pattern = type(raised), re.escape(str(raised))
            else:
                assert_same(tnp.jit(call)(*before.args, **before.kwargs), expected)
                return
        warnings.simplefilter("error", tnp.EagerFallbackWarning)
        _check_raises(error, pattern, tnp.jit(call), sample)
    assert_same(sample.args, before.args, what="arguments")


def _check_raises(error: type[BaseException], pattern: str, call: Callable[..., Any], sample: SampleInput) -> None:
    try:
        call(*sample.args, **sample.kwargs)
    except error as raised:
        assert re.search(pattern, str(raised)), f"{error.__name__}: {raised} does not match {pattern!r}"
    else:
        raise AssertionError(f"{call} did not raise {error.__name__} for {sample}")
