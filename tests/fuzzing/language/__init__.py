"""Random programs of the whole language: written against Python's reference and NumPy's, not against what tnp takes.

:func:`program` writes a module whose ``f`` is called four times, with other arguments and after changes of what stands around it;
:func:`judged` says what became of it under tnp; :func:`minimised` makes one that fails smaller.
``python tests/fuzzing/run.py`` runs thousands and prints a table.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from pathlib import Path

from .judging import Verdict, judged
from .shrinking import shrunk
from .writing import program

__all__ = ["Verdict", "judged", "minimised", "program"]


def minimised(
    source: str, found: Verdict, judge: Callable[[Path], Verdict] = judged, seconds: float = 60.0
) -> tuple[str, Verdict]:
    """A smaller program that fails alike, and how it fails; ``judge`` runs one."""
    kind, number = _kind(found), 0
    with tempfile.TemporaryDirectory() as folder:

        def fails(text: str) -> bool:
            nonlocal number, found
            number += 1
            path = Path(folder) / f"smaller_{number}.py"
            path.write_text(text)
            try:
                again = judge(path)
            except Exception:
                return False
            if _kind(again) != kind:
                return False
            found = again
            return True

        return shrunk(source, fails, seconds), found


def _kind(found: Verdict) -> str:
    """What must stay as it is while a program is made smaller."""
    detail = re.sub(r"\d+", "#", found.detail.partition(": ")[2])
    words = detail.partition("tracing raised ")[2][:40] or detail[:40]
    if found.outcome == "wrong":
        words = detail.split(" at ")[0] if found.detail.startswith("call ") else found.detail.partition(": ")[0]
    if words in ("warning", "exception", "type"):
        words = detail[:80]
    return f"{found.outcome} {words}"
