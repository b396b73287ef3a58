"""Jitted modules: a ``torch.nn.Module`` that is called through a compiled program, and is itself in all else."""

from __future__ import annotations

import functools
from typing import Any

from tnp.api import Jitted

__all__ = ["JittedModule"]


class JittedModule(Jitted):
    """A module compiled by tnp. Made by :func:`tnp.jit`.

    Calling it calls the module through a program of which parameters and buffers are inputs, so that they may change.
    Attributes are the module's: ``state_dict()``, ``parameters()``, ``train()``, ``to(…)``, submodules. Methods that return
    the module return this.

    Where parameters or arguments require gradients, results have a ``grad_fn``: a program that goes back is compiled when gradients
    are first asked for, and any optimizer of torch's trains the module.

    >>> import torch, tnp
    >>> model = tnp.jit(torch.nn.Linear(2, 1))
    >>> model(torch.ones(3, 2)).sum().backward()
    >>> model.bias.grad
    tensor([3.])
    >>> sorted(model.state_dict())
    ['bias', 'weight']
    """

    def __init__(self, module: Any, **options: Any) -> None:
        super().__init__(module, **options)
        self.__name__ = self.__qualname__ = type(module).__name__

    def __getattr__(self, name: str) -> Any:
        if name == "__tnp_function__":
            raise AttributeError(name)
        module = self.__tnp_function__
        found = getattr(module, name)
        if not callable(found) or getattr(found, "__self__", None) is not module:
            return found

        @functools.wraps(found)
        def method(*args: Any, **kwargs: Any) -> Any:
            result = found(*args, **kwargs)
            return self if result is module else result

        return method

    def _signature_source(self) -> Any:
        return self.__tnp_function__.forward

    def __repr__(self) -> str:
        return f"<tnp.jit of {self.__tnp_function__!r}>"
