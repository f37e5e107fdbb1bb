"""The names and the order of the arrays of the LSTM block kernels.

A kernel takes its arrays by position. If there are many, it takes them as ``*arrays`` and names them by one of these
tuples, so that the list of names is written once and not in every device.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class LSTMBlockInputs(NamedTuple):
    """The inputs of `lstm_block_cell` and `block_lstm`; the columns of w and b are the gates i, ci, f, o."""

    x: Any  # (B, I), of a sequence (T, B, I)
    cs_prev: Any  # (B, H)
    h_prev: Any  # (B, H)
    w: Any  # (I+H, 4H)
    wci: Any  # (H,)
    wcf: Any  # (H,)
    wco: Any  # (H,)
    b: Any  # (4H,)


class LSTMBlockValues(NamedTuple):
    """The results of a step, (B, H) each, from which its gradient is computed; for a sequence (T, B, H) each."""

    i: Any
    cs: Any
    f: Any
    o: Any
    ci: Any
    co: Any
    h: Any
