"""The cases of `minirnn.proof` for ops with one kernel, next to the same functions in torch.

Imported by tests. Whole networks are torch's own layers; block cells, which torch does not have, are
their published formulas on torch tensors. Derivatives of any order are torch's in both cases.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import minirnn as mr
from minirnn.ops.cudnn_rnn.params import Network
from minirnn.proof.case import Case as Verified
from minirnn.proof.cases import block, cudnn
from tests.ops.cudnn_rnn.cudnn_cases import random_masks

T, B, I, H = 3, 2, 3, 4


@dataclass(frozen=True)
class Case:
    """`ours` and `theirs` compute the same list of float outputs from the arrays that `draw` returns."""

    name: str
    verified: Verified
    theirs: Callable[..., list[Any]] | None  # torch has no zoneout
    kernels: tuple[str, str]
    """Forward and backward kernel; each is launched `launches` times by one call."""
    launches: int = 1

    def draw(self, rng: np.random.Generator) -> list[np.ndarray]:
        return list(self.verified.make(rng).values())

    def ours(self, *inputs: mr.Tensor) -> list[mr.Tensor]:
        return list(self.verified.call(*inputs))

    def __str__(self) -> str:
        return self.name


# ---- block ops


def torch_lstm_step(
    x: Any, c: Any, h: Any, w: Any, wci: Any, wcf: Any, wco: Any, b: Any, order: str, forget_bias: float, peephole: bool
) -> tuple[Any, ...]:
    import torch

    z = (torch.cat([x, h], 1) @ w + b).chunk(4, 1)
    zi, zc, zf, zo = (z[order.index(gate)] for gate in "icfo")
    i = torch.sigmoid(zi + wci * c if peephole else zi)
    f = torch.sigmoid(zf + forget_bias + (wcf * c if peephole else 0))
    ci = torch.tanh(zc)
    cs = i * ci + f * c
    o = torch.sigmoid(zo + wco * cs if peephole else zo)
    co = torch.tanh(cs)
    return i, cs, f, o, ci, co, o * co


def torch_lstm(steps: int, order: str, forget_bias: float, peephole: bool) -> Callable[..., list[Any]]:
    def theirs(x: Any, c: Any, h: Any, *weights: Any) -> list[Any]:
        import torch

        rows = []
        for t in range(steps):
            rows.append(torch_lstm_step(x[t], c, h, *weights, order, forget_bias, peephole))
            c, h = rows[-1][1], rows[-1][6]
        past = torch.zeros(x.shape[0] - steps, *c.shape, dtype=x.dtype)
        return [torch.cat([torch.stack(parts), past]) for parts in zip(*rows, strict=True)]

    return theirs


def torch_gru_cell(x: Any, h_prev: Any, w_ru: Any, w_c: Any, b_ru: Any, b_c: Any) -> list[Any]:
    import torch

    r, u = torch.sigmoid(torch.cat([x, h_prev], 1) @ w_ru + b_ru).chunk(2, 1)
    c = torch.tanh(torch.cat([x, r * h_prev], 1) @ w_c + b_c)
    return [r, u, c, u * h_prev + (1 - u) * c]


def lstm_cell(variant: str) -> Case:
    bias = block.CELL_VARIANTS[variant].get("forget_bias", 1.0)
    return Case(
        f"lstm_block_cell, {variant}",
        block.lstm("lstm_block_cell", variant, B, I, H),
        lambda *a: list(torch_lstm_step(*a, "icfo", bias, "peepholes" in variant)),
        ("cell_step", "cell_step_grad"),
    )


def sequence(version: str, variant: str) -> Case:
    chosen = block.SEQUENCE_VARIANTS[variant]
    order, bias = ("icfo", chosen.get("forget_bias", 1.0)) if version == "" else ("ifco", 0.0)
    return Case(
        f"block_lstm{version}, {variant}",
        block.lstm(f"block_lstm{version}", variant, T, B, I, H),
        torch_lstm(T - chosen.get("steps_left_out", 0), order, bias, "peepholes" in variant),
        ("cell_sequence", "cell_sequence_grad"),
    )


GRU = Case("gru_block_cell", block.gru(B, I, H), torch_gru_cell, ("cell_step", "cell_step_grad"))
CELLS = [lstm_cell("plain"), lstm_cell("peepholes"), GRU]
SEQUENCES = [
    sequence("", "plain"),
    sequence("", "short, peepholes"),
    sequence("_v2", "plain"),
    sequence("_v2", "short, peepholes"),
]


# ---- the CudnnRNN family


def torch_network(net: Network, lengths: Sequence[int] | None, masks: np.ndarray | None) -> Callable[..., list[Any]]:
    """The network out of torch.nn's layers, one at a time: W = identity for every gate is skip_input."""

    def theirs(x: Any, h0: Any, *rest: Any) -> list[Any]:
        import torch

        c0, params = rest if len(rest) == 2 else (None, rest[0])
        h_n, c_n = [], []
        y = x
        for layer in range(net.L):
            named = {}
            for d in range(net.D):
                W, R, Wp, bW, bR = (None if r is None else r.of(params) for r in net.layers[layer * net.D + d][:5])
                end = "_l0" + "_reverse" * d
                named["weight_ih" + end] = torch.eye(net.H, dtype=x.dtype).repeat(net.G, 1) if W is None else W
                named |= {"weight_hh" + end: R, "bias_ih" + end: bW, "bias_hh" + end: bR}
                if Wp is not None:
                    named["weight_hr" + end] = Wp
            kind = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU}.get(net.rnn_mode, torch.nn.RNN)
            more: dict[str, Any] = {"proj_size": net.num_proj} if net.num_proj else {}
            if kind is torch.nn.RNN:
                more["nonlinearity"] = net.rnn_mode.removeprefix("rnn_")
            module = kind(net.in_size(layer), net.H, bidirectional=net.D == 2, dtype=x.dtype, **more)
            mine = slice(layer * net.D, (layer + 1) * net.D)
            state = h0[mine] if c0 is None else (h0[mine], c0[mine])
            if lengths is not None:
                y = torch.nn.utils.rnn.pack_padded_sequence(y, torch.tensor(lengths), enforce_sorted=False)
            y, state = torch.func.functional_call(module, named, (y, state))
            if lengths is not None:
                y, _ = torch.nn.utils.rnn.pad_packed_sequence(y, total_length=x.shape[0])
            if masks is not None and layer < net.L - 1:
                y = y * torch.tensor(masks[layer])
            h_n.append(state if c0 is None else state[0])
            c_n.append(None if c0 is None else state[1])
        return [y, torch.cat(h_n)] + ([torch.cat(c_n)] if c0 is not None else [])

    return theirs


