"""Draws the tape behind a Tensor, with a box for each value and an arrow for each use of it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from minirnn.engine.tensor import Tensor
from minirnn.engine.writing import settled
from minirnn.viz.colors import BLUE, GRAY, GREEN, ORANGE
from minirnn.viz.picture import Picture, check_tensor, new_axes
from minirnn.viz.tape.layout import arranged
from minirnn.viz.tape.walk import check_whole

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN_VALUES = 4
TITLE = "The tape: values flow right, gradients flow back left"
WIDEST = 9
"""The number of columns that fit the width of a page."""
WIDTH = 8.4
"""The width of the widest picture, in inches, at which letters are readable on a page."""


def tape_nodes(output: Tensor, function: str = "tape_graph", changed: dict[Tensor, str] | None = None) -> list[Tensor]:
    """All values that led to `output`, including leaves, in the order in which they were made.

    For a Tensor that was written into later, this is the version that was read. `changed` collects the values whose
    backward formula needs a changed value, with the name of the op that changed it.

    Raises TypeError if `output` is not a Tensor, and RuntimeError if a backward pass has freed its tape.
    """
    if not isinstance(output, Tensor):
        raise TypeError(f"{function}: output is {type(output).__name__}\n  expected a Tensor")
    found, waiting = {output}, [output]
    while waiting:
        node = waiting.pop()
        change = settled(node) if node.parents else None
        if change is not None and changed is not None:
            changed[node] = change[1]
        for parent in node.parents:
            if parent not in found:
                found.add(parent)
                waiting.append(parent)
    check_whole(list(found), function)
    return sorted(found, key=lambda t: t.seq)


def tape_graph(
    output: Tensor,
    *,
    names: Mapping[str, Tensor] | None = None,
    steps: Sequence[Tensor] | None = None,
    max_nodes: int = 40,
    down: bool | None = None,
) -> Picture:
    """Draw the tape that was recorded for `output`.

    Leaves are on the left, and values computed from them are further right. An arrow leads from a value to each op that
    used it, one for each use. A long tape goes from the top down instead, so that it fits the width of a page. Boxes
    show the values and gradients of small arrays. Call this after ``backward(retain_graph=True)`` to see the gradients
    of leaves (and of values with ``retain_grad()``). A tape with more than `max_nodes` nodes has one box for all nodes
    of a kind.

    Parameters
    ----------
    output : Tensor
    names : dict of str to Tensor, optional
        Names of leaves and values: ``{"x": x, "w": w}``.
    steps : sequence of Tensor, optional
        The state of an unrolled network after each time step, in order. All ops recorded between two states are drawn
        as one box.
    max_nodes : int
        A tape with more nodes is drawn by kinds of op, with counts, and the picture says so.
    down : bool, optional
        Whether values flow from the top down instead of to the right. None means yes if they need more than 9 columns.

    Returns
    -------
    Picture
        ``data``: labels (n,), edges (m, 2): from and to, indices into labels; counts (n,).
        ``artists``: the boxes' texts by index.
    """
    nodes = tape_nodes(output)
    if max_nodes < 1:
        raise ValueError(f"tape_graph: max_nodes is {max_nodes}\n  expected 1 or more")
    for name, t in (names or {}).items():
        check_tensor("tape_graph", f"names[{name!r}]", t)
    called = {id(t): name for name, t in (names or {}).items()}
    if steps is not None:
        labels, colors, edges, counts, note = _by_step(nodes, steps, called)
    elif len(nodes) > max_nodes:
        labels, colors, edges, counts, note = _by_kind(nodes)
    else:
        labels = [_label(t, called.get(id(t))) for t in nodes]
        colors = [_color(t) for t in nodes]
        index = {t: k for k, t in enumerate(nodes)}
        edges = [(index[p], index[t]) for t in nodes for p in t.parents]
        counts, note = [1] * len(nodes), ""
    # Arrows between kinds of op can form cycles, so only arrows to the right determine the places of the boxes.
    layout = arranged(len(labels), sorted({e for e in edges if e[0] < e[1]}))
    columns = 1 + int(max(x for x, _ in layout.boxes))
    down = columns > WIDEST if down is None else down
    at = _turned if down else _as_it_is
    points = [at(p) for p in [*layout.boxes, *(bend for way in layout.ways.values() for bend in way)]]
    (left, right), (bottom, top) = ((min(v) - 0.55, max(v) + 0.55) for v in zip(*points, strict=True))
    across, along = (1.05, 0.72) if down else (1.25, 0.8)  # inches between boxes
    ax = new_axes(min(WIDTH, max(3.5, across * (right - left))), min(12, 0.5 + along * (top - bottom)))
    ax.set_xlim(left, right)
    ax.set_ylim(bottom, top)
    ax.axis("off")
    boxes = []
    for k, (label, color) in enumerate(zip(labels, colors, strict=True)):
        box = {"boxstyle": "round,pad=0.3", "facecolor": "white", "edgecolor": color, "linewidth": 1.6}
        words = _wrapped(label)
        boxes.append(ax.text(*at(layout.boxes[k]), words, ha="center", va="center", fontsize=9, bbox=box, zorder=2))
    for edge, uses in Counter(edges).items():
        way = [at(p) for p in [layout.boxes[edge[0]], *layout.ways.get(edge, []), layout.boxes[edge[1]]]]
        _arrow(ax, way, uses, boxes[edge[0]], boxes[edge[1]], back=edge[0] >= edge[1])
    title = "The tape: values flow down, gradients back up" if down else TITLE
    ax.set_title(title + (f"\n{note}" if note else ""), fontsize=10)
    texts: dict[str, object] = {str(k): box for k, box in enumerate(boxes)}
    data = {
        "labels": np.array(labels),
        "edges": np.array(edges, dtype=np.int64).reshape(-1, 2),
        "counts": np.array(counts),
    }
    return Picture(ax, texts, data)


def kind_of(t: Tensor) -> str:
    """The name of the op that made the value, or the kind of leaf."""
    return t.op.name if t.op is not None else ("leaf" if t.requires_grad else "constant")


def _label(t: Tensor, name: str | None) -> str:
    kind = kind_of(t)
    lines = [f"{name} = {kind}" if name and t.op is not None else name or kind]
    if isinstance(t.array, (list, tuple)):
        return f"{lines[0]}\n{len(t.array)} outputs"
    lines.append(_numbers(t.numpy()) if t.size <= SHOWN_VALUES else str(t.shape).replace(" ", ""))
    if t.grad is not None and t.size <= SHOWN_VALUES:
        lines.append(f"grad {_numbers(t.grad.numpy())}")
    return "\n".join(lines)


def _numbers(a: np.ndarray) -> str:
    return np.array2string(a, precision=3, separator=" ", suppress_small=True, floatmode="maxprec")


def _color(t: Tensor) -> str:
    if t.op is not None:
        return BLUE
    return ORANGE if t.requires_grad else GRAY


def _by_kind(nodes: list[Tensor]) -> tuple[list[str], list[str], list[tuple[int, int]], list[int], str]:
    """One box for each kind of op, and arrows between different kinds."""
    plural = {"leaf": "leaves", "constant": "constants"}
    order, counts, edges = _grouped(nodes, {t: kind_of(t) for t in nodes})
    labels = [f"{n} {plural[k]}" if k in plural else f"{k}\n{n} times" for k, n in zip(order, counts, strict=True)]
    colors = [{"leaf": ORANGE, "constant": GRAY}.get(k, GREEN) for k in order]
    return labels, colors, edges, counts, f"{len(nodes)} nodes, drawn by kind of op"


def _by_step(
    nodes: list[Tensor], steps: Sequence[Tensor], called: Mapping[int, str]
) -> tuple[list[str], list[str], list[tuple[int, int]], list[int], str]:
    """One box for all values of a time step. Leaves and values after the last step keep their own boxes.

    A constant that only one step reads, such as its input, is drawn as a part of that step.
    """
    made = [t.seq for t in steps]
    if made != sorted(set(made)):
        raise ValueError(
            "tape_graph: steps are not in the order in which they were computed\n  expected states 0, 1, .."
        )
    key: dict[Tensor, Any] = {}
    for t in nodes:
        step = int(np.searchsorted(made, t.seq))
        key[t] = t if t.op is None or step == len(made) else step
    readers: dict[Tensor, set[Any]] = {}
    for t in nodes:
        for p in t.parents:
            readers.setdefault(p, set()).add(key[t])
    for t, steps_of in readers.items():
        if t.op is None and not t.requires_grad and len(steps_of) == 1 and isinstance(only := min(steps_of), int):
            key[t] = only
    order, counts, edges = _grouped(nodes, key)
    computed = Counter(key[t] for t in nodes if t.op is not None)
    labels = [
        f"step {k + 1}\n{computed[k]} nodes" if isinstance(k, int) else _label(k, called.get(id(k)))
        for k, n in zip(order, counts, strict=True)
    ]
    colors = [GREEN if isinstance(k, int) else _color(k) for k in order]
    return labels, colors, edges, counts, f"{len(nodes)} nodes, drawn by time step"


def _grouped(nodes: list[Tensor], key: Mapping[Tensor, Any]) -> tuple[list[Any], list[int], list[tuple[int, int]]]:
    """The keys in the order of their first nodes, the number of nodes of each, and the arrows between two keys."""
    counts = Counter(key.values())
    index = {k: n for n, k in enumerate(counts)}
    pairs = {(index[key[p]], index[key[t]]) for t in nodes for p in t.parents}
    return list(counts), list(counts.values()), sorted(pair for pair in pairs if pair[0] != pair[1])


def _as_it_is(place: tuple[float, float]) -> tuple[float, float]:
    return place


def _turned(place: tuple[float, float]) -> tuple[float, float]:
    """The place if values flow down. The top of a column becomes the left end of a row."""
    return -place[1], -place[0]


def _wrapped(label: str) -> str:
    """A long name of an op on two lines: ``Power / Constant``."""
    first, newline, rest = label.partition("\n")
    if len(first) > 11:
        first = re.sub(r"(?<=[a-z]{3})(?=[A-Z])", "\n", first, count=1)
    return first + newline + rest


def _arrow(ax: Axes, way: list[tuple[float, float]], uses: int, source: Any, target: Any, back: bool) -> None:
    """Draw an arrow for each use, from box to box along its bends."""
    look = {"color": GRAY, "linewidth": 1.1, "shrinkA": 0, "shrinkB": 0}
    from_box, to_box = {"patchA": source.get_bbox_patch()}, {"patchB": target.get_bbox_patch()}
    for a, b in pairwise(way):
        ends = look | (from_box if a == way[0] else {}) | (to_box if b == way[-1] else {})
        ends["arrowstyle"] = "-|>" if b == way[-1] else "-"
        for k in range(uses if b == way[-1] else 1):
            bend = -0.4 if back else 0.36 * (k - (uses - 1) / 2)
            style = {"connectionstyle": f"arc3,rad={bend}"}
            ax.annotate("", b, a, zorder=1, arrowprops=ends | style)
