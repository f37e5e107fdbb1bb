"""The cost of each rung of the CudnnRNN ladder, drawn from the counts of ``python -m scripts.gpu.ladder --json``."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from minirnn.viz.colors import BLUE, GREEN, ORANGE, RED
from minirnn.viz.picture import Picture, new_figure

STYLES: dict[str, dict[str, Any]] = {
    "steps": {"color": ORANGE, "marker": "o"},
    "steps, recorded": {"color": RED, "marker": "D", "markerfacecolor": "white"},
    "barrier": {"color": GREEN, "marker": "^"},
    "persistent": {"color": BLUE, "marker": "s"},
}
"""The line style of each rung."""
ASIDE = 0.075
"""The shift of marks at the same place, relative to the distance between places, so that no mark hides another."""
QUANTITIES = {
    "bytes": ("product bytes", "kernel bytes", "gathered"),
    "launches": ("launches",),
    "barriers": ("block barriers",),
}
"""The quantity of a row of panels -> the counts of the report that are added up for it."""
LABELS = {"bytes": "bytes moved", "launches": "launches by the host", "barriers": "barriers of blocks"}
AXES = {"T": "time steps T", "B": "rows of the batch B", "H": "units H (= inputs I)"}
TITLES = {
    "T": "longer: $\\bf{steps}$ launches kernels\nand reads R again at each step",
    "B": "more rows: the same weights,\nbut more states to move",
    "H": "more units: R grows as H²,\nand $\\bf{steps}$ reads it T times",
}


def ladder_counts(report: Path, which: str = "forward") -> Picture:
    """Draw bytes moved, launches and barriers of each rung against T, B and H.

    All values are counts, which are the same in every run, and not times. Bytes are the operands and results of the
    products (once each), the 32-byte sectors that warps of kernels touch (before any cache), and the messages that
    blocks receive.
    """
    found = json.loads(report.read_text(encoding="utf-8"))
    rows = [
        {"size": row["size"], "rung": row["rung"]}
        | {name: sum(row["counts"][part] for part in parts) for name, parts in QUANTITIES.items()}
        for row in found["rows"]
        if row["pass"] == which
    ]
    columns = {axis: _varied(rows, axis) for axis in AXES}
    grid = new_figure(8.4, 7.2).subplots(3, 3, sharex="col", sharey="row")
    artists: dict[str, Any] = {}
    data: dict[str, np.ndarray] = {}
    for j, (axis, (line_up, said)) in enumerate(columns.items()):
        for i, quantity in enumerate(QUANTITIES):
            ax = grid[i, j]
            for rung in dict.fromkeys(row["rung"] for row in line_up):
                points = sorted((row["at"], row[quantity]) for row in line_up if row["rung"] == rung)
                at, counts = np.array(points).T
                data[f"{axis}.{rung}"], data[f"{quantity}.{axis}.{rung}"] = at, counts
                (artists[f"{quantity}.{axis}.{rung}"],) = ax.plot(
                    _beside(at, rung),
                    counts,
                    label=rung,
                    markersize=5,
                    linewidth=1,
                    **STYLES.get(rung, {"marker": "o"}),
                )
            _scale(ax, quantity, sorted({row["at"] for row in line_up}))
        grid[0, j].set_title(TITLES[axis], loc="left", fontsize="medium")
        grid[-1, j].set_xlabel(f"{AXES[axis]}   ({said})")
    for i, quantity in enumerate(QUANTITIES):
        grid[i, 0].set_ylabel(LABELS[quantity])
    _explain(grid, f"Counted on {found['device']}".replace("on cuda-sim", "by the simulator"), which)
    return Picture(grid, artists, data)


def _varied(rows: list[dict[str, Any]], axis: str) -> tuple[list[dict[str, Any]], str]:
    """The rows that differ only in this axis, each with its place `at`, and a text with their common values."""
    place = "TB?H".index(axis)
    found: dict[tuple[int, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        rest = list(row["size"])
        at = rest.pop(place)
        if axis == "H" and rest.pop() != at:
            continue  # the number of inputs must grow with the units
        found[tuple(rest)].append({**row, "at": at})
    most = max(found, key=lambda rest: len({row["at"] for row in found[rest]}))
    names = [name for name in ("T", "B", "I", "H") if name != axis and (axis, name) != ("H", "I")]
    return found[most], ", ".join(f"{name} {n}" for name, n in zip(names, most, strict=True))


def _beside(at: np.ndarray, rung: str) -> np.ndarray:
    """The positions of a rung's marks, slightly shifted from the places; shifts are equal on the log scale."""
    places = np.log2(at)
    gap = min(np.diff(places).min(), np.ptp(places) / 2) if len(at) > 1 else 1.0
    k = list(STYLES).index(rung) if rung in STYLES else 0
    return at * 2.0 ** (gap * ASIDE * (k - (len(STYLES) - 1) / 2))


def _explain(grid: np.ndarray, counted: str, which: str) -> None:
    """Write the source of the counts above a new figure, and the meaning of R and a legend below it."""
    figure = grid[0, 0].figure
    title = f"{counted}\nfor the {which} pass of one LSTM layer; not times"
    figure.suptitle(title, fontsize="medium", fontweight="bold")
    lines = {line.get_label(): line for line in grid[0, 0].lines}
    below = "R: the recurrent weights, (4H, H).  Marks at the same place are shifted sideways."
    figure.legend(
        lines.values(), lines.keys(), loc="outside lower center", ncols=len(lines), fontsize="small", title=below,
        title_fontsize="small", frameon=False,
    )  # fmt: skip


def _scale(ax: Any, quantity: str, at: list[int]) -> None:
    ax.set_xscale("log", base=2)
    ax.set_xticks(at, [str(n) for n in at])
    ax.minorticks_off()
    if quantity == "barriers":
        ax.set_yscale("symlog", linthresh=1)  # the lowest rung has no barriers
        ax.set_ylim(bottom=-0.3, top=2 * max(1, ax.get_ylim()[1]))
    else:
        ax.set_yscale("log")
        if quantity == "launches":
            ax.set_ylim(bottom=1)
    ax.grid(alpha=0.25)
    ax.spines[["top", "right"]].set_visible(False)
