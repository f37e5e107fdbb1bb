"""sLSTM of xLSTM, with exponential gates: Beck et al. 2024. m keeps them in range, and h does not depend on it."""

from minirnn import cell, exp, maximum, sigmoid, tanh, where


@cell(states=("c", "n", "m", "h"))
def slstm(z_i, z_f, z_z, z_o, c, n, m, h):
    m_before, m = m, where(n > 0, maximum(z_f + m, z_i), z_i)
    i, f = exp(z_i - m), exp(z_f + m_before - m)
    z, o = tanh(z_z), sigmoid(z_o)
    c = f * c + i * z
    n = f * n + i
    h = o * c / n
    return c, n, m, h
