"""ex11  A GRU whose reset gate acts after the product (cuDNN, torch). This is not the GRU of ex10: in general no
weights make the two equal.

A  = x @ W.T + bW                    (B, 3H), thirds A_r, A_z, A_n
A2 = h_prev @ R.T + bR               (B, 3H), thirds A2_r, A2_z, q
r = sigmoid(A_r + A2_r)    z = sigmoid(A_z + A2_z)
n = tanh(A_n + r * q)
h = (1 - z) * n + z * h_prev

x (B, I)    h_prev, r, z, n, q (B, H)    W (3H, I)    R (3H, H)    bW, bR (3H,)

z and n are cuDNN's names of the update gate u and the candidate c of ex10.
"""

import numpy as np  # noqa: F401


def gru_reset_after_backward(x, h_prev, W, R, r, z, n, q, dh):
    """dh (B, H). Return dx (B, I), dh_prev (B, H), dW (3H, I), dR (3H, H), dbW (3H,), dbR (3H,)."""
    raise NotImplementedError("ex11")
