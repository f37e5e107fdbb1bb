"""Nothing passes that a statement forbids, and the teacher learns what may be odd about an answer that does.

Tests `minirnn/learn/check.py`, `minirnn/learn/calls.py`, `minirnn/learn/catalog/ranks.py` and
`minirnn/learn/catalog/history.py`.
"""

import pytest

from minirnn.learn.check import same_text
from tests.learn.answers import COURSE, RIGHT, body, checked, solution

NAIVE = ("np.where(z >= 0, 1, small) / (1 + small)", "1 / (1 + np.exp(-z))")


@pytest.mark.parametrize(
    "silent", ["", "    np.seterr(all='ignore')\n", "    import warnings; warnings.simplefilter('ignore')\n"]
)
def test_the_exponential_of_a_large_number_costs_the_output_that_it_reaches(tmp_path, silent):
    """The numbers are right, because 1 / inf is 0. Silencing NumPy does not help."""
    text = solution("ex23", NAIVE)
    head, _, rest = text.partition("    small =")
    result = checked(tmp_path, "ex23", f"{head}{silent}    small ={rest}", hidden=True)
    assert [part.name for part in result.parts if not part.ok] == ["s"] and not result.hidden
    assert "overflow encountered in exp" in result.message


def test_the_last_step_gets_none(tmp_path):
    text = COURSE.solution(COURSE.entry("ex29"))
    assert checked(tmp_path, "ex29", text).passed
    result = checked(tmp_path, "ex29", text.replace("dh = None", "dh = 0"))
    assert result.score == 0 and "nothing comes back to the last step: its dh is None" in result.message


RINGS = {
    "no messages": "return np.tile(parts.sum(0), (len(parts), 1)), sent()",
    "zeros are sent": """
        P, n = parts.shape
        pieces = np.array_split(np.arange(n), P)
        for s in [*range(P - 1), *range(-1, P - 2)]:
            for r in range(P):
                send(r, np.zeros(len(pieces[(r - s) % P])))
            for r in range(P):
                receive(r)
        return np.tile(parts.sum(0), (P, 1)), sent()
    """,
}


@pytest.mark.parametrize("name", RINGS)
def test_the_sums_come_over_the_ring(tmp_path, name):
    result = checked(tmp_path, "ex42", body("ex42", RINGS[name]), hidden=True)
    assert result.score == result.hidden == 0 and "rank 0" in result.message, result.message
    assert checked(tmp_path, "ex42", COURSE.solution(COURSE.entry("ex42")), hidden=True).hidden


def test_a_kernel_with_other_comments_is_the_one_that_was_given(tmp_path):
    given = COURSE.stub(COURSE.entry("ex18"))
    changed = given.replace("// ex18", "// done\n/* by\n me */ // ex18")
    assert checked(tmp_path, "ex18", changed).status == "not started"
    assert same_text("int a; // b", "int  a;", r"//[^\n]*") and not same_text("int a; // b", "int a;")


def test_the_numbers_of_a_given_kernel_earn_nothing_alone(tmp_path):
    """Its names are changed, and it still reads as much."""
    given = COURSE.stub(COURSE.entry("ex18")).replace("column", "c")
    result = checked(tmp_path, "ex18", given, hidden=True)
    assert result.status == "failed" and result.score == result.hidden == 0
    assert "12844 reads, but at most" in result.message and "they earn nothing alone" in result.message


DIFFERENCES = """
b = np.arctanh(h) - x @ W - h_prev @ R
arrays = [x.copy(), h_prev.copy(), W.copy(), R.copy(), np.zeros(len(R))]
loss = lambda: (np.tanh(arrays[0] @ arrays[2] + arrays[1] @ arrays[3] + b + arrays[4]) * dh).sum()
for k in range(0):
    pass
found = []
for array in arrays:
    found.append(np.zeros_like(array))
    for place in np.ndindex(array.shape):
        array[place] += 1e-5
        found[-1][place] = loss()
        array[place] -= 2e-5
        found[-1][place] = (found[-1][place] - loss()) / 2e-5
        array[place] += 1e-5
return tuple(v.astype(float) for v in found)
"""


@pytest.mark.parametrize(("old", "new"), [("", ""), ("float", "np.float32"), ("range(0)", "range(30_000)")])
def test_finite_differences_earn_nothing(tmp_path, old, new):
    """Neither a lower precision of what is returned nor more rounds than a trial allows hides them."""
    result = checked(tmp_path, "ex05", body("ex05", DIFFERENCES.replace(old, new) if old else DIFFERENCES), hidden=True)
    assert result.score == result.hidden == 0 and "as finite differences do" in result.message, result.message


IMPORTS = [
    "import minirnn",
    "__import__('mini' + 'rnn')",
    "import importlib; importlib.import_module('minirnn.ops')",
    "exec('from mini' + 'rnn.ops import tanh')",
    "import importlib.util as u; open(u.find_spec('minirnn').submodule_search_locations[0] + '/__init__.py').read()",
]


@pytest.mark.parametrize("code", IMPORTS)
def test_the_teacher_is_told_which_answers_import_minirnn(tmp_path, code):
    """The answer's process notices it, however the text is written."""
    for text in (f"{code}\n{body('ex05', RIGHT)}", body("ex05", f"{code}\n{RIGHT}")):
        result = checked(tmp_path, "ex05", text)
        assert result.passed and result.remarks == ["imports minirnn, whose tape can compute any gradient"]
    other = "# import minirnn\nminirnn = 3\nimport numpy  # as minirnn does\n"
    assert checked(tmp_path, "ex05", other + body("ex05", RIGHT)).remarks == []


TABLE = """
if len(x) in (2, 3) and x.shape[1] in (3, 4) and h.shape[1] in (5, 2) and x.shape != (3, 5):
    {}
return 0 * x, 0 * h, 0 * W, 0 * R, 0 * b
"""


def test_the_teacher_is_told_of_a_table_of_the_visible_cases_and_of_low_precision(tmp_path):
    text = body("ex05", TABLE.format(RIGHT.replace("\n", "\n    ")).replace("0 * b", "0 * h[0]"))
    result = checked(tmp_path, "ex05", text, hidden=True)
    assert result.passed and result.hidden == 0
    assert result.remarks == ["is right in all cases that students see and wrong in all hidden ones"]
    low = RIGHT.replace("da = dh", "da = dh.astype('f')")
    result = checked(tmp_path, "ex05", body("ex05", low.replace("da @ W.T", "(da @ W.T).astype('f')")))
    assert result.remarks == ["computes in float32, so it is judged to fewer digits"]
    assert any("judged to 1e-05" in part.note for part in result.parts)
