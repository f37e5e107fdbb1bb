"""No line of the map is behind a box. Tests `minirnn/learn/map_routes.py`, `minirnn/learn/course_map.py`."""

from __future__ import annotations

from itertools import pairwise

import pytest

from minirnn.learn.course import load
from minirnn.learn.course_map import map_picture
from minirnn.learn.map_routes import BOX, middle, routes

CASES = {
    "below": ({"a": (0, 0), "b": (1, 0)}, {"b": ["a"]}),
    "far below": ({"a": (0, 1), "b": (1, 1), "c": (4, 1), "d": (4, 0), "e": (4, 3)}, {k: ["a"] for k in "cde"}),
    "next to it": ({"a": (0, 0), "b": (0, 1), "c": (0, 3), "d": (0, 2)}, {"b": ["a"], "c": ["a"]}),
}


def crossed(cells, ways):
    """The lines that are closer to a box than the middle of a gap, except at their own ends."""
    found = []
    for (a, b), way in ways.items():
        for n, ((x, y), (u, v)) in enumerate(pairwise(way)):
            for name, place in cells.items():
                at_an_end = (name == a and n == 0) or (name == b and n == len(way) - 2)
                cx, cy = place
                apart_x = max(cx - max(x, u), min(x, u) - cx)
                apart_y = max(cy - max(y, v), min(y, v) - cy)
                if not at_an_end and apart_x < BOX[0] / 2 + 0.005 and apart_y < BOX[1] / 2 + 0.005:
                    found.append(f"{a} to {b} is behind {name}")
    return found


@pytest.mark.parametrize("case", CASES)
def test_a_line_goes_around_boxes(case):
    cells, needs = CASES[case]
    ways = routes(cells, needs)
    assert len(ways) == sum(map(len, needs.values()))
    assert crossed({name: middle(cell) for name, cell in cells.items()}, ways) == []
    for way in ways.values():
        assert all(x == u or y == v for (x, y), (u, v) in pairwise(way))  # across or down


def test_in_the_course_no_line_is_behind_a_box_and_no_two_lines_are_one():
    picture = map_picture(load())
    cells = {name: tuple(at) for name, at in picture.data.items() if " to " not in name}
    ways = {tuple(name.split(" to ")): at.tolist() for name, at in picture.data.items() if " to " in name}
    assert crossed(cells, ways) == []
    pieces = [(a, min(p, q), max(p, q)) for (a, _), way in ways.items() for p, q in pairwise(map(tuple, way))]
    for a, p, q in pieces:
        for b, r, s in pieces:
            for one, other in ((0, 1), (1, 0)):
                same = a < b and p[one] == q[one] == r[one] == s[one]
                assert not (same and min(q[other], s[other]) - max(p[other], r[other]) > 0.01), (a, b, p, q)


def test_boxes_do_not_overlap_and_their_text_is_inside():
    picture = map_picture(load())
    picture.figure.draw_without_rendering()
    places = [tuple(at) for name, at in picture.data.items() if " to " not in name]
    assert len(set(places)) == len(places)
    for text in picture.ax.texts:
        box = next((b for n, b in picture.artists.items() if text.get_text().startswith(f"{n}\n")), None)
        if box is not None:
            inside, around = text.get_window_extent(), box.get_window_extent()
            assert around.x0 <= inside.x0 and inside.x1 <= around.x1, text.get_text()
            assert around.y0 <= inside.y0 and inside.y1 <= around.y1, text.get_text()
