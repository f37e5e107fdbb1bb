"""The statements of chapters 7 and 8 about stored sweeps, checked in the stored rows. Tests `docs/data/`.

`test_07_...` gets the names of chapter 7 after it has run (`chapters.py`).
"""

from __future__ import annotations

import ast
import json
import re
import runpy
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.book.test_equations import ROOT, TUTORIALS

pytestmark = pytest.mark.slow


def test_07_the_stored_results_of_the_adding_problem_say_what_the_chapter_says(chapter: SimpleNamespace) -> None:
    lags, reach = chapter.ADDING_LAGS, chapter.ADDING_REACH
    steps = {name: chapter.learned["Adding", name] for name in reach}
    assert len(steps) == 7 and all(len(row) == len(lags) == 5 for row in (*steps.values(), *reach.values()))

    def learned(network: str) -> list[int]:
        return [lag for lag, n in zip(lags, steps[network], strict=True) if n <= 3000]

    assert learned("RNN") == learned("RNN, orthogonal") == [10, 20]
    assert set(reach["RNN, relu, identity"]) == {0.7}
    assert learned("RNN, relu, identity") == learned("GRU") == list(lags)
    assert reach["GRU"][-1] < 1e-30
    lstms = np.array([steps[f"LSTM, forget bias {bias}"] for bias in (0, 1, 3)])
    assert (steps["GRU"] < lstms).all() and (lstms[:, -1] > 3000).all()
    assert (lstms[0, lags.index(100)] > lstms[1:, lags.index(100)]).all()


def test_07_the_copy_task_ranks_the_networks_differently(chapter: SimpleNamespace) -> None:
    lags, reach = chapter.COPYING_LAGS, chapter.COPYING_REACH
    steps = {name: chapter.learned["Copying", name] for name in reach}
    assert lags == (5, 7, 10) and all(len(row) == 3 for row in (*steps.values(), *reach.values()))
    others = np.array([row for name, row in steps.items() if name != "RNN, orthogonal"])
    assert 3 * steps["RNN, orthogonal"][0] < others[:, 0].min()
    for network, number in (("RNN", 0), ("RNN, orthogonal", 1), ("GRU", 1)):
        assert list(steps[network] <= 3000) == [True] * number + [False] * (3 - number)
    zero, one, three = (steps[f"LSTM, forget bias {bias}"] for bias in (0, 1, 3))
    assert max(*one, *three) <= 3000 < zero[-1] and (zero > one).all() and (zero > three).all()
    rest = np.array([row for name, row in steps.items() if name not in ("LSTM, forget bias 1", "LSTM, forget bias 3")])
    assert (rest[:, 1:] > np.maximum(one, three)[1:]).all()
    assert (np.array(reach["GRU"]) > reach["LSTM, forget bias 0"]).all()
    assert all(reach["LSTM, forget bias 0"][k] < reach[f"LSTM, forget bias {b}"][k] for k in range(3) for b in (1, 3))
    assert 0.45 < reach["RNN, orthogonal"][1] < 0.55


def test_07_most_networks_were_trained_from_three_seeds(chapter: SimpleNamespace) -> None:
    assert {len(of_lag.split()) for row in chapter.COPYING_STEPS.values() for of_lag in row.split(", ")} == {3}


def evidence(
    monkeypatch: pytest.MonkeyPatch, name: str, table: str = "as_table", data: str = ""
) -> tuple[list[dict[str, Any]], str]:
    """The stored rows of a script of evidence, and the table that it makes of them."""
    monkeypatch.syspath_prepend(ROOT / "scripts" / "evidence")  # where it imports from
    script = runpy.run_path(str(ROOT / "scripts" / "evidence" / f"{name}.py"))
    rows = json.loads((ROOT / "docs" / "data" / f"{data or name}.json").read_text(encoding="utf-8"))["rows"]
    assert all(row.keys() > {"date", "machine", "commit", "seed"} for row in rows)
    return rows, script[table](rows)


def test_07_the_numbers_are_those_of_the_stored_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    text = TUTORIALS["07_long_lags"].read_text(encoding="utf-8")
    found = re.search(r"^ADDING_LAGS = .*?^COPYING_STEPS = \{\n.*?^\}", text, flags=re.M | re.S)
    assert found and ast.dump(ast.parse(found[0])) == ast.dump(ast.parse(evidence(monkeypatch, "long_lags")[1]))


def test_07_the_small_runs_are_those_of_the_stored_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    text = TUTORIALS["07_long_lags"].read_text(encoding="utf-8")
    found = re.search(r"^FIVE_SEEDS = \{\n.*?^\}", text, flags=re.M | re.S)
    rows, table = evidence(monkeypatch, "long_lags", "of_five_seeds", "five_seeds")
    assert found and ast.dump(ast.parse(found[0])) == ast.dump(ast.parse(table))
    cases = {(row["task"], row["lag"], row["network"], row["rate"]) for row in rows}
    assert len(rows) == 5 * len(cases) and {row["seed"] for row in rows} == {0, 1, 2, 3, 4}


def test_08_the_price_of_a_longer_window_is_as_the_chapter_and_the_questions_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows, table = evidence(monkeypatch, "windows")
    page = (ROOT / "docs" / "questions.md").read_text(encoding="utf-8")
    assert page.partition("<!-- windows -->\n")[2].partition("\n<!-- /windows -->")[0] == table
    losses: dict[tuple[str, str, int], list[float]] = {}
    for row in sorted(rows, key=lambda row: row["seed"]):
        losses.setdefault((row["rows"], row["network"], row["window"]), []).append(row["validation"])
    assert {len(seeds) for seeds in losses.values()} == {3} and len(losses) == 10
    for network in ("RNN", "LSTM"):
        of_4, of_16, of_64 = (np.array(losses["bias", network, K]) for K in (4, 16, 64))
        medians = [np.median(of_16), np.median(of_4), np.median(of_64)]
        assert medians[0] == min(medians) and np.ptp(medians) < min(np.ptp(of_4), np.ptp(of_64))
        assert all((np.array(losses["budget", network, K]) < of_64).all() for K in (4, 16))
