"""The pytest plugin: plain pytest in a course folder, and its features for teachers' own exercises."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

from minirnn.learn.course import STATE, load, new_tree
from minirnn.learn.plugin import compare_gradients
from tests.learn.answers import body, solution

pytest_plugins = ["pytester"]
COURSE = load()
PLUGIN = ("-p", "minirnn.learn.plugin", "-p", "no:cacheprovider", "-p", "no:randomly", "--color=no")


HOME = {name: os.environ[name] for name in ("HOME", "USERPROFILE") if name in os.environ}


@pytest.fixture(autouse=True)
def surroundings(pytester, monkeypatch):
    """A terminal of the width that pytest expects, because the output depends on it, and the user's own home folder.

    `pytester` gives each test a home of its own, where kernels would be compiled and a template be started anew.
    """
    monkeypatch.setenv("COLUMNS", "80")
    for name, value in HOME.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def tree(pytester):
    """A course folder as pytest's current folder."""
    return new_tree(pytester.path / "learn", COURSE)


def answer(tree, id, text):
    tree.file(COURSE.entry(id)).write_text(text)


# ---- plain pytest in a course folder


@pytest.mark.slow
def test_every_output_is_a_test_and_an_untouched_stub_no_failure(pytester, tree):
    answer(tree, "ex01", solution("ex01"))
    answer(tree, "ex05", solution("ex05", ("da @ W.T", "2 * da @ W.T")))
    result = pytester.runpytest_inprocess(*PLUGIN, "-v", "-rs", "learn/exercises/01_tape", "learn/exercises/03_rnn")
    result.assert_outcomes(passed=7, failed=1, skipped=14)
    result.stdout.fnmatch_lines(
        ["*ex01[[]dx[]] PASSED*", "*ex05[[]dx[]] FAILED*", "*ex05[[]dW[]] PASSED*", "*ex06[[]*SKIPPED (not started)*"]
    )


@pytest.mark.parametrize("ci", ["", "true"])
def test_a_failure_says_what_minirnn_check_says_once(pytester, tree, monkeypatch, ci):
    monkeypatch.setenv("CI", ci)  # if it is set, pytest does not shorten its summary
    monkeypatch.delenv("BUILD_NUMBER", raising=False)
    answer(tree, "ex05", body("ex05", "return x @ h"))
    result = pytester.runpytest_inprocess(*PLUGIN, "learn/exercises/03_rnn/ex05_rnn_cell_backward.py")
    result.assert_outcomes(failed=5)
    text = result.stdout.str()
    assert text.count("exercises/03_rnn/ex05_rnn_cell_backward.py, line 5") == 1
    assert text.count("the reason is above") == 4 and "Traceback" not in text


def test_progress_is_shared_with_the_commands(pytester, tree):
    answer(tree, "ex01", solution("ex01"))
    pytester.runpytest_inprocess(*PLUGIN, "learn/exercises/01_tape")
    assert list(json.loads((tree.root / STATE).read_text())["passed"]) == ["ex01"]


@pytest.mark.slow
def test_the_folder_loads_the_plugin_and_the_settings_of_a_project_around_it_do_not_count(pytester, tree, monkeypatch):
    pytester.makepyprojecttoml("[tool.pytest.ini_options]\naddopts = '--no-such-option'\n")
    answer(tree, "ex01", solution("ex01"))
    monkeypatch.chdir(tree.root)
    pytester.runpytest_subprocess(*PLUGIN[2:4], "-k", "ex01 or ex02").assert_outcomes(passed=3, skipped=1)


def test_kernels_are_tests_too(pytester, tree):
    answer(tree, "ex20", solution("ex20"))
    result = pytester.runpytest_inprocess(*PLUGIN, "-v", "learn/exercises/13_kernels/ex20_coalescing.cu")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*ex20[[]sectors[]] PASSED*"])


def test_a_folder_of_another_version_is_an_error_with_a_sentence(pytester, tree):
    path = tree.root / STATE
    path.write_text(path.read_text().replace('"version": 1', '"version": 9'))
    result = pytester.runpytest_inprocess(*PLUGIN, "learn/exercises/01_tape")
    result.stdout.fnmatch_lines(["*version 9; this minirnn has*"])
    assert result.ret != 0


def test_files_called_ex_outside_of_a_course_folder_are_left_alone(pytester):
    for name in ("ex01_mine.py", "a/b/ex02.py"):
        path = pytester.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("raise RuntimeError('not a test')\n")
    pytester.runpytest_inprocess(*PLUGIN).assert_outcomes()


# ---- teachers' own exercises

