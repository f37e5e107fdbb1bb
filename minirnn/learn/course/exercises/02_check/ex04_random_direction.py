"""ex04  Checking a whole gradient with two calls of f.

Moving x by a small step along the direction v changes f(x) by the sum of gradient * v times that step. So if the slope
of f along a random v is that sum, the whole gradient is right, unless you had bad luck. Return both:

    slope of f along v, by a central difference over x + eps*v and x - eps*v          (v is not normalized)
    slope of f along v, by the gradient
"""

import numpy as np  # noqa: F401


def slopes(f, gradient, x, v, eps):
    """Return the two slopes, by_difference and by_gradient. gradient, x and v have the same shape."""
    raise NotImplementedError("ex04")
