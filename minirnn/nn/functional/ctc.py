"""Connectionist temporal classification: the loss of a sequence of labels at unknown times."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from minirnn.arguments import check
from minirnn.arguments.host_array import integers
from minirnn.engine.tape import Op, record
from minirnn.engine.tensor import Tensor, as_tensor
from minirnn.nn.functional.arguments import widened
from minirnn.nn.functional.reductions import reduced
from minirnn.ops.primitives import add, clip, concat, exp, unbind, where
from minirnn.ops.primitives.declare import Primitive

_NEVER = -1e30
"""The logarithm of probability 0. It is finite, so that differences are not NaN, and far below all other logarithms."""


class NeverHappens(Op):
    """y = infinity where no path leads to the target, else x       dx = NaN there, as in torch, else dy"""

    reads_inputs = False

    def __init__(self, impossible: np.ndarray) -> None:
        self.impossible = impossible

    def backward(self, dy: Tensor, y: Tensor, x: Tensor) -> tuple[Tensor]:
        return (where(self.impossible, float("nan"), dy),)


class LogSumExp(Primitive, uses="exp log maximum", reads="x"):
    """y = log(exp(a) + exp(b) + ...), without overflow        da = dy * exp(a) / (exp(a) + exp(b) + ...)"""

    def forward(self, device: Any, *terms: Any) -> Any:
        shift = reduce(device.maximum, terms)
        total = reduce(device.add, [device.exp(device.subtract(t, shift)) for t in terms])
        return device.add(device.log(total), shift)

    def backward(self, dy: Tensor, y: Tensor, *terms: Tensor) -> tuple[Tensor, ...]:
        shift = y.detach()  # a constant, which cancels in the quotients
        shares = [exp(t - shift) for t in terms]
        part = dy / reduce(add, shares)
        return tuple(share * part for share in shares)


LOG_SUM_EXP = LogSumExp()


def ctc_loss(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Minus the logarithm of the probability of the target, summed over all possible times of its labels.

    This is ``torch.nn.functional.ctc_loss``. A path has one class at each step. Removing its repetitions and then its
    blanks must give the target. With the target extended by blanks, ``z = blank, y_1, blank, ..., y_S, blank``, the
    probability ``a[t, s]`` of all partial paths that are at z_s at step t is

        ``a[t, s] = (a[t-1, s] + a[t-1, s-1] + (a[t-1, s-2] if z_s != z_(s-2))) * p[t, z_s]``,

    whose logarithm is computed step by step on the tape, so that it has derivatives of any order. The loss is
    ``-log(a[T-1, 2S] + a[T-1, 2S-1])``. Graves et al. 2006.

    Parameters
    ----------
    log_probs : (T, B, C) or (T, C)
        Logarithms of probabilities, such as from `log_softmax`. The gradient assumes that they are normalized, as in
        torch. It is ``exp(log_probs)`` minus the share of the paths through each class, which sums to 0 over the
        classes. After `log_softmax` this is the derivative of the loss, but not for Tensors that are not normalized.
    targets : integers (B, S), padded, or (sum of target_lengths,), concatenated
        Classes other than `blank`.
    input_lengths, target_lengths : integers (B,), or () for (T, C)
        The numbers of steps and labels of each sequence. Later values are ignored.
    blank : int
        The class of the blank, which adds no label.
    reduction : {"mean", "sum", "none"}
        For "mean" each loss is divided by its target's length (at least 1), before the mean over B is taken.
    zero_infinity : bool
        Whether infinite losses (of a target too long for its input) and their gradients become 0. Otherwise their
        gradients are NaN.

    Returns
    -------
    Tensor of shape (), or (B,) with reduction "none" and (T, B, C)
    """
    op = "ctc_loss"
    check.reduction(op, reduction)
    zero_infinity = check.flag(op, "zero_infinity", zero_infinity)
    x, dtype = widened(op, log_probs)
    if x.ndim not in (2, 3):
        raise ValueError(f"{op}: log_probs has shape {x.shape}\n  expected (T, B, C) or (T, C)")
    single = x.ndim == 2
    x = x.reshape(x.shape[0], 1, x.shape[1]) if single else x
    T, B, C = x.shape
    blank = check.integer(op, "blank", blank, 0, C - 1, f": the classes of log_probs {x.shape}")
    steps = _lengths(op, "input_lengths", input_lengths, B)
    sizes = _lengths(op, "target_lengths", target_lengths, B)
    if steps.size and steps.max() > T:
        raise ValueError(f"{op}: input_lengths run to {steps.max()}\n  expected at most T = {T}, from log_probs")
    z = _extended(op, targets, sizes, blank, C)  # (B, 2S+1)
    read = (np.arange(T)[:, None] < steps)[:, :, None]  # (T, B, 1)
    x = x if read.all() else where(read, x, 0.0)  # values after the lengths may be NaN

    losses = _paths(x, z, steps, sizes)  # (B,)
    if x.requires_grad:  # adds 0 to the loss, and the gradient of the sum of probabilities: see log_probs above
        total = where(read, exp(x), 0.0).sum((0, 2))
        losses = losses + (total - total.detach())
    impossible = losses.numpy() > -_NEVER * 0.5
    if impossible.any():
        if zero_infinity:
            losses = where(impossible, 0.0, losses)
        else:
            infinite = where(impossible, float("inf"), losses.detach())
            losses = record(NeverHappens(impossible), x.device, infinite.array, (losses,))
    if reduction == "mean":
        losses = losses / as_tensor(np.maximum(sizes, 1), device=x.device, dtype=x.dtype)
    return reduced(losses.reshape(()) if single else losses, reduction).astype(dtype)


