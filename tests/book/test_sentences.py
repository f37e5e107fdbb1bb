"""Sentences of the chapters and pages are true of the values that they are bound to. Tests `tutorials/` and `docs/`."""

from __future__ import annotations

import pytest

from tests.book.chapters import run
from tests.book.sentences import cells, unbound, wrong
from tests.book.test_equations import PAGES

BOUND = [page for page, path in PAGES.items() if any(c.bound for c in cells(path.suffix, path.read_text("utf-8")))]
UNBOUND = {"05_the_lstms_highway": 39, "07_long_lags": 65, "13_gradients_of_gradients": 23}  # may only become fewer


def mistakes(page: str, old: str = "", new: str = "") -> list[str]:
    path = PAGES[page]
    source = path.read_text("utf-8").replace(old, new, 1)  # not in the binding below
    assert not old or source != path.read_text("utf-8")
    names = vars(run(page[:2])) if path.suffix == ".py" else {}
    more = len(left := unbound(path.suffix, source)) > UNBOUND.get(page, 999)
    return wrong(path.suffix, source, names, run) + [f"bind some of these: {left}"] * more


@pytest.mark.slow
@pytest.mark.parametrize("page", BOUND)
def test_sentences_are_true(page: str) -> None:
    assert mistakes(page) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "old", "new", "because"),
    [  # W1, W4 and W5 of the review of 1.0.0: as they were, and bound to what they say
        ("05", "The straight one is the strongest in each step.", "The straight one dominates.", "0 times"),
        ("05", "about 170 times as much", "about 2 times as much", "0 times"),
        ("05", "*grows* on its", "halves every 5.5 steps on its", "bind"),
        ("05", "slower to forget.", "better. It sets the half-life of the gradient.", "0 times"),
        ("07", "still more than 0.14, but\n# that of the GRU has already fallen by about a third, from 0.167.",
         "still close to that of a network without memory.", "0 times"),
        ("07", "min(risen[\"LSTM, forget bias 0\"], ", "min(risen[\"GRU\"], ", "not true: still more than 0.14"),
        ("13", "a region that is about four times as flat", "a flatter region, where the same rate works", "0 times"),
        ("13", "# Training at the edge", "# The same rate works there. Training at the edge", "bind"),
        ("13", "2 / there)\n", "20 / there)\n", "not true: still about 2.6 times"),
    ],
)  # fmt: skip
def test_what_was_wrong_would_be_found(page: str, old: str, new: str, because: str) -> None:
    name = next(name for name in PAGES if name.startswith(page))
    assert any(because in said for said in mistakes(name, old, new))
