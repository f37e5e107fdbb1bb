"""sphinx-gallery puts below a tutorial's cell what the cell showed by `mr.viz.show`, with its description in words.

Each picture has two files, for light and for dark pages. Charts are as narrow as a phone needs them. Drawings of graphs
keep their width, and `wide.js` puts them into boxes that scroll sideways.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

from docs.drawings.alt import described
from docs.drawings.dark import darken
from docs.drawings.phone_layout import PAGE, narrow, shown_points
from minirnn.viz import CellDrawing, Picture, cell_graph, display
from minirnn.viz.cell.drawing import SIZE

SHARP = 220
"""Pixels per inch of a file."""
CHART = 120
"""Pixels of the page for an inch of a chart, if there is room."""
DRAWN = 9.0
"""The size of the smallest text of a drawing that scrolls, in points."""

_collecting = display.collecting()
_shown = _collecting.__enter__()  # until the end of the build


def pictures(block: tuple[Any, ...], block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the pictures that this cell showed, in their order, and return the markup that shows them."""
    found = []
    for picture in _shown:
        path = Path(next(block_vars["image_path_iterator"]))
        found.append(both(picture, path, Path(gallery_conf["src_dir"])))
    _shown.clear()
    return "\n".join(found)


def both(picture: Any, path: Path, root: Path) -> str:
    """Save a picture for both themes. Returns their markup; `root` is the folder of the pages."""
    figure = picture.figure if isinstance(picture, Picture) else picture
    if isinstance(picture, CellDrawing):  # letters and arrows, which an SVG shows sharp at every size
        path = path.with_suffix(".svg")
        light, dark, smallest = figure, cell_graph(picture.cell, dark=True).figure, SIZE
    else:
        light, dark = (pickle.loads(pickle.dumps(figure)) for _ in range(2))
        narrow(light)
        narrow(dark)
        darken(dark)
        smallest = shown_points(light, page=1e9)
    inches = light.get_size_inches()[0]
    scrolls = smallest * min(1, PAGE / inches) < 8
    width = inches * 96 * DRAWN / smallest if scrolls else inches * CHART
    parts = []
    for theme, one in (("light", light), ("dark", dark)):
        file = path if theme == "light" else path.with_stem(f"{path.stem}_dark")
        one.savefig(file, dpi=SHARP)
        classes = f"sphx-glr-single-img only-{theme}" + (" sideways" if scrolls else "")
        parts.append(
            f".. image:: /{file.relative_to(root).as_posix()}\n"
            f"   :alt: {described(picture)}\n   :class: {classes}\n   :width: {width:.0f}px\n"
        )
    return "\n".join(["", *parts, ""])
