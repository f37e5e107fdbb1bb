"""The LSTM sequence of BlockLSTM in NumPy, and its gradient.

Formulas, shapes and their explanation: the ops of the same names in `minirnn/ops/lstm_block/sequence.py`. `block_lstm`
and `block_lstm_grad` compute by the fast code of `columns`; the loops over the cell that define a sequence, and judge
the fast code, are in `reference`.
"""

from __future__ import annotations

import numpy as np

from minirnn.devices.cpu.arithmetic import narrow, widen
from minirnn.devices.cpu.lstm_block import columns

Arrays = tuple[np.ndarray, ...]


def block_lstm(
    *inputs: np.ndarray, seq_len_max: int, forget_bias: float, cell_clip: float, use_peephole: bool
) -> Arrays:
    """All steps from the arrays of `LSTMBlockInputs`, where x is (T, B, I).

    Returns i, cs, f, o, ci, co, h, each (T, B, H) and zero from seq_len_max on, where x is not read. They may be
    transposed views of arrays laid out (T, H, B), which `block_lstm_grad` then reads without a copy.
    """
    outputs = columns.forward(
        *widen(*inputs),
        seq_len_max=int(seq_len_max),
        forget_bias=forget_bias,
        cell_clip=cell_clip,
        use_peephole=use_peephole,
    )
    return narrow(inputs[0].dtype, *outputs)


def block_lstm_grad(*arrays: np.ndarray, seq_len_max: int, use_peephole: bool) -> Arrays:
    """The gradient of all steps, from the inputs, the saved i, ..., h and the gradients cs_grad, h_grad (T, B, H).

    Returns x_grad (T, B, I), cs_prev_grad, h_prev_grad (B, H), w_grad (I+H, 4H), wci_grad, wcf_grad, wco_grad (H,),
    b_grad (4H,). Nothing is read from seq_len_max on, and x_grad is zero there. b is not read.
    """
    gradients = columns.backward(*widen(*arrays), seq_len_max=int(seq_len_max), use_peephole=use_peephole)
    return narrow(arrays[0].dtype, *gradients)
