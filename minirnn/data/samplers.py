"""The order of examples: sequential, random, or in batches. The names are those of torch.utils.data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from minirnn import check, random
from minirnn.messages import shown


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

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong type or out of range.

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
