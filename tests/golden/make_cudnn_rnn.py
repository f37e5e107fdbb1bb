"""Write golden data for the CudnnRNN family, computed by PyTorch in float64.

Needs torch (CPU is enough); `files.py` says how it is run. The flat `params` layout and the npz keys are described in
cudnn_rnn/README.md. Everything numeric comes from torch.nn.RNN / GRU / LSTM and torch.autograd; this file only packs,
unpacks and transposes. What torch.nn lacks is expressed through it:

* skip_input: weight_ih_l0 is a stack of identity matrices that is not trained;
* dropout with a given mask: the layers are run one by one and the mask is
  multiplied onto what goes from one layer to the next.
"""

import json
import sys
from itertools import product

import numpy as np
import torch

from tests.golden.files import write_or_check

GATES = {"rnn_relu": 1, "rnn_tanh": 1, "gru": 3, "lstm": 4}
torch.set_num_threads(1)


def uses_skip(input_mode, input_size, num_units):
    if input_mode == "skip_input":
        assert input_size == num_units
        return True
    return input_mode == "auto_select" and input_size == num_units


def canonical_shapes(rnn_mode, num_layers, num_units, input_size, dirs, skip, num_proj):
    """Shapes of the canonical weight matrices and bias vectors, in order."""
    g = GATES[rnn_mode]
    out = num_proj or num_units
    weights, biases = [], []
    for layer in range(num_layers):
        width = (0 if skip else input_size) if layer == 0 else dirs * out
        for _ in range(dirs):
            weights += [(num_units, width)] * g
            weights += [(num_units, out)] * g
            if num_proj:
                weights += [(num_proj, num_units)]
            biases += [(num_units,)] * (2 * g)
    return weights, biases


def size_of(shapes):
    weights, biases = shapes
    return sum(int(np.prod(s)) for s in weights + biases)


def split_params(params, shapes):
    """Flat buffer -> (list of matrices, list of vectors)."""
    pos, lists = 0, []
    for group in shapes:
        part = []
        for shape in group:
            n = int(np.prod(shape))
            part.append(params[pos : pos + n].reshape(shape))
            pos += n
        lists.append(part)
    assert pos == params.size
    return lists


def join_params(weights, biases):
    return np.concatenate([np.asarray(a).reshape(-1) for a in list(weights) + list(biases)])


def torch_names(rnn_mode, num_layers, dirs, num_proj):
    """Per pseudo-layer: names of (weight_ih, weight_hh, weight_hr or None, bias_ih, bias_hh)."""
    ends = [f"_l{layer}" + "_reverse" * d for layer in range(num_layers) for d in range(dirs)]
    parts = ("weight_ih", "weight_hh", "weight_hr", "bias_ih", "bias_hh")
    return [[part + end if part != "weight_hr" or num_proj else None for part in parts] for end in ends]


def to_state_dict(params, rnn_mode, num_layers, num_units, input_size, dirs, skip, num_proj):
    """Flat buffer -> dict of arrays under PyTorch's names.

    cuDNN's and PyTorch's gate orders agree (LSTM i,f,g,o; GRU r,z,n), so the
    per-gate matrices are only stacked."""
    g = GATES[rnn_mode]
    shapes = canonical_shapes(rnn_mode, num_layers, num_units, input_size, dirs, skip, num_proj)
    weights, biases = split_params(params, shapes)
    state, per = {}, 2 * g + (1 if num_proj else 0)
    for p, (ih, hh, hr, bih, bhh) in enumerate(torch_names(rnn_mode, num_layers, dirs, num_proj)):
        w, b = weights[p * per : (p + 1) * per], biases[p * 2 * g : (p + 1) * 2 * g]
        if skip and p < dirs:
            state[ih] = np.concatenate([np.eye(num_units)] * g)
        else:
            state[ih] = np.concatenate(w[:g])
        state[hh] = np.concatenate(w[g : 2 * g])
        if hr:
            state[hr] = w[2 * g]
        state[bih], state[bhh] = np.concatenate(b[:g]), np.concatenate(b[g:])
    return state


