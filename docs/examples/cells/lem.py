"""LEM, the long expressive memory: each unit learns its two time scales from the input. Rusch et al. 2022."""

from minirnn import cell, product, sigmoid, tanh


@cell(states=("c", "h"))
def lem(z_1, z_2, z_c, x_h, c, h, *, dt=1.0):
    d1, d2 = dt * sigmoid(z_1), dt * sigmoid(z_2)
    n = tanh(z_c)
    c = (1 - d1) * c + d1 * n
    k = tanh(x_h + product(c))
    h = (1 - d2) * h + d2 * k
    return c, h
