"""Mistakes in NumPy as people make them: seen in forums and issue threads, written anew.

A row is the exercise, what is wrong, what must be said about it (all the words, in any order), and replacements in the
right answer. The comment before rows says where the pattern was seen.
"""

MISTAKES = []


def mistake(exercise, what, says, *changes):
    MISTAKES.append((exercise, what, says, changes))


# Sums over the batch: micrograd clones with arrays, questions about broadcasting and unbroadcast.
mistake("ex01", "mean instead of sum in db", "", ("np.sum(dy, axis=0)", "np.mean(dy, axis=0)"))
mistake("ex01", "factor x forgotten in dw", "", ("np.sum(x * dy, axis=0)", "np.sum(dy, axis=0)"))
mistake("ex01", "x and w exchanged", "", ("w * dy", "x * dy"))
mistake("ex01", "one number for all of db", "", ("np.sum(dy, axis=0)", "np.sum(dy) * np.ones_like(w)"))
mistake("ex01", "gradients only of the first sample", "", ("np.sum(x * dy, axis=0)", "(x * dy)[0]"))
mistake("ex01", "dw and db exchanged at return", "", ("return dx, dw, db", "return dx, db, dw"))
mistake("ex01", "forward value added", "", ("w * dy", "w * dy + x"))

# karpathy/micrograd issues 21, 68, 96: += and the order of the tape; nn-zero-to-hero 52: data of the input or output.
mistake(
    "ex02",
    "own value instead of the other factor's",
    "",
    ("values[inputs[1]] * grad[out]", "values[inputs[0]] * grad[out]"),
)
mistake(
    "ex02",
    "only the first factor gets a gradient",
    "",
    ("            grad[inputs[1]] += values[inputs[0]] * grad[out]\n", ""),
)
mistake("ex02", "tanh with the input's value", "", ("y = values[out]", "y = values[inputs[0]]"))
mistake("ex02", "tanh of the output again", "", ("y = values[out]", "import math; y = math.tanh(values[out])"))
mistake("ex02", "no seed", "", ("    grad[-1] = 1.0\n", ""))
mistake("ex02", "add overwrites", "", ("grad[k] += grad[out]", "grad[k] = grad[out]"))
mistake("ex02", "first operation skipped", "", ("tape[::-1]", "tape[:0:-1]"))
mistake("ex02", "sign of tanh's slope", "", ("(1 - y * y)", "(y * y - 1)"))

# Gradient checks in CS231n forums.
mistake("ex03", "divided by eps only", "", ("(2 * eps)", "eps"))
mistake("ex03", "value not restored", "", ("        z[k] = old\n        grad", "        grad"))
mistake("ex03", "precedence: / 2 * eps", "", ("/ (2 * eps)", "/ 2 * eps"))
mistake("ex03", "difference backwards", "", ("(up - down)", "(down - up)"))
mistake("ex03", "backward difference", "", ("z[k] = old + eps", "z[k] = old"), ("(2 * eps)", "eps"))
mistake("ex04", "dot with x instead of v", "", ("np.sum(gradient * v)", "np.sum(gradient * x)"))
mistake("ex04", "norm of the gradient", "", ("np.sum(gradient * v)", "np.sqrt(np.sum(gradient ** 2))"))
mistake("ex04", "mean instead of sum", "", ("np.sum(gradient * v)", "np.mean(gradient * v)"))
mistake("ex04", "v forgotten in the step", "", ("x + eps * v", "x + eps"), ("x - eps * v", "x - eps"))
mistake("ex04", "one-sided, divided by 2 eps", "", ("f(x - eps * v)", "f(x)"))
mistake(
    "ex04",
    "the two exchanged at return",
    "",
    ("return (up - down) / (2 * eps), np.sum(gradient * v)", "return np.sum(gradient * v), (up - down) / (2 * eps)"),
)

