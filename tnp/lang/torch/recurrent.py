"""Steps of recurrent networks."""

from __future__ import annotations

from typing import Any

import torch

from tnp.core import clang
from tnp.core.errors import NeedsOpaque
from tnp.core.proxies import TensorProxy
from tnp.lang.torch.activations import floating, relu, sigmoid
from tnp.lang.torch.contractions import linear
from tnp.lang.torch.registry import torchsymbol

__all__: list[str] = []


def _gates(x: Any, weight: Any, bias: Any, count: int) -> list[TensorProxy]:
    """``x`` through a layer, whose results stand side by side."""
    floating(x, weight, *(() if bias is None else (bias,)))
    if x.ndim != 2 or weight.shape[0] % count or 0 in (*x.shape, *weight.shape):
        raise NeedsOpaque("a step of another rank")
    both = linear(x, weight, bias)
    n = weight.shape[0] // count
    return [clang.slice_dim(both, i * n, (i + 1) * n, dim=1) for i in range(count)]


@torchsymbol(torch.lstm_cell)
def lstm_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> tuple[TensorProxy, ...]:
    """The next hidden state and cell state (Hochreiter and Schmidhuber 1997, with a gate that forgets)."""
    h, c = hx
    gates = [clang.add(a, b) for a, b in zip(_gates(input, w_ih, b_ih, 4), _gates(h, w_hh, b_hh, 4))]
    take, keep, give = (sigmoid(gates[i]) for i in (0, 1, 3))
    cell = clang.add(clang.mul(keep, c), clang.mul(take, clang.tanh(gates[2])))
    return clang.mul(give, clang.tanh(cell)), cell


@torchsymbol(torch.gru_cell)
def gru_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> TensorProxy:
    """The next hidden state (Cho et al. 2014, with the reset after the product)."""
    reset_x, keep_x, new_x = _gates(input, w_ih, b_ih, 3)
    reset_h, keep_h, new_h = _gates(hx, w_hh, b_hh, 3)
    reset, keep = sigmoid(clang.add(reset_x, reset_h)), sigmoid(clang.add(keep_x, keep_h))
    new = clang.tanh(clang.add(new_x, clang.mul(reset, new_h)))
    return clang.add(new, clang.mul(keep, clang.sub(hx, new)))


def _plain_cell(function: Any, activation: Any) -> None:
    @torchsymbol(function)
    def cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None) -> TensorProxy:
        """The next hidden state: a layer of the input and one of the state, added and activated."""
        return activation(clang.add(_gates(input, w_ih, b_ih, 1)[0], _gates(hx, w_hh, b_hh, 1)[0]))


_plain_cell(torch.rnn_tanh_cell, clang.tanh)
_plain_cell(torch.rnn_relu_cell, relu)
