"""Mistakes in NumPy as people make them: seen in forums and issue threads, written anew.

A row is the exercise, what is wrong, what must be said about it (all the words, in any order), and replacements in the
right answer. The comment before rows says where the pattern was seen.
"""

MISTAKES = []


def mistake(exercise, what, says, *changes):
    MISTAKES.append((exercise, what, says, changes))


# Sums over the batch: micrograd clones with arrays, questions about broadcasting and unbroadcast.
mistake(
    "ex01",
    "mean instead of sum in db",
    "db: the mean stands where the sum belongs: dy.sum(0)",
    ("np.sum(dy, axis=0)", "np.mean(dy, axis=0)"),
)
mistake(
    "ex01", "factor x forgotten in dw", "dw: the factor x is missing", ("np.sum(x * dy, axis=0)", "np.sum(dy, axis=0)")
)
mistake("ex01", "x and w exchanged", "dx: x stands where w belongs", ("w * dy", "x * dy"))
mistake(
    "ex01",
    "one number for all of db",
    "db: all is summed up, not along axis 0 alone: dy.sum(0)",
    ("np.sum(dy, axis=0)", "np.sum(dy) * np.ones_like(w)"),
)
mistake(
    "ex01",
    "gradients only of the first sample",
    "dw: only the first sample counts, not the sum over all: (dy * x).sum(0)",
    ("np.sum(x * dy, axis=0)", "(x * dy)[0]"),
)
mistake(
    "ex01",
    "dw and db exchanged at return",
    "dw and db are exchanged in what is returned",
    ("return dx, dw, db", "return dx, db, dw"),
)
mistake("ex01", "forward value added", "dx: the term x is added, which does not belong there", ("w * dy", "w * dy + x"))

# karpathy/micrograd issues 21, 68, 96: += and the order of the tape; nn-zero-to-hero 52: data of the input or output.
mistake(
    "ex02",
    "own value instead of the other factor's",
    "gradients: values[a] stands where values[b] belongs",
    ("values[inputs[1]] * grad[out]", "values[inputs[0]] * grad[out]"),
)
mistake(
    "ex02",
    "only the first factor gets a gradient",
    "gradients: the term dy * values[a] is missing",
    ("            grad[inputs[1]] += values[inputs[0]] * grad[out]\n", ""),
)
mistake(
    "ex02",
    "tanh with the input's value",
    "tanh: the slope is 1 - y*y with the output y; the input was taken",
    ("y = values[out]", "y = values[inputs[0]]"),
)
mistake(
    "ex02",
    "tanh of the output again",
    "gradients: tanh is applied again: values[out] is already the output of",
    ("y = values[out]", "import math; y = math.tanh(values[out])"),
)
mistake(
    "ex02",
    "no seed",
    "every gradient is zero: does anything of what comes in reach what is",
    ("    grad[-1] = 1.0\n", ""),
)
mistake(
    "ex02",
    "add overwrites",
    "gradients: only the last contribution is kept: = where += belongs",
    ("grad[k] += grad[out]", "grad[k] = grad[out]"),
)
mistake(
    "ex02", "first operation skipped", "the first of the entries is left out of the loop", ("tape[::-1]", "tape[:0:-1]")
)
mistake(
    "ex02",
    "sign of tanh's slope",
    "gradients: the sign of dy * (1 - values[out] ** 2) is wrong",
    ("(1 - y * y)", "(y * y - 1)"),
)

# Gradient checks in CS231n forums.
mistake("ex03", "divided by eps only", "the two points are 2*eps apart, not eps", ("(2 * eps)", "eps"))
mistake(
    "ex03",
    "value not restored",
    "x[k] is not put back before the next element is moved",
    ("        z[k] = old\n        grad", "        grad"),
)
mistake(
    "ex03",
    "precedence: / 2 * eps",
    "dx: the bracket around 2 * eps is missing: eps multiplies, in (f(x + step)",
    ("/ (2 * eps)", "/ 2 * eps"),
)
mistake("ex03", "difference backwards", "the sign is wrong: f(x + eps) comes first", ("(up - down)", "(down - up)"))
mistake(
    "ex03",
    "backward difference",
    "f(x) - f(x - eps) is a one-sided difference",
    ("z[k] = old + eps", "z[k] = old"),
    ("(2 * eps)", "eps"),
)
mistake(
    "ex04",
    "dot with x instead of v",
    "by_gradient: x stands where v belongs",
    ("np.sum(gradient * v)", "np.sum(gradient * x)"),
)
mistake(
    "ex04",
    "norm of the gradient",
    "by_gradient: gradient stands where v belongs; gradient is divided by its",
    ("np.sum(gradient * v)", "np.sqrt(np.sum(gradient ** 2))"),
)
mistake(
    "ex04",
    "mean instead of sum",
    "by_gradient: mean stands where sum belongs: np.sum(gradient * v)",
    ("np.sum(gradient * v)", "np.mean(gradient * v)"),
)
mistake(
    "ex04",
    "v forgotten in the step",
    "by_difference: x is moved by eps in every element, not along v",
    ("x + eps * v", "x + eps"),
    ("x - eps * v", "x - eps"),
)
mistake("ex04", "one-sided, divided by 2 eps", "by_difference: the term eps * v is missing", ("f(x - eps * v)", "f(x)"))
mistake(
    "ex04",
    "the two exchanged at return",
    "by_difference and by_gradient are exchanged in what is returned",
    ("return (up - down) / (2 * eps), np.sum(gradient * v)", "return np.sum(gradient * v), (up - down) / (2 * eps)"),
)

