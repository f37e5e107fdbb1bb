"""ex14  The same LSTM with its weights in another order.

torch.nn.LSTMCell computes, with rows of the weights in the order i, f, g, o (four blocks of H rows):

    z = x @ weight_ih.T + bias_ih + h_prev @ weight_hh.T + bias_hh

LSTMBlockCell (ex07) computes, with columns in the order i, ci, f, o, where ci is what torch calls g:

    z = [x, h_prev] @ w + b

    weight_ih (4H, I)    weight_hh (4H, H)    bias_ih, bias_hh (4H,)
"""

import numpy as np  # noqa: F401


def torch_to_block_cell(weight_ih, weight_hh, bias_ih, bias_hh):
    """Return w (I+H, 4H) and b (4H,) that give the same LSTM."""
    raise NotImplementedError("ex14")
