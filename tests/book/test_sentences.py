"""Sentences of the chapters and pages are true of the values that they are bound to. Tests `tutorials/` and `docs/`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from tests.book import answers, values
from tests.book.chapters import run
from tests.book.sentences import FOLDER, agrees, bound, of_page, rounds_to, unbound, wrong
from tests.book.test_equations import PAGES

BOUND = sorted(path.stem for path in FOLDER.glob("*.txt"))
UNBOUND = {
    "04_vanish_and_explode": 42,
    "05_the_lstms_highway": 23,
    "07_long_lags": 41,
    "10_from_beginning_to_end": 21,
    "13_gradients_of_gradients": 19,
    "19_one_launch_for_all_steps": 20,
}
"""How many claims of a chapter may have no value. Most are definitions. The numbers may only become smaller."""


@pytest.mark.slow
@pytest.mark.parametrize("page", BOUND)
def test_sentences_are_true(page: str) -> None:
    if page.startswith("19") and (reason := mr.devices.available()["cuda-sim"]):
        pytest.skip(reason)
    names = vars(values) | vars(answers) | (vars(run(page[:2])) if PAGES[page].suffix == ".py" else {})
    assert wrong(of_page(PAGES[page]), bound(page), names, run) == []


def test_a_chapter_has_no_more_claims_without_a_value() -> None:
    assert {page: len(unbound(of_page(PAGES[page]), bound(page))) for page in UNBOUND} == UNBOUND


# ---- the machinery


def test_numbers_are_compared_as_they_are_written() -> None:
    assert rounds_to("2.5", 2.46, False) and not rounds_to("2.5", 2.44, False)
    assert rounds_to("2.5", 2.2, True) and not rounds_to("2.5", 2.0, True)
    assert rounds_to("10^{-15}", 2e-15, False) and not rounds_to("10^{-15}", 1e-13, False)
    assert rounds_to("3,000", 3000, False) and rounds_to("third", 0.33, False) and not rounds_to("third", 0.4, False)
    assert agrees("two of 0.5 and a tenth", [2, 0.52, 0.099]) and not agrees("0.5", [0.5, 1])
    assert agrees("larger", np.bool_(True)) and not agrees("larger", False)


def test_words_occur_once_and_are_true() -> None:
    text, names = "It keeps 0.5 of it. The gradient dominates.", {"half": 0.5}
    bindings = [("keeps 0.5", "half"), ("of it", "half > 1"), ("gradient", "True"), ("keeps 0.6", "0.6"), ("e", "True")]
    assert [said.partition("\n")[0] for said in wrong(text, bindings, names, run)] == [
        "not true: of it",
        "0 times on the page, expected once: keeps 0.6",
        "5 times on the page, expected once: e",
    ]
    assert unbound(text, [("keeps 0.5 of it", "half")]) == ["dominates: The gradient dominates."]


def test_prose_has_no_code_no_displayed_equation_and_no_heading(tmp_path: Any) -> None:
    chapter = tmp_path / "01_x.py"
    lines = ['"""', "Title 9", "=======", "", "First 1.", '"""', "", "# %%", "# Head 2", "# ------", "# Text 3.", "#"]
    lines += ["# .. math::", "#    :label: a-4", "#", "#    5", "#", "# Six.", "", "code = 7", ""]
    chapter.write_text("\n".join(lines))
    assert of_page(chapter) == "First 1. Text 3. Six."
    page = tmp_path / "x.md"
    page.write_text("# Head 1\n\nText 2.\n\n$$\n3\n$$ (a-b)\n\n```sh\n4\n```\n\nFive.\n")
    assert of_page(page) == "Text 2. Five."
    assert SimpleNamespace(**dict(bound("nothing"))) == SimpleNamespace()
