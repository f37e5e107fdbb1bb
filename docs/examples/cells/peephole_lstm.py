"""LSTM whose gates see the cell's state: Gers and Schmidhuber 2000."""

from minirnn import cell, sigmoid, tanh


@cell(states=("c", "h"))
def peephole_lstm(z_i, z_n, z_f, z_o, c, h, *, wci, wcf, wco):
    i = sigmoid(z_i + wci * c)
    f = sigmoid(z_f + wcf * c)
    n = tanh(z_n)
    c = f * c + i * n
    o = sigmoid(z_o + wco * c)
    h = o * tanh(c)
    return c, h
