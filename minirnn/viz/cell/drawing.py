"""Draws a cell. The upper half shows how a step computes its values, the lower half how gradients go back."""

from __future__ import annotations

import base64
import html
import math
from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from minirnn.arguments.messages import shown
from minirnn.cells.cell import Formulas
from minirnn.ops.cudnn_rnn.cells import CELLS
from minirnn.ops.gru_block.cells import gru_block
from minirnn.ops.lstm_block.cells import lstm_block_peephole
from minirnn.viz.cell.graph import FACTOR, GATE, NEW, STATE, Graph, backward, forward
from minirnn.viz.colors import BLUE, RED
from minirnn.viz.picture import Picture, new_axes, render
from minirnn.viz.tape.layout import Edge, arranged

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.path import Path
    from matplotlib.transforms import Bbox

NAMED: dict[str, Formulas] = {
    **CELLS, "gru_block_cell": gru_block, "lstm_block_cell": lstm_block_peephole.with_constants(cell_clip=math.inf)
}  # fmt: skip
"""The modes of `cudnn_rnn` and the ops of single steps. `lstm_block_cell` has peepholes."""
SIZE = 9.5
"""Font size in points."""
PAD = 0.075
"""The space between a formula and its box, in inches."""
MARGIN, BETWEEN, HEADING = 0.08, 0.2, 0.26
GAP, ROW = 0.3, 0.36
"""The space between two columns, and between boxes of a column."""

Point = tuple[float, float]
Way = list[tuple[Point, Point]]
"""A line in pieces. It is horizontal from a to b where it passes a column, and then curves to the next piece."""


class Box(NamedTuple):
    x: float
    y: float
    """The height of its middle."""
    width: float
    height: float


class Places(NamedTuple):
    boxes: list[Box]
    ways: dict[Edge, Way]
    width: float
    height: float


class Palette(NamedTuple):
    paper: str
    ink: str
    forward: str
    backward: str
    fill: dict[str, str]
    plain: str


LIGHT = Palette("white", "#1a1a1a", BLUE, RED, {GATE: "#FFF3D6", STATE: "#ECECEC", NEW: "#DDF1E8"}, "white")
DARK = Palette(
    "#14181e", "#f0f0f0", "#56B4E9", "#E8894A", {GATE: "#4a3b12", STATE: "#3a3f47", NEW: "#12463a"}, "#1f252d"
)


@dataclass(frozen=True, repr=False)
class CellDrawing(Picture):
    """A `Picture` of a cell, with a description for people who cannot see it.

    Attributes
    ----------
    alt : str
        The description, for the attribute ``alt`` of an HTML image.
    cell : Formulas
        The cell, so that it can be drawn again for another page.
    """

    alt: str
    cell: Formulas

    def _repr_html_(self) -> str:
        data = base64.b64encode(render(self.figure, "svg", 72)).decode()
        alt = html.escape(self.alt, quote=True)
        return f'<img alt="{alt}" style="max-width:100%" src="data:image/svg+xml;base64,{data}">'


