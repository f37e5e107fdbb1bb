"""ex07  One step of an LSTM, backwards.

    zi, zc, zf, zo = the four quarters of [x, h_prev] @ w + b, each (B, H)
    i = sigmoid(zi)    ci = tanh(zc)    f = sigmoid(zf)    o = sigmoid(zo)
    cs = i * ci + f * cs_prev
    co = tanh(cs)
    h = o * co

    x (B, I)    cs_prev, h_prev, i, cs, f, o, ci, co (B, H)    w (I+H, 4H)    b (4H,)

The first rows of w belong to x, the others to h_prev; its columns are i, ci, f, o. The slope of
s = sigmoid(z) is s * (1 - s). ci is the candidate: c with a tilde in tutorial 5, g in torch, n in cuDNN.
"""

import numpy as np  # noqa: F401


def lstm_cell_backward(x, cs_prev, h_prev, w, i, cs, f, o, ci, co, dcs, dh):
    """dcs and dh (B, H) are the gradients that reach cs and h from outside (cs from the next step).

    Return dx (B, I), dcs_prev (B, H), dh_prev (B, H), dw (I+H, 4H), db (4H,).
    """
    raise NotImplementedError("ex07")
