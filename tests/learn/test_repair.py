"""A student's own file is changed until it is right. The line, mark and names are the student's, and no claim is wrong.

Tests `minirnn/learn/repair.py`, `minirnn/learn/cause.py`, `minirnn/learn/intermediates.py`, `minirnn/learn/mutants.py`,
`minirnn/learn/kernel_repair.py`, `minirnn/learn/sandbox/kernel_changes.py`, `minirnn/learn/sandbox/trials.py`,
`minirnn/learn/sandbox/own_tree.py`, `minirnn/learn/sandbox/own_change.py`,
`minirnn/learn/sandbox/own_statements.py` and `minirnn/learn/sandbox/own_reach.py`.
"""

import ast

import numpy as np
import pytest

from minirnn.learn.catalog import EXERCISES
from minirnn.learn.hypotheses.edits import Site
from minirnn.learn.hypotheses.program import Program
from minirnn.learn.intermediates import Intermediates
from minirnn.learn.mutants import mutants
from minirnn.learn.sandbox.kernel_changes import changes, compiled_together, of_types
from minirnn.learn.sandbox.own_reach import reached
from minirnn.learn.sandbox.trials import Notes, Trials
from tests.learn.answers import checked, solution

ADAM = """import numpy as np


def adam_step(parameter, gradient, m, v, step, lr, beta1, beta2, eps):
    m = beta1 * m + (1 - beta1) * gradient
    v = beta2 * v + (1 - beta2) * gradient**2
    first = m / (1 - beta1**step)
    second = v / (1 - beta2**step)
    return parameter - lr * first / (np.sqrt(second) + eps), m, v
"""


@pytest.mark.parametrize(
    ("changes", "line", "says"),
    [
        ([("lr * first", "lr / np.sqrt(step) * first")], 9, "the division by np.sqrt(step) does not belong here"),
        ([("gradient**2", "gradient**2 + 0.01 * v")], 6, "the term 0.01 * v does not belong here"),
        ([("beta2**step", "beta1**step")], 8, "beta1 is used where beta2 belongs"),
        (
            [("(np.sqrt(second) + eps)", "np.sqrt(second + eps)")],
            9,
            "eps is added inside the square root, but it belongs outside",
        ),
    ],
)
def test_one_change_is_told_with_its_line_in_the_students_names(tmp_path, changes, line, says):
    text = ADAM
    for old, new in changes:
        text = text.replace(old, new)
    result = checked(tmp_path, "ex16", text)
    assert result.exact and says in result.message and f", line {line}" in result.message


def test_a_generator_in_a_message_has_the_brackets_that_people_write(tmp_path):
    text = solution("ex15", ("np.sqrt(sum(np.sum(g * g) for g in gradients))", "sum(np.sum(g * g) for g in gradients)"))
    said = "the square root of sum(np.sum(g * g) for g in gradients) is missing"
    assert said in checked(tmp_path, "ex15", text).message


def test_two_mistakes_are_told_together(tmp_path):
    text = ADAM.replace("beta2**step", "beta1**step").replace("(np.sqrt(second) + eps)", "np.sqrt(second + eps)")
    message = checked(tmp_path, "ex16", text).message
    assert "Two things are wrong" in message
    assert "line 8:" in message and "beta1 is used where beta2 belongs" in message
    assert "line 9:" in message and "eps is inside np.sqrt" in message


def test_a_change_that_makes_some_outputs_right_is_told_if_none_makes_all_right(tmp_path):
    wrong = [("reach[t + 1] * f[t + 1]", "reach[t + 1] * f[t]"), ("np.log(keep / (1 - keep))", "np.sqrt(steps)")]
    result = checked(tmp_path, "ex45", solution("ex45", *wrong))
    assert "This change makes reach right, but not all that is wrong:" in result.message
    assert "reach: t is used where t + 1 belongs: it is one too small" in result.diagnosis and not result.exact


def test_an_answer_that_nothing_explains_says_so(tmp_path):
    wrong = solution("ex45", ("np.log(keep / (1 - keep))", "steps * np.tan(steps * steps)"))
    message = checked(tmp_path, "ex45", wrong).message
    assert message.endswith("No change to your file and no known mistake explains these numbers.")


