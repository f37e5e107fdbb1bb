"""Every row of the table of rewrites turns what is right into what is wrong, and back.

Tests `minirnn/learn/sandbox/rewrites.py`, `minirnn/learn/sandbox/readings.py`, `minirnn/learn/sandbox/patterns.py` and
`minirnn/learn/sandbox/reworded.py`.
"""

import ast

import pytest

from minirnn.learn.sandbox.patterns import filled, pattern
from minirnn.learn.sandbox.readings import readings, rewritten
from minirnn.learn.sandbox.rewrites import FORWARD, OWN, STATEMENTS, TABLE

PARTS = {
    "A": "a", "B": "b", "C": "c", "D": "d", "N": "h", "X": "k", "M": "m", "V": "v", "F": "np.tanh", "I": "t", "T": "s",
}  # fmt: skip
"""What the letters stand for here."""


class Place:
    """A place with the values `k`, which is like any other, and `m`."""

    def alike(self, node):
        return ["k", "h"]

    def terms(self):
        return ["b", "m"] + ["a * (1 - m)"]


def code(text):
    parts = {letter: pattern(value) for letter, value in PARTS.items()}
    return ast.unparse(filled(pattern(text), parts)) if text else "pass"


def same(a, b):
    """Whether two texts are the same expression, where sums and products have no order and a square is a product."""
    return a == b or a.replace(" ", "") == b.replace(" ", "")


def turned(text, direction, where):
    node = pattern(text)
    return [(ast.unparse(one.new), one.says) for one in readings(node, where, direction, Place(), range(5))]


@pytest.mark.parametrize("direction", [FORWARD, OWN])
def test_each_row_is_read_in_its_directions(direction):
    lost = []
    for row in TABLE:
        if row.ranks[direction] == "-":
            continue
        here, there = (row.right, row.wrong) if direction == FORWARD else (row.wrong, row.right)
        where = {"any": "loop", "value": "value"}.get(row.where, row.where)
        where = "value" if row.where == "any" and "range" not in here and "reversed" not in here else where
        found = turned(code(here), direction, where)
        if not any(same(new, code(there)) for new, _ in found):
            lost.append((row.right, row.wrong, row.ranks))
    assert not lost, lost


@pytest.mark.parametrize("direction", [FORWARD, OWN])
def test_each_row_of_statements_is_read_in_its_directions(direction):
    for row in STATEMENTS:
        if row.ranks[direction] == "-":
            continue
        here, there = (row.right, row.wrong) if direction == FORWARD else (row.wrong, row.right)
        (tree,) = ast.parse(code(here)).body
        assert code(there) in [ast.unparse(one.new) for one in rewritten(tree, direction)], row


@pytest.mark.parametrize(
    ("wrong", "right", "says"),
    [
        ("g.sum(axis=ax)", "g.sum(axis=ax, keepdims=True)", "keepdims=True is missing"),
        ("a.mean(0)", "a.sum(0)", "the mean is used where the sum belongs"),
        ("a < b", "a <= b", "the comparison is wrong: < is used where <= belongs"),
        ("np.clip(a, -1, 1)", "a", "np.clip does not belong here: it changes numbers"),
        ("[i, f, g]", "[i, g, f]", "f and g are exchanged"),
        ("2.0", "1.0", "the number 2.0 is wrong here"),
        ("p[0]", "p[1]", "p[0] is used where the other one belongs"),
    ],
)
def test_a_change_that_no_pair_can_say_is_made_too(wrong, right, says):
    found = dict(turned(wrong, OWN, "value"))
    assert says in found[right], found


def test_no_sentence_has_a_letter_that_no_side_names():
    for row in [*TABLE, *STATEMENTS]:
        row.says.format(**PARTS)
        row.kind.format(**PARTS)
