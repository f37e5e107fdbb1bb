"""ex35  Where training begins.

The weights of an LSTM (ex07's columns: i, ci, f, o), made of random numbers that you are given:

    W   input weights: uniform between -limit and limit, limit = sqrt(6 / (I + H))  (Glorot and Bengio, 2010),
        W[n, k] grows with uniform[n, k]
    R   recurrent weights: for each gate g an orthogonal matrix: q of the QR decomposition of normal[g], each column
        multiplied by the sign of its number on r's diagonal (Saxe et al., 2014). The four are side by side.
    b   zero, but 1 for the forget gate f (Jozefowicz et al., 2015)

An orthogonal matrix keeps the norm of every vector, so the gradient neither vanishes nor explodes in it.
"""

import numpy as np  # noqa: F401


def initialize(uniform, normal):
    """uniform (I, 4H) in [0, 1), normal (4, H, H). Return W (I, 4H), R (H, 4H), b (4H,)."""
    raise NotImplementedError("ex35")
