"""Between arrays and a loss: broadcasting, stable exponentials, cross-entropy, and a table of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.learn.exercise import Exercise, Inputs, Sizes, Stage, Wrong
from minirnn.learn.formulas import losses

# ---- ex22: broadcasting, backwards


def broadcast(rng: np.random.Generator, s: Sizes) -> Inputs:
    return dict(dy=rng.normal(size=(s.T, s.B, s.H)), shapes=[(s.H,), (s.B, 1), (s.T, 1, s.H), ()])


def with_reduction(leading: Any, stretched: Any = None) -> Any:
    """`unbroadcast` with something else than the sum over axes put in front, and over axes stretched from 1."""
    stretched = leading if stretched is None else stretched

    def wrong(dy: np.ndarray, shapes: Any) -> list[Any]:
        gradients = []
        for shape in shapes:
            part = dy
            for _ in range(dy.ndim - len(shape)):
                part = leading(part, 0)
            for axis, n in enumerate(shape):
                part = np.expand_dims(stretched(part, axis), axis) if n == 1 else part
            gradients.append(part)
        return gradients

    return wrong


def taken(index: int) -> Any:
    return lambda a, axis: np.take(a, index, axis)


BROADCAST_MISTAKES = (
    *(
        Wrong(
            f"{words} along the axes that broadcasting {axes}: their gradients are to be summed", with_reduction(*pair)
        )
        for words, change in (
            ("the mean is taken", np.mean),
            ("only the first is taken", taken(0)),
            ("only the last is taken", taken(-1)),
        )
        for axes, pair in (("put in front", (change, np.sum)), ("stretched from 1", (np.sum, change)))
    ),
    Wrong(
        "a number that was used many times gets the sum of the gradients of its uses, not their mean",
        with_reduction(np.mean),
    ),
    Wrong(
        "a number that was used many times gets the gradients of all its uses; only the first was taken",
        with_reduction(taken(0)),
    ),
    Wrong(
        "a number that was used many times gets the gradients of all its uses; only the last was taken",
        with_reduction(taken(-1)),
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


def clipped(name: str, limit: float) -> Any:
    """`stable` with one of its outputs computed from clipped numbers."""
    at = {"s": 0, "log_s": 1, "lse": 2}[name]
    return stable_but(name, lambda z, a: losses.stable(np.clip(z, -limit, limit), np.clip(a, -limit, limit))[at])


LIMITS = (10, 15, 20, 30, 50, 60, 80, 88, 100, 200, 250, 300, 500, 600, 700, 709)

STABLE_MISTAKES = (
    Wrong(
        "log_s: it is -inf where it must be z: s is 0 there, or exp overflows; take min(z, 0) - log1p(exp(-abs(z)))",
        stable_but("log_s", lambda z, a: -np.log1p(np.exp(-z))),
    ),
    Wrong(
        "log_s: the logarithm of s is taken: close to 1 s has too few digits; take min(z, 0) - log1p(exp(-abs(z)))",
        stable_but("log_s", lambda z, a: np.log(losses.stable(z, a)[0])),
    ),
    Wrong("log_s: exp overflows in z - log(1 + exp(z))", stable_but("log_s", lambda z, a: z - np.log1p(np.exp(z)))),
    Wrong(
        "s: exp(z) / (1 + exp(z)) is inf / inf for large z", stable_but("s", lambda z, a: np.exp(z) / (1 + np.exp(z)))
    ),
    Wrong(
        "s: exp(-z) overflows in exp(-z) / (1 + exp(-z)), and that is sigmoid(-z)",
        stable_but("s", lambda z, a: np.exp(-z) / (1 + np.exp(-z))),
    ),
    Wrong(
        "lse: the largest number of the whole array is subtracted; each row needs its own",
        stable_but("lse", lambda z, a: a.max() + np.log(np.exp(a - a.max()).sum(axis=1))),
    ),
    Wrong(
        "lse: exp overflows: subtract the largest number of each row first",
        stable_but("lse", lambda z, a: np.log(np.exp(a).sum(axis=1))),
    ),
    *(
        Wrong(f"{name}: the numbers are clipped to {limit}; beyond that they are wrong", clipped(name, limit))
        for name, limits in (("s", LIMITS[:2]), ("log_s", LIMITS), ("lse", LIMITS))
        for limit in limits
    ),
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


def sum_loss_only(logits: np.ndarray, targets: np.ndarray, dloss: float) -> Any:
    loss, dlogits = losses.cross_entropy_backward(logits, targets, dloss)
    return loss * len(logits), dlogits


SMALL = (1e-8, 1e-7, 1e-6, 1e-5, 1e-9, 1e-10, 1e-3, 1e-4)


def padded_log(small: float) -> Any:
    def wrong(logits: np.ndarray, targets: np.ndarray, dloss: float) -> Any:
        p = softmax(logits)[np.arange(len(logits)), targets]
        return -np.log(p + small).mean(), losses.cross_entropy_backward(logits, targets, dloss)[1]

    return wrong


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
    Wrong("loss: the sum is returned; it is the mean over the rows (the gradient is that of the mean)", sum_loss_only),
    *(Wrong(f"loss: {small:g} is added inside of the logarithm", padded_log(small)) for small in SMALL),
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


def once_in_each(axis: int) -> Any:
    """`embedding_backward` step by step, or sample by sample, with NumPy's dw[ids] += dy."""

    def wrong(ids: np.ndarray, dy: np.ndarray, V: int) -> np.ndarray:
        dw = np.zeros((V, dy.shape[-1]))
        for n in range(ids.shape[axis]):
            dw[ids.take(n, axis)] += dy.take(n, axis)
        return dw

    return wrong


LOOK_UP_MISTAKES = (
    Wrong(
        "a row that occurs several times in one step keeps only one contribution of that step: NumPy's dw[ids[t]] += "
        "dy[t] adds once a row; np.add.at adds all",
        once_in_each(0),
    ),
    Wrong(
        "a row that a sample looks up several times keeps only one of its contributions: NumPy's dw[ids[:, b]] += "
        "dy[:, b] adds once a row; np.add.at adds all",
        once_in_each(1),
    ),
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
