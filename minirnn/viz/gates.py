"""The activity of gates over time: how open they are, and how many are saturated."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from minirnn.viz.colors import BLUE, GRAY, GREEN, ORANGE, PURPLE
from minirnn.viz.picture import Picture, as_numbers, check_grid, new_figure, whole_steps

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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


def gate_activity(
    gates: Mapping[str, Any],
    *,
    candidates: Collection[str] = CANDIDATES,
    meaning: Mapping[str, str] = MEANING,
    axes: Any | None = None,
) -> Picture:
    """Draw, for each gate and time step, the values (left) and the share of saturated ones (right).

    A gate y = sigmoid(z) has the derivative y (1 - y): 0.25 at y = 0.5, below 0.09 when y < 0.1 or y > 0.9. Such a gate
    is *saturated*. Hardly any gradient passes through it, so training changes it slowly. The same holds for a tanh
    beyond 0.9 on either side (derivative 1 - y^2 < 0.19, at most 1).

    Parameters
    ----------
    gates : mapping of str to array_like
        Values of each gate after its sigmoid or tanh, (T, B, H): ``{"i": ..., "f": ..., "o": ..., "ci": ...}``.
    candidates : collection of str
        The names whose values are results of a tanh, from -1 to 1. All others are gates, from 0 to 1.
    meaning : mapping of str to str
        The meaning of each name, for the titles.
    axes : array of Axes, optional
        (G, 2) for G gates; None makes a new figure.

    Returns
    -------
    Picture
        ``ax``: (G, 2). ``data``, (T,) for each gate f: "f.mean", "f.low" and "f.high" (10 % and 90 % of the values lie
        below), "f.closed" and "f.open" (shares below 0.1 and above 0.9) or, for candidates, "f.saturated" (share
        beyond 0.9 on either side). NaN at steps with values that are not finite.

    Raises
    ------
    ValueError
        No gates, a shape that is not (T, B, H), different T, values outside the range, or axes not (G, 2).
    """
    arrays = {
        name: _steps(values) for name, values in checked_gates("gate_activity", gates, candidates, ndim=3).items()
    }
    lengths = {name: len(values) for name, values in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"gate_activity: the gates have {lengths} time steps\n  expected one T for all, in (T, B, H)")

    grid = _grid(len(arrays), axes)
    artists: dict[str, Any] = {}
    data: dict[str, np.ndarray] = {}
    for (left, right), (name, values) in zip(grid, arrays.items(), strict=True):
        _draw_values(left, name, values, name in candidates, artists, data)
        told = f"{name}: {meaning[name]}" if name in meaning else name
        left.set_title(told + left.get_title())
        _draw_saturation(right, name, values, name in candidates, artists, data)
    for ax in grid[-1]:
        ax.set_xlabel("time step t")
    _legend(grid, own_figure=axes is None)
    return Picture(grid, artists, data)


def checked_gates(
    function: str, gates: Any, candidates: Collection[str], ndim: int, states: Collection[str] = ()
) -> dict[str, np.ndarray]:
    """The checked gates as float64: (T, B, H) if `ndim` is 3, (T, H) if it is 2. `states` have no limits."""
    letters = "(T, B, H)" if ndim == 3 else "(T, H)"
    if not isinstance(gates, Mapping):
        raise TypeError(f"{function}: gates is a {type(gates).__name__}\n  expected a dict of {letters} arrays by name")
    if not gates:
        raise ValueError(f"{function}: no gates\n  expected a dict of {letters} arrays by name")
    sizes = "T, B and H" if ndim == 3 else "T and H"
    arrays = {}
    for name, values in gates.items():
        array = as_numbers(function, f"gates[{name!r}]", values, ndim, f"{letters}, {sizes} at least 1")
        low, high = (-1, 1) if name in candidates else (0, 1)
        outside = np.isfinite(array) & ((array < low) | (array > high)) & (name not in states)
        if outside.any():
            cause = (
                "a cell state, or values before their tanh?" if low < 0 else "outputs of a tanh? name it in candidates"
            )
            raise ValueError(
                f"{function}: gates[{name!r}] contains {array[outside][0]:g}\n  expected {low} .. {high}\n  {cause}"
            )
        arrays[name] = array
    return arrays


def _steps(array: np.ndarray) -> np.ndarray:
    """(T, B, H) -> (T, B*H). One NaN or infinity makes its whole step NaN, which leaves a gap in the curves."""
    array[~np.isfinite(array).all(axis=(1, 2))] = np.nan
    return array.reshape(len(array), array[0].size)


def _grid(G: int, axes: Any) -> np.ndarray:
    if axes is None:
        figure = new_figure(9, 0.9 + 1.55 * G)
        figure.suptitle("How open are the gates (left), and how many are saturated (right)?")
        return figure.subplots(G, 2, sharex=True, squeeze=False)
    return check_grid("gate_activity", axes, (G, 2), f"(G, 2) = ({G}, 2), two for each gate")


def _draw_values(ax: Axes, name: str, y: np.ndarray, candidate: bool, artists: dict, data: dict) -> None:
    t = np.arange(len(y))
    mean = y.mean(axis=1)
    low, high = np.quantile(y, [0.1, 0.9], axis=1)
    data.update({f"{name}.mean": mean, f"{name}.low": low, f"{name}.high": high})
    artists[f"{name}.band"] = ax.fill_between(t, low, high, color=BLUE, alpha=0.25, lw=0, label="10 to 90 % of values")
    (artists[f"{name}.mean"],) = ax.plot(t, mean, color=BLUE, lw=1.5, marker=_marker(t), label="mean")
    for level in (-0.9, 0.9) if candidate else (0.1, 0.9):
        ax.axhline(level, color=GRAY, ls=":", lw=0.8)
    ax.set_ylim((-1.05, 1.05) if candidate else (-0.03, 1.03))
    whole_steps(ax)
    ax.set_ylabel("value")
    if (broken := np.isnan(mean)).any():
        ax.set_title(f" (NaN or infinite from step {broken.argmax()})")


def _draw_saturation(ax: Axes, name: str, y: np.ndarray, candidate: bool, artists: dict, data: dict) -> None:
    if candidate:
        shares = {"saturated": (np.abs(y) > 0.9, "below -0.9 or above 0.9", PURPLE, "-")}
    else:
        shares = {
            "closed": (y < 0.1, "closed: below 0.1", ORANGE, "--"),
            "open": (y > 0.9, "open: above 0.9", GREEN, "-"),
        }
    t = np.arange(len(y))
    for kind, (stuck, label, color, dashes) in shares.items():
        share = np.where(np.isnan(y[:, 0]), np.nan, stuck.mean(axis=1))  # (T,)
        data[f"{name}.{kind}"] = share
        (line,) = ax.plot(t, 100 * share, color=color, ls=dashes, lw=1.5, marker=_marker(t), label=label)
        artists[f"{name}.{kind}"] = line
    whole_steps(ax)
    ax.set_ylim(-3, 103)
    ax.set_ylabel("saturated (%)")


def _marker(t: np.ndarray) -> str:
    return "o" if len(t) == 1 else ""  # a line needs more than one step


def _legend(grid: np.ndarray, own_figure: bool) -> None:
    """Draw one legend for lines and bands: below a new figure, or in the first of the user's panels that has them."""
    seen: dict[str, Any] = {}
    for ax in grid.flat:
        new = {
            label: handle for handle, label in zip(*ax.get_legend_handles_labels(), strict=True) if label not in seen
        }
        seen.update(new)
        if new and not own_figure:
            ax.legend(new.values(), new.keys(), loc="upper right", fontsize="small", framealpha=0.85)
    if own_figure:
        grid[0, 0].figure.legend(
            seen.values(), seen.keys(), loc="outside lower center", ncols=len(seen), fontsize="small"
        )