def cell_graph(cell: Formulas | str, *, dark: bool = False) -> CellDrawing:
    """Draw a recurrent cell as a graph, with the paths of its gradient.

    The upper half shows the inputs and values of a step from left to right, with a box for each named value. The lower
    half shows the gradients from right to left. A gradient that goes along an arrow is multiplied by the factor written
    on it, and gradients that arrive at a box are added. These are the lines that `backward_formulas` prints. Green
    boxes are the new states and their gradients, yellow ones gates, and gray ones states before the step. An arrow in a
    name marks a gradient that is carried from step to step. R is the recurrent matrix, and U1, U2 are the matrices of
    `product`. Built-in cells have the letters of the book.

    Parameters
    ----------
    cell : Cell or str
        A cell from `minirnn.cell`, or the name of one of minirnn's: "rnn_tanh", "rnn_relu", "lstm", "gru",
        "gru_block_cell", "lstm_block_cell".
    dark : bool
        Whether the picture is for a dark page.

    Returns
    -------
    CellDrawing
        ``alt``: the picture in words. ``data``: "forward" and "backward", the boxes (n, 4) with x and y of the middle,
        width and height, in inches; "forward edges" and "backward edges" (m, 2). ``artists``: the boxes by the same
        names.
    """
    if isinstance(cell, str):
        if cell not in NAMED:
            raise ValueError(f"cell_graph: cell is {shown(cell)}\n  expected one of {', '.join(NAMED)}")
        cell = NAMED[cell]
    if not isinstance(cell, Formulas):
        raise TypeError(
            f"cell_graph: cell is a {type(cell).__name__}\n  expected a cell, or one of {', '.join(NAMED)}\n"
            "  @minirnn.cell turns a function into a cell; a layer has its cell as layer.cell"
        )
    if cell.step.keys is not None:
        raise ValueError(
            f"cell_graph: {cell.__name__} has keys\n  expected one whose values are (H,); see cell.latex()"
        )
    colors = DARK if dark else LIGHT
    parts = [(forward(cell), False), (backward(cell), True)]
    layouts = [placed([_size(t, k) for t, k in zip(g.labels, g.kinds, strict=True)], g.edges) for g, _ in parts]
    width = max(p.width for p in layouts) + 2 * MARGIN
    height = sum(p.height + HEADING for p in layouts) + BETWEEN + 2 * MARGIN
    ax = new_axes(width, height)
    ax.figure.set_layout_engine("none")  # type: ignore[union-attr]
    ax.set_position((0, 0, 1, 1))
    ax.figure.set_facecolor(colors.paper)
    ax.set(xlim=(0, width), ylim=(0, height), aspect="equal")
    ax.set_axis_off()
    artists: dict[str, Any] = {}
    data: dict[str, np.ndarray] = {}
    top = height - MARGIN
    for (g, back), p in zip(parts, layouts, strict=True):
        name = "backward" if back else "forward"
        line = colors.backward if back else colors.forward
        said = "Backward, from right to left" if back else "Forward, from left to right"
        _write(ax, said, (MARGIN, top - HEADING / 2), line, bold=True)
        shift = (width - p.width) / 2, top - HEADING - p.height
        places = _moved(p, shift, width if back else None)
        artists[name] = _draw(ax, g, places, line, colors)
        data[name], data[f"{name} edges"] = np.array(places.boxes), np.array(g.edges).reshape(-1, 2)
        top -= HEADING + p.height + BETWEEN
    return CellDrawing(ax, artists, data, _in_words(cell), cell)


def _moved(p: Places, by: tuple[float, float], mirror: float | None) -> Places:
    def at(point: tuple[float, float]) -> tuple[float, float]:
        x = point[0] + by[0]
        return (x if mirror is None else mirror - x), point[1] + by[1]

    boxes = [box._replace(**dict(zip("xy", at((box.x, box.y)), strict=True))) for box in p.boxes]
    ways = {e: [(at(a), at(b)) for a, b in way] for e, way in p.ways.items()}
    return p._replace(boxes=boxes, ways=ways)


