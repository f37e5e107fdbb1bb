"""Chapters 7 and 8: weights of another library, and what happens to a gradient after the backward pass."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from minirnn.learn.exercise import Exercise, Inputs, Sizes, Wrong
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
    beta1, beta2 = (0.2, 0.3) if s.T % 2 else (0.9, 0.99)  # so small that 1 - beta * step is positive, too
    return dict(parameter=parameter, gradient=gradient, m=m, v=v, step=s.T, lr=0.4 / s.T, beta1=beta1, beta2=beta2,
                eps=4e-3 / s.T)  # fmt: skip


def one_bias(weight_ih: Any, weight_hh: Any, bias_ih: Any, bias_hh: Any) -> Any:
    return training.torch_to_block_cell(weight_ih, weight_hh, bias_ih, 0 * bias_hh)


def hidden_first(weight_ih: Any, weight_hh: Any, bias_ih: Any, bias_hh: Any) -> Any:
    return training.torch_to_block_cell(weight_hh, weight_ih, bias_ih, bias_hh)


def torch_order(weight_ih: Any, weight_hh: Any, bias_ih: Any, bias_hh: Any) -> Any:
    return np.concatenate([weight_ih, weight_hh], axis=1).T, bias_ih + bias_hh


def each_alone(gradients: Any, max_norm: Any) -> Any:
    norms = [np.sqrt(np.sum(g * g)) for g in gradients]
    norm = np.sqrt(sum(n * n for n in norms))
    return [g * min(1.0, max_norm / n) for g, n in zip(gradients, norms, strict=True)], norm


def always_scaled(gradients: Any, max_norm: Any) -> Any:
    norm = np.sqrt(sum(np.sum(g * g) for g in gradients))
    return [g * max_norm / norm for g in gradients], norm


def norm_of_norms(gradients: Any, max_norm: Any) -> Any:
    norm = sum(np.sqrt(np.sum(g * g)) for g in gradients)
    return [g * min(1.0, max_norm / norm) for g in gradients], norm


def with_norm(gradients: Any, max_norm: Any, *, norm: Any) -> Any:
    """`clip_by_global_norm` with another norm."""
    length = norm(gradients)
    return [g * min(1.0, max_norm / length) for g in gradients], length


NORMS = (
    ("the norm is the root of the sum of the squares, not of their mean",
     lambda all: np.sqrt(np.mean(np.concatenate([g.ravel() for g in all]) ** 2))),
    ("the norm is the root of the sum of the squares, not the sum of the magnitudes",
     lambda all: sum(np.abs(g).sum() for g in all)),
    ("the norm is that of all gradients together, not the largest of their norms",
     lambda all: max(np.linalg.norm(g) for g in all)),
    ("the norm is the root of the sum of the squares, not the largest magnitude",
     lambda all: max(np.abs(g).max() for g in all)),
    ("the norm is that of all gradients together, not the mean of their norms",
     lambda all: np.mean([np.linalg.norm(g) for g in all])),
    ("each matrix has the root of the sum of its squares for a norm, not its largest singular value",
     lambda all: np.sqrt(sum(np.linalg.norm(g, 2 if g.ndim == 2 else None) ** 2 for g in all))),
)  # fmt: skip


def by_value(gradients: Any, max_norm: Any) -> Any:
    return [np.clip(g, -max_norm, max_norm) for g in gradients], np.sqrt(sum(np.sum(g * g) for g in gradients))


def adam_with(
    parameter: Any, gradient: Any, m: Any, v: Any, step: int, lr: float, beta1: float, beta2: float, eps: float, *,
    correction: bool = True, inside: bool = False, shift: int = 0,
) -> Any:  # fmt: skip
    """`adam_step` without bias correction, with eps inside of the root, or with its steps counted from another."""
    m = beta1 * m + (1 - beta1) * gradient
    v = beta2 * v + (1 - beta2) * gradient * gradient
    m_hat = m / (1 - beta1 ** (step + shift)) if correction else m
    v_hat = v / (1 - beta2 ** (step + shift)) if correction else v
    root = np.sqrt(v_hat + eps) if inside else np.sqrt(v_hat) + eps
    return parameter - lr * m_hat / root, m, v


EXERCISES = (
    Exercise(
        "07_layout/ex14_gate_order.py", torch_weights, training.torch_to_block_cell, {"w": "(I+H, 4H)", "b": "(4H,)"},
        gates=4,
        wrong=(
            Wrong("one of torch's two biases is missing: they are always added to each other", one_bias),
            Wrong("the rows of h_prev come before those of x", hidden_first),
            Wrong("the gates still stand in torch's order i, f, g, o; expected i, g, f, o", torch_order),
        ),
    ),
    Exercise(
        "08_training/ex15_clip.py", gradients, training.clip_by_global_norm,
        {"clipped": "list of the shapes of gradients", "norm": "()"},
        wrong=(
            Wrong("each gradient is clipped by its own norm; the direction of the step changes", each_alone),
            Wrong("gradients that are short enough must stay: scale by min(1, max_norm / norm)", always_scaled),
            Wrong("norms are not added: their squares are", norm_of_norms),
            *(Wrong(sentence, partial(with_norm, norm=norm)) for sentence, norm in NORMS),
            Wrong("this clips each number, not the length of the whole", by_value),
        ),
    ),
    Exercise(
        "08_training/ex16_adam.py", adam, training.adam_step, {"parameter": "(I, H)", "m": "(I, H)", "v": "(I, H)"},
        wrong=(
            Wrong(
                "m and v are used without bias correction: divide by 1 - beta**step",
                partial(adam_with, correction=False),
            ),
            Wrong("eps is added outside of the square root", partial(adam_with, inside=True)),
            Wrong("the steps count from 1: beta**step, not beta**(step + 1)", partial(adam_with, shift=1)),
        ),
    ),
)  # fmt: skip
