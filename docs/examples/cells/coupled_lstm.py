"""LSTM that writes what it forgets, the CIFG of Greff et al. 2017."""

from minirnn import cell, sigmoid, tanh


@cell(states=("c", "h"))
def coupled_lstm(z_f, z_n, z_o, c, h):
    f, n, o = sigmoid(z_f), tanh(z_n), sigmoid(z_o)
    c = f * c + (1 - f) * n
    h = o * tanh(c)
    return c, h
