"""mLSTM of xLSTM, an LSTM whose cell is a matrix: Beck et al. 2024. m keeps the exponential gates in range."""

from minirnn import cell, dot, exp, maximum, sigmoid, softplus


@cell(states=("C", "n", "m"), output="h", keys=16)
def mlstm(x_v, k_k, k_q, s_i, s_f, x_o, C, n, m):
    kept = m - softplus(-s_f)  # m + log(sigmoid(s_f))
    m = maximum(kept, s_i)
    i = exp(s_i - m)
    f = exp(kept - m)
    C = f * C + i * x_v * k_k
    n = f * n + i * k_k
    h = sigmoid(x_o) * dot(C, k_q) / maximum(abs(dot(n, k_q)), exp(-m))
    return C, n, m, h
