"""Datasets, random_split, and the samplers: which indices they yield, how often, and in which order."""

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.data import BatchSampler, Dataset, RandomSampler, Subset, TensorDataset, random_split
from tests.each import each


def test_arrays_and_tensors_stand_side_by_side(device: str, rng: np.random.Generator) -> None:
    a, b = rng.normal(size=(4, 3)), mr.tensor(rng.normal(size=(4, 2, 5)), True, device)
    dataset = TensorDataset(a, b)
    assert isinstance(dataset, Dataset)
    assert len(dataset) == 4
    x, y = dataset[2]
    np.testing.assert_array_equal(x, a[2])
    np.testing.assert_array_equal(y.numpy(), b.numpy()[2])
    x, y = dataset[1:3]
    assert (x.shape, y.shape) == ((2, 3), (2, 2, 5))
    assert dataset.tensors == (a, b) or dataset.tensors[0] is a
    with pytest.raises(IndexError):
        dataset[4]
    assert len(TensorDataset(np.ones((3, 2)))) == 3


def test_a_subset_has_its_examples_in_its_order() -> None:
    data = TensorDataset(np.arange(10))
    part = Subset(data, [7, 1, 1])
    assert [part[k][0] for k in range(len(part))] == [7, 1, 1]
    assert Subset(part, [2, 0])[1][0] == 7
    np.testing.assert_array_equal(part[[0, 2]][0], [7, 1])
    assert (part.dataset, part.indices) == (data, [7, 1, 1])


@pytest.mark.parametrize(
    ("N", "lengths", "counts"),
    [
        (10, [3, 7], [3, 7]),
        (10, [10, 0], [10, 0]),
        (10, [0.33, 0.33, 0.34], [4, 3, 3]),  # as torch gives them
        (11, [0.5, 0.25, 0.25], [6, 3, 2]),
        (7, [0.3, 0.3, 0.4], [3, 2, 2]),
        (10, [0.1] * 10, [1] * 10),
        (1, [1], [1]),
        (1, [0, 1], [0, 1]),
        (5, [1.0], [5]),
        (0, [0, 0], [0, 0]),
    ],
)
def test_parts_have_torchs_sizes_and_no_example_in_common(N: int, lengths: list[float], counts: list[int]) -> None:
    parts = random_split(range(100, 100 + N), lengths, seed=1)
    assert [len(part) for part in parts] == counts
    assert sorted(k for part in parts for k in part) == list(range(100, 100 + N))


def test_a_split_is_drawn_from_the_seed_the_generator_or_the_public_stream() -> None:
    def numbers(*args: Any, **kwargs: Any) -> list[int]:
        return [k for part in random_split(range(20), [0.5, 0.5], *args, **kwargs) for k in part]

    assert numbers(seed=1) == numbers(seed=1) != numbers(seed=2)
    assert numbers(np.random.default_rng(3)) == np.random.default_rng(3).permutation(20).tolist()
    mr.manual_seed(5)
    first = numbers()
    assert first != list(range(20))
    mr.manual_seed(5)
    assert numbers() == first


def test_a_dataset_says_what_it_lacks() -> None:
    with pytest.raises(NotImplementedError, match="Empty does not define __getitem__"):
        type("Empty", (Dataset,), {})()[0]


WRONG: list[tuple[Any, type[Exception], str]] = [
    (lambda: TensorDataset(np.array(1)), ValueError, r"argument 0 has shape \(\)"),
    (
        lambda: TensorDataset(np.ones((5, 4, 2)), np.ones(4)),
        ValueError,
        r"argument 1 has shape \(4,\)\n.*\(5, 4, 2\)\n.*even if they are sequences: \(N, T, ..\)",
    ),
    (lambda: random_split(range(10), [4.5, 5.5]), ValueError, "add up to 10\n"),
    (lambda: random_split(range(10), []), TypeError, r"lengths is \[\]"),
    (lambda: random_split(range(10), 5), TypeError, "lengths is 5"),  # type: ignore[arg-type]
    (lambda: RandomSampler([1], 1), TypeError, "replacement is 1"),  # type: ignore[arg-type]
    (lambda: BatchSampler([1], 2, 1), TypeError, "drop_last is 1"),  # type: ignore[arg-type]
    (lambda: len(BatchSampler(iter([1]), 2, True)), TypeError, "has no len"),
]


@pytest.mark.parametrize(("call", "error", "words"), WRONG)
def test_wrong_arguments_are_explained(call: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        call()


# ---- samplers


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
