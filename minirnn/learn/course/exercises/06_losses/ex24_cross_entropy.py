"""ex24  Softmax and cross-entropy, forward and backward.

    p[n, v] = exp(logits[n, v]) / sum over v of exp(logits[n, v])
    loss    = mean over n of -log(p[n, targets[n]])

    logits (N, V)    targets (N,) whole numbers below V

Go back through both together: their common gradient is simpler than that of either, and 1/p never appears in it. logits
may be large (ex23), but only their differences matter.
"""

import numpy as np  # noqa: F401


def cross_entropy_backward(logits, targets, dloss):
    """dloss is the gradient of the loss, a number. Return loss and dlogits (N, V)."""
    raise NotImplementedError("ex24")