MINE = """
    import numpy as np
    import pytest

    def square(x, dy):
        return 2 * x * dy

    def cube(x, dy):
        raise NotImplementedError("later")

    @pytest.mark.exercise("ex01", points=3, title="Square")
    def test_square(rng, assert_grads):
        x, dy = rng.normal(size=(2, 4, 5))
        assert_grads(square(x, dy), {"dx": 2 * x * dy})

    @pytest.mark.exercise("ex01", points=3)
    @pytest.mark.parametrize("n", [1, 2])
    def test_square_sizes(n):
        assert square(np.ones(n), 1).shape == (n,)

    @pytest.mark.exercise("ex02", points=2)
    def test_cube():
        assert cube(1, 1) == 3

    @pytest.mark.exercise("ex03", points=4, hidden=True)
    def test_wrong(assert_grads):
        assert_grads({"dw": np.ones((2, 3))}, {"dw": 2 * np.ones((2, 3))})

    def test_of_no_exercise():
        pass
"""


def test_marked_tests_become_grades(pytester):
    pytester.makepyfile(test_mine=MINE)
    result = pytester.runpytest_inprocess(*PLUGIN, "--report=gradescope:out.json", "--report", "csv:out.csv")
    result.assert_outcomes(passed=4, failed=1, skipped=1)
    tests = json.loads((pytester.path / "out.json").read_text())["tests"]
    assert [(t["name"], t["score"], t["max_score"], t["status"], t["visibility"]) for t in tests] == [
        ("ex01 Square", 3, 3, "passed", "visible"),
        ("ex02", 0, 2, "failed", "visible"),
        ("ex03", 0, 4, "failed", "after_published"),
    ]
    assert tests[1]["output"] == "not started" and "dw is half of what is expected" in tests[2]["output"]
    assert (pytester.path / "out.csv").read_text().splitlines()[1].endswith(",3,0,0,3,9,yes")


def test_without_a_report_marks_change_nothing_but_not_started(pytester):
    pytester.makepyfile(test_mine=MINE)
    result = pytester.runpytest_inprocess(*PLUGIN, "-rs", "--strict-markers")
    result.assert_outcomes(passed=4, failed=1, skipped=1)
    result.stdout.fnmatch_lines(["*test_mine.py*not started"])


def test_not_implemented_outside_of_an_exercise_stays_a_failure(pytester):
    pytester.makepyfile("def test_a():\n    raise NotImplementedError\n")
    pytester.runpytest_inprocess(*PLUGIN).assert_outcomes(failed=1)


