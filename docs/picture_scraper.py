"""sphinx-gallery collects the pictures and figures a tutorial's cells make; pyplot need not know them."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

from minirnn.viz import Picture


def pictures(block: tuple[Any, ...], block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the pictures that this cell made, in the order of their names, and return the markup that shows them."""
    shown: list[Figure] = block_vars["example_globals"].setdefault("__figures_shown__", [])
    found: list[Figure] = []
    for name, value in block_vars["example_globals"].items():
        if name.startswith("__"):
            continue
        for one in value if isinstance(value, (list, tuple)) else (value,):
            figure = one.figure if isinstance(one, Picture) else one
            if isinstance(figure, Figure) and all(figure is not other for other in (*shown, *found)):
                found.append(figure)
    files = []
    for figure in found:
        shown.append(figure)
        path = next(block_vars["image_path_iterator"])
        figure.savefig(path, dpi=110)
        files.append(path)
    return figure_rst(files, gallery_conf["src_dir"])
