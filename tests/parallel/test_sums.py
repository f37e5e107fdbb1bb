"""The tree of sums: one order of addition for every number of ranks."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from minirnn.parallel.sums import finish, nodes_of, partial, tree_sum
from tests.each import each


@pytest.mark.parametrize(
    ("shards", "order"),
    [
        (1, "0"),
        (2, "(01)"),
        (3, "((01)2)"),
        (4, "((01)(23))"),
        (5, "(((01)(23))4)"),
        (6, "(((01)(23))(45))"),
        (7, "(((01)(23))((45)6))"),
    ],
)
def test_neighbors_are_added_in_pairs_and_the_last_one_waits(shards: int, order: str) -> None:
    class Term(str):
        def __add__(self, other: str) -> Term:
            return Term(f"({str(self)}{str(other)})")

    assert tree_sum([Term(k) for k in range(shards)]) == order


@each("shards", range(1, 25))
def test_every_split_among_ranks_gives_the_same_bits(rng: np.random.Generator, shards: int) -> None:
    parts = rng.standard_normal((shards, 50)).astype(np.float32) * np.exp2(rng.integers(-20, 20, (shards, 1)))
    whole = tree_sum(list(parts))
    for P in (p for p in range(1, shards + 1) if shards % p == 0):
        known = {}
        for rank in range(P):
            lo, hi = rank * shards // P, (rank + 1) * shards // P
            own = {k: parts[k] for k in range(lo, hi)}
            for node in nodes_of(shards, lo, hi):
                known[node] = partial(shards, own, node)
        np.testing.assert_array_equal(finish(shards, known), whole)


@pytest.mark.parametrize("shards", [1, 2, 5, 6, 8, 12, 13])
def test_the_nodes_of_a_stretch_cover_it_once_and_are_few(shards: int) -> None:
    for lo, hi in itertools.combinations(range(shards + 1), 2):
        nodes = nodes_of(shards, lo, hi)
        covered = [j for level, k in nodes for j in range(k << level, min(shards, (k + 1) << level))]
        assert covered == list(range(lo, hi))
        assert len(nodes) <= 2 * shards.bit_length()
        assert not any(a == b and j % 2 == 0 and k == j + 1 for (a, j), (b, k) in itertools.pairwise(nodes))
    assert nodes_of(shards, 0, shards) == [((shards - 1).bit_length(), 0)]


def test_it_is_a_sum() -> None:
    assert tree_sum([1.0, 2.0, 4.0, 8.0, 16.0]) == 31.0
