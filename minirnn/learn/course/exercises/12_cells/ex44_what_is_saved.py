"""ex44  What does a step save for its backward pass?

The n values of a step, real or invented, are numbered so that operands come first. For each value you get 1 or 0:

    there[v]        it needs no saving: a state before or after the step, or a learned vector
    cheap[v]        it is a sum, a product or a relu, which the backward pass may compute again
    read[v]         a line of the backward pass reads it
    operands[v, a]  it is computed from value a

A value is available if it is there, if it was saved, or if it is cheap and all its operands are available. A value that
the backward pass reads is saved if it is not available otherwise. Before you write the function, predict by hand what
an LSTM saves, and compare with lstm.saved() of the gallery's cell.
"""

import numpy as np  # noqa: F401


def what_is_saved(there, cheap, read, operands, T, B, H):
    """there, cheap, read (n,), operands (n, n). Every value has B * H numbers of float32 in each of T steps.

    Return saved (n,): 1 for what is saved, else 0; and how many bytes that is for all steps.
    """
    raise NotImplementedError("ex44")
