"""tnp as a backend of ``torch.compile``: ``torch.compile(model, backend="tnp")``.

For models whose Python code tnp cannot trace: Dynamo cuts their bytecode into graphs of torch functions, and
:func:`tnp.jit` compiles each graph as a module. torch finds :func:`backend` through the entry point
``torch_dynamo_backends``, so nothing needs to be imported. Gradients are tnp's, not AOTAutograd's: the graphs still
consist of torch functions, which the torch language supports.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tnp.api import jit

if TYPE_CHECKING:
    import torch

__all__ = ["backend"]


def backend(
    graph: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Callable[..., Any]:
    """The graph as a jitted module, which is compiled when it is called.

    Args:
        graph: what Dynamo captured; parameters and buffers are among its inputs.
        example_inputs: fake tensors, and numbers where shapes are dynamic; not looked at.
        mode: of ``torch.compile(…, mode=…)``: what Inductor shall try; not looked at.
        options: those of :func:`tnp.jit` (``executors``, ``strict``, ``fastmath``), from ``torch.compile(…, options={…})``.

    Raises:
        TypeError: for options that :func:`tnp.jit` does not have.

    >>> import torch
    >>> from tnp.dynamo import backend
    >>> f = torch.compile(lambda x: torch.sin(x) + 1, backend=backend)
    >>> f(torch.zeros(2))
    tensor([1., 1.])
    """
    jitted: Callable[..., Any] = jit(graph, **(options or {}))
    return jitted
