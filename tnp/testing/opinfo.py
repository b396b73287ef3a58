"""OpInfos: descriptions of operations, from which their tests are generated."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tnp.core import dtypes as core_dtypes
from tnp.core.devices import DeviceType
from tnp.core.dtypes import DType
from tnp.inspect.copies import copied
from tnp.testing.arrays import as_dtype, make_array, make_tensor

__all__ = ["ALL_DTYPES", "EXECUTORS", "TORCH_EXECUTORS", "DecorateInfo", "OpInfo", "SampleInput", "opinfos"]

#: the executor lists that every operation of NumPy's is tested with, by name
EXECUTORS: dict[str, tuple[Any, ...] | None] = {
    "numpy": ("numpy",),
    "numpy[prims]": ("numpy[prims]",),
    "llvm": ("llvm[everything]",),
}
if importlib.util.find_spec("torch") is not None:
    EXECUTORS["torch"] = ("torch",)

#: those of operations of torch's: the default executors, and those that open every function to prims
TORCH_EXECUTORS: dict[str, tuple[Any, ...] | None] = {
    "default": None,
    "torch_functions[prims]": ("llvm[everything]", "torch_functions[prims]"),
}

ALL_DTYPES = tuple(d for d in core_dtypes.ALL if d is not core_dtypes.bfloat16)
#: dtypes that all of torch computes with
TORCH_DTYPES = (
    core_dtypes.bool8, core_dtypes.uint8, core_dtypes.int64, core_dtypes.bfloat16, core_dtypes.float32, core_dtypes.float64,
    core_dtypes.complex64,
)  # fmt: skip


class SampleInput:
    """One call's arguments: ``SampleInput(*args, **kwargs)``.

    >>> from tnp.testing import SampleInput
    >>> SampleInput(1, axis=0)
    [SampleInput args=(1,) kwargs={'axis': 0}]
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.args = args
        self.kwargs = kwargs

    def copied(self) -> SampleInput:
        """The same call with arrays of its own, in the memory layouts that they have here."""
        memo: dict[int, Any] = {}
        return SampleInput(*copied(self.args, memo), **copied(self.kwargs, memo))

    def __repr__(self) -> str:
        return f"[SampleInput args={self.args} kwargs={self.kwargs}]"


#: names that Thunder's OpInfos use for the tests here
_TESTS_OF_THUNDER = {
    "test_core_vs_torch_consistency": "test_consistency",
    "test_core_vs_numpy_consistency": "test_consistency",
    "test_vjp_correctness": "test_gradients",
}


@dataclass(frozen=True)
class DecorateInfo:
    """A mark, ``decorator``, for an operation's tests: ``DecorateInfo(pytest.mark.xfail(reason=…), "test_consistency", dtypes=(float16,))``.

    ``test_name`` is ``"test_consistency"``, ``"test_gradients"`` or ``"test_errors"``; it, ``executors`` (names), ``dtypes`` (tnp's, NumPy's or
    torch's) and ``devicetypes`` (``DeviceType`` members or ``"cpu"``, ``"cuda"``) left ``None`` mean all.

    >>> import numpy as np
    >>> from tnp.core.dtypes import float16, float32
    >>> from tnp.testing import DecorateInfo
    >>> directive = DecorateInfo(print, "test_consistency", dtypes=(np.float16,))
    >>> [directive.applies("test_consistency", "llvm", "cpu", d) for d in (float16, float32)]
    [True, False]
    """

    decorator: Any
    test_name: str | None = None
    executors: tuple[str, ...] | None = None
    dtypes: tuple[Any, ...] | None = None
    devicetypes: tuple[Any, ...] | None = None

    def applies(self, test_name: str, executor: str | None, device: str, dtype: DType | None) -> bool:
        """Whether the mark is one for the test ``test_name`` with this executor, device and dtype (``None``: the test has none)."""
        wanted = None if self.test_name is None else _TESTS_OF_THUNDER.get(self.test_name, self.test_name)
        kinds = None if self.devicetypes is None else {DeviceType(k) for k in self.devicetypes}
        return (
            wanted in (None, test_name)
            and (self.executors is None or executor in self.executors)
            and (self.dtypes is None or dtype in {as_dtype(d) for d in self.dtypes})
            and (kinds is None or DeviceType(device.partition(":")[0]) in kinds)
        )