def test_one_failing_test_costs_the_points_of_its_exercise(pytester):
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.exercise("ex01", points=3)
        @pytest.mark.parametrize("n", [1, 2, 3])
        def test_a(n):
            assert n != 2

        @pytest.fixture
        def broken():
            raise OSError("setup")

        @pytest.mark.exercise("ex02", points=3)
        def test_b(broken):
            pass
        """
    )
    pytester.runpytest_inprocess(*PLUGIN, "--report=gradescope:out.json")
    tests = json.loads((pytester.path / "out.json").read_text())["tests"]
    assert [(t["score"], t["status"]) for t in tests] == [(0, "failed"), (0, "failed")]
    assert "test_a[2]" in tests[0]["output"] and "OSError: setup" in tests[1]["output"]


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        ("exercise", "the mark exercise needs an id"),
        ("exercise(points=2)", "the mark exercise needs an id"),
        ("exercise(7)", "the mark exercise needs an id"),
        ("exercise('ex01', points='2')", "points is '2', expected a whole number"),
        ("exercise('ex01', points=-1)", "points is -1, expected a whole number"),
    ],
)
def test_a_wrong_mark_is_told(pytester, mark, said):
    pytester.makepyfile(f"import pytest\n\n@pytest.mark.{mark}\ndef test_a():\n    pass\n")
    result = pytester.runpytest_inprocess(*PLUGIN, "--report=csv:out.csv")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert said in result.stderr.str() + result.stdout.str()


@pytest.mark.parametrize(
    ("report", "said"), [("gradescope", "is not a report"), ("csv:/dev/null/out.csv", "cannot be made")]
)
def test_a_wrong_report_is_told_before_any_test(pytester, report, said):
    pytester.makepyfile("def test_a():\n    open('ran', 'w')\n")
    result = pytester.runpytest_inprocess(*PLUGIN, f"--report={report}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR and said in result.stderr.str()
    assert not (pytester.path / "ran").exists()


@pytest.mark.slow
def test_the_command_of_the_page_for_teachers_grades_an_exercise_of_ones_own(pytester):
    text = (Path(__file__).parents[2] / "docs" / "grading.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"`pytest (-p [^`]*--report[^`]*)`", text)
    pytester.makepyfile(softsign='def softsign_backward(x, dy):\n    raise NotImplementedError("softsign")\n')
    pytester.makepyfile(
        test_softsign="""
        import pytest
        from softsign import softsign_backward

        import minirnn as mr

        def expected(x, dy, device):
            x = mr.tensor(x, requires_grad=True, device=device)
            (dx,) = mr.grad(x / (1 + mr.ops.absolute(x)), [x], mr.tensor(dy, device=device))
            return {"dx": dx}

        @pytest.mark.exercise("softsign", points=2, title="Softsign")
        @pytest.mark.parametrize("shape", [(3,), (2, 5)])
        def test_softsign(shape, device, rng, assert_grads):
            x, dy = rng.normal(size=(2, *shape))
            assert_grads(softsign_backward(x, dy), expected(x, dy, device))

        @pytest.mark.exercise("softsign-far", points=1, title="Far from zero", hidden=True)
        def test_far_from_zero(device, rng, assert_grads):
            x, dy = 1e3 * rng.normal(size=(2, 4))
            assert_grads(softsign_backward(x, dy), expected(x, dy, device))
        """
    )
    pytester.runpytest_subprocess(*command.split()).assert_outcomes(skipped=3)
    pytester.makepyfile(softsign="def softsign_backward(x, dy):\n    return dy / (1 + abs(x)) ** 2\n")
    pytester.runpytest_subprocess(*command.split()).assert_outcomes(passed=3)
    assert (pytester.path / "grades.csv").read_text().splitlines()[1].endswith(",2,1,3,3,yes")
    assert json.loads((pytester.path / "results.json").read_text())["score"] == 3


# ---- fixtures


def test_the_device_runs_a_test_once_for_each_named(pytester):
    pytester.makepyfile("def test_a(device):\n    assert device in ('cpu', 'cuda-sim')\n")
    pytester.runpytest_inprocess(*PLUGIN).assert_outcomes(passed=1)
    pytester.runpytest_inprocess(*PLUGIN, "--devices", "cpu,cuda-sim").assert_outcomes(passed=2)
    result = pytester.runpytest_inprocess(*PLUGIN, "--devices", "gpu")
    assert "--devices names 'gpu'" in result.stdout.str() and "cpu, " in result.stdout.str()


def test_fixtures_of_ones_own_come_first(pytester):
    pytester.makeconftest("import pytest\n\n@pytest.fixture\ndef device():\n    return 'mine'\n")
    pytester.makepyfile("def test_a(device):\n    assert device == 'mine'\n")
    pytester.runpytest_inprocess(*PLUGIN, "--devices", "cpu,cuda-sim").assert_outcomes(passed=1)


def test_random_numbers_are_a_tests_own_and_the_same_in_any_order(pytester):
    pytester.makepyfile(
        """
        import pathlib

        def note(name, rng):
            path = pathlib.Path(name)
            value = str(rng.normal())
            assert not path.exists() or path.read_text() == value
            path.write_text(value)

        def test_a(rng):
            note("a", rng)

        def test_b(rng):
            note("b", rng)
        """
    )
    pytester.runpytest_inprocess(*PLUGIN).assert_outcomes(passed=2)
    pytester.runpytest_inprocess(*PLUGIN, "-k", "test_b").assert_outcomes(passed=1)
    assert (pytester.path / "a").read_text() != (pytester.path / "b").read_text()


X = np.arange(6.0).reshape(2, 3) + 1
SEQUENCE = np.arange(24.0).reshape(4, 2, 3) + 1


@pytest.mark.parametrize(
    ("got", "said"),
    [
        ({"dx": -X}, "dx has the wrong sign"),
        ({"dx": 2 * X}, "dx is twice as large as expected"),
        ({"dx": X / 2}, "dx is half of what is expected"),
        ({"dx": X + 1}, "dx   0.17  x"),
        ({}, "no gradient for dx"),
        ([X, X], "got 2 gradients, expected 1: dx"),
        ({"dx": X.T}, "shape (3, 2)"),
        ({"dx": X * np.nan}, "nan"),
    ],
)
def test_a_wrong_gradient_is_told(got, said):
    with pytest.raises(AssertionError) as caught:
        compare_gradients(got, {"dx": X})
    assert said in str(caught.value)


def test_a_square_transposed_and_a_sequence_reversed_are_told():
    with pytest.raises(AssertionError, match="dW is transposed"):
        compare_gradients({"dW": X[:, :2].T.copy()}, {"dW": X[:, :2]})
    with pytest.raises(AssertionError, match="dx is reversed in time"):
        compare_gradients({"dx": SEQUENCE[::-1]}, {"dx": SEQUENCE})


def test_right_gradients_pass_in_any_form_and_to_the_tolerance():
    import minirnn as mr

    for got in ({"dx": X}, [X], (X,), X, {"dx": X.tolist()}, {"dx": X * (1 + 1e-12)}):
        compare_gradients(got, {"dx": X})
    compare_gradients([mr.tensor(X)], {"dx": mr.tensor(X)})
    compare_gradients({"dx": X * (1 + 1e-4)}, {"dx": X}, tolerance=1e-3)
    with pytest.raises(AssertionError):
        compare_gradients({"dx": X * (1 + 1e-4)}, {"dx": X})
