"""Gate orders: the same blocks of H rows (or columns), one after the other in every library's own order.

A gate order is a word with one letter per gate. Libraries use different letters for the same gate:

    lstm    i input   f forget   o output   n = c = g   the new value, after tanh
    gru     r reset   z = u      the update gate (1 keeps the old state)   n = c = h   the new value, after tanh
    rnn     no gates: the empty word
"""

from __future__ import annotations

import numpy as np

CUDNN_GATES = {"rnn_relu": "", "rnn_tanh": "", "lstm": "ifno", "gru": "rzn"}
"""rnn_mode -> the gate order of cuDNN and of the hub."""

_SAME = str.maketrans({"c": "n", "g": "n", "h": "n", "u": "z"})


def in_hub_letters(order: str) -> str:
    """A gate order of any library, in the letters of the hub."""
    return order.translate(_SAME)


def reorder(stacked: np.ndarray, source: str, target: str, axis: int = 0) -> np.ndarray:
    """The blocks along `axis`, rearranged from the order `source` to the order `target`.

    >>> reorder(np.array([1, 2, 3, 4]), "icfo", "ifno").tolist()
    [1, 3, 2, 4]
    """
    source, target = in_hub_letters(source), in_hub_letters(target)
    if source == target:
        return stacked
    blocks = np.split(stacked, len(source), axis)
    return np.concatenate([blocks[source.index(gate)] for gate in target], axis)


def gate(stacked: np.ndarray, name: str, order: str) -> slice:
    """The position of the gate `name` along axis 0 of an array whose gates are stacked in `order`."""
    H = stacked.shape[0] // len(order)
    k = in_hub_letters(order).index(in_hub_letters(name))
    return slice(k * H, (k + 1) * H)
