"""The answers of the exam agree with the tape, and other seeds give other numbers."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

import minirnn as mr
from minirnn.commands import cli
from minirnn.learn.exam import UNITS, exam, questions

SEEDS = ("a", "summer 2027", "7")
Numbers = tuple[dict[str, float], dict[str, float]]


def numbers(seed: str, unit: int) -> Numbers:
    found = questions(seed)[unit]
    return found.given, found.asked


def leaf(value: float) -> mr.Tensor:
    return mr.tensor(np.float64(value), requires_grad=True)


@pytest.fixture(params=SEEDS)
def seed(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_unit_1_has_the_slope_of_the_tape(seed: str) -> None:
    given, asked = numbers(seed, 1)
    a, x, s = given["a"], given["x"], given["s"]

    def loss(w: mr.Tensor) -> mr.Tensor:
        return a * w * w * w + x * w

    w = leaf(given["w"])
    loss(w).backward()
    assert asked["slope"] == pytest.approx(w.grad.item(), rel=1e-12)
    values = [loss(mr.tensor(np.float64(given["w"] + k * s))).item() for k in (-1, 0, 1)]
    assert asked["central"] == pytest.approx((values[2] - values[0]) / (2 * s), rel=1e-9)
    assert asked["forward"] == pytest.approx((values[2] - values[1]) / s, rel=1e-9)
    errors = asked["central"] - asked["slope"], asked["forward"] - asked["slope"]
    assert errors[0] == pytest.approx(a * s * s) and errors[1] > errors[0]


def test_unit_2_has_the_gradients_of_the_tape(seed: str) -> None:
    given, asked = numbers(seed, 2)
    r, h, states = leaf(given["r"]), mr.tensor(np.float64(0)), []
    for k in (1, 2, 3):
        h = r * h + given[f"x{k}"]
        states.append(h)
    d1, d2, d3, dr = mr.grad(states[0] + states[1] + states[2], [*states, r])
    assert [asked[name] for name in ("d1", "d2", "d3", "dr")] == pytest.approx([g.item() for g in (d1, d2, d3, dr)])
    assert [asked["h2"], asked["h3"]] == pytest.approx([states[1].item(), states[2].item()])
    assert given["r"] ** asked["n"] < 0.01 <= given["r"] ** (asked["n"] - 1)


def test_unit_3_has_the_gradients_of_the_tape(seed: str) -> None:
    given, asked = numbers(seed, 3)
    zf, zi = (leaf(math.log(given[gate] / (1 - given[gate]))) for gate in "fi")
    before = leaf(given["before"])
    c = mr.sigmoid(zf) * before + mr.sigmoid(zi) * given["g"]
    h = given["o"] * mr.tanh(c)
    found = mr.grad(given["dh"] * h + given["carried"] * c, [c, zf, zi, before])
    assert [asked[name] for name in ("dc", "dzf", "dzi", "dc_before")] == pytest.approx([g.item() for g in found])
    (short,) = mr.grad(given["carried"] * (mr.sigmoid(zf) * before), [before])
    assert asked["dc_before"] - asked["lost"] == pytest.approx(short.item())
    assert given["f"] ** asked["half"] == pytest.approx(0.5)


def test_unit_4_has_the_terms_that_a_cut_leaves(seed: str) -> None:
    given, asked = numbers(seed, 4)

    def gradient(cut: bool) -> float:
        r, h = leaf(given["r"]), mr.tensor(np.float64(0))
        for t in range(1, 5):
            h = r * (h.detach() if cut and t == 3 else h) + (given["x"] if t == 1 else 0.0)
        return float(mr.grad(h, [r])[0].item())

    assert asked["full"] == pytest.approx(gradient(False)) and asked["window"] == pytest.approx(gradient(True))
    assert asked["lost"] == pytest.approx(asked["full"] - asked["window"])
    assert asked["kept"] == pytest.approx(given["u"] ** given["n"])


def test_unit_5_has_the_numbers_of_the_library(seed: str) -> None:
    given, asked = numbers(seed, 5)
    scores = leaf(0.0) * 0 + mr.tensor(np.array([[math.log(given["odds"]), 0.0]]), requires_grad=True)
    loss = mr.nn.functional.cross_entropy(scores, np.array([0]))
    (gradient,) = mr.grad(loss, [scores])
    assert loss.item() == pytest.approx(asked["loss"]) and gradient.numpy()[0] == pytest.approx(
        [asked["d"], asked["e"]]
    )
    both = [mr.nn.Parameter(np.zeros(1)) for _ in range(2)]
    for parameter, norm in zip(both, (given["a"], given["b"]), strict=True):
        parameter.grad = mr.tensor(np.array([norm]))
    mr.nn.utils.clip_grad_norm_(both, given["m"])
    clipped = [float(np.linalg.norm(p.grad.numpy())) for p in both]
    assert clipped == pytest.approx([asked["a_clipped"], asked["b_clipped"]], rel=1e-5)
    assert asked["wrong"] == given["k"] / given["t"]


def test_unit_6_has_the_gradients_of_the_tape(seed: str) -> None:
    given, asked = numbers(seed, 6)
    scores = mr.tensor(np.array([math.log(given["odds"]), 0.0]), requires_grad=True)
    weights = mr.nn.functional.softmax(scores, dim=0)
    found = mr.grad((weights * np.array([given["d1"], given["d2"]])).sum(), [scores])[0].numpy()
    assert found == pytest.approx([asked["s1"], asked["s2"]]) and abs(asked["s1"] + asked["s2"]) < 1e-12
    assert asked["segment"] ** 2 == given["T"] and asked["states"] == 2 * asked["segment"]
    assert asked["alive"] == pytest.approx((1 - given["rate"]) ** given["n"])


def test_an_exam_has_a_question_for_each_unit_and_keeps_its_answers_apart() -> None:
    asked, answered = exam("a")
    for text in (asked, answered):
        assert re.findall(r"^## Question (\d): .+ \(10 points\)$", text, flags=re.M) == [str(unit) for unit in UNITS]
        assert not re.search(r"[{}]|nan|inf\b", text)
    for unit, made in questions("a").items():
        parts = [re.findall(r"^(\d)\. ", text, flags=re.M) for text in (made.text, made.answer)]
        assert parts[0] == parts[1] == ["1", "2", "3", "4"][: len(parts[0])] and len(parts[0]) >= 3, unit
    assert exam("a") == (asked, answered) and len({exam(f"{k}")[0] for k in range(20)}) == 20


def test_the_command_writes_both_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "exam"
    assert cli.main(["course", "exam", str(folder), "--seed", "a"]) == 0
    assert [(folder / name).read_text(encoding="utf-8") for name in ("exam.md", "answers.md")] == list(exam("a"))
    assert "answers.md  only for you" in capsys.readouterr().out
