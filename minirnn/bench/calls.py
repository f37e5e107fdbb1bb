"""What is timed: a pass of minirnn's sequence ops, of torch's recurrent layers, and of their matrix products alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

import minirnn as mr
from minirnn import ops
from minirnn.devices.base import Device

Call = Callable[[], Any]
Size = tuple[int, int, int, int]
"""T, B, I, H."""
GATES = {"lstm": 4, "gru": 3}


def our_calls(device: Device, op: str, size: Size, dtype: str) -> dict[str, Call]:
    """The passes of `block_lstm`, or of `cudnn_rnn` in a mode: one layer, one direction, gradients into all inputs."""
    T, B, I, H = size
    rng = np.random.default_rng(0)

    def draw(*shape: int, scale: float = 1.0) -> mr.Tensor:
        return mr.tensor((scale * rng.standard_normal(shape)).astype(dtype), True, device)

    x, dy = draw(T, B, I), draw(T, B, H).detach()
    if op == "block_lstm":
        peepholes = [draw(H) for _ in range(3)]
        inputs = [x, draw(B, H), draw(B, H), draw(I + H, 4 * H, scale=H**-0.5), *peepholes, draw(4 * H)]
        output = lambda training: ops.block_lstm(T, *inputs).h  # noqa: E731
    else:
        length = ops.cudnn_rnn_params_size(1, H, I, rnn_mode=op)
        inputs = [x, draw(1, B, H), draw(1, B, H), draw(length, scale=0.6 * H**-0.5)]
        output = lambda training: ops.cudnn_rnn(*inputs, rnn_mode=op, is_training=training).output  # noqa: E731
    wanted = [t for k, t in enumerate(inputs) if op != "gru" or k != 2]

    def forward() -> Any:
        with mr.no_grad():  # nothing is kept
            return output(False)

    return {"forward": forward, "forward+backward": lambda: mr.grad([output(True)], wanted, [dy])}


def torch_calls(name: str, op: str, size: Size, dtype: str) -> dict[str, Call]:
    """The same passes by torch.nn.LSTM or GRU on the GPU or the CPU, and "wait"; nothing where torch has none."""
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


def product_calls(op: str, size: Size, dtype: str) -> dict[str, Call]:
    """The matrix products of the op alone, arranged as the cpu device does them: the floor."""
    T, B, I, H = size
    rng, GH = np.random.default_rng(0), GATES.get(op, 4) * H
    draw = lambda *shape: np.asarray(rng.standard_normal(shape), dtype)  # noqa: E731
    W, R, x, h, d = draw(GH, I), draw(GH, H), draw(T * B, I), draw(H, B), draw(GH, B)
    all_d, all_h = draw(GH, T * B), draw(T * B, H)
    a, dh, Z = np.empty((GH, B), dtype), np.empty((H, B), dtype), np.empty((GH, T * B), dtype)

    def forward() -> None:
        np.dot(W, x.T, Z)
        for _ in range(T):
            np.dot(R, h, a)

    def both() -> None:
        forward()
        RT = R.T
        for _ in range(T):
            np.dot(RT, d, dh)
        np.dot(all_d, x)
        np.dot(all_d, all_h)
        np.dot(all_d.T, W)

    return {"forward": forward, "forward+backward": both}


@contextmanager
def torch_rounding(tf32: bool) -> Iterator[None]:
    """Inside the block torch may round float32 operands to TF32, or may not."""
    try:
        import torch
    except ImportError:
        yield
        return
    products: Any = torch.backends.cuda.matmul
    layers: Any = getattr(torch.backends.cudnn, "rnn", None)
    name, value = "fp32_precision", "tf32" if tf32 else "ieee"
    settings: list[tuple[Any, Any]] = [(products, value), (layers, value)]
    if not hasattr(layers, name):  # before torch 2.9
        name, settings = "allow_tf32", [(products, tf32), (torch.backends.cudnn, tf32)]
    before = [(owner, getattr(owner, name)) for owner, _ in settings]
    try:
        for owner, value in settings:
            setattr(owner, name, value)
        yield
    finally:
        for owner, value in before:
            setattr(owner, name, value)
