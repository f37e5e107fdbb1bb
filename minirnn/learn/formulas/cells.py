"""Own cells: one step backward, the values that a step saves, and how far a gradient reaches."""

import numpy as np


def patient_cell_backward(c_prev, slow, k, n, o, tanh_c, c_grad, dh):
    dz_o = dh * tanh_c * o * (1 - o)
    # c reaches the loss by two paths: through h of this step, and directly to step t+1.
    dc = c_grad + dh * o * (1 - tanh_c * tanh_c)
    # The gate k chooses between the old value and the new one.
    dz_k = dc * (c_prev - n) * k * (1 - k)
    dz_n = dc * (1 - k) * (1 - n * n)
    dc_prev = dc * k
    dslow = dz_k.sum(0)
    return dz_k, dz_n, dz_o, dc_prev, dslow


def what_is_saved(there, cheap, read, operands, T, B, H):
    have = [bool(v) for v in there]
    saved = np.zeros(len(there))
    for v in range(len(there)):
        if not have[v]:
            again = cheap[v] and all(have[a] for a in range(v) if operands[v, a])
            saved[v] = 1 if read[v] and not again else 0
            have[v] = bool(again or read[v])
    return saved, saved.sum() * T * B * H * 4


def long_memory(z, steps):
    f = 1 / (1 + np.exp(-z))
    reach = np.ones_like(f)
    for t in reversed(range(len(f) - 1)):
        reach[t] = reach[t + 1] * f[t + 1]
    keep = 0.5 ** (1 / steps)
    bias = np.log(keep / (1 - keep))
    return reach, bias
