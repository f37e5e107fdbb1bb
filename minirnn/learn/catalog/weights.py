"""Weights before and during training: cuDNN's buffer, initial values, RMSprop."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from minirnn.learn.exercise import Exercise, Inputs, Sizes, Wrong
from minirnn.learn.formulas import weights

# ---- ex33: cuDNN's buffer


def buffer(rng: np.random.Generator, s: Sizes) -> Inputs:
    size = 4 * s.H * (s.I + s.H) + 8 * s.H * s.H + 16 * s.H
    return dict(params=rng.normal(size=size), I=s.I, H=s.H)


def unpack_with(params: Any, I: int, H: int, *, order: str = "C", layout: Any) -> Any:
    """`unpack` for a buffer in which the parts come in another order."""
    parts: dict[str, Any] = {}
    start = 0
    for name, shape in layout(I, H):
        size = int(np.prod(shape))
        parts.setdefault(name, []).append(params[start : start + size].reshape(shape, order=order))
        start += size
    joined = {name: np.concatenate(pieces) for name, pieces in parts.items()}
    return tuple(joined[name] for name in ("W0", "R0", "W1", "R1", "b0", "b1"))


def right_layout(I: int, H: int) -> Any:
    G = 4 * H
    return (("W0", (G, I)), ("R0", (G, H)), ("W1", (G, H)), ("R1", (G, H)), ("b0", (2, G)), ("b1", (2, G)))


def layer_by_layer(I: int, H: int) -> Any:
    W0, R0, W1, R1, b0, b1 = right_layout(I, H)
    return W0, R0, b0, W1, R1, b1


def recurrent_first(I: int, H: int) -> Any:
    W0, R0, W1, R1, b0, b1 = right_layout(I, H)
    return R0, W0, R1, W1, b0, b1


def gate_by_gate(I: int, H: int) -> Any:
    parts = [(name, (H, columns)) for layer in ((("W0", I), ("R0", H)), (("W1", H), ("R1", H))) for _ in range(4)
             for name, columns in layer]  # fmt: skip
    return (*parts, *right_layout(I, H)[4:])


def biases_first(I: int, H: int) -> Any:
    parts = right_layout(I, H)
    return *parts[4:], *parts[:4]


def column_major(params: Any, I: int, H: int) -> Any:
    good = dict(zip(("W0", "R0", "W1", "R1", "b0", "b1"), weights.unpack(params, I, H), strict=True))
    for name in ("W0", "R0", "W1", "R1"):
        good[name] = np.concatenate([block.reshape(block.shape, order="C").ravel().reshape(block.shape, order="F")
                                     for block in np.split(good[name], 4)])  # fmt: skip
    return tuple(good.values())


def matrices_by_column(params: Any, I: int, H: int) -> Any:
    outputs = list(weights.unpack(params, I, H))
    for k in range(4):
        outputs[k] = outputs[k].ravel().reshape(outputs[k].shape, order="F")
    return tuple(outputs)


def biases_across(params: Any, I: int, H: int) -> Any:
    W0, R0, W1, R1, b0, b1 = weights.unpack(params, I, H)
    return W0, R0, W1, R1, np.stack([b0[0], b1[0]]), np.stack([b0[1], b1[1]])


BUFFER_MISTAKES = (
    Wrong(
        "the biases do not follow their layer: all matrices of all layers come first",
        partial(unpack_with, layout=layer_by_layer),
    ),
    Wrong(
        "in each layer the four matrices for x come before those for h", partial(unpack_with, layout=recurrent_first)
    ),
    Wrong(
        "W and R do not take turns gate by gate: all four W of a layer come first, then its four R",
        partial(unpack_with, layout=gate_by_gate),
    ),
    Wrong("the biases come at the end, after all matrices", partial(unpack_with, layout=biases_first)),
    Wrong("the matrices lie row by row (C order), not column by column", matrices_by_column),
    Wrong(
        "b0, b1: the biases lie layer by layer, bW and bR of layer 0, then bW and bR of layer 1; they were read as if "
        "all bW came before all bR",
        biases_across,
    ),
    Wrong("the matrix of each gate lies row by row (C order), not column by column", column_major),
)

# ---- ex35: initial values


def draws(rng: np.random.Generator, s: Sizes) -> Inputs:
    return dict(uniform=rng.uniform(size=(s.I, 4 * s.H)), normal=rng.normal(size=(4, s.H, s.H)))


def initialize_with(
    uniform: Any, normal: Any, *, limit: Any = None, draw: Any = lambda u: 2 * u - 1, signs: Any = None,
    forget: int = 2, value: float = 1.0, orthogonal: bool = True,
) -> Any:  # fmt: skip
    """`initialize` with one of its rules changed."""
    I, H = len(uniform), normal.shape[1]
    size = np.sqrt(6 / (I + H)) if limit is None else limit(I, H)
    blocks = []
    for a in normal:
        q, r = np.linalg.qr(a)
        blocks.append((q * np.sign(np.diag(r)) if signs is None else signs(q, r)) if orthogonal else a)
    b = np.zeros(4 * H)
    b[forget * H : (forget + 1) * H] = value
    return size * draw(uniform), np.concatenate(blocks, axis=1), b


START_MISTAKES = (
    Wrong(
        "R: the signs of the columns are not settled: multiply each column of q by the sign of r's diagonal",
        partial(initialize_with, signs=lambda q, r: q),
    ),
    Wrong(
        "R: the signs belong to the columns of q, not to its rows",
        partial(initialize_with, signs=lambda q, r: q * np.sign(np.diag(r))[:, None]),
    ),
    Wrong("R: the blocks are not orthogonal yet: take q of np.linalg.qr", partial(initialize_with, orthogonal=False)),
    Wrong("R: each block is transposed", partial(initialize_with, signs=lambda q, r: (q * np.sign(np.diag(r))).T)),
    Wrong(
        "W: each gate is a matrix (I, H) of its own: its limit is sqrt(6 / (I + H)), not sqrt(6 / (I + 4H))",
        partial(initialize_with, limit=lambda I, H: np.sqrt(6 / (I + 4 * H))),
    ),
    Wrong(
        "W: sqrt(2 / (I + H)) is the standard deviation; a uniform distribution of it reaches to sqrt(6 / (I + H))",
        partial(initialize_with, limit=lambda I, H: np.sqrt(2 / (I + H))),
    ),
    Wrong(
        "W: the square root is missing: the limit is sqrt(6 / (I + H))",
        partial(initialize_with, limit=lambda I, H: 6 / (I + H)),
    ),
    Wrong(
        "W: the numbers lie between 0 and the limit; they should lie on both sides of zero",
        partial(initialize_with, draw=lambda u: u),
    ),
    Wrong("W: the numbers reach to half of the limit only", partial(initialize_with, draw=lambda u: u - 0.5)),
    Wrong(
        "b: the gates stand in the order i, ci, f, o: the ones belong into the third quarter",
        partial(initialize_with, forget=1),
    ),
    Wrong("b: the bias of f is 1, not 0", partial(initialize_with, value=0.0)),
    Wrong("b: the ones are those of the output gate: f is the third quarter", partial(initialize_with, forget=3)),
)

# ---- ex36: RMSprop with momentum


def rmsprop(rng: np.random.Generator, s: Sizes) -> Inputs:
    parameter, gradient, last = rng.normal(size=(3, s.I, s.H))
    v = rng.uniform(0.01, 1, size=(s.I, s.H))
    return dict(parameter=parameter, gradient=gradient, v=v, buffer=last, lr=0.48 / s.T, alpha=0.95 - 0.2 / s.T,
                eps=0.04 / s.T, momentum=0.9 - 0.8 / s.T)  # fmt: skip


def rmsprop_with(
    parameter: Any, gradient: Any, v: Any, buffer: Any, lr: float, alpha: float, eps: float, momentum: float, *,
    inside: bool = False, old: bool = False, weighted: bool = False, swapped: bool = False, forgotten: bool = False,
    rate_inside: bool = False, nesterov: bool = False,
) -> Any:  # fmt: skip
    """`rmsprop_step` with one of its rules changed."""
    keep, take = (1 - alpha, alpha) if swapped else (alpha, 1 - alpha)
    new = keep * v + take * gradient * gradient
    base = v if old else new
    scale = np.sqrt(base + eps) if inside else np.sqrt(base) + eps
    move = gradient / scale
    moved = momentum * buffer + (1 - momentum if weighted else lr if rate_inside else 1.0) * move
    step = move if forgotten else momentum * moved + move if nesterov else moved
    return parameter - (1.0 if rate_inside else lr) * step, new, moved


STEP_MISTAKES = (
    Wrong("eps is added outside of the square root", partial(rmsprop_with, inside=True)),
    Wrong("the gradient is divided by the root of the new v, not of the old one", partial(rmsprop_with, old=True)),
    Wrong("buffer: what is added is not multiplied by 1 - momentum", partial(rmsprop_with, weighted=True)),
    Wrong("v: alpha and 1 - alpha are exchanged", partial(rmsprop_with, swapped=True)),
    Wrong("parameter: the step is lr * buffer, with its momentum", partial(rmsprop_with, forgotten=True)),
    Wrong(
        "lr belongs to the step, not into the buffer: the buffer stays the same when lr changes",
        partial(rmsprop_with, rate_inside=True),
    ),
    Wrong("parameter: this is Nesterov's momentum; here the step is lr * buffer", partial(rmsprop_with, nesterov=True)),
)

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
