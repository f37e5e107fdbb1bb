"""sphinx-gallery collects the `Picture` objects a tutorial's cells make; pyplot does not know their figures."""

from __future__ import annotations

from typing import Any

from sphinx_gallery.scrapers import figure_rst

from minirnn.viz import Picture


def pictures(block: tuple[Any, ...], block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the pictures that this cell made, in the order of their names, and return the markup that shows them."""
    shown: list[Picture] = block_vars["example_globals"].setdefault("__pictures_shown__", [])
    candidates = [v for k, v in block_vars["example_globals"].items() if not k.startswith("__")]
    found: list[Picture] = []
    for value in candidates:
        for one in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(one, Picture) and all(one.figure is not other.figure for other in (*shown, *found)):
                found.append(one)
    files = []
    for picture in found:
        shown.append(picture)
        path = next(block_vars["image_path_iterator"])
        picture.figure.savefig(path, dpi=110)
        files.append(path)
    return figure_rst(files, gallery_conf["src_dir"])