# oreilly-japan/deep-learning-from-scratch-2 issue 26: the slope of tanh turned over; CS231n assignment 3.
mistake(
    "ex05",
    "slope turned over",
    "da: it is divided by the slope 1 - h * h, but should be multiplied",
    ("(1 - h ** 2) * dh", "dh / (1 - h ** 2)"),
)
mistake(
    "ex05",
    "tanh of h again",
    "da: tanh is applied again: h is already the output of tanh, its slope is 1",
    ("(1 - h ** 2)", "(1 - np.tanh(h) ** 2)"),
)
mistake(
    "ex05",
    "sigmoid's slope",
    "da: the slope of the sigmoid, h * (1 - h), stands for that of tanh, 1 - h",
    ("(1 - h ** 2)", "h * (1 - h)"),
)
mistake("ex05", "square forgotten", "da: (1 - h * h): the square is missing", ("(1 - h ** 2)", "(1 - h)"))
mistake(
    "ex05",
    "square around all",
    "da: the square is that of h alone: the slope is 1 - h * h, not (1 - h)",
    ("(1 - h ** 2)", "(1 - h) ** 2"),
)
mistake("ex05", "R not transposed", "dh_prev: R is not transposed", ("np.dot(dtanh, R.T)", "np.dot(dtanh, R)"))
mistake(
    "ex05",
    "reshape for transpose",
    "dx: W is reshaped where it must be transposed: the numbers keep their",
    ("np.dot(dtanh, W.T)", "np.dot(dtanh, W.reshape(W.shape[::-1]))"),
)
mistake(
    "ex05",
    "db averaged",
    "db: the mean stands where the sum belongs: da.sum(0)",
    ("np.sum(dtanh, axis=0)", "np.mean(dtanh, axis=0)"),
)
mistake(
    "ex05",
    "weights from dh",
    "dW, dR: da: the factor 1 - h * h is missing",
    ("np.dot(x.T, dtanh)", "np.dot(x.T, dh)"),
    ("np.dot(h_prev.T, dtanh)", "np.dot(h_prev.T, dh)"),
)
mistake(
    "ex05", "dR transposed", "dR: h_prev.T @ da is transposed", ("np.dot(h_prev.T, dtanh)", "np.dot(dtanh.T, h_prev)")
)

# Burton2000/CS231n-2017 issue 7, qixianbiao/RNN issue 2 (no gradient to the step before), Halfish/cs231n issue 4.
mistake(
    "ex06",
    "steps forward",
    "the loop goes from the first to the last of the steps; gradients flow from",
    ("range(T - 1, -1, -1)", "range(T)"),
)
mistake(
    "ex06",
    "stops before step 0",
    "the first of the steps is left out of the loop",
    ("range(T - 1, -1, -1)", "range(T - 1, 0, -1)"),
)
mistake("ex06", "h0 for every step", "dR: h0 stands where h_prev belongs", ("h0 if t == 0 else h[t - 1]", "h0"))
mistake("ex06", "dR with h[t]", "dR: h_prev is taken from the wrong step", ("last.T @ draw", "h[t].T @ draw"))
mistake(
    "ex06",
    "slope only on what comes from outside",
    "da: only a part of dh_t is multiplied by (1 - h[t] * h[t]): dh_next is not",
    ("(1 - h[t] ** 2) * dnow", "(1 - h[t] ** 2) * dh[t] + dprev"),
)
mistake(
    "ex06",
    "carry accumulates",
    "dh_next: dh_next is added to what it was; it must be replaced in every",
    ("dprev = draw @ R.T", "dprev = dprev + draw @ R.T"),
)
mistake(
    "ex06",
    "carry is da, not through R",
    "dh_next: da itself is taken; expected da @ R.T",
    ("dprev = draw @ R.T", "dprev = draw"),
)
mistake(
    "ex06", "carry is dnow @ R.T", "dh_next: dh_t stands where da belongs", ("dprev = draw @ R.T", "dprev = dnow @ R.T")
)
mistake(
    "ex06", "dx written to t - 1", "dx: dx is stored one step too early, at t - 1", ("dx[t] = draw", "dx[t - 1] = draw")
)
mistake(
    "ex06",
    "weights' gradients divided by T",
    "dW, dR, db: it is divided by the number of steps",
    ("    return dx, dprev, dW, dR, db", "    dW, dR, db = dW / T, dR / T, db / T\n    return dx, dprev, dW, dR, db"),
)
mistake(
    "ex06",
    "dh0 not returned",
    "dh0: the term dh_next is missing",
    ("return dx, dprev,", "return dx, np.zeros_like(h0),"),
)

