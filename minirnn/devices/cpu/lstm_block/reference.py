"""The definition of an LSTM sequence: loops over the cell, to check the fast code of `columns` against."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.devices.cpu.lstm_block.cell import Arrays, lstm_block_cell, lstm_block_cell_grad


def block_lstm_reference(*inputs: np.ndarray, seq_len_max: int, **attributes: Any) -> Arrays:
    """`block_lstm` as a loop over `lstm_block_cell`."""
    x, cs_prev, h_prev, *weights = inputs
    T, B, H = *x.shape[:2], cs_prev.shape[1]
    i, cs, f, o, ci, co, h = outputs = tuple(np.zeros((T, B, H), x.dtype) for _ in range(7))
    for t in range(seq_len_max):
        i[t], cs[t], f[t], o[t], ci[t], co[t], h[t] = lstm_block_cell(x[t], cs_prev, h_prev, *weights, **attributes)
        cs_prev, h_prev = cs[t], h[t]
    return outputs


def block_lstm_grad_reference(*arrays: np.ndarray, seq_len_max: int, use_peephole: bool) -> Arrays:
    """`block_lstm_grad` as a loop over `lstm_block_cell_grad`."""
    x, cs_prev, h_prev, w, wci, wcf, wco, b, i, cs, f, o, ci, co, h, cs_grad, h_grad = arrays
    I = x.shape[2]
    x_grad, w_grad, b_grad = np.zeros_like(x), np.zeros_like(w), np.zeros_like(b)
    wci_grad, wcf_grad, wco_grad = np.zeros_like(wci), np.zeros_like(wcf), np.zeros_like(wco)
    dcs_carried, dh_carried = np.zeros_like(cs_prev), np.zeros_like(h_prev)  # from step t+1
    for t in reversed(range(seq_len_max)):
        cp, hp = (cs[t - 1], h[t - 1]) if t > 0 else (cs_prev, h_prev)
        inputs, saved = (x, cp, hp, w, wci, wcf, wco, b), (i[t], cs[t], f[t], o[t], ci[t], co[t])
        dcs_carried, dicfo, dwci, dwcf, dwco = lstm_block_cell_grad(
            *inputs, *saved, cs_grad[t] + dcs_carried, h_grad[t] + dh_carried, use_peephole=use_peephole
        )
        xh_grad = dicfo @ w.T  # (B, I+H)
        x_grad[t], dh_carried = xh_grad[:, :I], xh_grad[:, I:]
        w_grad += np.concatenate([x[t], hp], axis=1).T @ dicfo
        b_grad += dicfo.sum(axis=0)
        wci_grad += dwci
        wcf_grad += dwcf
        wco_grad += dwco
    return x_grad, dcs_carried, dh_carried, w_grad, wci_grad, wcf_grad, wco_grad, b_grad
