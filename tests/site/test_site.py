"""The built documentation in a real browser: it opens, leads on, finds things, and nothing is missing.

Tests `docs/`.
"""

from __future__ import annotations

from typing import Any

import pytest


def broken_images(page: Any) -> list[str]:
    page.wait_for_load_state("load")
    return page.evaluate(
        "[...document.images]"
        ".filter(i => { i.loading = 'eager'; return i.complete && !i.naturalWidth })"
        ".map(i => i.src)"
    )


def overflow(page: Any) -> int:
    """By how many pixels the page is wider than the window."""
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


def test_the_front_page_leads_to_a_tutorial(page: Any) -> None:
    assert "minirnn" in page.title()
    assert broken_images(page) == [] and overflow(page) <= 0
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


@pytest.mark.parametrize("path", ["ops/cudnn_rnn.html", "api/ops.html", "verified.html", "cuda.html", "glossary.html"])
def test_pages_fit_the_window(page: Any, site: str, path: str) -> None:
    page.goto(f"{site}{path}")
    assert broken_images(page) == [] and overflow(page) <= 0
