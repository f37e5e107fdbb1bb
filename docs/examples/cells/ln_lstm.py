"""LSTM with layer normalization, over all four gates at once: Ba et al. 2016. Gains gx_.., gh_.., g_c begin at 1."""

from minirnn import cell, sigmoid, tanh, unit_norm


@cell(states=("c", "h"))
def ln_lstm(
    x_i, x_f, x_n, x_o, h_i, h_f, h_n, h_o, c, h,
    *, gx_i, gx_f, gx_n, gx_o, gh_i, gh_f, gh_n, gh_o, b_i, b_f, b_n, b_o, g_c, b_c, eps=1e-5,
):  # fmt: skip
    u_i, u_f, u_n, u_o = unit_norm(x_i, x_f, x_n, x_o, eps=eps)
    w_i, w_f, w_n, w_o = unit_norm(h_i, h_f, h_n, h_o, eps=eps)
    i = sigmoid(gx_i * u_i + gh_i * w_i + b_i)
    f = sigmoid(gx_f * u_f + gh_f * w_f + b_f)
    n = tanh(gx_n * u_n + gh_n * w_n + b_n)
    o = sigmoid(gx_o * u_o + gh_o * w_o + b_o)
    c = f * c + i * n
    h = o * tanh(g_c * unit_norm(c, eps=eps) + b_c)
    return c, h
