"""GRU as cuDNN and torch compute it, r acting after the product with R: Cho et al. 2014."""

from minirnn import cell, sigmoid, tanh


@cell(states=("h",))
def gru(z_r, z_z, x_n, h_n, h):
    r, z = sigmoid(z_r), sigmoid(z_z)
    n = tanh(x_n + r * h_n)
    h = (1 - z) * n + z * h
    return h
