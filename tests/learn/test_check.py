"""Checking an exercise: the message and line for every kind of wrong answer."""

from dataclasses import replace

import pytest

from minirnn.learn.catalog import EXERCISES
from minirnn.learn.verify import complaints
from tests.learn.answers import COURSE, body, checked, solution
from tests.slow import slow_unless


def test_ids_stay_whatever_the_order_of_the_course():
    assert sorted(COURSE.entries) == list(EXERCISES) == [f"ex{k:02d}" for k in range(1, 1 + len(EXERCISES))]
    assert [e.id for e in COURSE.chapters["The tape"]] == ["ex01", "ex02", "ex22"]


QUICK = ["ex02", "ex05", "ex13", "ex15", "ex22", "ex26", "ex32", "ex33"]
"""One of each kind except CUDA, where each planted mistake requires a new compilation."""


@pytest.mark.parametrize("id", slow_unless(QUICK, COURSE.entries))
def test_the_course_verifies_itself(tmp_path, id):
    """The stub earns nothing, the solution earns all points including hidden ones, and each planted mistake
    is named.
    """
    assert complaints(COURSE, COURSE.entry(id), tmp_path) == []


def test_where_to_look_is_said_once_and_fits_what_fails(tmp_path):
    for exercise in EXERCISES.values():
        assert not [s.look for s in exercise.stages if s.look.lower().startswith("look") or s.look.endswith(".")]
    result = checked(tmp_path, "ex01", solution("ex01", ("dy * w", "np.sinh(dy) * w + np.cosh(w)")))
    where = "look at y = x * w + b, one number at a time."
    assert f"Wrong already for a batch of one sample (B=1): {where}" in result.message
    result = checked(
        tmp_path,
        "ex01",
        solution("ex01", ("dy.sum(0)", "0.3 * np.sinh(dy.sum(0)) + np.sin(dy[1]) / 7 if len(dy) > 1 else dy[0]")),
    )
    assert "wrong for several samples: look at what mixes or sums samples: dw, db." in result.message


def test_zeros_are_told_as_what_they_are(tmp_path):
    result = checked(tmp_path, "ex44", body("ex44", "return np.zeros(len(there)), 0.0"))
    assert "every number is zero: does what is returned depend on what comes in?" in result.message


# ---- answers that cannot be judged: (id, text or function body, line or None, message)

EX05 = "da = dh * (1 - h * h)\nreturn da @ W.T, da @ R.T, x.T @ da, h_prev.T @ da, da.sum(0)"
FAULTS = {
    "syntax error": ("ex05", "def rnn_cell_backward(x:\n    return 1\n", 1, "not valid Python"),
    "indentation": ("ex05", "def rnn_cell_backward(x):\nreturn 1\n", 2, "not valid Python"),
    "tabs and spaces": ("ex05", "def f():\n    if 1:\n\treturn 1\n", 3, "not valid Python"),
    "another name": ("ex05", "def rnn_backward(x):\n    return 1\n", None,
                     "there is no rnn_cell_backward; it defines rnn_backward"),
    "no function": ("ex05", "x = 1\n", None, "there is no rnn_cell_backward"),
    "an empty file": ("ex05", "", None, "there is no rnn_cell_backward"),
    "null bytes": ("ex05", "x = 1\0\n", None, "null bytes"),
    "too few arguments": ("ex05", "def rnn_cell_backward(x, h_prev, W):\n    return 1\n", None,
                          "expected the arguments x, h_prev, W, R, h, dh, in this order"),
    "an exception at import": ("ex05", "import numpy as np\n\nnp.nothing\n", 3, "AttributeError"),
    "a module that is not there": ("ex05", "import torchy\n", 1, "No module named 'torchy'"),
    "an exception": ("ex05", body("ex05", "\nreturn x @ h"), 5, "ValueError"),
    "None": ("ex05", body("ex05", "da = dh"), None, "returned None: is there a return?"),
    "one value": ("ex05", body("ex05", "return dh"), None, "returned one value\n  expected 5: dx, dh_prev, dW, dR, db"),
    "too few values": ("ex05", body("ex05", "return dh, dh"), None, "returned 2 values"),
    "a dict of other names": ("ex05", body("ex05", "return {'dx': x}"), None, "returned a dict with dx"),
    "an input changed in place": ("ex05", body("ex05", "dh *= 1 - h * h\nreturn dh"), 5, "changes an input in place"),
    "exit": ("ex05", body("ex05", "import sys\nsys.exit(0)"), 6, "calls exit"),
    "exit at import": ("ex05", "import sys\nsys.exit(3)\n", 2, "calls exit"),
    "an exception without a text": ("ex05", "raise KeyboardInterrupt\n", 1, "KeyboardInterrupt\n    raise"),
    "endless recursion": ("ex05", body("ex05", "\nreturn rnn_cell_backward(x, h_prev, W, R, h, dh)"), 5,
                          "RecursionError"),
    "a CUDA syntax error": ("ex17", 'extern "C" __global__ void blend_gradient(int N) { int k = ; }\n', None,
                            "ex17_pointwise.cu:1"),
    "another kernel": ("ex17", 'extern "C" __global__ void other(int N) {}\n', None, "no kernel 'blend_gradient'"),
    "other kernel arguments": ("ex17", 'extern "C" __global__ void blend_gradient(int N) {}\n', None, "blend_gradient"),
}  # fmt: skip


