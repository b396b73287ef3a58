"""What the executors of cross entropy share: the function that they run, and how a user makes one of them a default."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from tnp.extend import OperatorExecutor, add_default_executor, register_executor

__all__ = ["offer_cross_entropy"]


class Register(Protocol):
    """Makes the executor one of the defaults, if that is wanted; it is registered by being imported."""

    def __call__(self, *, add_to_default_executors: bool = True) -> None: ...


def offer_cross_entropy(executor: OperatorExecutor, **how: Callable[..., Any]) -> Register:
    """Registers an executor that runs ``torch.nn.functional.cross_entropy`` as ``how`` says (the checker and the transforms that
    ``register_implementation`` takes), and returns the function that makes it a default.
    """
    # its operations are given tensors, cotangents that start as NumPy's included
    executor.array_kind = "torch"
    executor.register_implementation("torch.nn.functional.cross_entropy", **how)
    register_executor(executor)

    def register(*, add_to_default_executors: bool = True) -> None:
        if add_to_default_executors:
            add_default_executor(executor)

    register.__doc__ = Register.__doc__
    return register
