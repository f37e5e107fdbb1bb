"""SequentialSampler, RandomSampler and BatchSampler: which indices they yield, how often, and in which order.

Tests `minirnn/data/dataset.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.data import BatchSampler, RandomSampler
from tests.each import each


@pytest.mark.parametrize("N", [1, 2, 7])
def test_a_random_order_has_every_number_once_and_is_another_one_each_time(N: int) -> None:
    sampler = RandomSampler(range(N), seed=3)
    orders = [list(sampler) for _ in range(20)]
    assert all(sorted(order) == list(range(N)) for order in orders)
    assert all(type(k) is int for k in orders[0])
    assert len(sampler) == sampler.num_samples == N
    if N == 7:
        assert len(set(map(tuple, orders))) == 20
    again = RandomSampler(range(N), seed=3)
    assert [list(again) for _ in range(20)] == orders


def test_without_a_seed_the_public_stream_decides() -> None:
    sampler = RandomSampler(range(10))
    mr.manual_seed(4)
    first = [list(sampler), list(sampler)]
    mr.manual_seed(4)
    assert [list(sampler), list(sampler)] == first
    mr.manual_seed(4)
    assert mr.random.generator().permutation(10).tolist() == first[0]
    mr.manual_seed(4)
    before = mr.random.generator().bit_generator.state["state"]["counter"].copy()
    list(RandomSampler(range(10), seed=1))
    assert (mr.random.generator().bit_generator.state["state"]["counter"] == before).all()


def test_a_generator_is_used_and_moves_on() -> None:
    generator = np.random.default_rng(8)
    first, second = (
        list(RandomSampler(range(6), generator=generator)),
        list(RandomSampler(range(6), generator=generator)),
    )
    again = np.random.default_rng(8)
    assert [first, second] == [again.permutation(6).tolist(), again.permutation(6).tolist()]


def test_an_order_is_drawn_when_its_walk_begins() -> None:
    sampler = RandomSampler(range(5), seed=0)
    one, two = iter(sampler), iter(sampler)
    mixed = list(zip(one, two, strict=True))
    again = RandomSampler(range(5), seed=0)
    assert [list(order) for order in zip(*mixed, strict=True)] == [list(again), list(again)]


def test_num_samples_repeats_orders_or_draws_with_replacement() -> None:
    found = list(RandomSampler(range(3), num_samples=7, seed=0))
    assert sorted(found[:3]) == sorted(found[3:6]) == [0, 1, 2]
    assert len(found) == 7
    drawn = RandomSampler(range(3), replacement=True, num_samples=500, seed=0)
    assert len(drawn) == 500
    counts = np.bincount(list(drawn), minlength=3)
    assert counts.sum() == 500
    assert (np.abs(counts - 500 / 3) < 60).all()  # six standard deviations
    assert counts[0] != counts[1]
    assert len(list(RandomSampler(range(4), num_samples=2, seed=0))) == 2
    assert len(list(RandomSampler(range(4), num_samples=1, seed=0))) == 1


@each("N", [0, 1, 5, 6])
@each("size", [1, 2, 3, 9])
@each("drop_last", [False, True])
def test_lists_of_numbers_are_full_but_the_last(N: int, size: int, drop_last: bool) -> None:
    sampler = BatchSampler(range(N), size, drop_last)
    lists = list(sampler)
    assert len(sampler) == len(lists)
    assert [k for batch in lists for k in batch] == list(range(N - N % size if drop_last else N))
    assert all(len(batch) == size for batch in (lists if drop_last else lists[:-1]))
    assert list(sampler) == lists


WRONG: list[tuple[Any, type[Exception], str]] = [
    (lambda: RandomSampler(5), TypeError, "RandomSampler: data_source is 5"),
    (lambda: RandomSampler([1], 1), TypeError, "replacement is 1"),  # type: ignore[arg-type]
    (lambda: BatchSampler([1], 2, 1), TypeError, "drop_last is 1"),  # type: ignore[arg-type]
    (lambda: len(BatchSampler(iter([1]), 2, True)), TypeError, "has no len"),
]


@pytest.mark.parametrize(("call", "error", "words"), WRONG)
def test_wrong_arguments_are_explained(call: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        call()
