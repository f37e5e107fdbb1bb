"""sphinx-gallery puts below a tutorial's cell what the cell showed by `mr.viz.show`, with its description in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sphinx_gallery.scrapers import figure_rst

from minirnn.viz import CellDrawing, Picture, display
from minirnn.viz.alt import described

_shown = display.collect()


def pictures(block: tuple[Any, ...], block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the pictures that this cell showed, in their order, and return the markup that shows them."""
    found = []
    for picture in _shown:
        figure = picture.figure if isinstance(picture, Picture) else picture
        path = Path(next(block_vars["image_path_iterator"]))
        if isinstance(picture, CellDrawing):  # letters and arrows, which an SVG shows sharp at every size
            path = path.with_suffix(".svg")
        figure.savefig(path, dpi=110)
        found.append(figure_rst([str(path)], gallery_conf["src_dir"], fig_titles=described(picture)))
    _shown.clear()
    return "\n".join(found)
