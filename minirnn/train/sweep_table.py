"""The results of a sweep: as a table, as a CSV file, and as one picture of all runs."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import numpy as np

from minirnn import viz
from minirnn.train.folder import METRICS
from minirnn.train.run_process import FINISHED

NAMED = 6
"""The number of curves that the picture names: the best ones. The others are gray."""


class Row(NamedTuple):
    """A run, its options, and how it ended."""

    name: str
    given: dict[str, Any]
    result: dict[str, Any]


def by_loss(rows: Sequence[Row]) -> list[Row]:
    """The best run first; runs without a loss at the end, in their order."""
    return sorted(rows, key=lambda row: (row.result["ended"] != FINISHED, row.result.get("validation_loss") or 0.0))


def write_csv(file: IO[str], rows: Sequence[Row], varied: Mapping[str, Any]) -> None:
    """A line for each run, in the order of the sweep. Losses are in nats and have full precision."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["run", *varied, "ended", "step", "parameters", "loss", "validation_loss", "reason"])
    for row in rows:
        r = row.result
        numbers = [r.get(name) for name in ("step", "parameters", "loss", "validation_loss")]
        writer.writerow([row.name, *(row.given[name] for name in varied), r["ended"], *numbers, r.get("reason", "")])


def text_of(rows: Sequence[Row], varied: Mapping[str, Any]) -> str:
    """The table for a terminal, the best run first."""
    head = [*varied, "parameters", "loss", "validation", ""]
    lines = [head]
    for row in by_loss(rows):
        r = row.result
        losses = [f"{r[name]:.4f}" if r.get(name) is not None else "-" for name in ("loss", "validation_loss")]
        size = f"{r['parameters']:,}" if "parameters" in r else "-"
        ended = "" if r["ended"] == FINISHED else r["ended"]
        lines.append([*(repr(row.given[name]) for name in varied), size, *losses, ended])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(f"{cell:>{w}}" for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines)


def draw(folder: Path, rows: Sequence[Row], varied: Mapping[str, Sequence[Any]], best: Row | None, path: Path) -> None:
    """Draw the validation loss of every run, and how each varied setting affected the last one."""
    import matplotlib

    with matplotlib.rc_context(cast(Any, viz.style)):
        viz.save(picture(folder, rows, varied, best), path)


def picture(folder: Path, rows: Sequence[Row], varied: Mapping[str, Sequence[Any]], best: Row | None) -> viz.Picture:
    """The picture of a sweep; its ``data`` holds the points of each panel."""
    from matplotlib.figure import Figure

    panels = 1 + len(varied)
    figure = Figure(figsize=(4.6 + 2.6 * len(varied), 3.6), layout="constrained")
    axes = figure.subplots(1, panels, squeeze=False, width_ratios=[1.7] + [1] * len(varied))[0]
    for ax in axes[2:]:
        ax.sharey(axes[1])
    data: dict[str, np.ndarray] = {}
    artists: dict[str, Any] = {}

    ranked = by_loss(rows)
    named = [row.name for row in ranked if row.result["ended"] == FINISHED][:NAMED]
    for row in reversed(ranked):
        points = validation_losses(folder / row.name, row.result)
        data[row.name] = points
        if len(points):
            style: dict[str, Any] = {"color": "0.8", "lw": 0.8}
            if row.name in named:
                style = {"label": row.name, "lw": 2.2 if best and row.name == best.name else 1.0}
            (artists[row.name],) = axes[0].plot(*points.T, **style)
    axes[0].set_xlabel("step")
    axes[0].set_ylabel("validation loss (nats per character)")
    if len(data) and any(len(points) for points in data.values()):
        axes[0].set_yscale("log")
        axes[0].yaxis.set_major_formatter("{x:.3g}")
        axes[0].yaxis.set_minor_formatter("{x:.3g}")
    handles, labels = axes[0].get_legend_handles_labels()
    if handles:
        order = sorted(range(len(labels)), key=lambda k: named.index(labels[k]))
        axes[0].legend([handles[k] for k in order], [labels[k] for k in order], frameon=False, fontsize="small")
    axes[0].set_title(f"best: {best.name}" if best else "no run is finished")

    for ax, (name, values) in zip(axes[1:], varied.items(), strict=True):
        done = [row for row in rows if row.result["ended"] == FINISHED]
        at = np.array([[row.given[name], row.result["validation_loss"]] for row in done], float).reshape(-1, 2)
        data[f"by {name}"] = at
        (artists[f"by {name}"],) = ax.plot(*at.T, "o", color="0.6", ms=4)
        if best:
            color = artists[best.name].get_color()
            ax.plot([best.given[name]], [best.result["validation_loss"]], "o", ms=7, color=color)
        if min(values) > 0 and max(values) >= 4 * min(values):
            ax.set_xscale("log")
        ax.set_xticks(sorted(values), [f"{value:g}" for value in sorted(values)], rotation=30)
        ax.minorticks_off()
        ax.set_xlabel(name)
        ax.set_title("after the last step")
    return viz.Picture(axes, artists, data)


def validation_losses(folder: Path, result: Mapping[str, Any]) -> np.ndarray:
    """The steps and the validation losses (n, 2) in metrics.jsonl, and the last one; none if a run has not begun."""
    try:
        lines = [json.loads(line) for line in (folder / METRICS).read_text("utf-8").splitlines()]
    except (OSError, ValueError):
        lines = []
    points = [(k["step"], v) for k in lines if (v := k["validation_loss"]) is not None]
    if result["ended"] == FINISHED and (not points or points[-1][0] < result["step"]):
        points.append((result["step"], result["validation_loss"]))
    return np.array(points, float).reshape(-1, 2)