def _paths(x: Tensor, z: np.ndarray, steps: np.ndarray, sizes: np.ndarray) -> Tensor:
    """Minus the logarithm of the probability of all paths (B,), or about ``-_NEVER`` if there are none."""
    T, B, _ = x.shape
    rows, S2 = np.arange(B), z.shape[1]
    never = as_tensor(np.full((B, 2), _NEVER), device=x.device, dtype=x.dtype)
    if not steps.any():
        return where(sizes > 0, -_NEVER, x.sum((0, 2)))  # zeros, so that nothing of x is read
    scores = clip(x[:, rows[:, None], z], _NEVER, None)  # (T, B, 2S+1)
    skips = np.full(z.shape, _NEVER)
    skips[:, 3::2][z[:, 3::2] != z[:, 1:-2:2]] = 0.0  # from label to label over the blank between them
    may_skip = as_tensor(skips, device=x.device, dtype=x.dtype)
    first, *others = unbind(scores)
    a = where(np.arange(S2) < 2, first, _NEVER)
    for t, score in enumerate(others[: steps.max() - 1], 1):
        before = concat([never, a], 1)
        new = LOG_SUM_EXP(a, before[:, 1:-1], before[:, :-2] + may_skip) + score
        a = new if (steps > t).all() else where((steps > t)[:, None], new, a)
    at_blank = a[rows, 2 * sizes]
    at_label = where(sizes > 0, a[rows, np.maximum(2 * sizes - 1, 0)], _NEVER)
    losses = -LOG_SUM_EXP(at_blank, at_label)
    unheard = (steps == 0) & (sizes > 0)  # without a step only the empty target is possible, with loss 0
    return where(unheard, -_NEVER, losses) if unheard.any() else losses


def _lengths(op: str, name: str, value: Any, B: int) -> np.ndarray:
    lengths = integers(f"{op}: {name}", value).astype(np.int64)
    if lengths.size != B or lengths.ndim > 1:
        raise ValueError(f"{op}: {name} has shape {lengths.shape}\n  expected (B,) = ({B},), from log_probs")
    if lengths.size and lengths.min() < 0:
        raise ValueError(f"{op}: {name} has {lengths.min()}\n  expected 0 or more")
    return lengths.reshape(B)


def _extended(op: str, targets: Any, sizes: np.ndarray, blank: int, C: int) -> np.ndarray:
    """The labels of each sequence with blanks before, between and after them, padded with blanks: (B, 2S+1)."""
    labels = integers(f"{op}: targets", targets)
    B, S = len(sizes), int(sizes.max()) if sizes.size else 0
    inside = np.arange(S) < sizes[:, None]  # (B, S)
    if labels.ndim == 1 and labels.shape == (sizes.sum(),):
        said = labels
    elif labels.ndim == 2 and labels.shape[0] == B and labels.shape[1] >= S:
        said = labels[:, :S][inside]
    else:
        raise ValueError(
            f"{op}: targets has shape {labels.shape}\n"
            f"  expected (B, S) with B = {B} and S = {S} or more, or all labels in one row, ({sizes.sum()},),"
            " from target_lengths"
        )
    if said.size and (said.min() < 0 or said.max() >= C or (said == blank).any()):
        raise ValueError(
            f"{op}: targets run from {said.min()} to {said.max()}, and blank is {blank}\n"
            f"  expected 0 .. {C - 1}, from log_probs, without blank"
            + ("\n  likely padding that target_lengths counts" if (said == blank).any() else "")
        )
    z = np.full((B, 2 * S + 1), blank, np.int64)
    z[:, 1::2][inside] = said
    return z
