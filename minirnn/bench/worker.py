"""One peer of ``minirnn bench``: reads lines ``[mode, [T, B, I, H], pass]``, answers with milliseconds a call."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import lru_cache, partial
from math import ceil
from typing import Any

import numpy as np

GATES = {"lstm": 4, "gru": 3}
SAMPLE = 0.12  # seconds of one sample at least


@lru_cache(maxsize=1)
def call(peer: str, mode: str, T: int, B: int, I: int, H: int, backward: bool) -> Callable[[], Any]:
    """What is timed; float32, random weights of the size that keeps the state alive."""
    makers = {"minirnn": minirnn_call, "torch": torch_call, "gemm": gemm_call}
    return makers[peer](mode, T, B, I, H, backward, np.random.default_rng(0))


def minirnn_call(
    mode: str, T: int, B: int, I: int, H: int, backward: bool, rng: np.random.Generator
) -> Callable[[], Any]:
    """`cudnn_rnn` as one node of the tape, with gradients into all inputs; forward alone: nothing is kept."""
    import minirnn as mr

    size = mr.ops.cudnn_rnn_params_size(1, H, I, rnn_mode=mode, input_mode="linear_input", direction="unidirectional")
    draw = partial(normal, rng)
    x, h, c = (mr.tensor(draw(*shape), backward) for shape in ((T, B, I), (1, B, H), (1, B, H)))
    params = mr.tensor(draw(size) * np.float32(0.6 / H**0.5), backward)
    dy = mr.tensor(draw(T, B, H))
    inputs = [x, h, c, params] if mode == "lstm" else [x, h, params]

    def forward() -> Any:
        with mr.no_grad():
            return mr.ops.cudnn_rnn(x, h, c, params, rnn_mode=mode, is_training=False)

    def both() -> Any:
        return mr.grad(mr.ops.cudnn_rnn(x, h, c, params, rnn_mode=mode).output, inputs, dy)

    return both if backward else forward


def torch_call(
    mode: str, T: int, B: int, I: int, H: int, backward: bool, rng: np.random.Generator
) -> Callable[[], Any]:
    """torch.nn.LSTM or GRU, with gradients into all inputs and parameters."""
    import torch

    draw = lambda *shape: torch.tensor(normal(rng, *shape))  # noqa: E731
    module = (torch.nn.LSTM if mode == "lstm" else torch.nn.GRU)(I, H)
    x, h, c, dy = draw(T, B, I), draw(1, B, H), draw(1, B, H), draw(T, B, H)
    state = (h, c) if mode == "lstm" else h
    inputs = [x, h, c] if mode == "lstm" else [x, h]

    def forward() -> Any:
        with torch.no_grad():
            return module(x, state)

    def both() -> Any:
        for t in inputs:
            t.requires_grad_(True)
        return torch.autograd.grad(module(x, state)[0], [*inputs, *module.parameters()], dy)

    return both if backward else forward


def gemm_call(mode: str, T: int, B: int, I: int, H: int, backward: bool, rng: np.random.Generator) -> Callable[[], Any]:
    """The matrix products of the op alone, in the layout the cpu device uses: the floor."""
    GH = GATES[mode] * H
    draw = partial(normal, rng)
    W, R, x, h, d = draw(GH, I), draw(GH, H), draw(T * B, I), draw(H, B), draw(GH, B)
    all_d, all_h = draw(GH, T * B), draw(T * B, H)
    a, dh, Z = np.empty((GH, B), np.float32), np.empty((H, B), np.float32), np.empty((GH, T * B), np.float32)

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

    return both if backward else forward


def normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Normal float32 numbers."""
    return rng.standard_normal(shape).astype(np.float32)


def milliseconds(function: Callable[[], Any]) -> float:
    """Time of one call, over as many as fill a sample."""
    start = time.perf_counter()
    function()
    once = time.perf_counter() - start
    n = max(1, ceil(SAMPLE / max(once, 1e-6)))
    start = time.perf_counter()
    for _ in range(n):
        function()
    return (time.perf_counter() - start) / n * 1e3


def main() -> None:
    peer = sys.argv[1]
    for line in sys.stdin:
        mode, size, what = json.loads(line)
        print(milliseconds(call(peer, mode, *size, what == "forward+backward")), flush=True)


if __name__ == "__main__":
    main()
