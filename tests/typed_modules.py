"""As ``typed_programs.py``, of modules of PyTorch's."""

from typing import assert_type

import torch

import tnp


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.linear(x))


def modules(x: torch.Tensor) -> None:
    assert_type(tnp.jit(Net()), Net)
    assert_type(tnp.jit(Net(), fastmath=True).linear, torch.nn.Linear)
    assert_type(tnp.jit(strict=True)(Net()), Net)
    assert_type(tnp.jit(torch.relu)(x), torch.Tensor)
