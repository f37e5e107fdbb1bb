"""LSTM: Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000."""

from minirnn import cell, sigmoid, tanh


@cell(states=("c", "h"))
def lstm(z_i, z_f, z_n, z_o, c, h):
    i, f, n, o = sigmoid(z_i), sigmoid(z_f), tanh(z_n), sigmoid(z_o)
    c = f * c + i * n
    h = o * tanh(c)
    return c, h
