"""Padding and packing sequences of different lengths, as in torch.nn.utils.rnn.

`RNN`, `GRU` and `LSTM` accept the padded input and its lengths in any order:
``output, state = lstm(x, lengths=lengths)``. Packed sequences, which torch programs use, are in `packing`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from minirnn.arguments import check
from minirnn.arguments.messages import shown
from minirnn.engine import operands
from minirnn.engine.tensor import Tensor, as_tensor
from minirnn.lookup.later import imported_later
from minirnn.nn.utils.packing import PackedSequence, pack_padded_sequence, pad_packed_sequence
from minirnn.ops.primitives import concat, stack

__getattr__, __dir__ = imported_later(__name__, {})  # for torch's other names, an error with the name here

__all__ = ["PackedSequence", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence", "pad_sequence"]


def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """A batch of sequences, each padded to the length of the longest: torch.nn.utils.rnn.pad_sequence.

    Parameters
    ----------
    sequences : sequence of array_like or Tensor, (T_b, ..) each
        At least one. All axes but the first, the dtypes and the devices must be equal. A length of 0 is allowed.
    batch_first : bool
        The result is (B, T, ..) instead of (T, B, ..).
    padding_value : float
        The value of the padding.
    padding_side : {"right", "left"}
        Whether the padding is after the end or before the beginning. `RNN`, `GRU` and `LSTM` with ``lengths=`` need
        padding on the right.

    Returns
    -------
    Tensor, (T, B, ..), T the longest length
        Gradients flow back into each sequence.

    Examples
    --------
    >>> pad_sequence([[1.0, 2.0], [3.0]], batch_first=True, padding_value=-1.0)
    tensor([[ 1.,  2.],
            [ 3., -1.]])
    """
    name = "pad_sequence"
    batch_first = check.flag(name, "batch_first", batch_first)
    check.choice(name, "padding_side", padding_side, ("right", "left"))
    steps = _sequences(name, sequences)
    first = steps[0]
    value = _padding(name, padding_value, first.dtype)
    T = max(len(s) for s in steps)
    padded = []
    for s in steps:
        if len(s) < T:
            gap = as_tensor(np.full((T - len(s), *first.shape[1:]), value, first.dtype), device=first.device)
            s = concat([s, gap] if padding_side == "right" else [gap, s])
        padded.append(s)
    return stack(padded, 0 if batch_first else 1)


def pack_sequence(sequences: Any, enforce_sorted: bool = True) -> PackedSequence:
    """`pad_sequence` and `pack_padded_sequence` in one call. Sequences, (T_b, ..) each, must have at least one step."""
    steps = _sequences("pack_sequence", sequences)
    return pack_padded_sequence(pad_sequence(steps), [len(s) for s in steps], enforce_sorted=enforce_sorted)


def _sequences(name: str, sequences: Any) -> list[Tensor]:
    """The sequences as Tensors of one dtype and device, whose shapes differ only in the first axis."""
    if isinstance(sequences, (str, dict)) or not isinstance(sequences, Iterable):
        raise TypeError(f"{name}: sequences is {shown(sequences)}\n  expected a list of sequences, (T_b, ..) each")
    given = list(sequences)
    if not given:
        raise ValueError(f"{name}: sequences is an empty list\n  expected at least one sequence, (T_b, ..)")
    steps = operands.as_tensors(given)
    first = steps[0]
    for k, s in enumerate(steps):
        if s.ndim < 1 or s.shape[1:] != first.shape[1:]:
            more = "".join(f", {n}" for n in first.shape[1:])
            raise ValueError(f"{name}: sequences[{k}] has shape {s.shape}\n  expected (T_b{more or ','}), as the first")
        if s.dtype != first.dtype:
            raise TypeError(f"{name}: sequences[{k}] has dtype {s.dtype}\n  expected {first.dtype}, as the first")
        if s.device is not first.device:
            raise ValueError(f"{name}: sequences[{k}] is on {s.device}\n  expected {first.device}, as the first")
    return steps


def _padding(name: str, value: Any, dtype: np.dtype[Any]) -> float:
    """The padding value as a number that `dtype` can hold: NaN only for floats, no fraction for integers."""
    if isinstance(value, (float, np.floating)) and np.isnan(value) and dtype.kind == "f":
        return float(value)
    number = check.number(name, "padding_value", int(value) if isinstance(value, bool) else value, finite=False)
    with np.errstate(invalid="ignore"):
        held = dtype.kind == "f" or np.array(number).astype(dtype) == number
    if not held:
        raise ValueError(
            f"{name}: padding_value is {shown(value)}\n  expected a value of {dtype}, as the sequences are"
        )
    return number