def from_state_dict(state, rnn_mode, num_layers, dirs, skip, num_proj):
    g = GATES[rnn_mode]
    weights, biases = [], []
    for p, (ih, hh, hr, bih, bhh) in enumerate(torch_names(rnn_mode, num_layers, dirs, num_proj)):
        if not (skip and p < dirs):
            weights += np.split(state[ih], g)
        weights += np.split(state[hh], g)
        if hr:
            weights.append(state[hr])
        biases += np.split(state[bih], g) + np.split(state[bhh], g)
    return join_params(weights, biases)


def new_module(rnn_mode, input_size, num_units, num_layers, dirs, num_proj):
    kw = {"bidirectional": dirs == 2, "dtype": torch.float64}
    if rnn_mode == "lstm":
        return torch.nn.LSTM(input_size, num_units, num_layers, proj_size=num_proj, **kw)
    if rnn_mode == "gru":
        return torch.nn.GRU(input_size, num_units, num_layers, **kw)
    return torch.nn.RNN(input_size, num_units, num_layers, nonlinearity=rnn_mode[4:], **kw)


def run_module(net, x, h, c, lengths):
    state = h if c is None else (h, c)
    if lengths is None:
        y, last = net(x, state)
    else:
        packed = torch.nn.utils.rnn.pack_padded_sequence(
            x, torch.as_tensor(lengths, dtype=torch.int64), enforce_sorted=False
        )
        y, last = net(packed, state)
        y, _ = torch.nn.utils.rnn.pad_packed_sequence(y, total_length=x.shape[0])
    return (y, last, None) if c is None else (y, last[0], last[1])


def compute(case, arrays):
    """arrays: input, input_h, input_c, params, and the three *_backprop inputs (TF layout)."""
    a, d = case, 2 if case["direction"] == "bidirectional" else 1
    lstm, tm = a["rnn_mode"] == "lstm", a["time_major"]
    skip = uses_skip(a["input_mode"], a["input_size"], a["num_units"])
    state = to_state_dict(
        arrays["params"], a["rnn_mode"], a["num_layers"], a["num_units"], a["input_size"], d, skip, a["num_proj"]
    )

    def load(v):
        return torch.tensor(v if tm else np.swapaxes(v, 0, 1), dtype=torch.float64)

    leaf = {k: load(arrays[k]).requires_grad_() for k in ("input", "input_h") + (("input_c",) if lstm else ())}
    lengths, masks = arrays.get("sequence_lengths"), arrays.get("dropout_masks")

    nets, grads = [], {}
    if masks is None:
        net = new_module(a["rnn_mode"], a["input_size"], a["num_units"], a["num_layers"], d, a["num_proj"])
        net.load_state_dict({k: torch.tensor(v) for k, v in state.items()})
        nets.append((net, lambda name: name))
        out, out_h, out_c = run_module(net, leaf["input"], leaf["input_h"], leaf.get("input_c"), lengths)
    else:
        x, hs, cs = leaf["input"], [], []
        for layer in range(a["num_layers"]):
            net = new_module(a["rnn_mode"], x.shape[2], a["num_units"], 1, d, a["num_proj"])
            end = f"_l{layer}"
            net.load_state_dict({k.replace(end, "_l0"): torch.tensor(v) for k, v in state.items() if end in k})
            nets.append((net, lambda name, end=end: name.replace("_l0", end)))
            rows = slice(layer * d, (layer + 1) * d)
            x, h, c = run_module(net, x, leaf["input_h"][rows], leaf["input_c"][rows] if lstm else None, lengths)
            hs.append(h)
            cs.append(c)
            if layer + 1 < a["num_layers"]:
                mask = masks[layer] if tm else np.swapaxes(masks[layer], 0, 1)
                x = x * torch.tensor(mask)
        out, out_h = x, torch.cat(hs)
        out_c = torch.cat(cs) if lstm else None

    def store(v):
        return np.ascontiguousarray(v.detach().numpy() if tm else np.swapaxes(v.detach().numpy(), 0, 1))

    empty = np.zeros((0,))
    result = {"output": store(out), "output_h": store(out_h), "output_c": store(out_c) if lstm else empty}
    if not a["is_training"]:
        return result
    goal = (out * load(arrays["output_backprop"])).sum() + (out_h * load(arrays["output_h_backprop"])).sum()
    if lstm:
        goal = goal + (out_c * load(arrays["output_c_backprop"])).sum()
    goal.backward()
    for net, rename in nets:
        for name, p in net.named_parameters():
            grads[rename(name)] = p.grad.numpy()
    result["input_backprop"] = store(leaf["input"].grad)
    result["input_h_backprop"] = store(leaf["input_h"].grad)
    result["input_c_backprop"] = store(leaf["input_c"].grad) if lstm else empty
    result["params_backprop"] = from_state_dict(grads, a["rnn_mode"], a["num_layers"], d, skip, a["num_proj"])
    return result


