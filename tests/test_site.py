"""The documentation's site: each page is listed, each link leads somewhere, each public name is in the reference, and Sphinx warns of nothing."""

import importlib.util
import inspect
import re
import shutil
import subprocess
import sys
import types
from pathlib import Path

import pytest

import tnp
import tnp.extend
import tnp.testing

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS))

import make_site  # noqa: E402
import notebooks  # noqa: E402

PAGES = [
    ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", ROOT / "CODE_OF_CONDUCT.md", *sorted(DOCS.rglob("*.md")),
    *sorted((ROOT / "benchmarks" / "results").glob("*.md")), ROOT / "examples" / "extend" / "README.md",
]  # fmt: skip


def prose(text):
    """A page without its code."""
    return re.sub(r"^( *)(```+).*?^\1\2", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors(text):
    """The anchors of a page's headings, as GitHub and MyST make them."""
    headings = re.findall(r"^#+ (.+)$", prose(text), re.MULTILINE)
    shown = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", h) for h in headings)
    return {re.sub(r"[^\w\- ]", "", h.strip().lower()).replace(" ", "-") for h in shown}


def broken_links(text, path):
    """The relative links of a page that lead to no file, or to no heading of it."""
    for link, anchor in re.findall(r"\]\((?!\w+:)([^)#\s]*)(#[^)\s]*)?\)", prose(text)):
        file = path.parent / link
        if link and not file.exists():
            yield link
        elif anchor and anchor[1:] not in anchors(file.read_text() if link else text):
            yield link + anchor


@pytest.mark.parametrize("path", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(path):
    assert not list(broken_links(path.read_text(), path))


def test_the_check_of_links_finds_broken_ones():
    text = "# A b\n[1](#a-b) [2](#c) [3](nowhere.md) [4](README.md#tnp) [5](README.md#nothing)\n"
    assert list(broken_links(text, ROOT / "x.md")) == ["#c", "nowhere.md", "README.md#nothing"]


def listed():
    """The files that the site's table of contents names, and those that may be missing."""
    parts = make_site.contents()
    later = {DOCS / p for part in parts for p in part.get("later", [])}
    names = [p for part in parts for p in (*part["pages"], *([part["index"]] if "index" in part else []))]
    return [(DOCS / n).resolve() for n in names], later


def test_each_page_is_in_the_table_of_contents_once():
    names, later = listed()
    assert len(names) == len(set(names))
    assert not [n for n in names if not n.exists() and n not in later]
    pages = {p for p in DOCS.rglob("*.md") if "notes" not in p.parts}
    assert not pages - set(names)
    notes = (DOCS / "notes" / "README.md").read_text()
    assert not [p.name for p in (DOCS / "notes").glob("*.md") if p.name != "README.md" and f"]({p.name})" not in notes]


def test_the_gallery_lists_each_notebook_by_its_title():
    index = (DOCS / "gallery" / "index.md").read_text()
    scripts = sorted(notebooks.GALLERY.glob("*.py"))
    assert len(scripts) >= 12
    for script in scripts:
        assert f"| [{notebooks.title(script.read_text())}](../../examples/gallery/{script.name}) |" in index


@pytest.mark.parametrize("module", [tnp, tnp.extend, tnp.testing], ids=lambda m: m.__name__)
def test_the_reference_has_each_public_name(module):
    text = "\n".join(p.read_text() for p in (DOCS / "reference").glob("*.md"))
    entries = set(re.findall(r"^\.\. auto\w+:: (\S+)", text, re.MULTILINE))
    prose = set(re.findall(r"`([\w.]+)`", text))  # where tables and modules are described
    names = {f"{module.__name__}.{n}" for n in module.__all__}
    missing = {n for n in names if n not in entries and f"tnp.{n.rpartition('.')[2]}" not in entries}
    assert not {n for n in missing if n not in prose and n.rpartition(".")[2] not in prose}
    assert not [n for n in missing if inspect.isfunction(getattr(module, n.rpartition(".")[2]))]


def test_the_reference_has_no_name_that_is_gone():
    for page in (DOCS / "reference").glob("*.md"):
        for name in re.findall(r"^\.\. auto\w+:: tnp\.(\S+)", page.read_text(), re.MULTILINE):
            value = tnp
            for part in name.split("."):
                if part == "torchsymbol" and importlib.util.find_spec("torch") is None:
                    break
                value = getattr(value, part)


def test_readme_is_short_and_the_index_can_show_it(monkeypatch):
    text = (ROOT / "README.md").read_text()
    assert text.count("\n") <= 120
    interface = types.ModuleType("interface")  # hatchling is there while the package is built, not when its tests run
    interface.MetadataHookInterface = object
    monkeypatch.setitem(sys.modules, "hatchling.metadata.plugin.interface", interface)
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    relative = r"\]\((?!https:)[^)]*\)"
    assert re.search(relative, text)
    assert not re.search(relative, module.description(text, None))
    linked = module.description(text, "https://example.org/tnp/")
    assert not re.search(relative, linked)
    assert "](https://example.org/tnp/raw/main/docs/images/trace.svg)" in linked
    assert "[guide](https://example.org/tnp/blob/main/docs/guides/torch.md)" in linked


@pytest.fixture(scope="module")
def site():
    """The site, with the gallery's notebooks as they are before they run."""
    if any(importlib.util.find_spec(m) is None for m in ("sphinx", "myst_parser", "pydata_sphinx_theme", "nbformat")):
        pytest.skip("the site needs the packages of the extra docs")

    def pages():
        scripts = sorted(notebooks.GALLERY.glob("*.py"))
        return {f"gallery/{s.stem}.md": notebooks.page(notebooks.notebook(s.read_text()), s.stem)[0] for s in scripts}

    make_site.write_pages(pages)
    done = subprocess.run(
        [sys.executable, "docs/make_site.py", "--no-gallery"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0 and not done.stderr, done.stderr
    return make_site.SITE


def test_sphinx_builds_the_site_without_a_warning(site):
    made = {str(p.relative_to(site)) for p in site.rglob("*.html")}
    assert {"index.html", "getting_started.html", "gallery/wave.html", "reference/compile.html"} <= made
    text = (site / "index.html").read_text()
    assert "doctest:" not in text and "BLANKLINE" not in text
    assert 'href="guides/torch.html"' in text


def test_a_browser_finds_what_one_searches(site):
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("there is no Chromium")

    def shown(page):
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=8000", "--dump-dom"]
        done = subprocess.run([browser, *options, f"file://{site}/{page}"], capture_output=True, text=True, timeout=60)
        return done.stdout

    assert "Before and after" in shown("index.html")
    assert "guides/masks.html" in shown("search.html?q=masks")
