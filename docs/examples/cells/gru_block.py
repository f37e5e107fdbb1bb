"""GRU as TensorFlow's GRUBlockCell computes it, r acting before the product: Cho et al. 2014."""

from minirnn import cell, product, sigmoid, tanh


@cell(states=("h",))
def gru_block(z_r, z_u, x_c, h):
    r, u = sigmoid(z_r), sigmoid(z_u)
    rh = r * h
    c = tanh(x_c + product(rh))
    h = u * h + (1 - u) * c
    return h
