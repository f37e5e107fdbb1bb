"""How pictures of chapters get to their pages.

Tests `docs/picture_scraper.py`.
"""

import runpy
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

import minirnn as mr
from minirnn.viz import display


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(display, "_collected", None)  # the scraper starts to collect; the end of the test ends this
    return runpy.run_path(str(Path(__file__).parents[1] / "docs" / "picture_scraper.py"))["both"]


def test_a_chart_has_two_files_of_one_width_and_its_words(both: Any, tmp_path: Path) -> None:
    ax = Figure(figsize=(8, 3), layout="constrained").subplots()
    ax.plot([0, 1, 2], label="a curve")
    ax.set_title("What is drawn")
    text = both(ax.figure, tmp_path / "one.png", tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"one.png", "one_dark.png"}
    assert text.count(":alt: Chart of one curve: What is drawn.") == 2 and "sideways" not in text
    assert text.count(":width: 552px") == 2 and "only-light" in text and "only-dark" in text
    assert ax.figure.get_size_inches()[0] == 8  # a later cell of the chapter gets the figure as it was


def test_a_cell_is_drawn_again_for_dark_pages_and_scrolls_on_a_phone(both: Any, tmp_path: Path) -> None:
    text = both(mr.viz.cell_graph("lstm"), tmp_path / "one.png", tmp_path)
    light, dark = ((tmp_path / name).read_text(encoding="utf-8") for name in ("one.svg", "one_dark.svg"))
    assert "#14181e" in dark and "#14181e" not in light
    assert text.count("sideways") == 2 and "f = sigmoid(z_f)" in text
