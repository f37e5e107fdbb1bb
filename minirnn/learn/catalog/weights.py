"""Weights before and during training: cuDNN's buffer, initial values, RMSprop."""

from __future__ import annotations

import numpy as np

from minirnn.learn.catalog.edited import mistakes
from minirnn.learn.exercise import Exercise, Inputs, Sizes
from minirnn.learn.formulas import weights

# ---- ex33: cuDNN's buffer


def buffer(rng: np.random.Generator, s: Sizes) -> Inputs:
    size = 4 * s.H * (s.I + s.H) + 8 * s.H * s.H + 16 * s.H
    return dict(params=rng.normal(size=size), I=s.I, H=s.H)


MATRICES, BIASES = "(4 * H, I), (4 * H, H), (4 * H, H), (4 * H, H)", "(2, 4 * H), (2, 4 * H)"
NAMES, RESULT = "W0, R0, W1, R1, b0, b1 = parts", "return W0, R0, W1, R1, b0, b1"
TURNS = """W0, R0, W1, R1 = (np.concatenate(parts[k : k // 8 * 8 + 8 : 2]) for k in (0, 1, 8, 9))
    b0, b1 = parts[16:]"""
BY_COLUMN = """blocks = [[g.ravel().reshape(g.shape, order="F") for g in np.split(m, 4)] for m in (W0, R0, W1, R1)]
    return *map(np.concatenate, blocks), b0, b1"""

BUFFER_MISTAKES = mistakes(
    weights.unpack,
    ("the biases do not follow their layer: all matrices of all layers come first",
     f"{MATRICES}, {BIASES}", "(4 * H, I), (4 * H, H), (2, 4 * H), (4 * H, H), (4 * H, H), (2, 4 * H)",
     NAMES, "W0, R0, b0, W1, R1, b1 = parts"),
    ("in each layer the four matrices for x come before those for h",
     "(4 * H, I), (4 * H, H)", "(4 * H, H), (4 * H, I)", NAMES, "R0, W0, R1, W1, b0, b1 = parts"),
    ("W and R do not take turns gate by gate: all four W of a layer come first, then its four R",
     MATRICES, "*[(H, I), (H, H)] * 4, *[(H, H), (H, H)] * 4", NAMES, TURNS),
    ("the biases come at the end, after all matrices",
     f"{MATRICES}, {BIASES}", f"{BIASES}, {MATRICES}", NAMES, "b0, b1, W0, R0, W1, R1 = parts"),
    ("the matrices lie row by row (C order), not column by column",
     "reshape(shape)", 'reshape(shape, order="F" if shape[0] > 2 else "C")'),
    ("all parts lie row by row (C order), not column by column", "reshape(shape)", 'reshape(shape, order="F")'),
    ("b0, b1: the biases lie layer by layer, bW and bR of layer 0, then bW and bR of layer 1; they were read as if "
     "all bW came before all bR", "b0, b1\n", "np.stack([b0[0], b1[0]]), np.stack([b0[1], b1[1]])\n"),
    ("the matrix of each gate lies row by row (C order), not column by column", RESULT, BY_COLUMN),
)  # fmt: skip

# ---- ex35: initial values


def draws(rng: np.random.Generator, s: Sizes) -> Inputs:
    return dict(uniform=rng.uniform(size=(s.I, 4 * s.H)), normal=rng.normal(size=(4, s.H, s.H)))


TURNED = "q * np.sign(np.diag(r))"
START_MISTAKES = mistakes(
    weights.initialize,
    ("R: the signs of the columns are not settled: multiply each column of q by the sign of r's diagonal",
     TURNED, "q"),
    ("R: the signs belong to the columns of q, not to its rows", TURNED, f"{TURNED}[:, None]"),
    ("R: the blocks are not orthogonal yet: take q of np.linalg.qr", TURNED, "a"),
    ("R: each block is transposed", TURNED, f"({TURNED}).T"),
    ("W: each gate is a matrix (I, H) of its own: its limit is sqrt(6 / (I + H)), not sqrt(6 / (I + 4H))",
     "(I + H)", "(I + 4 * H)"),
    ("W: sqrt(2 / (I + H)) is the standard deviation; a uniform distribution of it reaches to sqrt(6 / (I + H))",
     "6 / (I + H)", "2 / (I + H)"),
    ("W: the square root is missing: the limit is sqrt(6 / (I + H))", "np.sqrt(", "("),
    ("W: the numbers lie between 0 and the limit; they should lie on both sides of zero", "2 * uniform - 1", "uniform"),
    ("W: the numbers reach to half of the limit only", "2 * uniform - 1", "uniform - 0.5"),
    ("b: the gates stand in the order i, ci, f, o: the ones belong into the third quarter",
     "2 * H : 3 * H", "H : 2 * H"),
    ("b: the bias of f is 1, not 0", "= 1  #", "= 0  #"),
    ("b: the ones are those of the output gate: f is the third quarter", "2 * H : 3 * H", "3 * H :"),
)  # fmt: skip

# ---- ex36: RMSprop with momentum


def rmsprop(rng: np.random.Generator, s: Sizes) -> Inputs:
    parameter, gradient, last = rng.normal(size=(3, s.I, s.H))
    v = rng.uniform(0.01, 1, size=(s.I, s.H))
    return dict(parameter=parameter, gradient=gradient, v=v, buffer=last, lr=0.48 / s.T, alpha=0.95 - 0.2 / s.T,
                eps=0.04 / s.T, momentum=0.9 - 0.8 / s.T)  # fmt: skip


STEP_MISTAKES = mistakes(
    weights.rmsprop_step,
    ("eps is added outside of the square root", "np.sqrt(v) + eps", "np.sqrt(v + eps)"),
    ("the gradient is divided by the root of the new v, not of the old one",
     "    v = alpha", "    old, v = v, alpha", "np.sqrt(v)", "np.sqrt(old)"),
    ("buffer: what is added is not multiplied by 1 - momentum", "+ gradient /", "+ (1 - momentum) * gradient /"),
    ("v: alpha and 1 - alpha are exchanged", "alpha * v + (1 - alpha)", "(1 - alpha) * v + alpha"),
    ("parameter: the step is lr * buffer, with its momentum", "lr * buffer", "lr * gradient / (np.sqrt(v) + eps)"),
    ("lr belongs to the step, not into the buffer: the buffer stays the same when lr changes",
     "lr * buffer", "buffer", "+ gradient /", "+ lr * gradient /"),
    ("parameter: this is Nesterov's momentum; here the step is lr * buffer",
     "lr * buffer", "lr * (momentum * buffer + gradient / (np.sqrt(v) + eps))"),
)  # fmt: skip

EXERCISES = (
    Exercise(
        "07_layout/ex33_cudnn_buffer.py", buffer, weights.unpack,
        {"W0": "(G, I)", "R0": "(G, H)", "W1": "(G, H)", "R1": "(G, H)", "b0": "(2, G)", "b1": "(2, G)"},
        wrong=BUFFER_MISTAKES,
    ),
    Exercise(
        "08_training/ex35_initialize.py", draws, weights.initialize, {"W": "(I, 4H)", "R": "(H, 4H)", "b": "(4H,)"},
        wrong=START_MISTAKES, gates=4,
    ),
    Exercise(
        "08_training/ex36_rmsprop.py", rmsprop, weights.rmsprop_step,
        {"parameter": "(I, H)", "v": "(I, H)", "buffer": "(I, H)"}, wrong=STEP_MISTAKES,
    ),
)  # fmt: skip
