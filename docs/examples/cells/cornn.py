"""coRNN, units that oscillate: h is where they are, v how fast they move. Rusch and Mishra 2021."""

from minirnn import cell, product, tanh


@cell(states=("v", "h"))
def cornn(z_a, v, h, *, dt=0.1, gamma=1.0, eps=0.5):
    a = tanh(z_a + product(v))
    v = v + dt * (a - gamma * h - eps * v)
    h = h + dt * v
    return v, h