def test_a_square_matrix_that_is_not_transposed_is_named(tmp_path):
    """Its shape reveals nothing."""
    result = checked(tmp_path, "ex05", solution("ex05", ("da @ R.T", "da @ R")))
    assert result.exact and result.diagnosis == "R must be transposed here" and result.score == 4


def test_a_sum_over_the_wrong_axis_and_a_small_error_are_told(tmp_path):
    result = checked(tmp_path, "ex01", solution("ex01", ("dy.sum(0)", "dy.sum(1)")))
    assert "db has shape (2,), expected (I,) = (3,); was the sum taken over the wrong axis?" in result.message
    result = checked(tmp_path, "ex01", solution("ex01", ("dy * w", "dy * w * (1 + 1e-6)")))
    assert "dx  1e-06  x" in result.message


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_told_with_file_and_line(tmp_path, name):
    id, text, line, said = FAULTS[name]
    result = checked(tmp_path, id, text)
    first, rest = result.message.split("\n", 1)
    place = COURSE.entry(id).file + (f", line {line}" if line else "")
    assert result.status == "failed" and result.score == 0
    assert first == place, result.message
    assert said in rest
    assert "Traceback" not in result.message and "minirnn/learn" not in result.message


@pytest.mark.parametrize(
    ("value", "said"),
    slow_unless(
        3,
        [
            ("None", "dx is None, expected an array of shape (B, I) = (2, 3)"),
            ("x.T", "dx has shape (3, 2), expected (B, I) = (2, 3); its transpose would fit"),
            ("'text'", "dx is str"),
            ("x * 1j", "dx is of dtype complex128"),
            ("x * np.nan", "dx[0, 0] is nan"),
            ("x / np.zeros_like(x)", "dx[0, 0] is"),
            ("x[:, None]", "dx has shape (2, 1, 3)"),
            ("x.astype(int)", "dx is of dtype int64: whole numbers, whose fractions are cut off"),
            ("[[1, 2], [3]]", "dx is a list, expected an array"),
            ("np.array([None])", "dx is ndarray"),
        ],
    ),
)
def test_a_value_that_cannot_be_compared_is_described(tmp_path, value, said):
    with_value = EX05.replace("return da @ W.T", f"return {value}")
    code = f"with np.errstate(all='ignore'):\n    bad = {value}\n" + with_value.replace(f"return {value}", "return bad")
    result = checked(tmp_path, "ex05", body("ex05", code))
    assert said in result.message
    assert [p.name for p in result.parts if not p.ok] == ["dx"]
    assert result.score == 4  # partial credit: four of five gradients are right


def test_a_gradient_summed_too_little_or_too_much(tmp_path):
    result = checked(tmp_path, "ex05", body("ex05", EX05.replace("da.sum(0)", "da")))
    assert "db has shape (2, 5), expected (H,) = (5,); its sum over axis 0 is right" in result.message


