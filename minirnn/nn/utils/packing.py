"""Packed sequences, which torch programs pass to recurrent layers. They hold only the valid steps, in one array.

`RNN`, `GRU` and `LSTM` pad them again and use their lengths, so ``lstm(x, lengths=lengths)`` is simpler.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from minirnn.arguments import check
from minirnn.arguments.host_array import integers
from minirnn.arguments.messages import shown
from minirnn.engine.tensor import Tensor, as_tensor, tensor
from minirnn.ops.cudnn_rnn.check import lengths_of
from minirnn.ops.primitives import concat

__all__ = ["PackedSequence", "pack_padded_sequence", "packed_as", "pad_packed_sequence", "unpacked"]


class PackedSequence(NamedTuple):
    """The steps of B sequences, longest first: those of the first step, then those of the second, ...

    Sequence k of the sorted batch is sequence ``sorted_indices[k]`` of the original batch. ``unsorted_indices`` is the
    inverse. Both are None if the batch was already sorted.
    """

    data: Tensor  # (sum of lengths, ..)
    batch_sizes: Tensor  # (T,), the number of sequences that have a step t
    sorted_indices: Tensor | None = None
    unsorted_indices: Tensor | None = None

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """With `data` as ``data.to(...)``, and the indices on its device; itself if that changes nothing."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        moved = [None if t is None else as_tensor(t).to(data.device) for t in self[2:]]
        return PackedSequence(data, self.batch_sizes, *moved)


def pack_padded_sequence(
    input: Any, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """The packed form of a padded batch: torch.nn.utils.rnn.pack_padded_sequence.

    Parameters
    ----------
    input : (T, B, ..), or (B, T, ..) with batch_first
    lengths : (B,) integers, 1 .. T
    batch_first : bool
    enforce_sorted : bool
        Whether increasing lengths raise an error.

    Returns
    -------
    PackedSequence
        Gradients flow back to the valid steps.
    """
    name = "pack_padded_sequence"
    x = as_tensor(input)
    batch_first = check.flag(name, "batch_first", batch_first)
    enforce_sorted = check.flag(name, "enforce_sorted", enforce_sorted)
    if x.ndim < 2:
        raise ValueError(
            f"{name}: input has shape {x.shape}\n  expected {'(B, T, ..)' if batch_first else '(T, B, ..)'}"
        )
    B, T = x.shape[:2] if batch_first else x.shape[1::-1]
    check.positive(name, "B", B, "input")
    ends = lengths_of(name, lengths, T, B, "lengths")
    if enforce_sorted and (np.diff(ends) > 0).any():
        raise ValueError(
            f"{name}: lengths is {shown(ends.tolist())}\n  expected the longest first\n"
            "  enforce_sorted=False takes any order"
        )
    order = np.argsort(-ends, kind="stable")
    t, k = _places(ends[order])
    data = x[order[k], t] if batch_first else x[t, order[k]]
    sizes = tensor(np.bincount(t))
    if enforce_sorted:
        return PackedSequence(data, sizes)
    return PackedSequence(data, sizes, tensor(order), tensor(np.argsort(order)))


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """The padded batch of a packed one, and its lengths: torch.nn.utils.rnn.pad_packed_sequence.

    Parameters
    ----------
    sequence : PackedSequence
    batch_first : bool
        The result is (B, T, ..) instead of (T, B, ..).
    padding_value : float
        The value of the padding.
    total_length : int, optional
        T of the result; the longest length by default.

    Returns
    -------
    padded : Tensor, (T, B, ..)
        In the order of the batch that was packed.
    lengths : Tensor, (B,), int64
    """
    name = "pad_packed_sequence"
    if not isinstance(sequence, PackedSequence):
        raise TypeError(f"{name}: sequence is {shown(sequence)}\n  expected a PackedSequence, such as a layer's output")
    batch_first = check.flag(name, "batch_first", batch_first)
    number = check.number(name, "padding_value", padding_value, finite=False, nan=True)
    data = sequence.data
    ends, order = _ends(sequence)
    T = int(ends[0])
    if total_length is not None:
        T = check.integer(name, "total_length", total_length, T)
    t, k = _places(ends)
    steps = np.full((T, len(ends)), len(data))  # the last row is the padding
    steps[t, order[k]] = np.arange(len(t))
    row = tensor(np.full((1, *data.shape[1:]), number, data.dtype), device=data.device)
    lengths = np.empty_like(ends)
    lengths[order] = ends
    return concat([data, row])[steps.T if batch_first else steps], tensor(lengths)


def unpacked(name: str, sequence: PackedSequence, lengths: Any) -> tuple[Tensor, np.ndarray]:
    """The inputs of a layer: the padded batch (T, B, ..) and its lengths (B,)."""
    if lengths is not None:
        raise ValueError(f"{name}: lengths were given for a PackedSequence\n  expected none, since it has its own")
    padded, ends = pad_packed_sequence(sequence)
    return padded, ends.numpy()


def packed_as(sequence: PackedSequence, padded: Tensor) -> PackedSequence:
    """A padded batch (T, B, ..), packed like `sequence`."""
    ends, order = _ends(sequence)
    t, k = _places(ends)
    return sequence._replace(data=padded[t, order[k]])


def _ends(sequence: PackedSequence) -> tuple[np.ndarray, np.ndarray]:
    """The lengths, longest first, and the index of each sequence in the batch."""
    sizes = integers("PackedSequence: batch_sizes", sequence.batch_sizes)
    if (
        sizes.ndim != 1
        or not len(sizes)
        or sizes.min() < 1
        or (np.diff(sizes) > 0).any()
        or sizes.sum() != len(sequence.data)
    ):
        raise ValueError(
            f"PackedSequence: batch_sizes is {shown(sizes.tolist())}, data has {len(sequence.data)} steps\n"
            "  expected positive numbers that never increase and have that sum"
        )
    ends = (sizes > np.arange(sizes[0])[:, None]).sum(1)
    order = sequence.sorted_indices
    return ends, np.arange(len(ends)) if order is None else as_tensor(order).numpy()


def _places(ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Step t and index k in the sorted batch for each valid step, in the order of packed data."""
    t, k = np.nonzero(np.arange(ends[0])[:, None] < ends)
    return t, k
