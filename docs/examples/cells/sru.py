"""SRU, the simple recurrent unit: no product in the loop, and x_s goes past the cell. Lei et al. 2018."""

from minirnn import cell, sigmoid


@cell(states=("c",), output="h")
def sru(x_f, x_r, x_n, x_s, c, *, vf, vr):
    f = sigmoid(x_f + vf * c)
    r = sigmoid(x_r + vr * c)
    c = f * c + (1 - f) * x_n
    h = r * c + (1 - r) * x_s
    return c, h
