"""Write golden data for RNN, GRU and LSTM, computed by PyTorch in float64.

Needs torch (CPU is enough); `files.py` says how it is run. Keys are described in recurrent/README.md.
"""

from __future__ import annotations

import sys

import numpy as np
import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from tests.golden.files import write_or_check

T, B, I, H = 6, 3, 4, 5
LENGTHS = [2, 6, 4]  # unsorted, one of them T
CASES = {
    "rnn": ("RNN", {}),
    "rnn_relu_2": ("RNN", {"nonlinearity": "relu", "num_layers": 2}),
    "gru": ("GRU", {}),
    "gru_bi_2": ("GRU", {"num_layers": 2, "bidirectional": True}),
    "gru_no_bias_2": ("GRU", {"bias": False, "num_layers": 2}),
    "lstm": ("LSTM", {}),
    "lstm_bi_2": ("LSTM", {"num_layers": 2, "bidirectional": True}),
    "lstm_proj_2": ("LSTM", {"proj_size": 2, "num_layers": 2}),
    "lstm_proj_bi_no_bias": ("LSTM", {"proj_size": 2, "bidirectional": True, "bias": False}),
}


def case(kind: str, options: dict, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Values and gradients with states, with lengths, and from zeros."""
    module = getattr(torch.nn, kind)(I, H, dtype=torch.float64, **options)
    with torch.no_grad():
        for p in module.parameters():
            p.copy_(torch.tensor(rng.normal(size=tuple(p.shape)) / 2))
    rows = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
    data = {"x": rng.normal(size=(T, B, I)), "h": rng.normal(size=(rows, B, options.get("proj_size") or H))}
    if kind == "LSTM":
        data["c"] = rng.normal(size=(rows, B, H))
    stored = {f"parameter {name}": p.detach().numpy() for name, p in module.named_parameters()}
    stored |= {f"input {name}": a for name, a in data.items()}
    for way in ("full", "ragged", "zeros"):
        x, *states = (torch.tensor(a, requires_grad=True) for a in data.values())
        hx = None if way == "zeros" else tuple(states) if kind == "LSTM" else states[0]
        if way == "ragged":
            y, last = module(pack_padded_sequence(x, LENGTHS, enforce_sorted=False), hx)
            y, _ = pad_packed_sequence(y)
        else:
            y, last = module(x, hx)
        outputs = dict(zip("yhc", (y, *(last if kind == "LSTM" else [last])), strict=False))
        cotangents = {name: rng.normal(size=tuple(t.shape)) for name, t in outputs.items()}
        given = {"x": x} | ({} if way == "zeros" else dict(zip("hc", states, strict=False)))
        wanted = {**given, **dict(module.named_parameters())}
        dys = [torch.tensor(g) for g in cotangents.values()]
        found = torch.autograd.grad(list(outputs.values()), list(wanted.values()), dys)
        stored |= {f"{way} output {name}": t.detach().numpy() for name, t in outputs.items()}
        stored |= {f"{way} cotangent {name}": g for name, g in cotangents.items()}
        stored |= {f"{way} gradient {name}": g.numpy() for name, g in zip(wanted, found, strict=True)}
    return stored


if __name__ == "__main__":
    rng = np.random.default_rng(23)
    sys.exit(write_or_check("recurrent", {name: case(*call, rng) for name, call in CASES.items()}))
