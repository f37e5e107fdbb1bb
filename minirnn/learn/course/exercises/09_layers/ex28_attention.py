"""ex28  Attention, backwards.

A decoder's state q looks back at T states of an encoder:

    score[b, t] = (sum over h of q[b, h] * k[b, t, h]) / sqrt(H)
    p[b]        = softmax of score[b]                             over t
    c[b]        = sum over t of p[b, t] * v[b, t]

    q (B, H)    k (B, T, H)    v (B, T, I)    score, p (B, T)    c (B, I)

The weights p of a sample sum to 1, so a score that grows makes all other weights smaller.
"""

import numpy as np  # noqa: F401


def attention_backward(q, k, v, p, dc):
    """dc (B, I) is the gradient of c. Return dq (B, H), dk (B, T, H), dv (B, T, I)."""
    raise NotImplementedError("ex28")
