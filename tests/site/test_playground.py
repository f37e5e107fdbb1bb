"""The playground in a browser: its numbers are minirnn's, and everybody can use it.

Tests `docs/_static/playground/` and `docs/playground_weights.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.site.playground_reference import numbers

CELLS = {"rnn": ["tanh", "relu", "identity"], "lstm": ["tanh"], "gru": ["tanh"]}
OFFSETS = [-2.0, -0.55, 0.0, 0.3, 2.0]

# 20 settings: each cell at small, critical and large radius, short and long, with each bias
SETTINGS = [
    {"cell": cell, "nonlinearity": f, "radius": radius, "forget": forget, "T": T, "weight": weight, "draw": draw}
    for cell, f, radius, forget, T, weight, draw in [
        ("rnn", "tanh", 0.1, 1.0, 2, 0, 0),
        ("rnn", "tanh", 0.7, 1.0, 40, 3, 1),
        ("rnn", "tanh", 1.0, 1.0, 30, 0, 0),
        ("rnn", "tanh", 1.3, 1.0, 60, 11, 2),
        ("rnn", "tanh", 2.0, 1.0, 60, 5, 3),
        ("rnn", "relu", 0.5, 1.0, 20, 2, 0),
        ("rnn", "relu", 1.0, 1.0, 60, 7, 1),
        ("rnn", "relu", 1.6, 1.0, 35, 9, 2),
        ("rnn", "identity", 0.9, 1.0, 60, 1, 3),
        ("rnn", "identity", 1.2, 1.0, 60, 4, 0),
        ("lstm", "tanh", 0.1, -3.0, 15, 0, 1),
        ("lstm", "tanh", 1.0, 0.0, 30, 6, 2),
        ("lstm", "tanh", 1.0, 1.0, 60, 8, 3),
        ("lstm", "tanh", 1.5, 3.25, 60, 10, 0),
        ("lstm", "tanh", 2.0, 5.0, 45, 2, 1),
        ("gru", "tanh", 0.1, -3.0, 10, 0, 2),
        ("gru", "tanh", 0.9, 0.0, 30, 3, 3),
        ("gru", "tanh", 1.0, 1.0, 60, 5, 0),
        ("gru", "tanh", 1.7, 2.5, 60, 7, 1),
        ("gru", "tanh", 2.0, 5.0, 33, 11, 2),
    ]
]

COMPUTED = """([settings, offsets]) => {
  const { compute, norm, draws } = window.playground;
  const { loss, dh, dc, w, dw, losses } = compute(settings, draws, offsets);
  return { loss, dh: dh.map(norm), dc: dc.map(norm), w, dw, losses };
}"""


@pytest.fixture
def playground(opened: Callable[[int], Any], site: str) -> Any:
    page = opened(1280)
    page.goto(f"{site}playground.html")
    return page


def test_its_numbers_are_those_of_minirnn(playground: Any) -> None:
    draws = playground.evaluate("window.playground.draws")
    for settings in SETTINGS:
        shown = playground.evaluate(COMPUTED, [settings, OFFSETS])
        expected = numbers(settings, draws[settings["draw"]], OFFSETS)
        for name, values in expected.items():
            got = np.array(shown[name], float)
            np.testing.assert_allclose(got, values, rtol=1e-5, atol=0, err_msg=f"{name}: {settings}")


def test_the_matrices_have_spectral_radius_one(playground: Any) -> None:
    for draw in playground.evaluate("window.playground.draws"):
        radii = [np.abs(np.linalg.eigvals(np.array(R))).max() for R in draw["R"]]
        np.testing.assert_allclose(radii, 1, rtol=1e-4)  # they are rounded to six digits


def said(page: Any) -> str:
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return page.locator(".pg-said").inner_text()


def test_the_keyboard_moves_a_slider_and_the_pictures_are_drawn_anew(playground: Any) -> None:
    before = said(playground), [p.inner_html() for p in playground.locator(".pg-pictures svg").all()]
    playground.get_by_label("Spectral radius").focus()
    playground.keyboard.press("ArrowRight")
    after = said(playground), [p.inner_html() for p in playground.locator(".pg-pictures svg").all()]
    assert before[0] != after[0] and len(after[1]) == 3
    assert all(one != other for one, other in zip(before[1], after[1], strict=True))


def test_what_does_not_matter_for_a_cell_cannot_be_moved(playground: Any) -> None:
    bias, relu = playground.get_by_label("Forget bias"), playground.get_by_label("relu")
    assert bias.is_disabled() and relu.is_enabled()
    playground.get_by_label("LSTM").check()
    said(playground)
    assert bias.is_enabled() and relu.is_disabled()
    assert playground.locator('[data-picture="curve"] .pg-line').count() == 2  # h and c


def test_a_screen_reader_hears_names_and_what_the_pictures_show(playground: Any) -> None:
    for control in playground.locator(".playground input").all():
        assert control.evaluate("(e) => e.labels.length === 1 && e.labels[0].textContent.trim() !== ''")
    for group in playground.locator(".playground fieldset").all():
        assert group.locator("legend").inner_text()
    for picture in playground.locator(".playground svg").all():
        assert picture.get_attribute("role") == "img" and len(str(picture.get_attribute("aria-label"))) > 20
    assert (
        playground.locator('.pg-said[role="status"]').inner_text().startswith("Of the gradient of the state h at step")
    )


def test_the_verdicts_of_the_table_are_so(playground: Any) -> None:
    def part(**changed: Any) -> float:
        settings = {**SETTINGS[2], "draw": 0, "weight": 0, **changed}
        computed = playground.evaluate(COMPUTED, [settings, [0]])
        values = computed["dc"] or computed["dh"]
        return values[0] / values[-1]

    free = {"nonlinearity": "identity", "T": 60}
    assert part(**free, radius=0.8) < 1e-3 and part(**free, radius=1.2) > 1e2
    assert part(T=60, radius=1.3) < part(**free, radius=1.3) / 100  # tanh holds back
    assert part(cell="lstm", forget=-3) < 1e-9 and part(cell="lstm", forget=5) > 0.1
    assert part(cell="gru", forget=-3) < part(cell="gru", forget=5) / 100


def test_the_front_page_opens_with_a_picture_that_can_be_moved(page: Any) -> None:
    assert page.locator(".playground svg").count() == 2
    before = page.locator(".playground svg").first.inner_html()
    page.get_by_label("Spectral radius").focus()
    page.keyboard.press("ArrowLeft")
    said(page)
    assert page.locator(".playground svg").first.inner_html() != before
    doors = [d.inner_text().split("\n")[0] for d in page.locator(".minirnn-doors .sd-card").all()]
    assert doors == ["Learn", "Look up an op", "Teach"]