def test_other_return_types_are_taken(tmp_path):
    as_dict = EX05.replace("return ", "v = ") + "\nreturn dict(zip(['dx', 'dh_prev', 'dW', 'dR', 'db'], v))"
    assert checked(tmp_path, "ex05", body("ex05", as_dict)).passed
    assert checked(tmp_path, "ex05", body("ex05", EX05.replace("return ", "return [") + "]")).passed
    lists = EX05.replace("da.sum(0)", "da.sum(0).tolist()").replace("da @ W.T", "(da @ W.T).tolist()")
    assert checked(tmp_path, "ex05", body("ex05", lists)).passed
    tensor = "import minirnn as mr\n" + EX05.replace("return da @ W.T", "return mr.tensor(da @ W.T)")
    assert checked(tmp_path, "ex05", body("ex05", tensor)).passed


def test_files_in_other_encodings(tmp_path):
    right = body("ex05", EX05)
    assert checked(tmp_path, "ex05", ("# größe\n" + right).encode("utf-8-sig")).passed
    assert checked(tmp_path, "ex05", ("# -*- coding: latin-1 -*-\n# größe\n" + right).encode("latin-1")).passed
    assert checked(tmp_path, "ex05", right.replace("\n", "\r\n").encode()).passed
    result = checked(tmp_path, "ex05", ("# größe\n" + right).encode("latin-1"))
    assert "not UTF-8" in result.message
    assert checked(tmp_path, "ex05", right.encode("utf-16")).status == "failed"


def test_a_missing_file_and_a_folder_in_its_place(tmp_path):
    from minirnn.learn.check import check

    entry = COURSE.entry("ex05")
    assert "minirnn reset ex05" in check(COURSE, entry, tmp_path / "none.py").message
    assert "cannot be read" in check(COURSE, entry, tmp_path).message


def test_the_line_of_the_mistake_is_named(tmp_path):
    wrong = solution("ex07", ("dcs + dh * o * (1 - co * co)", "dh * o * (1 - co * co)"))
    result = checked(tmp_path, "ex07", wrong)
    line = next(k for k, text in enumerate(wrong.splitlines(), 1) if "dcs_total = " in text)
    assert f"line {line} (where you assign dcs_total)" in result.message
    assert result.diagnosis == "dcs_total: the term dcs is missing"
    assert "^^^ the term dcs is missing" in result.message


@pytest.mark.slow
def test_the_ladder_says_that_one_step_goes_wrong(tmp_path):
    # A mistake that is not a single change: the state's gradient is carried over two steps instead of one.
    wrong = solution("ex06", ("dh_next = da @ R.T", "dh_next = np.sin(da @ R.T) / 3 + np.sinh(dh_t) / 7"))
    result = checked(tmp_path, "ex06", wrong)
    assert not result.exact
    assert "Wrong already for one step (T=1): look at the formulas of a single step" in result.message


def test_the_shortest_tape_that_fails_is_shown(tmp_path):
    odd = "(1 - values[out] ** 2)", "np.sinh(values[out]) * np.exp(-values[inputs[0]] ** 3)"
    message = checked(tmp_path, "ex02", solution("ex02", odd)).message
    assert "Right for the tape [('mul', 2, (0, 1))]; wrong for the tape [('tanh', 1, (0,))]: look at the" in message


def test_the_ladder_says_from_which_step_it_goes_wrong(tmp_path):
    wrong = solution("ex06", ("dh_t = dh[t] + dh_next", "dh_t = dh[t] + np.sin(dh_next) / 3 + np.sinh(dh_next) / 7"))
    result = checked(tmp_path, "ex06", wrong)
    assert "Right for one step (T=1); wrong for two steps with a gradient into the last only (T=2)" in result.message
    assert "what is carried from step t+1 to t" in result.message


def test_prints_are_shown(tmp_path):
    from minirnn.learn.text import report

    result = checked(tmp_path, "ex05", body("ex05", "print('shape', x.shape)\n" + EX05))
    assert "shape (2, 3)" in report(result)


SECRET = "dh * o * (1 - co * co)"


@pytest.mark.parametrize(
    ("detail", "shown", "hidden"),
    [("full", f"dcs_total = dcs + {SECRET}", "nothing"), ("place", "dcs_total: the term dcs is missing", SECRET),
     ("yes-no", "wrong", "dcs")],
)  # fmt: skip
def test_a_course_can_say_less(tmp_path, detail, shown, hidden):
    entry = replace(COURSE.entry("ex07"), detail=detail)
    course = replace(COURSE, entries={**COURSE.entries, "ex07": entry})
    result = checked(tmp_path, "ex07", solution("ex07", ("dcs + dh * o", "dh * o")), course)
    assert shown in result.message and hidden not in result.message


