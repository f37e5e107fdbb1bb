"""Cases of `nn.functional`: one line for each call."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from minirnn.nn import functional as F
from minirnn.ops.primitives.declare import ACTIVATIONS
from minirnn.proof.case import Case
from minirnn.proof.cases.operands import (
    INDEX,
    Make,
    away_from_zero,
    classes,
    near_or_far,
    normal,
    one,
    probability,
    queries_keys_values,
    table,
    two,
    weights,
    with_matrix_and_row,
    with_scale_and_shift,
)
from minirnn.proof.cases.primitives import SIZES, Row, case
from minirnn.proof.cases.primitives import VALUES as PRIMITIVES


def cases() -> Iterator[Case]:
    """All cases of the functions, at all sizes."""
    for (name, row), sizes in product(VALUES.items(), SIZES):
        yield case(name, row, sizes, "functional")


def named(make: Make, summands: int | str, name: str, **said: Any) -> Row:
    """The function `name` of all inputs."""
    return lambda *xs: getattr(F, name)(*xs, **said), make, summands


def alike(make: Make, summands: int | str, *names: str, **said: Any) -> dict[str, Row]:
    """Functions that take these inputs and the same options."""
    return {name: named(make, summands, name, **said) for name in names}


def ctc_loss(a: Any) -> Any:
    """(B, T, C): T steps with one label, or none if the blank is the only class."""
    B, T, C = a.shape
    logp = F.log_softmax(a, dim=2).transpose(1, 0, 2)
    return F.ctc_loss(logp, np.full((B, 1), C - 1), np.full(B, T), np.full(B, 1))


scores_and_answers = two(normal, probability)

VALUES: dict[str, Row] = {
    **alike(scores_and_answers, "all", "binary_cross_entropy_with_logits"),
    **alike(scores_and_answers, "all", "kl_div", reduction="batchmean"),
    **alike(two(probability), "all", "binary_cross_entropy"),
    **alike(two(), "all", "mse_loss"),
    **alike(near_or_far, "all", "l1_loss", "smooth_l1_loss", "huber_loss"),
    "cross_entropy of probabilities": named(scores_and_answers, "all", "cross_entropy"),
    "cross_entropy": (
        lambda a: F.cross_entropy(a, classes(a), weights(a), ignore_index=1, label_smoothing=0.1), one(), "all"
    ),
    "nll_loss": (lambda a: F.nll_loss(a, classes(a), weights(a), ignore_index=1), one(), "all"),
    "ctc_loss": (ctc_loss, one(), "all"),
    **{name: PRIMITIVES[name] for name in ACTIVATIONS},
    **alike(one(), 0, "silu", "gelu", "logsigmoid", "glu"),
    **alike(one(away_from_zero), 0, "relu", "relu6", "elu"),
    **alike(one(away_from_zero), 0, "leaky_relu", negative_slope=0.2),
    **alike(one(away_from_zero), 0, "hardtanh", min_val=-0.2, max_val=0.2),
    **alike(one(), 0, "softplus", beta=1.5),
    "gelu of tanh": named(one(), 0, "gelu", approximate="tanh"),
    **alike(one(), "row", "softmax", "log_softmax", "softmin", dim=-1),
    **alike(one(away_from_zero), "row", "normalize", dim=-1),
    **alike(near_or_far, "row", "cosine_similarity", dim=-1),
    **alike(with_matrix_and_row, "all", "linear"),
    **alike(queries_keys_values, "all", "scaled_dot_product_attention", is_causal=True),
    **alike(one(), 2, "pad", pad=(1, 1), mode="reflect"),
    "embedding": (lambda a: F.embedding(INDEX, a), table, 2),
    "layer_norm": (lambda a, b, c: F.layer_norm(a, a.shape[2:], b, c, eps=0.1), with_scale_and_shift, "all"),
    "rms_norm": (lambda a, b, c: F.rms_norm(a, a.shape[2:], b * c, eps=0.1), with_scale_and_shift, "all"),
}  # fmt: skip
"""Maps a name to the call, its inputs, and the number of summands of the longest sum, as for the primitives."""