def network(
    net: Network, version: int, dropout: bool = False, ragged: bool = False, training: bool = True, zoneout: str = ""
) -> Case:
    op = "cudnn_rnn" if version == 1 else f"cudnn_rnn_v{version}"
    masks = np.random.default_rng(5).choice([0.0, 1.0, 1.6], (net.L - 1, T, B, net.D * net.P)) if dropout else None
    more: dict[str, Any] = {"dropout_masks": masks, "is_training": training}
    if zoneout:
        more["zoneout_masks"] = random_masks(net, zoneout, np.random.default_rng(6), T, B)
    verified = cudnn.forward(op, net, ragged, False, (T, B), **more)
    parts = [op, verified.variant, *["masks"] * dropout, *["ragged"] * ragged, *["evaluation"] * (not training)]
    return Case(
        ", ".join([*parts, *[f"zoneout {zoneout}"] * bool(zoneout)]),
        verified,
        None if zoneout else torch_network(net, cudnn.lengths_of(ragged, T, B), masks),
        ("cell_sequence", "cell_sequence_grad"),
        net.L,
    )


NETWORKS = [
    network(Network("rnn_tanh", 2, H, I, "bidirectional"), 1),
    network(Network("rnn_relu", 1, H, I), 2),
    network(Network("lstm", 1, H, I), 1),
    network(Network("lstm", 2, H, I, "bidirectional"), 3, dropout=True, ragged=True),
    network(Network("lstm", 2, H, I, num_proj=2), 3, ragged=True),
    network(Network("lstm", 1, H, H, "bidirectional", "skip_input", num_proj=3), 3),
    network(Network("gru", 1, H, I, "bidirectional"), 3, ragged=True),
    network(Network("gru", 2, H, H, input_mode="auto_select"), 2, dropout=True),
    network(Network("rnn_relu", 2, H, I, "bidirectional"), 3, dropout=True, ragged=True),
    network(Network("rnn_tanh", 1, H, H, input_mode="skip_input"), 3, ragged=True),
    network(Network("lstm", 2, H, I, num_proj=2), 3, ragged=True, training=False),
]
ALL = CELLS + SEQUENCES + NETWORKS
ZONED = [
    network(Network("rnn_relu", 1, H, I), 3, ragged=True, zoneout="masks"),
    network(Network("rnn_tanh", 2, H, I, "bidirectional"), 3, ragged=True, zoneout="numbers"),
    network(Network("lstm", 1, H, I), 3, zoneout="shared"),
    network(Network("lstm", 2, H, I, "bidirectional"), 3, dropout=True, ragged=True, zoneout="masks"),
    network(Network("lstm", 2, H, I, "bidirectional", num_proj=2), 3, ragged=True, zoneout="numbers"),
    network(Network("lstm", 1, H, H, input_mode="skip_input", num_proj=3), 3, ragged=True, zoneout="masks"),
    network(Network("gru", 1, H, I), 3, zoneout="numbers"),
    network(Network("gru", 1, H, I, "bidirectional"), 3, ragged=True, zoneout="masks"),
    network(Network("gru", 2, H, H, "bidirectional", "auto_select"), 3, ragged=True, zoneout="shared"),
]
