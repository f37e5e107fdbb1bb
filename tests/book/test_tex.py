r"""The reader of formulas can say no: Tests `tutorials/`, with what is in `tex`.

Each equation of the book is made wrong in one place (a sign, a transposition, a factor, an index), and must then be
false or have no meaning.
"""

import re

import numpy as np
import pytest

from tests.book.test_equations import EQUATIONS
from tests.book.tex import holds
from tests.book.worlds import WORLDS

CHANGES = [
    (r" \+ ", " - "),
    (r"\(1 - ", "(1 + "),
    (r"R(_\w)?\^\{\\top\}", r"R\1"),
    (r"\^\{\\leftarrow\}", ""),
    (r"h_\{t-1\}", "h_t"),
    (r"\\odot", r"\\cdot 2 \\cdot"),
    (r"\\sigma\(", r"\\tanh("),
    (r"\\tanh\(", r"\\sigma("),
    (r"\\sum_\{t=1\}", r"\\sum_{t=2}"),
]
SAME = r"\\[lg]e |\\lVert g Q|m_t \\hat h_t"
"""May stay true: an inequality; an orthogonal matrix, transposed; a padded step, whose new state is the old one."""


@pytest.mark.parametrize("change", CHANGES, ids=lambda c: c[0])
def test_a_formula_that_was_made_wrong_is_found_to_be_false(change: tuple[str, str], rng: np.random.Generator) -> None:
    tried = 0
    for parameters in EQUATIONS:
        page, line = parameters.values
        wrong = re.sub(*change, str(line), count=1)
        if wrong == line or re.search(SAME, str(line)):
            continue
        world, indices = WORLDS[str(page)](rng)
        results = []
        for chosen in indices:
            try:
                results.append(holds(wrong, world, chosen))
            except (LookupError, ValueError, ZeroDivisionError, RuntimeWarning):
                continue
        assert not all(results) or not results, wrong
        tried += bool(results)
    assert tried


@pytest.mark.parametrize(
    "line", ["a", "a = q", "a = (b", "a = b +", "a = b }", "A = M_1 a_2", r"a = \sum_{k=1}^{2n} k"]
)
def test_what_has_no_meaning_is_an_error(line: str) -> None:
    with pytest.raises((LookupError, ValueError, TypeError)):
        holds(line, {"a": 1.0, "b": 1.0, "A": np.eye(2)}, {"n": 2})
