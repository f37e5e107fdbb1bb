"""Exercises about losses, embeddings, weights and steps in the place of kernels, primitives and tasks.

Each function takes an answer, the device and the arguments of the kernel. It returns the result of the kernel, or
NotImplemented if the exercise does not cover the case.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from minirnn.learn.mine.answers import Answer, like

Array = np.ndarray


def log_sum_exp(answer: Answer, device: Any, x: Array, *, target: Array) -> Any:
    if not x.size:
        return NotImplemented
    rows, right = x.reshape(-1, x.shape[-1]), target.reshape(-1)
    _, _, lse = answer(rows, rows)
    return (like(lse - rows[np.arange(len(rows)), right], right.astype(x.dtype)).reshape(target.shape),)


def cross_entropy_grad(answer: Answer, device: Any, x: Array, dy: Array, *, target: Array) -> Any:
    """The exercise computes the mean over N rows. With dloss = N, each row gets its own gradient."""
    if not x.size:
        return NotImplemented
    rows = x.reshape(-1, x.shape[-1])
    _, dlogits = answer(rows, target.reshape(-1), float(len(rows)))
    return ((like(dlogits, rows) * dy.reshape(-1, 1)).reshape(x.shape),)


def embedding(answer: Answer, device: Any, shape: Any, index: Any, values: Array) -> Any:
    ids = index[0] if index else None
    if len(shape) != 2 or len(index) != 1 or not isinstance(ids, np.ndarray) or ids.dtype.kind != "i" or not ids.size:
        return NotImplemented
    if (ids < 0).any() or values.shape != (*ids.shape, shape[1]):
        return NotImplemented
    if ids.ndim != 2:
        ids, values = ids.reshape(-1, 1), values.reshape(-1, 1, shape[1])
    return like(answer(ids, values, shape[0]), np.empty(shape, values.dtype))


def adam(answer: Answer, device: Any, p: Array, g: Array, m: Any, v: Any, *, step: int, **settings: float) -> Any:
    before = [np.zeros_like(p) if a is None else a for a in (m, v)]
    order = [settings[name] for name in ("lr", "beta1", "beta2", "eps")]
    return tuple(like(a, p) for a in answer(p, g, *before, step, *order))


def rmsprop(answer: Answer, device: Any, p: Array, g: Array, v: Any, buffer: Any, **settings: float) -> Any:
    before = [np.zeros_like(p) if a is None else a for a in (v, buffer)]
    order = [settings[name] for name in ("lr", "alpha", "eps", "momentum")]
    return tuple(like(a, p) for a in answer(p, g, *before, *order))


def clip(answer: Answer, device: Any, gradients: list[Array], max_norm: float) -> Any:
    clipped, norm = answer([np.asarray(g) for g in gradients], max_norm)
    return [like(a, g) for a, g in zip(clipped, gradients, strict=True)], float(norm)


def dropout(answer: Answer, device: Any, u: Array, rate: float) -> Any:
    """The mask is the result of dropout on ones."""
    rows = u.reshape(-1, u.shape[-1])
    ones = np.ones((1, *rows.shape), u.dtype)
    y, _ = answer(ones, rows, rate, True, ones)
    return like(y, ones)[0].reshape(u.shape)


def lstm_start(answer: Answer, device: Any, uniform: Array, normal: Array) -> Any:
    return tuple(np.asarray(a, uniform.dtype) for a in answer(uniform, normal))


def unbroadcast(answer: Answer, device: Any, dy: Array, shape: Any) -> Any:
    """The exercise has four shapes that broadcast to (T, B, H). One of them may be the requested shape."""
    if dy.ndim > 3 or dy.ndim == 0 or not dy.size:
        return NotImplemented
    shape, full = tuple(shape), dy.reshape((1,) * (3 - dy.ndim) + dy.shape)
    T, B, H = full.shape
    shapes = [(H,), (B, 1), (T, 1, H), ()]
    if shape not in shapes:
        return NotImplemented
    return like(answer(full, shapes)[shapes.index(shape)], np.empty(shape, dy.dtype))


def ring(answer: Answer, device: Any, rank: int, size: int, part: Array, pass_on: Any) -> Any:
    """The exercise describes what all ranks do. Here each rank does all of it, with zeros for the numbers of others.

    Messages to its own rank come from the real previous rank, so its own sums are right.
    """
    if part.dtype.kind != "f" or part.size < size:
        return NotImplemented
    flat = part.reshape(-1)
    parts, counts = np.zeros((size, flat.size), part.dtype), np.zeros(size, np.int64)
    parts[rank] = flat
    wires: list[deque[Array]] = [deque() for _ in range(size)]
    own: deque[Array] = deque()

    def send(r: int, values: Any) -> None:
        message = np.array(values, part.dtype)
        wires[(r + 1) % size].append(message)
        counts[r] += message.nbytes
        if r == rank:
            own.append(message)

    def receive(r: int) -> Array:
        message = wires[r].popleft()
        return message if r != rank else pass_on(own.popleft(), message.size).reshape(message.shape)

    sums, _ = answer(parts, send, receive, counts.copy)
    return like(sums[rank], flat).reshape(part.shape)
