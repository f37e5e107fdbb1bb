"""Colors follow the states, the text survives as it is, and it can be read on its colors."""

import html
import re
import warnings
from pathlib import Path

import matplotlib
import numpy as np
import pytest

from minirnn import viz
from minirnn.viz import ColoredText, colored_text, save
from minirnn.viz import text_colors as fonts


def cells(picture: ColoredText) -> list[tuple[str, str, str, float]]:
    """Background, ink, sign and value of each character of the HTML."""
    found = re.findall(r'background:(#\w{6});color:(#\w{6})" title="([^"]*)">(.*?)</span>', picture.html, re.DOTALL)
    return [(back, ink, html.unescape(sign), float(value)) for back, ink, value, sign in found]


def luminance(color: str) -> float:
    """Relative luminance, as WCAG 2 defines it."""
    parts = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_colors_follow_the_sign_and_size_of_the_states() -> None:
    shown = cells(colored_text([-2.0, -1.0, 0.0, 1.0, 2.0], "abcde"))
    assert "".join(sign for _, _, sign, _ in shown) == "abcde"
    assert [value for *_, value in shown] == [-2, -1, 0, 1, 2]
    for (back, *_), share in zip(shown, (0.0, 0.25, 0.5, 0.75, 1.0), strict=True):
        assert back == matplotlib.colors.to_hex(matplotlib.colormaps["RdBu_r"](share))


def test_every_character_can_be_read_on_its_color() -> None:
    """WCAG 2 asks for a contrast of 4.5 at least, whatever the page around it looks like."""
    T = 100
    for back, ink, _, _ in cells(colored_text(np.linspace(-1, 1, T), "x" * T)):
        light, dark = sorted((luminance(back), luminance(ink)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_markup_in_text_and_labels_is_text() -> None:
    text = "<script>alert('&amp;\"')</script>$x^2$"
    picture = colored_text(np.ones(len(text)), text, labels="<b>\"'&")
    assert "<script" not in picture.html and "<b>&lt;b&gt;" in picture.html
    assert "".join(sign for _, _, sign, _ in cells(picture)) == text
    assert picture.html.count('aria-label="&lt;b&gt;&quot;&#x27;&amp;; ') == 1


def test_characters_without_ink_get_a_sign_and_lines_stay_lines() -> None:
    picture = colored_text(np.zeros(6), "a\n\tb\x1b\u202e")
    assert [sign for _, _, sign, _ in cells(picture)] == ["a", "\u21b5", "\u21e5", "b", "\ufffd", "\ufffd"]
    assert picture.html.count("\n") == 1


def test_long_lines_go_on_in_the_next_row_of_the_figure() -> None:
    picture = colored_text(np.zeros(9), "ab\ncdefg\n", width=3)
    assert picture.data["row"].tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert picture.data["column"].tolist() == [0, 1, 2, 0, 1, 2, 0, 1, 2]


def test_words_are_colored_as_wholes() -> None:
    picture = colored_text([1.0, -1.0, 0.5], ["the ", "hen ", "sleeps"], width=10)
    assert picture.data["row"].tolist() == [0, 0, 1] and picture.data["column"].tolist() == [0, 4, 0]
    assert [sign for _, _, sign, _ in cells(picture)] == ["the ", "hen ", "sleeps"]


def test_several_units_have_a_panel_and_a_scale_of_their_own() -> None:
    states = np.stack([np.arange(4.0), -10 * np.arange(4.0)], axis=1)
    picture = colored_text(states, "abcd")
    assert [ax.get_title(loc="center") for ax in picture.ax] == ["unit 0", "unit 1"]
    first, second = picture.artists["unit 0"], picture.artists["unit 1"]
    np.testing.assert_allclose(first.get_facecolors()[3], matplotlib.colormaps["RdBu_r"](1.0))
    np.testing.assert_allclose(second.get_facecolors()[3], matplotlib.colormaps["RdBu_r"](0.0))
    np.testing.assert_array_equal(picture.data["states"], states)
    assert len(cells(picture)) == 8
    assert "blue: -3, white: 0, red: 3" in picture.html and "blue: -30, white: 0, red: 30" in picture.html


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_state_that_is_not_finite_is_gray_and_does_not_stretch_the_scale(bad: float) -> None:
    shown = cells(colored_text([1.0, bad], "ab"))
    assert shown[1][0] == "#8c8c8c"
    assert shown[0][0] == cells(colored_text([1.0], "a"))[0][0]
    assert len(cells(colored_text([bad], "a"))) == 1


def test_it_becomes_a_png_and_a_page_that_asks_nobody(tmp_path: Path) -> None:
    # a character that the font lacks, and one that is not a formula
    picture = colored_text([0.5, -0.5, 0.1], "a\u6f22$")
    for name in ("text.png", "text.svg", "text.html"):
        save(picture, tmp_path / name)
    assert (tmp_path / "text.png").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "text.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>") and picture.html in page and "color-scheme:light dark" in page
    assert not re.search(r"https?:|<script|<img|<link|@import|url\(", page)
    assert picture._repr_html_() == picture.html


@pytest.mark.parametrize("text", ["abc", "\u4e2d\u6587\u5b57", "a\U0001f600b", "\u05d0\u0431\u03b3"])
def test_no_text_gives_a_warning(text: str, tmp_path: Path) -> None:
    gates = {"i": np.full((3, 2), 0.5)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.ravel(viz.gate_map(gates, text=text).ax)[0].figure.savefig(tmp_path / "gates.png")
        np.ravel(viz.colored_text(np.linspace(-1, 1, 3), text).ax)[0].figure.savefig(tmp_path / "text.png")


def test_a_font_that_has_the_letters_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib.font_manager import fontManager

    first, other = "DejaVu Sans Mono", next(f for f in fontManager.ttflist if f.name == "DejaVu Serif")
    has = fonts.letters_of
    monkeypatch.setattr(fonts, "letters_of", lambda path: {0x4E2D} if path == other.fname else has(path))
    assert fonts.fonts_for("a") == ([first], "a")
    assert fonts.fonts_for("a\u4e2d\u6587") == ([first, other.name], "a\u4e2d" + fonts.MISSING)
