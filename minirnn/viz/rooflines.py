"""What a machine allows: operations a second against operations a byte, and the floor that waiting sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from minirnn.viz.colors import BLUE, GRAY, ORANGE
from minirnn.viz.picture import Picture, axes_or_new

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def roofline(
    work: Mapping[str, tuple[float, float, float]],
    *,
    peak: float,
    bandwidth: float,
    latency: float = 0.0,
    ax: Axes | None = None,
) -> Picture:
    """Draw pieces of work under the roof of a machine.

    A piece of work that does few operations for each byte it moves is limited by memory: it can lie at most on the
    slanted roof. With many operations a byte the processor is the limit: the flat roof. Work that is too small lies
    below both, since it waits: a launch or a barrier takes `latency` whatever it starts. The mark is the best that
    this work can reach with that wait.

    Parameters
    ----------
    work : mapping of str to (flops, bytes, seconds)
        Name -> operations, bytes moved (`minirnn.devices.counting` counts both), and the time it took; NaN seconds for
        work that was not measured, of which only the bound is drawn.
    peak : float
        Operations a second the processor can do.
    bandwidth : float
        Bytes a second the memory can move.
    latency : float
        Seconds that each piece of work waits at least.
    ax : Axes, optional
        Where to draw; None makes a new figure.

    Returns
    -------
    Picture
        ``data``: intensity (n,) in operations a byte, achieved and bound (n,) in operations a second, in the order of
        `work`. ``artists``: "roof", "achieved", "bound".

    Raises
    ------
    ValueError
        If a number is not positive (`latency`: negative), or there is no work.
    """
    if not (work and peak > 0 and bandwidth > 0 and latency >= 0):  # NaN is none of these
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
    ax = axes_or_new("roofline", ax, 8, 4)
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
    ax.set_xlabel("operations for each byte moved")
    ax.set_ylabel("operations a second")
    ax.set_title("What the machine allows, and what was done")
    ax.legend(frameon=False, fontsize="small")
    data = {"intensity": intensity, "achieved": achieved, "bound": bound}
    return Picture(ax, {"roof": roof, "achieved": points, "bound": bounds}, data)
