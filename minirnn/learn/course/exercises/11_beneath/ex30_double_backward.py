"""ex30  The backward pass of a backward pass.

Forward and backward of a tanh RNN cell (ex05), written as one forward pass that ends in a number:

    h  = tanh(x @ W + h_prev @ R + b)
    da = dh * (1 - h * h)
    dx = da @ W.T
    L  = sum(v * dx)                    the loss; gradient penalties and Hessian-vector products begin like this

    x, v, dx (B, I)    h_prev, h, da, dh (B, H)    W (I, H)    R (H, H)    b (H,)

Now go back through all four lines. dh is an input like the others. h is used in the second line and was made by the
first; W is used in two lines.
"""

import numpy as np  # noqa: F401


def rnn_cell_double_backward(x, h_prev, W, R, h, dh, v):
    """Return the gradients of L: d_dh (B, H), d_x (B, I), d_h_prev (B, H), d_W (I, H), d_R (H, H), d_b (H,)."""
    raise NotImplementedError("ex30")
