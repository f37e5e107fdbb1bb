"""ex10  A GRU whose reset gate acts before the product (TensorFlow's GRUBlockCell).

    zr, zu = the two halves of [x, h_prev] @ w_ru + b_ru, each (B, H)
    r = sigmoid(zr)    u = sigmoid(zu)
    c = tanh([x, r * h_prev] @ w_c + b_c)
    h = u * h_prev + (1 - u) * c

    x (B, I)    h_prev, r, u, c (B, H)    w_ru (I+H, 2H)    w_c (I+H, H)    b_ru (2H,)    b_c (H,)

c is the candidate, h with a tilde in tutorial 6. h_prev is used in four places. Its gradient is the sum of what comes
back from each.
"""

import numpy as np  # noqa: F401


def gru_cell_backward(x, h_prev, w_ru, w_c, r, u, c, d_h):
    """d_h (B, H). Return d_x (B, I), d_h_prev (B, H), d_w_ru (I+H, 2H), d_w_c (I+H, H), d_b_ru (2H,), d_b_c (H,)."""
    raise NotImplementedError("ex10")
