"""Datasets, which have ``len(dataset)`` and ``dataset[k]``, and samplers, the order of their examples.

The names are those of torch.utils.data.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from minirnn.arguments import check
from minirnn.arguments.messages import shown
from minirnn.engine import random
from minirnn.engine.tensor import Tensor


class Dataset:
    """Base class of datasets: define ``__len__`` and ``__getitem__``. torch.utils.data.Dataset.

    Nothing else is needed, so a list or an array of examples is a dataset as well.

    Examples
    --------
    >>> class Squares(Dataset):
    ...     def __len__(self):
    ...         return 5
    ...     def __getitem__(self, k):
    ...         return k, k * k
    >>> Squares()[3]
    (3, 9)
    """

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError(
            f"{type(self).__name__} does not define __getitem__(index)\n"
            "  expected a subclass that defines it: it returns the example with that index"
        )


class TensorDataset(Dataset):
    """Several arrays as a dataset: example k is ``(a[k], b[k], ...)``. torch.utils.data.TensorDataset.

    Raises TypeError or ValueError if one is not an array, or they differ in N.

    Parameters
    ----------
    *tensors : Tensor or ndarray, (N, ..)
        At least one; all with the same N.

    Examples
    --------
    >>> dataset = TensorDataset(np.arange(6).reshape(3, 2), np.array([1, 0, 1]))
    >>> len(dataset), dataset[2]
    (3, (array([4, 5]), np.int64(1)))
    """

    def __init__(self, *tensors: Any) -> None:
        if not tensors:
            raise ValueError("TensorDataset: got nothing\n  expected at least one Tensor or array, (N, ..)")
        for k, t in enumerate(tensors):
            if not isinstance(t, (Tensor, np.ndarray)):
                raise TypeError(f"TensorDataset: argument {k} is {shown(t)}\n  expected a Tensor or an array, (N, ..)")
            if t.ndim < 1 or t.shape[0] != tensors[0].shape[0]:
                raise ValueError(
                    f"TensorDataset: argument {k} has shape {t.shape}\n"
                    f"  expected (N, ..) with one N for all; the first has shape {tensors[0].shape}\n"
                    "  examples lie along the first axis, even if they are sequences: (N, T, ..)"
                )
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        return tuple(t[index] for t in self.tensors)

    def __len__(self) -> int:
        return int(self.tensors[0].shape[0])


class Subset(Dataset):
    """The examples of a dataset with these `indices`, in their order. torch.utils.data.Subset.

    Examples
    --------
    >>> part = Subset("abcdef", [4, 1])
    >>> len(part), part[0], part[1]
    (2, 'e', 'b')
    """

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        if not isinstance(indices, (Sequence, np.ndarray)):
            raise TypeError(f"Subset: indices is {shown(indices)}\n  expected a list of indices of examples")
        self.dataset = check_dataset("Subset", dataset)
        self.indices = indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[k] for k in index]]
        return self.dataset[self.indices[index]]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Any, lengths: Sequence[float], generator: Any = None, *, seed: int | None = None
) -> list[Subset]:
    """Split a dataset at random into parts without common examples. torch.utils.data.random_split.

    Raises TypeError or ValueError if the lengths do not fit, or generator and seed are both given.

    Parameters
    ----------
    dataset : Dataset
    lengths : sequence of int, or of float
        The number of examples of each part, which add up to ``len(dataset)``, or fractions that add up to 1. They
        are rounded down, and the remaining examples go to the parts one by one, beginning with the first.
    generator : numpy.random.Generator, optional
        The source of the order: by default the stream of `minirnn.manual_seed`.
    seed : int, keyword only
        Instead of a generator: the same seed gives the same parts.

    Examples
    --------
    >>> train, test = random_split(range(10), [0.75, 0.25], seed=0)
    >>> len(train), len(test), sorted([*train, *test]) == list(range(10))
    (8, 2, True)
    """
    N = len(check_dataset("random_split", dataset))
    if not isinstance(lengths, (list, tuple, np.ndarray)) or not len(lengths):
        raise TypeError(f"random_split: lengths is {shown(lengths)}\n  expected a list of lengths, or of fractions")
    numbers = [check.number("random_split", f"lengths[{k}]", n) for k, n in enumerate(lengths)]
    if any(n < 0 for n in numbers):
        raise ValueError(f"random_split: lengths is {shown(lengths)}\n  expected numbers of 0 or more")
    total = math.fsum(numbers)
    whole = all(n.is_integer() for n in numbers)
    if math.isclose(total, 1):
        counts = [math.floor(N * share) for share in numbers]
        for k in range(N - sum(counts)):
            counts[k % len(counts)] += 1
    elif whole and total == N:
        counts = [int(n) for n in numbers]
    else:
        raise ValueError(
            f"random_split: lengths is {shown(lengths)}, which add up to {total:g}\n"
            f"  expected lengths that add up to {N} = len(dataset), or fractions that add up to 1"
        )
    order = iter(generator_of("random_split", generator, seed).permutation(N).tolist())
    return [Subset(dataset, list(islice(order, n))) for n in counts]


def check_dataset(function: str, dataset: Any) -> Any:
    """Return `dataset`, or raise TypeError if it has no length or cannot be indexed."""
    missing = [name for name in ("__len__", "__getitem__") if not hasattr(dataset, name)]
    if missing or isinstance(dataset, dict):
        raise TypeError(
            f"{function}: dataset is a {type(dataset).__name__}"
            + (f" without {' and '.join(missing)}" if missing else "")
            + "\n  expected len(dataset) examples dataset[0], dataset[1], ...: a Dataset, a list or an array"
            + ("\n  likely an iterator: make a list of it" if hasattr(dataset, "__next__") else "")
        )
    return dataset


def generator_of(function: str, generator: Any, seed: Any) -> np.random.Generator:
    """The stream of a generator, that of a seed, or by default the one of `minirnn.manual_seed`."""
    if generator is not None and seed is not None:
        raise TypeError(f"{function}: got both generator and seed\n  expected one of them, or neither")
    if seed is not None:
        return np.random.Generator(np.random.Philox(check.integer(function, "seed", seed, 0)))
    if generator is None:
        return random.generator()
    if not isinstance(generator, np.random.Generator):
        raise TypeError(
            f"{function}: generator is {shown(generator)}\n  expected a numpy.random.Generator\n"
            "  pass a number as seed="
        )
    return generator


class SequentialSampler:
    """0, 1, .. len(data_source) - 1."""

    def __init__(self, data_source: Any) -> None:
        self.data_source = _sized("SequentialSampler", data_source)

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler:
    """All indices of examples in a random order, which differs in each iteration.

    Raises TypeError or ValueError if an argument is of the wrong type or out of range.

    Parameters
    ----------
    data_source : sized
    replacement : bool
        Draw each index from all, so that some occur several times and others not at all.
    num_samples : int, optional
        The number of draws; by default ``len(data_source)``. Beyond that, without replacement, a new order begins.
    generator : numpy.random.Generator, optional
        By default the stream of `minirnn.manual_seed`.
    seed : int, keyword only
        Instead of a generator: the sampler has its own stream. The first, second, .. order are the same in every run.

    Examples
    --------
    >>> sampler = RandomSampler(range(5), seed=0)
    >>> first, second = list(sampler), list(sampler)
    >>> first == second, sorted(first)
    (False, [0, 1, 2, 3, 4])
    >>> list(RandomSampler(range(5), seed=0)) == first
    True
    """

    def __init__(
        self,
        data_source: Any,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Any = None,
        *,
        seed: int | None = None,
    ) -> None:
        name = "RandomSampler"
        self.data_source = _sized(name, data_source)
        self.replacement = check.flag(name, "replacement", replacement)
        self._num_samples = None if num_samples is None else check.integer(name, "num_samples", num_samples, 1)
        own = generator_of(name, generator, seed)
        # Without a generator and a seed the public stream is read each time, because manual_seed may start a new one.
        self.generator = None if generator is None and seed is None else own

    @property
    def num_samples(self) -> int:
        """The number of indices."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        """An order that is drawn now, so that two simultaneous iterations do not affect each other."""
        draw = random.generator() if self.generator is None else self.generator
        N, wanted = len(self.data_source), self.num_samples
        if not N:
            return iter(())
        if self.replacement:
            return iter(draw.integers(0, N, wanted).tolist())
        orders = [draw.permutation(N) for _ in range(-(-wanted // N))]
        return iter(np.concatenate(orders)[:wanted].tolist())

    def __len__(self) -> int:
        return self.num_samples if len(self.data_source) else 0


class BatchSampler:
    """Lists of `batch_size` indices of a sampler; the last one may be shorter, or is left out with `drop_last`.

    Examples
    --------
    >>> list(BatchSampler(range(5), 2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    >>> list(BatchSampler(range(5), 2, drop_last=True))
    [[0, 1], [2, 3]]
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        name = "BatchSampler"
        if not isinstance(sampler, Iterable):
            raise TypeError(f"{name}: sampler is {shown(sampler)}\n  expected an iterable of indices of examples")
        self.sampler = sampler
        self.batch_size = check.integer(name, "batch_size", batch_size, 1)
        self.drop_last = check.flag(name, "drop_last", drop_last)

    def __iter__(self) -> Iterator[list[int]]:
        return self._lists(iter(self.sampler))  # a random order is drawn now, not when the first list is read

    def _lists(self, numbers: Iterator[int]) -> Iterator[list[int]]:
        batch: list[int] = []
        for k in numbers:
            batch.append(k)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self) -> int:
        N = len(self.sampler)  # type: ignore[arg-type]  # TypeError for a sampler without a length
        return N // self.batch_size if self.drop_last else -(-N // self.batch_size)


def _sized(name: str, source: Any) -> Any:
    if not hasattr(source, "__len__"):
        raise TypeError(
            f"{name}: data_source is {shown(source)}\n  expected something with a length, such as a dataset"
        )
    return source
