"""DataLoader: batches of a dataset, shuffled by seed, as in torch but without worker processes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from minirnn import check
from minirnn.data.collate import default_collate, default_convert
from minirnn.data.dataset import TensorDataset, check_dataset
from minirnn.data.samplers import BatchSampler, RandomSampler, SequentialSampler, generator_of
from minirnn.messages import shown


class DataLoader:
    """Batches of a dataset, pass after pass. torch.utils.data.DataLoader.

    Parameters
    ----------
    dataset : Dataset, or anything with a length and indexed examples
    batch_size : int or None
        Examples per batch. None gives single examples, unchanged except that arrays become Tensors.
    shuffle : bool, optional
        Another random order in each pass.
    sampler : iterable of int, optional
        The indices of the examples, in order, instead of `shuffle`.
    batch_sampler : iterable of lists of int, optional
        The indices of the examples of each batch, instead of `batch_size`, `shuffle`, `sampler` and `drop_last`.
    num_workers : int
        0: this process reads examples when they are needed. There are no worker processes.
    collate_fn : callable, optional
        Combines a list of examples into a batch: `default_collate`, or `pad_collate` for sequences of different
        lengths.
    pin_memory : bool
        Has no effect; it exists for compatibility with torch.
    drop_last : bool
        Leave out the last batch if it is not full.
    generator : numpy.random.Generator, keyword only
        The source of random orders; by default the stream of `minirnn.manual_seed`.
    seed : int, keyword only
        Instead of a generator: the loader has its own stream. The first, second, .. pass have the same order in every
        run, regardless of other draws.

    Raises
    ------
    TypeError, ValueError
        If arguments are of the wrong type, out of range or contradict each other.

    Notes
    -----
    ``len(loader)`` is the number of batches of a pass. A loader can be iterated several times at once: the order of a
    pass is drawn when it begins. An error of the dataset carries a note that names the example.

    Examples
    --------
    >>> from minirnn.data import TensorDataset
    >>> loader = DataLoader(TensorDataset(np.arange(10.0).reshape(5, 2), np.arange(5)), batch_size=2)
    >>> len(loader)
    3
    >>> for x, y in loader:
    ...     print(x.shape, y.tolist())
    (2, 2) [0, 1]
    (2, 2) [2, 3]
    (1, 2) [4]
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[int] | None = None,
        batch_sampler: Iterable[list[int]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        *,
        generator: Any = None,
        seed: int | None = None,
    ) -> None:
        name = "DataLoader"
        self.dataset = check_dataset(name, dataset)
        shuffle = check.flag(name, "shuffle", False if shuffle is None else shuffle)
        self.drop_last = check.flag(name, "drop_last", drop_last)
        self.pin_memory = check.flag(name, "pin_memory", pin_memory)
        self.num_workers = check.integer(name, "num_workers", num_workers, 0)
        if self.num_workers:
            raise ValueError(
                f"{name}: num_workers is {num_workers}\n  expected 0: examples are read in this process, when they are"
                " asked for\n  minirnn has no worker processes; a slow dataset can keep its examples in a list"
            )
        if collate_fn is not None and not callable(collate_fn):
            raise TypeError(f"{name}: collate_fn is {shown(collate_fn)}\n  expected a function of a list of examples")
        self.generator = generator
        generator_of(name, generator, seed)  # checks them
        for option, value in (("sampler", sampler), ("batch_sampler", batch_sampler)):
            if value is not None and not isinstance(value, Iterable):
                raise TypeError(f"{name}: {option} is {shown(value)}\n  expected an iterable of indices of examples")
        if sampler is not None and shuffle:
            raise ValueError(f"{name}: got both sampler and shuffle=True\n  expected one: the sampler sets the order")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or self.drop_last:
                raise ValueError(
                    f"{name}: got batch_sampler and one of batch_size, shuffle, sampler, drop_last\n"
                    "  expected batch_sampler alone: it says which examples make a batch"
                )
            batch_size = None
        elif batch_size is None and self.drop_last:
            raise ValueError(
                f"{name}: drop_last=True with batch_size=None\n  expected a batch_size, or drop_last=False"
            )
        self.batch_size = None if batch_size is None else check.integer(name, "batch_size", batch_size, 1)
        if sampler is None:
            random = RandomSampler(dataset, generator=generator, seed=seed) if shuffle else None
            sampler = random or SequentialSampler(dataset)
        self.sampler = sampler
        if batch_sampler is None and self.batch_size is not None:
            batch_sampler = BatchSampler(sampler, self.batch_size, self.drop_last)
        self.batch_sampler = batch_sampler
        self.collate_fn = collate_fn or (default_convert if batch_sampler is None else default_collate)

    def __iter__(self) -> Iterator[Any]:
        """One pass. The order is drawn here, before the first batch is asked for."""
        if self.batch_sampler is None:
            return self._examples(iter(self.sampler))
        return self._batches(iter(self.batch_sampler))

    def _examples(self, numbers: Iterator[int]) -> Iterator[Any]:
        for k in numbers:
            example = self._example(k)
            with _Naming(f"while converting dataset[{k}]"):
                found = self.collate_fn(example)
            yield found

    def _batches(self, lists: Iterator[list[int]]) -> Iterator[Any]:
        for numbers in lists:
            if self.collate_fn is default_collate and (batch := _at_once(self.dataset, numbers)):
                yield batch
                continue
            examples = [self._example(k) for k in numbers]
            with _Naming(f"while collating the examples {shown(list(numbers))} of the dataset"):
                found = self.collate_fn(examples)
            yield found

    def _example(self, k: int) -> Any:
        with _Naming(f"while reading dataset[{k}]"):
            return self.dataset[k]

    def __len__(self) -> int:
        """The number of batches in a pass. Raises TypeError if the sampler has no length."""
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)  # type: ignore[arg-type]


def _at_once(dataset: Any, numbers: Any) -> list[Any] | None:
    """What `default_collate` makes of these examples of a `TensorDataset`, read with one index per array.

    None for other indices of a sampler, and for other datasets; their examples are read one by one.
    """
    if type(dataset) is not TensorDataset or any(t.dtype.kind not in "biuf" for t in dataset.tensors):
        return None
    n = len(dataset)
    if type(numbers) is not list or not numbers or not all(type(k) is int and 0 <= k < n for k in numbers):
        return None
    places = np.array(numbers)
    return [default_convert(t[places]) for t in dataset.tensors]


class _Naming:
    """Adds a note that names the example to an exception from inside."""

    def __init__(self, note: str) -> None:
        self.note = note

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, Exception):
            error.add_note(f"DataLoader: {self.note}")
