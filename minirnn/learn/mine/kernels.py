"""The device `mine-cuda-sim`: the simulator, with the CUDA kernels from the learner's files in their places.

The kernels of the course are for float32. Other dtypes, and shapes that an exercise does not cover, use minirnn's own
kernels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from minirnn import nn
from minirnn.cells.plan import Plan
from minirnn.devices.base import Device, Weights
from minirnn.devices.cuda.device import Cuda
from minirnn.devices.cuda.driver import CudaError
from minirnn.devices.cuda.sim.driver import SimDriver
from minirnn.engine import random
from minirnn.learn.course import Entry, Tree
from minirnn.learn.mine.answers import AnswerFailed
from minirnn.learn.mine.device import ONLY_BY_NAME, made, plug_in
from minirnn.learn.mine.parts import Part
from minirnn.learn.mine.probes import B, H, I, T, clipped, gradients, leaves, numbers, weighed
from minirnn.ops import gru_block_cell, lstm_block_cell, softmax
from minirnn.ops.cudnn_rnn.cells import plan_of as rnn_plan_of
from minirnn.ops.gru_block.cells import gru_block
from minirnn.ops.lstm_block.cells import plan_of

FLOAT = np.dtype(np.float32)
MOST_UNITS = 44
"""The launch of ex20 has threads for this many rows and columns."""


class KernelAnswer:
    """The CUDA kernel of an exercise, compiled from the learner's file, with the exercise's launch configuration."""

    def __init__(self, device: Any, entry: Entry, file: Path) -> None:
        self.id, self.exercise = entry.id, entry.exercise
        try:
            module = device.driver.module(file.read_text(encoding="utf-8"), file.name)
            self.kernel = module.function(entry.exercise.function)
        except (CudaError, KeyError, ValueError) as error:
            raise AnswerFailed(f"your {entry.id} does not compile: {error}\n  {file}") from error

    def __call__(self, **arguments: Any) -> None:
        """Launch the kernel on arguments by name."""
        grid, block = self.exercise.launch(arguments)  # type: ignore[attr-defined]
        try:
            self.kernel(*arguments.values(), grid=(*grid, 1, 1)[:3], block=(*block, 1, 1)[:3])
        except CudaError as error:
            raise AnswerFailed(f"your {self.id} failed: {error}") from error


def blend(
    answer: KernelAnswer,
    device: Any,
    states: Any,
    after: Any,
    values: Any,
    d_after: Any,
    weights: Weights,
    **options: Any,
) -> Any:
    """The backward pass through the last line of the GRU. The page of `gru_block` has the other lines."""
    (h_prev,), (d_h,) = states, d_after
    if options["plan"] is not gru_block.plan() or h_prev.dtype != FLOAT or not h_prev.size:
        return NotImplemented
    d_h, h_prev, u, c = (device.contiguous(a) for a in (d_h, h_prev, values["u"], values["c"]))
    dh_prev, du, dc = (device.empty(h_prev.shape, FLOAT) for _ in range(3))
    answer(N=np.int32(h_prev.size), dh=d_h, h_prev=h_prev, u=u, c=c, dh_prev=dh_prev, du=du, dc=dc)
    r = values["r"]
    dx_c, dz_u = dc * (1 - c * c), du * u * (1 - u)
    drh = device.matmul(dx_c, weights.U[0])
    dz_r = drh * h_prev * r * (1 - r)
    return device.concatenate([dz_r, dz_u, dx_c], 1), (drh * r + dh_prev,), ()


def matmul(answer: KernelAnswer, device: Any, a: Any, b: Any) -> Any:
    if not (a.ndim == b.ndim == 2 and a.dtype == b.dtype == FLOAT and a.size and b.size):
        return NotImplemented
    (M, K), N = a.shape, b.shape[1]
    x, w, y = device.contiguous(a), device.contiguous(b), device.empty((M, N), FLOAT)
    answer(M=np.int32(M), K=np.int32(K), N=np.int32(N), x=x, w=w, y=y)
    return y


def clip(answer: KernelAnswer, device: Any, gradients: list[Any], max_norm: float) -> Any:
    """Each gradient is one row, whose norm the kernel computes."""
    if any(g.dtype != FLOAT or not g.size for g in gradients):
        return NotImplemented
    squares = 0.0
    for g in gradients:
        row, norm = device.reshape(device.contiguous(g), (1, g.size)), device.empty((1,), FLOAT)
        answer(H=np.int32(g.size), x=row, norm=norm)
        squares += float(device.to_numpy(norm)[0]) ** 2
    norm = math.sqrt(squares)
    factor = min(1.0, max_norm / (norm + 1e-6))
    return [g * factor for g in gradients], norm


def lstm_blocks(*use_peephole: bool) -> list[Plan]:
    """The plans of LSTMBlockCell, with and without a clip."""
    return [plan_of(one, clips) for one in use_peephole for clips in (False, True)]


def cell_output(answer: KernelAnswer, device: Any, gates: Any, states: Any, *weights: Any, **options: Any) -> Any:
    B, H = states[0].shape
    if options["plan"] not in lstm_blocks(False, True) or gates.dtype != FLOAT:
        return NotImplemented
    if not 0 < B <= MOST_UNITS or not 0 < H <= MOST_UNITS:
        return NotImplemented
    (cs, _), values = super(MineOnSim, device).cell_step(gates, states, *weights, **options)
    h = device.empty((B, H), FLOAT)
    answer(B=np.int32(B), H=np.int32(H), o=device.contiguous(values["o"]), cs=device.contiguous(cs), h=h)
    return (cs, h), values


def column_sums(answer: KernelAnswer, device: Any, a: Any, axis: Any, keepdims: bool) -> Any:
    if a.ndim != 2 or a.dtype != FLOAT or axis != (0,) or not a.size:
        return NotImplemented
    (N, H), db = a.shape, device.empty((a.shape[1],), FLOAT)
    answer(N=np.int32(N), H=np.int32(H), dz=device.contiguous(a), db=db)
    return device.reshape(db, (1, H)) if keepdims else db


def softmax_of_rows(answer: KernelAnswer, device: Any, a: Any, axis: int) -> Any:
    if a.ndim != 2 or a.dtype != FLOAT or axis not in (1, -1) or not a.size:
        return NotImplemented
    x, y = device.contiguous(a), device.empty(a.shape, FLOAT)
    answer(H=np.int32(a.shape[1]), x=x, y=y)
    return y


def gates(
    answer: KernelAnswer, device: Any, states: Any, after: Any, values: Any, d_after: Any, *weights: Any, **options: Any
) -> Any:
    cs_prev, (dcs, dh) = states[0], d_after
    if options["plan"] not in lstm_blocks(False) or cs_prev.dtype != FLOAT or not cs_prev.size:
        return NotImplemented
    B, H = cs_prev.shape
    saved = {name: values[name] for name in ("i", "f", "o", "ci", "co")}
    given = {name: device.contiguous(a) for name, a in dict(cs_prev=cs_prev, **saved, dcs=dcs, dh=dh).items()}
    dz, dcs_prev = device.empty((B, 4 * H), FLOAT), device.empty((B, H), FLOAT)
    answer(B=np.int32(B), H=np.int32(H), **given, dz=dz, dcs_prev=dcs_prev)
    return dz, (dcs_prev, device.full((B, H), 0, FLOAT)), ()


def all_steps(answer: KernelAnswer, device: Any, x: Any, h0: Any, c0: Any, weights: Any, **options: Any) -> Any:
    """A sequence of one sample: one product computes the inputs of all steps, and one launch runs all steps."""
    (W, R, _, bW, bR, *_), *reverse = weights
    (T, B, _), H = x.shape, h0.shape[2]
    known = options["plan"] is rnn_plan_of("rnn_tanh") and options["lengths"] is None
    if not known or reverse or B != 1 or W is None or x.dtype != FLOAT or not x.size:
        return NotImplemented
    a = device.matmul(device.reshape(x, (T, x.shape[2])), device.transpose(W, (1, 0))) + (bW + bR)
    R, h0, h = device.contiguous(device.transpose(R, (1, 0))), device.contiguous(h0), device.empty((T, H), FLOAT)
    arrived = device.asarray(np.zeros(1, np.int32))
    answer(T=np.int32(T), H=np.int32(H), a=device.contiguous(a), R=R, h0=h0, arrived=arrived, h=h)
    return device.reshape(h, (T, 1, H)), device.reshape(h[T - 1 :], (1, 1, H)), None, None


# ---- what is compared


def one_sample(device: Device) -> list[np.ndarray]:
    with random.replayed(np.random.Philox(0).state):
        net = nn.RNN(I, H + 40, device=device, dtype=FLOAT)
        (x,) = leaves(device, (T, 1, I), dtype=FLOAT)
        y, last = net(x)
    weighed(y, last).backward()
    return numbers(y, last, x.grad, *[p.grad for p in net.parameters()])


def lstm_cell(*inputs: Any) -> Any:
    found = lstm_block_cell(*inputs)
    return found.cs, found.h


def product(x: Any, w: Any) -> Any:
    return x @ w


def sums(x: Any) -> Any:
    return x.sum(axis=0)


LSTM_CELL = gradients(lstm_cell, (B, I), (B, H), (B, H), (I + H, 4 * H), (H,), (H,), (H,), (4 * H,), dtype=FLOAT)
GRU_CELL = gradients(gru_block_cell, (B, I), (B, H), (I + H, 2 * H), (I + H, H), (2 * H,), (H,), dtype=FLOAT)
KERNEL_PARTS = (
    Part("ex17", "the last line of a GRU, backward", "cell_step_grad", blend, GRU_CELL),
    Part("ex18", "products of matrices", "matmul", matmul, gradients(product, (9, 10), (10, 11), dtype=FLOAT)),
    Part("ex19", "the norm of the gradient", "clip_by_norm", clip, clipped(FLOAT)),
    Part("ex20", "the output of an LSTM's cell", "cell_step", cell_output, LSTM_CELL),
    Part("ex37", "sums of columns", "sum", column_sums, gradients(sums, (9, 35), dtype=FLOAT)),
    Part("ex38", "softmax of rows", "softmax", softmax_of_rows, gradients(softmax, (3, 70), dtype=FLOAT)),
    Part("ex39", "the gates of an LSTM, backward", "cell_step_grad", gates, LSTM_CELL),
    Part("ex40", "all steps in one launch", "cell_sequence", all_steps, one_sample),
)
"""One line for each exercise."""


class MineOnSim(Cuda):
    """The device `cuda-sim` with the learner's CUDA kernels. Attributes: those of `minirnn.learn.mine.device.Mine`."""

    name = "mine-cuda-sim"
    parts: Sequence[Part] = KERNEL_PARTS
    of = "cuda-sim"
    tolerance = 1e-4

    def __init__(self, tree: Tree) -> None:
        super().__init__(SimDriver(), self.name)
        plug_in(self, tree)

    def answer_of(self, tree: Tree, entry: Entry) -> KernelAnswer:
        return KernelAnswer(self, entry, tree.file(entry))


def mine_cuda_sim() -> MineOnSim:
    """The device `mine-cuda-sim` of the course folder that the program runs in."""
    device: MineOnSim = made(MineOnSim)
    return device


mine_cuda_sim.only_by_name = ONLY_BY_NAME  # type: ignore[attr-defined]
