"""Where cuDNN keeps the weights of a layer, as torch shows it, compared with our parameter buffer.

Three libraries document the order of the buffer, but only a GPU can show whether its cuDNN puts gaps between the parts.
``minirnn bench --check --device cuda`` records it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from minirnn.ops.cudnn_rnn.params import Network

SIZES = ((8, 16, 0), (5, 7, 0), (5, 7, 3))
"""I, H, num_proj: round ones, odd ones, and odd ones with a projection."""
PARTS = {"W": "weight_ih", "R": "weight_hh", "Wp": "weight_hr", "bW": "bias_ih", "bR": "bias_hh"}
"""Maps our regions to torch's names for them."""


def layouts(device: str) -> Iterator[dict[str, Any]]:
    """A row for each network; empty unless there is a GPU and torch."""
    try:
        import torch
    except ImportError:
        return
    if device != "cuda" or not torch.cuda.is_available():
        return
    kinds = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU, "rnn_tanh": torch.nn.RNN}
    for (mode, make), D, (I, H, P) in product(kinds.items(), (1, 2), SIZES):
        if P and mode != "lstm":
            continue
        sizes = {"num_layers": 2, "bidirectional": D == 2} | ({"proj_size": P} if P else {})
        module: Any = make(I, H, **sizes).to(device)
        module.flatten_parameters()
        direction = "bidirectional" if D == 2 else "unidirectional"
        yield compared(module, Network(mode, 2, H, I, direction, num_proj=P))


def compared(module: Any, net: Network) -> dict[str, Any]:
    """Offsets in elements of each weight in the one buffer of a torch module, and of ours; ``equal`` if all agree."""
    weights = dict(module.named_parameters())
    first = min(weight.data_ptr() for weight in weights.values())
    itemsize = next(iter(weights.values())).element_size()
    found, ours = {}, {}
    for p, regions in enumerate(net.layers):
        where = f"l{p // net.D}" + ("_reverse" if p % net.D else "")
        for part, region in regions._asdict().items():
            if region:
                name = f"{PARTS[part]}_{where}"
                found[name], ours[name] = (weights[name].data_ptr() - first) // itemsize, region.offset
    row = {"mode": net.rnn_mode, "direction": net.direction, "I": net.I, "H": net.H, "num_proj": net.num_proj}
    return row | {"equal": found == ours, "cudnn": found, "minirnn": ours}
