"""ex12  Samples of different lengths in one batch.

Sample k ends after lengths[k] steps; what x holds beyond that is padding.

    for t in range(T):
        new = tanh(x[t] @ W + h_prev @ R + b)           h_prev is h[t-1], and h0 at the first step
        h[t] = new     where t < lengths, else h_prev   the state of a sample that has ended stays as it is
        y[t] = new     where t < lengths, else 0        what the next layer sees
    h_n = h[T-1]

    x (T, B, I)    h, y (T, B, H)    h0, h_n (B, H)    W (I, H)    R (H, H)    b (H,)    lengths (B,) integers

The loss reads y and h_n.
"""

import numpy as np  # noqa: F401


def rnn_lengths_backward(x, h0, W, R, h, lengths, dy, dh_n):
    """dy (T, B, H), dh_n (B, H). Return dx (T, B, I), dh0 (B, H), dW (I, H), dR (H, H), db (H,)."""
    raise NotImplementedError("ex12")
