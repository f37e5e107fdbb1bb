"""ex23  Exponentials that do not overflow.

    s     = sigmoid(z)           = 1 / (1 + exp(-z))
    log_s = log(sigmoid(z))
    lse   = log(sum over each row of exp(a))

exp(800) is more than a float can hold, exp(-800) is zero, and log(0) is minus infinity. Yet log(sigmoid(-800)) is just
-800, and log(exp(1000) + exp(1000)) is 1000.69. Find formulas that never take exp of a large number.

    z (B, H)    a (B, H)
"""

import numpy as np  # noqa: F401


def stable(z, a):
    """Return s (B, H), log_s (B, H) and lse (B,), right for numbers of any size."""
    raise NotImplementedError("ex23")
