"""ex31  An LSTM with a projection: many units, a small state.

    zi, zc, zf, zo = the four quarters of [x, h_prev] @ w + b, each (B, H)
    i = sigmoid(zi)    ci = tanh(zc)    f = sigmoid(zf)    o = sigmoid(zo)
    cs = i * ci + f * cs_prev
    co = tanh(cs)
    h = (o * co) @ wp

    x (B, I)    cs_prev, i, cs, f, o, ci, co (B, H)    h_prev, h (B, P)    w (I+P, 4H)    wp (H, P)    b (4H,)

The columns of w are i, ci, f, o, as in ex07; h and h_prev have P numbers per sample.
"""

import numpy as np  # noqa: F401


def lstmp_cell_backward(x, cs_prev, h_prev, w, wp, i, cs, f, o, ci, co, dcs, dh):
    """dcs (B, H) and dh (B, P) are the gradients that reach cs and h from outside.

    Return dx (B, I), dcs_prev (B, H), dh_prev (B, P), dw (I+P, 4H), dwp (H, P), db (4H,).
    """
    raise NotImplementedError("ex31")
