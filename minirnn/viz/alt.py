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
"""The largest number of curves that are described one by one. Of more, only their number is given."""


def described(picture: Picture | Figure) -> str:
    """A description of the titles, axes and curves of a figure; for a cell's drawing, its formulas.

    Parameters
    ----------
    picture : Picture or Figure
        A finished drawing.

    Returns
    -------
    str
        One sentence each for the title, the axes with their quantities and ranges, and every labeled curve with its
        values at both ends.
    """
    if isinstance(picture, CellDrawing):
        return picture.alt
    figure = picture.figure if isinstance(picture, Picture) else picture
    heads = [] if figure.get_suptitle() == "" else [figure.get_suptitle()]
    parts = [_axes(ax) for ax in figure.axes if ax.get_label() != "<colorbar>"]
    bars = [f"Color: {label}" for ax in figure.axes if ax.get_label() == "<colorbar>" and (label := _label(ax))]
    return _clean(". ".join([*heads, *(part for part in parts if part), *bars]) + ".")


def _label(ax: Axes) -> str:
    return ax.get_ylabel() or ax.get_xlabel()


def _axes(ax: Axes) -> str:
    kind, things = _things(ax)
    if not kind and not ax.get_title():
        return ""
    said = [f"{kind}: {ax.get_title()}" if ax.get_title() and kind else ax.get_title() or kind]
    if ax.axison:
        said += [_axis(name, getattr(ax, f"get_{name}label")(), ax, name) for name in "xy"]
    return ". ".join([*(one for one in said if one), *things])


def _axis(name: str, label: str, ax: Axes, letter: str) -> str:
    low, high = sorted(getattr(ax, f"get_{letter}lim")())
    scale = ", logarithmic" if getattr(ax, f"get_{letter}scale")() == "log" else ""
    which = "Horizontal" if letter == "x" else "Vertical"
    return f"{which}: {label}, from {low:.3g} to {high:.3g}{scale}" if label else ""


def _things(ax: Axes) -> tuple[str, list[str]]:
    """The kind of a drawing, and a sentence for each labeled curve."""
    lines = [line for line in ax.get_lines() if np.size(line.get_xdata()) > 2]
    if ax.images or any(type(c).__name__ == "QuadMesh" for c in ax.collections):
        return "Heat map", []
    if lines:
        labeled = [line for line in lines if not str(line.get_label()).startswith("_")]
        if len(lines) > MOST:
            return f"Chart of {len(lines)} curves", []
        return "Line chart" if len(lines) > 1 else "Chart of one curve", [_curve(line) for line in labeled]
    if len(ax.patches) > 2 and not ax.axison:
        return f"Diagram of {len(ax.patches)} boxes", []
    if len(ax.patches) > 1:
        return f"Bar chart of {len(ax.patches)} bars", []
    if ax.collections:
        return "Chart of points", []
    return ("Diagram", []) if ax.texts else ("", [])


def _curve(line: Any) -> str:
    x, y = (np.asarray(values, float) for values in (line.get_xdata(), line.get_ydata()))
    finite = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    if not len(finite):
        return f"{line.get_label()}: no values"
    first, last = finite[0], finite[-1]
    return f"{line.get_label()}: {y[first]:.2g} at {x[first]:.3g}, {y[last]:.2g} at {x[last]:.3g}"


def _clean(text: str) -> str:
    """The text on one line, without the markup of mathematics."""
    return " ".join(text.replace("$", "").replace("\\", "").split()).replace("..", ".").replace("?.", "?")
