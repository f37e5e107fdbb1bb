"""The timed calls: a pass of minirnn's sequence ops, of torch's recurrent layers, or of their matrix products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

import minirnn as mr
from minirnn import ops
from minirnn.devices.base import Device, Weights
from minirnn.nn.own.decorator import Cell
from minirnn.ops.sequence.compose import compose_layer
from minirnn.ops.sequence.layer import RecurrentLayer, flat

Call = Callable[[], Any]
Size = tuple[int, int, int, int]
"""T, B, I, H."""
GATES = {"lstm": 4, "gru": 3}


def drawing(device: Device, dtype: str) -> Callable[..., mr.Tensor]:
    """A function that draws a parameter of a shape; its numbers are of size `scale`."""
    rng = np.random.default_rng(0)
    return lambda *shape, scale=1.0: mr.tensor((scale * rng.standard_normal(shape)).astype(dtype), True, device)


def passes(output: Callable[[bool], Any], wanted: Sequence[Any], dy: mr.Tensor) -> dict[str, Call]:
    """The passes of a layer; ``output(training)`` is its forward pass, and `dy` the gradient that arrives."""

    def forward() -> Any:
        with mr.no_grad():  # nothing is saved
            return output(False)

    return {"forward": forward, "forward+backward": lambda: mr.grad([output(True)], wanted, [dy])}


def our_calls(device: Device, op: str, size: Size, dtype: str) -> dict[str, Call]:
    """The passes of `block_lstm`, or of `cudnn_rnn` in a mode: one layer, one direction, gradients into all inputs."""
    (T, B, I, H), draw = size, drawing(device, dtype)
    x, dy = draw(T, B, I), draw(T, B, H).detach()
    if op == "block_lstm":
        peepholes = [draw(H) for _ in range(3)]
        inputs = [x, draw(B, H), draw(B, H), draw(I + H, 4 * H, scale=H**-0.5), *peepholes, draw(4 * H)]
        output = lambda training: ops.block_lstm(T, *inputs).h  # noqa: E731
    else:
        length = ops.cudnn_rnn_params_size(1, H, I, rnn_mode=op)
        inputs = [x, draw(1, B, H), draw(1, B, H), draw(length, scale=0.6 * H**-0.5)]
        output = lambda training: ops.cudnn_rnn(*inputs, rnn_mode=op, is_training=training).output  # noqa: E731
    return passes(output, [t for k, t in enumerate(inputs) if op != "gru" or k != 2], dy)


def own_calls(device: Device, cell: Cell, size: Size, dtype: str, composed: bool = False) -> dict[str, Call]:
    """The same passes of a layer of a custom cell, by the device's kernel or `composed` of operations of the tape."""
    (T, B, I, H), draw, plan = size, drawing(device, dtype), cell.plan()
    rng = np.random.default_rng(0)
    x, dy, h0 = draw(T, B, I), draw(T, B, H).detach(), draw(1, B, H)
    c0 = draw(1, plan.states - 1, B, H) if plan.states > 1 else None
    of_x, of_h, _ = factors(cell)
    W = draw(of_x * H, I, scale=H**-0.5) if of_x else None
    R = draw(of_h * H, H, scale=H**-0.5) if of_h else None
    U = tuple(draw(H, H, scale=H**-0.5) for _ in plan.matrix_names)
    vectors, b = tuple(draw(H, scale=0.5) for _ in range(plan.vectors)), draw(len(plan.gate_names) * H)
    masks = [mr.tensor(rng.integers(0, 2, (1, T, B, H)).astype(dtype), device=device).array for _ in plan.mask_names]
    weights = Weights(W, R, None, b, None, U, vectors)

    def output(training: bool) -> Any:
        if composed:
            return compose_layer(plan, x, h0, c0, [weights], None, masks)[0]
        states = [h0] if c0 is None else [h0, c0]
        return RecurrentLayer(plan, [weights], None, masks)(x, *states, *flat([weights]))[0]

    return passes(output, [t for t in (x, h0, c0, W, R, b, *U, *vectors) if t is not None], dy)


def factors(op: str | Cell) -> tuple[int, int, int]:
    """How many gates read x, how many read h, and how many further products (H, H) there are."""
    if isinstance(op, str):
        return GATES.get(op, 4), GATES.get(op, 4), 0
    plan = op.plan()
    return plan.of_both + plan.of_x, plan.of_both + plan.of_h, plan.products


def torch_calls(name: str, op: str, size: Size, dtype: str) -> dict[str, Call]:
    """The same passes by torch.nn.LSTM or GRU on the GPU or the CPU, and "wait"; nothing if torch has no such layer."""
    try:
        import torch
    except ImportError:
        return {}
    if op not in GATES or name not in ("cpu", "cuda") or (name == "cuda" and not torch.cuda.is_available()):
        return {}
    if name == "cpu" and dtype == "float16":
        return {}
    T, B, I, H = size
    kind = getattr(torch, dtype)
    draw = partial(torch.randn, device=name, dtype=kind)
    module = (torch.nn.LSTM if op == "lstm" else torch.nn.GRU)(I, H).to(name, kind)
    x, h, c, dy = draw(T, B, I), draw(1, B, H), draw(1, B, H), draw(T, B, H)
    state: Sequence[Any] = (h, c) if op == "lstm" else (h,)

    def run() -> Any:
        return module(x, state if op == "lstm" else h)[0]

    def forward() -> Any:
        with torch.no_grad():
            return run()

    def both() -> Any:
        inputs = [t.requires_grad_(True) for t in (x, *state)]
        return torch.autograd.grad(run(), [*inputs, *module.parameters()], dy)

    wait = torch.cuda.synchronize if name == "cuda" else lambda: None
    return {"forward": forward, "forward+backward": both, "wait": wait}


def product_calls(op: str | Cell, size: Size, dtype: str) -> dict[str, Call]:
    """Only the matrix products of the op, arranged as on the cpu device: a lower bound of the time."""
    T, B, I, H = size
    rng = np.random.default_rng(0)
    draw = lambda *shape: np.asarray(rng.standard_normal(shape), dtype)  # noqa: E731
    of_x, of_h, products = factors(op)
    loops = [of_h * H] * (of_h > 0) + [H] * products  # rows of the operand that is multiplied at each step
    W, x, h, dh = draw(of_x * H, I), draw(T * B, I), draw(H, B), np.empty((H, B), dtype)
    R, d = [draw(rows, H) for rows in loops], [draw(rows, B) for rows in loops]
    a = [np.empty((rows, B), dtype) for rows in loops]
    all_x, all_d, all_h = draw(of_x * H, T * B), [draw(rows, T * B) for rows in loops], draw(T * B, H)
    Z = np.empty((of_x * H, T * B), dtype)

    def forward() -> None:
        np.dot(W, x.T, Z)
        for _ in range(T):
            for matrix, out in zip(R, a, strict=True):
                np.dot(matrix, h, out)

    def both() -> None:
        forward()
        turned = [matrix.T for matrix in R]
        for _ in range(T):
            for matrix, rows in zip(turned, d, strict=True):
                np.dot(matrix, rows, dh)
        np.dot(all_x, x)
        for rows in all_d:
            np.dot(rows, all_h)
        np.dot(all_x.T, W)

    return {"forward": forward, "forward+backward": both}
