"""ex03  A gradient without any calculus.

f takes an array of the shape of x and returns a number. Its slope along one element is nearly

    (f(x with that element + eps) - f(x with that element - eps)) / (2 * eps)

with an error of order eps squared. x is read-only, so make a copy.
"""

import numpy as np  # noqa: F401


def numerical_gradient(f, x, eps):
    """Return the array of slopes, of the shape of x."""
    raise NotImplementedError("ex03")
