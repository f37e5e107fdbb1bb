"""ex43  A cell of your own, backward.

One gate k decides how much of c a unit keeps, and it writes the rest (tutorial 17):

k = sigmoid(z_k + slow)
n = tanh(z_n)
c = k * c_prev + (1 - k) * n
o = sigmoid(z_o)
h = o * tanh_c, tanh_c = tanh(c)

z_k, z_n, z_o, c_prev, k, n, o, tanh_c (B, H)    slow (H,)

In tutorial 17 the same lines, below `@patient.backward`, are compared with the gradients that minirnn derives.
"""

import numpy as np  # noqa: F401


def patient_cell_backward(c_prev, slow, k, n, o, tanh_c, c_grad, dh):
    """c_grad and dh (B, H) are the gradients that reach c and h from outside.

    Return dz_k, dz_n, dz_o, dc_prev (B, H), dslow (H,).
    """
    raise NotImplementedError("ex43")
