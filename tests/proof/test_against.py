"""A table is compared with an older one.

Tests `tests/proof/against.py`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from minirnn.proof.table import ABSENT, PASSED, Result
from tests.proof.against import compare
from tests.proof.runs import GRU

THEN = Result(GRU, 4, PASSED, 5e-8, 3e-6, "N u", "h")


@pytest.mark.parametrize(
    ("then", "now", "said"),
    [
        pytest.param({"error": 1e-9}, {"error": 4e-7}, "", id="below a few eps"),
        pytest.param({}, {"error": 1.5e-6}, "error 1.5e-06 (h), more than 10 times 5e-08 (h)", id="grew tenfold"),
        pytest.param({"cases": 5}, {}, "4 cases, there were 5", id="fewer cases"),
        pytest.param({"status": ABSENT, "error": None}, {}, "", id="was not at hand"),
    ],
)
def test_a_cell_is_compared_with_what_it_was(then: dict[str, Any], now: dict[str, Any], said: str) -> None:
    found = compare([replace(THEN, **then)], {GRU: 4}, [replace(THEN, **now)], {"cpu"})
    assert found == ([f"{GRU}: {said}"] if said else [], [])


def test_a_cell_that_disappeared_is_named_and_one_that_is_not_at_hand_noted() -> None:
    gone, absent = replace(GRU, variant="with a fifth gate"), replace(THEN, status=ABSENT, why="no compiler")
    found = compare([THEN, replace(THEN, cell=gone)], {GRU: 4}, [absent], {"cpu"})
    assert found == ([f"{gone}: the cell disappeared"], [f"{GRU}: no compiler"])
