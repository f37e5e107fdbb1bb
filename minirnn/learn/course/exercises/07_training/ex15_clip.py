"""ex15  Clipping gradients by their common norm.

The norm is the square root of the sum of the squares of all numbers in all gradients. If it is larger than max_norm,
every gradient is multiplied by max_norm / norm; otherwise all stay as they are.
"""

import numpy as np  # noqa: F401


def clip_by_global_norm(gradients, max_norm):
    """gradients is a list of arrays. Return the list of clipped gradients, and their norm before clipping."""
    raise NotImplementedError("ex15")
