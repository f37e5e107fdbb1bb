"""The table of settings of `docs/practice.md` is that of the programs that it names. Tests `docs/practice.md`."""

import re

import numpy as np
import pytest

import minirnn as mr
from minirnn.train.options import Options
from minirnn.train.training import CLIP
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


def test_the_losses_without_memory_are_those_of_the_tasks() -> None:
    rng = np.random.default_rng(0)
    T, K, S = 40, 4, 6
    assert r"falls to $K \log(S)/T$ without memory" in TEXT
    assert np.isclose(mr.data.copy_memory(rng, T, 2, length=K, symbols=S).baseline, K * np.log(S) / T)
    target = mr.data.adding_problem(rng, 30, 100_000).target
    assert abs((target**2).mean() - 7 / 6) < 0.01 and "it is 7/6 for the output 0" in TEXT


@pytest.mark.slow
def test_the_losses_are_those_that_the_chapters_reach() -> None:
    first, frequencies, last = (float(value) for value in re.findall(r"\d\.\d\d", row_of("chapter 10]")[8]))
    ten = run("10")
    assert abs(ten.checked[0][1] - first) < 0.1 and abs(ten.unigram - frequencies) < 0.01
    assert abs(ten.checked[-1][1] - last) < 0.1
    assert run("07").found["GRU"][0][-1] < 0.02
    assert round(float(np.log(12)), 2) == 2.48 and min(run("11").accuracy["attention"]) > 0.95


def test_the_three_steps_by_hand_are_right() -> None:
    """The table of `docs/first_steps.md`, by finite differences."""
    text = (ROOT / "docs" / "first_steps.md").read_text(encoding="utf-8")
    found = [[float(v) for v in line.strip("| ").split("|")] for line in re.findall(r"^\| [123] .*$", text, flags=re.M)]

    def states(moved: tuple[int, str] | None = None, by: float = 0.0) -> list[tuple[float, float]]:
        h, rows = 0.0, []
        for t, x in enumerate((1.0, 0.0, 0.0), 1):
            z = x + 0.5 * h + by * (moved == (t, "z"))
            h = float(np.tanh(z)) + by * (moved == (t, "h"))
            rows.append((z, h))
        return rows

    def slope(t: int, what: str) -> float:
        up, down = ((states((t, what), by)[-1][1] - 1) ** 2 / 2 for by in (1e-6, -1e-6))
        return (up - down) / 2e-6

    expected = [[t, float(t == 1), *states()[t - 1], slope(t, "h"), slope(t, "z")] for t in (1, 2, 3)]
    np.testing.assert_allclose(found, expected, atol=6e-4)


def test_each_chapter_of_the_core_has_three_questions_with_solutions() -> None:
    text = (ROOT / "docs" / "on_paper.md").read_text(encoding="utf-8")
    asked = re.findall(r"^\*\*(\d+)\.([123])\*\* ", text, flags=re.M)
    core = [str(int(stem[:2])) for stem in TUTORIALS if not 14 <= int(stem[:2]) <= 21]
    assert asked == [(chapter, k) for chapter in core for k in "123"]
    assert text.count(":::{dropdown} Solution\n") == len(asked)


def test_numbers_of_the_solutions(rng: np.random.Generator) -> None:
    text = (ROOT / "docs" / "on_paper.md").read_text(encoding="utf-8")
    numbers = {
        "log 3 = 1.10": (np.log(3), 1.10, 0.01),
        "10^{-1/100} = 0.977": (10**-0.01, 0.977, 1e-3),
        "0.99^{100} = 0.037": (0.1 * 0.99**100, 0.037, 5e-4),
        "(0 + 3 \\log 4)/4 = 1.04": (0.75 * np.log(4), 1.04, 0.01),
        "(1/0.7)^{40} = 1.6 \\cdot 10^6": (0.7**-40, 1.6e6, 5e4),
        "\\log(4/\\sqrt 2 - 1) = 0.60": (np.log(4 / np.sqrt(2) - 1), 0.60, 0.01),
        "the rate at b = 1 is 1.08": (1 / (1 + np.exp(-1)) + np.sqrt(2) / 4, 1.08, 0.01),
    }
    for printed, (value, said, error) in numbers.items():
        assert printed in " ".join(text.split()) and abs(value - said) < error, printed
    z = 0.7 * rng.normal(size=(400, 3000))  # first losses of 3000 classes
    loss = np.mean(np.log(np.exp(z).sum(axis=1)) - z[:, 0])
    assert abs(loss - np.log(3000) - 0.49 / 2) < 0.15
    pairs = [(t, s) for s in range(12) for t in range(s + 1)]
    assert np.isclose(np.mean([t // 4 == s // 4 for t, s in pairs]), 5 / 13)
    a, b, c, d, h = rng.normal(size=5)
    assert max(max(h + a, b) + c, d) == pytest.approx(max(h + (a + c), max(b + c, d)))
