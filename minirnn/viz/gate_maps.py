"""The gates of every unit at every time step, as heat maps."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from minirnn.arguments.messages import shown
from minirnn.viz.colors import SIGNS, SIZES
from minirnn.viz.picture import Picture, as_numbers, new_figure, whole_steps
from minirnn.viz.text_colors import fonts_for

MEANING = {
    "i": "input gate",
    "f": "forget gate",
    "o": "output gate",
    "ci": "candidate",
    "co": "tanh of the cell state",
    "g": "candidate",
    "r": "reset gate",
    "u": "update gate",
    "z": "update gate",
    "c": "candidate",
    "n": "candidate",
    "h": "hidden state",
}
"""The names of gates and candidates in TensorFlow's ops, cuDNN and torch, with their meanings."""
CANDIDATES = ("ci", "co", "g", "c", "n", "h")
"""The names of values that are results of a tanh, from -1 to 1."""


def gate_map(
    gates: Mapping[str, Any],
    *,
    text: Sequence[str] | None = None,
    order: str | None = None,
    candidates: Collection[str] = CANDIDATES,
    states: Collection[str] = (),
    meaning: Mapping[str, str] = MEANING,
    most: int | None = None,
) -> Picture:
    """Draw the value of each gate, one row per unit and one column per time step.

    All maps have the same order of units, which are sorted by the mean over time of the gate `order`. Units that keep
    their state are therefore neighbors, and you can compare their other gates.

    Parameters
    ----------
    gates : mapping of str to array_like
        Values of each gate after its sigmoid or tanh while one sequence is read, (T, H): ``{"i": ..., "f": ...}``.
    text : sequence of str, optional
        The inputs of the T steps, for the axis: a str of T characters, or T words.
    order : str, optional
        The gate by whose mean the units are sorted, the largest at the top. The default is the forget or update gate
        (f, u or z) if there is one, else the first gate. "" keeps the order of the units.
    candidates : collection of str
        The names whose values are results of a tanh, from -1 to 1. All others are gates, from 0 to 1.
    states : collection of str
        The names of states, which have no limits. Their colors end at the largest magnitude.
    meaning : mapping of str to str
        The meaning of each name, for the titles.
    most : int, optional
        The number of units to show, at least 2. They are the first, the last, and evenly spaced units of this order.
        None shows all.

    Returns
    -------
    Picture
        ``ax``: (G,). ``data``: for each gate a row per unit and a column per step, as drawn, and "unit", the index of
        the unit in each row.
    """
    arrays = checked_gates(gates, candidates, states)
    T, H = next(iter(arrays.values())).shape
    shapes = {name: values.shape for name, values in arrays.items()}
    if len(set(shapes.values())) > 1:
        raise ValueError(f"gate_map: the gates have the shapes {shapes}\n  expected the same (T, H) for all")
    if text is not None and len(text) != T:
        raise ValueError(f"gate_map: text has {len(text)} characters\n  expected T = {T}, from gates (T, H) = {(T, H)}")
    if order is None:
        order = next((name for name in ("f", "u", "z") if name in arrays), next(iter(arrays)))
    if order and order not in arrays:
        raise ValueError(f"gate_map: order is {shown(order)}\n  expected one of {', '.join(arrays)}, or ''")
    unit = np.argsort(-np.nan_to_num(arrays[order]).mean(axis=0), kind="stable") if order else np.arange(H)
    if most is not None:
        if most < 2:
            raise ValueError(f"gate_map: most is {shown(most)}\n  expected 2 or more units, or None for all {H}")
        if most < H:
            unit = unit[np.linspace(0, H - 1, most).round().astype(int)]

    figure = new_figure(max(7.0, 1.2 + 0.125 * min(T, 80)), 0.6 + 1.9 * len(arrays))
    grid = figure.subplots(len(arrays), 1, squeeze=False)[:, 0]
    artists: dict[str, Any] = {}
    data = {name: values.T[unit] for name, values in arrays.items()}  # (units, T)
    for ax, (name, values) in zip(grid, data.items(), strict=True):
        signed = name in candidates or name in states
        high = float(np.abs(values[np.isfinite(values)]).max(initial=0)) or 1 if name in states else 1
        colors, low = (SIGNS, -high) if signed else (SIZES, 0)
        artists[name] = ax.imshow(values, cmap=colors, vmin=low, vmax=high, aspect="auto", interpolation="nearest")
        bar = ax.figure.colorbar(artists[name], ax=ax, pad=0.01, ticks=[low, 0, high] if signed else [0, 1])
        if name in states:
            bar.ax.set_yticklabels([f"{v:.3g}" for v in (low, 0, high)])
        ax.set_title(f"{name}: {meaning[name]}" if name in meaning else name)
        ax.set_ylabel("unit")
        ax.set_yticks(range(len(unit)) if most else [], unit if most else [], fontsize=7)
        ax.grid(False)
        if text is None:
            whole_steps(ax)
        else:
            families, drawn = fonts_for("".join(text))
            ax.set_xticks(range(T), list(drawn), fontsize=7, family=families)
            ax.tick_params(axis="x", length=0)
    order_said = f"; units sorted by the mean of {order}" if order else ""
    grid[-1].set_xlabel(("time step t" if text is None else "character read") + order_said)
    return Picture(grid, artists, data | {"unit": unit})


def checked_gates(gates: Any, candidates: Collection[str], states: Collection[str]) -> dict[str, np.ndarray]:
    """The checked gates as float64, (T, H). `states` have no limits."""
    if not isinstance(gates, Mapping):
        raise TypeError(f"gate_map: gates is a {type(gates).__name__}\n  expected a dict of (T, H) arrays by name")
    if not gates:
        raise ValueError("gate_map: no gates\n  expected a dict of (T, H) arrays by name")
    arrays = {}
    for name, values in gates.items():
        array = as_numbers("gate_map", f"gates[{name!r}]", values, 2, "(T, H), T and H at least 1")
        low, high = (-1, 1) if name in candidates else (0, 1)
        outside = np.isfinite(array) & ((array < low) | (array > high)) & (name not in states)
        if outside.any():
            cause = (
                "a cell state, or values before their tanh?" if low < 0 else "outputs of a tanh? name it in candidates"
            )
            raise ValueError(
                f"gate_map: gates[{name!r}] contains {array[outside][0]:g}\n  expected {low} .. {high}\n  {cause}"
            )
        arrays[name] = array
    return arrays
