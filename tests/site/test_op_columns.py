"""The op pages in a browser: formula, NumPy and CUDA are side by side, and corresponding parts are highlighted
together.

Tests `docs/op_columns.py`, `docs/source_pages.py` and `docs/_static/op_columns.js`.
"""

import importlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from docs.columns.parts import parts

PARTS = parts()
DOCS = Path(__file__).parents[2] / "docs"
MODES = ("lstm", "gru", "rnn_tanh", "rnn_relu", "lstm_zoned", "gru_zoned", "rnn_tanh_zoned", "rnn_relu_zoned")
PAGES = {
    "lstm_block_cell": ["lstm_block", "lstm_block_grad", "lstm_block_peephole", "lstm_block_peephole_grad"],
    "block_lstm": ["block_lstm", "block_lstm_grad", "block_lstm_v2"],
    "gru_block_cell": ["gru_block", "gru_block_grad"],
    "cross_entropy": ["cross_entropy", "cross_entropy_grad"],
    "cudnn_rnn": [*(f"{mode}{way}" for mode in (*MODES, "lstm_zoned_c") for way in ("", "_grad")), "products"],
}

WITHOUT_CUDA = ("block_lstm", "block_lstm_grad", "block_lstm_v2", "products")
"""Parts of NumPy's drivers, or of Python alone."""

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
        formulas, numpy, cuda = box(page, part).evaluate(COUNT)
        assert formulas > 0 and numpy == (formulas if part != "block_lstm_v2" else 0), part
        assert cuda == (formulas if part not in WITHOUT_CUDA else 0), part
        for statement in box(page, part).locator(".op-formulas .op-statement").all():
            assert statement.locator("mjx-container").count(), statement.get_attribute("aria-label")
        columns = set(PARTS[part].columns)
        assert {c.get_attribute("data-column") for c in box(page, part).locator(".op-column").all()} == columns | {
            "Formula"
        }
    assert page.locator("mjx-merror").count() == 0


def test_three_clicks_lead_to_formula_numpy_and_cuda_of_an_op(page: Any) -> None:
    page.locator("article").get_by_role("link", name="formula, NumPy and CUDA side by side").click()
    page.wait_for_url("**/ops/README.html")
    page.get_by_role("link", name="lstm_block_cell", exact=True).click()
    page.wait_for_url("**/ops/lstm_block_cell.html*")
    box(page, "lstm_block").get_by_role("button", name="C++, CUDA", exact=True).click()
    for title, text in [("Formula", ""), ("NumPy", "ci = tanh(z_ci)"), ("C++, CUDA", "const V ci = tanh(z_ci);")]:
        column = box(page, "lstm_block").locator(f'.op-column[data-column="{title}"]')
        assert column.is_visible() and text in column.inner_text()
    link = box(page, "lstm_block").locator('.op-column[data-column="C++, CUDA"] a').first
    assert link.inner_text() == "cells.py"
    line = PARTS["lstm_block"].formulas.line
    link.click()
    page.wait_for_url(f"**/source/minirnn/ops/lstm_block/cells.py.html#L-{line}")
    assert page.locator(f"#L-{line}").count() == 1 and page.locator(".highlight .k").count() > 10


def lit(page: Any, part: str) -> set[str]:
    return {s.get_attribute("aria-label") for s in box(page, part).locator(".op-statement.op-lit").all()}


def test_pointing_at_a_statement_lights_up_those_that_set_the_same_name(
    opened: Callable[[int], Any], site: str
) -> None:
    page = opened(1280)
    page.goto(f"{site}ops/lstm_block_cell.html")
    statements = box(page, "lstm_block_grad").locator(".op-formulas .op-statement")
    statements.and_(page.locator('[aria-label^="dz_f ="]')).hover()
    found = lit(page, "lstm_block_grad")
    assert found >= {
        "dz_f = dcs * cs_prev * f * (1 - f)",
        "const V dz_f = dcs * cs_prev * f * (real(1) - f)",
        "multiply(dz_f_by_dcs, _t0, dz_f_by_dcs)",
        "multiply(dcs_prev_dz_i_dz_ci_dz_f, dcs, dcs_prev_dz_i_dz_ci_dz_f)",
    }
    assert all("dz_f" in label for label in found)
    assert lit(page, "lstm_block") == set()
    page.mouse.move(5, 5)
    assert lit(page, "lstm_block_grad") == set()


def test_the_keyboard_reaches_every_statement(opened: Callable[[int], Any], site: str) -> None:
    page = opened(1280)
    page.goto(f"{site}ops/gru_block_cell.html")

    def focused() -> str:
        return page.evaluate("document.activeElement.getAttribute('aria-label')")

    place = box(page, "gru_block")
    place.get_by_role("button", name="C++, CUDA", exact=True).click()
    place.locator(".op-choice button").last.focus()
    for _ in range(2):  # the link to the source, then the first formula
        page.keyboard.press("Tab")
    assert focused() == "r = sigmoid(z_r)"
    for _ in range(4):
        page.keyboard.press("ArrowDown")
    assert focused() == "h = u * h_prev + (1 - u) * c"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert focused() == "const V h = u * h_prev + (real(1) - u) * c"
    page.keyboard.press("Enter")
    assert page.locator('.op-statement[aria-pressed="true"]').count() == 1
    page.mouse.move(5, 5)
    assert "h = u * h_prev + (1 - u) * c" in lit(page, "gru_block")
    page.keyboard.press("Escape")
    assert lit(page, "gru_block") == set()


@pytest.mark.parametrize(("width", "stacked"), [(1280, False), (390, True)])
def test_columns_stand_side_by_side_or_on_a_phone_below_each_other(
    opened: Callable[[int], Any], site: str, width: int, stacked: bool
) -> None:
    page = opened(width)
    page.goto(f"{site}ops/lstm_block_cell.html")
    boxes = [c.bounding_box() for c in box(page, "lstm_block").locator(".op-column").all()]
    lefts, tops = {b["x"] for b in boxes if b}, {b["y"] for b in boxes if b}
    assert (len(lefts), len(tops)) == ((1, 2) if stacked else (2, 1))


@pytest.mark.parametrize("width", [1280, 1800, 390])
def test_a_page_opens_with_formula_and_numpy_and_the_others_are_a_click_away(
    opened: Callable[[int], Any], site: str, width: int
) -> None:
    page = opened(width)
    page.goto(f"{site}ops/lstm_block_cell.html")
    place = box(page, "lstm_block")
    columns = place.locator(".op-column").all()
    shown = [column.get_attribute("data-column") for column in columns if column.is_visible()]
    assert shown == ["Formula", "NumPy"] and len(columns) == 3
    place.get_by_role("button", name="C++, CUDA", exact=True).click()
    assert all(column.is_visible() for column in columns)


def test_a_column_can_be_put_away(opened: Callable[[int], Any], site: str) -> None:
    page = opened(1280)
    page.goto(f"{site}ops/lstm_block_cell.html")
    place = box(page, "lstm_block")
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
