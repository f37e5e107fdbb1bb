"""What the CUDA kernels of the exercises compute. The arguments are the CUDA kernel's, outputs included."""

import numpy as np


def blend_gradient(N, dh, h_prev, u, c, dh_prev, du, dc):
    return dh * u, dh * (h_prev - c), dh * (1 - u)


def product(M, K, N, x, w, y):
    return x @ w


def row_norms(H, x, norm):
    return np.sqrt((x * x).sum(1))


def cell_output(B, H, o, cs, h):
    return o * np.tanh(cs)
