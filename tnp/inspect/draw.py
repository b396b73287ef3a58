"""Traces as graphs, in graphviz's language: operations as nodes, values as edges, fusions, loops and branches as boxes."""

from __future__ import annotations

import os
import re
import shutil
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from tnp.api import last_traces
from tnp.core import prims
from tnp.core.printing import literal
from tnp.core.proxies import Proxy, TensorProxy
from tnp.core.subtraces import Body, bodies_of, is_control_flow
from tnp.core.symbol import BoundSymbol, OpTags, flat_proxies
from tnp.core.trace import Trace
from tnp.core.views import Path as ViewPath
from tnp.core.views import update
from tnp.inspect.statements import is_fusion, statement_of

__all__ = ["draw"]

#: fill colours by executor; others are grey
_COLOURS = {"llvm": "#ffe3c2", "numpy": "#d6e6ff", "torch": "#ffd6d0", "python": "#fff6c2"}
#: what the bodies of a branch are called
_SIDES = ("if", "else")
#: constants in a node are wrapped to lines of so many characters, and so many lines
CONSTANTS, LINES = 44, 6


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


class _Graph:
    """The lines of a graph as it is put together.

    Memory that is written to has another node from then on: the values in it are those of the last statement that wrote.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.edges: list[str] = []
        #: by a value's name, the node that made what is in it
        self.made_by: dict[str, str] = {}
        #: by the name of a view, the name of the array that it is of, and how it reads; arguments read as they are called
        self.root: dict[str, str] = {}
        self.reads: dict[str, str] = {}
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
            kind = f"{p.name}: {p.type_string()}" if isinstance(p, TensorProxy) else p.name
            label = self.reads.get(p.name, "") if "[" in self.reads.get(p.name, "") else ""
            self.edges.append(f"  {origin} -> {to} [label={_quoted(label)}, tooltip={_quoted(kind)}];")

    def argument(self, p: Proxy, indent: str) -> None:
        kind = f"\n{p.type_string()}" if isinstance(p, TensorProxy) else ""
        self.made_by[p.name] = self.node(f"{p.name}{kind}", indent, shape="ellipse", fillcolor="white")
        self.reads[p.name] = p.name

    def begin_box(self, label: str, indent: str, style: str) -> str:
        self.lines.append(f"{indent}subgraph cluster_{self.count} {{")
        self.count += 1
        self.lines.append(f"{indent}  label={_quoted(label)}; labeljust=l; {style}")
        return indent + "  "

    def end_box(self, indent: str) -> None:
        self.lines.append(f"{indent}}}")

    def operations(self, bsyms: Iterable[BoundSymbol], indent: str) -> None:
        for b in bsyms:
            if b.sym is prims.python_return:
                node = self.node("return", indent, shape="ellipse", fillcolor="white")
                for p in _once(b.flat_inputs):
                    self.edge(p, node)
            elif OpTags.PROGRAM in b.sym.tags:
                continue
            elif is_control_flow(b):
                self.control_flow(b, indent)
            elif is_fusion(b):
                self.fusion(b, indent)
            elif _is_subscript(b):
                self.subscript(b)
            elif b.sym is prims.copy_:  # a result is put into memory: no operation of the user's
                self.alias(b.output, b.args[0])
                self.written([b.args[1]], self.made_by.get(b.args[0].name, ""))
            else:
                self.operation(b, indent)

    def alias(self, p: Proxy, of: Proxy) -> None:
        self.made_by[p.name] = self.made_by.get(of.name, "")
        self.root[p.name] = self.root.get(of.name, of.name)

    def subscript(self, b: BoundSymbol) -> None:
        """A view by an index: no node, but what stands at the arrows from its array."""
        (base,) = _once(flat_proxies(b.args[0]))
        self.alias(b.output, base)
        self.reads[b.output.name] = f"{self.reads.get(base.name, base.name)}[{_index(b.args[1])}]"
        if not self.made_by[b.output.name]:  # its array is made outside of what is drawn
            del self.made_by[b.output.name]

    def written(self, arrays: Iterable[Proxy], node: str) -> None:
        """``node`` has written to arrays: to their memory, which all views of it are in."""
        roots = {self.root.get(p.name, p.name) for p in arrays}
        for name in [*self.made_by, *roots]:
            if node and self.root.get(name, name) in roots:
                self.made_by[name] = node

    def operation(self, b: BoundSymbol, indent: str) -> None:
        where = str(b.location) if b.location is not None else ""
        fill = _colour(b) if b.sym.executor is not None else "white"
        node = self.node(self.label(b), indent, fillcolor=fill, tooltip=where)
        for p in _once(b.flat_inputs):
            self.edge(p, node)
        for p in b.flat_outputs:
            self.made_by[p.name] = node
        if OpTags.VIEW in b.sym.tags and b.flat_inputs and isinstance(b.output, Proxy):
            self.root[b.output.name] = self.root.get(b.flat_inputs[0].name, b.flat_inputs[0].name)
        self.written(_written_by(b), node)

    def label(self, b: BoundSymbol) -> str:
        """What an operation's node says: its name, its constants, the result or where that goes."""
        lines = [_name(b)]
        constants = [x for x in b.args if not flat_proxies(x)]
        named = [f"{k}={literal(x, {})}" for k, x in b.kwargs.items() if not flat_proxies(x)]
        if _is_update(b):
            target, place = b.args[0], b.args[2] if len(b.args) > 2 else None
            constants = [x for x in b.args[3:] if not flat_proxies(x)]
            name = self.reads.get(target.name, target.name)
            lines = [f"{name}{_place(place)} = …"]
        elif written := list(_written_by(b)):
            lines.append("into " + ", ".join(self.reads.get(p.name, p.name) for p in written))
        if shown := ", ".join([*(literal(x, {}) for x in constants), *named]):
            lines += textwrap.wrap(shown, CONSTANTS, max_lines=LINES, placeholder=" …")
        if isinstance(b.output, TensorProxy) and not _is_update(b):
            lines.append(f"{b.output.name}: {b.output.type_string()}")
        return "\n".join(lines)

    def fusion(self, b: BoundSymbol, indent: str) -> None:
        """A fused region. What passes after the fusion have renamed is told by its order."""
        inside = _names_read(b.subsymbols)
        given = _once(b.flat_inputs)
        renamed = [p for p in given if p.name not in inside]
        unknown = [name for name in inside if all(name != p.name for p in given)]
        for p, name in zip(renamed, unknown) if len(renamed) == len(unknown) else ():
            self.made_by[name] = self.made_by.get(p.name, "")
            self.root[name] = self.root.get(p.name, p.name)
            self.reads[name] = self.reads.get(p.name, p.name)
        first = len(self.nodes)
        inner = self.begin_box(
            b.sym.qualified_name, indent, f'style="rounded,filled"; fillcolor={_quoted(_colour(b))};'
        )
        self.operations(b.subsymbols, inner)
        if len(self.nodes) == first:  # nothing but views
            self.node(b.sym.qualified_name, inner, fillcolor="white")
        self.end_box(indent)
        if len(renamed) != len(unknown):
            for p in renamed:
                self.edge(p, self.nodes[first])
        for p in b.flat_outputs:
            self.made_by.setdefault(p.name, self.nodes[-1])
        self.stored([b.args[j] for j in getattr(b.sym, "updates", {}).values()], self.nodes[first:])

    def stored(self, arrays: Iterable[Any], nodes: list[str]) -> None:
        """A region has written to arrays: their values come from the last of its nodes that made a new version of them."""
        for p in arrays:
            root = self.root.get(p.name, p.name)
            makers = [n for name, n in self.made_by.items() if self.root.get(name, name) == root and n in nodes]
            self.written([p], max(makers, key=nodes.index, default=nodes[-1]))

    def control_flow(self, b: BoundSymbol, indent: str) -> None:
        """A loop or a branch: a box with its header, what it carries, and its bodies. Dashed arrows go to the next iteration. Of a block,
        what is in it."""
        if not bodies_of(b):
            self.operations(b.subsymbols, indent)
            return
        header = statement_of(b).text.rstrip(":")
        inner = self.begin_box(header, indent, 'style="rounded,dashed";')
        bodies = bodies_of(b)
        inits = b.args[b.args.index(bodies[-1]) + 1 :]
        carried = bodies[-1].args[1:] if b.sym is prims.for_loop else bodies[-1].args
        is_loop = b.sym is not prims.cond
        for p, init in zip(carried, inits):
            self.entry(p, init, inner)
        written = {
            self.root.get(p.name, p.name) for body in bodies for p in _all_written(body.bound_symbols, self.root)
        }
        changed = [p for p in _once(b.flat_inputs) if self.root.get(p.name, p.name) in written and is_loop]
        for p in changed:
            self.entry(p, p, inner)
        entries = {p.name: self.made_by[p.name] for p in (*carried, *changed) if p.name in self.made_by}
        condition = [x for a in b.args[: b.args.index(bodies[0])] for x in flat_proxies(a)]
        if condition:
            node = self.node(header.partition(" in ")[2] or header, inner, shape="diamond", fillcolor="white")
            for p in _once(condition):
                self.edge(p, node)
        if not is_loop:
            self.branch(b, bodies, inner)
            self.end_box(indent)
            return
        for body in bodies:
            self.operations(body.bound_symbols, inner)
            if body is not bodies[-1]:  # the condition of a ``while``
                node = self.node(header, inner, shape="diamond", fillcolor="white")
                for p in flat_proxies(body.results):
                    self.edge(p, node)
        for p, result in (*zip(carried, bodies[-1].results), *((p, p) for p in changed)):
            self.back(result, entries.get(p.name))
        self.end_box(indent)
        for p, result in zip(b.flat_outputs, bodies[-1].results):
            origin = self.made_by.get(result.name) if isinstance(result, Proxy) else None
            self.made_by[p.name] = origin or self.nodes[-1]

    def branch(self, b: BoundSymbol, bodies: list[Body], indent: str) -> None:
        """The sides of a branch, and a node where their results, and what they have written, come together."""
        before = dict(self.made_by)
        ends: list[dict[str, str]] = []
        for side, body in zip(_SIDES, bodies):
            self.made_by = dict(before)
            self.side(side, body, indent)
            ends.append(self.made_by)
        changed = [name for name, node in before.items() if any(end[name] != node for end in ends)]
        self.made_by = before
        if not changed and not b.flat_outputs:
            return
        join = self.node("either", indent, shape="diamond", fillcolor="white")
        origins = [end[name] for name in changed for end in ends]
        results = (r for body in bodies for r in body.results if isinstance(r, Proxy))
        origins += [end[r.name] for r in results for end in ends if r.name in end]
        self.edges += [f"  {origin} -> {join};" for origin in dict.fromkeys(origins)]
        self.made_by.update(dict.fromkeys((*changed, *(p.name for p in b.flat_outputs)), join))

    def side(self, side: str, body: Body, indent: str) -> None:
        """The operations of a side of a branch, in a box."""
        if any(OpTags.PROGRAM not in x.sym.tags for x in body.bound_symbols):
            inner = self.begin_box(side, indent, 'style="rounded,filled"; fillcolor="#f6f6f6";')
            self.operations(body.bound_symbols, inner)
            self.end_box(indent)

    def entry(self, p: Proxy, init: Any, indent: str) -> None:
        """What an iteration begins with: the value before the loop, or that of the iteration before."""
        kind = f"\n{p.type_string()}" if isinstance(p, TensorProxy) else ""
        name = self.reads.get(init.name, p.name) if isinstance(init, Proxy) else p.name
        node = self.node(f"{name}{kind}", indent, shape="ellipse", fillcolor="white")
        for q in flat_proxies(init):
            self.edge(q, node)
        self.written([p], node)
        self.made_by[p.name] = node
        self.reads[p.name] = name

    def back(self, result: Any, entry: str | None) -> None:
        """The dashed arrow to the next iteration."""
        origin = self.made_by.get(result.name) if isinstance(result, Proxy) else None
        if origin is not None and entry is not None and origin != entry:
            self.edges.append(f'  {origin} -> {entry} [style=dashed, constraint=false, tooltip="the next iteration"];')


