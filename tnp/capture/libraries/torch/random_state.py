"""The states of torch's random generators while a program is traced; tracing draws no numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from tnp.capture.tracing.tracer import Tracer

__all__ = ["SEEDED", "generator_states", "has_drawn"]

SEEDED = "it seeds torch's generator, or draws from it, in code that is not traced"


def has_drawn(tracer: Tracer) -> bool:
    """Whether torch's generator is not as it was when tracing began, which itself draws nothing."""
    return any(not torch.equal(a, b) for a, b in zip(generator_states(), tracer.generator_state))


def generator_states() -> list[torch.Tensor]:
    """The states of the CPU's generator and of those of the CUDA devices in use."""
    return [torch.get_rng_state(), *(torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else ())]
