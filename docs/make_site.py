"""Builds the documentation's site into ``out/site``. Run by ``make docs``; a warning is an error.

Pages link to files of the repository by relative paths, so that they can be read without the site. The site takes in those files: README.md
is its first page, other Markdown becomes pages, sources become pages that show them. All of it is written to ``out/pages``, and Sphinx
makes the site of that.
"""

from __future__ import annotations

import argparse
import posixpath
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "out" / "pages"
SITE = ROOT / "out" / "site"

#: files outside of docs that have a place of their own on the site
PLACES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "CODE_OF_CONDUCT.md": "code_of_conduct.md",
}
#: a relative link: its path, and its anchor
LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)#\s]+)(#[^)\s]*)?(?=\))")
LANGUAGES = {".py": "python", ".toml": "toml", ".yml": "yaml"}


def place(path: str) -> str:
    """Where a file of the repository is on the site.

    >>> place("docs/guides/loops.md"), place("examples/extend/README.md"), place("examples/gallery/wave.py")
    ('guides/loops.md', 'files/examples/extend.md', 'gallery/wave.md')
    """
    if path in PLACES:
        return PLACES[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if path.startswith("examples/gallery/"):
        return f"gallery/{Path(path).stem}.md"
    name = path.removesuffix("/README.md") + ".md" if path.endswith("/README.md") else path
    return f"files/{name}" if name.endswith((".md", ".png", ".svg")) else f"files/{name}.md"


def target(link: str, path: str) -> str:
    """The file that a link on the page ``path`` leads to, both from the repository's root."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), link))


def with_links(text: str, path: str) -> str:
    """A page's text with links to the places on the site."""
    folder = posixpath.dirname(place(path)) or "."

    def moved(link: re.Match[str]) -> str:
        return posixpath.relpath(place(target(link[1], path)), folder) + (link[2] or "")

    return LINK.sub(moved, text)


def files() -> dict[str, str]:
    """The pages of the site by their files: those of ``docs``, and what they link to, and so on. Pictures have no text."""
    found: dict[str, str] = {}
    left = [*PLACES, *(str(p.relative_to(ROOT)) for p in (ROOT / "docs").rglob("*.md"))]
    while left:
        path = left.pop()
        file = ROOT / path
        if path in found or path.startswith("examples/gallery/") or not file.is_file():
            continue
        if file.suffix == ".md":
            found[path] = file.read_text()
            left += [target(m[1], path) for m in LINK.finditer(found[path])]
        elif file.suffix in (".png", ".svg"):
            found[path] = ""
        else:
            shown = f"````{LANGUAGES.get(file.suffix, 'text')}\n{file.read_text().rstrip()}\n````\n"
            found[path] = f"# `{path}`\n\n{shown}"
    return found


def contents() -> list[dict[str, Any]]:
    """The parts of the site, as ``docs/contents.toml`` has them."""
    return tomllib.loads((ROOT / "docs" / "contents.toml").read_text())["part"]


def tree(pages: list[str], *, hidden: bool = True) -> str:
    """A table of contents of pages of the site."""
    options = ":hidden:\n" if hidden else ":maxdepth: 1\n"
    return "\n```{toctree}\n" + options + "\n" + "\n".join("/" + p.removesuffix(".md") for p in pages) + "\n```\n"


def notes(text: str) -> list[str]:
    """The pages that the index of a folder links to, on the site."""
    found = [place(target(m[1], "docs/notes/README.md")) for m in LINK.finditer(text)]
    return [p for p in found if p.startswith("notes/")]


def drawing(mermaid: re.Match[str]) -> str:
    """A Mermaid flowchart as a picture by graphviz; without graphviz, as text."""
    if shutil.which("dot") is None:
        return f"```text\n{mermaid[1]}```"
    edges = re.findall(r"(\w+) --> (\w+)", mermaid[1])
    lines = "".join(f'"{a}" -> "{b}";' for a, b in edges)
    style = 'node [shape=box, style=rounded, fontname="sans-serif", fontsize=11]'
    done = subprocess.run(["dot", "-Tsvg"], input=f"digraph {{ {style}; {lines} }}", text=True, capture_output=True)
    name = f"drawing_{abs(hash(mermaid[1])) % 10**8}.svg"
    (PAGES / name).write_text(done.stdout)
    return f"![The rooms, and what they import](/{name})"


def write_pages(gallery: Callable[[], dict[str, str | bytes]]) -> None:
    """Writes all pages to ``out/pages``; ``gallery`` gives the notebooks' pages and pictures by their places."""
    shutil.rmtree(PAGES, ignore_errors=True)
    PAGES.mkdir(parents=True)
    made: dict[str, str | bytes] = {}
    listed = {place(posixpath.normpath(f"docs/{p}")) for part in contents() for p in part["pages"]}
    for path, text in files().items():
        is_picture = path.endswith((".png", ".svg"))
        there = place(path)
        made[there] = (ROOT / path).read_bytes() if is_picture else with_links(text, path)
        if there.startswith("files/") and there not in listed and not is_picture:
            made[there] = f"---\norphan: true\n---\n{made[there]}"  # reached by links alone
    made |= gallery()
    made["index.md"] = str(made["index.md"]) + parts(made)
    for name, text in made.items():
        (PAGES / name).parent.mkdir(parents=True, exist_ok=True)
        if isinstance(text, bytes):
            (PAGES / name).write_bytes(text)
        else:
            text = re.sub(r"(\n<BLANKLINE>)?\n\n```\n", "\n```\n", text)  # doctest wants an empty line after an output
            text = re.sub(r"^```mermaid\n(.*?)```", drawing, text, flags=re.DOTALL | re.MULTILINE)
            (PAGES / name).write_text(text)


def parts(made: dict[str, str | bytes]) -> str:
    """Adds the tables of contents to the first pages of the parts in ``made``; returns the one of all parts."""
    names = []
    for part in contents():
        pages = [place(posixpath.normpath(f"docs/{p}")) for p in part["pages"]]
        pages = [p for p in pages if p in made or p not in part.get("later", [])]
        if part["title"] == "Gallery":
            pages = [p for p in re.findall(r"\((\w+\.md)\)", str(made["gallery/index.md"])) if f"gallery/{p}" in made]
            pages = [f"gallery/{p}" for p in pages]
            made["gallery/index.md"] = str(made["gallery/index.md"]) + thumbnails(pages, made)
        if "index" in part:
            name = str(part["index"])
            made[name] = str(made[name]) + tree(pages)
        else:
            name = str(part["title"]).lower().replace(" ", "_") + ".md"
            made[name] = f"# {part['title']}\n" + tree(pages, hidden=False)
        names.append(name)
    made["notes/README.md"] = str(made["notes/README.md"]) + tree(notes(str(made["notes/README.md"])))
    return tree(names)


def thumbnails(pages: list[str], made: dict[str, str | bytes]) -> str:
    """The first picture of each notebook, which leads to its page."""
    found = ""
    for page in pages:
        picture = page.replace(".md", "_0.png")
        heading = str(made[page]).split("\n", 1)[0].removeprefix("# ")
        if picture in made:
            options = f":alt: {heading}\n:width: 30%\n:class: gallery-picture\n:target: {Path(page).stem}.html"
            found += f"\n```{{image}} /{picture}\n{options}\n```\n"
    return found


def run_gallery() -> dict[str, str | bytes]:
    """The gallery's pages and pictures, from notebooks that are run now."""
    import notebooks

    made: dict[str, str | bytes] = {}
    with notebooks.kernel() as manager:
        for script in sorted(notebooks.GALLERY.glob("*.py")):
            text, pictures = notebooks.page(notebooks.run(notebooks.notebook(script.read_text()), manager), script.stem)
            made[f"gallery/{script.stem}.md"] = text
            made |= {f"gallery/{name}": picture for name, picture in pictures.items()}
    return made


def main() -> int:
    parser = argparse.ArgumentParser(description="Builds the documentation's site.")
    parser.add_argument("--no-gallery", action="store_true", help="keep the gallery of the last build; nothing runs")
    gallery = run_gallery
    if parser.parse_args().no_gallery:
        old = [p for p in (PAGES / "gallery").iterdir() if p.stem != "index"]
        kept: dict[str, str | bytes] = {
            f"gallery/{p.name}": p.read_text() if p.suffix == ".md" else p.read_bytes() for p in old
        }
        gallery = lambda: kept  # noqa: E731
    write_pages(gallery)
    from sphinx.cmd.build import main as build

    shutil.rmtree(SITE, ignore_errors=True)
    options = [
        "-q",
        "-E",
        "-W",
        "--keep-going",
        "-b",
        "html",
        "-c",
        str(ROOT / "docs"),
        "-d",
        str(ROOT / "out" / "doctrees"),
    ]
    return build([*options, str(PAGES), str(SITE)])


if __name__ == "__main__":
    sys.exit(main())
