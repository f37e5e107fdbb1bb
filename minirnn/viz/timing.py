"""Measured times from `minirnn bench --json`, as multiples of torch's times or of the times of the matrix products."""

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
    """Draw the times of a report of ``minirnn bench --json FILE`` as multiples of torch's, which are the line at 1.

    Each library has a large mark at its median and a small one for every sample, which show the spread. The gray marks
    are a lower bound: only the matrix products, which any implementation must compute. A report without torch is drawn
    as multiples of the products, and a report with neither in milliseconds.

    Reports of ``minirnn bench --check --json FILE`` also work, but have no samples.

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
        ``data``: sizes (n, 4): T, B, I, H; milliseconds (n,) by library; what is drawn, "minirnn, drawn", (n,), and
        "minirnn, samples", (n, samples). ``artists``: the large marks by library, and the line "1".

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
    reference = next((library for library in ("torch", "gemm") if library in libraries), None)
    data: dict[str, np.ndarray] = {"sizes": np.array([r["size"] for r in chosen])}
    data.update({library: np.array([r["ms"].get(library, np.nan) for r in chosen]) for library in libraries})
    unit = data[reference] if reference else np.ones(len(chosen))  # milliseconds that are drawn as 1
    ax = axes_or_new("timings", ax, 8, 4.2)
    artists: dict[str, Any] = {}
    if reference:
        label = f"{_called(reference)} = 1"
        artists["1"] = ax.axhline(1, color=COLORS[reference], linewidth=1.5, zorder=0, label=label)
    for k, library in enumerate(libraries):
        places = np.arange(len(chosen)) + 0.24 * (k - (len(libraries) - 1) / 2)
        samples = _samples(chosen, library) / unit[:, None]
        data[f"{library}, drawn"], data[f"{library}, samples"] = data[library] / unit, samples
        color = COLORS.get(library)
        named = None if library == reference else _called(library)  # the line at 1 already has a name
        ax.plot(np.repeat(places, samples.shape[1]), samples.ravel(), "o", color=color, alpha=0.45, markersize=3)
        (artists[library],) = ax.plot(places, data[library] / unit, "_", color=color, ms=20, mew=3, label=named)
        if library != reference:
            for x, value in zip(places, data[library] / unit, strict=True):
                ax.annotate(
                    f"{value:.2f}", (x, value), (0, 4), textcoords="offset points", ha="center", fontsize="small"
                )
    _scales(ax, data, reference)
    said = f", {dtype}" if dtype != "float32" else ""
    what = f"times as multiples of {_called(reference)}" if reference else "milliseconds"
    ax.set_title(f"{mode}, {which}{said}: {what}" + _machine(found, any(r.get("samples_ms") for r in chosen)))
    ax.legend(frameon=False, fontsize="small", ncols=4, loc="upper right")
    return Picture(ax, artists, data)


def _called(library: str | None) -> str:
    return LABELS.get(str(library), str(library))


def _samples(chosen: list[dict[str, Any]], library: str) -> np.ndarray:
    """Milliseconds (n, samples), NaN where there are fewer; (n, 0) for a report that only has medians."""
    rows = [r.get("samples_ms", {}).get(library, []) for r in chosen]
    found = np.full((len(rows), max(map(len, rows))), np.nan)
    for row, values in zip(found, rows, strict=True):
        row[: len(values)] = values
    return found


def _scales(ax: Axes, data: Mapping[str, np.ndarray], reference: str | None) -> None:
    """Set a log scale, on which 2 and 1/2 are equally far from 1, and write the time of 1 below each size."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    labels = [f"T {T}, B {B}\nI {I}, H {H}" for T, B, I, H in data["sizes"]]
    if reference:
        ms = [
            f"{value:,.{0 if value >= 100 else 1}f} ms" if np.isfinite(value) else "not measured"
            for value in data[reference]
        ]
        labels = [f"{label}\n1 = {value}" for label, value in zip(labels, ms, strict=True)]
    ax.set_xticks(range(len(labels)), labels, fontsize="small")
    ax.set_xlim(-0.6, len(labels) - 0.4)
    ax.set_yscale("log")
    if reference:
        ax.yaxis.set_major_locator(LogLocator(2, numticks=20))
        ax.yaxis.set_minor_locator(NullLocator())
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}" if value >= 1 else f"1/{1 / value:g}"))
        ax.grid(axis="y", alpha=0.25)
    low, high = ax.get_ylim()
    ax.set_ylim(low, high * 1.6)  # room for the legend
    ax.set_ylabel(f"time / time of {_called(reference)}\n(log scale)" if reference else "time (ms, log scale)")


def _machine(report: Mapping[str, Any], sampled: bool) -> str:
    """The second line of the title, with the machine and the date of the measurement."""
    machine = report.get("machine", {})
    about = ", ".join(str(machine[k]) for k in ("processor", "date") if k in machine)
    if "limits" in machine:  # CUDA devices have these, real or simulated
        about = f"{machine['limits']['name']}, {machine.get('date', '')}"
    lines = [about] * bool(about) + ["small dots: single samples"] * sampled
    return "\n" * bool(lines) + "; ".join(lines)


def _read(path: str | os.PathLike[str]) -> Mapping[str, Any]:
    try:
        found = json.loads(Path(os.fspath(path)).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(
            f"timings: {os.fspath(path)!r}: {error}\n  expected a report that `minirnn bench` wrote"
        ) from None
    if not isinstance(found, dict):
        raise ValueError(f"timings: {os.fspath(path)!r} is not a report\n  expected one that `minirnn bench` wrote")
    return found


def _results(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows of either kind of report, with common names."""
    rows = [{"dtype": "float32", **r} for r in report.get("results", [])]
    for r in report.get("times", {}).get("sequences", []):
        ms = {"minirnn": 1e3 * r["seconds"]}
        if "torch_seconds" in r:
            ms["torch"] = 1e3 * r["torch_seconds"]
        rows.append({"mode": r["op"], "pass": r["pass"], "dtype": r["dtype"], "size": r["size"], "ms": ms})
    return rows
