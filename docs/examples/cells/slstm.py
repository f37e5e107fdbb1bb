"""sLSTM of xLSTM, with exponential gates that m keeps in range: Beck et al. 2024."""

from minirnn import cell, exp, maximum, sigmoid, tanh


@cell(states=("c", "n", "m", "h"))
def slstm(z_i, z_f, z_z, z_o, c, n, m, h):
    m_before, m = m, maximum(z_f + m, z_i)
    i, f = exp(z_i - m), exp(z_f + m_before - m)
    z, o = tanh(z_z), sigmoid(z_o)
    c = f * c + i * z
    n = f * n + i
    h = o * c / maximum(n, 1)
    return c, n, m, h
