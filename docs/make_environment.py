"""Writes docs/environment.md: the environment variables that tnp reads. Run by ``make docs``."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path

from tnp.runtime.environment import OTHERS, OWN, Variable

HEAD = """# Environment variables and `tnp.config`

*Made by `docs/make_environment.py` of the table in `tnp/runtime/environment.py`. `tests/test_settings.py` checks it.*

"""
TEXT = """\
Each variable of tnp's own is an attribute of `tnp.config`, by the name in brackets. `print(tnp.config)` shows all of them with their
values, `python -m tnp info` the environment. An assignment (`tnp.config.check = True`) counts from then on, in all threads of the
process; `with tnp.config.set(check=True):` counts in a block. `pool_mb` and `cpu` are read once and cannot be assigned.

A switch is on for any text but the empty one and `0`. Variables marked "once" count as they are when tnp, or the part of it that
needs them, is loaded; the others are read at each use.
"""
NAMES_OF_OTHERS = "Variables of others that tnp reads:"


def rows(variables: tuple[Variable, ...], *, has_attributes: bool) -> Iterator[str]:
    """A table of variables; notes follow it, as lines end at 120 columns."""
    yield "| variable | default | read |" if has_attributes else "| variable | default | meaning |"
    yield "| --- | --- | --- |"
    for v in variables:
        default = v.default or "–"
        if has_attributes:
            yield f"| `{v.name}` (`{v.attribute}`) | {default} | {'once' if v.is_read_once else 'at each use'} |"
        else:
            yield f"| `{v.name}` | {default} | {v.meaning} |"


def meanings() -> Iterator[str]:
    for v in OWN:
        yield from textwrap.wrap(f"- `{v.name}`: {v.meaning}.", 120, subsequent_indent="  ", break_on_hyphens=False)


def page() -> str:
    """The page's text."""
    paragraphs = (textwrap.fill(p, 120, break_on_hyphens=False) for p in TEXT.split("\n\n"))
    parts = [
        "\n\n".join(paragraphs),
        "\n".join(rows(OWN, has_attributes=True)),
        "\n".join(meanings()),
        NAMES_OF_OTHERS,
        "\n".join(rows(OTHERS, has_attributes=False)),
    ]
    return HEAD + "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    (Path(__file__).parent / "environment.md").write_text(page())
