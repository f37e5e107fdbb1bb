"""Small computations, one per part, whose results on the learner's device are compared with those on cpu."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from minirnn import devices, nn
from minirnn.devices.base import Device
from minirnn.engine import random
from minirnn.engine.tensor import Tensor, tensor
from minirnn.learn.catalog import EXERCISES
from minirnn.learn.mine.tasks import answered
from minirnn.learn.mine.through_time import block_layout
from minirnn.ops import block_lstm, cross_entropy, gru_block_cell, tanh
from minirnn.parallel.world import World, simulate

Probe = Callable[[Device], list[np.ndarray]]
"""Computes on a device and returns all resulting numbers."""
T, B, I, H = 4, 2, 3, 5


def numbers(*tensors: Any) -> list[np.ndarray]:
    return [np.asarray(t.numpy() if isinstance(t, Tensor) else t) for t in tensors]


def leaves(device: Device, *shapes: tuple[int, ...], dtype: Any = np.float64) -> list[Tensor]:
    """Random leaves, the same on every device."""
    rng = np.random.default_rng(0)
    return [tensor(0.5 * rng.standard_normal(s), requires_grad=True, device=device, dtype=dtype) for s in shapes]


def weighed(*outputs: Tensor) -> Tensor:
    """A loss to which every number of the outputs contributes with its own weight."""
    rng = np.random.default_rng(1)
    total: Any = 0.0
    for y in outputs:
        total = total + (y * rng.standard_normal(y.shape).astype(y.dtype)).sum()
    return total


def layer(kind: Any, lengths: Any = None, **settings: Any) -> Probe:
    """A recurrent layer with nonzero initial states and a loss of its outputs and last states."""

    def probe(device: Device) -> list[np.ndarray]:
        with random.replayed(np.random.Philox(0).state):
            net = kind(I, H, device=device, dtype=np.float64, **settings)
            D, P = 1 + net.bidirectional, settings.get("proj_size", H)
            x, h0, c0 = leaves(device, (T, B, I), (D, B, P), (D, B, H))
            state: Any = (h0, c0) if kind is nn.LSTM else h0
            y, last = net(x, state, **({} if lengths is None else {"lengths": lengths}))
        loss = weighed(y, *(last if isinstance(last, tuple) else [last]))
        loss.backward()
        states = (h0, c0) if kind is nn.LSTM else (h0,)
        return numbers(loss, x.grad, *[t.grad for t in states], *[p.grad for p in net.parameters()])

    return probe


def gradients(function: Callable[..., Any], *shapes: tuple[int, ...], dtype: Any = np.float64) -> Probe:
    """The outputs of a function of random leaves, and the gradient of each leaf."""

    def probe(device: Device) -> list[np.ndarray]:
        inputs = leaves(device, *shapes, dtype=dtype)
        found = function(*inputs)
        outputs = list(found) if isinstance(found, tuple) else [found]
        weighed(*outputs).backward()
        return numbers(*outputs, *[t.grad for t in inputs if t.grad is not None])

    return probe


def peepholes(x: Tensor, *rest: Tensor) -> Any:
    return block_lstm(T, x, *rest, use_peephole=True)


def loss_of_rows(x: Tensor) -> tuple[Tensor, Tensor]:
    target = np.array([[1, 0], [2, 2], [0, 1], [1, 1]])
    return cross_entropy(x, target), cross_entropy(x, target, "none")


def looked_up(w: Tensor) -> Tensor:
    return w[np.array([[1, 1], [0, 3], [1, 2]])]


def broadcast(x: Tensor, a: Tensor, b: Tensor, c: Tensor, d: Tensor) -> Tensor:
    return x + a + b + c + d


def a_little_network(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    h = tanh(x @ w + b)
    return (h * h + h) @ w


def steps_of(kind: Any, **settings: Any) -> Probe:
    """A parameter after three steps of an optimizer."""

    def probe(device: Device) -> list[np.ndarray]:
        (p,) = leaves(device, (I, H))
        rule = kind([p], **settings)
        for k in range(3):
            rule.zero_grad()
            weighed(p * p * (k + 1)).backward()
            rule.step()
        return numbers(p)

    return probe


def clipped(dtype: Any = np.float64) -> Probe:
    """Gradients that are clipped, and others that are too small for it."""

    def probe(device: Device) -> list[np.ndarray]:
        p, q = leaves(device, (I, H), (H,), dtype=dtype)
        found = []
        for limit in (0.5, 1e3):
            p.grad = q.grad = None
            weighed(p * p, q * q).backward()
            norm = nn.utils.clip_grad_norm_([p, q], limit)
            found += numbers(norm, p.grad, q.grad)
        return found

    return probe


def dropped(device: Device) -> list[np.ndarray]:
    (x,) = leaves(device, (T, B, 40))
    with random.replayed(np.random.Philox(0).state):
        net = nn.RNN(40, H, device=device, dtype=np.float64, input_dropout=0.5, variational=True)
        y, _ = net(x)
    weighed(y).backward()
    return numbers(y, x.grad)


def added_up(device: Device) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    parts = rng.standard_normal((3, 2, 5))

    def work(world: World) -> np.ndarray:
        with devices.use_device(device):
            return world.all_reduce(parts[world.rank])

    return simulate(work, len(parts))


def first_weights(device: Device) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    drawn = rng.random((I, 4 * H)), rng.standard_normal((4, H, H))
    found = answered(device, "lstm_start", *drawn)
    return numbers(*(EXERCISES["ex35"].reference(*drawn) if found is NotImplemented else found))


def layout(device: Device) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    weights = [rng.standard_normal(shape) for shape in ((4 * H, I), (4 * H, H), (4 * H,), (4 * H,))]
    return numbers(*getattr(device, "lstm_layout", block_layout)(*weights))


GRU_BLOCK = gradients(gru_block_cell, (B, I), (B, H), (I + H, 2 * H), (I + H, H), (2 * H,), (H,))
PEEPHOLES = gradients(peepholes, (T, B, I), (B, H), (B, H), (I + H, 4 * H), (H,), (H,), (H,), (4 * H,))
