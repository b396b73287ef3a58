"""The code of the tutorials in ``../shared/spec``, to be run: the texts hold it between prose and printed results."""

import re
import sys
import types
from pathlib import Path

import pytest

SPEC = Path(__file__).parent.parent.parent / "shared" / "spec"


def code(name, *lines, indent=(), replace=()):
    """Lines of a text (``(first, last)``, counted from 1), on the CPU.

    ``indent`` are lines that lost their indentation, ``replace`` pairs of texts for what is a slip or too large.
    """
    path = SPEC / name
    if not path.exists():
        pytest.skip("the tutorials lie beside the repository, in ../shared/spec, and are not there")
    text = path.read_text().splitlines()
    wanted = [
        ("    " if any(a <= i <= b for a, b in indent) else "") + text[i - 1]
        for first, last in lines
        for i in range(first, last + 1)
    ]
    source = "\n".join(wanted).replace('"cuda"', '"cpu"').replace("'cuda'", "'cpu'")
    for old, new in replace:
        assert old in source, f"{name} has no {old!r}"
        source = source.replace(old, new)
    return source + "\n"


def numbered(name, first, last, levels=(), replace=()):
    """Lines of a text that have lost their indentation behind line numbers.

    Those with a space behind the number are one level in; ``levels`` are pairs of a line's own number and its level.
    """
    own = dict(levels)
    found = []
    for line in code(name, (first, last)).splitlines():
        number, rest = re.match(r"(\d+)(.*)", line).groups()
        level = own.get(int(number), 1 if rest.startswith(" ") else 0)
        found.append("    " * level + rest.strip())
    source = "\n".join(found) + "\n"
    for old, new in replace:
        assert old in source, f"{name} has no {old!r}"
        source = source.replace(old, new)
    return source


def run(source, path, **names):
    """Runs source from a file, as functions that are compiled must come from one; its names."""
    path.write_text(source)
    module = types.ModuleType(path.stem)
    module.__file__ = str(path)
    vars(module).update(names)
    sys.modules[path.stem] = module
    exec(compile(source, str(path), "exec"), vars(module))
    return vars(module)
