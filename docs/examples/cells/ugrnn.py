"""UGRNN, the update gate RNN: Collins et al. 2017."""

from minirnn import cell, sigmoid, tanh


@cell(states=("h",))
def ugrnn(z_g, z_c, h):
    g, c = sigmoid(z_g), tanh(z_c)
    h = g * h + (1 - g) * c
    return h
