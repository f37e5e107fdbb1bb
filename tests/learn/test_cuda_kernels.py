"""CUDA kernels written by students: reports of the simulator are shown, and its counts can cost points."""

import pytest

from tests.learn.answers import COURSE, checked, solution


def test_reports_of_the_simulator_are_shown(tmp_path):
    result = checked(tmp_path, "ex19", COURSE.stub(COURSE.entry("ex19")) + "struct Begun {};\n")
    assert result.status == "failed"
    assert "race" in result.message and "ex19_race.cu" in result.message
    out_of_bounds = solution("ex17", ("if (k >= N) return;", ""))
    result = checked(tmp_path, "ex17", out_of_bounds)
    assert "read past the end of `dh`" in result.message and "SimError" not in result.message


@pytest.mark.slow
def test_nothing_of_the_formula_is_shown_as_python(tmp_path):
    wrong = solution(
        "ex17", ("dh[k] * (h_prev[k] - c[k])", "-dh[k] * (h_prev[k] - c[k])"), ("(1 - u[k])", "(1 + u[k])")
    )
    result = checked(tmp_path, "ex17", wrong)
    assert "du: " in result.message and "dc: " in result.message and result.exact
    assert "return" not in result.message and "np." not in result.message
    result = checked(tmp_path, "ex38", solution("ex38", (") / sum;", ");")))
    assert "y: the division by the sum of each row of p is missing" in result.message


@pytest.mark.slow
def test_numbers_never_written_are_noticed(tmp_path):
    result = checked(tmp_path, "ex17", solution("ex17", ("du[k] = dh[k] * (h_prev[k] - c[k]);", "")))
    assert "du: it is never written" in result.message
    assert [p.name for p in result.parts if not p.ok] == ["du"]


def test_an_early_return_before_a_barrier_is_caught(tmp_path):
    early = solution("ex18", ("float sum = 0;", "if (row >= M || column >= N) return;\n    float sum = 0;"))
    assert not checked(tmp_path, "ex18", early).passed
