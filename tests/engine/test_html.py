"""The HTML for notebooks: facts and colored cells, small for any array, and without active content."""

from html.parser import HTMLParser

import numpy as np
import pytest

import minirnn as mr
from minirnn.engine import html


class Cells(HTMLParser):
    """Counts tags, and checks that they are closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.titles: list[str] = []
        self.text = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in {"div", "table", "tr", "td", "b"}, tag
        self.open.append(tag)
        self.titles += [v for k, v in attrs if k == "title" and v is not None]
        assert not any(k.startswith("on") or k in ("src", "href") for k, _ in attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_tensor_shows_shape_dtype_device_range_and_its_values(device: str) -> None:
    t = mr.tensor(np.float32([[1, -2, 0], [0.5, 4, -1]]), requires_grad=True, device=device)
    seen = Cells(t._repr_html_())
    assert seen.text == f"Tensor(2, 3), float32, on {device}, requires grad, min -2, mean 0.4167, max 4"
    assert seen.titles == ["1", "-2", "0", "0.5", "4", "-1"]
    assert "made by Multiply" in Cells((t * 2)._repr_html_()).text
    (t * t).sum().backward()
    assert "requires grad, has one" in Cells(t._repr_html_()).text


def test_signs_are_colors_and_what_is_not_finite_is_gray() -> None:
    text = html.heat_map(np.array([[1.0, -1.0, 0.0, np.nan]]))
    for color in ("rgb(255,0,0)", "rgb(0,0,255)", "rgb(255,255,255)", "#999"):
        assert text.count(color) == 1
    assert html.summary(np.array([1.0, np.inf])) == "min 1, mean 1, max 1, 1 not finite"


@pytest.mark.parametrize("shape", [(1000, 2000), (3, 4, 500, 7), (100_000,)])
def test_large_arrays_stay_small_and_say_what_is_shown(shape: tuple[int, ...]) -> None:
    text = html.of_array("Tensor", np.ones(shape, np.float32))
    seen = Cells(text)
    assert len(text) < 60_000 and 0 < len(seen.titles) <= html.ROWS * html.COLUMNS
    assert "shown" in seen.text
    assert ("[0, 0]" in seen.text) == (len(shape) == 4)


@pytest.mark.parametrize("values", [np.float32(3), np.zeros((0, 4)), np.array([True, False]), np.zeros((2, 0))])
def test_what_has_no_picture_has_its_facts(values: np.ndarray) -> None:
    seen = Cells(html.of_array("Tensor", np.asarray(values)))
    assert seen.titles == [] and str(np.asarray(values).dtype) in seen.text


def test_a_module_shows_its_parameters() -> None:
    seen = Cells(mr.nn.Linear(3, 2)._repr_html_())
    assert "Linear" in seen.text and "weight" in seen.text and "8 numbers" in seen.text


def test_names_are_escaped() -> None:
    assert "<script>" not in html.table([("<script>", "")]) and "<script>" not in html.block("<script>")
