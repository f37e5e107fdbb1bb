"""DataLoader: batches, orders, lengths, several passes at once, and errors that name the example."""

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.data import (
    CharBatches,
    DataLoader,
    Dataset,
    RandomSampler,
    Subset,
    TensorDataset,
    copy_memory,
    default_collate,
    pad_collate,
)

N = 7
DATA = TensorDataset(np.arange(2.0 * N, dtype=np.float32).reshape(N, 2), np.arange(N))


def numbers(loader: DataLoader) -> list[list[int]]:
    return [y.tolist() for _, y in loader]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 9])
@pytest.mark.parametrize("drop_last", [False, True])
def test_batches_hold_all_examples_in_order(size: int, drop_last: bool) -> None:
    loader = DataLoader(DATA, size, drop_last=drop_last)
    found = numbers(loader)
    assert len(loader) == len(found)
    last = N - N % size if drop_last else N
    assert [k for batch in found for k in batch] == list(range(last))
    assert all(len(batch) == size for batch in found[: last // size])
    assert numbers(loader) == found
    for x, y in loader:
        assert (x.dtype, y.dtype) == (np.float32, np.int64)
        np.testing.assert_array_equal(x.numpy(), DATA.tensors[0][y.numpy()])


def test_the_default_is_one_example_at_a_time_in_order() -> None:
    loader = DataLoader(DATA)
    assert numbers(loader) == [[k] for k in range(N)]
    assert (loader.batch_size, loader.drop_last, loader.num_workers, loader.dataset) == (1, False, 0, DATA)
    assert isinstance(next(iter(loader)), list)


def test_shuffling_by_seed_is_repeatable_and_new_in_each_pass() -> None:
    loader = DataLoader(DATA, 3, shuffle=True, seed=1)
    first, second = numbers(loader), numbers(loader)
    flat = [[k for batch in found for k in batch] for found in (first, second)]
    assert flat[0] != flat[1]
    assert sorted(flat[0]) == sorted(flat[1]) == list(range(N))
    again = DataLoader(DATA, 3, shuffle=True, seed=1)
    mr.manual_seed(77)
    assert [numbers(again), numbers(again)] == [first, second]
    assert numbers(DataLoader(DATA, 3, shuffle=True, seed=2)) != first


def test_without_a_seed_the_public_stream_decides() -> None:
    mr.manual_seed(3)
    first = numbers(DataLoader(DATA, 3, shuffle=True))
    mr.manual_seed(3)
    assert numbers(DataLoader(DATA, 3, shuffle=True)) == first
    generator = np.random.default_rng(3)
    expected = np.random.default_rng(3).permutation(N).tolist()
    assert [k for b in numbers(DataLoader(DATA, 3, shuffle=True, generator=generator)) for k in b] == expected


def test_two_passes_at_once_do_not_disturb_each_other() -> None:
    loader = DataLoader(DATA, 2, shuffle=True, seed=5)
    mixed = [(a[1].tolist(), b[1].tolist()) for a, b in zip(loader, loader, strict=True)]
    again = DataLoader(DATA, 2, shuffle=True, seed=5)
    assert [list(p) for p in zip(*mixed, strict=True)] == [numbers(again), numbers(again)]
    one = iter(loader)
    next(one)
    assert sum(map(len, numbers(loader))) == N
    assert sum(len(y) for _, y in one) == N - 2


def test_a_sampler_or_lists_of_numbers_say_what_comes() -> None:
    assert numbers(DataLoader(DATA, 2, sampler=[5, 1, 1])) == [[5, 1], [1]]
    assert numbers(DataLoader(DATA, batch_sampler=[[3], [2, 6]])) == [[3], [2, 6]]
    assert len(DataLoader(DATA, batch_sampler=[[3], [2, 6]])) == 2
    loader = DataLoader(DATA, 4, sampler=RandomSampler(DATA, True, 10, seed=1))
    assert (len(loader), sum(map(len, numbers(loader)))) == (3, 10)
    with pytest.raises(TypeError):
        len(DataLoader(DATA, 2, sampler=iter([1])))


def test_without_a_batch_size_single_examples_come() -> None:
    loader = DataLoader(DATA, batch_size=None)
    found = list(loader)
    assert len(loader) == len(found) == N
    assert [x.shape for x, _ in found] == [(2,)] * N
    assert isinstance(found[0][1], mr.Tensor)
    shuffled = DataLoader(DATA, batch_size=None, shuffle=True, seed=0, collate_fn=lambda example: int(example[1]))
    assert sorted(shuffled) == list(range(N))


def test_a_batch_is_made_by_collate_fn() -> None:
    assert list(DataLoader("abcde", 2, collate_fn="".join)) == ["ab", "cd", "e"]
    assert list(DataLoader(["a", "b"], 2)) == [["a", "b"]]
    assert DataLoader(DATA).collate_fn is default_collate


def test_a_list_an_array_and_a_tensor_are_datasets(device: str) -> None:
    for data in ([0.0, 1.0, 2.0], np.arange(3.0), mr.tensor(np.arange(3.0), device=device)):
        assert [b.numpy().tolist() for b in DataLoader(data, 2)] == [[0, 1], [2]]
    assert next(iter(DataLoader(mr.tensor([1.0], device=device)))).device == device
    with mr.use_device(device):
        assert next(iter(DataLoader([1.0]))).device == device


def test_of_no_examples_no_batches_come() -> None:
    for shuffle in (False, True):
        loader = DataLoader([], 3, shuffle=shuffle)
        assert (len(loader), list(loader)) == (0, [])


def test_sequences_of_a_task_come_as_the_task_has_them() -> None:
    task = copy_memory(np.random.default_rng(0), T=21, B=6)
    pairs = list(zip(task.x.swapaxes(0, 1), task.target.swapaxes(0, 1), strict=True))
    loader = DataLoader(pairs, 6, collate_fn=lambda batch: pad_collate(batch, sequences=2))
    ((x, target, lengths),) = loader
    np.testing.assert_array_equal(x.numpy(), task.x)
    np.testing.assert_array_equal(target.numpy(), task.target)
    assert lengths.tolist() == [21] * 6


def test_batches_of_text_come_in_the_order_of_the_text() -> None:
    batches = CharBatches(np.arange(13), T=3, B=2)
    found = list(DataLoader(batches, batch_size=None))
    assert len(found) == 2
    for (x, y), (x_k, y_k) in zip(found, batches.one_pass(), strict=True):
        np.testing.assert_array_equal(x.numpy(), x_k)
        np.testing.assert_array_equal(y.numpy(), y_k)


# ---- errors


class Broken(Dataset):
    def __len__(self) -> int:
        return 5

    def __getitem__(self, k: int) -> Any:
        if k == 3:
            raise KeyError("no such file")
        return np.ones(k + 1 if k > 3 else 1)


def test_an_error_of_the_dataset_keeps_its_type_and_names_the_example() -> None:
    with pytest.raises(KeyError, match="no such file") as caught:
        list(DataLoader(Broken(), 2))
    assert caught.value.__notes__ == ["DataLoader: while reading dataset[3]"]
    with pytest.raises(ValueError, match=r"has shape \(5,\)") as wrong:
        list(DataLoader(Subset(Broken(), [0, 4]), 2))
    assert wrong.value.__notes__ == ["DataLoader: while collating the examples [0, 1] of the dataset"]
    with pytest.raises(IndexError) as outside:
        list(DataLoader(DATA, 2, sampler=[1, N]))
    assert outside.value.__notes__ == [f"DataLoader: while reading dataset[{N}]"]
    with pytest.raises(ZeroDivisionError) as single:
        list(DataLoader(DATA, None, collate_fn=lambda e: 1 / 0))
    assert single.value.__notes__ == ["DataLoader: while converting dataset[0]"]


g = np.random.default_rng(0)
WRONG: list[tuple[Any, type[Exception], str]] = [
    (lambda: DataLoader(DATA, 2, "yes"), TypeError, "shuffle is 'yes'"),  # type: ignore[arg-type]
    (lambda: DataLoader(DATA, 2, sampler=3), TypeError, "sampler is 3"),  # type: ignore[arg-type]
    (lambda: DataLoader(DATA, 2, batch_sampler=[[1]]), ValueError, "expected batch_sampler alone"),
    (lambda: DataLoader(DATA, shuffle=True, batch_sampler=[[1]]), ValueError, "expected batch_sampler alone"),
    (lambda: DataLoader(DATA, sampler=[1], batch_sampler=[[1]]), ValueError, "expected batch_sampler alone"),
    (lambda: DataLoader(DATA, drop_last=True, batch_sampler=[[1]]), ValueError, "expected batch_sampler alone"),
    (lambda: DataLoader(DATA, num_workers=-1), ValueError, "num_workers is -1"),
    (lambda: DataLoader(DATA, pin_memory=1), TypeError, "pin_memory is 1"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("call", "error", "words"), WRONG)
def test_wrong_arguments_are_explained(call: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def test_a_batch_read_at_once_is_that_of_examples_read_one_by_one(rng: np.random.Generator) -> None:
    class OneByOne(TensorDataset):
        """Another type, whose examples are collated."""

    x = mr.tensor(rng.standard_normal((7, 3, 2)).astype("f4"), requires_grad=True)
    arrays = (x, rng.integers(0, 5, 7), rng.random((7, 4)), rng.random(7) < 0.5)
    pairs = [DataLoader(kind(*arrays), 3, shuffle=True, seed=1) for kind in (TensorDataset, OneByOne)]
    for ours, theirs in zip(*pairs, strict=True):
        assert [(t.dtype, t.shape, t.requires_grad) for t in ours] == [
            (t.dtype, t.shape, t.requires_grad) for t in theirs
        ]
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(a.numpy(), b.numpy())
