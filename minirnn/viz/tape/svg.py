"""The tape for notebooks: an inline SVG whose boxes show values and gradients when the mouse rests on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

import numpy as np

from minirnn.engine.tensor import Tensor
from minirnn.viz.tape.graph import tape_graph, tape_nodes

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

    The gradients of leaves are shown after ``backward()``, and those of values with ``retain_grad()``.

    Parameters
    ----------
    output, names
        What to draw and what to call it, as for `tape_graph`.
    max_nodes : int
        A tape with more is drawn by kinds of op, without values.

    Returns
    -------
    TapeDrawing

    Raises
    ------
    TypeError
        If `output` is no Tensor.
    """
    picture = tape_graph(output, names=names, max_nodes=max_nodes)
    nodes = tape_nodes(output)
    places = {int(k): text.get_position() for k, text in picture.artists.items()}
    top = max(y for _, y in places.values())
    at = {k: (20 + WIDTH / 2 + x * COLUMN, 45 + HEIGHT / 2 + (top - y) * ROW) for k, (x, y) in places.items()}
    hover = [_hover(t) for t in nodes] if len(nodes) == len(at) else [""] * len(at)
    right = max(x for x, _ in at.values()) + WIDTH / 2 + 20
    bottom = max(y for _, y in at.values()) + HEIGHT / 2 + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {right:.0f} {bottom:.0f}" width="{right:.0f}"'
        ' style="max-width:100%;font:11px sans-serif">'
    ]
    for a, b in picture.data["edges"]:
        (x0, y0), (x1, y1) = at[int(a)], at[int(b)]
        bend = -1.6 * HEIGHT if x1 - x0 > 1.5 * COLUMN else 0  # around the boxes between
        start, end = x0 + WIDTH / 2, x1 - WIDTH / 2
        parts.append(
            f'<path d="M{start:.0f},{y0:.0f} C{start + 30:.0f},{y0 + bend:.0f} {end - 30:.0f},{y1 + bend:.0f}'
            f' {end:.0f},{y1:.0f}" fill="none" stroke="#777"/>'
        )
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
