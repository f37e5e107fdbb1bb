"""ex16  One step of Adam (Kingma and Ba, 2015, algorithm 1).

m = beta1 * m + (1 - beta1) * gradient                      a running mean of the gradient
v = beta2 * v + (1 - beta2) * gradient**2                   a running mean of its square
m_hat = m / (1 - beta1**step)                               m and v started at zero; this makes up for it
v_hat = v / (1 - beta2**step)
parameter = parameter - lr * m_hat / (sqrt(v_hat) + eps)

parameter, gradient, m and v are arrays of one shape; step counts from 1.
"""

import numpy as np  # noqa: F401


def adam_step(parameter, gradient, m, v, step, lr, beta1, beta2, eps):
    """Return the new parameter, m and v. The arrays you get cannot be written to: make new ones."""
    raise NotImplementedError("ex16")
