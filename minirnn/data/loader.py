"""DataLoader: batches of a dataset, shuffled by seed, as in torch but without worker processes; and how a list of
examples becomes a batch: stacked as in torch, or padded, with lengths.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np

from minirnn.arguments import check
from minirnn.arguments.messages import shown
from minirnn.data.dataset import (
    BatchSampler,
    RandomSampler,
    SequentialSampler,
    TensorDataset,
    check_dataset,
    generator_of,
)
from minirnn.engine import operands
from minirnn.engine.tensor import Tensor, as_tensor, tensor
from minirnn.nn.utils.rnn import pad_sequence
from minirnn.ops.primitives import stack


class DataLoader:
    """Batches of a dataset, pass after pass. torch.utils.data.DataLoader.

    Raises TypeError or ValueError if arguments are of the wrong type, out of range or contradict each other.

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
        self.collate_fn = collate_fn or (_converted if batch_sampler is None else default_collate)

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
    return [_converted(t[places]) for t in dataset.tensors]


class _Naming:
    """Adds a note that names the example to an exception from inside."""

    def __init__(self, note: str) -> None:
        self.note = note

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, Exception):
            error.add_note(f"DataLoader: {self.note}")


_KNOWN = "expected Tensors, arrays, numbers, texts, or lists, tuples and dicts of them"


def default_collate(batch: Sequence[Any]) -> Any:
    """Stack examples of one kind into a batch with B as its first axis: torch.utils.data.default_collate.

    Raises TypeError if an example has none of these kinds, or another kind than the first one, and ValueError without
    examples, or if arrays differ in shape, or tuples or dicts in size.

    Parameters
    ----------
    batch : list of B examples
        The first one determines their kind:

        ==========================  ======================================================
        Tensors, arrays (..)        a Tensor (B, ..), dtype and (of Tensors) device as they are
        NumPy numbers               a Tensor (B,) of their dtype
        int, bool, float            a Tensor (B,) of int64, bool, float64 (as torch; `minirnn.tensor` makes float32)
        str, bytes                  a list of them
        tuples and lists of n       a list of n batches
        named tuples                the same named tuple of batches
        dicts                       the same kind of dict, each key with a batch
        ==========================  ======================================================

    Returns
    -------
    Tensor, list, dict or named tuple
        Arrays and numbers go to the default device (`minirnn.use_device`).

    Examples
    --------
    >>> x, y = default_collate([(np.zeros(3), 1), (np.ones(3), 0)])
    >>> x.shape, y.tolist()
    ((2, 3), [1, 0])
    """
    return _collate(_listed("default_collate", batch), "default_collate", "batch[{}]")


def _converted(data: Any) -> Any:
    """One example with its arrays as Tensors and the rest unchanged, as `DataLoader` returns it with
    ``batch_size=None``.
    """
    if isinstance(data, (np.ndarray, np.generic)) and data.dtype.kind not in "USO":
        return tensor(data)
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(_converted, data))
    if isinstance(data, tuple):
        return [_converted(d) for d in data]
    if isinstance(data, list):
        return [_converted(d) for d in data]
    return _like(data, {k: _converted(v) for k, v in data.items()}) if isinstance(data, Mapping) else data


def pad_collate(
    batch: Sequence[Any], *, sequences: int = 1, batch_first: bool = False, padding_value: Any = 0.0
) -> tuple[Any, ...]:
    """Combine examples that begin with a sequence: padded sequences, the rest as in `default_collate`, then lengths.

    The result fits `RNN`, `GRU` and `LSTM`: ``for x, target, lengths in loader: lstm(x, lengths=lengths)``. Raises
    TypeError or ValueError if examples do not fit each other.

    Parameters
    ----------
    batch : list of B examples
        Each a sequence (T_b, ..), or a tuple that begins with one.
    sequences : int, keyword only
        How many of the first parts of an example are sequences: 2 for ``(x, target)`` with a target for each
        step. To set options, write ``functools.partial(pad_collate, sequences=2)``.
    batch_first : bool, keyword only
        Padded sequences are (B, T, ..) instead of (T, B, ..).
    padding_value : float or sequence of float, keyword only
        The value past the end, for all or for each of the sequences: ``(0.0, -100)`` marks targets that
        ``cross_entropy(..., ignore_index=-100)`` leaves out.

    Returns
    -------
    tuple
        The parts of the examples, then the lengths of the first sequences as a Tensor (B,) of int64.

    Examples
    --------
    >>> x, target, lengths = pad_collate([(np.array([1.0, 2.0, 3.0]), 0), (np.array([4.0]), 1)])
    >>> x.T.tolist(), target.tolist(), lengths.tolist()
    ([[1.0, 2.0, 3.0], [4.0, 0.0, 0.0]], [0, 1], [3, 1])
    """
    name = "pad_collate"
    examples = _listed(name, batch)
    sequences = check.integer(name, "sequences", sequences, 1)
    whole = [(e,) if isinstance(e, (Tensor, np.ndarray)) else e for e in examples]
    size = len(whole[0]) if isinstance(whole[0], (tuple, list)) else sequences
    for k, e in enumerate(whole):
        if not isinstance(e, (tuple, list)) or len(e) != size or size < sequences:
            raise ValueError(
                f"{name}: batch[{k}] is {shown(e)}\n  expected a sequence that is a Tensor or an array,"
                f" or a tuple of {max(size, sequences)} parts, the first {sequences} of them sequences"
            )
    parts = [[e[k] for e in whole] for k in range(size)]
    values = padding_value if isinstance(padding_value, (tuple, list)) else [padding_value] * sequences
    if len(values) != sequences:
        raise ValueError(f"{name}: padding_value is {shown(padding_value)}\n  expected {sequences}, one per sequence")
    padded = []
    for part, value in zip(parts, values, strict=False):
        try:
            padded.append(pad_sequence(part, batch_first, value))
        except (TypeError, ValueError) as error:
            raise type(error)(f"{name}: {error}") from None
    rest = [_collate(part, name, f"batch[{{}}][{k}]") for k, part in enumerate(parts) if k >= sequences]
    return (*padded, *rest, tensor(np.array([len(s) for s in parts[0]], np.int64)))


