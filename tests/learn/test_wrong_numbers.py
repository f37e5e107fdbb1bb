"""Describing in words which numbers are wrong, and reading sizes of axes from shapes in letters.

Tests `minirnn/learn/wrong_numbers.py`.
"""

import numpy as np
import pytest

from minirnn.learn.wrong_numbers import pieces, sizes_of, where


def test_sizes_follow_from_shapes_in_letters():
    arrays = {"w": np.zeros((8, 20)), "b": np.zeros(20), "s": np.zeros(())}
    assert sizes_of({"w": "(I+H, 4H)", "b": "(4H,)", "s": "()"}, arrays) == {"I": 3, "H": 5}


def test_pieces_have_the_names_of_gates_and_rows():
    rows, columns = pieces("(I+H, 4H)", {"I": 3, "H": 5}, ("i", "ci", "f", "o"))
    assert [p.name for p in rows] == ["the rows of x", "the rows of h_prev"]
    assert [p.name for p in columns] == ["gate i", "gate ci", "gate f", "gate o"]
    assert columns[2].place == slice(10, 15)


@pytest.mark.parametrize(
    ("index", "said"),
    [
        ((0,), "step 0 (the first)"),
        ((-1,), "step 3 (the last)"),
        ((slice(1, None),), "all steps from 1 on"),
        ((slice(None), slice(1, 2)), "sample 1"),
        ((slice(None), slice(None), 4), "unit 4 (the last)"),
        ((slice(None),), ""),
    ],
)
def test_lines_of_an_axis_are_named(index, said):
    wrong = np.zeros((4, 3, 5), bool)
    wrong[index] = True
    assert where(wrong, "(T, B, H)") == said


def test_gates_are_named():
    wrong = np.zeros(20, bool)
    wrong[5:10] = True
    assert where(wrong, "(4H,)", pieces("(4H,)", {"H": 5}, ("i", "ci", "f", "o"))) == "gate ci"
