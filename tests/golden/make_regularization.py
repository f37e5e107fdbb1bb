"""Write golden data for the regularization of recurrent layers, computed by PyTorch in float64.

Needs torch (CPU is enough); `files.py` says how it is run. torch has none of variational dropout, weight dropout and
zoneout, so the loops over the steps are written here from the formulas of the papers; gradients are torch.autograd's.
One step is torch's LSTMCell, GRUCell or RNNCell (an lstm with a projection is written out, since torch has no such
cell).

* Variational dropout (Gal and Ghahramani 2016): one mask (B, width) for all steps.
* Weight dropout (Merity et al. 2018): one mask for weight_hh of each layer and direction.
* Zoneout (Krueger et al. 2017): h = z * h' + (1 - z) * h_new, c alike; h_new = o * tanh(c_new); in evaluation z = p.

The masks are drawn as `minirnn.nn.regularization` documents it, by NumPy's Philox alone.
"""

import json
import sys

import numpy as np
import torch

from tests.golden.files import write_or_check

torch.set_num_threads(1)
T, B, I, H = 5, 3, 4, 6
LENGTHS = [2, 5, 3]


# ---- masks


def uniform(shape, seeds, stream):
    """Numbers in 0 .. 1, from one stream of a pair of seeds."""
    n = int(np.prod(shape))
    key = (int(seeds[0]) << 32) | int(seeds[1])
    words = np.random.Philox(key=key, counter=[0, 0, 0, stream]).random_raw(n // 2 + 1)
    return words.astype("<u8").view("<u4")[:n].reshape(shape) / 2**32


def dropping(shape, p, seeds, stream):
    return (uniform(shape, seeds, stream) >= p) / (1 - p)


def draw(seed, options, shapes_of_weights, P, lstm, training):
    """All masks of one call, in the documented order."""
    stream = np.random.Generator(np.random.Philox(seed))
    L, D = options["num_layers"], 2 if options["bidirectional"] else 1
    steps = 1 if options["variational"] else T
    masks = {}
    p = options["weight_dropout"]
    if training and p:
        seeds = stream.integers(0, 2**32, 2)
        masks |= {name: dropping(s, p, seeds, k) for k, (name, s) in enumerate(shapes_of_weights.items())}
    p = options["input_dropout"]
    if training and p:
        masks["input"] = dropping((steps, B, I), p, stream.integers(0, 2**32, 2), 0)
    p = options["dropout"]
    if training and p and L > 1:
        seeds = stream.integers(0, 2**32, 2)
        masks["dropout"] = np.stack([dropping((steps, B, D * P), p, seeds, k) for k in range(L - 1)])
    z = options["zoneout"]
    if z:
        p_h, p_c = z if isinstance(z, (list, tuple)) else (z, z)
        if not training:
            masks["zh"] = np.array(p_h)
            if lstm:
                masks["zc"] = np.array(p_c)
        else:
            seeds = stream.integers(0, 2**32, 2)
            masks["zh"] = np.stack([uniform((T, B, P), seeds, k) < p_h for k in range(L * D)]).astype(float)
            if lstm:
                masks["zc"] = np.stack([uniform((T, B, H), seeds, L * D + k) < p_c for k in range(L * D)]).astype(float)
    return masks


# ---- the layers, step by step


def one_step(kind, nonlinearity, x, h, c, W, R, bW, bR, Wp):
    """h_new and c_new of a cell of torch; an lstm with a projection is written out."""
    if kind == "LSTM" and Wp is None:
        return torch._VF.lstm_cell(x, (h, c), W, R, bW, bR)
    if kind == "LSTM":
        i, f, g, o = (x @ W.T + bW + h @ R.T + bR).chunk(4, 1)
        c_new = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return (torch.sigmoid(o) * torch.tanh(c_new)) @ Wp.T, c_new
    cell = torch._VF.gru_cell if kind == "GRU" else getattr(torch._VF, f"rnn_{nonlinearity}_cell")
    return cell(x, h, W, R, bW, bR), None


def run(kind, options, named, x, h0, c0, masks, lengths):
    """y, h_n and c_n of the whole network."""
    D = 2 if options["bidirectional"] else 1
    L = options["num_layers"]
    masks = {name: torch.tensor(m) for name, m in masks.items()}
    x = x * masks["input"] if "input" in masks else x
    h_n, c_n = [], []
    for layer in range(L):
        sides = []
        for d in range(D):
            k = layer * D + d
            end = f"_l{layer}" + "_reverse" * d
            W, R, Wp, bW, bR = (
                named.get(part + end) for part in ("weight_ih", "weight_hh", "weight_hr", "bias_ih", "bias_hh")
            )
            if "weight_hh" + end in masks:
                R = R * masks["weight_hh" + end]
            h, c = h0[k], None if c0 is None else c0[k]
            out = [None] * T
            for t in range(T) if d == 0 else reversed(range(T)):
                counts = torch.tensor([[t < n] for n in lengths])
                h_new, c_new = one_step(kind, options.get("nonlinearity", "tanh"), x[t], h, c, W, R, bW, bR, Wp)
                if "zh" in masks:
                    zh = masks["zh"] if masks["zh"].ndim == 0 else masks["zh"][k, t]
                    h_new = zh * h + (1 - zh) * h_new
                if "zc" in masks:
                    zc = masks["zc"] if masks["zc"].ndim == 0 else masks["zc"][k, t]
                    c_new = zc * c + (1 - zc) * c_new
                out[t] = torch.where(counts, h_new, torch.zeros_like(h_new))
                h = torch.where(counts, h_new, h)
                c = None if c is None else torch.where(counts, c_new, c)
            sides.append(torch.stack(out))
            h_n.append(h)
            c_n.append(c)
        x = torch.cat(sides, 2)
        if "dropout" in masks and layer < L - 1:
            x = x * masks["dropout"][layer]
    return [x, torch.stack(h_n)] + ([torch.stack(c_n)] if c0 is not None else [])


# ---- cases

DEFAULTS = {
    "num_layers": 1,
    "bidirectional": False,
    "dropout": 0.0,
    "input_dropout": 0.0,
    "variational": False,
    "weight_dropout": 0.0,
    "zoneout": 0.0,
}


def make_case(kind, seed, lengths=None, training=True, **chosen):
    rng = np.random.default_rng(seed)
    options = DEFAULTS | chosen
    plain = {k: v for k, v in options.items() if k not in list(DEFAULTS)[2:]}
    module = getattr(torch.nn, kind)(I, H, dtype=torch.float64, **plain)
    named = {
        n: torch.tensor(rng.uniform(-0.7, 0.7, tuple(p.shape)), requires_grad=True)
        for n, p in module.named_parameters()
    }
    P, LD = options.get("proj_size") or H, options["num_layers"] * (2 if options["bidirectional"] else 1)
    lstm = kind == "LSTM"
    x, h0, c0 = (torch.tensor(rng.standard_normal(s), requires_grad=True) for s in ((T, B, I), (LD, B, P), (LD, B, H)))
    c0 = c0 if lstm else None
    weights = {n: tuple(p.shape) for n, p in named.items() if n.startswith("weight_hh")}
    masks = draw(seed, options, weights, P, lstm, training)
    outputs = run(kind, options, named, x, h0, c0, masks, lengths or [T] * B)
    cotangents = [torch.tensor(rng.standard_normal(tuple(y.shape))) for y in outputs]
    inputs = {"input": x, "h_0": h0, **({"c_0": c0} if lstm else {}), **named}
    gradients = torch.autograd.grad(outputs, list(inputs.values()), cotangents)
    names = ("output", "h_n", "c_n")[: len(outputs)]
    case = {n: a.detach().numpy() for n, a in inputs.items()}
    case |= {n: y.detach().numpy() for n, y in zip(names, outputs, strict=True)}
    case |= {f"{n}.cotangent": g.numpy() for n, g in zip(names, cotangents, strict=True)}
    case |= {f"{n}.gradient": g.numpy() for n, g in zip(inputs, gradients, strict=True)}
    case |= {f"mask.{n}": m for n, m in masks.items()}
    call = {"kind": kind, "seed": seed, "training": training, "lengths": lengths, "options": chosen}
    return case | {"call": np.array(json.dumps(call))}


def cases():
    both = {"num_layers": 2, "bidirectional": True}
    every = {"zoneout": 0.3, "weight_dropout": 0.3, "dropout": 0.4}
    awd = {"variational": True, "weight_dropout": 0.5, "dropout": 0.3, "input_dropout": 0.4, "num_layers": 3}
    all_of_lstm = {"variational": True, "weight_dropout": 0.3, "dropout": 0.3, "input_dropout": 0.2, "zoneout": 0.2}
    yield "rnn_tanh_zoneout", make_case("RNN", 1, zoneout=0.4)
    yield "rnn_relu_all", make_case("RNN", 2, LENGTHS, nonlinearity="relu", **every, **both)
    yield "gru_zoneout_bi", make_case("GRU", 3, LENGTHS, zoneout=0.5, **both)
    yield "gru_variational", make_case("GRU", 4, variational=True, dropout=0.4, input_dropout=0.3, **both)
    yield "gru_weight_dropout", make_case("GRU", 5, LENGTHS, weight_dropout=0.5, bidirectional=True)
    yield "gru_evaluation", make_case("GRU", 6, LENGTHS, training=False, zoneout=0.3, weight_dropout=0.5, **both)
    yield "lstm_zoneout", make_case("LSTM", 7, zoneout=(0.3, 0.6))
    yield "lstm_zoneout_h", make_case("LSTM", 8, LENGTHS, zoneout=(0.5, 0.0), bidirectional=True)
    proj = {"zoneout": (0.4, 0.2), "proj_size": 2}
    yield "lstm_zoneout_proj", make_case("LSTM", 9, LENGTHS, **proj, **both)
    yield "lstm_evaluation_proj", make_case("LSTM", 10, LENGTHS, training=False, **proj, **both)
    yield "lstm_awd", make_case("LSTM", 11, **awd)
    yield "lstm_all", make_case("LSTM", 12, LENGTHS, **all_of_lstm, **both)
    yield "lstm_dropout_of_each_step", make_case("LSTM", 13, dropout=0.3, input_dropout=0.2, **both)


if __name__ == "__main__":
    sys.exit(write_or_check("regularization", dict(cases()), rtol=1e-12, atol=1e-12))
