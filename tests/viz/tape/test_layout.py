import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minirnn.viz.tape.layout import BEND, _crossings, _place, arranged
from tests.examples import examples


@st.composite
def tapes(draw):
    """A number of boxes, and arrows from lower to higher numbers."""
    n = draw(st.integers(1, 12))
    pairs = [(a, b) for b in range(n) for a in range(b)]
    return n, sorted(draw(st.sets(st.sampled_from(pairs), max_size=20))) if pairs else []


@examples(60)
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
        assert layout.ways[0, k] == trunk[: k - 1]  # every branch starts from the same trunk


def test_crossings_are_removed():
    # Two chains whose ends are listed in the opposite order: 0 -> 3, 1 -> 2.
    layout = arranged(4, [(0, 3), (1, 2)])
    (_, a), (_, b), (_, c), (_, d) = layout.boxes
    assert (a - b) * (d - c) > 0


def test_one_box_stands_in_the_middle():
    assert arranged(1, []).boxes == [(0.0, pytest.approx(0.0))]


@examples(60)
@given(st.lists(st.tuples(st.floats(-5, 5), st.booleans()), min_size=1, max_size=7))
def test_nodes_stand_as_near_as_possible_to_where_they_are_wanted(nodes):
    # The least squares with distances are an isotonic regression, which has a formula with minima and maxima.
    n = len(nodes)
    members = [k if is_box else 100 + k for k, (_, is_box) in enumerate(nodes)]
    gaps = [0.0]
    for (_, above), (_, below) in zip(nodes, nodes[1:], strict=False):
        gaps.append(1.0 if above and below else BEND + 0.25 if above or below else BEND)
    offset = np.cumsum(gaps)
    wanted = np.array([want for want, _ in nodes])
    v = wanted + offset
    mean = [[v[min(j, k) : k + 1].mean() for k in range(n)] for j in range(n)]  # of the nodes j .. k
    expected = [min(max(mean[j][k] for k in range(i, n)) for j in range(i + 1)) for i in range(n)]
    height = [0.0] * 200
    _place(members, list(wanted), height, 50)
    np.testing.assert_allclose([height[k] for k in members], expected - offset, atol=1e-9)


def test_crossings_are_counted():
    column, height = [0, 0, 0, 1, 1, 1, 2], [2.0, 1.0, 0.0, 2.0, 1.0, 0.0, 0.0]
    assert _crossings({3: [0], 4: [1], 5: [2]}, column, height) == 0
    assert _crossings({3: [2], 4: [1], 5: [0]}, column, height) == 3
    assert _crossings({3: [1, 2], 5: [0]}, column, height) == 2
    assert _crossings({3: [2], 4: [2]}, column, height) == 0  # from one place
    assert _crossings({5: [0], 6: [3]}, column, height) == 0  # of different columns


# These layouts were inspected by eye: a neuron with a loss (x, w, their product, b, ..), and an unrolled network.
NEURON = [(0, 2), (1, 2), (2, 4), (3, 4), (4, 5), (5, 6), (5, 7), (6, 7), (7, 8)]
UNROLLED = [(0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4), (2, 3), (3, 4), (4, 5)]


@pytest.mark.parametrize(
    ("edges", "columns", "heights"),
    [
        (NEURON, [0, 0, 1, 1, 2, 3, 4, 5, 6], [0.639, -0.361, 0.361, -0.639, 0.063, 0.046, 0.31, 0.047, 0.047]),
        (UNROLLED, [0, 0, 1, 2, 3, 4], [0.5, -0.5, 0.0, 0.0, 0.0, 0.0]),
    ],
)
def test_places_of_two_tapes(edges, columns, heights):
    layout = arranged(len(columns), edges)
    assert [x for x, _ in layout.boxes] == columns
    np.testing.assert_allclose([y for _, y in layout.boxes], heights, atol=2e-3)
