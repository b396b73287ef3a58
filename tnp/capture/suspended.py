"""Suspends tracing, so that real functions can be called while a program is captured."""

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
    """Suspends ``tracer``: calls in the block run eagerly and record nothing."""
    active.set_current(None)
    language = languages.set_current(languages.core)
    try:
        with detached(), uncaptured(), np.errstate(**tracer.settings):
            yield
    finally:
        languages.set_current(language)
        active.set_current(tracer)
