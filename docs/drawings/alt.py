"""Descriptions of figures in words for people who cannot see them, for the attribute ``alt`` of an image."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from minirnn.viz.cell.drawing import CellDrawing
from minirnn.viz.picture import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 8
"""The largest number of curves or bars that are described one by one. If there are more, only their number is given."""
BOXES = 16
"""The largest number of boxes, and of arrows, whose text is in the description of a drawing."""


def described(picture: Picture | Figure) -> str:
    """A description of the titles, axes and curves of a figure; for a cell's drawing, its formulas."""
    if isinstance(picture, CellDrawing):
        return picture.alt
    figure = picture.figure if isinstance(picture, Picture) else picture
    heads = [] if figure.get_suptitle() == "" else [figure.get_suptitle()]
    parts = [_axes(ax) for ax in figure.axes if ax.get_label() != "<colorbar>"]
    bars = [f"Color: {label}" for ax in figure.axes if ax.get_label() == "<colorbar>" and (label := _label(ax))]
    if isinstance(picture, Picture) and {"labels", "edges"} <= picture.data.keys():
        names = [str(label).split("\n")[0] for label in picture.data["labels"]]
        bars.append(f"Arrows: {_some([f'{names[a]} to {names[b]}' for a, b in picture.data['edges']])}")
    return _clean(". ".join(part.rstrip(". ") for part in [*heads, *parts, *dict.fromkeys(bars)] if part) + ".")


def _label(ax: Axes) -> str:
    return ax.get_ylabel() or ax.get_xlabel()


def _title(ax: Axes) -> str:
    return ax.get_title() or ax.get_title(loc="left")


def _axes(ax: Axes) -> str:
    kind, things = _things(ax)
    title = _title(ax)
    if not kind and not title:
        return ""
    said = [f"{kind}: {title}" if title and kind else title or kind]
    if ax.axison:
        said += [_axis(name, getattr(ax, f"get_{name}label")(), ax, name) for name in "xy"]
    return ". ".join(one.rstrip(". ") for one in [*said, *things] if one)


def _axis(name: str, label: str, ax: Axes, letter: str) -> str:
    low, high = sorted(getattr(ax, f"get_{letter}lim")())
    scale = ", logarithmic" if getattr(ax, f"get_{letter}scale")() == "log" else ""
    which = "Horizontal" if letter == "x" else "Vertical"
    return f"{which}: {label}, from {low:.3g} to {high:.3g}{scale}" if label else ""


def _things(ax: Axes) -> tuple[str, list[str]]:
    """The kind of a drawing, and a sentence for each of its curves, bars, rows or boxes."""
    from matplotlib.container import BarContainer

    lines = [line for line in ax.get_lines() if np.size(line.get_xdata()) > 2]
    lines = [line for line in lines if line.get_linestyle() != "None" or not str(line.get_label()).startswith("_")]
    bars = [one for one in ax.containers if isinstance(one, BarContainer)]
    meshes = [*ax.images, *(c for c in ax.collections if type(c).__name__ == "QuadMesh")]
    texts = [text.get_text().replace("\n", " ").strip() for text in ax.texts]
    texts = [text for text in texts if text]
    if meshes:
        return "Heat map", _rows(ax, meshes[0])
    if not ax.axison or (ax.patches and not bars and not lines):
        return "Drawing", [f"It shows {_some(texts)}"] if texts else []
    if lines:
        labeled = [line for line in lines if not str(line.get_label()).startswith("_")]
        if len(lines) > MOST:
            return f"Chart of {len(lines)} curves", _bars(ax, bars)
        kind = "Line chart" if len(lines) > 1 else "Chart of one curve"
        return kind, [_curve(line) for line in labeled] + _bars(ax, bars)
    if bars:
        return f"Bar chart of {sum(len(one) for one in bars)} bars", _bars(ax, bars)
    if ax.collections:
        return "Chart of points", []
    return ("Drawing", [f"It shows {_some(texts)}"]) if texts else ("", [])


def _some(texts: list[str]) -> str:
    more = len(texts) - BOXES
    return ", ".join(texts[:BOXES]) + (f" and {more} more" if more > 0 else "")


def _names(ax: Axes, letter: str) -> dict[float, str]:
    """The labels of the ticks of an axis, if they are more than the tick positions."""
    axis = ax.xaxis if letter == "x" else ax.yaxis
    found = dict(zip(axis.get_ticklocs(), (label.get_text() for label in axis.get_ticklabels()), strict=False))
    return {float(at): text for at, text in found.items() if text and "math" not in text and text != f"{at:g}"}


def _bars(ax: Axes, bars: list[Any]) -> list[str]:
    """Each bar if there are few and they have names, else the largest of each color."""
    said = []
    for one in bars:
        upright = one.orientation != "horizontal"
        at = [bar.get_x() + bar.get_width() / 2 if upright else bar.get_y() + bar.get_height() / 2 for bar in one]
        sizes = [bar.get_height() if upright else bar.get_width() for bar in one]
        names = _names(ax, "x" if upright else "y")
        called = [names.get(round(place, 6), f"{place:.3g}") for place in at]
        if len(bars) == 1 and 1 < len(one) <= MOST:
            said += [f"{name}: {size:.3g}" for name, size in zip(called, sizes, strict=True)]
        elif len(one) > 1 and not str(one.get_label()).startswith("_"):
            said.append(f"{one.get_label()}: at most {max(sizes):.2g}, at {called[int(np.argmax(sizes))]}")
    return said


def _rows(ax: Axes, mesh: Any) -> list[str]:
    """The first and the last value of each row of a heat map whose rows have names, else the range of its values."""
    values = np.ma.masked_invalid(mesh.get_array())
    if values.ndim == 1 and hasattr(mesh, "get_coordinates"):
        rows, columns = np.subtract(mesh.get_coordinates().shape[:2], 1)
        values = values.reshape(rows, columns) if values.size == rows * columns else values
    if values.count() == 0:
        return []
    names = _names(ax, "y")
    if values.ndim != 2 or not 1 <= len(names) <= MOST or len(names) != len(values):
        return [f"Values from {values.min():.2g} to {values.max():.2g}"]
    ordered = [names[at] for at in sorted(names)]
    ends = [(row.compressed()[[0, -1]] if row.count() else None) for row in values]
    return [
        f"{name}: no values" if found is None else f"{name}: {found[0]:.2g} at the left, {found[1]:.2g} at the right"
        for name, found in zip(ordered, ends, strict=True)
    ]


def _curve(line: Any) -> str:
    x, y = (np.asarray(values, float) for values in (line.get_xdata(), line.get_ydata()))
    finite = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    if not len(finite):
        return f"{line.get_label()}: no values"
    first, last = finite[0], finite[-1]
    return f"{line.get_label()}: {y[first]:.2g} at {x[first]:.3g}, {y[last]:.2g} at {x[last]:.3g}"


def _clean(text: str) -> str:
    """The text on one line, without math markup."""
    return " ".join(text.replace("$", "").replace("\\", "").split()).replace("?.", "?")
