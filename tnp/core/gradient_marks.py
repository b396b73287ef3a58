"""What a library's autograd says of the values of a program, for derivatives and for what is computed again in the
backward.
"""

from __future__ import annotations

from tnp.core.metadata import Metadata

__all__ = ["DETACHED", "IS_TRAINING", "RECOMPUTABLE"]

#: the names of values that were computed while gradients were off: no derivative goes through them
DETACHED: Metadata[set[str]] = Metadata(set)
#: of values that belong to functions which are checkpointed, whether the backward may compute them again, whatever that costs
RECOMPUTABLE: Metadata[dict[str, bool]] = Metadata(dict)
#: whether this is the forward of a step of training, so that parameters are others at the next call
IS_TRAINING: Metadata[bool] = Metadata(bool, printed_as="__trains__")
