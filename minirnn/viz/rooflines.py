"""The limits of a machine: operations per second against operations per byte, and the limit set by latency."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from minirnn.viz.colors import BLUE, GRAY, ORANGE
from minirnn.viz.picture import Picture, new_axes


def roofline(
    work: Mapping[str, tuple[float, float, float]],
    *,
    peak: float,
    bandwidth: float,
    latency: float = 0.0,
) -> Picture:
    """Draw pieces of work under the roof of a machine.

    Memory limits a piece of work that does few operations for each byte it moves. It can at most reach the slanted
    roof. With many operations per byte, the processor is the limit, which is the flat roof. Very small work is below
    both, because a launch or a barrier takes `latency`, whatever its size. The mark shows the best speed that this work
    can reach with this latency.

    Parameters
    ----------
    work : mapping of str to (flops, bytes, seconds)
        Name -> operations, bytes moved (`minirnn.devices.counting` counts both), and the time it took. For work that
        was not measured, pass NaN seconds, and only the bound is drawn.
    peak : float
        Operations per second of the processor.
    bandwidth : float
        Bytes per second of the memory.
    latency : float
        The minimum time of each piece of work, in seconds.

    Returns
    -------
    Picture
        ``data``: intensity (n,) in operations per byte, achieved and bound (n,) in operations per second, in the order
        of `work`. ``artists``: "roof", "achieved", "bound".
    """
    if not (work and peak > 0 and bandwidth > 0 and latency >= 0):  # NaN satisfies none of these conditions
        raise ValueError(
            f"roofline: got {len(work)} pieces of work, peak {peak}, bandwidth {bandwidth}, latency {latency}\n"
            "  expected some work and positive numbers, in operations, bytes and seconds"
        )
    numbers = np.array([list(w) for w in work.values()], dtype=np.float64)
    if numbers.shape[1:] != (3,) or (numbers[:, :2] <= 0).any() or (numbers[:, 2] <= 0).any():
        raise ValueError("roofline: work has a piece that is not (flops, bytes, seconds)\n  expected positive numbers")
    flops, moved, seconds = numbers.T
    intensity = flops / moved
    bound = flops / np.maximum(latency + flops / peak, latency + moved / bandwidth)
    achieved = flops / seconds
    ax = new_axes(8, 4)
    x = np.logspace(np.log10(intensity.min() / 4), np.log10(max(intensity.max() * 4, 4 * peak / bandwidth)), 200)
    (roof,) = ax.loglog(
        x, np.minimum(peak, bandwidth * x), color=GRAY, linewidth=2, label="roof: memory, then processor"
    )
    (bounds,) = ax.loglog(
        intensity, bound, "_", color=ORANGE, markersize=16, markeredgewidth=2, label="bound with the wait"
    )
    (points,) = ax.loglog(intensity, achieved, "o", color=BLUE, label="achieved")
    for name, at, done, most in zip(work, intensity, achieved, bound, strict=True):
        height = done if np.isfinite(done) else most
        ax.annotate(name, (at, height), xytext=(6, -10), textcoords="offset points", fontsize="small")
    ax.set_xlabel("operations per byte")
    ax.set_ylabel("operations per second")
    ax.set_title("What the machine allows, and what was achieved")
    ax.legend(frameon=False, fontsize="small")
    data = {"intensity": intensity, "achieved": achieved, "bound": bound}
    return Picture(ax, {"roof": roof, "achieved": points, "bound": bounds}, data)
