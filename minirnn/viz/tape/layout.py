"""The places of a tape's boxes in columns, in an order with few crossings, and the paths of the long arrows.

The steps are those of Sugiyama, Tagawa and Toda (1981). First, each box gets a column. An arrow over several columns
gets a bend in each column between. All arrows that leave the same box share their bends, so that a value with many uses
has one trunk with branches. The order in a column follows the mean place of the neighbors. Finally, heights are moved
as near to these means as the distances allow.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

Edge = tuple[int, int]
SWEEPS = 12
BEND = 0.5
"""The distance of a bend from its neighbors. For boxes it is 1."""


class Layout(NamedTuple):
    """Places in columns (to the right) and rows (upwards)."""

    boxes: list[tuple[float, float]]
    ways: dict[Edge, list[tuple[float, float]]]
    """The bends of each arrow between its two boxes. An arrow to the next column has none."""


def arranged(n: int, edges: list[Edge]) -> Layout:
    """The layout of boxes 0 .. n-1 with these arrows, which lead from lower to higher numbers."""
    column = _columns(n, edges)
    bends: dict[Edge, int] = {}  # (box, column) -> the node that takes its place there
    links: set[Edge] = set()
    chains: dict[Edge, list[int]] = {}
    for a, b in edges:
        chain = [a]
        for c in range(column[a] + 1, column[b]):
            if (a, c) not in bends:
                bends[a, c] = len(column)
                column.append(c)
            chain.append(bends[a, c])
        chains[a, b] = chain[1:]
        links.update(zip(chain, [*chain[1:], b], strict=True))
    before, after = defaultdict(list), defaultdict(list)
    for a, b in sorted(links):
        before[b].append(a)
        after[a].append(b)
    height = _heights(column, before, after, n)
    places = [(float(c), height[k]) for k, c in enumerate(column)]
    return Layout(places[:n], {edge: [places[k] for k in chain] for edge, chain in chains.items()})


def _columns(n: int, edges: list[Edge]) -> list[int]:
    """A column for each box: to the right of its rightmost parent, or next to its first use if it has no parents."""
    column = [0] * n
    for a, b in sorted(edges, key=lambda e: e[1]):
        column[b] = max(column[b], column[a] + 1)
    for leaf in {a for a, _ in edges} - {b for _, b in edges}:
        column[leaf] = min(column[b] for a, b in edges if a == leaf) - 1
    return column


def _heights(column: list[int], before: dict[int, list[int]], after: dict[int, list[int]], n: int) -> list[float]:
    """A height for each node, near the mean of its neighbors, in the order with the fewest crossings that was found."""
    columns: dict[int, list[int]] = defaultdict(list)
    for k, c in enumerate(column):
        columns[c].append(k)
    height = [0.0] * len(column)
    for members in columns.values():
        _place(members, [-float(k) for k in range(len(members))], height, n)
    best, fewest = list(height), _crossings(before, column, height)
    for sweep in range(SWEEPS):
        neighbors = before if sweep % 2 == 0 else after
        for c in sorted(columns, reverse=sweep % 2 == 1):
            wanted = {k: _mean([height[m] for m in neighbors[k]], height[k]) for k in columns[c]}
            columns[c].sort(key=lambda k: -wanted[k])
            _place(columns[c], [wanted[k] for k in columns[c]], height, n)
        crossings = _crossings(before, column, height)
        if crossings < fewest:
            best, fewest = list(height), crossings
    # The order is now fixed. Only the heights are moved toward the neighbors on both sides.
    height = best
    for members in columns.values():
        members.sort(key=lambda k: -height[k])
    for _ in range(SWEEPS):
        for members in columns.values():
            targets = []
            for k in members:
                # Chains of computed values and trunks have more weight than leaves and branches, which makes them
                # straight.
                kin = {m for m in before[k] + after[k] if before[m] and before[k] and (m < n) == (k < n)}
                pull = [m for m in before[k] + after[k] for _ in range(12 if m in kin else 1)]
                targets.append(_mean([height[m] for m in pull], height[k]))
            _place(members, targets, height, n)
    middle = (max(height[:n]) + min(height[:n])) / 2
    return [h - middle for h in height]


def _place(members: list[int], wanted: list[float], height: list[float], n: int) -> None:
    """Set the heights of nodes, from the top down, as near to `wanted` as their distances allow (least squares)."""
    offset, groups = 0.0, []  # a group of adjacent members: the sum of their wanted heights, and their number
    offsets = []
    for position, (k, want) in enumerate(zip(members, wanted, strict=True)):
        if position:
            offset += 1.0 if k < n and members[position - 1] < n else BEND + 0.25 * (k < n or members[position - 1] < n)
        offsets.append(offset)
        groups.append([want + offset, 1])
        while len(groups) > 1 and groups[-2][0] / groups[-2][1] < groups[-1][0] / groups[-1][1]:
            total, count = groups.pop()
            groups[-1][0] += total
            groups[-1][1] += count
    top = [total / count for total, count in groups for _ in range(int(count))]
    for k, at, below in zip(members, top, offsets, strict=True):
        height[k] = at - below


def _crossings(before: dict[int, list[int]], column: list[int], height: list[float]) -> int:
    between: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for b, parents in before.items():
        between[column[b]] += [(height[a], height[b]) for a in parents]
    return sum(
        (a - c) * (b - d) < 0 for lines in between.values() for k, (a, b) in enumerate(lines) for c, d in lines[:k]
    )


def _mean(values: list[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise
