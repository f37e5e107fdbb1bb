"""The lines of `minirnn/lookup/pointers.txt` that are expressions, with values for their letters and torch's function.

`tests/golden/make_names.py` stores what torch returns, and `tests/lookup/test_lines_of_names.py` evaluates the lines.
"""

import re
from typing import Any

import numpy as np

from minirnn.lookup.pointers import answer

M, N = [[0.5, -1.25, 2.0], [1.5, 0.25, -0.75]], [[1.0, 0.5, -2.0], [0.75, 3.0, -1.5]]
SQUARE = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]
P = [[0.25, 0.5, 0.125], [0.75, 0.0625, 0.5]]
V, W = [1.0, -2.0, 0.5], [0.25, 3.0, -1.5]
SIGNS = [[1.0, -1.0, 1.0], [-1.0, 1.0, -1.0]]

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "baddbmm": (
        "torch.baddbmm(bias, a, b, beta=beta, alpha=alpha)",
        {"bias": [[[1.0]]], "a": [M], "b": [[[1.0], [2.0], [3.0]]], "beta": 2, "alpha": 3},
    ),
    "addbmm": ("torch.addbmm(bias, a, b)", {"bias": [[1.0]], "a": [M, N], "b": [[[1.0], [2.0], [3.0]]] * 2}),
    "addmv": ("torch.addmv(bias, a, v)", {"bias": [1.0, 2.0], "a": M, "v": V}),
    "addr": ("torch.addr(t, a, b)", {"t": SQUARE, "a": V, "b": W}),
    "ger": ("torch.ger(a, b)", {"a": V, "b": W}),
    "inner": ("torch.inner(a, b)", {"a": V, "b": W}),
    "addcmul": ("torch.addcmul(t, a, b, value=2)", {"t": M, "a": N, "b": M, "value": 2}),
    "addcdiv": ("torch.addcdiv(t, a, b, value=2)", {"t": M, "a": N, "b": M, "value": 2}),
    "float_power": ("torch.float_power(x, y)", {"x": P, "y": N}),
    "rsub": ("torch.rsub(a, b)", {"a": M, "b": N}),
    "log2": ("torch.log2(x)", {"x": P}),
    "log10": ("torch.log10(x)", {"x": P}),
    "exp2": ("torch.exp2(x)", {"x": M}),
    "sinh": ("torch.sinh(x)", {"x": M}),
    "cosh": ("torch.cosh(x)", {"x": M}),
    "asinh": ("torch.asinh(x)", {"x": M}),
    "acosh": ("torch.acosh(x)", {"x": SQUARE}),
    "atanh": ("torch.atanh(x)", {"x": P}),
    "logit": ("torch.logit(p)", {"p": P}),
    "erfc": ("torch.erfc(x)", {"x": M}),
    "sinc": ("torch.sinc(x)", {"x": [0.0, 0.5, -1.25]}),
    "xlogy": ("torch.xlogy(x, y)", {"x": [0.0, 1.5, 2.0], "y": [0.5, 0.25, 3.0]}),
    "logaddexp2": ("torch.logaddexp2(a, b)", {"a": M, "b": N}),
    "logcumsumexp": ("torch.logcumsumexp(x, 0)", {"x": [-800.0, 800.0, 1.0], "n": 3}),
    "hypot": ("torch.hypot(a, b)", {"a": M, "b": N}),
    "deg2rad": ("torch.deg2rad(x)", {"x": M}),
    "rad2deg": ("torch.rad2deg(x)", {"x": M}),
    "copysign": ("torch.copysign(a, b)", {"a": M, "b": N}),
    "heaviside": ("torch.heaviside(x, values)", {"x": [0.0, -1.0, 2.0], "values": [0.5, 0.5, 0.5]}),
    "ldexp": ("torch.ldexp(a, b)", {"a": M, "b": SIGNS}),
    "frac": ("torch.frac(x)", {"x": M}),
    "fmod": ("torch.fmod(a, b)", {"a": M, "b": N}),
    "true_divide": ("torch.true_divide(a, b)", {"a": M, "b": N}),
    "subtract": ("torch.subtract(a, b)", {"a": M, "b": N}),
    "multiply": ("torch.multiply(a, b)", {"a": M, "b": N}),
    "negative": ("torch.negative(x)", {"x": M}),
    "positive": ("torch.positive(x)", {"x": M}),
    "signbit": ("torch.signbit(x)", {"x": M}),
    "not_equal": ("torch.not_equal(a, b)", {"a": M, "b": N}),
    "less": ("torch.less(a, b)", {"a": M, "b": N}),
    "less_equal": ("torch.less_equal(a, b)", {"a": M, "b": N}),
    "greater": ("torch.greater(a, b)", {"a": M, "b": N}),
    "greater_equal": ("torch.greater_equal(a, b)", {"a": M, "b": N}),
    "isposinf": ("torch.isposinf(x)", {"x": [1.0, np.inf, -np.inf]}),
    "isneginf": ("torch.isneginf(x)", {"x": [1.0, np.inf, -np.inf]}),
    "bitwise_left_shift": ("torch.bitwise_left_shift(a, b)", {"a": [5, -3, 7], "b": [1, 2, 0]}),
    "bitwise_right_shift": ("torch.bitwise_right_shift(a, b)", {"a": [5, -3, 7], "b": [1, 1, 0]}),
    "nan_to_num": ("torch.nan_to_num(x)", {"x": [1.0, np.nan]}),
    "dist": ("torch.dist(a, b)", {"a": M, "b": N}),
    "renorm": ("torch.renorm(t, 2, 0, maxnorm)", {"t": M, "maxnorm": 2.0, "k": 1}),
    "cdist": ("torch.cdist(a, b)", {"a": [M], "b": [N]}),
    "pairwise_distance": ("F.pairwise_distance(a, b, eps=eps)", {"a": M, "b": N, "eps": 1e-6}),
    "trace": ("torch.trace(t)", {"t": M}),
    "vander": ("torch.vander(x, increasing=True)", {"x": V, "n": 3}),
    "argwhere": ("torch.argwhere(t)", {"t": [[0.0, 1.0], [2.0, 0.0]]}),
    "bincount": ("torch.bincount(t)", {"t": [1, 3, 1]}),
    "unique": ("torch.unique(t)", {"t": [3.0, 1.0, 3.0]}),
    "searchsorted": ("torch.searchsorted(a, v)", {"a": [1.0, 2.0, 3.0], "v": [2.5, 0.0]}),
    "msort": ("torch.msort(t)", {"t": SQUARE[::-1]}),
    "select": ("torch.select(t, 1, k)", {"t": SQUARE, "k": 1}),
    "diag": ("torch.diag(t, k)", {"t": SQUARE, "k": 1}),
    "diag_embed": ("torch.diag_embed(t)", {"t": M, "n": 3}),
    "diagflat": ("torch.diagflat(t)", {"t": M, "n": 6}),
    "take": ("torch.take(t, index)", {"t": SQUARE, "index": [0, 5]}),
    "hstack": ("torch.hstack(list)", {"list": [V, W]}),
    "hstack of matrices": ("torch.hstack(list)", {"list": [M, N]}),
    "vstack": ("torch.vstack(list)", {"list": [V, W]}),
    "vstack of matrices": ("torch.vstack(list)", {"list": [M, N]}),
    "column_stack": ("torch.column_stack(list)", {"list": [V, W]}),
    "column_stack of matrices": ("torch.column_stack(list)", {"list": [M, N]}),
    "dstack": ("torch.dstack(list)", {"list": [M, N]}),
    "fliplr": ("torch.fliplr(t)", {"t": M}),
    "flipud": ("torch.flipud(t)", {"t": M}),
    "rot90": ("torch.rot90(t)", {"t": M}),
    "adjoint": ("torch.adjoint(t)", {"t": M}),
    "atleast_1d": ("torch.atleast_1d(t)", {"t": 2.0}),
    "atleast_2d": ("torch.atleast_2d(t)", {"t": V}),
    "atleast_2d of matrices": ("torch.atleast_2d(t)", {"t": M}),
    "atleast_3d": ("torch.atleast_3d(t)", {"t": V}),
    "atleast_3d of matrices": ("torch.atleast_3d(t)", {"t": M}),
    "range": ("torch.range(start, end, step)", {"start": 1.0, "end": 2.0, "step": 0.25}),
    "logspace": ("torch.logspace(start, end, steps, base)", {"start": 0.0, "end": 2.0, "steps": 3, "base": 2.0}),
    "prelu": ("F.prelu(x, weight)", {"x": M, "weight": [0.5]}),
    "celu": ("F.celu(x, alpha)", {"x": M, "alpha": 2.0}),
    "selu": ("F.selu(x)", {"x": M}),
    "mish": ("F.mish(x)", {"x": M}),
    "hardsigmoid": ("F.hardsigmoid(x)", {"x": M}),
    "hardswish": ("F.hardswish(x)", {"x": M}),
    "hardshrink": ("F.hardshrink(x, lambd)", {"x": M, "lambd": 0.75}),
    "softshrink": ("F.softshrink(x, lambd)", {"x": M, "lambd": 0.75}),
    "softsign": ("F.softsign(x)", {"x": M}),
    "tanhshrink": ("F.tanhshrink(x)", {"x": M}),
    "threshold": ("F.threshold(x, threshold, value)", {"x": M, "threshold": 0.25, "value": 5.0}),
    "gaussian_nll_loss": ("F.gaussian_nll_loss(x, target, var)", {"x": M, "target": N, "var": P}),
    "poisson_nll_loss": ("F.poisson_nll_loss(x, target)", {"x": M, "target": P}),
    "soft_margin_loss": ("F.soft_margin_loss(x, target)", {"x": M, "target": SIGNS}),
    "hinge_embedding_loss": ("F.hinge_embedding_loss(x, target, margin)", {"x": M, "target": SIGNS, "margin": 1.5}),
    "margin_ranking_loss": (
        "F.margin_ranking_loss(a, b, target, margin)",
        {"a": M, "b": N, "target": SIGNS, "margin": 0.5},
    ),
    "multi_margin_loss": ("F.multi_margin_loss(x, target, margin=margin)", {"x": M, "target": [1, 2], "margin": 1.5}),
    "multilabel_soft_margin_loss": (
        "F.multilabel_soft_margin_loss(x, target)",
        {"x": M, "target": [[1.0, 0.0, 1.0]] * 2},
    ),
    "cosine_embedding_loss": (
        "F.cosine_embedding_loss(a, b, target, margin)",
        {"a": M, "b": N, "target": [-1, 1], "margin": -0.75},
    ),
    "triplet_margin_loss": (
        "F.triplet_margin_loss(a, p, n, margin, eps=eps)",
        {"a": M, "p": N, "n": P, "margin": 1.0, "eps": 1e-6},
    ),
}
"""A name (with words behind it if there are several cases): torch's expression, and the letters of the line."""


def line(name: str) -> str:
    """The expression of a line. "of a matrix: t" and "x, and its mean" are `t` and ``(x).mean()``. For a name that has
    no line because minirnn has it, it is a call.
    """
    place = "nn.functional" if CASES[name][0].startswith("F.") else ""
    text, here = answer(name.partition(" ")[0], place)
    assert here, name
    head, colon, rest = text.partition(": ")
    text = rest if colon and head.startswith(("of ", "for ")) else text
    base, mean, _ = text.partition(", and its mean")
    if re.fullmatch(r"mr\.[\w.]+", base):  # the name is here by now
        base += f"({', '.join(CASES[name][1])})"
    return f"({base}).mean()" if mean else base


def letters(name: str, tensor: Any) -> dict[str, Any]:
    """The letters of a line, with lists of numbers as Tensors and lists called `list` as lists of them."""
    return {
        letter: [tensor(v) for v in value]
        if letter == "list"
        else tensor(value)
        if letter not in PLAIN or isinstance(value, list)
        else value
        for letter, value in CASES[name][1].items()
    }


PLAIN = {
    "n",
    "k",
    "eps",
    "margin",
    "lambd",
    "alpha",
    "beta",
    "maxnorm",
    "threshold",
    "start",
    "end",
    "step",
    "steps",
    "base",
    "value",
}
"""Letters that are numbers."""
