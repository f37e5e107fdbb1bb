"""ex44  What does a step save for its way back?

n values of a step, real or invented, are numbered so that operands come first. You are told of each, by 1 or 0:

    there[v]        it needs no saving: a state before or after the step, or a learned vector
    cheap[v]        it is a sum, a product or a relu, which the way back may compute again
    read[v]         a line of the way back reads it
    operands[v, a]  it is computed from value a

A value is saved if the way back reads it, and if it can't be had otherwise: it is not there, and it is not a cheap
value whose operands can all be had. What was saved can also be had. Before you write the function, predict by hand what
an LSTM saves, and compare with lstm.saved() of the gallery's cell.
"""

import numpy as np  # noqa: F401


def what_is_saved(there, cheap, read, operands, T, B, H):
    """there, cheap, read (n,), operands (n, n). Every value has B * H numbers of float32 in each of T steps.

    Return saved (n,): 1 for what is saved, else 0; and how many bytes that is for all steps.
    """
    raise NotImplementedError("ex44")
