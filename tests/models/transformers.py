"""Models of the ``transformers`` package, as small as their configurations allow."""

from __future__ import annotations

from typing import Any

import torch
import transformers

from tests.models.base import Model

__all__ = ["MODELS"]

WORDS = 99
#: what most configurations call the same
SMALL = {"vocab_size": WORDS, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
TOKENS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


def _model(name: str, config: str, *, inputs: Any, **settings: Any) -> Model:
    def make() -> torch.nn.Module:
        return getattr(transformers, name)(getattr(transformers, config)(**settings))

    return Model(name, make, inputs)


def _tokens(length: int = 8) -> torch.Tensor:
    return torch.randint(3, WORDS, (2, length))


def _with_mask() -> dict[str, Any]:
    return {"input_ids": _tokens(), "attention_mask": torch.tensor([[1] * 8, [1] * 5 + [0] * 3])}


def _plain() -> dict[str, Any]:
    return {"input_ids": _tokens()}


MODELS = (
    _model(
        "BertModel", "BertConfig", inputs=_with_mask, **SMALL, intermediate_size=37, max_position_embeddings=64,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    ),
    _model(
        "GPT2LMHeadModel", "GPT2Config", inputs=_plain, vocab_size=WORDS, n_embd=32, n_layer=2, n_head=4, n_positions=64,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=1, eos_token_id=2,
    ),
    _model("LlamaForCausalLM", "LlamaConfig", inputs=_plain, **SMALL, num_key_value_heads=2, intermediate_size=37),
    _model(
        "MistralForCausalLM", "MistralConfig", inputs=_plain, **SMALL, num_key_value_heads=2, intermediate_size=37,
        sliding_window=4,
    ),
    _model(
        "T5ForConditionalGeneration", "T5Config", vocab_size=WORDS, d_model=32, d_ff=37, d_kv=8, num_layers=2, num_heads=4,
        decoder_start_token_id=0, dropout_rate=0.0,
        inputs=lambda: {"input_ids": _tokens(), "decoder_input_ids": _tokens(6)},
    ),
    _model(
        "ViTModel", "ViTConfig", hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=37,
        image_size=32, patch_size=8, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        inputs=lambda: {"pixel_values": torch.randn(2, 3, 32, 32)},
    ),
    _model(
        "WhisperForConditionalGeneration", "WhisperConfig", vocab_size=WORDS, d_model=32, encoder_layers=2, decoder_layers=2,
        encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=37, decoder_ffn_dim=37, num_mel_bins=8,
        max_source_positions=16, max_target_positions=16, decoder_start_token_id=1, dropout=0.0, **TOKENS,
        inputs=lambda: {"input_features": torch.randn(2, 8, 32), "decoder_input_ids": _tokens(6)},
    ),
    _model("MambaForCausalLM", "MambaConfig", inputs=_plain, vocab_size=WORDS, hidden_size=32, num_hidden_layers=2, state_size=4),
)  # fmt: skip
