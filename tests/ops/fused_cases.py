"""Every fused op with its attributes as a function of float inputs alone, next to the same function in torch.

Imported by tests. Whole networks are torch's own layers; block cells, which torch does not have, are
their published formulas on torch tensors. Derivatives of any order are torch's in both cases.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import minirnn as mr
from minirnn import ops
from minirnn.ops.cudnn_rnn.params import Network
from tests.ops.block_cases import gru_inputs, lstm_inputs
from tests.ops.cudnn_rnn.cudnn_cases import attributes_of, random_masks

T, B, I, H = 3, 2, 3, 4
LENGTHS = (1, 3)


@dataclass(frozen=True)
class Case:
    """`ours` and `theirs` compute the same list of float outputs from the arrays that `draw` returns."""

    name: str
    draw: Callable[[np.random.Generator], list[np.ndarray]]
    ours: Callable[..., list[mr.Tensor]]
    theirs: Callable[..., list[Any]] | None  # torch has no zoneout
    kernels: tuple[str, str]
    """Forward and backward kernel; each is launched `launches` times by one call."""
    launches: int = 1

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


def lstm_cell(peephole: bool) -> Case:
    return Case(
        "lstm_block_cell" + "-peephole" * peephole,
        lambda rng: list(lstm_inputs(rng, (B,), I, H).values()),
        lambda *a: list(ops.lstm_block_cell(*a, forget_bias=0.3, cell_clip=0.0, use_peephole=peephole)),
        lambda *a: list(torch_lstm_step(*a, "icfo", 0.3, peephole)),
        ("lstm_block_cell", "lstm_block_cell_grad"),
    )


def sequence(version: str, peephole: bool, steps: int) -> Case:
    order, bias = ("icfo", 1.0) if version == "" else ("ifco", 0.0)
    op = getattr(ops, f"block_lstm{version}")
    return Case(
        f"block_lstm{version}" + "-peephole" * peephole + f"-{steps}",
        lambda rng: list(lstm_inputs(rng, (T, B), I, H).values()),
        lambda *a: list(op(steps, *a, cell_clip=0.0, use_peephole=peephole)),
        torch_lstm(steps, order, bias, peephole),
        ("block_lstm", "block_lstm_grad"),
    )


GRU = Case(
    "gru_block_cell",
    lambda rng: list(gru_inputs(rng, B, I, H).values()),
    lambda *a: list(ops.gru_block_cell(*a)),
    torch_gru_cell,
    ("gru_block_cell", "gru_block_cell_grad"),
)
LSTM_CELLS = [lstm_cell(False), lstm_cell(True)]
CELLS = [*LSTM_CELLS, GRU]
SEQUENCES = [
    sequence("", False, T),
    sequence("", True, 2),
    sequence("_v2", False, 2),
    sequence("_v2", True, T),
    sequence("", True, 1),
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
                W, R, Wp, bW, bR = (None if r is None else r.of(params) for r in net.layers[layer * net.D + d])
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
    net: Network,
    version: int,
    dropout: bool = False,
    lengths: Sequence[int] | None = None,
    training: bool = True,
    zoneout: str = "",
) -> Case:
    lstm = net.rnn_mode == "lstm"
    masks = np.random.default_rng(5).choice([0.0, 1.0, 1.6], (net.L - 1, T, B, net.D * net.P)) if dropout else None
    zoned = {"zoneout_masks": random_masks(net, zoneout, np.random.default_rng(6), T, B)} if zoneout else {}

    def draw(rng: np.random.Generator) -> list[np.ndarray]:
        states = (net.L * net.D, B, net.P), (net.L * net.D, B, net.H)
        shapes: list[tuple[int, ...]] = [(T, B, net.I), *(states if lstm else states[:1]), (net.size,)]
        return [rng.standard_normal(s) * (0.5 if len(s) == 1 else 1.0) for s in shapes]

    def ours(*a: mr.Tensor) -> list[mr.Tensor]:
        x, h0, c0, params = a if lstm else (a[0], a[1], None, a[2])
        attributes = attributes_of(net) | {"dropout_masks": masks, "is_training": training} | zoned
        if version < 3:
            del attributes["num_proj"]
            y = (ops.cudnn_rnn if version == 1 else ops.cudnn_rnn_v2)(x, h0, c0, params, **attributes)
        else:
            y = ops.cudnn_rnn_v3(x, h0, c0, params, np.array(lengths or [T] * B), **attributes)
        return list(y[: 3 if lstm else 2])

    parts = [f"v{version}", net.rnn_mode, f"L{net.L}", "bi" * (net.D == 2), "skip" * net.skip]
    parts += ["projected" * (net.num_proj > 0), "masks" * dropout, "lengths" * (lengths is not None)]
    parts += ["evaluation" * (not training), f"zoneout-{zoneout}" if zoneout else ""]
    return Case(
        "-".join(p for p in parts if p),
        draw,
        ours,
        None if zoneout else torch_network(net, lengths, masks),
        ("rnn_sequence", "rnn_sequence_grad"),
        net.L,
    )


NETWORKS = [
    network(Network("rnn_tanh", 2, H, I, "bidirectional"), 1),
    network(Network("rnn_relu", 1, H, I), 2),
    network(Network("lstm", 1, H, I), 1),
    network(Network("lstm", 2, H, I, "bidirectional"), 3, dropout=True, lengths=LENGTHS),
    network(Network("lstm", 2, H, I, num_proj=2), 3, lengths=LENGTHS),
    network(Network("lstm", 1, H, H, "bidirectional", "skip_input", num_proj=3), 3),
    network(Network("gru", 1, H, I, "bidirectional"), 3, lengths=LENGTHS),
    network(Network("gru", 2, H, H, input_mode="auto_select"), 2, dropout=True),
    network(Network("rnn_relu", 2, H, I, "bidirectional"), 3, dropout=True, lengths=LENGTHS),
    network(Network("rnn_tanh", 1, H, H, input_mode="skip_input"), 3, lengths=LENGTHS),
    network(Network("lstm", 2, H, I, num_proj=2), 3, lengths=LENGTHS, training=False),
]
ALL = CELLS + SEQUENCES + NETWORKS
ZONED = [
    network(Network("rnn_relu", 1, H, I), 3, lengths=LENGTHS, zoneout="masks"),
    network(Network("rnn_tanh", 2, H, I, "bidirectional"), 3, lengths=LENGTHS, zoneout="numbers"),
    network(Network("lstm", 1, H, I), 3, zoneout="shared"),
    network(Network("lstm", 2, H, I, "bidirectional"), 3, dropout=True, lengths=LENGTHS, zoneout="masks"),
    network(Network("lstm", 2, H, I, "bidirectional", num_proj=2), 3, lengths=LENGTHS, zoneout="numbers"),
    network(Network("lstm", 1, H, H, input_mode="skip_input", num_proj=3), 3, lengths=LENGTHS, zoneout="masks"),
    network(Network("gru", 1, H, I), 3, zoneout="numbers"),
    network(Network("gru", 1, H, I, "bidirectional"), 3, lengths=LENGTHS, zoneout="masks"),
    network(Network("gru", 2, H, H, "bidirectional", "auto_select"), 3, lengths=LENGTHS, zoneout="shared"),
]
