"""ex08  Peepholes: gates that look at the cell.

zi, zc, zf, zo = the four quarters of [x, h_prev] @ w + b, each (B, H)
i = sigmoid(zi + wci * cs_prev)
f = sigmoid(zf + wcf * cs_prev)
ci = tanh(zc)
cs = i * ci + f * cs_prev
o = sigmoid(zo + wco * cs)                  (the output gate looks at the new cs)
co = tanh(cs)
h = o * co

x (B, I)    cs_prev, h_prev, i, cs, f, o, ci, co (B, H)    w (I+H, 4H)    wci, wcf, wco (H,)    b (4H,)
"""

import numpy as np  # noqa: F401


def peephole_cell_backward(x, cs_prev, h_prev, w, wci, wcf, wco, i, cs, f, o, ci, co, dcs, dh):
    """dcs and dh (B, H) are the gradients that reach cs and h from outside.

    Return dx (B, I), dcs_prev (B, H), dh_prev (B, H), dw (I+H, 4H), dwci (H,), dwcf (H,), dwco (H,), db (4H,).
    """
    raise NotImplementedError("ex08")
