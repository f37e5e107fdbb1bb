"""The growth of rounding errors along a sequence, compared with float64."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from minirnn.viz.colors import BLUE, GREEN, ORANGE
from minirnn.viz.picture import Picture, as_series, axes_or_new, whole_steps

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SPACING = {"float32": 2.0**-23, "float16": 2.0**-10}


def precision_over_time(
    values: Mapping[str, Any], exact: Any, *, quantity: str = "h", ax: Axes | None = None
) -> Picture:
    """Draw the error of a sequence in lower precisions, compared with float64, at each step.

    Parameters
    ----------
    values : mapping of str to array_like
        Name, such as "float32" -> (T, ...), the sequence computed in that precision.
    exact : array_like
        (T, ...), the same in float64.
    quantity : str
        The name of the quantity, for the labels.
    ax : Axes, optional
        Where to draw; None makes a new figure.

    Returns
    -------
    Picture
        ``data``: for each name the largest error of each step, divided by the largest exact value, (T,). ``artists``: a
        line by name. Dashed lines show the spacing of the numbers of that type.

    Raises
    ------
    ValueError
        If shapes differ, or there is no time axis.
    """
    if not isinstance(values, Mapping):
        what = type(values).__name__
        raise TypeError(f"precision_over_time: values is a {what}\n  expected a dict of (T, ...) arrays by name")
    flat, shape = as_series("precision_over_time", "exact", exact), np.shape(exact)
    if not values:
        raise ValueError("precision_over_time: values is empty\n  expected a dict of (T, ...) arrays by name")
    scale = np.abs(flat).max() or 1.0
    data: dict[str, np.ndarray] = {}
    for name, v in values.items():
        if np.shape(v) != shape:
            raise ValueError(f"precision_over_time: {name} has shape {np.shape(v)}\n  expected {shape}, that of exact")
        data[name] = np.abs(np.asarray(v, dtype=np.float64).reshape(flat.shape) - flat).max(axis=1) / scale
    ax = axes_or_new("precision_over_time", ax, 8, 3.2)
    artists = {}
    for (name, error), color in zip(data.items(), (BLUE, ORANGE, GREEN), strict=False):
        (artists[name],) = ax.plot(np.maximum(error, 1e-18), color=color, marker=".", markersize=4, label=name)
        if name in SPACING:
            ax.axhline(SPACING[name], color=color, linestyle="--", linewidth=1, alpha=0.7)
    ax.set_yscale("log")
    ax.set_title(f"How does rounding grow along the sequence?   ({quantity} against float64)")
    ax.set_xlabel("time step t        dashed: spacing of the numbers of that type")
    ax.set_ylabel("largest error of the step\n/ largest value")
    whole_steps(ax)
    ax.legend(frameon=False, fontsize="small")
    return Picture(ax, artists, data)
