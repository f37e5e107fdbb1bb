"""ex06  Backpropagation through time.

    for t in range(T):
        h[t] = tanh(x[t] @ W + h_prev @ R + b)          h_prev is h[t-1], and h0 at the first step

    x (T, B, I)    h (T, B, H)    h0 (B, H)    W (I, H)    R (H, H)    b (H,)

The loss reads every h[t], and dh[t] is the gradient that comes from there. Step t+1 also reads h[t].
"""

import numpy as np  # noqa: F401


def rnn_backward(x, h0, W, R, h, dh):
    """dh (T, B, H). Return dx (T, B, I), dh0 (B, H), dW (I, H), dR (H, H), db (H,)."""
    raise NotImplementedError("ex06")
