"""Nests are taken apart and put together again."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, namedtuple
from typing import Any

import pytest

from minirnn.autograd.trees import is_nest, leaves_of, mapped, same_shape

Pair = namedtuple("Pair", "a b")
NEST = {"x": Pair(1, [2, (3,)]), "y": OrderedDict(z=4)}


def test_leaves_come_from_left_to_right() -> None:
    assert list(leaves_of(NEST)) == [1, 2, 3, 4]
    assert list(leaves_of(7)) == [7]
    assert is_nest(()) and not is_nest("text")


def test_mapped_keeps_kinds_and_changes_nothing() -> None:
    found = mapped(lambda n: n * 10, NEST)
    assert found == {"x": Pair(10, [20, (30,)]), "y": OrderedDict(z=40)}
    assert type(found["x"]) is Pair and type(found["y"]) is OrderedDict
    assert list(leaves_of(NEST)) == [1, 2, 3, 4]
    counts = defaultdict(int, a=1)
    again = mapped(lambda n: n + 1, counts)
    assert again == {"a": 2} and again["new"] == 0 and counts == {"a": 1}


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ({"x": Pair(5, [6, (7,)]), "y": OrderedDict(z=8)}, True),
        ({"x": Pair(5, [6, 7]), "y": OrderedDict(z=8)}, False),
        ({"x": Pair(5, [6, (7, 7)]), "y": OrderedDict(z=8)}, False),
        ({"x": (5, [6, (7,)]), "y": OrderedDict(z=8)}, False),
        ({"x": Pair(5, [6, (7,)]), "q": OrderedDict(z=8)}, False),
        (3, False),
    ],
)
def test_same_shape(other: Any, same: bool) -> None:
    assert same_shape(NEST, other) is same and same_shape(other, NEST) is same
    assert same_shape(1, 2)
