"""Places and lines of the map of a course. Boxes are on a grid, and lines run only in the gaps of the grid.

A line leaves a box at its bottom, goes sideways in the gap below its row, down in a gap between two columns, sideways
in the gap above the row of its target, and enters the target from above. So no line is behind a box. Lines from
different boxes have different tracks in a gap.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

BOX = (1.2, 0.56)
"""Width and height of a box, in inches."""
PITCH = (1.5, 1.0)
"""The distance between the middles of neighboring boxes."""
Cell = tuple[int, int]
"""The row and the column of a box."""
Point = tuple[float, float]


def middle(cell: Cell) -> Point:
    """The middle of a box. y falls with the row."""
    return cell[1] * PITCH[0], -cell[0] * PITCH[1]


class Tracks:
    """The tracks of each gap: a number for each box whose lines use it."""

    def __init__(self) -> None:
        self.used: dict[tuple[str, int], list[str]] = defaultdict(list)

    def add(self, kind: str, gap: int, source: str) -> None:
        if source not in self.used[kind, gap]:
            self.used[kind, gap].append(source)

    def place(self, kind: str, gap: int, source: str) -> float:
        """Where in the gap the track is, from 0 to 1."""
        sources = self.used[kind, gap]
        return (sources.index(source) + 1) / (len(sources) + 1)


def routes(cells: Mapping[str, Cell], needs: Mapping[str, Sequence[str]]) -> dict[tuple[str, str], list[Point]]:
    """The line from each box to each box that needs it, as corners.

    Parameters
    ----------
    cells : mapping of str to (row, column)
        No box is above a box that it needs.
    needs : mapping of str to names
        What each box needs.
    """
    edges = [(a, b) for b in cells for a in needs.get(b, ()) if a in cells]
    tracks = Tracks()
    for a, b in edges:
        (row, _), (below, _) = cells[a], cells[b]
        if _is_next(cells[a], cells[b]):
            continue
        tracks.add("row", row, a)
        if below != row + 1:
            tracks.add("column", _channel(cells[a], cells[b]), a)
        if below > row + 1:
            tracks.add("row", below - 1, a)
    return {(a, b): _route(a, b, cells, needs, tracks) for a, b in edges}


def _is_next(a: Cell, b: Cell) -> bool:
    return a[0] == b[0] and b[1] == a[1] + 1


def _channel(a: Cell, b: Cell) -> int:
    """The gap between columns in which a line goes down: that to the left of column k has the number k."""
    return a[1] + 1 if b[1] > a[1] and b[0] > a[0] else b[1]


def _across(tracks: Tracks, gap: int, source: str) -> float:
    """The height of a track in the gap below row `gap`."""
    top = -gap * PITCH[1] - BOX[1] / 2
    return top - (PITCH[1] - BOX[1]) * (0.1 + 0.75 * tracks.place("row", gap, source))


def _down(tracks: Tracks, gap: int, source: str) -> float:
    """Where a track in the gap to the left of column `gap` is."""
    left = (gap - 1) * PITCH[0] + BOX[0] / 2
    return left + (PITCH[0] - BOX[0]) * (0.05 + 0.9 * tracks.place("column", gap, source))


def _route(
    a: str, b: str, cells: Mapping[str, Cell], needs: Mapping[str, Sequence[str]], tracks: Tracks
) -> list[Point]:
    (x, y), (to_x, to_y) = middle(cells[a]), middle(cells[b])
    width, height = BOX
    if _is_next(cells[a], cells[b]):
        return [(x + width / 2, y), (to_x - width / 2, to_y)]
    x += 0.25 * width  # lines leave to the right and arrive to the left of the middle, so that they do not cross
    arrivals = [need for need in needs[b] if need in cells]
    share = (arrivals.index(a) + 1) / (len(arrivals) + 1) - 0.5
    level = _across(tracks, cells[a][0], a)
    way = [(x, y - height / 2), (x, level)]
    if cells[a][0] == cells[b][0]:
        place = _down(tracks, _channel(cells[a], cells[b]), a)
        side = to_y + (share - 0.1) * height / 2  # a line from the next box arrives at the middle
        return [*way, (place, level), (place, side), (to_x - width / 2, side)]
    if cells[b][0] > cells[a][0] + 1:
        place = _down(tracks, _channel(cells[a], cells[b]), a)
        way += [(place, level)]
        level = _across(tracks, cells[b][0] - 1, a)
        way += [(place, level)]
    to_x -= width * (0.15 + 0.5 * share)
    return [*way, (to_x, level), (to_x, to_y + height / 2)]
