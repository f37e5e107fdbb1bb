"""The table of settings of `docs/practice.md` is that of the programs that it names. Tests `docs/practice.md`."""

from __future__ import annotations

import re

import numpy as np
import pytest

from minirnn.train.options import Options
from minirnn.train.run import CLIP
from tests.book.chapters import run
from tests.book.test_equations import ROOT, TUTORIALS

TEXT = (ROOT / "docs" / "practice.md").read_text(encoding="utf-8")


def table() -> list[list[str]]:
    lines = [[part.strip() for part in line.strip("|").split("|")] for line in TEXT.splitlines() if "](" in line]
    return [row for row in lines if len(row) == 9]


def row_of(program: str) -> list[str]:
    return next(row for row in table() if program in row[0])


def test_the_settings_are_those_of_the_chapters() -> None:
    for number in ("7", "10", "11"):
        (path,) = (path for stem, path in TUTORIALS.items() if int(stem[:2]) == int(number))
        source, row = path.read_text(encoding="utf-8"), row_of(f"chapter {number}]")
        assert f"lr={row[2].split(',')[0]})" in source, number
        assert re.search(rf"clip_grad_norm_\(.*, {row[3]}\)|LIMIT, state = {row[3]}, None", source), number
        sizes = {"7": f"T, B, H = {row[5]}, {row[6]}, 64", "10": f"T={row[5]}, B={row[6]}", "11": f", {row[6]})"}
        assert sizes[number] in source
        assert ("forget_bias=1.0" in source) == (row[4] == "forget bias 1"), number


def test_the_last_row_is_minirnn_train() -> None:
    row = row_of("minirnn train")
    o = Options()
    assert (float(row[2]), int(row[5]), int(row[6]), float(row[3])) == (o.lr, o.length, o.batch, CLIP)
    assert row[1] == f"LSTM, {o.hidden} units" and row[8].startswith(f"{o.steps} steps")


@pytest.mark.slow
def test_the_losses_are_those_that_the_chapters_reach() -> None:
    first, frequencies, last = (float(value) for value in re.findall(r"\d\.\d\d", row_of("chapter 10]")[8]))
    ten = run("10")
    assert abs(ten.checked[0][1] - first) < 0.1 and abs(ten.unigram - frequencies) < 0.01
    assert abs(ten.checked[-1][1] - last) < 0.1
    assert run("07").found["GRU"][0][-1] < 0.02
    assert round(float(np.log(12)), 2) == 2.48 and min(run("11").accuracy["attention"]) > 0.95
