from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minirnn.viz.tape.layout import arranged


@st.composite
def tapes(draw):
    """A number of boxes, and arrows from lower to higher numbers."""
    n = draw(st.integers(1, 12))
    pairs = [(a, b) for b in range(n) for a in range(b)]
    return n, sorted(draw(st.sets(st.sampled_from(pairs), max_size=20))) if pairs else []


@settings(max_examples=60, deadline=None)
@given(tapes())
def test_arrows_lead_to_the_right_and_neither_boxes_nor_bends_touch(tape):
    n, edges = tape
    layout = arranged(n, edges)
    assert len(layout.boxes) == n and set(layout.ways) == set(edges)
    for (a, b), way in layout.ways.items():
        columns = [x for x, _ in [layout.boxes[a], *way, layout.boxes[b]]]
        assert columns == list(range(int(columns[0]), int(columns[-1]) + 1)) and len(columns) >= 2
    bends = {bend for way in layout.ways.values() for bend in way}
    for k, (x, y) in enumerate(layout.boxes):
        for other in layout.boxes[k + 1 :]:
            assert x != other[0] or abs(y - other[1]) > 1 - 1e-9
        for bend in bends:
            assert x != bend[0] or abs(y - bend[1]) > 0.75 - 1e-9


def test_a_chain_is_straight_and_a_value_of_many_uses_has_one_trunk():
    steps = 6
    edges = [(0, k) for k in range(1, steps + 1)] + [(k, k + 1) for k in range(1, steps)]
    layout = arranged(steps + 1, edges)
    heights = [layout.boxes[k][1] for k in range(1, steps + 1)]
    assert max(heights) - min(heights) < 0.2
    trunk = layout.ways[0, steps]
    assert len(trunk) == steps - 1
    for k in range(2, steps):
        assert layout.ways[0, k] == trunk[: k - 1]  # every branch leaves the same trunk


def test_crossings_are_removed():
    # Two chains whose ends are exchanged when they are written down: 0 -> 3, 1 -> 2.
    layout = arranged(4, [(0, 3), (1, 2)])
    (_, a), (_, b), (_, c), (_, d) = layout.boxes
    assert (a - b) * (d - c) > 0


def test_one_box_stands_in_the_middle():
    assert arranged(1, []).boxes == [(0.0, pytest.approx(0.0))]
