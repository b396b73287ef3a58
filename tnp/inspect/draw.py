"""Traces as graphs, in graphviz's language: operations as nodes, values as edges, fusions, loops and branches as
boxes.
"""

from __future__ import annotations

import os
import re
import shutil
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tnp.core import prims
from tnp.core.printing import literal
from tnp.core.proxies import Proxy, TensorProxy
from tnp.core.subtraces import Body, is_control_flow
from tnp.core.symbol import BoundSymbol, OpTags
from tnp.core.trace import Trace

__all__ = ["draw"]

#: fill colours by executor; others are grey
_COLOURS = {"llvm": "#ffe3c2", "numpy": "#d6e6ff", "torch": "#ffd6d0", "python": "#fff6c2"}
#: what the bodies of control flow are called, in their order
_BODIES = {"for_loop": ("each iteration",), "while_loop": ("while", "each iteration"), "cond": ("if", "else")}


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


class _Graph:
    """The lines of a graph as it is put together."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.edges: list[str] = []
        #: by a value's name, the node that makes it
        self.made_by: dict[str, str] = {}
        self.nodes: list[str] = []
        #: boxes and nodes have numbers
        self.count = 0

    def node(self, label: str, indent: str, **attributes: str) -> str:
        name = f"n{self.count}"
        self.count += 1
        self.nodes.append(name)
        shown = "".join(f", {k}={_quoted(v)}" for k, v in attributes.items())
        self.lines.append(f"{indent}{name} [label={_quoted(label)}{shown}];")
        return name

    def edge(self, p: Proxy, to: str) -> None:
        origin = self.made_by.get(p.name)
        if origin is not None and origin != to:
            kind = p.type_string() if isinstance(p, TensorProxy) else ""
            self.edges.append(f"  {origin} -> {to} [label={_quoted(p.name)}, tooltip={_quoted(kind)}];")

    def argument(self, p: Proxy, indent: str) -> None:
        kind = f"\n{p.type_string()}" if isinstance(p, TensorProxy) else ""
        self.made_by[p.name] = self.node(f"{p.name}{kind}", indent, shape="ellipse", fillcolor="white")

    def box(self, label: str, bsyms: Iterable[BoundSymbol], indent: str, colour: str) -> None:
        """A box with operations in it."""
        self.lines.append(f"{indent}subgraph cluster_{self.count} {{")
        self.count += 1
        inner = indent + "  "
        self.lines.append(f'{inner}label={_quoted(label)}; style="rounded,filled"; fillcolor={_quoted(colour)};')
        self.operations(bsyms, inner)
        self.lines.append(f"{indent}}}")

    def operations(self, bsyms: Iterable[BoundSymbol], indent: str) -> None:
        for b in bsyms:
            if OpTags.PROGRAM in b.sym.tags:
                if b.sym is prims.python_return:
                    node = self.node("return", indent, shape="ellipse", fillcolor="white")
                    for p in _once(b.flat_inputs):
                        self.edge(p, node)
            elif is_control_flow(b):
                self.control_flow(b, indent)
            elif b.subsymbols and _is_fusion(b):
                self.fusion(b, indent)
            else:
                self.operation(b, indent)

    def fusion(self, b: BoundSymbol, indent: str) -> None:
        """A fused region. Values that passes after the fusion have renamed go to its first operation, or come from its last."""
        first, known = len(self.nodes), len(self.edges)
        self.box(b.sym.qualified_name, b.subsymbols, indent, _colour(b))
        read = "".join(self.edges[known:])
        for p in _once(b.flat_inputs):
            if f"label={_quoted(p.name)}," not in read:
                self.edge(p, self.nodes[first])
        for p in b.flat_outputs:
            self.made_by.setdefault(p.name, self.nodes[-1])

    def operation(self, b: BoundSymbol, indent: str) -> None:
        constants = [_shown(x) for x in (*b.args, *b.kwargs.values()) if not _has_proxy(x)]
        label = b.sym.qualified_name + (f"\n{', '.join(constants)}" if constants else "")
        where = str(b.location) if b.location is not None else ""
        node = self.node(label, indent, fillcolor=_colour(b), tooltip=where)
        for p in _once(b.flat_inputs):
            self.edge(p, node)
        for p in b.flat_outputs:
            self.made_by[p.name] = node

    def control_flow(self, b: BoundSymbol, indent: str) -> None:
        self.lines.append(f"{indent}subgraph cluster_{self.count} {{")
        self.count += 1
        inner = indent + "  "
        self.lines.append(f'{inner}label={_quoted(b.sym.name)}; style="rounded,dashed";')
        node = self.node(b.sym.name, inner, shape="diamond", fillcolor="white")
        for p in _once(x for a in b.args if not isinstance(a, Body) for x in _proxies(a)):
            self.edge(p, node)
        bodies = [a for a in b.args if isinstance(a, Body)]
        for name, body in zip(_BODIES.get(b.sym.name, ()), bodies):
            for p in body.args:
                self.made_by[p.name] = node
            self.box(name, body.bound_symbols, inner, "#f6f6f6")
            for p in _once(x for r in body.results for x in _proxies(r)):
                self.edge(p, node)
        self.lines.append(f"{indent}}}")
        for p in b.flat_outputs:
            self.made_by[p.name] = node


def _is_fusion(b: BoundSymbol) -> bool:
    from tnp.transforms.claim import FusedSymbol

    return isinstance(b.sym, FusedSymbol)


def _colour(b: BoundSymbol) -> str:
    return _COLOURS.get(re.split(r"[_\[]", getattr(b.sym.executor, "name", ""))[0], "#eeeeee")


def _once(proxies: Iterable[Proxy]) -> list[Proxy]:
    return list({p.name: p for p in proxies}.values())


def _proxies(x: Any) -> list[Proxy]:
    from tnp.core.symbol import flat_proxies

    return flat_proxies(x)


def _has_proxy(x: Any) -> bool:
    return bool(_proxies(x))


def _shown(x: Any) -> str:
    text = literal(x, {})
    return text if len(text) <= 24 else f"{text[:21]}..."


def draw(trace: Trace, path: str | os.PathLike[str] | None = None) -> str:
    """Draws a trace as a graph, in graphviz's language; writes it to ``path``, if given, as text or as a picture.

    Operations are boxes, coloured by their executor; values are arrows; fusions, loops and branches are frames around
    their operations. For a ``path`` ending in ``.dot`` or ``.gv``, the text is written. Any other ending (``.svg``,
    ``.png``, ``.pdf``) is a format of graphviz's program ``dot``, which draws the picture; if it is not installed, the
    text is written to the same name ending in ``.dot``, with a ``UserWarning``. Source: the DOT language of Graphviz.

    Raises ``OSError`` if the file cannot be written, ``ValueError`` for a format that ``dot`` does not know.

    >>> import numpy as np, tnp
    >>> f = tnp.jit(lambda x: np.sin(x) + 1)
    >>> f(np.zeros(3))
    array([1., 1., 1.])
    >>> text = tnp.draw(tnp.last_traces(f)[-1])
    >>> text.splitlines()[0], "subgraph cluster" in text
    ('digraph computation {', True)
    """
    graph = _Graph()
    for p in trace.args:
        graph.argument(p, "  ")
    graph.operations(trace.bound_symbols, "  ")
    text = "\n".join(
        [
            f"digraph {trace.name} {{",
            '  node [shape=box, style="rounded,filled", fontname="sans-serif", fontsize=11];',
            '  edge [fontname="sans-serif", fontsize=9];',
            '  fontname="sans-serif"; fontsize=11;',
            *graph.lines,
            *graph.edges,
            "}\n",
        ]
    )
    if path is not None:
        _write(text, Path(path))
    return text


def _write(text: str, path: Path) -> None:
    if path.suffix in (".dot", ".gv"):
        path.write_text(text)
        return
    program = shutil.which("dot")
    if program is None:
        path.with_suffix(".dot").write_text(text)
        warnings.warn(
            f"graphviz's program dot is not installed; wrote {path.with_suffix('.dot')} instead of {path}", stacklevel=3
        )
        return
    form = path.suffix.removeprefix(".") or "svg"
    import subprocess  # milliseconds, which few need

    done = subprocess.run([program, f"-T{form}", "-o", str(path)], input=text, text=True, capture_output=True)
    if done.returncode:
        raise ValueError(f"dot cannot draw {path}: {done.stderr.strip()}")
