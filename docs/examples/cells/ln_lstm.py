"""LSTM with layer normalization, over all four gates at once: Ba et al. 2016. Gains gx_.., gh_.., g_c begin at 1."""

from minirnn import cell, sigmoid, sqrt, tanh, unit_mean


@cell(states=("c", "h"))
def ln_lstm(
    x_i, x_f, x_n, x_o, h_i, h_f, h_n, h_o, c, h,
    *, gx_i, gx_f, gx_n, gx_o, gh_i, gh_f, gh_n, gh_o, b_i, b_f, b_n, b_o, g_c, b_c, eps=1e-5,
):  # fmt: skip
    mx = unit_mean(x_i + x_f + x_n + x_o) / 4
    xi, xf, xn, xo = x_i - mx, x_f - mx, x_n - mx, x_o - mx
    sx = sqrt(unit_mean(xi**2 + xf**2 + xn**2 + xo**2) / 4 + eps)
    mh = unit_mean(h_i + h_f + h_n + h_o) / 4
    hi, hf, hn, ho = h_i - mh, h_f - mh, h_n - mh, h_o - mh
    sh = sqrt(unit_mean(hi**2 + hf**2 + hn**2 + ho**2) / 4 + eps)
    i = sigmoid(gx_i * xi / sx + gh_i * hi / sh + b_i)
    f = sigmoid(gx_f * xf / sx + gh_f * hf / sh + b_f)
    n = tanh(gx_n * xn / sx + gh_n * hn / sh + b_n)
    o = sigmoid(gx_o * xo / sx + gh_o * ho / sh + b_o)
    c = f * c + i * n
    d = c - unit_mean(c)
    h = o * tanh(g_c * d / sqrt(unit_mean(d**2) + eps) + b_c)
    return c, h
