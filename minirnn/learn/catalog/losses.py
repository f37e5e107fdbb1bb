"""Between arrays and a loss: broadcasting, stable exponentials, cross-entropy, and a table of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.learn.exercise import Exercise, Inputs, Sizes, Stage, Wrong
from minirnn.learn.formula import Formula
from minirnn.learn.formulas import losses

# ---- ex22: broadcasting, backwards


def broadcast(rng: np.random.Generator, s: Sizes) -> Inputs:
    return dict(dy=rng.normal(size=(s.T, s.B, s.H)), shapes=[(s.H,), (s.B, 1), (s.T, 1, s.H), ()])


def with_reduction(reduce: Any) -> Any:
    """`unbroadcast` with something else than the sum over an axis."""

    def wrong(dy: np.ndarray, shapes: Any) -> list[Any]:
        gradients = []
        for shape in shapes:
            part = dy
            for _ in range(dy.ndim - len(shape)):
                part = reduce(part, 0)
            for axis, n in enumerate(shape):
                part = np.expand_dims(reduce(part, axis), axis) if n == 1 else part
            gradients.append(part)
        return gradients

    return wrong


BROADCAST_MISTAKES = (
    Wrong(
        "a number that was used many times gets the sum of the gradients of its uses, not their mean",
        with_reduction(np.mean),
    ),
    Wrong(
        "a number that was used many times gets the gradients of all its uses; only the first was taken",
        with_reduction(lambda a, axis: np.take(a, 0, axis)),
    ),
    Wrong(
        "a number that was used many times gets the gradients of all its uses; only the last was taken",
        with_reduction(lambda a, axis: np.take(a, -1, axis)),
    ),
    Wrong(
        "a number that was used many times gets the sum of the gradients of its uses, not the largest",
        with_reduction(np.max),
    ),
)

# ---- ex23: numbers that do not overflow


def far_numbers(rng: np.random.Generator, s: Sizes) -> Inputs:
    """Numbers whose exponentials overflow; or, for odd T, so large that 1 + exp(-z) is 1."""
    z = rng.uniform(30, 45, size=(s.B, s.H)) if s.T % 2 else rng.normal(scale=3.0, size=(s.B, s.H))
    if s.T % 2 == 0:
        z[0, :2] = -900.0, 900.0
    # Every row in another region: one maximum for all would leave nothing of the lower ones.
    return dict(z=z, a=rng.normal(size=(s.B, s.H)) + 1000.0 * (np.arange(s.B)[:, None] - 1))


def stable_but(name: str, change: Any) -> Any:
    """`stable` with one of its outputs made otherwise."""

    def wrong(z: np.ndarray, a: np.ndarray) -> Any:
        outputs = dict(zip(("s", "log_s", "lse"), losses.stable(z, a), strict=True))
        outputs[name] = change(z, a)
        return tuple(outputs.values())

    return wrong


STABLE_MISTAKES = (
    Wrong(
        "lse: the maximum was subtracted before exp, and has to be added again after log",
        stable_but("lse", lambda z, a: np.log(np.exp(a - a.max(axis=1, keepdims=True)).sum(axis=1))),
    ),
    Wrong(
        "lse: that is the maximum alone; the logarithm of the sum is to be added",
        stable_but("lse", lambda z, a: a.max(axis=1)),
    ),
    Wrong(
        "log_s: exp(-abs(z)) is lost in 1 + exp(-abs(z)) when it is small: np.log1p keeps it",
        stable_but("log_s", lambda z, a: np.minimum(z, 0) - np.log(1 + np.exp(-np.abs(z)))),
    ),
    Wrong(
        "s: sigmoid(-z) was computed: for negative z it is exp(z) / (1 + exp(z))",
        stable_but("s", lambda z, a: 1 / (1 + np.exp(np.minimum(z, 700)))),
    ),
    Wrong(
        "log_s: that is the logarithm of sigmoid(-z)",
        stable_but("log_s", lambda z, a: np.minimum(-z, 0) - np.log1p(np.exp(-np.abs(z)))),
    ),
)

# ---- ex24: softmax and cross-entropy


def scores(rng: np.random.Generator, s: Sizes) -> Inputs:
    logits = 2.0 * rng.normal(size=(s.B + s.T, s.H + 1)) + (800.0 if s.T % 2 else 0.0)  # only differences count
    return dict(logits=logits, targets=rng.integers(0, s.H + 1, size=s.B + s.T), dloss=float(rng.uniform(0.5, 2.0)))


def plain(inputs: Inputs) -> Inputs:
    return {**inputs, "dloss": 1.0}


def softmax(logits: np.ndarray, axis: int = 1) -> np.ndarray:
    p: np.ndarray = np.exp(logits - logits.max(axis=axis, keepdims=True))
    return p / p.sum(axis=axis, keepdims=True)


def entropy_but(change: Any) -> Any:
    """`cross_entropy_backward` with other gradients: `change` takes p, onehot, dloss and the number of rows."""

    def wrong(logits: np.ndarray, targets: np.ndarray, dloss: float) -> Any:
        loss, _ = losses.cross_entropy_backward(logits, targets, dloss)
        return loss, change(softmax(logits), np.eye(logits.shape[1])[targets], dloss, len(logits))

    return wrong


def summed(logits: np.ndarray, targets: np.ndarray, dloss: float) -> Any:
    loss, dlogits = losses.cross_entropy_backward(logits, targets, dloss)
    return loss * len(logits), dlogits * len(logits)


def mean_loss_only(logits: np.ndarray, targets: np.ndarray, dloss: float) -> Any:
    loss, dlogits = losses.cross_entropy_backward(logits, targets, dloss)
    return loss, dlogits * len(logits)


def in_bits(logits: np.ndarray, targets: np.ndarray, dloss: float) -> Any:
    loss, dlogits = losses.cross_entropy_backward(logits, targets, dloss)
    return loss / np.log(2), dlogits


def by_all(logits: np.ndarray, targets: np.ndarray, dloss: float) -> Any:
    loss, dlogits = losses.cross_entropy_backward(logits, targets, dloss)
    return loss / logits.shape[1], dlogits / logits.shape[1]


def over_samples(logits: np.ndarray, targets: np.ndarray, dloss: float) -> Any:
    p, onehot = softmax(logits, 0), np.eye(logits.shape[1])[targets]
    return -(onehot * np.log(p)).sum() / len(logits), dloss * (p - onehot) / len(logits)


ENTROPY_MISTAKES = (
    Wrong("the loss is the mean over the rows, not the sum, and so is its gradient", summed),
    Wrong("dlogits: the loss is a mean over the rows, so its gradient is divided by their number, too", mean_loss_only),
    Wrong("the loss is the natural logarithm's, not that to base 2", in_bits),
    Wrong("the mean is taken over the rows, not over all numbers of logits", by_all),
    Wrong("softmax runs over the classes of a row (axis 1), not over the rows", over_samples),
    Wrong(
        "dlogits: the slope of softmax, p * (1 - p), is in p - onehot already",
        entropy_but(lambda p, onehot, dloss, n: dloss * (p - onehot) * p * (1 - p) / n),
    ),
    Wrong(
        "dlogits: only the target's column has a gradient here; every class has one, p - onehot",
        entropy_but(lambda p, onehot, dloss, n: dloss * (p - onehot) * onehot / n),
    ),
    Wrong(
        "dlogits: that is the gradient of the probabilities, -onehot / p; softmax is to be gone through, too",
        entropy_but(lambda p, onehot, dloss, n: -dloss * onehot / p / n),
    ),
)

# ---- ex25: a table of vectors


def looked_up(rng: np.random.Generator, s: Sizes) -> Inputs:
    V = s.B + 1  # fewer rows than look-ups, so some rows are used several times
    ids = rng.integers(0, V, size=(s.T, s.B))
    ids[0], ids[-1] = 0, 0
    return dict(ids=ids, dy=rng.normal(size=(s.T, s.B, s.I)), V=V + 1)  # one row is never used


def last_wins(ids: np.ndarray, dy: np.ndarray, V: int) -> np.ndarray:
    dw = np.zeros((V, dy.shape[-1]))
    dw[ids] += dy
    return dw


def averaged(ids: np.ndarray, dy: np.ndarray, V: int) -> np.ndarray:
    uses = np.bincount(ids.ravel(), minlength=V)
    return losses.embedding_backward(ids, dy, V) / np.maximum(uses, 1)[:, None]


def other_order(ids: np.ndarray, dy: np.ndarray, V: int) -> np.ndarray:
    return losses.embedding_backward(ids.T.reshape(ids.shape), dy, V)


def first_wins(ids: np.ndarray, dy: np.ndarray, V: int) -> np.ndarray:
    dw = np.zeros((V, dy.shape[-1]))
    dw[ids.ravel()[::-1]] = dy.reshape(-1, dy.shape[-1])[::-1]
    return dw


def last_step(ids: np.ndarray, dy: np.ndarray, V: int) -> np.ndarray:
    return losses.embedding_backward(ids[-1], dy[-1], V)


LOOK_UP_MISTAKES = (
    Wrong(
        "a row that was looked up several times keeps only the last contribution: NumPy's dw[ids] += dy adds once a "
        "row; np.add.at(dw, ids, dy) adds all",
        last_wins,
    ),
    Wrong("a row that was looked up several times keeps only the first contribution", first_wins),
    Wrong("a row that was looked up several times gets the sum of the contributions, not their mean", averaged),
    Wrong("ids and dy are not read in the same order: one has time first, the other the sample", other_order),
    Wrong("only the last step's look-ups are there", last_step),
)

EXERCISES = (
    Exercise(
        "01_tape/ex22_unbroadcast.py",
        broadcast,
        losses.unbroadcast,
        {"da": "(H,)", "db": "(B, 1)", "dc": "(T, 1, H)", "dd": "()"},
        wrong=BROADCAST_MISTAKES,
    ),
    Exercise(
        "11_losses/ex23_stable.py",
        far_numbers,
        losses.stable,
        {"s": "(B, H)", "log_s": "(B, H)", "lse": "(B,)"},
        wrong=STABLE_MISTAKES,
    ),
    Exercise(
        "11_losses/ex24_cross_entropy.py",
        scores,
        losses.cross_entropy_backward,
        {"loss": "()", "dlogits": "(N, V)"},
        Formula(losses.cross_entropy_backward),
        wrong=ENTROPY_MISTAKES,
        stages=(
            Stage("with dloss = 1", "softmax, the mean over the rows, and p - onehot", change=plain),
            Stage("with any dloss", "dloss, which multiplies every gradient"),
        ),
    ),
    Exercise(
        "11_losses/ex25_embedding.py",
        looked_up,
        losses.embedding_backward,
        {"dw": "(V, I)"},
        wrong=LOOK_UP_MISTAKES,
    ),
)
