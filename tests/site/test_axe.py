"""One page of each kind, in both themes, has no serious violation of the rules for accessible pages. Tests `docs/`."""

from pathlib import Path
from typing import Any

import pytest

PAGES = [
    "index.html",
    "learn.html",
    "use.html",
    "teach.html",
    "glossary.html",
    "playground.html",
    "exercises.html",
    "search.html",
    "ops/lstm_block_cell.html",
    "tutorials/index.html",
    "tutorials/01_the_tape.html",
    "tutorials/04_vanish_and_explode.html",
    "api/ops.html",
]
VIOLATIONS = """() => axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => violations
  .filter(({ impact }) => impact === "serious" || impact === "critical")
  .map(({ id, nodes }) => `${id}: ${nodes.length} times, as in ${nodes[0].html.slice(0, 120)}`))"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_page_of_each_kind_has_no_serious_violation(browser: Any, site: str, theme: str) -> None:
    package = pytest.importorskip("axe_playwright_python", reason='pip install -e ".[docs,site]"')
    script = Path(package.__file__).with_name("axe.min.js").read_text(encoding="utf-8")
    page = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme=theme, reduced_motion="reduce")
    page.set_default_timeout(200_000)
    found = {}
    for name in PAGES:
        page.goto(f"{site}{name}")
        page.evaluate("() => window.MathJax?.startup?.promise")
        page.evaluate(script)
        if violations := page.evaluate(VIOLATIONS):
            found[name] = violations
    page.close()
    assert found == {}
