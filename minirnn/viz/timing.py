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
    dtype: str = "float32",
    ax: Axes | None = None,
) -> Picture:
    """Draw the times of a report of ``minirnn bench --json FILE``: bars for each size, one a library.

    Reports of ``minirnn bench --check --json FILE`` are drawn too.

    The gray bar is the floor: the matrix products that any implementation must do, and nothing else.

    Parameters
    ----------
    report : mapping or path
        The report, or its file, such as ``docs/data/cpu/sequence_ops.json``.
    mode : str
        "lstm" or "gru"; a report of ``--check`` also has "block_lstm".
    which : str
        The pass: "forward" or "forward+backward".
    dtype : str
        "float32" or "float16", where the report has both.
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
    found = report if isinstance(report, Mapping) else _read(report)
    results = _results(found)
    chosen = [r for r in results if (r["mode"], r["pass"], r["dtype"]) == (mode, which, dtype)]
    if not chosen:
        there = sorted({(r["mode"], r["pass"], r["dtype"]) for r in results})
        raise ValueError(f"timings: no results for {mode}, {which}, {dtype}\n  expected one of {there}")
    libraries = list(dict.fromkeys(library for r in chosen for library in r["ms"]))
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
    if "limits" in machine:  # a CUDA device has them, real or simulated
        about = f"{machine['limits']['name']}, {machine.get('date', '')}"
    said = f", {dtype}" if dtype != "float32" else ""
    ax.set_title(f"{mode}, {which}{said}: milliseconds" + (f"\n{about}" if about else ""))
    ax.set_ylabel("time (ms, log scale)")
    ax.legend(frameon=False, fontsize="small")
    return Picture(ax, artists, data)


def _read(path: str | os.PathLike[str]) -> Mapping[str, Any]:
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(
            f"timings: {os.fspath(path)!r}: {error}\n  expected a report that `minirnn bench` wrote"
        ) from None
    if not isinstance(found, dict):
        raise ValueError(f"timings: {os.fspath(path)!r} is no report\n  expected one that `minirnn bench` wrote")
    return found


def _results(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows of either kind of report, with the same names."""
    rows = [{"dtype": "float32", **r} for r in report.get("results", [])]
    for r in report.get("times", {}).get("sequences", []):
        ms = {"minirnn": 1e3 * r["seconds"]}
        if "torch_seconds" in r:
            ms["torch"] = 1e3 * r["torch_seconds"]
        rows.append({"mode": r["op"], "pass": r["pass"], "dtype": r["dtype"], "size": r["size"], "ms": ms})
    return rows
