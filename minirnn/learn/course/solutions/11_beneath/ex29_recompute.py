import numpy as np


def recompute_backward(T, budget, size, start, step, back, free):
    # Keep n states with n steps between them, and the states of one segment: about 2n states for n * n steps.
    n = int(np.ceil(np.sqrt(T)))
    kept = [start()]
    for first in range(0, T - n, n):  # all segments but the last
        state = kept[-1]
        for t in range(first, first + n):
            new = step(t, state)
            if t > first:
                free(state)
            state = new
        kept.append(state)
    # Backward: compute a segment's states again from its first one, use them, and give them back.
    dh = None
    while kept:
        first = n * (len(kept) - 1)
        states = [kept.pop()]
        for t in range(first, min(first + n, T) - 1):
            states.append(step(t, states[-1]))
        while states:
            dh = back(first + len(states) - 1, states[-1], dh)
            free(states.pop())
    return dh