@dataclass
class OpInfo:
    """One operation, and what its tests need to know of it.

    ``op`` is what jitted code calls: a function of NumPy or torch, an operation of an executor, one of tnp's symbols.
    ``sample_input_generator(opinfo, device, dtype, requires_grad)`` yields :class:`SampleInput`;
    ``error_input_generator(opinfo, device)`` yields ``(SampleInput, error type, regex)``, the regex being searched for in the
    message. ``dtype`` is one of tnp's, which :func:`make_array` and :func:`make_tensor` take.

    ``numpy_reference`` or ``torch_reference`` says what is right (neither: ``op`` itself, eagerly); with the second, samples are
    tensors. ``domain`` are the bounds of what :meth:`make` makes. ``executors`` are names (of :data:`EXECUTORS`, of registered
    executors) or executors; ``None`` means all of :data:`EXECUTORS`, or of :data:`TORCH_EXECUTORS` with a ``torch_reference``. ``dtypes``
    are those that it is tested with (``None``: all that there are).
    ``rtol`` has tolerances by dtype, ``supports_grad`` has gradients tested (in float64, those of tensors as autograd asks for them), ``may_run_eagerly`` lets calls fall back to eager,
    ``test_directives`` are :class:`DecorateInfo`.

    Raises ``ValueError`` for two references.

    >>> import numpy as np
    >>> from tnp.testing import OpInfo, SampleInput, check_op, make_array
    >>> def samples(op, device, dtype, requires_grad):
    ...     yield SampleInput(op.make((2, 3), dtype=dtype), 1)
    >>> info = OpInfo(np.cumsum, sample_input_generator=samples)
    >>> info.name, check_op(info, "llvm", "float64")
    ('cumsum', 1)
    """

    op: Callable[..., Any]
    name: str = ""
    sample_input_generator: Callable[..., Iterable[SampleInput]] | None = None
    error_input_generator: Callable[..., Iterable[Any]] | None = None
    numpy_reference: Callable[..., Any] | None = None
    torch_reference: Callable[..., Any] | None = None
    dtypes: tuple[Any, ...] | None = None
    executors: tuple[Any, ...] | None = None
    domain: tuple[float | None, float | None] | None = None
    rtol: dict[DType, float] = field(default_factory=dict)
    supports_grad: bool = False
    may_run_eagerly: bool = False
    test_directives: tuple[DecorateInfo, ...] = ()

    def __post_init__(self) -> None:
        if not self.name:
            self.name = str(getattr(self.op, "qualified_name", None) or getattr(self.op, "__name__", self.op))
        if self.numpy_reference is not None and self.torch_reference is not None:
            raise ValueError(f"the OpInfo of {self.name} has a numpy_reference and a torch_reference; which is right?")
        if self.dtypes is None:
            self.dtypes = ALL_DTYPES if self.torch_reference is None else TORCH_DTYPES
        self.dtypes = tuple(as_dtype(d) for d in self.dtypes)
        self.rtol = {as_dtype(d): value for d, value in self.rtol.items()}

    @property
    def reference(self) -> Callable[..., Any]:
        """The function that says what is right."""
        return self.numpy_reference or self.torch_reference or self.op

    def make(self, shape: int | tuple[int, ...], **options: Any) -> Any:
        """An array of a ``shape``, or a tensor with a ``torch_reference``, of values in the domain; ``options`` are :func:`make_array`'s."""
        low, high = self.domain or (None, None)
        if low is not None and low < 0 and as_dtype(options["dtype"]).kind == "u":
            low = 0
        make = make_array if self.torch_reference is None else make_tensor
        return make(shape, **{"low": low, "high": high, **options})

    def samples(self, dtype: Any, *, device: str = "cpu", requires_grad: bool = False) -> Iterator[SampleInput]:
        """The sample inputs for a dtype on a ``device``, with ``requires_grad`` those that gradients are tested with."""
        if self.sample_input_generator is not None:
            kind = as_dtype(dtype)
            yield from self.sample_input_generator(self, device=device, dtype=kind, requires_grad=requires_grad)

    def errors(self, *, device: str = "cpu") -> Iterator[tuple[SampleInput, type[BaseException], str]]:
        """The inputs on a ``device`` that must raise, with the error's type and a regex that its message matches."""
        if self.error_input_generator is not None:
            yield from self.error_input_generator(self, device)

    def executor_lists(self) -> dict[str, tuple[Any, ...] | None]:
        """What ``tnp.jit`` is given as ``executors``, by the names that tests have."""
        known = EXECUTORS if self.torch_reference is None else TORCH_EXECUTORS
        if self.executors is None:
            return known
        return {getattr(e, "name", e): known.get(e, (e,)) if isinstance(e, str) else (e,) for e in self.executors}

    def devices(self) -> tuple[str, ...]:
        """Where its samples can be here: ``"cpu"``, and ``"cuda"`` for tensors where there is one."""
        if self.torch_reference is None:
            return ("cpu",)
        import torch

        return ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",)


class _Registry:
    """All OpInfos, by family: those of tnp itself, imported at first use, and those added.

    Iterating gives every OpInfo of tnp's NumPy language and prims. torch's operators are the family ``"torch"``, which is made of torch's
    own database (seconds to import) when it is asked for by name.

    >>> from tnp.testing import opinfos
    >>> [info.name for info in opinfos.family("fft")][:3]
    ['fft.fft', 'fft.ifft', 'fft.irfft']
    """

    def __init__(self) -> None:
        self._families: dict[str, list[OpInfo]] = {}
        self._torch: tuple[OpInfo, ...] | None = None

    def add(self, family: str, *infos: OpInfo) -> None:
        """Adds to a family, which is made if there is none of that name."""
        self._families.setdefault(family, []).extend(infos)

    @property
    def families(self) -> tuple[str, ...]:
        """The names of the families that iterating goes through."""
        importlib.import_module("tnp.testing.families")
        return tuple(self._families)

    def family(self, name: str) -> tuple[OpInfo, ...]:
        """The OpInfos of a family. Raises ``KeyError``, naming those known."""
        if name == "torch":
            if self._torch is None:
                self._torch = tuple(importlib.import_module("tnp.testing.torch_samples").databases_operators())
            return self._torch
        if name not in self.families:
            raise KeyError(f"there is no family {name!r}; there are {', '.join((*self.families, 'torch'))}")
        return tuple(self._families[name])

    def __iter__(self) -> Iterator[OpInfo]:
        for name in self.families:
            yield from self._families[name]

    def named(self, name: str) -> OpInfo:
        """The OpInfo of that name; ``"torch.…"`` is looked for among torch's. Raises ``KeyError``."""
        for info in self if not name.startswith("torch.") else self.family("torch"):
            if info.name == name:
                return info
        raise KeyError(f"there is no OpInfo named {name!r}")


opinfos = _Registry()
