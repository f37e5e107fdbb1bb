from __future__ import annotations

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
    y = h
    for _ in range(500):
        y = y * 0.5
    assert len(tape_svg(y).svg) < 5000
    assert len(tape_svg(h * 2.0).svg) < 5000
    with pytest.raises(TypeError, match="expected a Tensor"):
        tape_svg(3)
