"""Hooks of MkDocs: what ``make docs`` builds beyond the files of ``docs``.

Pages link to files of the repository by relative paths, so that they can be read without the site. The site takes in those files: README.md
is its first page, other Markdown becomes pages, sources become pages that show them. The gallery's notebooks are run.
"""

from __future__ import annotations

import importlib.util
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent

#: files outside of docs that have a name of their own on the site
PLACES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "CODE_OF_CONDUCT.md": "code_of_conduct.md",
}
LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)#\s]+)(#[^)\s]*)?(?=\))")


def _load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


notebooks = _load(ROOT / "docs" / "notebooks.py")


def place(path: str) -> str:
    """Where a file of the repository is on the site."""
    if path in PLACES:
        return PLACES[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if path.startswith("examples/gallery/"):
        return f"gallery/{Path(path).stem}.md"
    name = path.removesuffix("/README.md") + ".md" if path.endswith("/README.md") else path
    return f"files/{name}" if name.endswith((".md", ".png", ".svg")) else f"files/{name}.md"


def origin(uri: str) -> str:
    """The file of the repository that a page of the site is made of."""
    for path, there in PLACES.items():
        if there == uri:
            return path
    return uri.removeprefix("files/") if uri.startswith("files/") else f"docs/{uri}"


def linked(text: str, path: str) -> list[str]:
    """The files that a page links to by relative paths, from the repository's root."""
    return [posixpath.normpath(posixpath.join(posixpath.dirname(path), m[1])) for m in LINK.finditer(text)]


def outside(text: str, path: str, seen: dict[str, str]) -> None:
    """Adds to ``seen`` the files beyond ``docs`` that a page needs, and the pages that these need, with their text."""
    for found in linked(text, path):
        file = ROOT / found
        if found in seen or found.startswith(("docs/", "examples/gallery/")) or not file.is_file():
            continue
        if file.suffix == ".md":
            seen[found] = file.read_text()
            outside(seen[found], found, seen)
        elif file.suffix not in (".png", ".svg"):
            language = {"py": "python", "toml": "toml", "yml": "yaml"}.get(file.suffix[1:], "text")
            seen[found] = f"# `{found}`\n\n````{language}\n{file.read_text().rstrip()}\n````\n"
        else:
            seen[found] = ""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages of files outside of ``docs``, and the gallery."""
    seen: dict[str, str] = {}
    for path in PLACES:
        if (ROOT / path).exists():
            seen[path] = (ROOT / path).read_text()
            outside(seen[path], path, seen)
    for file in files.documentation_pages():
        outside(file.content_string, origin(file.src_uri), seen)
    for path, text in seen.items():
        if path.endswith((".png", ".svg")):
            files.append(File.generated(config, place(path), content=(ROOT / path).read_bytes()))
        else:
            files.append(File.generated(config, place(path), content=text))
    with notebooks.kernel() as manager:
        for script in sorted(notebooks.GALLERY.glob("*.py")):
            made = notebooks.run(notebooks.notebook(script.read_text()), manager)
            text, pictures = notebooks.page(made, script.stem)
            files.append(File.generated(config, f"gallery/{script.stem}.md", content=text))
            for name, picture in pictures.items():
                files.append(File.generated(config, f"gallery/{name}", content=picture))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links lead to pages of the site, and doctests look like sessions, without what only doctest reads."""
    uri = page.file.src_uri
    path = origin(uri)

    def moved(link: re.Match[str]) -> str:
        if uri.startswith("gallery/") and (link[1].endswith(".png") or files.get_file_from_path(f"gallery/{link[1]}")):
            return link[0]
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), link[1]))
        there = posixpath.relpath(place(target), posixpath.dirname(uri) or ".")
        return there + (link[2] or "")

    markdown = LINK.sub(moved, markdown)
    markdown = re.sub(r"^( *)```python\n(?=\s*>>>)", r"\1```pycon\n", markdown, flags=re.MULTILINE)
    markdown = re.sub(r" *# doctest: \+\w+", "", markdown)
    return re.sub(r"^( *)<BLANKLINE>$", "", markdown, flags=re.MULTILINE)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Docstrings have Sphinx's roles, which editors know: they become links. So do the colons before their blocks of code."""

    def link(role: re.Match[str]) -> str:
        name = role[2]
        shown = name.rpartition(".")[2] if role[1] else name
        return f'<autoref identifier="{name}" optional><code>{shown}</code></autoref>'

    html = re.sub(r":(?:func|class|mod|meth|data|attr):<code>(~?)([\w.]+)</code>", link, html)
    return html.replace("::</p>", ":</p>")
