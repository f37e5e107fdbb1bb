"""Mistakes in NumPy as people make them, from ex09 on. What a row is: `cells`."""

MISTAKES = []


def mistake(exercise, what, says, *changes):
    MISTAKES.append((exercise, what, says, changes))


# deeplearning4j 8838 (last cell state), CaptainE issue 1 (dh_next and dc_next are never handed on).
mistake("ex09", "dc not handed on", "dcs_next: the term dcs * f[t] is missing", ("        dcn = dc * f[t]\n", ""))
mistake(
    "ex09",
    "dcn added after the gates",
    "dzc, dzi, dzf: they use dcs without its term dcs_next",
    ("dc = dcn + g * o[t] * (1 - co[t] ** 2)", "dc = g * o[t] * (1 - co[t] ** 2)"),
    ("dcn = dc * f[t]", "dcn = (dcn + dc) * f[t]"),
)
mistake(
    "ex09",
    "f of the next step",
    "dcs_next: f[t + 1] stands where f[t] belongs: it is taken from the wrong",
    ("dcn = dc * f[t]", "dcn = dc * f[min(t + 1, T - 1)]"),
)
mistake("ex09", "cs[t] for cs[t-1]", "dzf: cs_prev is taken from the wrong step", ("dc * cells[t]", "dc * cs[t]"))
mistake("ex09", "h[t] in dw", "dw: h_prev is taken from the wrong step", ("[x[t], hs[t]]", "[x[t], h[t]]"))
mistake(
    "ex09",
    "dw of the last step only",
    "dw: only the last contribution is kept: = where += belongs (dw)",
    ("dw += ", "dw = "),
)
mistake(
    "ex09",
    "forward in time",
    "the loop goes from the first to the last of the steps; gradients flow from",
    ("range(T - 1, -1, -1)", "range(T)"),
)
mistake(
    "ex09",
    "dh and dc exchanged at return",
    "dcs0 and dh0 are exchanged in what is returned",
    ("return dx, dcn, dhn", "return dx, dhn, dcn"),
)
mistake(
    "ex09",
    "dc carried without the part from h",
    "dcs_next: the term dcs * f[t] is missing",
    ("dcn = dc * f[t]", "dcn = dcn * f[t]"),
)
mistake(
    "ex09",
    "slope of tanh at the candidate's place missing",
    "dzc: the factor (1 - ci[t] * ci[t]) is missing",
    ("dg * (1 - ci[t] ** 2)", "dg"),
)
mistake(
    "ex09",
    "order i f g o",
    "dz: the order is dzi, dzf, dzc, dzo; expected dzi, dzc, dzf, dzo",
    (
        "da = np.hstack([di * i[t] * (1 - i[t]), dg * (1 - ci[t] ** 2), df * f[t] * (1 - f[t]),",
        "da = np.hstack([di * i[t] * (1 - i[t]), df * f[t] * (1 - f[t]), dg * (1 - ci[t] ** 2),",
    ),
)

# GRU notebooks: h = (1-z) h_prev + z c against z h_prev + (1-z) c; r * h_prev forgotten.
mistake("ex10", "h_prev for r * h_prev", "d_w_c: the factor r is missing", ("[x, r * h_prev]", "[x, h_prev]"))
mistake(
    "ex10",
    "sign of du",
    "d_u_bar: the sign of d_h * (h_prev - c) * u * (1 - u) is wrong",
    ("(h_prev - c)", "(c - h_prev)"),
)
mistake(
    "ex10",
    "other convention",
    "this is the other convention of u: u and 1 - u are exchanged, and the sign",
    (
        "(1 - u)\n    du = d_h * (h_prev - c)\n    dh_prev = d_h * u",
        "u\n    du = d_h * (c - h_prev)\n    dh_prev = d_h * (1 - u)",
    ),
)
mistake(
    "ex10",
    "sigmoid slope for the candidate",
    "d_c_bar: the slope of the sigmoid, c * (1 - c), stands for that of tanh, 1",
    ("dc * (1 - c ** 2)", "dc * c * (1 - c)"),
)
mistake(
    "ex10",
    "u, r instead of r, u",
    "d_ru_bar: the order is d_u_bar, d_r_bar; expected d_r_bar, d_u_bar",
    ("[ar, au]", "[au, ar]"),
)
mistake("ex10", "dr with r", "d_r_bar: r stands where h_prev belongs", ("dr = drh * h_prev", "dr = drh * r"))
mistake("ex10", "drh without r", "d_h_prev: the factor r is missing", ("dh_prev + drh * r", "dh_prev + drh"))
mistake(
    "ex10", "direct path forgotten", "d_h_prev: the term d_h * u is missing", ("dh_prev = d_h * u\n", "dh_prev = 0\n")
)
mistake(
    "ex10",
    "halves of back_c taken from w_ru's",
    "d_h_prev: the term p2[:, I:] * r is multiplied by u as well, which belongs",
    ("drh = back_c[:, n:]", "drh = back_c[:, -n:] if n == len(r[0]) else back_c[:, n:] * u"),
)
mistake("ex11", "dq without r", "dq: the factor r is missing", ("dq = an * r", "dq = an"))
mistake("ex11", "dr with h_prev", "da_r: h_prev stands where q belongs", ("dr = an * q", "dr = an * h_prev"))
mistake(
    "ex11",
    "reset before convention: r in W's part",
    "da: dq stands where da_n belongs",
    ("a1 = np.hstack([ar, az, an])", "a1 = np.hstack([ar, az, dq])"),
)
mistake(
    "ex11",
    "one bias gradient for both",
    "dbR: da stands where da2 belongs",
    ("a1.sum(axis=0), a2.sum(axis=0)", "a1.sum(axis=0), a1.sum(axis=0)"),
)
mistake("ex11", "1 - z forgotten", "da_n: the factor (1 - z) is missing", ("dn = dh * (1 - z)", "dn = dh"))
mistake(
    "ex11",
    "z, r, n",
    "da: the order is da_z, da_r, da_n; expected da_r, da_z, da_n; da2: the",
    ("[ar, az, an]", "[az, ar, an]"),
    ("[ar, az, dq]", "[az, ar, dq]"),
)
mistake(
    "ex11",
    "n's slope from q",
    "da_n: the slope is that of q, 1 - q * q: it must be that of n, 1 - n * n",
    ("(1 - n ** 2)", "(1 - q ** 2)"),
)

