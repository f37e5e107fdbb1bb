"""The built documentation in a real browser: it opens, its links and search work, and nothing is missing.

Tests `docs/`.
"""

import re
from collections.abc import Callable
from typing import Any

import pytest

import minirnn as mr


def broken_images(page: Any) -> list[str]:
    page.wait_for_load_state("load")
    return page.evaluate(
        "[...document.images]"
        ".filter(i => { i.loading = 'eager'; return i.complete && !i.naturalWidth })"
        ".map(i => i.src)"
    )


def overflow(page: Any) -> int:
    """The number of pixels by which the page is wider than the window."""
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


def test_the_front_page_leads_to_a_tutorial(page: Any) -> None:
    assert "minirnn" in page.title()
    assert broken_images(page) == [] and overflow(page) <= 0
    assert page.locator("footer .version").inner_text() == f"minirnn {mr.__version__}"
    page.locator(".minirnn-doors .sd-card").first.click()
    page.wait_for_url("**/learn.html")
    page.locator("article a[href*='tutorials/01_']").first.click()
    page.wait_for_url("**/tutorials/01_*.html")
    assert broken_images(page) == [] and overflow(page) <= 0
    assert page.locator("article h1").count() == 1


def test_searching_for_a_tensorflow_name_finds_its_page(page: Any, site: str) -> None:
    page.goto(f"{site}search.html?q=GRUBlockCellGrad")
    page.wait_for_selector("#search-results li a")
    found = [a.get_attribute("href") for a in page.locator("#search-results li a").all()]
    assert any("ops/gru_block_cell.html" in href for href in found), found
    assert overflow(page) <= 0


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("install", "use.html"),
        ("BPTT", "tutorials/03_one_step_then_many.html"),
        ("vanishing", "tutorials/04_vanish_and_explode.html"),
    ],
)
def test_searching_for_a_word_of_the_field_finds_its_page_among_the_first(
    opened: Callable[[int], Any], site: str, word: str, expected: str
) -> None:
    page = opened(1280)
    page.goto(f"{site}search.html?q={word}")
    page.wait_for_selector("#search-results li a")
    page.wait_for_function("document.querySelector('#search-results .search-summary')?.textContent.includes('found')")
    found = [a.get_attribute("href") for a in page.locator("#search-results li > a").all()]
    assert any(expected in href for href in found[:3]), found[:8]


def test_an_old_address_leads_to_the_new_page(opened: Callable[[int], Any], site: str) -> None:
    page = opened(1280)
    page.goto(f"{site}tutorials/13_from_beginning_to_end.html")
    page.wait_for_url("**/tutorials/10_from_beginning_to_end.html")


@pytest.mark.parametrize("path", ["ops/cudnn_rnn.html", "api/ops.html", "verified.html", "cuda.html", "glossary.html"])
def test_pages_fit_the_window(page: Any, site: str, path: str) -> None:
    page.goto(f"{site}{path}")
    assert broken_images(page) == [] and overflow(page) <= 0


def test_the_tape_player_is_turned_by_its_buttons_and_by_the_keyboard(page: Any, site: str) -> None:
    page.goto(f"{site}tutorials/01_the_tape.html")
    player = page.locator("[id^=tape-player-]").first
    assert overflow(page) <= 0

    def seen() -> list[int]:
        return [k for k, frame in enumerate(player.locator("figure").all()) if frame.is_visible()]

    assert seen() == [0] and player.locator("figure").count() > 3
    player.locator("figure").nth(0).get_by_text("next").click()
    assert seen() == [1]
    player.locator("input").nth(1).focus()
    page.keyboard.press("ArrowRight")
    assert seen() == [2]


def test_every_figure_of_a_chapter_is_described(page: Any, site: str) -> None:
    for name in ("03_one_step_then_many", "05_the_lstms_highway", "19_one_launch_for_all_steps"):
        page.goto(f"{site}tutorials/{name}.html")
        texts = [
            image.get_attribute("alt") for image in page.locator("article img.sphx-glr-single-img.only-light").all()
        ]
        assert texts and all(len(text) > 40 for text in texts) and len(set(texts)) == len(texts), texts


