from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import minirnn as mr
from minirnn.viz import tape_svg

SVG = "{http://www.w3.org/2000/svg}"


def test_boxes_hover_with_values_and_gradients():
    x = mr.tensor([2.0, 1.0], requires_grad=True)
    h = mr.ops.tanh(x * 3.0)
    h.retain_grad()
    loss = h.sum()
    loss.backward(retain_graph=True)
    drawing = ET.fromstring(tape_svg(loss, names={"x": x, "h<1>": h})._repr_html_())
    titles = [t.text for t in drawing.iter(f"{SVG}title")]
    assert len(titles) == 5 and sum("grad [" in t for t in titles) == 2
    assert any("value [2. 1.]" in t for t in titles)
    words = [t.text for t in drawing.iter(f"{SVG}text")]
    assert "x" in words and "h<1> = Tanh" in words
    assert len(list(drawing.iter(f"{SVG}path"))) == 4


def test_everything_lies_within_the_drawing():
    w = mr.tensor(np.ones((3, 3)), requires_grad=True)
    h = mr.tensor(np.ones((2, 3)))
    for _ in range(4):
        h = mr.ops.tanh(h @ w + h)
    drawing = ET.fromstring(tape_svg(h.sum()).svg)
    _, _, width, height = map(float, drawing.get("viewBox").split())
    for box in drawing.iter(f"{SVG}rect"):
        x, y, w_, h_ = (float(box.get(k)) for k in ("x", "y", "width", "height"))
        assert x >= 0 and x + w_ <= width and y >= 0 and y + h_ <= height


def test_long_tapes_and_large_values_stay_small():
    h = mr.tensor(np.ones((300, 300)), requires_grad=True)
    y = h[:2]
    for _ in range(500):
        y = y * 0.5
    assert len(tape_svg(y).svg) < 5000
    assert len(tape_svg(h * 2.0).svg) < 5000
    with pytest.raises(TypeError, match="expected a Tensor"):
        tape_svg(3)


def corners(drawing):
    return [(box.get("x"), box.get("y")) for box in drawing.iter(f"{SVG}rect")]


def test_boxes_stand_in_columns_and_rows_and_a_long_way_goes_around_the_boxes_between():
    x = mr.tensor([0.0, 1.0], requires_grad=True)
    drawing = ET.fromstring(tape_svg(mr.ops.tanh(x) + x).svg)
    # three columns of 150, the last 118 wide; a margin of 20
    (width, height), boxes = (float(v) for v in drawing.get("viewBox").split()[2:]), corners(drawing)
    assert width == 458 and [x for x, _ in boxes] == ["20", "170", "320"]
    paths = [[float(v) for v in re.findall(r"-?\d+", p.get("d"))] for p in drawing.iter(f"{SVG}path")]
    assert [p[0] for p in paths] == [138, 138, 288] or sorted(p[0] for p in paths) == [138, 138, 288]
    assert sorted(p[-2] for p in paths) == [170, 320, 320]  # from the right side of a box to the left side of the next
    (long,) = [p for p in paths if p[0] == 138 and p[-2] == 320]
    bend, tanh = (long[6], long[7]), float(boxes[1][1])  # x to the sum: over, or under, tanh
    assert bend[0] == 170 and long[12] == 288 and bend[1] == long[13]  # level while it passes tanh
    assert not tanh <= bend[1] <= tanh + 40
    assert all(0 < y < height for p in paths for y in p[1::2])
    words = [(t.get("x"), t.get("y"), t.text) for t in drawing.iter(f"{SVG}text")]
    y = float(boxes[0][1])
    assert words[:2] == [("79", f"{y + 17:.0f}", "leaf"), ("79", f"{y + 32:.0f}", "[0. 1.]")]


def test_two_values_of_a_column_stand_one_above_the_other():
    x, y = (mr.tensor(1.0, requires_grad=True) for _ in "xy")
    drawing = ET.fromstring(tape_svg(x * y).svg)
    assert drawing.get("viewBox") == "0 0 308 144"
    assert corners(drawing) == [("20", "20"), ("20", "84"), ("170", "52")]


def test_a_box_shows_the_value_and_only_hovering_shows_the_gradient():
    x = mr.tensor([2.0, 1.0], requires_grad=True)
    (x * 3.0).sum().backward()
    drawing = ET.fromstring(tape_svg(x).svg)
    assert [t.text for t in drawing.iter(f"{SVG}text")] == ["leaf", "[2. 1.]"]
    assert [t.text for t in drawing.iter(f"{SVG}title")] == ["shape (2,), float32\nvalue [2. 1.]\ngrad [3. 3.]"]


def test_up_to_forty_numbers_hover_and_more_are_cut():
    def hover(a):
        return next(ET.fromstring(tape_svg(mr.tensor(a)).svg).iter(f"{SVG}title")).text

    assert "..." not in hover(np.arange(40.0)) and "39." in hover(np.arange(40.0))
    assert hover(np.arange(41.0)).endswith("value [ 0.  1. ... 39. 40.]")
    assert hover(np.array([0.123456, 1e-9])).endswith("value [0.1235 0.    ]")


def test_drawn_by_kinds_a_box_hovers_with_its_kind():
    y = mr.tensor(1.0, requires_grad=True)
    for _ in range(3):
        y = mr.ops.tanh(y)
    titles = [t.text for t in ET.fromstring(tape_svg(y, max_nodes=2).svg).iter(f"{SVG}title")]
    assert titles == ["1 leaves", "Tanh"]