# oreilly-japan/deep-learning-from-scratch-2 issue 26: the slope of tanh turned over; CS231n assignment 3.
mistake("ex05", "slope turned over", "", ("(1 - h ** 2) * dh", "dh / (1 - h ** 2)"))
mistake("ex05", "tanh of h again", "", ("(1 - h ** 2)", "(1 - np.tanh(h) ** 2)"))
mistake("ex05", "sigmoid's slope", "", ("(1 - h ** 2)", "h * (1 - h)"))
mistake("ex05", "square forgotten", "", ("(1 - h ** 2)", "(1 - h)"))
mistake("ex05", "square around all", "", ("(1 - h ** 2)", "(1 - h) ** 2"))
mistake("ex05", "R not transposed", "", ("np.dot(dtanh, R.T)", "np.dot(dtanh, R)"))
mistake("ex05", "reshape for transpose", "", ("np.dot(dtanh, W.T)", "np.dot(dtanh, W.reshape(W.shape[::-1]))"))
mistake("ex05", "db averaged", "", ("np.sum(dtanh, axis=0)", "np.mean(dtanh, axis=0)"))
mistake(
    "ex05",
    "weights from dh",
    "",
    ("np.dot(x.T, dtanh)", "np.dot(x.T, dh)"),
    ("np.dot(h_prev.T, dtanh)", "np.dot(h_prev.T, dh)"),
)
mistake("ex05", "dR transposed", "", ("np.dot(h_prev.T, dtanh)", "np.dot(dtanh.T, h_prev)"))

# Burton2000/CS231n-2017 issue 7, qixianbiao/RNN issue 2 (no gradient to the step before), Halfish/cs231n issue 4.
mistake("ex06", "steps forward", "", ("range(T - 1, -1, -1)", "range(T)"))
mistake("ex06", "stops before step 0", "", ("range(T - 1, -1, -1)", "range(T - 1, 0, -1)"))
mistake("ex06", "h0 for every step", "", ("h0 if t == 0 else h[t - 1]", "h0"))
mistake("ex06", "dR with h[t]", "", ("last.T @ draw", "h[t].T @ draw"))
mistake(
    "ex06", "slope only on what comes from outside", "", ("(1 - h[t] ** 2) * dnow", "(1 - h[t] ** 2) * dh[t] + dprev")
)
mistake("ex06", "carry accumulates", "", ("dprev = draw @ R.T", "dprev = dprev + draw @ R.T"))
mistake("ex06", "carry is da, not through R", "", ("dprev = draw @ R.T", "dprev = draw"))
mistake("ex06", "carry is dnow @ R.T", "", ("dprev = draw @ R.T", "dprev = dnow @ R.T"))
mistake("ex06", "dx written to t - 1", "", ("dx[t] = draw", "dx[t - 1] = draw"))
mistake(
    "ex06",
    "weights' gradients divided by T",
    "",
    ("    return dx, dprev, dW, dR, db", "    dW, dR, db = dW / T, dR / T, db / T\n    return dx, dprev, dW, dR, db"),
)
mistake("ex06", "dh0 not returned", "", ("return dx, dprev,", "return dx, np.zeros_like(h0),"))

