"""Transformers: a decoder as nanoGPT has it, and an encoder as BERT has it."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.models.base import Model

__all__ = ["GPT", "MODELS", "Encoder"]


class SelfAttention(nn.Module):
    def __init__(self, width: int, heads: int, *, causal: bool, dropout: float) -> None:
        super().__init__()
        self.both = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.dropout = nn.Dropout(dropout)
        self.heads, self.causal = heads, causal

    def forward(self, x: Tensor) -> Tensor:
        b, t, c = x.size()
        q, k, v = (y.view(b, t, self.heads, c // self.heads).transpose(1, 2) for y in self.both(x).split(c, dim=2))
        dropout = self.dropout.p if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=self.causal)
        return self.dropout(self.out(y.transpose(1, 2).contiguous().view(b, t, c)))


class Block(nn.Module):
    """Attention and a perceptron, each normalised ``before`` it (GPT) or after it (BERT)."""

    def __init__(self, width: int, heads: int, *, before: bool, dropout: float) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = SelfAttention(width, heads, causal=before, dropout=dropout)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(dropout)
        )
        self.before = before

    def forward(self, x: Tensor) -> Tensor:
        if self.before:
            x = x + self.attention(self.norm1(x))
            return x + self.mlp(self.norm2(x))
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.mlp(x))


class GPT(nn.Module):
    """Logits of each position's next token, and the loss if ``targets`` are given; the head's weight is the embedding's."""

    def __init__(
        self, vocabulary: int, context: int, layers: int, heads: int, width: int, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(context, width)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList([Block(width, heads, before=True, dropout=dropout) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, tokens: Tensor, targets: Tensor | None = None) -> Any:
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.dropout(self.tokens(tokens) + self.positions(positions))
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        if targets is None:
            return logits
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)


class Encoder(nn.Module):
    """The vectors of the tokens, and that of the first through a last layer."""

    def __init__(
        self, vocabulary: int, context: int, layers: int, heads: int, width: int, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(context, width)
        self.norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList([Block(width, heads, before=False, dropout=dropout) for _ in range(layers)])
        self.pooler = nn.Linear(width, width)

    def forward(self, tokens: Tensor) -> dict[str, Tensor]:
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1], device=tokens.device))
        x = self.dropout(self.norm(x))
        for block in self.blocks:
            x = block(x)
        return {"hidden": x, "pooled": torch.tanh(self.pooler(x[:, 0]))}


def _tokens(vocabulary: int, *shape: int) -> Tensor:
    return torch.randint(0, vocabulary, shape)


MODELS = (
    Model(
        "GPT",
        lambda: GPT(31, 8, layers=2, heads=2, width=16),
        lambda: {"tokens": _tokens(31, 2, 8), "targets": _tokens(31, 2, 8)},
    ),
    Model("encoder", lambda: Encoder(31, 8, layers=2, heads=2, width=16), lambda: {"tokens": _tokens(31, 2, 8)}),
)
