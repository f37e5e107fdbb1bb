"""ex26  Dropout for a recurrent network.

    mask[b, k] = 1 / (1 - rate)   where u[b, k] >= rate, else 0          u uniform in [0, 1)
    y[t] = x[t] * mask            the same mask for every t (variational dropout)

In evaluation (training is False) nothing is dropped: y is x.

    x, y (T, B, I)    u, mask (B, I)
"""

import numpy as np  # noqa: F401


def variational_dropout(x, u, rate, training, dy):
    """dy (T, B, I) is the gradient of y. Return y and dx, both (T, B, I)."""
    raise NotImplementedError("ex26")