def test_pictures_are_legible_on_a_phone_and_there_is_one_for_each_theme(page: Any, site: str) -> None:
    phone = page.viewport_size["width"] < 768
    page.goto(f"{site}tutorials/14_one_node_or_many.html")
    tape = page.locator(".sideways-box.only-light").first
    assert tape.is_visible() and not page.locator(".sideways-box.only-dark").first.is_visible()
    assert tape.evaluate("(box) => box.scrollWidth > box.clientWidth") == phone
    assert tape.locator("img").bounding_box()["width"] > 700
    page.goto(f"{site}tutorials/15_whose_gates.html")
    light, dark = (page.locator(f"article img.only-{theme}").first for theme in ("light", "dark"))
    assert light.is_visible() and not dark.is_visible()
    assert light.bounding_box()["width"] == (358 if phone else 552)


VISIBLE_LINES = """() => [...document.querySelectorAll("article div.highlight-Python pre")]
  .filter((pre) => pre.checkVisibility())
  .map((pre) => pre.textContent.split("\\n").filter((line) => line.trim()).length)"""


def test_in_a_chapter_code_that_draws_is_folded_and_on_a_phone_all_long_code(page: Any, site: str) -> None:
    phone = page.viewport_size["width"] < 768
    page.goto(f"{site}tutorials/04_vanish_and_explode.html")
    folds = page.locator("details.code-fold")
    assert folds.count() > 0 and not any(fold.get_attribute("open") for fold in folds.all())
    assert any(text.startswith("Code for the figure") for text in folds.locator("summary").all_inner_texts())
    before = page.evaluate(VISIBLE_LINES)
    assert before and (max(before) <= 12) == phone
    folds.locator("summary").first.click()
    assert len(page.evaluate(VISIBLE_LINES)) == len(before) + 1


def test_every_kind_of_page_is_described_and_has_an_icon(opened: Callable[[int], Any], site: str) -> None:
    page = opened(1280)
    descriptions = []
    for path in (
        "index.html",
        "use.html",
        "ops/lstm_block_cell.html",
        "tutorials/04_vanish_and_explode.html",
        "search.html",
    ):
        page.goto(f"{site}{path}")
        descriptions.append(page.locator('meta[name="description"]').get_attribute("content"))
        assert page.locator('link[rel="icon"]').get_attribute("href").endswith("favicon.svg")
    assert len(set(descriptions)) == 5 and all(20 < len(one) <= 204 for one in descriptions), descriptions
    assert descriptions[3] == "When does the signal die?"


def test_the_sidebar_names_things(opened: Callable[[int], Any], site: str) -> None:
    page = opened(1280)
    for path in ("tutorials/index.html", "performance.html"):
        page.goto(f"{site}{path}")
        links = page.locator(".bd-sidebar-primary nav a").all()
        names = [link.inner_text() for link in links if link.is_visible()]  # those of a folded part are not
        assert names and all(name and len(name) <= 24 and not name.endswith(("?", ".")) for name in names), names


def test_nothing_is_lost_in_the_dark(browser: Any, site: str) -> None:
    """Pictures keep a light background, and highlights are distinguishable from it."""
    page = browser.new_page(color_scheme="dark")
    page.goto(f"{site}performance.html")
    grounds = page.evaluate(
        "[...document.querySelectorAll('article img')].map((i) => getComputedStyle(i).backgroundColor)"
    )
    assert grounds and set(grounds) == {"rgb(255, 255, 255)"}
    page.goto(f"{site}ops/gru_block_cell.html")
    page.locator(".op-statement").first.hover()
    lit, text = page.evaluate(
        "[document.querySelector('.op-lit')].map(getComputedStyle).flatMap((s) => [s.backgroundColor, s.color])"
    )
    assert contrast(lit, text) > 4.5 and contrast(lit, "rgb(20, 24, 30)") > 1.5
    page.close()


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colors, as the accessibility guidelines define it."""

    def luminance(color: str) -> float:
        parts = [int(n) / 255 for n in re.findall(r"\d+", color)[:3]]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)
