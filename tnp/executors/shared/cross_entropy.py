"""Shared code of the executors of cross entropy: the function that they run, and how to make one of them a default."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Protocol

from tnp.core.devices import DeviceType
from tnp.executors.shared.device_errors import why_no_device
from tnp.extend import OperatorExecutor, add_default_executor, register_executor

__all__ = ["CrossEntropyExecutor", "offer_cross_entropy"]


class CrossEntropyExecutor(OperatorExecutor):
    """Runs cross entropy on devices of these kinds. Its operations are given tensors, cotangents that start as NumPy's included."""

    array_kind = "torch"

    def __init__(self, name: str, *, version: Any, devices: Collection[DeviceType]) -> None:
        super().__init__(name, version=version)
        self.devices = devices

    def unavailable(self) -> str | None:
        return None if DeviceType.CPU in self.devices else why_no_device()


class Register(Protocol):
    """Makes the executor one of the defaults, if that is wanted; it is registered by being imported."""

    def __call__(self, *, add_to_default_executors: bool = True) -> None: ...


def offer_cross_entropy(executor: OperatorExecutor, **how: Callable[..., Any]) -> Register:
    """Registers an executor that runs ``torch.nn.functional.cross_entropy`` as ``how`` says (the checker and the transforms that
    ``register_implementation`` takes), and returns the function that makes it a default.
    """
    executor.register_implementation("torch.nn.functional.cross_entropy", **how)
    register_executor(executor)

    def register(*, add_to_default_executors: bool = True) -> None:
        if add_to_default_executors:
            add_default_executor(executor)

    register.__doc__ = Register.__doc__
    return register
