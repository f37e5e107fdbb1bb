"""The places of the boxes of a cell's graph, in inches, and the paths of its arrows around them.

`minirnn.viz.tape.layout` gives the order and the heights. Columns are as wide as their widest box. An arrow passes a
column horizontally, at its own height, so that no line runs behind a box.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from minirnn.viz.tape.layout import Edge, arranged

GAP, ROW = 0.3, 0.36
"""The space between two columns, and between boxes of a column."""

Point = tuple[float, float]
Way = list[tuple[Point, Point]]
"""A line in pieces. It is horizontal from a to b where it passes a column, and then curves to the next piece."""


class Box(NamedTuple):
    x: float
    y: float
    """The height of its middle."""
    width: float
    height: float


class Places(NamedTuple):
    boxes: list[Box]
    ways: dict[Edge, Way]
    width: float
    height: float


def placed(sizes: list[Point], edges: list[Edge]) -> Places:
    """The places of boxes of these widths and heights, from left to right. The lower left corner is (0, 0)."""
    found = arranged(len(sizes), edges)
    columns = [int(c) for c, _ in found.boxes]
    widths: dict[int, float] = defaultdict(float)
    for c, (width, _) in zip(columns, sizes, strict=True):
        widths[c] = max(widths[c], width)
    lefts, left = {}, 0.0
    for c in range(min(columns), max(columns) + 1):
        lefts[c] = left
        left += widths[c] + GAP
    row = max(ROW, max(height for _, height in sizes) + 0.08)
    every = [y for _, y in found.boxes] + [y for way in found.ways.values() for _, y in way]
    low, high = min(every) * row - row / 2, max(every) * row + row / 2
    boxes = [
        Box(lefts[c] + widths[c] / 2, y * row - low, *size)
        for c, (_, y), size in zip(columns, found.boxes, sizes, strict=True)
    ]
    ways = {}
    for a, b in edges:
        source, target = boxes[a], boxes[b]
        pieces = [((source.x + source.width / 2, source.y), (lefts[columns[a]] + widths[columns[a]], source.y))]
        for column, y in found.ways.get((a, b), []):
            level, edge = y * row - low, lefts[int(column)]
            pieces.append(((edge, level), (edge + widths[int(column)], level)))
        pieces.append(((lefts[columns[b]], target.y), (target.x - target.width / 2, target.y)))
        ways[a, b] = pieces
    return Places(boxes, ways, left - GAP, high - low)
