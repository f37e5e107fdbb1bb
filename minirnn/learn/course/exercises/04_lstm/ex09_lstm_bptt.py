"""ex09  An LSTM over a whole sequence, backwards.

    for t in range(T): the step of ex07 with cs_prev, h_prev = cs[t-1], h[t-1], and with cs0, h0 at the first step

    x (T, B, I)    i, cs, f, o, ci, co, h (T, B, H)    cs0, h0 (B, H)    w (I+H, 4H)    b (4H,)

The loss reads every h[t]. Two gradients are carried back from step to step: one of h and one of cs.
"""

import numpy as np  # noqa: F401


def lstm_backward(x, cs0, h0, w, i, cs, f, o, ci, co, h, dh):
    """dh (T, B, H). Return dx (T, B, I), dcs0 (B, H), dh0 (B, H), dw (I+H, 4H), db (4H,)."""
    raise NotImplementedError("ex09")
