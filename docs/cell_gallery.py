"""The page of the gallery: the cells in `docs/examples/cells/`, their formulas, and their gradients over time."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import minirnn as mr
from minirnn.cells.axes import shape_text
from minirnn.nn.own.decorator import Cell
from minirnn.viz import CellDrawing, cell_graph, save
from minirnn.viz.colors import BLUE, GRAY

FOLDER = Path(__file__).parent / "examples" / "cells"
TIMES = Path(__file__).parent / "data" / "cpu" / "own_cells.json"
T, B, I, H = 100, 4, 8, 32
# The cells in the order of the page.
ORDER = ["lstm", "peephole_lstm", "coupled_lstm", "ln_lstm", "gru", "gru_block", "mgu", "ugrnn"]
ORDER += ["ligru", "mingru", "indrnn", "sru", "slstm", "cornn", "lem"]
KEYED = ["linear_attention", "retnet", "deltanet", "mlstm", "s6"]


def cells(folder: Path, names: list[str]) -> dict[str, tuple[str, str, Cell]]:
    """Name -> what the file says of the cell, the file's code, the cell."""
    found = {}
    for name in names:
        path = folder / f"{name}.py"
        text = path.read_text(encoding="utf-8").replace("  # noqa: F821", "")
        made = runpy.run_path(str(path))
        found[name] = made["__doc__"].strip(), text.split('"""', 2)[2].strip(), made[name]
    return found


def reach(cell: Cell, seed: int = 0) -> np.ndarray:
    """(T,): the norm of the gradient of a loss on the last output with respect to x_t, at the initial weights."""
    rng = np.random.default_rng(seed)
    mr.manual_seed(seed)
    gains = {n: 1.0 for n in cell.step.vectors if n.startswith("g")}
    layer = cell.layer(I, H, dtype=np.float64, initial=gains)
    x = mr.tensor(rng.normal(size=(T, B, I)), requires_grad=True)
    y, _ = layer(x)
    (y[-1] * rng.normal(size=(B, H))).sum().backward()
    norms: np.ndarray = np.linalg.norm(x.grad.numpy(), axis=(1, 2))
    return norms


def picture(found: dict[str, tuple[str, str, Cell]]) -> Figure:
    """What reaches each earlier step, of every cell, relative to the last step; the others in gray."""
    lines = {name: reach(cell) for name, (_, _, cell) in found.items()}
    rows = -(-len(lines) // 3)
    figure = Figure(figsize=(8, 1.8 * rows), layout="constrained")
    axes = figure.subplots(rows, 3, sharex=True, sharey=True, squeeze=False).ravel()
    for ax, name in zip(axes[: len(lines)], lines, strict=True):
        for other, norms in lines.items():
            one = other == name
            ax.semilogy(norms / norms[-1], color=BLUE if one else GRAY, lw=2 if one else 0.6, zorder=2 + one)
        ax.set_title(name, fontsize=10)
        ax.set_ylim(1e-16, 1e2)
        ax.grid(alpha=0.25)
    for ax in axes[len(lines) :]:
        ax.set_axis_off()
    for ax in axes[len(lines) - 3 : len(lines)]:
        ax.tick_params(labelbottom=True)
    figure.supxlabel("time step t of 100; the loss is at the last one", fontsize=10)
    figure.supylabel("norm of dL/dx_t, relative to the last step", fontsize=10)
    return figure


def formulas(cell: Cell) -> tuple[str, str]:
    """Forward and backward, each in the mathematics of a page."""
    forward, backward = cell.latex().split("\n\n")
    return f"$$\n{forward}\n$$", f"$$\n{backward}\n$$"


def speed(name: str) -> str:
    """How long a layer takes on `native` next to torch's loop, as far as it was measured."""
    if not TIMES.exists():
        return ""
    told = []
    for row in json.loads(TIMES.read_text(encoding="utf-8"))["rows"]:
        if row["cell"] == name:
            T, B, _, H = row["size"]
            more = (
                f" and {row['compiled'] / row['native']:.2g} times as fast as the compiled one"
                if "compiled" in row
                else ""
            )
            told.append(
                f"{row['eager'] / row['native']:.2g} times as fast as torch's loop{more} at T = {T}, B = {B}, H = {H}"
            )
    return f"On `native`, forward and backward together are {', and '.join(told)}. " if told else ""


def drawing(name: str, picture: CellDrawing) -> str:
    """The drawing of a cell, for light and for dark pages."""
    alt, width = picture.alt, 100 * picture.figure.get_size_inches()[0]
    return "\n".join(
        f"```{{image}} api/cell_{name}_{theme}.png\n:alt: {alt}\n:width: {width:.0f}px\n"
        f":class: only-{theme} sideways\n```\n"
        for theme in ("light", "dark")
    )


def with_keys(found: dict[str, tuple[str, str, Cell]]) -> str:
    """The cells with keys, in Markdown."""
    parts = []
    for name, (says, code, cell) in found.items():
        forward, backward = formulas(cell)
        shapes = ", ".join(f"`{n}` {shape_text(cell.step.axes[n])}" for n in cell.step.user_states)
        parts.append(
            f"### {name}\n\n{says}\n\n```python\n{code}\n```\n\n"
            f"**Forward**\n\n{forward}\n\n**Backward**\n\n{backward}\n\n{speed(name)}States: {shapes}.\n"
        )
    return "\n".join(parts)


def page(found: dict[str, tuple[str, str, Cell]], drawn: dict[str, CellDrawing]) -> str:
    """The part of the page that has the cells, in Markdown."""
    parts = []
    for name, (says, code, cell) in found.items():
        forward, backward = formulas(cell)
        kept = ", ".join(f"`{n}`" for n in cell.saved()) or "nothing"
        parts.append(
            f"## {name}\n\n{says}\n\n```python\n{code}\n```\n\n"
            "::::{grid} 1 1 2 2\n\n"
            f":::{{grid-item}}\n**Forward**\n\n{forward}\n:::\n\n"
            f":::{{grid-item}}\n**Backward**\n\n{backward}\n:::\n::::\n\n"
            f"{drawing(name, drawn[name])}\n"
            f"{speed(name)}A step keeps {kept} for its gradient, in addition to its states.\n"
        )
    return "\n".join(parts)


def write(folder: Path) -> None:
    """Write ``cells.txt``, ``cells_with_keys.txt``, a figure for each, and drawings of cells for each theme."""
    found, keyed = cells(FOLDER, ORDER), cells(FOLDER / "with_keys", KEYED)
    drawn = {name: cell_graph(cell) for name, (_, _, cell) in found.items()}
    (folder / "cells.txt").write_text(page(found, drawn), encoding="utf-8")
    (folder / "cells_with_keys.txt").write_text(with_keys(keyed), encoding="utf-8")
    for name, (_, _, cell) in found.items():
        save(drawn[name], folder / f"cell_{name}_light.png", dpi=160)
        save(cell_graph(cell, dark=True), folder / f"cell_{name}_dark.png", dpi=160)
    picture(found).savefig(folder / "cells.png", dpi=150)
    picture(keyed).savefig(folder / "cells_with_keys.png", dpi=150)
