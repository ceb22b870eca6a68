"""How Sphinx builds the site. Nothing is fetched: no inventories, no fonts or scripts from elsewhere."""

import importlib.metadata
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project = "theory"
author = "The theory developers"
version = release = importlib.metadata.version("theory")
copyright = author  # noqa: A001 (the name that Sphinx reads)

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "myst_nb",
    "sphinx_copybutton",
    "api",
    "catalogue",
    "commands",
    "papers",
    "named_tests",
]
root_doc = "index"
exclude_patterns = ["_build"]
default_role = "py:obj"
nitpicky = False

# --- the API ----------------------------------------------------------------------------------------------------------------

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say shapes and ranges, which types do not
autodoc_preserve_defaults = True
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# --- pages and notebooks ----------------------------------------------------------------------------------------------------

myst_enable_extensions = ["dollarmath", "deflist", "colon_fence", "attrs_inline"]
myst_heading_anchors = 3
nb_execution_mode = "cache"
nb_execution_cache_path = str(HERE / "_build" / "notebooks")
nb_execution_timeout = 900
nb_execution_raise_on_error = True
nb_merge_streams = True
nb_ipywidgets_js = {}  # its default is fetched from elsewhere
suppress_warnings = ["mystnb.unknown_mime_type"]  # a widget, for which the page shows its text

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True

# --- looks ------------------------------------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = "theory"
html_static_path = [
    "_static",
    *(str(file.locate()) for file in importlib.metadata.files("sphinx-mathjax-offline") or () if file.name == "tex-svg.js"),
]
mathjax_path = "tex-svg.js"  # one file, glyphs in it; works without a server
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "header_links_before_dropdown": 5,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
