"""The gallery's notebooks: ``examples/gallery/*.py`` are scripts whose cells begin with ``# %%``, or ``# %% [markdown]`` for text.

    python docs/notebooks.py out/notebooks     # writes each as .ipynb, without outputs

``tests/test_gallery.py`` runs each in a kernel, and ``make docs`` makes pages of them, with their outputs.
"""

from __future__ import annotations

import base64
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbformat import NotebookNode

__all__ = ["GALLERY", "cells", "kernel", "notebook", "page", "run", "title"]

GALLERY = Path(__file__).parent.parent / "examples" / "gallery"


def cells(script: str) -> list[tuple[str, str]]:
    """The cells of a script in order: ``("markdown", text)`` or ``("code", source)``."""
    parts = re.split(r"^# %%( \[markdown\])?\n", script, flags=re.MULTILINE)
    if parts[0].strip():
        raise ValueError("the script has lines before its first cell")
    found = []
    for mark, body in zip(parts[1::2], parts[2::2]):
        if mark:
            found.append(("markdown", re.sub(r"^# ?", "", body, flags=re.MULTILINE).strip()))
        else:
            found.append(("code", body.strip()))
    return found


def title(script: str) -> str:
    """The heading of a script's first cell."""
    found = re.match(r"# (.+)", cells(script)[0][1])
    if found is None:
        raise ValueError("the first cell of a script is text that begins with a heading")
    return found[1]


def notebook(script: str) -> NotebookNode:
    """A notebook of a script's cells, without outputs."""
    from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

    make = {"markdown": new_markdown_cell, "code": new_code_cell}
    made = new_notebook(cells=[make[kind](body, id=f"cell-{i}") for i, (kind, body) in enumerate(cells(script))])
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return made


#: what runs before a notebook's own cells
FIRST = """
%reset -f
%matplotlib inline
%config InlineBackend.figure_formats = ["png"]
import warnings, tnp
warnings.simplefilter("error", tnp.EagerFallbackWarning)
warnings.simplefilter("error", tnp.InternalErrorWarning)
del warnings, tnp
"""


@contextmanager
def kernel() -> Iterator[Any]:
    """A kernel of this interpreter, which notebooks may run in one after another."""
    from jupyter_client.kernelspec import KernelSpec
    from jupyter_client.manager import KernelManager

    with tempfile.TemporaryDirectory() as folder:
        manager = KernelManager(kernel_name="python3", transport="ipc", ip=f"{folder}/kernel")
        command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        manager._kernel_spec = KernelSpec(argv=command, display_name="Python 3", language="python")
        manager.start_kernel(env={**os.environ, "PYTHONPATH": str(GALLERY.parent.parent)})
        try:
            yield manager
        finally:
            manager.shutdown_kernel(now=True)
            manager.context.destroy(linger=0)


def run(made: NotebookNode, manager: Any) -> NotebookNode:
    """The notebook with its outputs: run in ``manager``'s kernel, whose names are removed first.

    Raises nbclient's ``CellExecutionError`` if a cell raises, or if tnp could not compile a function.
    """
    from nbclient import NotebookClient
    from nbformat.v4 import new_code_cell

    made.cells.insert(0, new_code_cell(FIRST.strip(), id="first"))
    client = NotebookClient(made, km=manager, timeout=120)
    try:
        client.execute()
    finally:
        client.kc.stop_channels()
    del made.cells[0]
    return made


def page(made: NotebookNode, name: str) -> tuple[str, dict[str, bytes]]:
    """A notebook that ran as Markdown, with its pictures by file name."""
    lines: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in made.cells:
        if cell.cell_type == "markdown":
            lines += [cell.source, ""]
            continue
        lines += ["```python", cell.source, "```", ""]
        for output in cell.outputs:
            data = output.get("data", {})
            if "image/png" in data:
                file = f"{name}_{len(pictures)}.png"
                pictures[file] = base64.b64decode(data["image/png"])
                lines += [f"![{title_of(cell.source, name)}]({file})", ""]
            else:
                text = output.get("text") or data.get("text/plain", "")
                lines += ["```text", text.rstrip(), "```", ""]
    return "\n".join(lines), pictures


def title_of(source: str, name: str) -> str:
    """What a picture shows: the title that its cell sets."""
    found = re.search(r"set_title\(f?\"([^\"{]+)", source)
    return found[1] if found else name


if __name__ == "__main__":
    import nbformat

    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for script in sorted(GALLERY.glob("*.py")):
        nbformat.write(notebook(script.read_text()), folder / f"{script.stem}.ipynb")
