"""Writes docs/architecture.md: the rooms of the package, who imports whom, and the way of one call. Run by ``make docs``.

:data:`ROOMS` is the architecture: ``tests/test_walls.py`` checks that no module imports what its room may not. The drawing has the imports
that there are.
"""

from __future__ import annotations

import ast
import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).parent.parent / "tnp"


class Room(NamedTuple):
    """A folder or a module of the package, what it holds, and the rooms that it may import. A room may import itself."""

    path: str
    holds: str
    imports: str


_BELOW = "runtime core lang transforms extend"
#: in pipeline order; what is not named here by itself belongs to the longest path that it is under
ROOMS = (
    Room("__init__", "the public names", "api compile core executors inspect transforms"),
    Room("__main__", "`python -m tnp`", "__init__ executors/* runtime"),
    Room("api", "what users call: `jit`, `explain`, `last_traces`, …", "capture compile core executors runtime"),
    Room("dynamo", "tnp as a backend of `torch.compile`", "api"),
    Room("thunder", "the names of Lightning Thunder's", f"api capture compile inspect testing executors/* {_BELOW}"),
    Room("testing", "OpInfos, and checks of executors against eager", "__init__ capture core inspect lang"),
    Room("inspect", "`explain`, `examine`, `profile`, `draw`", "api capture compile core lang transforms"),
    Room(
        "compile", "the driver: capture, transforms, executors, entries behind guards; functions of functions",
        "capture core executors executors/cudagraphs executors/numpy lang runtime transforms",
    ),
    Room("capture", "a user's function becomes a trace: the driver, and the capture contract", "core lang runtime"),
    Room("capture/rewrite", "a function's source with hooks in it", "capture/control_flow core runtime"),
    Room("capture/tracing", "the tracer, traced values, views and aliasing, effects, hooks", "capture core lang"),
    Room("capture/objects", "objects and classes of the user's, identity, attributes", "capture core"),
    Room("capture/control_flow", "loops and branches as operations", "capture core lang"),
    Room("capture/speculation", "tracing that is rolled back, and traces for a value", "capture core lang"),
    Room("capture/guards", "inputs, guards, and the prologue that checks them", "capture core lang"),
    Room("capture/libraries", "what tracing asks of NumPy, PyTorch and CuPy", "capture core lang runtime"),
    Room("transforms", "trace to trace: derivatives, batching, fusion, claiming, buffers", "core runtime"),
    Room("lang", "what users write, in terms of the core: NumPy and PyTorch", "core runtime"),
    Room("extend", "the public interface of executors and operations", "core executors lang transforms"),
    Room("executors", "what executors share, and the registry of them", "core runtime extend"),
    *(
        Room(f"executors/{name}", holds, f"core executors extend runtime {more}".strip())
        for name, holds, more in (
            ("numpy", "NumPy's functions", ""),
            ("python", "arithmetic on Python numbers", ""),
            ("llvm", "fused native code for the CPU", ""),
            ("cpu_kernels", "products and attention for the CPU, which executors call", ""),
            ("torch", "PyTorch's functions", "executors/cpu_kernels"),
            ("sdpa", "attention by PyTorch's kernels and our own", "executors/cpu_kernels"),
            ("onednn", "products and convolutions by oneDNN", ""),
            ("triton", "fused kernels for the GPU", ""),
            ("nvfuser", "fused kernels by nvFuser", ""),
            ("cupy", "CuPy's functions and kernels", ""),
            ("cudnn", "attention and norms by cuDNN", ""),
            ("cudagraphs", "whole programs as CUDA graphs", ""),
            ("transformer_engine", "products in 8 bits", ""),
            ("apex", "cross entropy by Apex", ""),
            ("triton_cross_entropy", "cross entropy by Triton", ""),
        )
    ),
    Room("core", "the IR, knowing no array library", "runtime"),
    Room("runtime", "the process: compiled code, threads, memory, the disk cache, locks", "core/errors"),
    Room("core/errors", "every kind of trouble", ""),
)  # fmt: skip
_PATHS = sorted((room.path for room in ROOMS), key=len, reverse=True)