def test_an_exception_is_mended_too(tmp_path):
    text = ADAM.replace("gradient**2", "gradient.reshape(7, 3)**2")
    result = checked(tmp_path, "ex16", text)
    assert "ValueError" in result.message and "does not belong here" in result.message


def test_what_comes_in_and_changes_nothing_is_told(tmp_path):
    wrong = solution("ex06", ("dh_t = dh[t] + dh_next", "dh_t = dh[t] if t == len(x) - 1 else np.sinh(dh_next)"))
    assert "only dh[3] is used: the other steps of dh have no effect" in checked(tmp_path, "ex06", wrong).message


def test_what_bounds_numbers_does_not_belong_into_a_formula(tmp_path):
    right = "da = dh_t * (1 - h[t] * h[t])"
    result = checked(tmp_path, "ex06", solution("ex06", (right, f"da = np.clip({right[5:]}, -0.5, 0.5)")))
    assert result.exact and "np.clip does not belong here" in result.diagnosis


def test_what_numpy_warned_of_is_told_with_its_line(tmp_path):
    text = """import numpy as np


def cross_entropy_backward(logits, targets, dloss):
    n = np.arange(len(targets))
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    loss = -np.log(p[n, targets]).mean()
    p[n, targets] -= 1
    return loss, dloss * p / len(n)
"""
    message = checked(tmp_path, "ex24", text).message
    assert "exp of a number above 709 is infinite" in message and "line 6" in message


def test_a_loop_that_would_not_end_ends_by_itself():
    trials = Trials("def f(n):\n    k = 0\n    while k < n:\n        k += 1\n    return k\n", "f.py", "f")
    trials.listed(())
    for number in range(len(trials.changes)):
        trials.run([number], lambda f: f(5))
    assert trials.run([], lambda f: f(5)) == 5


def test_every_change_is_undone():
    source = ADAM
    trials = Trials(source, "a.py", "adam_step")
    before = ast.unparse(trials.tree)
    trials.listed(())
    for number in range(len(trials.changes)):
        trials.run([number], lambda f: None)
    assert ast.unparse(trials.tree) == before


def test_assignments_are_noted_with_their_lines():
    notes = Notes()
    trials = Trials("def f(a):\n    b = 2 * a\n    c = b + 1\n    return c\n", "f.py", "f")
    trials.run([], lambda f: f(np.arange(3.0)), notes)
    assert notes.lines == [2, 3]
    np.testing.assert_array_equal(notes.values[1], [1.0, 3.0, 5.0])


def test_lines_reach_the_outputs_that_use_them():
    tree = ast.parse("def f(a, b):\n    x = a\n    y = b\n    z = y\n    return x, z\n")
    assert reached(tree, "f") == {2: [0], 3: [1], 4: [1], 5: [0, 1]}
    pure = ast.parse("def f(a, b):\n    x = np.sqrt(a)\n    y = np.exp(a, b)\n    return x, a, y\n")
    assert reached(pure, "f") == {2: [0], 3: [2], 4: [0, 1, 2]}
    tree = ast.parse("def f(a, b):\n    x = a\n    return (b,\n            x.sum(0))\n")
    assert reached(tree, "f") == {2: [1], 3: [0, 1], 4: [0, 1]}
    loop = "def f(x, h):\n    a, b = 0, 0\n    c = h\n    for t in range(3):\n        a += x[t]\n        b += c\n"
    loop += "        c = x[t] * c\n    return a, b\n"
    assert reached(ast.parse(loop), "f") == {2: [0, 1], 3: [1], 4: [0, 1], 5: [0], 6: [1], 7: [1], 8: [0, 1]}
    shared = "def f(a, b):\n    for row in a:\n        row += b\n    part = b[0]\n    part[:] = 1\n    return a, b\n"
    assert reached(ast.parse(shared), "f") == {2: [0], 3: [0], 4: [0, 1], 5: [0, 1], 6: [0, 1]}
    for writes in ("np.copyto(a, b)", "np.add.at(a, 0, b)", "np.exp(b, out=a)", "a.sort()"):
        tree = ast.parse(f"def f(a, b):\n    x = b\n    {writes}\n    return x, a\n")
        assert 1 in reached(tree, "f")[3], writes


