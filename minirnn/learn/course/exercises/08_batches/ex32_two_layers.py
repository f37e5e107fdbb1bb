"""ex32  Two layers.

The lower RNN reads x, the upper one reads the states of the lower one. Both begin at zero.

    h[0][t] = tanh(x[t]    @ W[0] + h[0][t-1] @ R[0] + b[0])
    h[1][t] = tanh(h[0][t] @ W[1] + h[1][t-1] @ R[1] + b[1])
    y[t]    = h[1][t]                    what the loss reads
    h_n[l]  = h[l][T-1]                  the last states of both layers; the loss also reads them

    x (T, B, I)    h (2, T, B, H)    W a list: W[0] (I, H), W[1] (H, H)    R (2, H, H)    b (2, H)

You are given rnn_backward(x, h0, W, R, h, dh) -> dx, dh0, dW, dR, db, which goes back through one layer (your ex06,
done right).
"""

import numpy as np  # noqa: F401


def two_layers_backward(x, W, R, h, dy, dh_n, rnn_backward):
    """dy (T, B, H), dh_n (2, B, H). Return dx (T, B, I), dW0 (I, H), dW1 (H, H), dR (2, H, H), db (2, H)."""
    raise NotImplementedError("ex32")
