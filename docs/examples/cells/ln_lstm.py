"""LSTM with layer normalization, over all four gates at once: Ba et al. 2016. Gains gx_.., gh_.., g_c begin at 1."""

from minirnn import cell, sigmoid, sqrt, tanh, unit_mean


@cell(states=("c", "h"))
def ln_lstm(
    x_i, x_f, x_n, x_o, h_i, h_f, h_n, h_o, c, h,
    *, gx_i, gx_f, gx_n, gx_o, gh_i, gh_f, gh_n, gh_o, b_i, b_f, b_n, b_o, g_c, b_c, eps=1e-5,
):  # fmt: skip
    m_x = unit_mean(x_i + x_f + x_n + x_o) / 4
    u_i, u_f, u_n, u_o = x_i - m_x, x_f - m_x, x_n - m_x, x_o - m_x
    s_x = sqrt(unit_mean(u_i**2 + u_f**2 + u_n**2 + u_o**2) / 4 + eps)
    m_h = unit_mean(h_i + h_f + h_n + h_o) / 4
    w_i, w_f, w_n, w_o = h_i - m_h, h_f - m_h, h_n - m_h, h_o - m_h
    s_h = sqrt(unit_mean(w_i**2 + w_f**2 + w_n**2 + w_o**2) / 4 + eps)
    i = sigmoid(gx_i * u_i / s_x + gh_i * w_i / s_h + b_i)
    f = sigmoid(gx_f * u_f / s_x + gh_f * w_f / s_h + b_f)
    n = tanh(gx_n * u_n / s_x + gh_n * w_n / s_h + b_n)
    o = sigmoid(gx_o * u_o / s_x + gh_o * w_o / s_h + b_o)
    c = f * c + i * n
    d = c - unit_mean(c)
    h = o * tanh(g_c * d / sqrt(unit_mean(d**2) + eps) + b_c)
    return c, h
