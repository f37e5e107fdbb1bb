"""ex36  One step of RMSprop with momentum.

v = alpha * v + (1 - alpha) * gradient**2                        a running mean of the gradient's square
buffer = momentum * buffer + gradient / (sqrt(v) + eps)          like a ball that rolls: it keeps its direction
parameter = parameter - lr * buffer

parameter, gradient, v and buffer are arrays of one shape. Use all three lines exactly as they are. Some books put
eps or lr elsewhere, which trains differently.
"""

import numpy as np  # noqa: F401


def rmsprop_step(parameter, gradient, v, buffer, lr, alpha, eps, momentum):
    """Return the new parameter, v and buffer. The arrays you get cannot be written to: make new ones."""
    raise NotImplementedError("ex36")
