"""A picture of the block, warp and lane that hold each weight of the recurrent matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.viz.colors import SIZES
from minirnn.viz.picture import Picture, new_figure

LANES, VECTOR = 32, 16
"""Lanes of a warp, and bytes that one of them reads at once."""


def weight_holders(H: int = 128, *, gates: int = 4, warps: int = 4, units: int = 2, itemsize: int = 4) -> Picture:
    """Draw which block, warp and lane of a persistent kernel keeps each element of the recurrent matrix R (G*H, H).

    A warp has some units with their G rows each. A row is distributed over the lanes in pieces of 16 bytes, which stay
    in registers.
    """
    row, k = np.meshgrid(np.arange(gates * H), np.arange(H), indexing="ij")
    gate, unit = row // H, row % H
    width = VECTOR // itemsize
    chunk, place = k // (LANES * width), k % width
    number = unit % units * gates + gate  # of the row among the rows of its warp
    data = {
        "block": unit // (units * warps),
        "warp": unit // units % warps,
        "lane": k // width % LANES,
        "register": (chunk * units * gates + number) * width + place,
    }
    axes = new_figure(9.0, 4.4).subplots(1, 2, width_ratios=(1, 2.2))
    return Picture(axes, _draw_holders(axes, data), data)


def _draw_holders(axes: np.ndarray, data: dict[str, np.ndarray]) -> dict[str, Any]:
    block, lane = data["block"], data["lane"]
    rows, H = block.shape
    whole = axes[0].imshow(block, cmap=SIZES, aspect="auto", interpolation="nearest", extent=(0, H, rows, 0))
    bar = axes[0].figure.colorbar(whole, ax=axes[0], label="block")
    bar.ax.yaxis.get_major_locator().set_params(integer=True)
    axes[0].set(title=f"R ({rows}, {H}): the blocks", xlabel="column: unit of h", ylabel="row: gate and unit")
    of_first = (block == 0) & (data["warp"] == 0)
    first = np.flatnonzero(of_first.any(axis=1))[:8]
    part = lane[first]
    zoom = axes[1].imshow(part, cmap=SIZES, aspect="auto", interpolation="nearest", vmin=0, vmax=LANES - 1)
    stay = int((of_first & (lane == 0)).sum())
    title = f"the first warp: each lane keeps {stay} numbers of R"
    axes[1].set(title=title, xlabel="column", yticks=range(len(first)), ylabel="row of R")
    axes[1].set_yticklabels([str(r) for r in first])
    for y, lanes in enumerate(part):
        starts = [0, *(np.flatnonzero(np.diff(lanes)) + 1)]
        for start, end in zip(starts, [*starts[1:], H], strict=True):
            if (end - start) * 40 >= H:
                color = "white" if lanes[start] < 0.6 * LANES else "black"
                axes[1].text(
                    (start + end - 1) / 2, y, f"{lanes[start]}", ha="center", va="center", fontsize=6, color=color
                )
    axes[1].figure.colorbar(zoom, ax=axes[1], label="lane", ticks=[0, 8, 16, 24, 31])
    for ax in axes:
        ax.grid(False)
    return {"blocks": whole, "lanes": zoom}
