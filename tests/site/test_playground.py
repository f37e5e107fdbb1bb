"""The playground in a browser: its numbers are minirnn's, and everyone can use it.

Tests `docs/_static/playground/`, `docs/sliders.py` and `docs/playground_weights.py`.
"""

import re
from collections.abc import Callable, Iterator
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


def test_the_sliders_of_chapters_8_and_13_say_what_their_formulas_give(playground: Any) -> None:
    formula = "([name, chosen]) => window.playground.formulas[name](chosen).said"
    for n, K in ((5, 10), (5, 40), (3, 20), (12, 30), (5, 5), (7, 1)):
        r, d = np.linspace(0.5, 1, 20_001)[:-1], np.arange(K)[:, None]
        g = r ** (2 * n - 1) * (1 - r * r) * ((1 - d / K) * (r ** (2 * d + 2) - (d < n))).sum(axis=0)
        rises = np.flatnonzero((g[:-1] < 0) & (g[1:] >= 0))
        words = playground.evaluate(formula, ["cut", {"n": n, "K": K}])
        ends = [float(number) for number in re.findall(r"r = (0\.\d+)", words)]
        assert ends[-1] == pytest.approx(np.sqrt(n / (n + 1)), abs=6e-4)
        assert ends[:-1] == ([pytest.approx(r[rises[0]], abs=6e-4)] if len(rises) else []), words
        assert ("never stops below" in words) == (not len(rises))
    for rate, verdict in ((0.5, "without a change of sign"), (1.8, "and shrinks"), (2.3, "explodes")):
        words = playground.evaluate(formula, ["descent", {"rate": rate}])
        assert verdict in words and f" {1 - rate:.2f} where" in words and f"by {1 - rate / 10:.2f}." in words


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
    assert "the gradient norm at step 30 reaches step 1" in playground.locator('.pg-said[role="status"]').inner_text()


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


def amount(words: str) -> tuple[float, float]:
    """The bounds that "34 %" or "one part in 10⁹" implies."""
    if power := re.fullmatch(r"one part in 10([⁰¹²³⁴⁵⁶⁷⁸⁹]+)", words):
        exponent = int("".join(str("⁰¹²³⁴⁵⁶⁷⁸⁹".index(digit)) for digit in power[1]))
        return 10.0 ** (-exponent - 0.5), 10.0 ** (-exponent + 0.5)
    value = float(words.removesuffix(" %").replace(",", "")) / 100
    return 0.95 * value, 1.05 * value


def in_turn(page: Any, slider: Any) -> Iterator[tuple[float, str]]:
    """Every position of a slider, and its text."""
    slider.focus()
    page.keyboard.press("Home")
    while True:
        value = float(slider.input_value())
        yield value, said(page)
        page.keyboard.press("ArrowRight")
        if float(slider.input_value()) == value:
            return


COMPARED = re.compile(
    r"The plain RNN passes (.+) of the gradient norm from step 30 back to step 1\. With the forget bias (\S+), "
    r"the LSTM’s forget gates are (\d+) % open, and its cell state passes (.+?): (.+)\."
)


def test_the_front_page_shows_its_claim_and_says_what_is_true_at_every_place_of_the_slider(page: Any) -> None:
    draw = page.evaluate("window.playground.draws")[2]
    settings = {"nonlinearity": "tanh", "radius": 1, "T": 30, "weight": 0, "draw": 2}
    rnn = numbers({**settings, "cell": "rnn", "forget": 0}, draw, [])["dh"]
    part = rnn[0] / rnn[-1]
    first = COMPARED.fullmatch(said(page))
    assert first and float(first[2]) == 3 and part < 1e-5 and amount(first[4])[0] > 0.3
    seen = []
    for bias, sentence in in_turn(page, page.get_by_label("Forget bias")):
        words = COMPARED.fullmatch(sentence)
        assert words and float(words[2]) == bias, sentence
        dc = numbers({**settings, "cell": "lstm", "forget": bias}, draw, [])["dc"]
        kept = dc[0] / dc[-1]
        for stated, true in ((words[1], part), (words[4], kept)):
            low, high = amount(stated)
            assert low <= true <= high, (sentence, true)
        ratio = kept / part
        if times := re.fullmatch(r"(?:about 10([⁰¹²³⁴⁵⁶⁷⁸⁹]+)|([\d,.]+)) times as much as the RNN", words[5]):
            assert ratio >= 2 and times[2] and abs(float(times[2].replace(",", "")) / ratio - 1) < 0.06, (
                sentence,
                ratio,
            )
        else:
            assert words[5] == ("less than the RNN" if ratio <= 0.5 else "about as much as the RNN") and ratio < 2
        seen.append((int(words[3]), kept))
    assert len(seen) == 33 and seen == sorted(seen)  # the further the gates are open, the more of the gradient arrives


def test_the_sentence_of_the_playground_is_true_for_every_cell_and_radius(playground: Any) -> None:
    draws = playground.evaluate("window.playground.draws")
    settings = {"nonlinearity": "tanh", "forget": 1, "T": 30, "weight": 0, "draw": 0}
    verdicts = set()
    for cell, label in (("rnn", "RNN"), ("lstm", "LSTM"), ("gru", "GRU")):
        playground.get_by_role("radio", name=label, exact=True).check()
        for radius, sentence in in_turn(playground, playground.get_by_label("Spectral radius")):
            shown = numbers({**settings, "cell": cell, "radius": radius}, draws[0], [])
            values = shown["dc"] or shown["dh"]
            part, verdict = values[0] / values[-1], sentence.rpartition(" ")[2]
            assert verdict == ("vanishes." if part < 0.01 else "explodes." if part > 100 else "arrives."), (
                sentence,
                part,
            )
            if found := re.match(r"(?:Only )?(.+?) of the ", sentence):
                low, high = amount(found[1])
                assert low <= part <= high, (sentence, part)
            verdicts.add(verdict)
    assert {"vanishes.", "arrives."} <= verdicts


def test_the_front_page_opens_with_a_picture_that_can_be_moved(page: Any) -> None:
    pictures = page.locator(".playground svg")
    assert pictures.count() == 2 and "forget f" in str(pictures.last.get_attribute("aria-label"))
    before = [picture.inner_html() for picture in pictures.all()]
    page.get_by_label("Forget bias").focus()
    page.keyboard.press("ArrowLeft")
    said(page)
    assert all(one.inner_html() != other for one, other in zip(pictures.all(), before, strict=True))
    doors = [d.inner_text().split("\n")[0] for d in page.locator(".minirnn-doors .sd-card").all()]
    assert doors == ["Learn", "Use", "Teach"]
