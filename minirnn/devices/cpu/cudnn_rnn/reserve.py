"""What a training forward pass keeps for the backward pass, and where it lies in the flat `reserve` array."""

from __future__ import annotations

import numpy as np

ROWS: dict[str, dict[str, tuple[str, ...]]] = {
    "rnn_relu": {},  # everything the backward pass needs is in y
    "rnn_tanh": {},
    # The sigmoid gates are neighbors, so that one call computes all three, and n is next to c', for (i, f) * (n, c').
    "lstm": {"gates": ("o", "i", "f", "n", "c_prev")},
    # q r z is what comes from h', r z n what x goes into: the rows of each are neighbors.
    "gru": {"gates": ("q", "r", "z", "n"), "h_minus_n": ("h_minus_n",)},
}
"""Blocks of the reserve of each mode, in order, and the values in each block, (H, B) a step."""


def rnn_sequence_reserve_layout(
    rnn_mode: str, T: int, B: int, I: int, H: int, P: int, D: int, projected: bool, skip: bool
) -> list[tuple[str, tuple[int, ...]]]:
    """Names and shapes of the blocks of the reserve array, in order and without gaps.

    Returns
    -------
    list of (name, shape)
        lstm: ``gates`` (D, T, 5, H, B) holds o, i, f, n and the state c before the step.
        gru: ``gates`` (D, T, 4, H, B) holds q, r, z, n; ``h_minus_n`` (D, T, 1, H, B) the state before the step less n.
        rnn_relu, rnn_tanh: nothing.

    Notes
    -----
    `P`, `I`, `projected` and `skip` change nothing here; another device may need them. At steps past a sample's length
    the contents mean nothing.
    """
    return [(name, (D, T, len(rows), H, B)) for name, rows in ROWS[rnn_mode].items()]


def reserve_blocks(reserve: np.ndarray, rnn_mode: str, T: int, B: int, H: int, D: int) -> dict[str, np.ndarray]:
    """The blocks of `rnn_sequence_reserve_layout` by name."""
    blocks, start = {}, 0
    for name, rows in ROWS[rnn_mode].items():
        stop = start + D * T * len(rows) * H * B
        blocks[name] = reserve[start:stop].reshape(D, T, len(rows), H, B)
        start = stop
    return blocks
