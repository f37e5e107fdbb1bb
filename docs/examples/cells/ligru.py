"""Li-GRU, a GRU without a reset gate, and with relu: Ravanelli et al. 2018, here without batch normalization."""

from minirnn import cell, relu, sigmoid


@cell(states=("h",))
def ligru(z_z, z_a, h):
    z, a = sigmoid(z_z), relu(z_a)
    h = z * h + (1 - z) * a
    return h
