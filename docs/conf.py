"""Sphinx's settings. ``docs/make_site.py`` writes the pages that Sphinx reads, and runs it."""

project = "tnp"
author = "The tnp maintainers"
html_title = "tnp"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",  # docstrings have Google's sections
    "sphinx_copybutton",
]

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
myst_fence_as_directive = []

autodoc_typehints = "none"  # the docstrings name shapes and dtypes, which types do not
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "show-inheritance": False}
add_module_names = True
napoleon_use_rtype = False
nitpicky = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "  # what is copied runs
copybutton_prompt_is_regexp = True

html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme = "pydata_sphinx_theme"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "show_nav_level": 1,
    "show_prev_next": True,
    "header_links_before_dropdown": 7,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "friendly",
    "pygments_dark_style": "monokai",
}
html_sidebars = {"index": []}
copyright = "The tnp maintainers; Apache 2.0"
