"""The fused ops written in torch, so that its autograd can judge ours. The formulas stand in `minirnn.ops`."""

from __future__ import annotations

from typing import Any

import numpy as np

from minirnn.ops.cudnn_rnn.params import Network


def lstm_cell(
    gate_order: str, *inputs: Any, forget_bias: float = 1.0, cell_clip: float = 0.0, use_peephole: bool = False
) -> tuple[Any, ...]:
    """i, cs, f, o, ci, co, h of one step; the inputs are those of `minirnn.ops.lstm_block_cell`."""
    import torch

    x, cs_prev, h_prev, w, wci, wcf, wco, b = inputs
    gates = (torch.cat([x, h_prev], 1) @ w + b).chunk(4, 1)
    z = dict(zip({"icfo": ("i", "c", "f", "o"), "ifco": ("i", "f", "c", "o")}[gate_order], gates, strict=True))
    peep = 1.0 if use_peephole else 0.0
    i = torch.sigmoid(z["i"] + peep * wci * cs_prev)
    f = torch.sigmoid(z["f"] + forget_bias + peep * wcf * cs_prev)
    ci = torch.tanh(z["c"])
    cs = ci * i + cs_prev * f
    if cell_clip > 0:  # straight through: the clipped value, the gradient of the unclipped one
        cs = cs + (cs.clamp(-cell_clip, cell_clip) - cs).detach()
    o = torch.sigmoid(z["o"] + peep * wco * cs)
    co = torch.tanh(cs)
    return i, cs, f, o, ci, co, co * o


def lstm_sequence(
    gate_order: str, L: int, x: Any, cs: Any, h: Any, *weights: Any, **attributes: Any
) -> tuple[Any, ...]:
    """The seven outputs (T, B, H): those of L steps, and zeros after them."""
    import torch

    attributes = {"forget_bias": 1.0 if gate_order == "icfo" else 0.0, **attributes}
    steps = []
    for t in range(L):
        values = lstm_cell(gate_order, x[t], cs, h, *weights, **attributes)
        cs, h = values[1], values[6]
        steps.append(values)
    past = torch.zeros((x.shape[0] - L, *cs.shape), dtype=x.dtype)
    if L == 0:
        return (past.requires_grad_(),) * 7  # no input has a part in it: all gradients are zero
    return tuple(torch.cat([torch.stack(values), past]) for values in zip(*steps, strict=True))


def gru_cell(x: Any, h_prev: Any, w_ru: Any, w_c: Any, b_ru: Any, b_c: Any) -> tuple[Any, ...]:
    """r, u, c, h of one step; the reset gate acts before the product."""
    import torch

    r, u = torch.sigmoid(torch.cat([x, h_prev], 1) @ w_ru + b_ru).chunk(2, 1)
    c = torch.tanh(torch.cat([x, r * h_prev], 1) @ w_c + b_c)
    return r, u, c, c + u * (h_prev - c)


def cudnn_network(
    net: Network, lengths: np.ndarray | None, masks: np.ndarray | None, x: Any, h0: Any, c0: Any, params: Any
) -> tuple[Any, ...]:
    """output, output_h(, output_c) of torch.nn's layers, one after the other, with the masks between them."""
    import torch
    from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

    kind = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU}.get(net.rnn_mode, torch.nn.RNN)
    options: dict[str, Any] = {"bidirectional": net.D == 2, "dtype": torch.float64}
    if net.rnn_mode == "lstm":
        options["proj_size"] = net.num_proj
    elif net.rnn_mode != "gru":
        options["nonlinearity"] = net.rnn_mode.removeprefix("rnn_")
    T = x.shape[0]
    states = []
    for layer in range(net.L):
        module = kind(net.in_size(layer), net.H, **options)
        weights: dict[str, Any] = {}
        for d, suffix in enumerate(("", "_reverse")[: net.D]):
            W, R, Wp, bW, bR = (None if r is None else r.of(params) for r in net.layers[layer * net.D + d])
            if W is None:  # skip_input: x enters every gate as it is
                W = torch.eye(net.H, dtype=torch.float64).repeat(net.G, 1)
            named = {"weight_ih": W, "weight_hh": R, "weight_hr": Wp, "bias_ih": bW, "bias_hh": bR}
            weights |= {f"{name}_l0{suffix}": w for name, w in named.items() if w is not None}
        part = slice(layer * net.D, (layer + 1) * net.D)
        state = (h0[part], c0[part]) if net.rnn_mode == "lstm" else h0[part]
        given = x if lengths is None else pack_padded_sequence(x, torch.tensor(lengths), enforce_sorted=False)
        x, last = torch.func.functional_call(module, weights, (given, state))
        if lengths is not None:
            x, _ = pad_packed_sequence(x, total_length=T)
        states.append(last if net.rnn_mode == "lstm" else (last,))
        if masks is not None and layer < net.L - 1:
            x = x * torch.tensor(masks[layer])
    return x, *(torch.cat(parts) for parts in zip(*states, strict=True))