# nicklashansen/rnn_lstm_from_scratch issue 1, CaptainE/RNN-LSTM-in-numpy issue 1, cthorey/CS231 issue 1, mxnet 4057.
mistake(
    "ex07", "dcs overwritten, not added", "dcs_total: the term dcs is missing", ("dc = dcs + dh * o", "dc = dh * o")
)
mistake(
    "ex07",
    "tanh applied to co",
    "dcs_total: tanh is applied again: co is already the output of tanh, its",
    ("(1 - co ** 2)", "(1 - np.tanh(co) ** 2)"),
)
mistake(
    "ex07",
    "slope from cs, not tanh(cs)",
    "dcs_total: the slope 1 - co * co takes the output of tanh, not its",
    ("(1 - co ** 2)", "(1 - cs ** 2)"),
)
mistake("ex07", "do with cs", "dzo: cs stands where co belongs", ("do = dh * co", "do = dh * cs"))
mistake(
    "ex07", "forget gate without slope", "dzf: the factor (1 - f) is missing", ("af = f * (1 - f) * df", "af = f * df")
)
mistake(
    "ex07", "o missing in dc", "dcs_total: the factor o is missing", ("dh * o * (1 - co ** 2)", "dh * (1 - co ** 2)")
)
mistake(
    "ex07",
    "order i f g o",
    "dz: the order is dzi, dzf, dzc, dzo; expected dzi, dzc, dzf, dzo",
    ("(ai, ag, af, ao)", "(ai, af, ag, ao)"),
)
mistake(
    "ex07",
    "tanh's slope for the input gate",
    "dzi: the slope of tanh, 1 - i * i, stands for that of the sigmoid, i * (1",
    ("i * (1 - i) * di", "(1 - i ** 2) * di"),
)
mistake("ex07", "df with ci", "dzf: ci stands where cs_prev belongs", ("df = dc * cs_prev", "df = dc * ci"))
mistake(
    "ex07",
    "dcs_prev with dcs only",
    "dcs_prev: dcs stands where dcs_total belongs",
    ("dcs_prev = dc * f", "dcs_prev = dcs * f"),
)
mistake(
    "ex07",
    "dx and dh_prev cut the other way round",
    "dw: the order is h_prev, x; expected x, h_prev",
    ("(x, h_prev)", "(h_prev, x)"),
)
mistake(
    "ex07",
    "all gates with sigmoid of the gate again",
    "dzi: the sigmoid is applied again: i is already its output, its slope is i",
    ("ai = i * (1 - i) * di", "s = 1 / (1 + np.exp(-i)); ai = s * (1 - s) * di"),
)
mistake(
    "ex07",
    "loss gradient averaged over the batch",
    "dw: it is divided by the batch size: a gradient is the sum over the batch,",
    ("    dw = np.dot(inputs.T, da)", "    dw = np.dot(inputs.T, da) / len(x)"),
)
mistake(
    "ex08",
    "dcs_prev without the input gate's peephole",
    "dcs_prev: the term dzi * wci is missing",
    ("    dcs_prev = dcs_prev + ai * wci\n", ""),
)
mistake(
    "ex08",
    "peepholes see cs for all gates",
    "dwci: cs stands where cs_prev belongs: it is taken from the wrong step",
    ("ai * cs_prev", "ai * cs"),
    ("af * cs_prev", "af * cs"),
)
mistake(
    "ex08",
    "wci and wcf exchanged",
    "dcs_prev: dzi and dzf are exchanged",
    ("ai * wci", "ai * wcf"),
    ("af * wcf", "af * wci"),
)
mistake("ex08", "no output peephole in dc", "dcs_total: the term dzo * wco is missing", (" + ao * wco", ""))
mistake(
    "ex08",
    "all peepholes go to dc",
    "dcs_total: the term dzo * wco is missing; dcs_prev: the term dzo * wco is",
    ("    dcs_prev = dcs_prev + af * wcf\n", "    dcs_prev = dcs_prev + af * wcf + ao * wco\n"),
    (" + ao * wco\n    ai", "\n    ai"),
)
mistake(
    "ex08",
    "sum over batch divided",
    "dwco: the mean stands where the sum belongs: (dzo * cs).sum(0)",
    ("np.sum(ao * cs, axis=0)", "np.mean(ao * cs, axis=0)"),
)
mistake("ex08", "sign of the peephole", "dcs_total: the sign of dzo * wco is wrong", ("+ ao * wco", "- ao * wco"))
