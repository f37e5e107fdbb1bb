"""IndRNN, whose units see only themselves, through a vector in place of R: Li et al. 2018."""

from minirnn import cell, relu


@cell(states=("h",))
def indrnn(x_a, h, *, u):
    h = relu(x_a + u * h)
    return h