def make_case(
    name, rnn_mode, seed, *, T, B, I, H, L=1, bi=False, input_mode="linear_input", lengths=None, num_proj=0,
    time_major=True, is_training=True, dropout=0.0, masked=False,
):  # fmt: skip
    rng = np.random.default_rng(seed)
    d, out, lstm = 2 if bi else 1, num_proj or H, rnn_mode == "lstm"
    attrs = {
        "rnn_mode": rnn_mode,
        "input_mode": input_mode,
        "direction": "bidirectional" if bi else "unidirectional",
        "dropout": float(dropout),
        "seed": 0,
        "seed2": 0,
        "is_training": is_training,
        "num_proj": num_proj,
        "time_major": time_major,
        "num_layers": L,
        "num_units": H,
        "input_size": I,
        "op": "CudnnRNNV3" if (lengths is not None or num_proj or not time_major) else "CudnnRNN",
    }
    skip = uses_skip(input_mode, I, H)
    n = size_of(canonical_shapes(rnn_mode, L, H, I, d, skip, num_proj))
    lead = (lambda *s: s) if time_major else (lambda *s: (s[1], s[0]) + s[2:])
    arr = {
        "input": rng.standard_normal(lead(T, B, I)),
        "input_h": rng.uniform(-1, 1, lead(L * d, B, out)),
        "input_c": rng.uniform(-1, 1, lead(L * d, B, H)) if lstm else np.zeros((0,)),
        "params": rng.uniform(-0.6, 0.6, n),
    }
    if attrs["op"] == "CudnnRNNV3":
        arr["sequence_lengths"] = np.asarray([T] * B if lengths is None else lengths, np.int32)
    if masked:
        keep = rng.random((L - 1,) + lead(T, B, d * out)) >= dropout
        arr["dropout_masks"] = keep / (1.0 - dropout) if dropout < 1 else np.zeros(keep.shape)
    if is_training:
        arr["output_backprop"] = rng.standard_normal(lead(T, B, d * out))
        arr["output_h_backprop"] = rng.standard_normal(lead(L * d, B, out))
        arr["output_c_backprop"] = rng.standard_normal(lead(L * d, B, H)) if lstm else np.zeros((0,))
    arr.update(compute(attrs, arr))
    return name, {"attributes": np.array(json.dumps(attrs, sort_keys=True)), **arr}