def test_graded_work_is_told_the_place_and_not_the_line(tmp_path):
    wrong = solution("ex07", ("dcs + dh * o", "dh * o"))
    result = checked(tmp_path, "ex07", wrong, hidden=True)
    assert result.diagnosis == "dcs_total: the term dcs is missing" and SECRET not in result.message
    result = checked(tmp_path, "ex01", solution("ex01", ("(dy * x).sum(0)", "(dy * x).mean(0)")), hidden=True)
    assert "the mean is used where the sum belongs" in result.message and "(dy * x)" not in result.message


# ---- right answers pass in any form

FORMS = {
    "a generator": "yield from (da @ W.T, da @ R.T, x.T @ da, h_prev.T @ da, da.sum(0))",
    "a named tuple in another order": "return namedtuple('G', 'db dx dh_prev dW dR')(da.sum(0), da @ W.T, da @ R.T,"
    " x.T @ da, h_prev.T @ da)",
    "a dataclass": "return make_dataclass('G', ['dx', 'dh_prev', 'dW', 'dR', 'db'])(da @ W.T, da @ R.T, x.T @ da,"
    " h_prev.T @ da, da.sum(0))",
    "a dict by order": "return dict(enumerate((da @ W.T, da @ R.T, x.T @ da, h_prev.T @ da, da.sum(0))))",
    "objects": "return (da @ W.T).astype(object), da @ R.T, x.T @ da, h_prev.T @ da, da.sum(0)",
    "complex": "return da @ W.T + 0j, da @ R.T, x.T @ da, h_prev.T @ da, da.sum(0)",
    "float32": "return tuple(v.astype('f') for v in (da @ W.T, da @ R.T, x.T @ da, h_prev.T @ da, da.sum(0)))",
}


@pytest.mark.parametrize("form", FORMS)
def test_right_answers_in_other_forms_pass(tmp_path, form):
    code = "from collections import namedtuple\nfrom dataclasses import make_dataclass\nda = dh * (1 - h * h)\n"
    result = checked(tmp_path, "ex05", body("ex05", code + FORMS[form]))
    assert result.passed, result.message


def test_arguments_may_have_other_names(tmp_path):
    text = "def rnn_cell_backward(a, b, c, d, e, f):\n    g = f * (1 - e * e)\n"
    text += "    return g @ c.T, g @ d.T, a.T @ g, b.T @ g, g.sum(0)\n"
    assert checked(tmp_path, "ex05", text).passed


def test_float32_is_told_and_judged_by_its_digits(tmp_path):
    from minirnn.learn.text import report

    single = EX05.replace("da =", "x, h_prev, W, R, h, dh = (v.astype('f') for v in (x, h_prev, W, R, h, dh))\nda =")
    result = checked(tmp_path, "ex05", body("ex05", single))
    assert result.passed and "dx is computed in float32: judged to 1e-05" in report(result)
    wrong = single.replace("1 - h * h", "1 - h * h * (1 + 1e-3)")
    assert not checked(tmp_path, "ex05", body("ex05", wrong)).passed
    back = single.replace("x.T @ da", "(x.T @ da).astype(float)")
    result = checked(tmp_path, "ex05", body("ex05", back))
    assert "astype('f') for v in" in result.message and "does not belong here" in result.message and not result.passed


def test_an_overflow_is_told_before_other_mistakes_that_give_the_same_numbers(tmp_path):
    lines = "e = np.exp(logits)\np = e / e.sum(1, keepdims=True)\nrows = np.arange(len(logits))\n"
    lines += "d = p.copy()\nd[rows, targets] -= 1\nreturn -np.log(p[rows, targets]).mean(), d * dloss"  # not / N
    result = checked(tmp_path, "ex24", body("ex24", lines))
    assert "exp of a number above 709 is infinite" in result.diagnosis
    assert "number of rows" not in result.message


def test_an_exception_tells_the_shapes_of_its_line(tmp_path):
    result = checked(tmp_path, "ex05", body("ex05", "return x @ h"))
    assert "where x (2, 3), h (2, 5)" in result.message
