"""MGU, the minimal gated unit, whose one gate forgets and resets: Zhou et al. 2016."""

from minirnn import cell, product, sigmoid, tanh


@cell(states=("h",))
def mgu(z_f, x_n, h):
    f = sigmoid(z_f)
    fh = f * h
    n = tanh(x_n + product(fh))
    h = (1 - f) * h + f * n
    return h
