"""Cross-entropy between class scores and classes, and negative log-likelihood. Classes are on axis 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.arguments import check
from minirnn.arguments.host_array import integers
from minirnn.engine import operands
from minirnn.engine.operands import same_device
from minirnn.engine.tensor import Tensor, as_tensor
from minirnn.nn.functional.arguments import ANY_INTEGER, constant_like, no_legacy, widened
from minirnn.nn.functional.reductions import reduced
from minirnn.ops.losses import CrossEntropy
from minirnn.ops.primitives import log_softmax, where


def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Cross-entropy, in nats, between scores and classes: ``torch.nn.functional.cross_entropy``.

    For class indices it is ``-w[y] * log_softmax(x)[y]``, for class probabilities p
    ``-sum over classes c of w[c] * p[c] * log_softmax(x)[c]``.

    Parameters
    ----------
    input : (C,), (B, C) or (B, C, d1, ...)
        x, unnormalized scores. The classes are on axis 1, as in torch; `minirnn.ops.cross_entropy` has them on the last
        axis, where the layers of a recurrent network put them.
    target : integers (), (B,) or (B, d1, ...), or floats of the shape of `input`
        y, indices 0 .. C-1, or p, probabilities.
    weight : (C,), optional
        w, a constant factor for each class.
    size_average, reduce
        torch's old names for `reduction`; passing one is an error.
    ignore_index : int
        Targets with this index have loss 0 and no gradient, and do not count in the mean. Only for indices.
    reduction : {"mean", "sum", "none"}
        The mean for indices divides by the sum of their weights, that for probabilities by the number of rows. If there
        are no rows, or only ignored ones, the mean is NaN, with gradient 0.
    label_smoothing : float
        e, 0 .. 1: the target becomes ``(1 - e) * target + e / C`` (Szegedy et al. 2016).

    Returns
    -------
    Tensor of shape (), or (), (B,) or (B, d1, ...) with reduction "none"
    """
    op = "cross_entropy"
    no_legacy(op, size_average, reduce)
    check.reduction(op, reduction)
    smoothing = check.number(op, "label_smoothing", label_smoothing, 0, 1)
    ignore_index = check.integer(op, "ignore_index", ignore_index, *ANY_INTEGER)
    x, dtype = widened(op, input, operands.device_of(target))
    axis = _class_axis(op, x)
    w = _class_weights(op, weight, x, axis)
    if not isinstance(target, Tensor) and _kind(target) not in "fiu":
        integers(f"{op}: target", target, "integers, or floats for probabilities")  # raises the error for it
    if _kind(target) == "f":
        losses = _of_probabilities(op, x, axis, target, w, ignore_index, smoothing)
        rows = x.size // x.shape[axis] if x.size else 0
        return reduced(losses, reduction, rows).astype(dtype)
    y = _indices(op, x, axis, target, ignore_index)
    if axis == x.ndim - 1 and w is None and not smoothing and y.size and not (y == ignore_index).any():
        (losses,) = CrossEntropy(target=y)(x)  # one node
        return reduced(losses, reduction).astype(dtype)
    logp = log_softmax(x, axis)
    losses, counts = _picked(logp, axis, y, w, ignore_index)
    if smoothing:
        C = x.shape[axis]
        spread = -(logp if w is None else logp * _along(w, logp, axis)).sum(axis)
        losses = losses * (1 - smoothing) + where(y != ignore_index, spread, 0.0) * (smoothing / C)
    return reduced(losses, reduction, float(counts.sum())).astype(dtype)


def nll_loss(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
) -> Tensor:
    """Negative log-likelihood ``-w[y] * x[y]`` of log-probabilities x: ``torch.nn.functional.nll_loss``.

    After `log_softmax` it equals `cross_entropy`. It has the same arguments without `label_smoothing`, and targets are
    indices.
    """
    op = "nll_loss"
    no_legacy(op, size_average, reduce)
    check.reduction(op, reduction)
    ignore_index = check.integer(op, "ignore_index", ignore_index, *ANY_INTEGER)
    x, dtype = widened(op, input, operands.device_of(target))
    axis = _class_axis(op, x)
    w = _class_weights(op, weight, x, axis)
    losses, counts = _picked(x, axis, _indices(op, x, axis, target, ignore_index), w, ignore_index)
    return reduced(losses, reduction, float(counts.sum())).astype(dtype)


