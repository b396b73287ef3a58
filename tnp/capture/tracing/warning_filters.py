"""``warnings.catch_warnings`` in a traced program, in which warnings are ignored: the program gives none of those.

What the program warns of is known while it is traced: calls of ``warnings.warn``, and what NumPy's functions say of their data. The
floating-point errors of NumPy's own calls are ignored by ``np.errstate``. Calls of other code, which may warn of anything, have Python run
the ``with`` statement, and so do contexts that record warnings, or make errors of them.
"""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tnp.capture import active
from tnp.capture.libraries.numpy.errstate import Errstate
from tnp.core.errors import NeedsEager
from tnp.core.subtraces import with_parts
from tnp.core.symbol import BoundSymbol, OpTags
from tnp.runtime.quiet import quiet

__all__ = ["WARNING_FILTERS", "CatchWarnings", "Ignored", "is_ignored"]

#: what NumPy says of floating-point errors, by the name of the kind
_ERRORS = {
    "divide": "divide by zero encountered in divide",
    "over": "overflow encountered in divide",
    "under": "underflow encountered in divide",
    "invalid": "invalid value encountered in divide",
}


class Ignored(NamedTuple):
    """The warnings of a class, or of those whose text begins with ``message``."""

    category: type[Warning]
    message: re.Pattern[str] | None

    def has(self, category: type, text: Any) -> bool:
        """Whether a warning is one of these. Raises :class:`NeedsEager` if only the running program knows."""
        if not issubclass(category, self.category):
            return False
        if self.message is None:
            return True
        if type(text) is not str:
            raise NeedsEager("it ignores warnings whose text is known only when the program runs")
        return self.message.match(text) is not None


class CatchWarnings:
    """``warnings.catch_warnings()``."""

    def __init__(self, **options: Any) -> None:
        if (
            options.keys() - {"record", "module", "action", "category"}
            or options.get("record")
            or options.get("module")
        ):
            raise NeedsEager("it calls catch_warnings, which may do something else at each call")
        self._options = options
        self._stack = contextlib.ExitStack()
        self._before: tuple[Ignored, ...] | None = None
        self._start = 0

    def __enter__(self) -> None:
        if self._before is not None:
            raise NeedsEager("it enters a catch_warnings twice")
        tracer = active.current()
        self._before, self._start = tracer.ignored, len(tracer.trace.statements)
        tracer.catching_warnings.append(self)
        if self._options.get("action") is not None:
            self.add(self._options["action"], self._options.get("category", Warning))

    def __exit__(self, *error: object) -> None:
        tracer = active.current()
        assert self._before is not None
        is_ignoring, tracer.ignored = tracer.ignored != self._before, self._before
        tracer.catching_warnings.remove(self)
        self._stack.__exit__(None, None, None)
        if error[0] is None and is_ignoring and any(map(_may_warn, tracer.trace.statements[self._start :])):
            raise NeedsEager("it ignores the warnings of a function that is not compiled")

    def add(self, action: Any, category: Any, message: Any = "") -> None:
        """Adds a filter in front of the others."""
        if action != "ignore" or not isinstance(category, type) or not isinstance(message, str):
            raise NeedsEager("it sets a filter of warnings that does not ignore them")
        made = Ignored(category, re.compile(message, re.IGNORECASE) if message else None)
        tracer = active.current()
        tracer.ignored = (made, *tracer.ignored)
        settings: dict[str, Any] = {**np.geterr()}
        silent = [n for n, text in _ERRORS.items() if settings[n] == "warn" and made.has(RuntimeWarning, text)]
        if silent:
            self._stack.enter_context(Errstate(**dict.fromkeys(silent, "ignore")))
        self._stack.enter_context(quiet(category))  # what Python computes of known values meanwhile


def _may_warn(b: BoundSymbol) -> bool:
    """Whether an operation calls what may warn of anything."""
    ids = (part.sym.id for part in with_parts(b))
    is_call = any(isinstance(i, str) and i.startswith(("opaque.", "scipy_call.", "scipy_method.")) for i in ids)
    return is_call or b.has_tag_inside(OpTags.BARRIER)


def is_ignored(category: type, text: Any) -> bool:
    """Whether the program ignores a warning of a class."""
    tracer = active.running()
    return tracer is not None and any(i.has(category, text) for i in tracer.ignored)


def _innermost(name: str) -> CatchWarnings:
    tracer = active.current()
    if not tracer.catching_warnings:
        raise NeedsEager(f"it calls {name}, which may do something else at each call")
    found: CatchWarnings = tracer.catching_warnings[-1]
    return found


def _simplefilter(action: Any, category: Any = Warning, lineno: Any = 0, append: Any = False) -> None:
    context = _innermost("simplefilter")
    if lineno or append:
        raise NeedsEager("it sets a filter of warnings behind others, or for a line")
    context.add(action, category)


def _filterwarnings(
    action: Any, message: Any = "", category: Any = Warning, module: Any = "", lineno: Any = 0, append: Any = False
) -> None:
    context = _innermost("filterwarnings")
    if module or lineno or append:
        raise NeedsEager("it sets a filter of warnings behind others, or for a module or a line")
    context.add(action, category, message)


#: what the tracer has in place of the functions that set filters
WARNING_FILTERS: dict[Any, Callable[..., None]] = {
    warnings.simplefilter: _simplefilter,
    warnings.filterwarnings: _filterwarnings,
}
