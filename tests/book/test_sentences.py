"""Sentences of the chapters and pages are true of the values that they are bound to. Tests `tutorials/` and `docs/`."""

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


PLANTED = {  # what the review of 1.0.0 found, as it was: page, what is there now, what was there
    "W1": ("05_the_lstms_highway", "The straight one is the strongest.", "The straight one dominates."),
    "W1, half-life": (
        "05_the_lstms_highway",
        "It makes the network slower to forget.",
        "It sets the half-life of the gradient: a task with a lag of 100 steps needs a bias of about 5.",
    ),
    "W2": (
        "derivations",
        "In five networks with the weights of chapter 5, this product over 19 steps differs from $C_t$ by 9 percent on "
        "average, and by more than half with weights that are three times as large.",
        "With small recurrent matrices the product over many steps is close to that of the forget gates.",
    ),
    "W3": (
        "04_vanish_and_explode",
        "Eigenvalues describe many steps without tanh, :eq:`powers`, but not with it.",
        "Eigenvalues describe many steps, :eq:`powers`.",
    ),
    "W3, border": (
        "04_vanish_and_explode",
        "For this random matrix, tanh moves the border between vanishing and exploding to a larger radius.",
        "It moves the border between vanishing and exploding to a larger radius.",
    ),
    "W4": (
        "13_gradients_of_gradients",
        "The weights move to a region that is about four times as flat.",
        "The weights move to a flatter region, where the same rate works.",
    ),
    "W5": (
        "07_long_lags",
        "that of the GRU has already fallen by about a third, from 0.167.",
        "that of the GRU is still close to that of a network without memory.",
    ),
    "W6": (
        "19_one_launch_for_all_steps",
        "This allows less than a quarter of the flat part.",
        "One sequence is enough to move the persistent kernel to the flat part, where arithmetic is the limit.",
    ),
    "W8": (
        "questions",
        "With an orthogonal R half of the units are on, and a step keeps about 0.7 of the norm.",
        "Its slope is 1 where the unit is on, so the slopes do not shrink the gradient.",
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_what_was_wrong_is_found_without_its_binding(name: str) -> None:
    """The sentence that replaces a bound one leaves a binding without words; W7 is a formula, see `tests/nn`."""
    page, now, was = PLANTED[name]
    text = of_page(PAGES[page])
    assert text.count(now) == 1
    assert any(text.replace(now, was).count(words) != 1 for words, _ in bound(page))


CLAIMED = {  # each wrong statement with a binding that says what it says: (page, words, expression)
    "W1": ("05_the_lstms_highway", "is about :math:`\\sigma(b)^n`", "bool(table[1.0][0][40] < 2 * sigmoid(1) ** 40)"),
    "W2": ("derivations", "the product over many steps is close", "off(1.0) < 0.02"),
    "W3": ("04_vanish_and_explode", "with tanh the radius decides", "turned['tanh'] < 1"),
    "W4": ("13_gradients_of_gradients", "where the same rate works", "20 / curvature < 2 / there"),
    "W5": ("07_long_lags", "the error is still close to 0.167", "error_at(found['GRU'], 0.1)"),
    "W6": ("19_one_launch_for_all_steps", "arithmetic is the limit", "shared / 2 > r"),
    "W8": ("questions", "the slopes do not shrink the gradient", "relu_keeps(identity=False) > 0.95"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CLAIMED)
def test_what_was_wrong_is_not_true_of_the_values(name: str) -> None:
    page, words, expression = CLAIMED[name]
    if page.startswith("19") and (reason := mr.devices.available()["cuda-sim"]):
        pytest.skip(reason)
    names = vars(values) | (vars(run(page[:2])) if PAGES[page].suffix == ".py" else {})
    (found,) = wrong(words, [(words, expression)], names, run)
    assert found.startswith("not true: ")


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