# nicklashansen/rnn_lstm_from_scratch issue 1, CaptainE/RNN-LSTM-in-numpy issue 1, cthorey/CS231 issue 1, mxnet 4057.
mistake("ex07", "dcs overwritten, not added", "", ("dc = dcs + dh * o", "dc = dh * o"))
mistake("ex07", "tanh applied to co", "", ("(1 - co ** 2)", "(1 - np.tanh(co) ** 2)"))
mistake("ex07", "slope from cs, not tanh(cs)", "", ("(1 - co ** 2)", "(1 - cs ** 2)"))
mistake("ex07", "do with cs", "", ("do = dh * co", "do = dh * cs"))
mistake("ex07", "forget gate without slope", "", ("af = f * (1 - f) * df", "af = f * df"))
mistake("ex07", "o missing in dc", "", ("dh * o * (1 - co ** 2)", "dh * (1 - co ** 2)"))
mistake("ex07", "order i f g o", "", ("(ai, ag, af, ao)", "(ai, af, ag, ao)"))
mistake("ex07", "tanh's slope for the input gate", "", ("i * (1 - i) * di", "(1 - i ** 2) * di"))
mistake("ex07", "df with ci", "", ("df = dc * cs_prev", "df = dc * ci"))
mistake("ex07", "dcs_prev with dcs only", "", ("dcs_prev = dc * f", "dcs_prev = dcs * f"))
mistake("ex07", "dx and dh_prev cut the other way round", "", ("(x, h_prev)", "(h_prev, x)"))
mistake(
    "ex07",
    "all gates with sigmoid of the gate again",
    "",
    ("ai = i * (1 - i) * di", "s = 1 / (1 + np.exp(-i)); ai = s * (1 - s) * di"),
)
mistake(
    "ex07",
    "loss gradient averaged over the batch",
    "",
    ("    dw = np.dot(inputs.T, da)", "    dw = np.dot(inputs.T, da) / len(x)"),
)
mistake("ex08", "dcs_prev without the input gate's peephole", "", ("    dcs_prev = dcs_prev + ai * wci\n", ""))
mistake("ex08", "peepholes see cs for all gates", "", ("ai * cs_prev", "ai * cs"), ("af * cs_prev", "af * cs"))
mistake("ex08", "wci and wcf exchanged", "", ("ai * wci", "ai * wcf"), ("af * wcf", "af * wci"))
mistake("ex08", "no output peephole in dc", "", (" + ao * wco", ""))
mistake(
    "ex08",
    "all peepholes go to dc",
    "",
    ("    dcs_prev = dcs_prev + af * wcf\n", "    dcs_prev = dcs_prev + af * wcf + ao * wco\n"),
    (" + ao * wco\n    ai", "\n    ai"),
)
mistake("ex08", "sum over batch divided", "", ("np.sum(ao * cs, axis=0)", "np.mean(ao * cs, axis=0)"))
mistake("ex08", "sign of the peephole", "", ("+ ao * wco", "- ao * wco"))

# deeplearning4j 8838 (last cell state), CaptainE issue 1 (dh_next and dc_next are never handed on).
mistake("ex09", "dc not handed on", "", ("        dcn = dc * f[t]\n", ""))
mistake(
    "ex09",
    "dcn added after the gates",
    "",
    ("dc = dcn + g * o[t] * (1 - co[t] ** 2)", "dc = g * o[t] * (1 - co[t] ** 2)"),
    ("dcn = dc * f[t]", "dcn = (dcn + dc) * f[t]"),
)
mistake("ex09", "f of the next step", "", ("dcn = dc * f[t]", "dcn = dc * f[min(t + 1, T - 1)]"))
mistake("ex09", "cs[t] for cs[t-1]", "", ("dc * cells[t]", "dc * cs[t]"))
mistake("ex09", "h[t] in dw", "", ("[x[t], hs[t]]", "[x[t], h[t]]"))
mistake("ex09", "dw of the last step only", "", ("dw += ", "dw = "))
mistake("ex09", "forward in time", "", ("range(T - 1, -1, -1)", "range(T)"))
mistake("ex09", "dh and dc exchanged at return", "", ("return dx, dcn, dhn", "return dx, dhn, dcn"))
mistake("ex09", "dc carried without the part from h", "", ("dcn = dc * f[t]", "dcn = dcn * f[t]"))
mistake("ex09", "slope of tanh at the candidate's place missing", "", ("dg * (1 - ci[t] ** 2)", "dg"))
mistake(
    "ex09",
    "order i f g o",
    "",
    (
        "da = np.hstack([di * i[t] * (1 - i[t]), dg * (1 - ci[t] ** 2), df * f[t] * (1 - f[t]),",
        "da = np.hstack([di * i[t] * (1 - i[t]), df * f[t] * (1 - f[t]), dg * (1 - ci[t] ** 2),",
    ),
)

