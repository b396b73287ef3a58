"""Networks that go through time step by step."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tests.models.base import Model

__all__ = ["MODELS", "Recurrent"]


class Recurrent(nn.Module):
    """A loop of LSTM cells whose states a loop of GRU cells reads."""

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.lower = nn.LSTMCell(inputs, width)
        self.upper = nn.GRUCell(width, width)
        self.head = nn.Linear(width, inputs)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        batch = x.shape[0]
        h = c = g = torch.zeros(batch, self.upper.hidden_size, dtype=x.dtype, device=x.device)
        outputs = []
        for t in range(x.shape[1]):
            h, c = self.lower(x[:, t], (h, c))
            g = self.upper(h, g)
            outputs.append(self.head(g))
        return torch.stack(outputs, dim=1), g


MODELS = (Model("LSTM and GRU cells", lambda: Recurrent(4, 6), lambda: {"x": torch.randn(3, 5, 4)}),)
