"""Pages of results, with prose in lines of at most 120 characters."""

from __future__ import annotations

import re
import textwrap

__all__ = ["wrapped"]


def wrapped(page: str) -> str:
    """The Markdown ``page`` with its paragraphs and items in lines of 120 characters; tables, code and footnotes are unchanged."""
    lines: list[str] = []
    is_code = False
    for line in page.split("\n"):
        is_code ^= line.lstrip().startswith("```")
        if is_code or len(line) <= 120 or line.lstrip().startswith(("|", "#", "!", "[^", "```")):
            lines.append(line)
        else:
            mark = re.match(r"\s*(?:[-*] )?", line)
            indent = " " * (mark.end() if mark else 0)
            lines += textwrap.wrap(line, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines)
