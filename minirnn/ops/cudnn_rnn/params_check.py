"""Argument checks of the CudnnRNN parameter ops: attributes of the network, numbers of pieces, and pieces."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from minirnn import check
from minirnn.engine.tensor import Tensor


def projection(op: str, rnn_mode: str, num_units: int, num_proj: Any) -> int:
    """The attribute num_proj: 0 (none), or for lstm 1 .. H-1."""
    P = check.integer(op, "num_proj", num_proj, 0, meaning="; 0 means no projection")
    if P and rnn_mode != "lstm":
        raise ValueError(
            f"{op}: num_proj is {P} with rnn_mode {rnn_mode!r}\n  expected 0\n  only 'lstm' has a projection of h"
        )
    if num_units <= P:
        raise ValueError(
            f"{op}: num_proj is {P}, num_units is {num_units}\n"
            "  expected num_proj < num_units, or 0 for no projection\n"
            "  a projection makes h narrower than the cell state (P < H)"
        )
    return P


def unused(op: str, dropout: Any, seed: Any, seed2: Any) -> None:
    """Check attributes of TensorFlow's parameter ops that do not affect the layout."""
    check.number(op, "dropout", dropout, 0, 1, ", the probability of a zero")
    for name, value in (("seed", seed), ("seed2", seed2)):
        check.integer(op, name, value, low=-(2**63), high=2**63 - 1)


def count(op: str, name: str, given: Any, expected: int, formula: str) -> None:
    """Check an optional attribute that is a count. Raises ValueError unless it is None or right."""
    if given is not None and check.integer(op, name, given, 1) != expected:
        raise ValueError(f"{op}: {name} is {given}\n  expected {formula} = {expected}")


def pieces(op: str, name: str, value: Any) -> list[Any]:
    """A list of arrays. A single array raises TypeError, because its first axis is not a list of pieces."""
    if isinstance(value, Tensor) or not isinstance(value, Sequence) or isinstance(value, str):
        raise TypeError(f"{op}: {name} is a {type(value).__name__}\n  expected a list of arrays, in canonical order")
    return list(value)


def piece(op: str, name: str, t: Tensor, what: str, shape: tuple[int, ...]) -> None:
    """Raise ValueError unless `t` has as many elements as the piece `what` of `shape`; its own shape may be flat."""
    if t.size != prod(shape):
        hint = "\n  skip_input: layer 0 has no input matrices" if 0 in shape else ""
        raise ValueError(
            f"{op}: {name} has shape {t.shape}, {t.size} elements\n"
            f"  expected {prod(shape)}: {what}, {shape}, or as many elements in another shape{hint}"
        )
