"""Between arrays and a loss: broadcasting, stable exponentials, cross-entropy, and a table of vectors."""

from __future__ import annotations

import numpy as np

from minirnn.learn.catalog.edited import mistakes
from minirnn.learn.exercise import Exercise, Inputs, Sizes, Stage
from minirnn.learn.formulas import losses

# ---- ex22: broadcasting, backwards


def broadcast(rng: np.random.Generator, s: Sizes) -> Inputs:
    return dict(dy=rng.normal(size=(s.T, s.B, s.H)), shapes=[(s.H,), (s.B, 1), (s.T, 1, s.H), ()])


LEADING, STRETCHED = ".sum(leading)", ".sum(stretched, keepdims=True)"
FIRST, LAST = (f"[tuple(slice({at}) if n == 1 else slice(None) for n in shape)]" for at in ("1", "-1, None"))
REDUCTIONS = {
    "the mean is taken": (".mean(leading)", ".mean(stretched, keepdims=True)"),
    "only the first is taken": ("[(0,) * len(leading)]", FIRST),
    "only the last is taken": ("[(-1,) * len(leading)]", LAST),
}
"""A mistake: what to do instead of summing over the axes that broadcasting put in front, and over those stretched from
1.
"""
USES = "of the gradients of a number's uses"

BROADCAST_MISTAKES = mistakes(
    losses.unbroadcast,
    *((f"{words} along the axes that broadcasting {axes}, but their gradients must be summed", old, new)
      for words, (leading, stretched) in REDUCTIONS.items()
      for axes, old, new in (("put in front", LEADING, leading), ("stretched from 1", STRETCHED, stretched))),
    ("axes that broadcasting stretched from 1 are not summed, only those that it put in front", STRETCHED, ""),
    ("axes that broadcasting put in front are not summed, only those that it stretched from 1", LEADING, ""),
    (f"the mean {USES} is taken, but they must be summed", ".sum(", ".mean("),
    (f"only the first {USES} counts, but they must be summed",
     LEADING, "[(0,) * len(leading)]", STRETCHED, FIRST),
    (f"only the last {USES} counts, but they must be summed", LEADING, "[(-1,) * len(leading)]", STRETCHED, LAST),
    (f"the largest {USES} is taken, but they must be summed", ".sum(", ".max("),
)  # fmt: skip

# ---- ex23: numbers that do not overflow


def far_numbers(rng: np.random.Generator, s: Sizes) -> Inputs:
    """Numbers whose exponentials overflow; or, for odd T, so large that 1 + exp(-z) is 1."""
    z = rng.uniform(30, 45, size=(s.B, s.H)) if s.T % 2 else rng.normal(scale=3.0, size=(s.B, s.H))
    if s.T % 2 == 0:
        z[0, :2] = -900.0, 900.0
    # Every row is in another region, because one maximum for all would leave nothing of the lower rows.
    return dict(z=z, a=rng.normal(size=(s.B, s.H)) + 1000.0 * (np.arange(s.B)[:, None] - 1))


LIMITS = (10, 15, 20, 30, 50, 60, 80, 88, 100, 200, 250, 300, 500, 600, 700, 709)
S, LOG_S = "np.where(z >= 0, 1, small) / (1 + small)", "np.minimum(z, 0) - np.log1p(small)"
LOG_SUM = "np.log(np.exp(a - largest[:, None]).sum(axis=1))"
CLIPPED = "clipped to {0}, so the results are wrong beyond that"

STABLE_MISTAKES = mistakes(
    losses.stable,
    ("log_s: it is -inf where it must be z, because s is 0 there or exp overflows",
     LOG_S, "-np.log1p(np.exp(-z))"),
    ("log_s: the logarithm of s is taken, but close to 1 the number s has too few digits",
     LOG_S, "np.log(s)"),
    ("log_s: exp overflows in z - log(1 + exp(z))", LOG_S, "z - np.log1p(np.exp(z))"),
    ("s: exp(z) / (1 + exp(z)) is inf / inf for large z", S, "np.exp(z) / (1 + np.exp(z))"),
    ("s: exp(-z) overflows in exp(-z) / (1 + exp(-z)), which is also sigmoid(-z)", S, "np.exp(-z) / (1 + np.exp(-z))"),
    ("lse: the largest number of the whole array is subtracted, but each row needs its own",
     "a.max(axis=1)", "a.max()", "largest[:, None]", "largest"),
    ("lse: exp overflows, because the largest number of each row is not subtracted first",
     f"largest + {LOG_SUM}", "np.log(np.exp(a).sum(axis=1))"),
    *((f"s: the numbers are {CLIPPED.format(n)}", S, f"1 / (1 + np.exp(-np.clip(z, -{n}, {n})))") for n in LIMITS[:2]),
    *((f"log_s: the numbers are {CLIPPED.format(n)}", LOG_S, f"-np.log1p(np.exp(-np.clip(z, -{n}, {n})))")
      for n in LIMITS),
    *((f"lse: the numbers are {CLIPPED.format(n)}", "    largest =", f"    a = np.clip(a, -{n}, {n})\n    largest =")
      for n in LIMITS),
    ("lse: the maximum is subtracted before exp, but it is not added again after log", "largest + np.log", "np.log"),
    ("lse: this is the maximum alone, without the logarithm of the sum", f" + {LOG_SUM}", ""),
    ("log_s: a small exp(-abs(z)) is lost in 1 + exp(-abs(z)), where np.log1p would keep it",
     "np.log1p(small)", "np.log(1 + small)"),
    ("s: this is sigmoid(-z), not sigmoid(z)",
     S, "1 / (1 + np.exp(np.minimum(z, 700)))"),
    ("log_s: this is the logarithm of sigmoid(-z)", "np.minimum(z, 0)", "np.minimum(-z, 0)"),
)  # fmt: skip

