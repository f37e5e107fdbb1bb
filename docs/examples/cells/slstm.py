"""sLSTM of xLSTM, with an exponential input gate: Beck et al. 2024. m keeps it in range, and h does not depend on m."""

from minirnn import cell, exp, maximum, sigmoid, softplus, tanh, where


@cell(states=("c", "n", "m", "h"))
def slstm(z_i, z_f, z_z, z_o, c, n, m, h):
    kept = m - softplus(-z_f)  # m + log(sigmoid(z_f))
    m = where(n > 0, maximum(kept, z_i), z_i)
    i, f = exp(z_i - m), exp(kept - m)
    z, o = tanh(z_z), sigmoid(z_o)
    c = f * c + i * z
    n = f * n + i
    h = o * c / n
    return c, n, m, h
