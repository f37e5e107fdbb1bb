"""The GRU of GRUBlockCell in NumPy: one step and its gradient.

Formulas, shapes and their explanation: the ops of the same names in `minirnn/ops/gru_block.py`.
"""

from __future__ import annotations

import numpy as np

from minirnn.devices.cpu.arithmetic import sigmoid, without_false_alarms

Arrays = tuple[np.ndarray, ...]


@without_false_alarms
def gru_block_cell(*inputs: np.ndarray) -> Arrays:
    """One step from x (B, I), h_prev (B, H), w_ru (I+H, 2H), w_c (I+H, H), b_ru (2H,), b_c (H,).

    Returns r, u, c, h, each (B, H).
    """
    x, h_prev, w_ru, w_c, b_ru, b_c = inputs

    x_h_prev = np.concatenate([x, h_prev], axis=1)  # (B, I+H)
    r, u = np.split(sigmoid(x_h_prev @ w_ru + b_ru), 2, axis=1)  # (B, H) each
    x_h_prevr = np.concatenate([x, r * h_prev], axis=1)  # (B, I+H)  reset before the product, unlike cuDNN
    c = np.tanh(x_h_prevr @ w_c + b_c)
    h = u * h_prev + (1 - u) * c
    return r, u, c, h


@without_false_alarms
def gru_block_cell_grad(*arrays: np.ndarray) -> Arrays:
    """The gradient of one step, from its inputs, the saved r, u, c and the gradient d_h, each (B, H).

    Returns d_x (B, I), d_h_prev (B, H), d_c_bar (B, H), d_r_bar_u_bar (B, 2H); a bar marks a pre-activation. x, b_ru
    and b_c are not read; the gradients of weights and biases follow from d_c_bar and d_r_bar_u_bar.
    """
    x, h_prev, w_ru, w_c, _, _, r, u, c, d_h = arrays
    I = x.shape[1]

    d_c_bar = d_h * (1 - u) * (1 - c * c)
    d_u_bar = d_h * (h_prev - c) * u * (1 - u)
    d_x_h_prevr = d_c_bar @ w_c.T  # (B, I+H)
    d_h_prevr = d_x_h_prevr[:, I:]
    d_r_bar = d_h_prevr * h_prev * r * (1 - r)
    d_r_bar_u_bar = np.concatenate([d_r_bar, d_u_bar], axis=1)  # (B, 2H)
    d_x_h_prev = d_r_bar_u_bar @ w_ru.T  # (B, I+H)
    d_x = d_x_h_prev[:, :I] + d_x_h_prevr[:, :I]
    d_h_prev = d_x_h_prev[:, I:] + d_h_prevr * r + d_h * u
    return d_x, d_h_prev, d_c_bar, d_r_bar_u_bar
