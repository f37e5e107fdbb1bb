"""Pictures of blocks that wait for each other: a grid barrier over time, and the data that blocks exchange."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.viz.colors import BLUE, GRAY, GREEN, ORANGE, RED
from minirnn.viz.picture import Picture, new_figure

WORK = (3.0, 5.0, 4.0)
"""The computing time of each block in the picture, in arbitrary units."""
FENCE, COUNT, FLAG = 0.7, 0.6, 0.6


def grid_barrier() -> Picture:
    """Sketch the barrier of ``grid_barrier.cuh`` for three blocks over time, with its fences, counter and flag.

    Each block computes and writes its numbers, executes a fence and increments the counter. The last block executes
    another fence and sets the flag. All others wait for the flag, and execute a third fence before they read.
    """
    ax = new_figure(7.6, 2.7).subplots()
    counted = np.array(WORK) + FENCE + COUNT
    last = int(np.argmax(counted))
    flag = float(counted[last] + FENCE + FLAG)
    bars = []

    def part(block: int, begin: float, end: float, color: str, text: str, hatch: str = "") -> None:
        (bar,) = ax.barh(
            block, end - begin, left=begin, height=0.62, facecolor=color, edgecolor="white", hatch=hatch, linewidth=1
        )
        bars.append(bar)
        dark = color in (GREEN, BLUE, RED)
        ax.text((begin + end) / 2, block, text, ha="center", va="center", fontsize=7, color="w" if dark else "k")

    for block, (work, count) in enumerate(zip(WORK, counted, strict=True)):
        part(block, 0, work, GREEN, "compute, write h(t+1)")
        part(block, work, work + FENCE, ORANGE, "fence")
        part(block, work + FENCE, count, BLUE, "count")
        if block == last:
            part(block, count, count + FENCE, ORANGE, "fence")
            part(block, count + FENCE, flag, RED, "flag")
        else:
            part(block, count, flag, "#E8E8E8", "waits for the flag")
        part(block, flag, flag + FENCE, ORANGE, "fence")
        part(block, flag + FENCE, flag + FENCE + 2.4, GREEN, "read h(t+1)")
        ax.text(
            count, block - 0.42, f"{np.sum(counted <= count)} of 3", ha="center", va="center", fontsize=7, color=BLUE
        )
    ax.axvline(flag, color=RED, linewidth=1, linestyle=":")
    ax.set(yticks=range(3), xticks=[], xlabel="time", ylim=(2.5, -0.75), xlim=(0, flag + FENCE + 2.4))
    ax.set_yticklabels([f"block {k}" for k in range(3)])
    ax.set_title("counter: who has arrived; flag: go on; fences: order of memory", loc="left", fontsize="small")
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(left=False)
    ax.grid(False)
    return Picture(
        ax, {"bars": bars}, {"begin": np.array(WORK), "end": np.full(3, flag + FENCE), "flag": np.array(flag)}
    )


def who_reads(columns: int = 4, slices: int = 3) -> Picture:
    """Draw the blocks of the rung ``persistent`` whose data each block reads in a step.

    In the forward pass, every block gathers the whole state. In the backward pass, the blocks form a table. Block (p,
    q) gathers the gradients of the units of slice q, and sends its share of dh to the owners of the units of column p
    (`persistent_grad.cu`).
    """
    axes = new_figure(7.6, 4.0).subplots(1, 2)
    blocks = columns * slices
    units = np.arange(blocks * slices)  # each owner occurs once for each slice
    owner = units // slices  # owner of each unit; its column is owner // slices
    in_slice = units // (len(units) // slices)
    p, q = np.divmod(np.arange(blocks), slices)
    gradients = np.zeros((blocks, blocks), bool)
    for reader in range(blocks):
        gradients[reader, owner[in_slice == q[reader]]] = True
    data = {"forward": np.ones((blocks, blocks), bool), "gradients": gradients, "shares": p[:, None] == p}
    return Picture(axes, _draw_reading(axes, data, slices), data)


def _draw_reading(axes: np.ndarray, data: dict[str, np.ndarray], slices: int) -> dict[str, Any]:
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    kinds = ["white", BLUE, ORANGE, GREEN]
    backward = data["gradients"] + 2 * data["shares"]
    artists = {}
    for ax, name, shown, title in zip(
        axes,
        ("forward", "backward"),
        (data["forward"].astype(int), backward),
        ("forward: every block reads every block", "backward: a slice, then a column"),
        strict=True,
    ):
        artists[name] = ax.imshow(shown, cmap=ListedColormap(kinds), vmin=0, vmax=3, interpolation="nearest")
        blocks = len(shown)
        ax.set_title(title, loc="left", fontsize="small")
        ax.set(xlabel="sending block (column, slice)", xticks=range(blocks), yticks=range(blocks))
        labels = [f"{k // slices},{k % slices}" for k in range(blocks)]
        ax.set_yticklabels(labels, fontsize=6)
        ax.set_xticklabels(labels, fontsize=6, rotation=90)
        ax.set_xticks(np.arange(blocks + 1) - 0.5, minor=True)
        ax.set_yticks(np.arange(blocks + 1) - 0.5, minor=True)
        ax.grid(False)
        ax.grid(which="minor", color=GRAY, linewidth=0.3)
        ax.tick_params(which="minor", length=0)
    axes[0].set_ylabel("reading block")
    handles = [Patch(facecolor=BLUE), Patch(facecolor=ORANGE), Patch(facecolor=GREEN)]
    named = ["h, or gradients of gates", "shares of dh", "both"]
    axes[0].figure.figure.legend(handles, named, loc="outside lower center", ncols=3, fontsize="small", frameon=False)
    return artists
