"""Small HTML for notebooks, without scripts or images: a line of facts and, for numbers, a heat map."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any, TypeVar

import numpy as np

ROWS, COLUMNS = 16, 32
"""The largest number of cells that are shown. Of a larger array, only every n-th row and column is shown, and the text
says so.
"""
STYLE = "font-family:monospace;font-size:12px;line-height:1.4"


Outputs = TypeVar("Outputs")


def block(facts: str, picture: str = "") -> str:
    """A line of facts with a picture below it."""
    return f'<div style="{STYLE}">{escape(facts)}{picture}</div>'


def table(rows: Iterable[tuple[str, str]]) -> str:
    """A table of names with their HTML, which is already escaped or comes from `block`."""
    cells = "".join(
        f'<tr><td style="vertical-align:top;text-align:left"><b>{escape(name)}</b></td>'
        f'<td style="text-align:left">{what}</td></tr>'
        for name, what in rows
    )
    return f'<table style="{STYLE};border-collapse:collapse">{cells}</table>'


def summary(values: np.ndarray) -> str:
    """The smallest, mean and largest value, and the number of values that are not finite."""
    if not values.size or values.dtype.kind not in "fiu":
        return ""
    finite = values[np.isfinite(values)].astype(np.float64)
    text = f"min {finite.min():.4g}, mean {finite.mean():.4g}, max {finite.max():.4g}" if finite.size else ""
    broken = values.size - finite.size
    return text + (f"{', ' if text else ''}{broken} not finite" if broken else "")


def heat_map(values: np.ndarray) -> str:
    """The values as colored cells: blue below zero, white at zero, red above; gray is not finite.

    If there are more than two axes, the first entries of the others are taken: ``values[0, ..]``.
    """
    if values.ndim < 1 or not values.size or values.dtype.kind not in "fiu":
        return ""
    index = (0,) * (values.ndim - 2)
    flat = np.atleast_2d(values[index]).astype(np.float64)
    every = -(-flat.shape[0] // ROWS), -(-flat.shape[1] // COLUMNS)
    shown = flat[:: every[0], :: every[1]]
    finite = shown[np.isfinite(shown)]
    largest = float(np.abs(finite).max()) if finite.size and np.abs(finite).max() > 0 else 1.0
    cell = "width:9px;height:9px;padding:0;border:0;background:{}"
    rows = "".join(
        "<tr>" + "".join(f'<td style="{cell.format(_color(v / largest))}" title="{v:.4g}"></td>' for v in row) + "</tr>"
        for row in shown
    )
    notes = []
    if index:
        notes.append(f"values[{', '.join('0' for _ in index)}]")
    if every != (1, 1):
        notes.append(f"one row of {every[0]} and one column of {every[1]} shown")
    note = f'<div style="color:#777">{escape("; ".join(notes))}</div>' if notes else ""
    return f'<table style="border-collapse:collapse;margin:3px 0">{rows}</table>{note}'


def _color(share: float) -> str:
    if not np.isfinite(share):
        return "#999"
    pale = round(255 * (1 - min(1.0, abs(share)) ** 0.7))
    return f"rgb(255,{pale},{pale})" if share > 0 else f"rgb({pale},{pale},255)"


def of_array(name: str, values: np.ndarray, facts: Any = "") -> str:
    """An array with a name, its shape, dtype and other facts."""
    said = ", ".join(
        str(part) for part in (f"{name}{tuple(values.shape)}", values.dtype, facts, summary(values)) if str(part)
    )
    return block(said, heat_map(values))


def outputs(self: Any) -> str:
    """``_repr_html_`` of a named tuple of Tensors: a row for each output."""
    rows = []
    for name, t in zip(type(self)._fields, self, strict=True):
        said = getattr(t, "_repr_html_", None)
        rows.append((name, said() if said is not None else block(repr(t))))
    return f"<b>{escape(type(self).__name__)}</b>{table(rows)}"


def shows_outputs(outputs_of_an_op: type[Outputs]) -> type[Outputs]:
    """A decorator for named tuples of Tensors: notebooks show each output in its own row."""
    outputs_of_an_op._repr_html_ = outputs  # type: ignore[attr-defined]
    return outputs_of_an_op