def _is_subscript(b: BoundSymbol) -> bool:
    """Whether an operation is a view by an index of integers and slices, or of traced numbers."""
    is_view = OpTags.VIEW in b.sym.tags and OpTags.SUBSCRIPT in b.operation.tags
    return (
        is_view
        and len(b.args) == 2
        and not b.kwargs
        and isinstance(b.output, TensorProxy)
        and isinstance(b.args[0], Proxy)
    )


def _is_update(b: BoundSymbol) -> bool:
    return b.operation is update and isinstance(b.args[0], TensorProxy)


def _written_by(b: BoundSymbol) -> Iterator[Proxy]:
    """The arrays that an operation writes to."""
    yield from flat_proxies(b.kwargs.get("out"))
    if _is_update(b):
        yield from (b.args[0], b.output) if isinstance(b.output, Proxy) else (b.args[0],)
    elif not b.flat_outputs and "out" not in b.kwargs and b.args and isinstance(b.args[0], TensorProxy):
        yield b.args[0]  # a statement: it stores


def _all_written(bsyms: Iterable[BoundSymbol], root: dict[str, str]) -> Iterator[Proxy]:
    """The arrays that statements write to, also in loops, branches and regions; ``root`` learns of the views in them."""
    for b in bsyms:
        for body in bodies_of(b):
            yield from _all_written(body.bound_symbols, root)
        if is_control_flow(b) or OpTags.PROGRAM in b.sym.tags:
            continue
        if OpTags.VIEW in b.sym.tags and isinstance(b.output, Proxy) and b.flat_inputs:
            root[b.output.name] = root.get(b.flat_inputs[0].name, b.flat_inputs[0].name)
        if is_fusion(b):
            yield from (b.args[j] for j in getattr(b.sym, "updates", {}).values())
        else:
            yield from _written_by(b)


