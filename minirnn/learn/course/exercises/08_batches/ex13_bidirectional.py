"""ex13  Two directions.

One RNN reads x from its beginning. Another, with its own weights, reads it from its end. Both states start at zero.

    h[0][t] = tanh(x[t] @ W[0] + h[0][t-1] @ R[0] + b[0])
    h[1][t] = tanh(x[t] @ W[1] + h[1][t+1] @ R[1] + b[1])
    y[t]    = [h[0][t], h[1][t]]                        side by side: (B, 2H)

    x (T, B, I)    h (2, T, B, H) both in time order    W (2, I, H)    R (2, H, H)    b (2, H)

You are given rnn_backward(x, h0, W, R, h, dh) -> dx, dh0, dW, dR, db, which goes back through one RNN that reads
from the beginning (your ex06, done right).
"""

import numpy as np  # noqa: F401


def bidirectional_backward(x, W, R, h, dy, rnn_backward):
    """dy (T, B, 2H). Return dx (T, B, I), dW (2, I, H), dR (2, H, H), db (2, H)."""
    raise NotImplementedError("ex13")
