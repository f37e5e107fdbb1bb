"""The op pages in a browser: formula, NumPy and CUDA are side by side, and corresponding parts are highlighted
together.

Tests `docs/op_columns.py`, `docs/source_pages.py` and `docs/_static/op_columns.js`.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from minirnn.explain.parts import PARTS

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {
    "lstm_block_cell": ["lstm_block_cell", "lstm_block_cell_grad"],
    "block_lstm": ["block_lstm", "block_lstm_grad", "block_lstm_v2"],
    "gru_block_cell": ["gru_block_cell", "gru_block_cell_grad"],
    "cross_entropy": ["cross_entropy", "cross_entropy_grad"],
    "cudnn_rnn": [
        *(f"{mode}{way}" for mode in ("lstm", "gru", "rnn_tanh", "rnn_relu") for way in ("", "_grad")),
        *("weights_grad", "zoneout", "zoneout_grad"),
    ],
}

# part -> statements of the formula; how many of them have a counterpart in NumPy and in CUDA
MATCHES = {
    "lstm_block_cell": (13, 13, 13),
    "lstm_block_cell_grad": (15, 12, 12),  # the node adds the gradients of x, h_prev, w and b
    "block_lstm": (3, 3, 3),
    "block_lstm_grad": (7, 7, 7),
    "gru_block_cell": (5, 5, 5),
    "gru_block_cell_grad": (12, 8, 8),  # the node adds the gradients of weights and biases
    "cross_entropy": (2, 2, 2),
    "cross_entropy_grad": (1, 1, 1),
    "lstm": (8, 8, 8),
    "lstm_grad": (8, 8, 7),  # da2 = da: one array
    "gru": (5, 5, 5),
    "gru_grad": (4, 4, 4),
    "rnn_tanh": (1, 1, 1),
    "rnn_relu": (1, 1, 1),
    "rnn_tanh_grad": (1, 1, 1),
    "rnn_relu_grad": (1, 1, 1),
    "weights_grad": (6, 6, 6),
    "zoneout": (2, 2, 2),
    "zoneout_grad": (4, 4, 4),
}

COUNT = """(box) => {
  const names = (e) => e.dataset.names.split(" ");
  const within = (title) => [...box.querySelectorAll(`.op-column[data-column="${title}"] .op-statement`)];
  const formulas = within("Formula");
  const matched = (...titles) => {
    const there = new Set(titles.flatMap(within).flatMap(names));
    return formulas.filter((e) => names(e).some((name) => there.has(name))).length;
  };
  return [formulas.length, matched("NumPy"), matched("C++, CUDA", "CUDA")];
}"""


def test_a_box_of_code_has_no_link_in_its_title(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("docutils", reason="the docs need it: pip install -e '.[docs]'")
    monkeypatch.syspath_prepend(str(DOCS))
    op_columns = importlib.import_module("op_columns")
    for key, part in PARTS.items():
        html = "\n".join(op_columns.columns(key, part, "../"))
        titles = re.findall(r"<summary>(.*?)</summary>", html)
        assert titles and all("<a " not in title and "<code>" in title for title in titles), key


def box(page: Any, part: str) -> Any:
    return page.locator(f'.op-columns[data-part="{part}"]')


def test_every_part_has_a_place_on_a_page() -> None:
    assert sorted(PARTS) == sorted(part for parts in PAGES.values() for part in parts)


@pytest.mark.parametrize("name", PAGES)
def test_each_op_shows_its_formulas_and_what_computes_them(opened: Callable[[int], Any], site: str, name: str) -> None:
    page = opened(1280)
    page.goto(f"{site}ops/{name}.html")
    page.evaluate("() => window.MathJax.startup.promise")
    for part in PAGES[name]:
        if part in MATCHES:
            assert tuple(box(page, part).evaluate(COUNT)) == MATCHES[part], part
        for statement in box(page, part).locator(".op-formulas .op-statement").all():
            assert statement.locator("mjx-container").count(), statement.get_attribute("aria-label")
        columns = set(PARTS[part].columns())
        assert {c.get_attribute("data-column") for c in box(page, part).locator(".op-column").all()} == columns | {
            "Formula"
        }
    assert page.locator("mjx-merror").count() == 0


def test_three_clicks_lead_to_formula_numpy_and_cuda_of_an_op(page: Any) -> None:
    page.locator("article").get_by_role("link", name="formula, NumPy and CUDA side by side").click()
    page.wait_for_url("**/ops/README.html")
    page.get_by_role("link", name="lstm_block_cell", exact=True).click()
    page.wait_for_url("**/ops/lstm_block_cell.html*")
    box(page, "lstm_block_cell").get_by_role("button", name="C++, CUDA", exact=True).click()
    for title, text in [("Formula", ""), ("NumPy", "np.tanh(zc)"), ("C++, CUDA", "const V ci = tanh(zc);")]:
        column = box(page, "lstm_block_cell").locator(f'.op-column[data-column="{title}"]')
        assert column.is_visible() and text in column.inner_text()
    link = box(page, "lstm_block_cell").locator('.op-column[data-column="C++, CUDA"] a').first
    assert link.inner_text() == "lstm_block.h"
    link.click()
    page.wait_for_url("**/source/minirnn/devices/cells/lstm_block.h.html#L-14")
    assert page.locator("#L-14").count() == 1 and page.locator(".highlight .k").count() > 10


def lit(page: Any, part: str) -> set[str]:
    return {s.get_attribute("aria-label") for s in box(page, part).locator(".op-statement.op-lit").all()}


def test_pointing_at_a_statement_lights_up_those_that_set_the_same_name(
    opened: Callable[[int], Any], site: str
) -> None:
    page = opened(1280)
    page.goto(f"{site}ops/lstm_block_cell.html")
    statements = box(page, "lstm_block_cell_grad").locator(".op-formulas .op-statement")
    statements.and_(page.locator('[aria-label^="dzf ="]')).hover()
    assert lit(page, "lstm_block_cell_grad") == {
        "dzf = dcs * cs_prev * f * (1 - f)",
        "const V dzf = dcs * cs_prev * f * (1 - f)",
        "dzf = load(dz + 2 * H)",
        "dzf = or_zeros(f_grad, f) * f * (1 - f)",
        "dz = None if i_grad is f_grad is o_grad is ci_grad is None else gates_grad(dy, y)",
        "dzi, dzc, dzf, dzo = dz",
    }
    assert lit(page, "lstm_block_cell") == set()
    page.mouse.move(5, 5)
    assert lit(page, "lstm_block_cell_grad") == set()


def test_the_keyboard_reaches_every_statement(opened: Callable[[int], Any], site: str) -> None:
    page = opened(1280)
    page.goto(f"{site}ops/gru_block_cell.html")

    def focused() -> str:
        return page.evaluate("document.activeElement.getAttribute('aria-label')")

    place = box(page, "gru_block_cell")
    place.get_by_role("button", name="C++, CUDA", exact=True).click()
    place.locator(".op-choice button").last.focus()
    for _ in range(2):  # the link to the source, then the first formula
        page.keyboard.press("Tab")
    assert focused() == "[zr | zu] = [x | h_prev] @ w_ru + b_ru"
    for _ in range(4):
        page.keyboard.press("ArrowDown")
    assert focused() == "h = u * h_prev + (1 - u) * c"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert focused() == "const V h = u * h_prev + (1 - u) * c"  # in the second stage, whose box opens
    page.keyboard.press("Enter")
    assert page.locator('.op-statement[aria-pressed="true"]').count() == 1
    page.mouse.move(5, 5)
    assert "h = u * h_prev + (1 - u) * c" in lit(page, "gru_block_cell")
    page.keyboard.press("Escape")
    assert lit(page, "gru_block_cell") == set()


@pytest.mark.parametrize(("width", "stacked"), [(1280, False), (390, True)])
def test_columns_stand_side_by_side_or_on_a_phone_below_each_other(
    opened: Callable[[int], Any], site: str, width: int, stacked: bool
) -> None:
    page = opened(width)
    page.goto(f"{site}ops/lstm_block_cell.html")
    boxes = [c.bounding_box() for c in box(page, "lstm_block_cell").locator(".op-column").all()]
    lefts, tops = {b["x"] for b in boxes if b}, {b["y"] for b in boxes if b}
    assert (len(lefts), len(tops)) == ((1, 2) if stacked else (2, 1))


@pytest.mark.parametrize("width", [1280, 1800, 390])
def test_a_page_opens_with_formula_and_numpy_and_the_others_are_a_click_away(
    opened: Callable[[int], Any], site: str, width: int
) -> None:
    page = opened(width)
    page.goto(f"{site}ops/lstm_block_cell.html")
    place = box(page, "lstm_block_cell")
    columns = place.locator(".op-column").all()
    shown = [column.get_attribute("data-column") for column in columns if column.is_visible()]
    assert shown == ["Formula", "NumPy"] and len(columns) == 3
    place.get_by_role("button", name="C++, CUDA", exact=True).click()
    assert all(column.is_visible() for column in columns)


def test_a_column_can_be_put_away(opened: Callable[[int], Any], site: str) -> None:
    page = opened(1280)
    page.goto(f"{site}ops/lstm_block_cell.html")
    place = box(page, "lstm_block_cell")
    place.get_by_role("button", name="NumPy", exact=True).click()
    assert not place.locator('.op-column[data-column="NumPy"]').is_visible()
    place.get_by_role("button", name="NumPy", exact=True).click()
    assert place.locator('.op-column[data-column="NumPy"]').is_visible()


LINES = """() => [...document.querySelectorAll("table")]
  .filter((table) => ["argument", "array", "gradient"].includes(table.tHead?.rows[0].cells[0].textContent.trim()))
  .flatMap((table) => [...table.tBodies[0].rows])
  .flatMap((row) => [row.cells[0], row.cells[1]])
  .filter((cell) => {
    const range = document.createRange();
    range.selectNodeContents(cell);
    const tops = [...range.getClientRects()].map((box) => (box.top + box.bottom) / 2);
    return Math.max(...tops) - Math.min(...tops) > 8;
  })
  .map((cell) => cell.textContent.trim())"""


@pytest.mark.parametrize("name", PAGES)
def test_arguments_and_shapes_fit_a_line_each(opened: Callable[[int], Any], site: str, name: str) -> None:
    page = opened(1280)
    page.goto(f"{site}ops/{name}.html")
    assert page.evaluate(LINES) == []
