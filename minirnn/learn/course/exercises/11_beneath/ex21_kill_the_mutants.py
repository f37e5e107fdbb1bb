"""ex21  Write the test that finds every mistake.

You get an LSTM step and a backward pass for it, right or wrong:

    forward(x, cs_prev, h_prev, w, b) -> i, cs, f, o, ci, co, h
    backward(x, cs_prev, h_prev, w, i, cs, f, o, ci, co, dcs, dh) -> dx, dcs_prev, dh_prev, dw, db

    x (B, I)    cs_prev, h_prev and all outputs of forward (B, H)    w (I+H, 4H)    b (4H,)    dcs, dh (B, H)

Your function must raise AssertionError if backward is wrong, and return if it is right. It is tried on a right one and
on about a hundred wrong ones, in any order. In the wrong ones a term is missing, doubled, has the wrong sign or is off
in another way; samples or columns are in the wrong place; blocks of dw are exchanged or transposed; or numbers are off
by a thousandth. rng is a NumPy generator.
"""

import numpy as np  # noqa: F401


def check_backward(forward, backward, rng):
    """Raise AssertionError if backward is wrong."""
    raise NotImplementedError("ex21")
