"""Names of executors with options: ``"triton[cupy,random]"`` is the executor ``triton`` with two of its options."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["canonical", "identifier", "name_with", "names_in", "plain_name", "split"]

_WITH_OPTIONS = re.compile(r"([^\[\]]+)\[([^\[\]]+)\]")


def split(name: str) -> tuple[str, tuple[str, ...]]:
    """An executor's name and the options behind it. A name without brackets, or with others, is all name.

    >>> split("triton[random, cupy]"), split("numpy")
    (('triton', ('random', 'cupy')), ('numpy', ()))
    """
    found = _WITH_OPTIONS.fullmatch(name)
    return (name, ()) if found is None else (found[1], tuple(part.strip() for part in found[2].split(",")))


def plain_name(name: str) -> str:
    """The name without options.

    >>> plain_name("triton[random]")
    'triton'
    """
    return split(name)[0]


def name_with(name: str, options: Iterable[str]) -> str:
    """The name of an executor with options, which stand in the order of the alphabet, each once.

    >>> name_with("triton", ["random", "cupy"]), name_with("triton", [])
    ('triton[cupy,random]', 'triton')
    """
    chosen = sorted(set(options))
    return f"{name}[{','.join(chosen)}]" if chosen else name


def canonical(name: str) -> str:
    """The one way to write a name.

    >>> canonical("triton[random, cupy]")
    'triton[cupy,random]'
    """
    return name_with(*split(name))


def names_in(text: str) -> list[str]:
    """The names in a text that has commas between them: those between brackets separate options.

    >>> names_in("triton[cupy,random],cupy")
    ['triton[cupy,random]', 'cupy']
    """
    return re.split(r",(?![^\[\]]*\])", text)


def identifier(name: str) -> str:
    """An executor's name as Python's names are written, for what programs call.

    >>> identifier("triton[cupy,random]"), identifier("2nd")
    ('triton_cupy_random', 'executor_2nd')
    """
    made = re.sub(r"\W+", "_", name).strip("_")
    return made if made.isidentifier() else f"executor_{made}"