def _names_read(bsyms: Iterable[BoundSymbol]) -> list[str]:
    """The names that operations read and do not make, in order."""
    made: set[str] = set()
    found: dict[str, None] = {}
    for b in bsyms:
        found.update(dict.fromkeys(p.name for p in b.flat_inputs if p.name not in made))
        made.update(p.name for p in b.flat_outputs)
    return list(found)


def _name(b: BoundSymbol) -> str:
    """The operation's name, without the language, which most have in common."""
    return b.sym.qualified_name.removeprefix("lnp.").removeprefix("ltorch.").removeprefix("prims.")


def _place(path: Any) -> str:
    """The place that an update writes to, as a user would write it."""
    if not isinstance(path, ViewPath) or not path.steps:
        return "[...]"
    if all(OpTags.SUBSCRIPT in s.symbol.tags and len(s.args) == 1 for s in path.steps):
        return "".join(f"[{_index(s.args[0])}]" for s in path.steps)
    return "".join(f".{s.symbol.name}({', '.join(literal(a, {}) for a in s.args)})" for s in path.steps)


def _index(x: Any) -> str:
    """An index as it stands between brackets."""
    if isinstance(x, tuple):
        return ", ".join(map(_index, x)) + ("," if len(x) == 1 and not isinstance(x[0], slice) else "")
    if isinstance(x, slice):
        parts = ["" if part is None else literal(part, {}) for part in (x.start, x.stop, x.step)]
        return ":".join(parts if parts[2] else parts[:2])
    return literal(x, {})


