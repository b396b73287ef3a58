"""Tables and outlines as HTML, for notebooks."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence

__all__ = ["html_outline", "html_table"]

_CELL = "padding: 1px 10px 1px 0; text-align: {}; white-space: pre; font-family: monospace; vertical-align: top"


def html_table(heading: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose first three columns are numbers.

    >>> html_table("f", ("time",), [("1 < 2",)]).count("&lt;")
    1
    """

    def line(cells: Sequence[str], tag: str) -> str:
        styles = (_CELL.format("right" if i < 3 else "left") for i in range(len(cells)))
        inner = (f'<{tag} style="{style}">{html.escape(cell)}</{tag}>' for cell, style in zip(cells, styles))
        return f"<tr>{''.join(inner)}</tr>"

    body = "".join(line(row, "td") for row in rows)
    return f"<div><code>{html.escape(heading)}</code></div><table>{line(head, 'th')}{body}</table>"


def html_outline(text: str, closed: tuple[str, ...] = ()) -> str:
    """Indented text as an outline: lines with deeper ones below them open and close; those that begin with a text in ``closed``
    are closed at first.

    >>> html_outline("a\\n  b").count("<details open>")
    1
    """
    return f'<div style="font-family: monospace; white-space: pre-wrap">{"".join(_outline(text.splitlines(), closed))}</div>'


def _outline(lines: list[str], closed: tuple[str, ...]) -> Iterator[str]:
    i = 0
    while i < len(lines):
        depth = _indent(lines[i])
        end = i + 1
        while end < len(lines) and _indent(lines[end]) > depth:
            end += 1
        shown = html.escape(lines[i].strip())
        if end == i + 1:
            yield f"<div>{shown}</div>"
        else:
            is_open = "" if lines[i].strip().startswith(closed or ("\0",)) else " open"
            inner = "".join(_outline(lines[i + 1 : end], closed))
            yield f"<details{is_open}><summary>{shown}</summary>{_indented(inner)}</details>"
        i = end


def _indented(inner: str) -> str:
    return f'<div style="margin-left: 1.5em">{inner}</div>'


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
