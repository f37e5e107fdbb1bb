"""The tape as inline SVG for notebooks. Its boxes show values and gradients on hover."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from itertools import pairwise

import numpy as np

from minirnn.engine.tensor import Tensor
from minirnn.viz.tape.graph import tape_graph, tape_nodes
from minirnn.viz.tape.layout import arranged

COLUMN, ROW, WIDTH, HEIGHT = 150, 64, 118, 40
HOVER_NUMBERS = 40


@dataclass(frozen=True)
class TapeDrawing:
    """An SVG drawing of a tape; a notebook shows it when it is the last value of a cell."""

    svg: str

    def _repr_html_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"TapeDrawing({len(self.svg)} characters of SVG)"


def tape_svg(output: Tensor, *, names: Mapping[str, Tensor] | None = None, max_nodes: int = 200) -> TapeDrawing:
    """Draw the tape behind `output` as an SVG for a notebook, with values and gradients on hover.

    Gradients of leaves are shown after ``backward()``, and also those of values with ``retain_grad()``.

    Parameters
    ----------
    output, names
        The same as for `tape_graph`.
    max_nodes : int
        A tape with more nodes is drawn by kinds of op, without values.

    Returns
    -------
    TapeDrawing

    Raises
    ------
    TypeError
        If `output` is not a Tensor.
    """
    picture = tape_graph(output, names=names, max_nodes=max_nodes)
    nodes = tape_nodes(output)
    edges = [(int(a), int(b)) for a, b in picture.data["edges"]]
    layout = arranged(len(picture.data["labels"]), sorted({e for e in edges if e[0] < e[1]}))
    top = max(y for _, y in [*layout.boxes, *(bend for way in layout.ways.values() for bend in way)])

    def pixels(place: tuple[float, float]) -> tuple[float, float]:
        return 20 + WIDTH / 2 + place[0] * COLUMN, 20 + HEIGHT / 2 + (top - place[1]) * ROW

    at = {k: pixels(place) for k, place in enumerate(layout.boxes)}
    hover = [_hover(t) for t in nodes] if len(nodes) == len(at) else [""] * len(at)
    right = max(x for x, _ in at.values()) + WIDTH / 2 + 20
    lowest = min(y for _, y in [*layout.boxes, *(bend for way in layout.ways.values() for bend in way)])
    bottom = pixels((0, lowest))[1] + HEIGHT / 2 + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {right:.0f} {bottom:.0f}" width="{right:.0f}"'
        ' style="max-width:100%;font:11px sans-serif">'
    ]
    for (a, b), uses in Counter(edges).items():
        for use in range(uses):
            aside = 10 * (use - (uses - 1) / 2)  # two uses of one value are two lines
            way = [(at[a][0] + WIDTH / 2, at[a][1] + aside)]
            for x, y in map(pixels, layout.ways.get((a, b), [])):  # straight past the boxes of this column
                way += [(x - WIDTH / 2, y), (x + WIDTH / 2, y)]
            way.append((at[b][0] - WIDTH / 2, at[b][1] + aside))
            path = f"M{way[0][0]:.0f},{way[0][1]:.0f}" + "".join(
                f" C{x0 + 20:.0f},{y0:.0f} {x1 - 20:.0f},{y1:.0f} {x1:.0f},{y1:.0f}"
                for (x0, y0), (x1, y1) in pairwise(way)
            )
            parts.append(f'<path d="{path}" fill="none" stroke="#777"/>')
    for k, (x, y) in at.items():
        first, _, rest = str(picture.data["labels"][k]).partition("\n")
        parts.append(
            f'<g><title>{escape(hover[k] or first)}</title><rect x="{x - WIDTH / 2:.0f}" y="{y - HEIGHT / 2:.0f}"'
            f' width="{WIDTH}" height="{HEIGHT}" rx="5" fill="white" stroke="#0072B2"/>'
            f'<text x="{x:.0f}" y="{y - 3:.0f}" text-anchor="middle" font-weight="bold">{escape(first)}</text>'
            f'<text x="{x:.0f}" y="{y + 12:.0f}" text-anchor="middle">{escape(rest.split(chr(10))[0])}</text></g>'
        )
    return TapeDrawing("".join([*parts, "</svg>"]))


def _hover(t: Tensor) -> str:
    if isinstance(t.array, (list, tuple)):
        return f"{len(t.array)} outputs"
    lines = [f"shape {t.shape}, {t.dtype}", f"value {_text(t.numpy())}"]
    if t.grad is not None:
        lines.append(f"grad {_text(t.grad.numpy())}")
    return "\n".join(lines)


def _text(a: np.ndarray) -> str:
    return np.array2string(a, precision=4, threshold=HOVER_NUMBERS, edgeitems=2, suppress_small=True)