def test_intermediate_values_are_known_up_to_sign_and_transposition():
    exercise = EXERCISES["ex07"]
    program, inputs = Program(exercise.reference, tuple(exercise.outputs)), exercise.case([0])
    known = Intermediates(program, inputs)
    value = inputs["dh"] * inputs["o"] * (1 - inputs["co"] ** 2)
    assert known.has(value) and known.has(-value.T)
    assert not known.has(value * 1.01)


def test_mutants_are_of_every_kind_and_make_room_for_numbers_stay():
    exercise = EXERCISES["ex07"]
    found = list(mutants(Program(exercise.reference, tuple(exercise.outputs)), exercise.case([0])))
    assert {m.kind for m in found} == {"missing", "doubled", "sign", "factor", "square", "complement", "step"}
    assert not any("np.zeros" in m.sentence() for m in found)


def test_no_number_of_a_search_leaves_a_warning():
    with np.errstate(all="raise"):
        assert np.isnan(Site(None, None, None, (), dict(np=np)).evaluate("np.arctanh(np.float64(2))"))


KERNEL = """extern "C" __global__ void f(int B, int H, const float *x, float *y) {
    int n = blockIdx.x * blockDim.x + threadIdx.x;
    if (n >= B * H) return;
    int b = n / B, k = n % B;
    for (int j = 0; j < H; ++j) y[n] = fmaxf(x[b * H + k], x[j]);
}
"""


def test_all_changes_of_a_kernel_go_into_one_text():
    some = changes(KERNEL, "f")
    text, where = compiled_together(KERNEL, "f", some)
    assert text.startswith(KERNEL) and text.count("{") == text.count("}")
    assert any("n / H belongs" in c.says for c in some) and any("a sum belongs" in c.says for c in some)
    assert all(name.startswith("f_minirnn") for name, _ in where if name)
    assert not any("++j" in KERNEL[c.start : c.end] for c in some)


def test_a_number_kept_in_an_int_is_put_where_it_is_used():
    lines = (
        "int c = x[1]; c += 1; int d = ids[n] + c; int e = x[n]; y[e] = d; const int a = 1 - x[n]; y[d] = a + a * d;"
    )
    whole = KERNEL.replace("    for", f"    {lines}\n    for")
    (cut,) = of_types(whole, "f")
    assert cut.says.startswith("a is a whole number") and whole[slice(*cut.mark)] == "const int a = 1 - x[n];"
    assert [(whole[start:end], new) for start, end, new in cut.puts] == [("a", "(1 - x[n])")] * 2


@pytest.mark.slow
def test_a_wrong_index_in_a_kernel_is_told(tmp_path):
    wrong = solution("ex40", ("float sum = a[t * H + k]", "float sum = a[k]"))
    assert "the index [k] is used where [t * H + k] belongs" in checked(tmp_path, "ex40", wrong).message


def test_two_sides_that_are_exchanged_are_told_before_a_wrong_sign(tmp_path):
    text = solution("ex43", ("(c_prev - n)", "(n - c_prev)"))
    assert "the sides are exchanged: c_prev must come first" in checked(tmp_path, "ex43", text).message
    text = solution("ex30", ("-2.0 * d_da", "2.0 * d_da"))
    assert "(1 - h * h) is wrong: the minus is missing" in checked(tmp_path, "ex30", text).message


def test_a_change_that_is_right_by_accident_in_one_case_is_not_told(tmp_path):
    """u > 0.5 - rate keeps the same numbers as u >= rate in the cases that students see, but not in others."""
    text = solution("ex26", ("(u >= rate)", "(u > 1 - rate)"))
    assert "the number 1 is wrong" not in checked(tmp_path, "ex26", text).message


def test_a_while_loop_that_a_change_makes_endless_does_not_end_the_search(tmp_path):
    """Without the last line of the loop, the answer would call f forever."""
    text = """import numpy as np
def numerical_gradient(f, x, eps):
    k, dx = 0, np.zeros(x.size)
    while k < x.size:
        e = np.zeros(x.size)
        e[k] = eps
        e = e.reshape(x.shape)
        k += 1
        dx[k - 1] = (f(x + e) - f(x - e)) / (2 * eps * max(1, eps))
    return dx.reshape(x.shape) * np.maximum(1, abs(x))
"""
    assert "np.maximum" in checked(tmp_path, "ex03", text).message
