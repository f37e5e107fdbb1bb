"""ex34  Truncated backpropagation through time.

Training on a long text uses windows of k steps. The state is passed on from window to window, but the gradient is not:
at the first step of a window (t = 0, k, 2k, ...) the incoming state is a constant, cut off from the tape (`detach`).

    for t in range(T):
        h_prev = h[t-1] (h0 at the first step); if t % k == 0: h_prev = detach(h_prev)
        h[t] = tanh(x[t] @ W + h_prev @ R + b)

    x (T, B, I)    h (T, B, H)    h0 (B, H)    W (I, H)    R (H, H)    b (H,)

Detached is not the same as zero.
"""

import numpy as np  # noqa: F401


def truncated_backward(x, h0, W, R, h, dh, k):
    """dh (T, B, H) is the gradient that reaches h from the loss. Return dx (T, B, I), dW (I, H), dR (H, H), db (H,)."""
    raise NotImplementedError("ex34")