def canonical_case(name, rnn_mode, *, I, H, L=1, bi=False, skip=False, num_proj=0):
    """Index data: params = 0,1,2,...; every canonical piece and PyTorch array holds positions."""
    d = 2 if bi else 1
    shapes = canonical_shapes(rnn_mode, L, H, I, d, skip, num_proj)
    params = np.arange(size_of(shapes), dtype=np.float64)
    weights, biases = split_params(params, shapes)
    arr = {"params": params}
    arr.update({f"weights_{i}": w for i, w in enumerate(weights)})
    arr.update({f"biases_{i}": b for i, b in enumerate(biases)})
    state = to_state_dict(params, rnn_mode, L, H, I, d, skip, num_proj)
    arr.update({"torch." + k: v for k, v in state.items()})
    attrs = {
        "rnn_mode": rnn_mode,
        "num_layers": L,
        "num_units": H,
        "input_size": I,
        "num_proj": num_proj,
        "direction": "bidirectional" if bi else "unidirectional",
        "input_mode": "skip_input" if skip else "linear_input",
        "num_params_weights": len(weights),
        "num_params_biases": len(biases),
    }
    return name, {"attributes": np.array(json.dumps(attrs, sort_keys=True)), **arr}


def size_table():
    rows = []
    for (m, mode), L, H, I, d in product(enumerate(sorted(GATES)), (1, 2, 3), (1, 4, 7), (1, 4, 7), (1, 2)):
        for skip in (0, 1) if I == H else (0,):
            for proj in (0, 1, H - 1) if mode == "lstm" and H > 2 else (0,):
                n = size_of(canonical_shapes(mode, L, H, I, d, bool(skip), proj))
                rows.append((m, L, H, I, d, skip, proj, n))
    columns = ("mode_index", "num_layers", "num_units", "input_size", "num_directions", "skip", "num_proj")
    columns = np.array([*columns, "params_size"])
    return {"modes": np.array(sorted(GATES)), "table": np.array(rows, np.int64), "columns": columns}


def public_cases():
    seed = 1000
    short = {"T": 4, "B": 3, "H": 4}
    for mode in ("rnn_relu", "rnn_tanh", "lstm", "gru"):
        for bi, L, ln in product((False, True), (1, 2), (None, [3, 4, 2])):
            base = f"{mode}_{'bi' if bi else 'uni'}_l{L}{'_len' if ln else ''}"
            kw = {**short, "L": L, "bi": bi, "lengths": ln}
            seed += 1
            yield make_case(base, mode, seed, I=5, **kw)
            if (L == 2) == bool(ln):
                seed += 1
                yield make_case(base + "_skip", mode, seed, I=4, input_mode="skip_input", **kw)
            if mode == "lstm":
                seed += 1
                yield make_case(base + "_proj", mode, seed, I=5, num_proj=2, **kw)
        two = {**short, "I": 5, "L": 2}
        for end, more in (
            ("bi_l2_len_batchmajor", {"bi": True, "lengths": [4, 1, 3], "time_major": False}),
            ("bi_l2_dropmask", {"bi": True, "dropout": 0.5, "masked": True}),
            ("uni_l2_inference_dropout", {"dropout": 0.5, "is_training": False}),
        ):
            seed += 1
            yield make_case(f"{mode}_{end}", mode, seed, **two, **more)
    more = {"L": 2, "bi": True, "lengths": [2, 4, 4], "num_proj": 3, "input_mode": "skip_input"}
    yield make_case("lstm_bi_l2_len_proj_skip", "lstm", seed + 1, I=4, **short, **more)
    auto = {"T": 3, "B": 2, "H": 4, "input_mode": "auto_select"}
    yield make_case("gru_uni_l1_auto_linear", "gru", seed + 2, I=3, **auto)
    yield make_case("gru_uni_l1_auto_skip", "gru", seed + 3, I=4, **auto)


def files():
    found = dict(public_cases())
    for mode in GATES:
        found |= [canonical_case(f"canonical_{mode}_bi_l2", mode, I=3, H=2, L=2, bi=True)]
        found |= [canonical_case(f"canonical_{mode}_uni_l2_skip", mode, I=3, H=3, L=2, skip=True)]
    found |= [canonical_case("canonical_lstm_bi_l2_proj", "lstm", I=3, H=4, L=2, bi=True, num_proj=2)]
    return found | {"params_size": size_table()}


if __name__ == "__main__":
    sys.exit(write_or_check("cudnn_rnn", files()))