def _listed(name: str, batch: Any) -> list[Any]:
    if not isinstance(batch, (list, tuple)):
        raise TypeError(f"{name}: batch is {shown(batch)}\n  expected a list of examples")
    if not batch:
        raise ValueError(f"{name}: batch is empty\n  expected at least one example")
    return list(batch)


def _collate(batch: list[Any], name: str, where: str) -> Any:
    """The batch of examples of one kind; `where` is the name of one of them in messages: ``batch[{}][1]``."""
    first = batch[0]
    if isinstance(first, (Tensor, np.ndarray, np.generic)):
        return _stacked(batch, name, where)
    if isinstance(first, (bool, int, float)):
        return _numbers(batch, name, where)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        _same(batch, name, where, lambda e: isinstance(e, Mapping) and e.keys() == first.keys(), "the keys")
        found = {key: _collate([e[key] for e in batch], name, f"{where}[{key!r}]") for key in first}
        return _like(first, found)
    if isinstance(first, (tuple, list)):
        _same(batch, name, where, lambda e: isinstance(e, (tuple, list)) and len(e) == len(first), "the size")
        parts = [_collate([e[k] for e in batch], name, f"{where}[{k}]") for k in range(len(first))]
        return type(first)(*parts) if hasattr(first, "_fields") else parts
    raise TypeError(f"{name}: {where.format(0)} is {shown(first)}, a {type(first).__name__}\n  {_KNOWN}")


def _stacked(batch: list[Any], name: str, where: str) -> Tensor:
    """Tensors, arrays or NumPy numbers of one shape and dtype as one Tensor."""
    first = batch[0]
    if not isinstance(first, Tensor) and first.dtype.kind not in "fiub":
        raise TypeError(f"{name}: {where.format(0)} has dtype {first.dtype}\n  {_KNOWN}")
    for k, e in enumerate(batch):
        if not isinstance(e, (Tensor, np.ndarray, np.generic)) or e.dtype != first.dtype:
            what = f"has dtype {e.dtype}" if hasattr(e, "dtype") else f"is {shown(e)}"
            raise TypeError(f"{name}: {where.format(k)} {what}\n  expected {first.dtype}, as {where.format(0)}")
        if e.shape != first.shape:
            longer = "\n  likely sequences of different lengths: DataLoader(..., collate_fn=pad_collate) pads them"
            if name == "pad_collate":
                longer = "\n  likely another sequence: pad_collate(batch, sequences=2) pads the first two parts"
            ragged = len(e.shape) == len(first.shape) > 0 and e.shape[1:] == first.shape[1:]
            raise ValueError(
                f"{name}: {where.format(k)} has shape {e.shape}\n  expected {first.shape}, as {where.format(0)}"
                + (longer if ragged else "")
            )
    if any(isinstance(e, Tensor) for e in batch):
        place = operands.device_of(*batch)
        return stack([e if isinstance(e, Tensor) else as_tensor(e, device=place) for e in batch])
    return tensor(np.stack(batch))  # one copy to the device


def _numbers(batch: list[Any], name: str, where: str) -> Tensor:
    """Python numbers as one Tensor: bool, int64 or float64, whichever holds all."""
    for k, e in enumerate(batch):
        if not isinstance(e, (bool, int, float, np.bool_, np.number)):
            raise TypeError(f"{name}: {where.format(k)} is {shown(e)}\n  expected a number, as {where.format(0)}")
    kinds = {type(e) for e in batch}
    dtype = np.bool_ if kinds == {bool} else np.int64 if kinds <= {bool, int} else np.float64
    try:
        return tensor(np.array(batch, dtype))
    except OverflowError:
        raise ValueError(
            f"{name}: {where.format('k')} is too large a number\n  expected one that int64 holds"
        ) from None


def _same(batch: list[Any], name: str, where: str, fits: Callable[[Any], bool], what: str) -> None:
    for k, e in enumerate(batch):
        if not fits(e):
            raise ValueError(f"{name}: {where.format(k)} is {shown(e)}\n  expected {what} of {where.format(0)}")


def _like(example: Mapping[Any, Any], found: dict[Any, Any]) -> Any:
    """The dict `found` converted to the type of the example's mapping, if possible."""
    if not isinstance(example, MutableMapping):
        return found
    same = copy.copy(example)
    same.update(found)
    return same
