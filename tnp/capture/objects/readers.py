"""What reads a foreign value for a program, by the kind of value."""

from __future__ import annotations

import contextvars
import enum
import threading
from typing import TYPE_CHECKING, Any

from tnp.capture.guards.prologue import Source
from tnp.capture.objects import mappings
from tnp.capture.objects.context_variables import VariableReader
from tnp.capture.objects.enumerations import MemberReader
from tnp.capture.objects.environment_variables import EnvironmentReader, is_environment
from tnp.capture.objects.record_arrays import FieldsReader, has_fields
from tnp.capture.objects.thread_locals import LocalReader

if TYPE_CHECKING:
    from tnp.capture.guards.lifting import Inputs

__all__ = ["reader_of"]


def reader_of(value: Any, source: Source, inputs: Inputs) -> Any:
    """The reader of a foreign value; ``None`` if a program may not look into it."""
    if type(value) is threading.local:
        return LocalReader(inputs)
    if type(value) is contextvars.ContextVar:
        return VariableReader(inputs)
    if isinstance(value, enum.Enum):
        return MemberReader(inputs)
    if is_environment(value):
        return EnvironmentReader(inputs)
    return FieldsReader(inputs) if has_fields(value) else mappings.reader_of(value, source, inputs)
