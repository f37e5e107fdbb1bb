"""The documentation site: ``python -m sphinx -W --keep-going -b html docs docs/_build/html``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
os.environ["MPLBACKEND"] = "Agg"
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the tutorials' products are small, and a builder may be busy

import api_pages  # noqa: E402
import cell_gallery  # noqa: E402
import cpu_figures  # noqa: E402
import moved  # noqa: E402
import playground_weights  # noqa: E402
import repository  # noqa: E402
import tracks  # noqa: E402
import verification_table  # noqa: E402

import minirnn  # noqa: E402
from scripts import exercise_pages, torch_names  # noqa: E402

project = "minirnn"
author = "the minirnn contributors"
copyright = author
version = release = minirnn.__version__
ADDRESS = repository.here()

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",  # formulas show without a network too
    "sphinx.ext.viewcode",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinx_reredirects",
    "bibliography_links",
    "chapter_text",
    "descriptions",
    "op_columns",
    "sliders",
    "source_pages",
    "tracks",
]
redirects = moved.REDIRECTS
root_doc = "index"
exclude_patterns = ["_build", "_templates", "examples", "**/GALLERY_HEADER.rst", "**/sg_execution_times.rst", "data"]
templates_path = ["_templates"]

myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 3
mathjax3_config = {"chtml": {"scale": 0.9}}  # as large as the text around it
suppress_warnings = ["config.cache"]

# ---- API

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings say shapes and dtypes, which types do not
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
default_role = "code"

# Links into other libraries' documentation need a network, and the build must not.
if os.environ.get("MINIRNN_DOCS_ONLINE"):
    extensions.append("sphinx.ext.intersphinx")
    intersphinx_mapping = {
        "python": ("https://docs.python.org/3", None),
        "numpy": ("https://numpy.org/doc/stable", None),
        "matplotlib": ("https://matplotlib.org/stable", None),
        "pytest": ("https://docs.pytest.org/en/stable", None),
    }

# ---- tutorials

sphinx_gallery_conf = {
    "examples_dirs": "../tutorials",
    "gallery_dirs": "tutorials",
    "filename_pattern": r"/\d\d_",
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("picture_scraper.pictures",),
    "capture_repr": ("_repr_html_", "__repr__"),
    "ignore_repr_types": r"Picture|Text|matplotlib",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 0,
    "remove_config_comments": True,
    "backreferences_dir": "api/backreferences",
    "doc_module": ("minirnn",),
    "inspect_global_variables": False,
    "first_notebook_cell": repository.first_cell(ADDRESS),
    "write_computation_times": False,  # its page fetches scripts from elsewhere
    "reset_modules": (),
    "plot_gallery": "True",
    "copyfile_regex": r".*\.rst",
}

# ---- pages

html_theme = "pydata_sphinx_theme"
html_title = "minirnn"
html_baseurl = os.environ.get("MINIRNN_SITE", "")  # the address of the site, for pages that are shared
html_favicon = "_static/favicon.svg"
html_static_path = ["_static", "images/gradient_flow.png"]
html_css_files = ["minirnn.css"]
html_js_files = [(script, {"defer": "defer"}) for script in ("op_columns.js", "wide.js", "fold.js")]
WRITTEN = [
    p.relative_to(HERE).with_suffix("").as_posix()
    for folder in (HERE, HERE / "ops", HERE / "appendix")
    for p in folder.glob("*.md")
]
EDIT_CONTEXT, EDIT_OPTIONS, EDIT_PAGES = repository.theme(ADDRESS, WRITTEN)
html_context = {"default_mode": "auto", **EDIT_CONTEXT}
html_show_sourcelink = False
html_copy_source = False
WIDE = ("index", "glossary", "playground", "teach", "ops/*", "source/**")
html_sidebars = {page: [] for page in WIDE}
html_theme_options = {
    "show_toc_level": 2,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "article_header_end": ["on-this-page"],
    "header_links_before_dropdown": 5,
    "footer_start": ["copyright"],
    "footer_end": ["minirnn-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "secondary_sidebar_items": {"**": ["page-toc", "sg_download_links"], **EDIT_PAGES, "index": [], "playground": []},
    **EDIT_OPTIONS,
}
copybutton_exclude = ".linenos, .gp, .go"


def setup(app: object) -> None:
    """Write the pages that follow from the code before Sphinx reads the folder."""
    api_pages.write(HERE / "api")
    playground_weights.write(HERE / "_static" / "playground" / "weights.js")
    torch_names.write(HERE / "api")
    exercise_pages.write(HERE / "api" / "exercises.txt")
    tracks.write(HERE / "api" / "tracks.txt")
    verification_table.write(HERE / "api" / "verification.txt")
    cpu_figures.write(HERE / "api")
    cell_gallery.write(HERE / "api")