# ---- ex24: softmax and cross-entropy


def scores(rng: np.random.Generator, s: Sizes) -> Inputs:
    logits = 2.0 * rng.normal(size=(s.B + s.T, s.H + 1)) + (800.0 if s.T % 2 else 0.0)  # only differences count
    return dict(logits=logits, targets=rng.integers(0, s.H + 1, size=s.B + s.T), dloss=float(rng.uniform(0.5, 2.0)))


def plain(inputs: Inputs) -> Inputs:
    return {**inputs, "dloss": 1.0}


SMALL = (1e-8, 1e-7, 1e-6, 1e-5, 1e-9, 1e-10, 1e-3, 1e-4)
DLOGITS = "dmean * p - dmean * onehot"

ENTROPY_MISTAKES = mistakes(
    losses.cross_entropy_backward,
    ("the loss and its gradient are sums over the rows, but they must be means", " / len(logits)", ""),
    ("loss: the sum over the rows is returned, not the mean (the gradient is that of the mean)",
     ".sum() / len(logits)", ".sum()"),
    *((f"loss: {small:g} is added inside the logarithm", "onehot * log_p", f"onehot * np.log(p + {small})")
      for small in SMALL),
    ("dlogits: the division by the number of rows is missing, although the loss is a mean over them",
     "dloss / len(logits)", "dloss"),
    ("the loss uses the logarithm to base 2, not the natural logarithm",
     "onehot * log_p", "onehot * log_p / np.log(2)"),
    ("the mean is taken over all numbers of logits, not over the rows", "len(logits)", "logits.size"),
    ("softmax is taken over the rows (axis 0), but it must be over the classes of a row", "axis=1", "axis=0"),
    ("dlogits: the slope of softmax, p * (1 - p), is multiplied again, although p - onehot has it already",
     DLOGITS, "dmean * (p - onehot) * p * (1 - p)"),
    ("dlogits: only the target's class gets a gradient, but every class has one",
     DLOGITS, "dmean * (p - onehot) * onehot"),
    ("dlogits: this is the gradient of the probabilities, -onehot / p, which does not go through softmax",
     DLOGITS, "-dmean * onehot / p"),
)  # fmt: skip

# ---- ex25: a table of vectors


def looked_up(rng: np.random.Generator, s: Sizes) -> Inputs:
    V = s.B + 1  # fewer rows than look-ups, so some rows are used several times
    ids = rng.integers(0, V, size=(s.T, s.B))
    ids[0], ids[-1] = 0, 0
    return dict(ids=ids, dy=rng.normal(size=(s.T, s.B, s.I)), V=V + 1)  # one row is never used


ADD = "np.add.at(dw, ids, dy)"
ONLY = "a row that was looked up several times keeps only the"

LOOK_UP_MISTAKES = mistakes(
    losses.embedding_backward,
    ("a row that occurs several times in one step keeps only one contribution of that step, because NumPy's "
     "dw[ids[t]] += dy[t] adds to each row once (np.add.at adds every time)",
     ADD, "for t in range(len(ids)):\n        dw[ids[t]] += dy[t]"),
    ("a row that a sample looks up several times keeps only one of its contributions, because NumPy's "
     "dw[ids[:, b]] += dy[:, b] adds to each row once (np.add.at adds every time)",
     ADD, "for b in range(ids.shape[1]):\n        dw[ids[:, b]] += dy[:, b]"),
    (f"{ONLY} last contribution, because NumPy's dw[ids] += dy adds to each row once (np.add.at adds every "
     "time)",
     ADD, "dw[ids] += dy"),
    (f"{ONLY} first contribution", ADD, "dw[ids.ravel()[::-1]] = dy.reshape(-1, dy.shape[-1])[::-1]"),
    ("a row that was looked up several times gets the mean of the contributions, not their sum",
     ADD, f"{ADD}\n    dw /= np.maximum(np.bincount(ids.ravel(), minlength=V), 1)[:, None]"),
    ("ids and dy are not read in the same order: one has time first, the other the sample",
     "dw, ids,", "dw, ids.T.reshape(ids.shape),"),
    ("only the look-ups of the last step count", "ids, dy)\n", "ids[-1], dy[-1])\n"),
)  # fmt: skip

EXERCISES = (
    Exercise(
        "01_tape/ex22_unbroadcast.py",
        broadcast,
        losses.unbroadcast,
        {"da": "(H,)", "db": "(B, 1)", "dc": "(T, 1, H)", "dd": "()"},
        wrong=BROADCAST_MISTAKES,
    ),
    Exercise(
        "06_losses/ex23_stable.py",
        far_numbers,
        losses.stable,
        {"s": "(B, H)", "log_s": "(B, H)", "lse": "(B,)"},
        wrong=STABLE_MISTAKES,
        never="overflow encountered in exp",
    ),
    Exercise(
        "06_losses/ex24_cross_entropy.py",
        scores,
        losses.cross_entropy_backward,
        {"loss": "()", "dlogits": "(N, V)"},
        wrong=ENTROPY_MISTAKES,
        stages=(
            Stage("with dloss = 1", "softmax, the mean over the rows, and p - onehot", change=plain),
            Stage("with any dloss", "dloss, which multiplies every gradient"),
        ),
    ),
    Exercise(
        "06_losses/ex25_embedding.py",
        looked_up,
        losses.embedding_backward,
        {"dw": "(V, I)"},
        wrong=LOOK_UP_MISTAKES,
    ),
)
