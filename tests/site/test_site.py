"""The built documentation in a real browser: it opens, leads on, finds things, and nothing is missing.

Runs when ``docs/_build/html`` exists (``python -m sphinx -W -b html docs docs/_build/html``) and Chromium is installed.
"""

from __future__ import annotations

import functools
import http.server
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

BUILT = Path(__file__).parents[2] / "docs" / "_build" / "html"
PATIENCE = 200_000  # milliseconds; a machine may be busy with other things
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

pytestmark = [
    pytest.mark.skipif(not (BUILT / "index.html").exists(), reason="the site is not built"),
    pytest.mark.skipif(BROWSER is None, reason="no Chromium: sudo apt-get install chromium"),
    # The browser's own connections are closed when Python collects them.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(BUILT)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    with playwright.sync_playwright() as running:
        arguments = ["--no-sandbox", "--disable-gpu"]
        chromium = running.chromium.launch(executable_path=BROWSER, args=arguments, timeout=PATIENCE)
        yield chromium
        chromium.close()


@pytest.fixture(params=[1280, 390], ids=["wide", "phone"])
def page(request: pytest.FixtureRequest, browser: Any, site: str) -> Iterator[Any]:
    page = browser.new_page(viewport={"width": request.param, "height": 900})
    page.set_default_timeout(PATIENCE)
    # Nothing may be fetched from elsewhere for the page to work; MathJax, which is, is not needed for that.
    page.route(lambda url: not url.startswith(site), lambda route: route.abort())
    trouble: list[str] = []

    def complaint(message: Any) -> None:
        elsewhere = "ERR_FAILED" in message.text or not message.location.get("url", site).startswith(site)
        if message.type == "error" and not elsewhere:
            trouble.append(f"console: {message.text}")

    page.on("console", complaint)
    page.on("pageerror", lambda error: trouble.append(f"script: {error}"))
    page.on("response", lambda r: trouble.append(f"{r.status} {r.url}") if r.status >= 400 else None)
    page.goto(site)
    yield page
    page.close()
    assert trouble == []


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
