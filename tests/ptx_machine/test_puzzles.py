"""The answers of docs/appendix/puzzles.md agree with the judges, and its differences with the planted ones.

Tests `tests/ptx_machine/puzzles.py`. Here a judge has one run, and the PTX machine eight;
`tests/ptx_machine/test_planted.py` has all of them.
"""

import re
from pathlib import Path

import pytest

import minirnn as mr
from tests.ptx_machine import build, puzzles
from tests.ptx_machine.planted import JUDGES, judges, verdict

PAGE = Path(__file__).parents[2] / "docs" / "appendix" / "puzzles.md"
WORDS = {"y": "notices it", "n": "misses it"}
pytestmark = [
    pytest.mark.skipif(not PAGE.parents[1].is_dir(), reason="the pages are in the repository alone"),
    pytest.mark.skipif(
        mr.devices.available()["cuda-sim"] is not None, reason=f"cuda-sim: {mr.devices.available()['cuda-sim']}"
    ),
]


def section(number: int) -> str:
    return re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[number]


@pytest.mark.parametrize("number", range(1, 12))
def test_the_page_shows_the_change_the_command_and_the_answer(number: int) -> None:
    puzzle, text = puzzles.PUZZLES[number - 1], section(number)
    assert text.startswith(f"{number}. ") and f"`python -m tests.ptx_machine.puzzles {number}`" in text
    shown = {" ".join(line.split()) for line in text.splitlines() if line[:1] in "-+" and line[:1]}
    planted = {" ".join(line.split()) for line in puzzles.shown(puzzle) if line[:1] in "-+"}
    assert {line.replace("- ", "-").replace("+ ", "+") for line in planted} == {
        line.replace("- ", "-").replace("+ ", "+") for line in shown
    }
    simulator, check, machine = (WORDS[letter] for letter in puzzle.noticed)
    question, answer = text.split("<details>")
    assert f"Simulator: {simulator}. Check mode: {check}. PTX machine: {machine}." in answer
    assert "notice" not in question


@pytest.mark.parametrize("judge", range(3), ids=JUDGES)
@pytest.mark.parametrize("number", range(1, 12))
def test_the_answer_is_what_the_judge_says(number: int, judge: int) -> None:
    puzzle = puzzles.PUZZLES[number - 1]
    if judge == 2 and build.reason_against() is not None:
        pytest.skip(f"ptx: {build.reason_against()}")
    runs = judges(puzzle.where)[judge][: 8 if judge == 2 else 1]
    said = next(filter(None, (verdict(puzzle, puzzle.where, run) for run in runs)), "")
    assert bool(said) == (puzzle.noticed[judge] == "y"), said


def test_the_command_shows_and_runs_what_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert puzzles.main([]) == 0
    assert capsys.readouterr().out.count("puzzle ") == 11
    assert puzzles.main(["6"]) == 0
    out = capsys.readouterr().out
    assert "- #define SLOTS 2" in out and "check mode   notices it in 3 of 3" in out
    assert puzzles.main(["12"]) == 2
    assert "there is no puzzle 12; expected numbers from 1 to 11" in capsys.readouterr().err