#: the way of one call: step, module, function
WAY = (
    (
        "the user's call binds its arguments and tries the programs that there are",
        "compile/compiled_function.py",
        "Jitted.__call__",
    ),
    ("a program's prologue checks its guards and fetches its inputs", "capture/guards/prologue.py", "Prologue.compile"),
    ("no entry is valid: a program is made", "compile/compiled_function.py", "Jitted._compile"),
    ("the function is captured", "compile/driver.py", "capture"),
    ("arguments become inputs of a trace, each with its guards", "capture/guards/lifting.py", "Inputs.lift"),
    ("the function's source gets hooks", "capture/rewrite/rewriter.py", "rewrite"),
    ("it runs on traced values; hooks see calls, loops and branches", "capture/driver.py", "acquire"),
    ("an operation is recorded", "capture/tracing/tracer.py", "Tracer.call"),
    ("a loop becomes one operation", "capture/control_flow/trace_loop.py", "Loop.roll"),
    ("the trace becomes a program behind guards", "compile/driver.py", "compile_acquired"),
    ("it goes through the passes", "transforms/pipeline.py", "compile_trace"),
    ("operations go to the first executor that supports them", "transforms/claim.py", "claim"),
    ("regions are chosen and become one call each", "transforms/fuse.py", "fuse"),
    ("updates become writes to buffers", "transforms/bufferize.py", "bufferize"),
    ("machine code is made, or found on disk", "runtime/engine.py", "compile_ir"),
    ("the last trace becomes a function", "core/trace.py", "Trace.python_callable"),
    ("the entry is kept, and runs", "compile/compiled_function.py", "Jitted._insert"),
)


def room_of(module: str) -> str:
    """The room of a module of tnp's (``tnp.capture.driver``)."""
    path = module.removeprefix("tnp").removeprefix(".").replace(".", "/") or "__init__"
    return next((p for p in _PATHS if path == p or path.startswith(f"{p}/")), "__init__")


def imports() -> Iterator[tuple[str, str]]:
    """Each import of one module of tnp's by another, but those for type checkers alone."""
    modules = {_name(path) for path in PACKAGE.rglob("*.py")}
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text())
        typing = {
            id(inner)
            for node in ast.walk(tree)
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
            for inner in ast.walk(node)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.level == 0 and id(node) not in typing:
                for alias in node.names:
                    full = f"{node.module}.{alias.name}"
                    target = full if full in modules else str(node.module)
                    if target in modules:
                        yield _name(path), target
            elif isinstance(node, ast.Import) and id(node) not in typing:
                yield from ((_name(path), a.name) for a in node.names if a.name in modules)


def _name(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def allowed(room: Room) -> set[str]:
    """The rooms that a room may import: itself, those named, and those inside of them; inside of ``executors`` only with ``executors/*``."""
    found: set[str] = set()
    for name in (room.path, *room.imports.split()):
        top = name.removesuffix("/*")
        found |= {p for p in _PATHS if p == top or (p.startswith(f"{top}/") and name != "executors")}
    return found


def drawing() -> str:
    """The rooms as a graph, with an arrow where one imports another; rooms of rooms are drawn as one."""
    edges: Counter[tuple[str, str]] = Counter()
    for importer, imported in imports():
        a, b = (room_of(m).partition("/")[0] for m in (importer, imported))
        if a != b and "thunder" not in (a, b) and "__init__" not in (a, b):
            edges[a, b] += 1
    tops = [room.path for room in ROOMS if "/" not in room.path and room.path not in ("thunder", "__init__")]
    lines = ["flowchart TD", *(f'    {name.strip("_")}["{name.strip("_")}"]' for name in tops)]
    lines += [f"    {a.strip('_')} --> {b.strip('_')}" for a, b in sorted(edges)]
    return "\n".join(lines)


def _table() -> str:
    rows = ["| room | holds | may import |", "| --- | --- | --- |"]
    for room in ROOMS:
        path = PACKAGE / room.path
        name = f"`{room.path}/`" if path.is_dir() else f"`{room.path}.py`"
        text = ", ".join(f"`{i}`" for i in room.imports.split()) or "–"
        rows.append(f"| {name} | {room.holds} | {text} |")
    return "\n".join(rows)


def _way() -> str:
    rows = ["| step | file | function |", "| --- | --- | --- |"]
    return "\n".join(rows + [f"| {step} | `{file}` | `{function}` |" for step, file, function in WAY])


def page() -> str:
    """The page, as Markdown."""
    return PAGE.format(drawing=drawing(), table=_table(), way=_way())


PAGE = textwrap.dedent("""\
    # Architecture

    *Made by `docs/make_architecture.py`. `tests/test_walls.py` checks it against the code.*

    tnp captures a call of a function as a *trace*, transforms the trace, hands its operations to *executors*, and keeps what comes out
    behind *guards*. A *room* is a folder, or a module at the top. Arrows are imports.

    ```mermaid
    {drawing}
    ```

    ## One call

    {way}

    [walkthrough.md](walkthrough.md) prints what each step makes of one function. [glossary.md](glossary.md) defines the terms.

    ## Rooms and walls

    {table}

    To name a room is to name the rooms inside of it, but for the executors, which `executors/*` names. The rooms of `capture` import one
    another: tracing a program, its objects, its control flow and its guards go on at the same time. No executor imports another; `cpu_kernels` is a library of kernels that two of them call.
    Only executors, languages and adapters of a library import that library when they are imported.
    """)

if __name__ == "__main__":
    Path(__file__).with_name("architecture.md").write_text(page())
