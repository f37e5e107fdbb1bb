"""The two GRUs: reset before the product (`ops/gru_block/`) and after it (cuDNN, torch)."""

import numpy as np


def gru_cell_backward(x, h_prev, w_ru, w_c, r, u, c, d_h):
    I = x.shape[1]
    d_c_bar = d_h * (1 - u) * (1 - c * c)
    d_u_bar = d_h * (h_prev - c) * u * (1 - u)
    p2 = d_c_bar @ w_c.T
    # p2[:, I:] is the gradient of the product r * h_prev, so it is multiplied by the other factor each time.
    d_r_bar = p2[:, I:] * h_prev * r * (1 - r)
    d_ru_bar = np.concatenate([d_r_bar, d_u_bar], axis=1)
    p1 = d_ru_bar @ w_ru.T
    d_x = p1[:, :I] + p2[:, :I]
    d_h_prev = p1[:, I:] + p2[:, I:] * r + d_h * u
    d_w_ru = np.concatenate([x, h_prev], axis=1).T @ d_ru_bar
    d_w_c = np.concatenate([x, r * h_prev], axis=1).T @ d_c_bar
    d_b_ru = d_ru_bar.sum(0)
    d_b_c = d_c_bar.sum(0)
    return d_x, d_h_prev, d_w_ru, d_w_c, d_b_ru, d_b_c


def gru_reset_after_backward(x, h_prev, W, R, r, z, n, q, dh):
    da_n = dh * (1 - z) * (1 - n * n)
    da_z = dh * (h_prev - n) * z * (1 - z)
    da_r = da_n * q * r * (1 - r)
    # The reset gate is between q and n, so what reaches R and its bias has the factor r, unlike what reaches W.
    dq = da_n * r
    da = np.concatenate([da_r, da_z, da_n], axis=1)
    da2 = np.concatenate([da_r, da_z, dq], axis=1)
    dx = da @ W
    dh_prev = da2 @ R + dh * z
    dW = da.T @ x
    dR = da2.T @ h_prev
    dbW = da.sum(0)
    dbR = da2.sum(0)
    return dx, dh_prev, dW, dR, dbW, dbR
