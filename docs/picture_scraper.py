"""sphinx-gallery puts below a tutorial's cell what the cell showed by `mr.viz.show`, and nothing else."""

from __future__ import annotations

from typing import Any

from sphinx_gallery.scrapers import figure_rst

from minirnn.viz import Picture, display

_shown = display.collect()


def pictures(block: tuple[Any, ...], block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the pictures that this cell showed, in their order, and return the markup that shows them."""
    files = []
    for picture in _shown:
        figure = picture.figure if isinstance(picture, Picture) else picture
        path = next(block_vars["image_path_iterator"])
        figure.savefig(path, dpi=110)
        files.append(path)
    _shown.clear()
    return figure_rst(files, gallery_conf["src_dir"])
