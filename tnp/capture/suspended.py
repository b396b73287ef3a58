"""A while in which nothing is traced, in the midst of tracing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from tnp.capture import active
from tnp.capture.libraries.base import uncaptured
from tnp.core import languages
from tnp.core.trace import detached

if TYPE_CHECKING:
    from tnp.capture.tracing.tracer import Tracer

__all__ = ["suspended"]


@contextlib.contextmanager
def suspended(tracer: Tracer) -> Iterator[None]:
    """While a program is traced, a while in which nothing is."""
    active.set_current(None)
    language = languages.set_current(languages.core)
    try:
        with detached(), uncaptured(), np.errstate(**tracer.settings):
            yield
    finally:
        languages.set_current(language)
        active.set_current(tracer)