def _kind(target: Any) -> str:
    if not isinstance(target, Tensor):
        try:
            target = np.asarray(target)
        except ValueError:  # a ragged list
            return "?"
    return target.dtype.kind


def _class_axis(op: str, x: Tensor) -> int:
    if x.ndim == 0:
        raise ValueError(f"{op}: input has shape ()\n  expected (C,), (B, C) or (B, C, d1, ...)")
    return 0 if x.ndim == 1 else 1


def _class_weights(op: str, weight: Any, x: Tensor, axis: int) -> Tensor | None:
    if weight is None:
        return None
    if isinstance(weight, Tensor) and weight.requires_grad:
        raise ValueError(f"{op}: weight requires gradients\n  expected a constant; use weight.detach()")
    w = constant_like(op, "weight", weight, x)
    if w.shape != (x.shape[axis],):
        raise ValueError(
            f"{op}: weight has shape {w.shape}\n  expected (C,) = ({x.shape[axis]},), from input {x.shape} with its"
            f" classes on axis {axis}"
        )
    return w


def _along(w: Tensor, x: Tensor, axis: int) -> Tensor:
    """`w` (C,) in a shape that broadcasts to `x`."""
    return w.reshape((1,) * axis + w.shape + (1,) * (x.ndim - axis - 1))


def _of_probabilities(
    op: str, x: Tensor, axis: int, target: Any, w: Tensor | None, ignore_index: int, smoothing: float
) -> Tensor:
    p = as_tensor(target) if isinstance(target, Tensor) else as_tensor(target, device=x.device)
    same_device(op, x, p)
    if p.shape != x.shape:
        raise (TypeError if p.shape == x.shape[:axis] + x.shape[axis + 1 :] else ValueError)(
            f"{op}: target has dtype {p.dtype} and shape {p.shape}\n"
            f"  expected integers for classes, or probabilities of the shape of input, {x.shape}"
        )
    if ignore_index >= 0:
        raise ValueError(
            f"{op}: ignore_index is {ignore_index}, and target has dtype {p.dtype}\n"
            "  expected no ignore_index: probabilities are not indices"
        )
    p = p.astype(x.dtype)
    if smoothing:
        p = p * (1 - smoothing) + smoothing / x.shape[axis]
    terms = log_softmax(x, axis) * p
    return -(terms if w is None else terms * _along(w, x, axis)).sum(axis)


def _indices(op: str, x: Tensor, axis: int, target: Any, ignore_index: int) -> np.ndarray:
    """The checked classes on the host. Ignored ones are unchanged."""
    y = integers(f"{op}: target", target, "integers: the index of each right class").astype(np.int64)  # a copy
    expected = x.shape[:axis] + x.shape[axis + 1 :]
    if x.ndim == 1 and y.shape == (1,):
        y = y.reshape(())
    if y.shape != expected:
        cause = ""
        if y.shape == x.shape:
            cause = "\n  likely one-hot: as probabilities they must be floats, target.astype('float32')"
        elif x.ndim > 2 and y.shape == x.shape[:-1]:
            cause = "\n  likely classes on the last axis: mr.ops.cross_entropy has them there"
        raise ValueError(
            f"{op}: target has shape {y.shape}\n"
            f"  expected {expected}, from input {x.shape} with its classes on axis {axis}{cause}"
        )
    C = x.shape[axis]
    counted = y[y != ignore_index]
    if counted.size and (counted.min() < 0 or counted.max() >= C):
        raise ValueError(f"{op}: targets run from {counted.min()} to {counted.max()}\n  expected 0 .. {C - 1}")
    return y


def _picked(x: Tensor, axis: int, y: np.ndarray, w: Tensor | None, ignore_index: int) -> tuple[Tensor, np.ndarray]:
    """``-w[y] * x[y]`` of each row, 0 for ignored rows, and the weight of each row in the mean."""
    counted = y != ignore_index
    classes = np.where(counted, y, 0)
    counts = counted.astype(np.float64) if w is None else w.numpy().astype(np.float64)[classes] * counted
    if not counted.any():  # nothing is read, but the sum keeps the result on the tape
        return where(np.zeros(y.shape, np.bool_), x.sum(axis), 0.0), counts
    others = list(np.indices(y.shape))
    losses = -x[(*others[:axis], classes, *others[axis:])]
    if w is not None:
        losses = losses * as_tensor(counts, device=x.device, dtype=x.dtype)
    return (losses if counted.all() else where(counted, losses, 0.0)), counts