# pytorch 517, keras 4192: masks and padding.
mistake(
    "ex12",
    "carry lost at padding",
    "dh_next: the term (1 - m) * dh_t is missing",
    ("np.where(alive, da @ R.T, g)", "da @ R.T"),
)
mistake("ex12", "t > lengths", "m: t > lengths stands where t < lengths belongs", ("t < lengths", "t > lengths"))
mistake(
    "ex12",
    "lengths counted from 0",
    "m: off by one: t < lengths - 1 stands where t < lengths belongs",
    ("t < lengths", "t < lengths - 1"),
)
mistake("ex12", "dh_n ignored", "dh_next: the term dh_n is missing", ("g = dh_n\n", "g = np.zeros_like(h0)\n"))
mistake(
    "ex12", "dy of padding counts", "", ("(dy[t] + g) * (1 - h[t] ** 2), 0)", "(dy[t] + g) * (1 - h[t] ** 2), dy[t])")
)
mistake(
    "ex12",
    "dh_n added at every step",
    "da: the term m * dh_n * (1 - h[t] * h[t]) is added, which does not belong",
    ("(dy[t] + g)", "(dy[t] + g + dh_n)"),
)
mistake(
    "ex12",
    "h[t - 1] at t = 0",
    "h_prev: at the first step the index t - 1 is -1, and h[t - 1] is the last",
    ("h[t - 1] if t else h0", "h[t - 1]"),
)

# stanfordmlgroup/nlc issue 8 (the backward RNN's input is not reversed), keras 1282.
mistake("ex13", "h[1] not reversed", "h of the second direction goes in unreversed", ("np.flip(h[1], 0)", "h[1]"))
mistake("ex13", "x not reversed", "x of the second direction goes in unreversed", ("np.flip(x, 0), start", "x, start"))
mistake(
    "ex13",
    "reversed along the batch",
    "dx: another axis than the first is reversed: two[0][::-1]",
    ("np.flip(bw[0], 0)", "np.flip(bw[0], 1)"),
)
mistake(
    "ex13",
    "weights of direction 0 twice",
    "two: W[0] stands where W[1] belongs; two: R[0] stands where R[1] belongs",
    ("W[1], R[1]", "W[0], R[0]"),
)
mistake(
    "ex13",
    "h0 from the states",
    "h0: it is h[0, 0], but must be zero",
    ("start = np.zeros((x.shape[1], H))", "start = h[0, 0]"),
)
mistake(
    "ex13",
    "directions stacked the other way round",
    "dW: the order is two[2], one[2]; expected one[2], two[2]",
    ("np.array([fw[2], bw[2]])", "np.array([bw[2], fw[2]])"),
)
mistake(
    "ex13",
    "dW added",
    "dW: the parts one[2], two[2] are added; they belong side by side",
    ("np.array([fw[2], bw[2]])", "np.array([fw[2] + bw[2]] * 2)"),
)

