"""Chapters 7 and 8: weights of another library, and what happens to a gradient after the backward pass."""

from __future__ import annotations

import numpy as np

from minirnn.learn.catalog.edited import mistakes
from minirnn.learn.exercise import Exercise, Inputs, Sizes
from minirnn.learn.formulas import training


def torch_weights(rng: np.random.Generator, s: Sizes) -> Inputs:
    bias_ih, bias_hh = rng.normal(size=(2, 4 * s.H))
    return dict(
        weight_ih=rng.normal(size=(4 * s.H, s.I)),
        weight_hh=rng.normal(size=(4 * s.H, s.H)),
        bias_ih=bias_ih,
        bias_hh=bias_hh,
    )


def gradients(rng: np.random.Generator, s: Sizes) -> Inputs:
    scale = 1.0 if s.T % 2 == 0 else 0.02  # longer than max_norm, or short enough
    return dict(gradients=[scale * rng.normal(size=(s.I, s.H)), scale * rng.normal(size=s.H)], max_norm=0.5 + s.T / 10)


def adam(rng: np.random.Generator, s: Sizes) -> Inputs:
    parameter, gradient, m = rng.normal(size=(3, s.I, s.H))
    v = rng.uniform(0.01, 1, size=(s.I, s.H))
    beta1, beta2 = (0.2, 0.3) if s.T % 2 else (0.9, 0.99)  # so small that 1 - beta * step is also positive
    return dict(parameter=parameter, gradient=gradient, m=m, v=v, step=s.T, lr=0.4 / s.T, beta1=beta1, beta2=beta2,
                eps=4e-3 / s.T)  # fmt: skip


TORCH_MISTAKES = mistakes(
    training.torch_to_block_cell,
    ("one of torch's two biases is missing, although torch adds both", "bias_ih + bias_hh", "bias_ih"),
    ("the rows of h_prev come before those of x", "[weight_ih, weight_hh]", "[weight_hh, weight_ih]"),
    ("the gates are still in torch's order i, f, g, o; expected i, g, f, o", "[i, g, f, o]", "[i, f, g, o]"),
)

NORM, CLIPPED = "np.sqrt(sum(np.sum(g * g) for g in gradients))", "[g * scale for g in gradients]"
CLIP_MISTAKES = mistakes(
    training.clip_by_global_norm,
    ("each gradient is clipped by its own norm, which changes the direction of the step",
     CLIPPED, "[g * min(1.0, max_norm / np.sqrt(np.sum(g * g))) for g in gradients]"),
    ("gradients whose norm is below max_norm are scaled up, but they must stay as they are",
     "min(1.0, max_norm / norm)", "max_norm / norm"),
    ("the norms of the gradients are added, but their squares must be",
     NORM, "sum(np.sqrt(np.sum(g * g)) for g in gradients)"),
    ("the norm is the root of the mean of the squares, but it must be that of their sum",
     NORM, "np.sqrt(np.mean(np.concatenate([g.ravel() for g in gradients]) ** 2))"),
    ("the norm is the sum of the magnitudes, but it must be the root of the sum of the squares",
     NORM, "sum(np.abs(g).sum() for g in gradients)"),
    ("the norm is the largest of the gradients' norms, but it must be that of all together",
     NORM, "max(np.linalg.norm(g) for g in gradients)"),
    ("the norm is the largest magnitude, but it must be the root of the sum of the squares",
     NORM, "max(np.abs(g).max() for g in gradients)"),
    ("the norm is the mean of the gradients' norms, but it must be that of all together",
     NORM, "np.mean([np.linalg.norm(g) for g in gradients])"),
    ("the norm of a matrix is its largest singular value, but it must be the root of the sum of its squares",
     NORM, "np.sqrt(sum(np.linalg.norm(g, 2 if g.ndim == 2 else None) ** 2 for g in gradients))"),
    ("each number is clipped by itself, not the norm of the whole",
     CLIPPED, "[np.clip(g, -max_norm, max_norm) for g in gradients]"),
)  # fmt: skip

ADAM_MISTAKES = mistakes(
    training.adam_step,
    ("m and v are used without bias correction",
     " / (1 - beta1**step)", "", " / (1 - beta2**step)", ""),
    ("m and v are divided by 1 - beta, but it must be 1 - beta**step", "**step", ""),
    ("eps is added inside the square root, but it belongs outside", "np.sqrt(v_hat) + eps", "np.sqrt(v_hat + eps)"),
    ("eps is added before the division by 1 - beta2 ** step, so it is divided as well, but it must be added last",
     "np.sqrt(v_hat) + eps", "(np.sqrt(v) + eps) / np.sqrt(1 - beta2**step)"),
    ("beta**(step + 1) is used, but the steps already count from 1", "**step", "**(step + 1)"),
)  # fmt: skip


EXERCISES = (
    Exercise(
        "10_weights/ex14_gate_order.py", torch_weights, training.torch_to_block_cell, {"w": "(I+H, 4H)", "b": "(4H,)"},
        gates=4, wrong=TORCH_MISTAKES,
    ),
    Exercise(
        "07_training/ex15_clip.py", gradients, training.clip_by_global_norm,
        {"clipped": "list of the shapes of gradients", "norm": "()"},
        wrong=CLIP_MISTAKES,
    ),
    Exercise(
        "07_training/ex16_adam.py", adam, training.adam_step, {"parameter": "(I, H)", "m": "(I, H)", "v": "(I, H)"},
        wrong=ADAM_MISTAKES,
    ),
)  # fmt: skip
