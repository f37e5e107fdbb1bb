"""ex33  cuDNN's one buffer for all weights.

cuDNN keeps the weights of a whole LSTM in one array. For two layers, one direction, it holds, one after the other:

    layer 0: W of the gates i, f, n, o, each (H, I); then R of the gates i, f, n, o, each (H, H)
    layer 1: W of the gates i, f, n, o, each (H, H); then R of the gates i, f, n, o, each (H, H)
    layer 0: bW of the four gates, then bR of the four gates, each (H,)
    layer 1: bW of the four gates, then bR of the four gates, each (H,)

All matrices come first, row by row (C order), and all biases after them. Four gates stacked on each other make a
matrix (G, I), with G = 4H.
"""

import numpy as np  # noqa: F401


def unpack(params, I, H):
    """Return W0 (G, I), R0 (G, H), W1 (G, H), R1 (G, H), and b0, b1 (2, G): the rows of each are bW and bR."""
    raise NotImplementedError("ex33")