# GRU notebooks: h = (1-z) h_prev + z c against z h_prev + (1-z) c; r * h_prev forgotten.
mistake("ex10", "h_prev for r * h_prev", "", ("[x, r * h_prev]", "[x, h_prev]"))
mistake("ex10", "sign of du", "", ("(h_prev - c)", "(c - h_prev)"))
mistake(
    "ex10",
    "other convention",
    "",
    (
        "(1 - u)\n    du = d_h * (h_prev - c)\n    dh_prev = d_h * u",
        "u\n    du = d_h * (c - h_prev)\n    dh_prev = d_h * (1 - u)",
    ),
)
mistake("ex10", "sigmoid slope for the candidate", "", ("dc * (1 - c ** 2)", "dc * c * (1 - c)"))
mistake("ex10", "u, r instead of r, u", "", ("[ar, au]", "[au, ar]"))
mistake("ex10", "dr with r", "", ("dr = drh * h_prev", "dr = drh * r"))
mistake("ex10", "drh without r", "", ("dh_prev + drh * r", "dh_prev + drh"))
mistake("ex10", "direct path forgotten", "", ("dh_prev = d_h * u\n", "dh_prev = 0\n"))
mistake(
    "ex10",
    "halves of back_c taken from w_ru's",
    "",
    ("drh = back_c[:, n:]", "drh = back_c[:, -n:] if n == len(r[0]) else back_c[:, n:] * u"),
)
mistake("ex11", "dq without r", "", ("dq = an * r", "dq = an"))
mistake("ex11", "dr with h_prev", "", ("dr = an * q", "dr = an * h_prev"))
mistake(
    "ex11",
    "reset before convention: r in W's part",
    "",
    ("a1 = np.hstack([ar, az, an])", "a1 = np.hstack([ar, az, dq])"),
)
mistake("ex11", "one bias gradient for both", "", ("a1.sum(axis=0), a2.sum(axis=0)", "a1.sum(axis=0), a1.sum(axis=0)"))
mistake("ex11", "1 - z forgotten", "", ("dn = dh * (1 - z)", "dn = dh"))
mistake("ex11", "z, r, n", "", ("[ar, az, an]", "[az, ar, an]"), ("[ar, az, dq]", "[az, ar, dq]"))
mistake("ex11", "n's slope from q", "", ("(1 - n ** 2)", "(1 - q ** 2)"))

# pytorch 517, keras 4192: masks and padding.
mistake("ex12", "carry lost at padding", "", ("np.where(alive, da @ R.T, g)", "da @ R.T"))
mistake("ex12", "t > lengths", "", ("t < lengths", "t > lengths"))
mistake("ex12", "lengths counted from 0", "", ("t < lengths", "t < lengths - 1"))
mistake("ex12", "dh_n ignored", "", ("g = dh_n\n", "g = np.zeros_like(h0)\n"))
mistake(
    "ex12", "dy of padding counts", "", ("(dy[t] + g) * (1 - h[t] ** 2), 0)", "(dy[t] + g) * (1 - h[t] ** 2), dy[t])")
)
mistake("ex12", "dh_n added at every step", "", ("(dy[t] + g)", "(dy[t] + g + dh_n)"))
mistake("ex12", "h[t - 1] at t = 0", "", ("h[t - 1] if t else h0", "h[t - 1]"))

# stanfordmlgroup/nlc issue 8 (the backward RNN's input is not reversed), keras 1282.
mistake("ex13", "h[1] not reversed", "", ("np.flip(h[1], 0)", "h[1]"))
mistake("ex13", "x not reversed", "", ("np.flip(x, 0), start", "x, start"))
mistake("ex13", "reversed along the batch", "", ("np.flip(bw[0], 0)", "np.flip(bw[0], 1)"))
mistake("ex13", "weights of direction 0 twice", "", ("W[1], R[1]", "W[0], R[0]"))
mistake("ex13", "h0 from the states", "", ("start = np.zeros((x.shape[1], H))", "start = h[0, 0]"))
mistake("ex13", "directions stacked the other way round", "", ("np.array([fw[2], bw[2]])", "np.array([bw[2], fw[2]])"))
mistake("ex13", "dW added", "", ("np.array([fw[2], bw[2]])", "np.array([fw[2] + bw[2]] * 2)"))

