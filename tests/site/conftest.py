"""The built site behind a server, and Chromium in front of it.

Tests run when ``docs/_build/html`` exists (``python -m sphinx -W -b html docs docs/_build/html``) and Chromium is
installed.
"""

import functools
import http.server
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

BUILT = Path(__file__).parents[2] / "docs" / "_build" / "html"
PATIENCE = 200_000  # milliseconds; a machine may be busy with other things
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    marks = [
        pytest.mark.skipif(not (BUILT / "index.html").exists(), reason="the site is not built"),
        pytest.mark.skipif(BROWSER is None, reason="no Chromium: sudo apt-get install chromium"),
        # The browser's own connections are closed when Python collects them.
        pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
    ]
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()) and Path(__file__).parent in item.path.parents:
            for mark in marks:
                item.add_marker(mark)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture(scope="session")
def site() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(BUILT)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason='pip install -e ".[docs,site]"')
    with playwright.sync_playwright() as running:
        # No other host can be reached. A route would call Python for each request and turn off the browser's cache.
        nowhere = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
        arguments = ["--no-sandbox", "--disable-gpu", nowhere]
        chromium = running.chromium.launch(executable_path=BROWSER, args=arguments, timeout=PATIENCE)
        yield chromium
        chromium.close()


@pytest.fixture
def opened(browser: Any, site: str) -> Iterator[Callable[[int], Any]]:
    """A function that opens the front page in a window of a given width. No request may leave the site or fail."""
    trouble: list[str] = []
    pages: list[Any] = []

    def complaint(message: Any) -> None:
        elsewhere = not message.location.get("url", site).startswith(site)
        if message.type == "error" and not elsewhere:
            trouble.append(f"console: {message.text}")

    def open_page(width: int) -> Any:
        page = browser.new_page(viewport={"width": width, "height": 900}, reduced_motion="reduce")
        pages.append(page)
        page.set_default_timeout(PATIENCE)
        page.on("console", complaint)
        page.on("pageerror", lambda error: trouble.append(f"script: {error}"))
        page.on("response", lambda r: trouble.append(f"{r.status} {r.url}") if r.status >= 400 else None)
        page.on("request", lambda r: None if r.url.startswith((site, "data:", "blob:")) else trouble.append(r.url))
        page.goto(site)
        return page

    yield open_page
    for page in pages:
        page.close()
    assert trouble == []


@pytest.fixture(params=[1280, 390], ids=["wide", "phone"])
def page(request: pytest.FixtureRequest, opened: Callable[[int], Any]) -> Any:
    return opened(request.param)
