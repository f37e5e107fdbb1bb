"""ex29  Backward with little memory.

Going back through T steps needs the state before each of them, and there is no room for all. So keep a few, and compute
the others again when their turn comes. You never see the states themselves, only numbers that refer to them:

    s = start()                 the state before step 0
    s2 = step(t, s)             the state after step t, from the state s before it; both are kept then
    free(s)                     gives the memory of s back
    dh = back(t, s, dh)         goes back through step t: s is the state before it, dh what back(t+1, ...) returned,
                                and None at the last step, T-1; returns the gradient of s

Every state that is kept takes `size` bytes. Together they must never take more than `budget` bytes, which is room for
about 2 * sqrt(T) states. You may compute at most 2 * T steps.
"""

import numpy as np  # noqa: F401


def recompute_backward(T, budget, size, start, step, back, free):
    """Return what the last call of back returns: the gradient of the state before step 0."""
    raise NotImplementedError("ex29")
