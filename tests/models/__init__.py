"""Models that tnp must run and train as eager torch does: small ones, with random weights.

Each module's ``MODELS`` are records of how to make a model and what it is called with. Those of the ``transformers`` package are in
:mod:`models.transformers`, which is imported where that is installed.
"""

from __future__ import annotations

from tests.models import language, recurrent, vision
from tests.models.base import Model, compared, tensors_in

__all__ = ["MODELS", "Model", "compared", "tensors_in"]

MODELS: tuple[Model, ...] = (*vision.MODELS, *recurrent.MODELS, *language.MODELS)
