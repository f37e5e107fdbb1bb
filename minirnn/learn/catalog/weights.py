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
    ("the biases are read right after their layer, but the matrices of all layers come first",
     f"{MATRICES}, {BIASES}", "(4 * H, I), (4 * H, H), (2, 4 * H), (4 * H, H), (4 * H, H), (2, 4 * H)",
     NAMES, "W0, R0, b0, W1, R1, b1 = parts"),
    ("in each layer the matrices for h are read first, but those for x come before them",
     "(4 * H, I), (4 * H, H)", "(4 * H, H), (4 * H, I)", NAMES, "R0, W0, R1, W1, b0, b1 = parts"),
    ("W and R are read by turns, gate by gate, but all four W of a layer come before its four R",
     MATRICES, "*[(H, I), (H, H)] * 4, *[(H, H), (H, H)] * 4", NAMES, TURNS),
    ("the biases are read first, but they come after all matrices",
     f"{MATRICES}, {BIASES}", f"{BIASES}, {MATRICES}", NAMES, "b0, b1, W0, R0, W1, R1 = parts"),
    ("the matrices are read column by column, but they are stored row by row (C order)",
     "reshape(shape)", 'reshape(shape, order="F" if shape[0] > 2 else "C")'),
    ("all parts are read column by column, but they are stored row by row (C order)",
     "reshape(shape)", 'reshape(shape, order="F")'),
    ("b0, b1: all bW are read before all bR, but the biases are stored layer by layer: bW and bR of layer 0, then "
     "bW and bR of layer 1", "b0, b1\n", "np.stack([b0[0], b1[0]]), np.stack([b0[1], b1[1]])\n"),
    ("the matrix of each gate is read column by column, but it is stored row by row (C order)", RESULT, BY_COLUMN),
)  # fmt: skip

# ---- ex35: initial values


def draws(rng: np.random.Generator, s: Sizes) -> Inputs:
    return dict(uniform=rng.uniform(size=(s.I, 4 * s.H)), normal=rng.normal(size=(4, s.H, s.H)))


TURNED = "q * np.sign(np.diag(r))"
START_MISTAKES = mistakes(
    weights.initialize,
    ("R: the columns of q are not multiplied by the signs of r's diagonal",
     TURNED, "q"),
    ("R: the rows of q are multiplied by the signs, but its columns must be", TURNED, f"{TURNED}[:, None]"),
    ("R: the blocks are the random matrices themselves, which are not orthogonal", TURNED, "a"),
    ("R: each block is transposed", TURNED, f"({TURNED}).T"),
    ("W: the limit is sqrt(6 / (I + 4H)), but each gate has its own matrix (I, H)",
     "(I + H)", "(I + 4 * H)"),
    ("W: the limit is sqrt(2 / (I + H)), but that must be the standard deviation",
     "6 / (I + H)", "2 / (I + H)"),
    ("W: the square root is missing in the limit", "np.sqrt(", "("),
    ("W: the numbers are between 0 and the limit, but they must be on both sides of zero",
     "2 * uniform - 1", "uniform"),
    ("W: the numbers reach only half of the limit", "2 * uniform - 1", "uniform - 0.5"),
    ("b: the ones are in the second quarter, but in the order i, ci, f, o the third one is f",
     "2 * H : 3 * H", "H : 2 * H"),
    ("b: the bias of f is 0, but it must be 1", "= 1  #", "= 0  #"),
    ("b: the ones are in the last quarter, that of the output gate, but f is the third quarter",
     "2 * H : 3 * H", "3 * H :"),
)  # fmt: skip

# ---- ex36: RMSprop with momentum


def rmsprop(rng: np.random.Generator, s: Sizes) -> Inputs:
    parameter, gradient, last = rng.normal(size=(3, s.I, s.H))
    v = rng.uniform(0.01, 1, size=(s.I, s.H))
    return dict(parameter=parameter, gradient=gradient, v=v, buffer=last, lr=0.48 / s.T, alpha=0.95 - 0.2 / s.T,
                eps=0.04 / s.T, momentum=0.9 - 0.8 / s.T)  # fmt: skip


STEP_MISTAKES = mistakes(
    weights.rmsprop_step,
    ("eps is added inside the square root, but it belongs outside", "np.sqrt(v) + eps", "np.sqrt(v + eps)"),
    ("the gradient is divided by the root of the old v, not of the new one",
     "    v = alpha", "    old, v = v, alpha", "np.sqrt(v)", "np.sqrt(old)"),
    ("buffer: what is added is multiplied by 1 - momentum, which does not belong there",
     "+ gradient /", "+ (1 - momentum) * gradient /"),
    ("v: alpha and 1 - alpha are exchanged", "alpha * v + (1 - alpha)", "(1 - alpha) * v + alpha"),
    ("parameter: the step has no momentum, because it does not use buffer",
     "lr * buffer", "lr * gradient / (np.sqrt(v) + eps)"),
    ("lr is multiplied into the buffer, but it belongs to the step",
     "lr * buffer", "buffer", "+ gradient /", "+ lr * gradient /"),
    ("this is TensorFlow's RMSprop, but here lr belongs to the step, and eps is added outside the square root",
     "lr * buffer", "buffer", "+ gradient / (np.sqrt(v) + eps)", "+ lr * gradient / np.sqrt(v + eps)"),
    ("parameter: this is Nesterov's momentum, but here the step is lr * buffer",
     "lr * buffer", "lr * (momentum * buffer + gradient / (np.sqrt(v) + eps))"),
)  # fmt: skip

EXERCISES = (
    Exercise(
        "10_weights/ex33_cudnn_buffer.py", buffer, weights.unpack,
        {"W0": "(G, I)", "R0": "(G, H)", "W1": "(G, H)", "R1": "(G, H)", "b0": "(2, G)", "b1": "(2, G)"},
        wrong=BUFFER_MISTAKES,
    ),
    Exercise(
        "07_training/ex35_initialize.py", draws, weights.initialize, {"W": "(I, 4H)", "R": "(H, 4H)", "b": "(4H,)"},
        wrong=START_MISTAKES, gates=4,
    ),
    Exercise(
        "07_training/ex36_rmsprop.py", rmsprop, weights.rmsprop_step,
        {"parameter": "(I, H)", "v": "(I, H)", "buffer": "(I, H)"}, wrong=STEP_MISTAKES,
    ),
)  # fmt: skip
