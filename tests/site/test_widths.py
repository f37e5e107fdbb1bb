"""No line of any page is cut off: on a phone, on a tablet, on a laptop. Tests `docs/_static/minirnn.css`, `wide.js`.

Each page is loaded once and shown at three widths.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

BUILT = Path(__file__).parents[2] / "docs" / "_build" / "html"
FOUND = [p for p in BUILT.rglob("*.html") if "_static" not in p.parts]
PAGES = sorted(p.relative_to(BUILT).as_posix() for p in FOUND if 'http-equiv="refresh"' not in p.read_text("utf-8"))
AT_ONCE = 40
WIDTHS = (390, 768, 1280)

CUT_OFF = """() => {
  const tile = ".sphx-glr-thumbcontainer a.internal span.doc";  // words for those who do not see the tile
  // MathJax clips the middle of a long bar
  const unseen = `mjx-ext, mjx-assistive-mml, .sr-only, .visually-hidden, ${tile}, dialog, [hidden]`;
  // drawers lie beside a small window
  const hidden = `${unseen}, .headerlink, .copybtn, pre *, .bd-sidebar, .bd-sidebar-secondary, .sideways-box`;
  const said = (e) => `${e.tagName.toLowerCase()}.${e.className}: ${e.textContent.trim().slice(0, 60)}`;
  const found = [];
  for (const e of document.querySelectorAll("main *")) {
    if (e.closest(hidden) || !e.checkVisibility()) continue;
    const box = e.getBoundingClientRect(), style = getComputedStyle(e);
    if (!box.width || style.position === "fixed") continue;
    if (box.right > innerWidth + 1 || box.left < -1) found.push(`beyond the window: ${said(e)}`);
    if (e.tagName === "PRE" && e.scrollWidth > e.clientWidth + 1) found.push(`wider than its box: ${said(e)}`);
    const cuts = style.overflowX !== "visible" && style.display !== "inline";
    if (cuts && e.scrollWidth > e.clientWidth + 1) found.push(`more than its box: ${said(e)}`);
  }
  if (document.documentElement.scrollWidth > innerWidth) found.push("the page is wider than the window");
  return found;
}"""

SETTLED = """async () => {
  await Promise.all(document.getAnimations().map((one) => one.finished.catch(() => null)));
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
}"""

BROKEN = """() => {
  const found = [];
  for (const folded of document.querySelectorAll("details.code-fold")) folded.open = true;
  for (const pre of document.querySelectorAll("main pre")) {
    if (pre.closest(".op-columns, .sphx-glr-script-out") || !pre.checkVisibility()) continue;  // output may wrap
    pre.style.whiteSpace = "pre";
    const longest = [...pre.textContent.split("\\n")].sort((a, b) => b.length - a.length)[0];
    if (pre.scrollWidth > pre.clientWidth + 1) found.push(`${longest.length} letters: ${longest.slice(0, 70)}`);
    pre.style.whiteSpace = "";
  }
  return found;
}"""


@pytest.mark.parametrize("first", range(0, max(1, len(PAGES)), AT_ONCE))
def test_no_line_is_cut_off(opened: Callable[[int], Any], site: str, first: int) -> None:
    page = opened(WIDTHS[0])
    trouble: dict[str, list[str]] = {}
    for name in PAGES[first : first + AT_ONCE]:
        page.goto(f"{site}{name}", wait_until="load")
        page.evaluate("() => window.MathJax?.startup?.promise")
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            page.evaluate(SETTLED)
            found = page.evaluate(CUT_OFF)
            if width == 1280:
                found += [f"code does not fit: {line}" for line in page.evaluate(BROKEN)]
            if found:
                trouble[f"{name} at {width}"] = found[:4]
    assert trouble == {}
