"""minGRU, whose gates see x alone: Feng et al. 2024. n is positive, so the authors can compute in logarithms."""

from minirnn import cell, sigmoid, where


@cell(states=("h",))
def mingru(x_z, x_n, h):
    z = sigmoid(x_z)
    n = where(x_n >= 0, x_n + 0.5, sigmoid(x_n))
    h = (1 - z) * h + z * n
    return h