# apple/coremltools 93, tensorflow 29308, keras 8720: orders of gates.
mistake(
    "ex14",
    "i f o g",
    "w: in the rows of x the gates come in the order i, f, o, ci; expected i,",
    ("np.r_[0:H, 2 * H:3 * H, H:2 * H, 3 * H:4 * H]", "np.r_[0:H, H:2 * H, 3 * H:4 * H, 2 * H:3 * H]"),
)
mistake(
    "ex14",
    "bias not reordered",
    "b: the order is i, f, g, o; expected i, g, f, o",
    ("(bias_ih + bias_hh)[order]", "bias_ih + bias_hh"),
)
mistake(
    "ex14", "biases averaged", "b: it is half of what is expected", ("(bias_ih + bias_hh)", "0.5 * (bias_ih + bias_hh)")
)
mistake("ex14", "only bias_hh", "i, f, g, o: the term bias_ih is missing", ("(bias_ih + bias_hh)", "bias_hh"))
mistake(
    "ex14",
    "h rows first",
    "the rows of h_prev come before those of x",
    ("[weight_ih[order].T, weight_hh[order].T]", "[weight_hh[order].T, weight_ih[order].T]"),
)
mistake(
    "ex14",
    "reshape for transpose",
    "w: in the rows of h_prev the numbers are reshaped where they must be",
    ("weight_hh[order].T", "weight_hh[order].reshape(H, -1)"),
)
mistake(
    "ex14",
    "weight_ih not reordered",
    "w: in the rows of x the gates come in the order i, f, ci, o; expected i,",
    ("weight_ih[order].T", "weight_ih.T"),
)

# entrenar 311, mxnet 9291, transformers 614, keras 13575: clipping.
mistake(
    "ex15",
    "no root",
    "norm: the square root is missing: np.sqrt(sum((np.sum(g * g) for g in",
    ("np.sqrt(total)", "total"),
)
mistake("ex15", "no square", "norm: abs(g) stands where its square belongs", ("np.sum(g ** 2)", "np.sum(np.abs(g))"))
mistake(
    "ex15",
    "norm of the last gradient",
    "norm: only the last of the terms counts, not their sum: sum((np.sum(g * g)",
    ("total += ", "total = "),
)
mistake(
    "ex15",
    "divided by the norm, not by norm / max_norm",
    "scale: the factor max_norm is missing",
    ("max_norm / norm if", "1 / norm if"),
)
mistake(
    "ex15",
    "returns the clipped norm",
    "norm: the term norm is multiplied by scale, which does not belong there",
    ("return [scale * g for g in gradients], norm", "return [scale * g for g in gradients], norm * scale"),
)
mistake(
    "ex15",
    "the comparison turned over",
    "scale: max stands where min belongs: min(1.0, max_norm / norm)",
    ("norm > max_norm", "norm < max_norm"),
)
mistake(
    "ex15",
    "scale turned over",
    "clipped: scale divides, but should multiply",
    ("max_norm / norm if", "norm / max_norm if"),
)

# nanochat 304, tensorflow 9047 and 35102, keras 17391, npfl114 79, convnetjs 107: Adam.
mistake("ex16", "eps inside", "eps is added outside of the square root", ("(np.sqrt(vt) + eps)", "np.sqrt(vt + eps)"))
mistake(
    "ex16",
    "eps before the correction",
    "parameter: eps is added before the division by 1 - beta2 ** step, so it is",
    ("lr * mt / (np.sqrt(vt) + eps)", "lr * mt * np.sqrt(1 - beta2 ** step) / (np.sqrt(v) + eps)"),
)
mistake(
    "ex16",
    "1 - beta2 squared, not to the step",
    "v_hat: the power is 2, not step: beta2 ** step",
    ("beta2 ** step", "beta2 ** 2"),
)
mistake("ex16", "gradient not squared", "v: the factor gradient is missing", ("gradient ** 2", "gradient"))
mistake(
    "ex16",
    "ascent",
    "parameter: the sign of lr * m_hat / (np.sqrt(v_hat) + eps) is wrong",
    ("parameter - lr", "parameter + lr"),
)
mistake(
    "ex16",
    "beta1 and beta2 exchanged",
    "beta1 and beta2 are exchanged on every line",
    ("beta1", "beta_"),
    ("beta2", "beta1"),
    ("beta_", "beta2"),
)
mistake("ex16", "v from m", "v: m stands where gradient belongs, at every place", ("gradient ** 2", "m ** 2"))
mistake(
    "ex16",
    "step counted from 0",
    "step - 1 stands where step belongs, on every line",
    ("beta1 ** step", "beta1 ** (step - 1)"),
    ("beta2 ** step", "beta2 ** (step - 1)"),
)
mistake(
    "ex16",
    "corrections of m and v exchanged",
    "m_hat, v_hat: beta1 and beta2 are exchanged: beta2 stands in m_hat, beta1",
    ("m / (1 - beta1 ** step)", "m / (1 - beta2 ** step)"),
    ("vt = v / (1 - beta2 ** step)", "vt = v / (1 - beta1 ** step)"),
)
mistake("ex16", "only m corrected", "v_hat: the factor 1 - beta2 ** step is missing", ("np.sqrt(vt)", "np.sqrt(v)"))