# apple/coremltools 93, tensorflow 29308, keras 8720: orders of gates.
mistake(
    "ex14",
    "i f o g",
    "",
    ("np.r_[0:H, 2 * H:3 * H, H:2 * H, 3 * H:4 * H]", "np.r_[0:H, H:2 * H, 3 * H:4 * H, 2 * H:3 * H]"),
)
mistake("ex14", "bias not reordered", "", ("(bias_ih + bias_hh)[order]", "bias_ih + bias_hh"))
mistake("ex14", "biases averaged", "", ("(bias_ih + bias_hh)", "0.5 * (bias_ih + bias_hh)"))
mistake("ex14", "only bias_hh", "", ("(bias_ih + bias_hh)", "bias_hh"))
mistake(
    "ex14", "h rows first", "", ("[weight_ih[order].T, weight_hh[order].T]", "[weight_hh[order].T, weight_ih[order].T]")
)
mistake("ex14", "reshape for transpose", "", ("weight_hh[order].T", "weight_hh[order].reshape(H, -1)"))
mistake("ex14", "weight_ih not reordered", "", ("weight_ih[order].T", "weight_ih.T"))

# entrenar 311, mxnet 9291, transformers 614, keras 13575: clipping.
mistake("ex15", "no root", "", ("np.sqrt(total)", "total"))
mistake("ex15", "no square", "", ("np.sum(g ** 2)", "np.sum(np.abs(g))"))
mistake("ex15", "norm of the last gradient", "", ("total += ", "total = "))
mistake("ex15", "divided by the norm, not by norm / max_norm", "", ("max_norm / norm if", "1 / norm if"))
mistake(
    "ex15",
    "returns the clipped norm",
    "",
    ("return [scale * g for g in gradients], norm", "return [scale * g for g in gradients], norm * scale"),
)
mistake("ex15", "the comparison turned over", "", ("norm > max_norm", "norm < max_norm"))
mistake("ex15", "scale turned over", "", ("max_norm / norm if", "norm / max_norm if"))

# nanochat 304, tensorflow 9047 and 35102, keras 17391, npfl114 79, convnetjs 107: Adam.
mistake("ex16", "eps inside", "", ("(np.sqrt(vt) + eps)", "np.sqrt(vt + eps)"))
mistake(
    "ex16",
    "eps before the correction",
    "",
    ("lr * mt / (np.sqrt(vt) + eps)", "lr * mt * np.sqrt(1 - beta2 ** step) / (np.sqrt(v) + eps)"),
)
mistake("ex16", "1 - beta2 squared, not to the step", "", ("beta2 ** step", "beta2 ** 2"))
mistake("ex16", "gradient not squared", "", ("gradient ** 2", "gradient"))
mistake("ex16", "ascent", "", ("parameter - lr", "parameter + lr"))
mistake("ex16", "beta1 and beta2 exchanged", "", ("beta1", "beta_"), ("beta2", "beta1"), ("beta_", "beta2"))
mistake("ex16", "v from m", "", ("gradient ** 2", "m ** 2"))
mistake(
    "ex16",
    "step counted from 0",
    "",
    ("beta1 ** step", "beta1 ** (step - 1)"),
    ("beta2 ** step", "beta2 ** (step - 1)"),
)
mistake(
    "ex16",
    "corrections of m and v exchanged",
    "",
    ("m / (1 - beta1 ** step)", "m / (1 - beta2 ** step)"),
    ("vt = v / (1 - beta2 ** step)", "vt = v / (1 - beta1 ** step)"),
)
mistake("ex16", "only m corrected", "", ("np.sqrt(vt)", "np.sqrt(v)"))
