"""ex22  Broadcasting, backwards.

    y = x + a + b + c + d           x, y (T, B, H)    a (H,)    b (B, 1)    c (T, 1, H)    d ()

Broadcasting copies the smaller arrays until they fit: d is added to every number of y, a[k] to all y[:, :, k].
A number that is used many times gets the sum of the gradients of its uses. So the gradient of y must be reduced to the
shape of each operand. Axes that broadcasting put in front disappear, and axes that it stretched from 1 stay.
"""

import numpy as np  # noqa: F401


def unbroadcast(dy, shapes):
    """dy (T, B, H). shapes is a list of four shapes: of a, b, c, d. Return a list: da, db, dc, dd, in these shapes."""
    raise NotImplementedError("ex22")