@lru_cache(maxsize=512)
def _outline(text: str, bold: bool = False) -> tuple[Path, Bbox]:
    """A text as outlines, and their box, in inches. Formulas are between dollar signs."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath
    from matplotlib.transforms import Affine2D

    font = FontProperties(family="DejaVu Sans", weight="bold" if bold else "normal", math_fontfamily="cm")
    path: Path = TextPath((0, 0), text, size=SIZE - 0.5 * bold, prop=font)
    path = path.transformed(Affine2D().scale(1 / 72))
    return path, path.get_extents()


def _math(label: str) -> str:
    return f"${label}$".replace(r"\left(", "(").replace(r"\right)", ")").replace(r"\odot", r"\;")


def _size(label: str, kind: str) -> tuple[float, float]:
    _, box = _outline(_math(label))
    return box.width + 2 * PAD, max(box.height + 1.3 * PAD, 0.17 if kind == FACTOR else 0.23)


def _write(ax: Axes, text: str, at: tuple[float, float], color: str, bold: bool = False) -> None:
    """Write a heading to the right of a point, or a formula around it."""
    from matplotlib.patches import PathPatch
    from matplotlib.transforms import Affine2D

    path, box = _outline(text, bold)
    x = at[0] - (box.x0 if bold else (box.x0 + box.x1) / 2)
    moved = path.transformed(Affine2D().translate(x, at[1] - (box.y0 + box.y1) / 2))
    # add_patch would measure every letter, which is not needed because the limits of the axes are fixed.
    ax.add_artist(PathPatch(moved, facecolor=color, edgecolor="none", zorder=4))


def _draw(ax: Axes, g: Graph, places: Places, line: str, colors: Palette) -> list[Any]:
    from matplotlib.patches import FancyBboxPatch

    for (_, b), way in places.ways.items():
        _arrow(ax, way, line, head=g.kinds[b] != FACTOR)
    boxes = []
    for box, label, kind in zip(places.boxes, g.labels, g.kinds, strict=True):
        factor = kind == FACTOR
        patch = FancyBboxPatch(
            (box.x - box.width / 2, box.y - box.height / 2), box.width, box.height,
            boxstyle=f"round,pad=0,rounding_size={box.height / 2 if factor else 0.05}",
            facecolor=colors.paper if factor else colors.fill.get(kind, colors.plain),
            edgecolor=line if factor else colors.ink, linewidth=0.7 if factor else 0.9, zorder=3,
        )  # fmt: skip
        boxes.append(ax.add_patch(patch))
        _write(ax, _math(label), (box.x, box.y), colors.ink)
    return boxes


def _arrow(ax: Axes, way: Way, color: str, head: bool) -> None:
    from matplotlib.patches import FancyArrowPatch, PathPatch
    from matplotlib.path import Path

    points, codes = [way[0][0]], [Path.MOVETO]
    for k, (start, end) in enumerate(way):
        if k:
            x0, y0 = points[-1]
            middle = (x0 + start[0]) / 2
            points += [(middle, y0), (middle, start[1]), start]
            codes += [Path.CURVE4] * 3
        points.append(end)
        codes.append(Path.LINETO)
    ax.add_patch(PathPatch(Path(points, codes), facecolor="none", edgecolor=color, linewidth=1.1, zorder=1))
    if head:
        (x, y), away = points[-1], 1 if points[-1][0] >= points[0][0] else -1
        ends = (x - 0.09 * away, y), (x, y)
        tip = FancyArrowPatch(*ends, arrowstyle="-|>", mutation_scale=7, color=color, shrinkA=0, shrinkB=0, zorder=2)
        ax.add_patch(tip)


def _in_words(cell: Formulas) -> str:
    lines = "; ".join(cell.backward_formulas(products=False).splitlines())
    step = "; ".join(cell.forward_formulas().splitlines())
    return (
        f"The cell {cell.__name__} as a graph in two parts. Forward, from left to right: {step}. "
        f"Backward, from right to left, with the factor on each arrow: {lines}."
    )


def placed(sizes: list[Point], edges: list[Edge]) -> Places:
    """The places of boxes of these widths and heights in inches, from left to right. The lower left corner is (0, 0).

    Columns are as wide as their widest box. An arrow passes a column horizontally, so that no line runs behind a box.
    """
    found = arranged(len(sizes), edges)
    columns = [int(c) for c, _ in found.boxes]
    widths: dict[int, float] = defaultdict(float)
    for c, (width, _) in zip(columns, sizes, strict=True):
        widths[c] = max(widths[c], width)
    lefts, left = {}, 0.0
    for c in range(min(columns), max(columns) + 1):
        lefts[c] = left
        left += widths[c] + GAP
    row = max(ROW, max(height for _, height in sizes) + 0.08)
    every = [y for _, y in found.boxes] + [y for way in found.ways.values() for _, y in way]
    low, high = min(every) * row - row / 2, max(every) * row + row / 2
    boxes = [
        Box(lefts[c] + widths[c] / 2, y * row - low, *size)
        for c, (_, y), size in zip(columns, found.boxes, sizes, strict=True)
    ]
    ways = {}
    for a, b in edges:
        source, target = boxes[a], boxes[b]
        pieces = [((source.x + source.width / 2, source.y), (lefts[columns[a]] + widths[columns[a]], source.y))]
        for column, y in found.ways.get((a, b), []):
            level, edge = y * row - low, lefts[int(column)]
            pieces.append(((edge, level), (edge + widths[int(column)], level)))
        pieces.append(((lefts[columns[b]], target.y), (target.x - target.width / 2, target.y)))
        ways[a, b] = pieces
    return Places(boxes, ways, left - GAP, high - low)