def _colour(b: BoundSymbol) -> str:
    return _COLOURS.get(re.split(r"[_\[]", getattr(b.sym.executor, "name", ""))[0], "#eeeeee")


def _once(proxies: Iterable[Proxy]) -> list[Proxy]:
    return list({p.name: p for p in proxies}.values())


def draw(trace: Trace | Callable[..., Any], path: str | os.PathLike[str] | None = None) -> str:
    """Draws a trace as a graph, in graphviz's language; writes it to ``path``, if given, as text or as a picture. Of a jitted function
    it is the last trace of the program that was compiled last.

    Operations are boxes, coloured by their executor, with their result's name and type; values are arrows, and a view by an index
    (``u[2:, 1:-1]``) is the label of an arrow. Fusions, loops and branches are frames around their operations. In a loop, ellipses are
    what an iteration begins with, and dashed arrows go to the next one. What reads an array after it was written to depends on
    the write. For a ``path`` ending in ``.dot`` or ``.gv``, the text is written. Any other ending (``.svg``, ``.png``, ``.pdf``)
    is a format of graphviz's program ``dot``, which draws the picture; if it is not installed, the text is written to the same name
    ending in ``.dot``, with a ``UserWarning``. Source: the DOT language of Graphviz.

    Raises ``OSError`` if the file cannot be written, ``ValueError`` for a format that ``dot`` does not know, and ``RuntimeError`` for a
    function that has not been called, or whose last call ran eagerly.

    >>> import numpy as np, tnp
    >>> f = tnp.jit(lambda x: np.sin(x) + 1)
    >>> f(np.zeros(3))
    array([1., 1., 1.])
    >>> text = tnp.draw(f)
    >>> text.splitlines()[0], "subgraph cluster" in text
    ('digraph computation {', True)
    """
    if not isinstance(trace, Trace):
        found = last_traces(trace)
        if not found:
            raise RuntimeError(
                f"there is nothing to draw: the last call of {trace!r} ran eagerly (tnp.explain says why)"
            )
        trace = found[-1]
    graph = _Graph()
    for p in trace.args:
        graph.argument(p, "  ")
    graph.operations(trace.bound_symbols, "  ")
    text = "\n".join(
        [
            f"digraph {trace.name} {{",
            '  node [shape=box, style="rounded,filled", fontname="sans-serif", fontsize=11];',
            '  edge [fontname="monospace", fontsize=9];',
            '  fontname="sans-serif"; fontsize=11; ranksep=0.3; nodesep=0.2;',
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
