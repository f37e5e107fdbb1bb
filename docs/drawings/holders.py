"""Pictures of the block, warp and lane that hold each weight of the recurrent matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from minirnn.arguments import check
from minirnn.viz.colors import SIZES
from minirnn.viz.picture import Picture, check_grid, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LANES, VECTOR = 32, 16
"""Lanes of a warp, and bytes that one of them reads at once."""
WAYS = ("plain", "persistent")


def weight_holders(
    way: str,
    H: int = 128,
    *,
    gates: int = 4,
    warps: int = 4,
    units: int = 2,
    itemsize: int = 4,
    axes: Any | None = None,
) -> Picture:
    """Draw which block, warp and lane uses each element of the recurrent matrix R (G*H, H).

    ``"plain"`` is the simplest product: one thread computes one row's sum, reads that row, and keeps nothing for the
    next step. ``"persistent"`` is the layout of minirnn's persistent kernels. A warp has some units with their G rows
    each. A row is distributed over the lanes in pieces of 16 bytes, which stay in registers.

    Parameters
    ----------
    way : {"plain", "persistent"}
    H : int
        Units of the layer.
    gates : int
        G: rows of R for each unit. Row g*H + u is gate g of unit u.
    warps : int
        Warps of a block.
    units : int
        Units of a warp, if `way` is ``"persistent"``.
    itemsize : {2, 4, 8}
        Bytes per number.
    axes : array of Axes, optional
        (2,); None makes a new figure.

    Returns
    -------
    Picture
        ``ax``: (2,): the blocks over all of R, and the lanes (or threads) over the rows of the first warp. ``data``:
        for each element (G*H, H) "block", "warp" in the block, "lane" in the warp, and "register", its index among the
        elements of R that the lane keeps, or -1 if no lane keeps it.

    Raises
    ------
    TypeError, ValueError
        Another way or itemsize, a size that is not an integer of 1 or more, or axes not (2,).
    """
    check.choice("weight_holders", "way", way, WAYS)
    for name, value in (("H", H), ("gates", gates), ("warps", warps), ("units", units)):
        check.integer("weight_holders", name, value, 1)
    if itemsize not in (2, 4, 8):
        raise ValueError(f"weight_holders: itemsize is {itemsize!r}\n  expected 2, 4 or 8 bytes per number")
    if axes is None:
        axes = new_figure(9.0, 4.4).subplots(1, 2, width_ratios=(1, 2.2))
    found = check_grid("weight_holders", axes, (2,), "(2,): all blocks, and the first warp")
    data = _plain(H, gates, warps) if way == "plain" else _persistent(H, gates, warps, units, itemsize)
    return Picture(found, _draw_holders(found, data, way), data)


def _plain(H: int, gates: int, warps: int) -> dict[str, np.ndarray]:
    row = np.repeat(np.arange(gates * H)[:, None], H, axis=1)
    thread = row % (LANES * warps)
    register = np.full_like(row, -1)
    return {"block": row // (LANES * warps), "warp": thread // LANES, "lane": thread % LANES, "register": register}


def _persistent(H: int, gates: int, warps: int, units: int, itemsize: int) -> dict[str, np.ndarray]:
    row, k = np.meshgrid(np.arange(gates * H), np.arange(H), indexing="ij")
    gate, unit = row // H, row % H
    width = VECTOR // itemsize
    chunk, place = k // (LANES * width), k % width
    number = unit % units * gates + gate  # of the row among the rows of its warp
    return {
        "block": unit // (units * warps),
        "warp": unit // units % warps,
        "lane": k // width % LANES,
        "register": (chunk * units * gates + number) * width + place,
    }


def _draw_holders(axes: np.ndarray, data: dict[str, np.ndarray], way: str) -> dict[str, Any]:
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
    who = "thread" if way == "plain" else "lane"
    stay = int((of_first & (lane == 0) & (data["register"] >= 0)).sum())
    kept = f"each lane keeps {stay} numbers of R" if stay else "one row per thread, read at every step"
    axes[1].set(title=f"the first warp: {kept}", xlabel="column", yticks=range(len(first)), ylabel="row of R")
    axes[1].set_yticklabels([str(r) for r in first])
    for y in range(len(first)):
        starts = [0, *(np.flatnonzero(np.diff(part[y])) + 1)]
        for start, end in zip(starts, [*starts[1:], H], strict=True):
            if way == "plain" or (end - start) * 40 >= H:
                _number(axes[1], (start + end - 1) / 2, y, part[y, start], LANES)
    axes[1].figure.colorbar(zoom, ax=axes[1], label=who, ticks=[0, 8, 16, 24, 31])
    for ax in axes:
        ax.grid(False)
    return {"blocks": whole, "lanes": zoom}


def _number(ax: Axes, x: float, y: float, value: int, of: int) -> None:
    """Write a number in a color that is readable on its background."""
    ax.text(
        x, y, f"{value}",
        ha="center", va="center", fontsize=6, color="white" if value < 0.6 * of else "black",
    )  # fmt: skip
