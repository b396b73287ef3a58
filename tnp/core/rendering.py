"""Programs as HTML with syntax colours, for notebooks."""

from __future__ import annotations

import html
import keyword
import re

__all__ = ["python_as_html"]

#: colours that can be read on white and on black
_COLOURS = {"comment": "#6a8759", "string": "#c2703d", "number": "#3d8fc2", "keyword": "#b05cc2", "call": "#2a9d8f"}

_TOKENS = re.compile(
    r"""(?P<comment>\#[^\n]*)
      | (?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
      | (?P<number>\b\d[\w.]*(?:(?<=e)[+-]\d+)?j?)
      | (?P<name>[A-Za-z_][\w.]*)(?P<opens>(?=\())?
      | (?P<other>.|\n)""",
    re.VERBOSE,
)


def python_as_html(source: str) -> str:
    """Python source as an HTML element, keywords, calls, numbers, strings and comments in colours of their own.

    >>> from tnp.core.rendering import python_as_html
    >>> python_as_html("del x")
    '<pre style="line-height: 1.3"><span style="color: #b05cc2">del</span> x</pre>'
    """
    parts = []
    for found in _TOKENS.finditer(source):
        text = html.escape(found.group(), quote=False)
        kind = found.lastgroup
        if kind in ("name", "opens"):
            kind = (
                "keyword"
                if keyword.iskeyword(found.group())
                else "call"
                if found.group("opens") is not None
                else "name"
            )
        colour = _COLOURS.get(kind or "")
        parts.append(text if colour is None else f'<span style="color: {colour}">{text}</span>')
    return f'<pre style="line-height: 1.3">{"".join(parts)}</pre>'
