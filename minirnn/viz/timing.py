"""Measured times: what `minirnn bench --json` wrote, drawn against the products alone and against torch."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from minirnn.viz.colors import BLUE, GRAY, ORANGE
from minirnn.viz.picture import Picture, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLORS = {"minirnn": BLUE, "torch": ORANGE, "gemm": GRAY}
LABELS = {"gemm": "matrix products alone"}


def timings(
    report: Mapping[str, Any] | str | os.PathLike[str],
    *,
    mode: str = "lstm",
    which: str = "forward+backward",
    ax: Axes | None = None,
) -> Picture:
    """Draw the times of a report of ``minirnn bench --json FILE``: bars for each size, one a library.

    The gray bar is the floor: the matrix products that any implementation must do, and nothing else.

    Parameters
    ----------
    report : mapping or path
        The report, or its file, such as ``docs/data/cpu/sequence_ops.json``.
    mode : str
        "lstm" or "gru".
    which : str
        The pass: "forward" or "forward+backward".
    ax : Axes, optional
        Where to draw; None makes a new figure.

    Returns
    -------
    Picture
        ``data``: sizes (n, 4): T, B, I, H; milliseconds (n,) by library. ``artists``: the bars by library.

    Raises
    ------
    ValueError
        If the report has no such results.
    """
    found: Any = report if isinstance(report, Mapping) else json.loads(Path(report).read_text(encoding="utf-8"))
    results = found.get("results", [])
    chosen = [r for r in results if r["mode"] == mode and r["pass"] == which]
    if not chosen:
        there = sorted({(r["mode"], r["pass"]) for r in results})
        raise ValueError(f"timings: no results for {mode}, {which}\n  expected one of {there}")
    libraries = list(chosen[0]["ms"])
    sizes = np.array([r["size"] for r in chosen])
    data: dict[str, np.ndarray] = {"sizes": sizes}
    ax = axes_or_new("timings", ax, 9, 3.6)
    artists = {}
    width = 0.8 / len(libraries)
    for k, library in enumerate(libraries):
        data[library] = np.array([r["ms"].get(library, np.nan) for r in chosen])
        places = np.arange(len(chosen)) + (k - (len(libraries) - 1) / 2) * width
        artists[library] = ax.bar(
            places, data[library], width, color=COLORS.get(library), label=LABELS.get(library, library)
        )
    ax.set_yscale("log")
    ax.set_xticks(range(len(chosen)), [f"T {T}, B {B}\nI {I}, H {H}" for T, B, I, H in sizes])
    machine = found.get("machine", {})
    about = ", ".join(str(machine[k]) for k in ("processor", "date") if k in machine)
    ax.set_title(f"{mode}, {which}: milliseconds" + (f"\n{about}" if about else ""))
    ax.set_ylabel("time (ms, log scale)")
    ax.legend(frameon=False, fontsize="small")
    return Picture(ax, artists, data)
