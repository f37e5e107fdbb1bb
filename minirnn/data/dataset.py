"""Datasets, which have ``len(dataset)`` and ``dataset[k]``: parallel arrays, parts of a dataset, tasks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np

from minirnn import check
from minirnn.data.samplers import generator_of
from minirnn.data.task import Task
from minirnn.engine.tensor import Tensor
from minirnn.messages import shown


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

    Parameters
    ----------
    *tensors : Tensor or ndarray, (N, ..)
        At least one; all with the same N.

    Raises
    ------
    TypeError, ValueError
        If one is not an array, or they differ in N.

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


class TaskDataset(Dataset):
    """The B sequences of a `Task` as B examples ``(x, target)``, x (T, I) and target without its axis B.

    Parameters
    ----------
    task : Task
        From `adding_problem`, `copy_memory` or `sine_wave`, with one sequence for each example of the dataset.

    Attributes
    ----------
    baseline : float
        That of the task.

    Examples
    --------
    >>> from minirnn.data import DataLoader, adding_problem, pad_collate
    >>> dataset = TaskDataset(adding_problem(np.random.default_rng(0), T=50, B=100))
    >>> loader = DataLoader(dataset, batch_size=32, shuffle=True, seed=0, collate_fn=pad_collate)
    >>> for x, target, lengths in loader:
    ...     print(x.shape, target.shape)
    (50, 32, 2) (32, 1)
    (50, 32, 2) (32, 1)
    (50, 32, 2) (32, 1)
    (50, 4, 2) (4, 1)
    """

    def __init__(self, task: Task) -> None:
        if not isinstance(task, Task):
            raise TypeError(f"TaskDataset: task is {shown(task)}\n  expected a Task, as adding_problem returns it")
        self.task = task
        self.baseline = task.baseline
        # The target of a task belongs to its steps (T, B, ..) or to the whole sequence (B, ..).
        self._by_steps = task.target.shape[:2] == task.x.shape[:2]

    def __getitem__(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        target = self.task.target
        return self.task.x[:, index], target[:, index] if self._by_steps else target[index]

    def __len__(self) -> int:
        return int(self.task.x.shape[1])


def random_split(
    dataset: Any, lengths: Sequence[float], generator: Any = None, *, seed: int | None = None
) -> list[Subset]:
    """Split a dataset at random into parts without common examples. torch.utils.data.random_split.

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

    Raises
    ------
    TypeError, ValueError
        If the lengths do not fit, or generator and seed are both given.

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
