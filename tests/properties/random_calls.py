"""Random calls of every fused op: sizes down to 0 and 1, any attributes. Imported by the tests in this folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

import minirnn as mr
from minirnn import ops
from minirnn.ops.cudnn_rnn.params import Network
from tests.ops.block_cases import GRU_INPUTS, LSTM_INPUTS, gru_inputs, lstm_inputs
from tests.ops.cudnn_rnn.cudnn_cases import attributes_of

BATCH_AXES = {"cs_prev": 0, "h_prev": 0, "input": 1, "input_h": 1, "input_c": 1, "sequence_lengths": 0}


@dataclass(frozen=True)
class Call:
    """`function(*values)` returns the float outputs; `out_axis` is the batch axis of all of them."""

    text: str
    names: tuple[str, ...]
    values: tuple[np.ndarray, ...]
    function: Callable[..., list[mr.Tensor]]
    out_axis: int

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(self.text)  # the text that Hypothesis prints for a failing example

    def with_values(self, values: Sequence[np.ndarray]) -> Call:
        return replace(self, values=tuple(values))

    def map(self, function: Callable[[np.ndarray], np.ndarray]) -> Call:
        """With every float input changed."""
        return self.with_values([function(v) if v.dtype.kind == "f" else v for v in self.values])

    def batch_axis(self, name: str) -> int | None:
        return self.out_axis if name == "x" else BATCH_AXES.get(name)

    def take(self, samples: Any) -> Call:
        """With these samples of the batch alone, in this order."""
        axes = [self.batch_axis(name) for name in self.names]
        return self.with_values(
            [v if a is None else np.take(v, samples, a) for v, a in zip(self.values, axes, strict=True)]
        )

    @property
    def B(self) -> int:
        return int(self.values[0].shape[self.out_axis])

    def run(self, device: str, gradients: bool = True) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Outputs, and gradients of all float inputs for cotangents that depend on the place in the output alone."""
        inputs = [
            mr.tensor(v, v.dtype.kind == "f" and gradients, device) if v.dtype.kind == "f" else v for v in self.values
        ]
        outputs = self.function(*inputs)
        if not gradients:
            return [y.numpy() for y in outputs], []
        leaves = [t for t in inputs if isinstance(t, mr.Tensor)]
        seeds = [self.cotangent(y.shape, k).astype(y.dtype) for k, y in enumerate(outputs)]
        found = mr.grad(outputs, leaves, [mr.tensor(s, device=device) for s in seeds])
        return [y.numpy() for y in outputs], [g.numpy() for g in found]

    def cotangent(self, shape: tuple[int, ...], k: int) -> np.ndarray:
        """The same for every sample, so that the position in the batch does not matter."""
        one = tuple(1 if axis == self.out_axis else n for axis, n in enumerate(shape))
        return np.broadcast_to(np.cos(np.arange(np.prod(one, dtype=int)) + k).reshape(one), shape).copy()


def _lstm(op: str, T: int, B: int, I: int, H: int, seed: int, peephole: bool, clip: float, L: int) -> Call:
    rng = np.random.default_rng(seed)
    function = getattr(ops, op)
    attributes = {"use_peephole": peephole, "cell_clip": clip}
    cell = op == "lstm_block_cell"
    values = lstm_inputs(rng, (B,) if cell else (T, B), I, H)
    steps = () if cell else (L,)
    return Call(
        f"{op}({T=}, {B=}, {I=}, {H=}, {seed=}, {peephole=}, {clip=}, {L=})",
        LSTM_INPUTS,
        tuple(values.values()),
        lambda *a: list(function(*steps, *a, **attributes)),
        0 if cell else 1,
    )


def _gru(B: int, I: int, H: int, seed: int) -> Call:
    values = gru_inputs(np.random.default_rng(seed), B, I, H)
    text = f"gru_block_cell({B=}, {I=}, {H=}, {seed=})"
    return Call(text, GRU_INPUTS, tuple(values.values()), lambda *a: list(ops.gru_block_cell(*a)), 0)


def network_call(net: Network, T: int, B: int, seed: int, ragged: bool, dropout: float = 0.0) -> Call:
    rng = np.random.default_rng(seed)
    lstm = net.rnn_mode == "lstm"
    lengths = rng.integers(1, T + 1, B) if ragged else np.full(B, T)
    states = [(net.L * net.D, B, net.P), (net.L * net.D, B, net.H)][: 2 if lstm else 1]
    values = [rng.standard_normal(s) * 0.7 for s in [(T, B, net.I), *states, (net.size,)]] + [lengths]

    def function(*a: Any) -> list[mr.Tensor]:
        *floats, lengths = a
        x, h, c, params = floats if lstm else (floats[0], floats[1], None, floats[2])
        y = ops.cudnn_rnn_v3(x, h, c, params, lengths, **attributes_of(net), dropout=dropout, seed=seed)
        return list(y[: 3 if lstm else 2])

    names = ("input", "input_h", *(["input_c"] if lstm else []), "params", "sequence_lengths")
    text = f"network_call({net!r}, {T=}, {B=}, {seed=}, {ragged=}, {dropout=})"
    return Call(text, names, tuple(values), function, 1)


SEEDS = st.integers(0, 2**16)
STEPS = st.integers(1, 4)


@st.composite
def networks(draw: st.DrawFn, most_layers: int = 3) -> Network:
    mode = draw(st.sampled_from(["lstm", "gru", "rnn_tanh", "rnn_relu"]))
    H = draw(st.integers(1, 4))
    skip = draw(st.booleans())
    projection = draw(st.integers(0, H - 1)) if mode == "lstm" else 0
    direction = draw(st.sampled_from(["unidirectional", "bidirectional"]))
    layers = draw(st.integers(1, most_layers))
    I = H if skip else draw(st.integers(1, 4))
    return Network(mode, layers, H, I, direction, "skip_input" if skip else "linear_input", projection)


@st.composite
def calls(draw: st.DrawFn, least: int = 1, least_batch: int = 1, clip: bool = True) -> Call:
    """A call of any fused op; `least` is the smallest T and I where the op allows 0, `least_batch` that of B."""
    kind = draw(st.sampled_from(["lstm_block_cell", "gru_block_cell", "block_lstm", "block_lstm_v2", "cudnn", "cudnn"]))
    seed = draw(SEEDS)
    sizes = st.integers(max(least_batch, 0 if kind in ("gru_block_cell", "block_lstm", "block_lstm_v2") else 1), 4)
    B = draw(sizes)
    if kind == "cudnn":
        return network_call(draw(networks()), draw(STEPS), B, seed, draw(st.booleans()))
    I, H = draw(st.integers(least, 4)), draw(st.integers(1, 4))
    if kind == "gru_block_cell":
        return _gru(B, I, H, seed)
    T = draw(st.integers(least, 4))
    L = draw(st.integers(min(least, T), T))
    limit = draw(st.sampled_from([0.0, 0.5])) if clip else 0.0
    return _lstm(kind, T, B, I, H, seed, draw(st.booleans()), limit, L)
