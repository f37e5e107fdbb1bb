"""Write golden data for RNNCell, GRUCell and LSTMCell, computed by PyTorch in float64.

Needs torch (CPU is enough); `files.py` says how it is run. Keys: cells/README.md.
"""

from __future__ import annotations

import sys

import numpy as np
import torch

from tests.golden.files import write_or_check

B, I, H = 3, 4, 5
CASES = {
    "rnn_tanh": ("RNNCell", {}),
    "rnn_relu": ("RNNCell", {"nonlinearity": "relu"}),
    "rnn_no_bias": ("RNNCell", {"bias": False}),
    "gru": ("GRUCell", {}),
    "gru_no_bias": ("GRUCell", {"bias": False}),
    "lstm": ("LSTMCell", {}),
    "lstm_no_bias": ("LSTMCell", {"bias": False}),
}


def case(kind: str, options: dict, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """One step with given states, one without, and one of a single row without a batch axis."""
    module = getattr(torch.nn, kind)(I, H, dtype=torch.float64, **options)
    with torch.no_grad():
        for p in module.parameters():
            p.copy_(torch.tensor(rng.normal(size=tuple(p.shape))))
    names = [name for name, _ in module.named_parameters()]
    data = {"x": rng.normal(size=(B, I)), "h": rng.normal(size=(B, H))}
    if kind == "LSTMCell":
        data["c"] = rng.normal(size=(B, H))
    given = {name: torch.tensor(a, requires_grad=True) for name, a in data.items()}
    x, *states = given.values()

    def outputs(*arguments: object) -> tuple[torch.Tensor, ...]:
        y = module(*arguments)
        return y if isinstance(y, tuple) else (y,)

    hx = tuple(states) if kind == "LSTMCell" else states[0]
    y = outputs(x, hx)
    parts = ("h", "c")[: len(y)]
    cotangents = [rng.normal(size=(B, H)) for _ in y]
    inputs = [*given.values(), *module.parameters()]
    found = torch.autograd.grad(y, inputs, [torch.tensor(g) for g in cotangents])
    row = tuple(s[1] for s in states) if kind == "LSTMCell" else states[0][1]
    stored = {f"parameter {name}": p.detach().numpy() for name, p in module.named_parameters()}
    stored |= {f"input {name}": a for name, a in data.items()}
    stored |= {f"cotangent {name}": g for name, g in zip(parts, cotangents, strict=True)}
    stored |= {f"output {name}": t.detach().numpy() for name, t in zip(parts, y, strict=True)}
    stored |= {f"from zeros {name}": t.detach().numpy() for name, t in zip(parts, outputs(x), strict=True)}
    stored |= {f"of row 1 {name}": t.detach().numpy() for name, t in zip(parts, outputs(x[1], row), strict=True)}
    stored |= {f"gradient {name}": g.numpy() for name, g in zip([*data, *names], found, strict=True)}
    return stored


if __name__ == "__main__":
    rng = np.random.default_rng(20)
    sys.exit(write_or_check("cells", {name: case(*call, rng) for name, call in CASES.items()}))
