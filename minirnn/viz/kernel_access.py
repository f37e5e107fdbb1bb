"""Pictures of the memory accesses of a warp's threads, as the simulator recorded them."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.viz.colors import BLUE, GRAY, ORANGE
from minirnn.viz.picture import Picture, new_axes

SECTOR, BANKS, WORD = 32, 32, 4


def _visit(function: str, trace: Any, line: int, which: int, shared: bool) -> np.ndarray:
    """The accesses of one visit of a warp to a line, only those to shared memory or only those to device memory."""
    if not hasattr(trace, "warp_accesses"):
        raise TypeError(
            f"{function}: trace is a {type(trace).__name__}\n  expected the trace of a launch in the simulator"
        )
    visits = [g for g in trace.warp_accesses(trace.of_line(line)) if ((g["allocation"] == -1) == shared).any()]
    if not 0 <= which < len(visits):
        memory, what = ("shared memory", "a __shared__ variable") if shared else ("device memory", "an array")
        raise ValueError(
            f"{function}: line {line} has {len(visits)} visits of a warp to {memory}, but which is {which}\n"
            f"  expected a line of the .cu file that reads or writes {what}"
        )
    return visits[which][(visits[which]["allocation"] == -1) == shared]


def warp_accesses(trace: Any, line: int, *, which: int = 0) -> Picture:
    """Draw one access of a warp to device memory: the bytes that each thread touches, and the sectors that this needs.

    The memory of a GPU is divided into sectors of 32 bytes. The hardware moves every sector in which any thread has a
    byte. Neighboring threads that touch neighboring numbers share sectors (coalesced). Threads whose numbers are far
    apart need one each.

    Parameters
    ----------
    trace : Trace
        What ``kernel.traced(...)`` of a `SimDriver` in check mode returned.
    line : int
        The line of the .cu file that makes the access.
    which : int
        The index of the warp's visit to this line.

    Returns
    -------
    Picture
        ``data``: thread, address (bytes from the start of the array), sectors: numbers of the sectors touched.
        ``artists``: "threads", "sectors".
    """
    group = _visit("warp_accesses", trace, line, which, shared=False)
    group = group[group["allocation"] == group["allocation"][0]]
    address, size, thread = group["address"].astype(np.int64), group["size"].astype(np.int64), group["thread"] % 32
    sectors = np.unique(
        np.concatenate([np.arange(a // SECTOR, (a + s - 1) // SECTOR + 1) for a, s in zip(address, size, strict=True)])
    )
    used = int(np.unique(np.concatenate([np.arange(a, a + s) for a, s in zip(address, size, strict=True)])).size)
    ax = new_axes(9, 3.4)
    start = sectors[0] * SECTOR
    bands = [
        ax.axvspan(s * SECTOR - start, (s + 1) * SECTOR - start, color=ORANGE, alpha=(0.2, 0.38)[s % 2], linewidth=0)
        for s in sectors  # two shades, so that neighbors can be counted
    ]
    # An outline keeps a word visible where a pixel covers many bytes.
    bars = ax.barh(thread, size, left=address - start, height=0.8, color=BLUE, edgecolor=BLUE, linewidth=1)
    moved = len(sectors) * SECTOR
    ax.set_title(f"Line {line} needs {used} bytes,  {moved} moved in {len(sectors)} sectors ({used / moved:.0%} used)")
    ax.set_xlabel("address in bytes, from the first sector  orange: sectors of 32 bytes that are moved")
    ax.set_ylabel("thread of the warp")
    ax.set_ylim(31.7, -0.7)
    ax.set_xlim(0, (sectors[-1] + 1) * SECTOR - start)
    ax.set_yticks([0, 8, 16, 24, 31])
    ax.grid(False)
    data = {"thread": thread, "address": address, "sectors": sectors}
    return Picture(ax, {"threads": bars, "sectors": bands}, data)


def thread_map(rows: int, columns: int, *, grid: Any, block: Any) -> Picture:
    """Draw the thread that computes each element of a matrix, for a two-dimensional launch with one thread per element.

    Blocks count rows along x, as in the cell kernels: row = blockIdx.x * blockDim.y + threadIdx.y, column =
    blockIdx.y * blockDim.x + threadIdx.x.

    Parameters
    ----------
    rows, columns : int
        The shape of the matrix.
    grid, block : tuple of int
        The sizes of the launch, (x, y).

    Returns
    -------
    Picture
        ``data``: block (rows, columns), the number of each element's block; thread, the number within it; -1 for no
        thread.
    """
    try:
        (gx, gy), (bx, by) = tuple(grid)[:2], tuple(block)[:2]
        wrong = min(rows, columns, gx, gy, bx, by) < 1
    except (TypeError, ValueError):  # not two numbers each
        wrong = True
    if wrong:
        raise ValueError(
            f"thread_map: got rows {rows}, columns {columns}, grid {grid}, block {block}\n"
            "  expected counts of 1 or more, grid and block as (x, y)"
        )
    r, c = np.mgrid[:rows, :columns]
    reached = (r // by < gx) & (c // bx < gy)
    number = np.where(reached, r // by + c // bx * gx, -1)
    thread = np.where(reached, (r % by) * bx + c % bx, -1)
    ax = new_axes(min(12, 2 + 0.35 * columns), min(8, 2.2 + 0.35 * rows))
    shown = np.ma.masked_where(number < 0, number % 7)
    mesh = ax.pcolormesh(np.arange(columns + 1) - 0.5, np.arange(rows + 1) - 0.5, shown, cmap="Pastel1", vmin=0, vmax=8,
                         edgecolors="white", linewidth=1)  # fmt: skip
    if rows * columns <= 400:
        for a in range(rows):
            for b in range(columns):
                text = str(thread[a, b]) if thread[a, b] >= 0 else "\u2013"
                ax.text(b, a, text, ha="center", va="center", fontsize=7, color="black" if thread[a, b] >= 0 else GRAY)
    idle = gx * gy * bx * by - int(reached.sum())
    said = f"number: thread in its block  color: block  {idle} threads are idle"
    ax.set_title(f"Which thread computes which element?\n{said}")
    ax.set_xlabel("column (unit)")
    ax.set_ylabel("row (of the batch)")
    ax.invert_yaxis()
    ax.set_aspect("equal")
    ax.grid(False)
    return Picture(ax, {"mesh": mesh}, {"block": number, "thread": thread})


def bank_conflicts(trace: Any, line: int, *, which: int = 0) -> Picture:
    """Draw one access of a warp to shared memory by bank. Threads that need different words of one bank must wait.

    Parameters
    ----------
    trace, line, which
        The launch, the line and the visit, as for `warp_accesses`.

    Returns
    -------
    Picture
        ``data``: words (32,), the number of different words that each bank must deliver. ``artists``: "bars".
    """
    group = _visit("bank_conflicts", trace, line, which, shared=True)
    words = np.unique(group["address"].astype(np.int64) // WORD)
    per_bank = np.bincount(words % BANKS, minlength=BANKS)
    ax = new_axes(8, 2.8)
    bars = ax.bar(np.arange(BANKS), per_bank, width=0.85, color=np.where(per_bank > 1, ORANGE, BLUE))
    ax.axhline(1, color=GRAY, linewidth=1, linestyle="--")
    rounds = int(per_bank.max())
    ax.set_title(f"Line {line}: {'no conflict' if rounds == 1 else f'{rounds} rounds instead of 1'}")
    ax.set_xlabel("bank of shared memory (4 bytes wide)")
    ax.set_ylabel("words that the bank\nmust deliver")
    ax.margins(x=0.01)
    return Picture(ax, {"bars": bars}, {"words": per_bank})
