"""ex45  A long memory, judged by the reach of its gradient.

The highway of a cell is c[t] = f[t] * c[t-1] + ..., with f = sigmoid(z). Only this straight path counts here. With the
paths through h, the gradient of an untrained network shrinks more slowly (chapter 5).

    reach[t]   the share of the gradient of c[T-1] that arrives at c[t] on this path; reach[T-1] is 1
    bias       for each unit a bias so that, with z = bias in every step, this path keeps half of the gradient over
               steps[j] steps (not necessarily a whole number)
"""

import numpy as np  # noqa: F401


def long_memory(z, steps):
    """z (T, B, H), steps (H,). Return reach (T, B, H), bias (H,)."""
    raise NotImplementedError("ex45")
