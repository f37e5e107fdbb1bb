"""Comparisons with stored values of other libraries, the golden files."""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from minirnn import ops
from minirnn.engine.backward import grad
from minirnn.engine.tensor import tensor
from minirnn.ops.cudnn_rnn.params import Network
from minirnn.proof.case import Arrays, gradient_of
from minirnn.proof.cases import block, cudnn
from minirnn.proof.cases.canonical import options_of
from minirnn.proof.table import Cell, Comparison, Finding, worst
from minirnn.proof.tolerance import EXACT, Count, of
from minirnn.proof.ways import compare_arrays

LSTM = ("x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b")
GRU = ("x", "h_prev", "w_ru", "w_c", "b_ru", "b_c")
SAVED: tuple[str, ...] = block.LSTM_OUTPUTS
TENSORFLOW = "values of TensorFlow"
TORCH = "values of torch"

# TensorFlow's Grad op -> ours forward, ours backward, inputs, outputs, how many of them the Grad op takes, upstream
FAMILIES: dict[str, tuple[str, str, tuple[str, ...], tuple[str, ...], int, tuple[str, ...]]] = {
    "LSTMBlockCellGrad": ("lstm_block_cell", "lstm_block_cell_grad", LSTM, SAVED, 6, ("cs_grad", "h_grad")),
    "BlockLSTMGrad": ("block_lstm", "block_lstm_grad", LSTM, SAVED, 7, ("cs_grad", "h_grad")),
    "BlockLSTMGradV2": ("block_lstm_v2", "block_lstm_grad_v2", LSTM, SAVED, 7, ("cs_grad", "h_grad")),
    "GRUBlockCellGrad": ("gru_block_cell", "gru_block_cell_grad", GRU, ("r", "u", "c", "h"), 3, ("d_h",)),
}
HALF = ("lstm_block_cell", "lstm_block_cell_grad", "block_lstm", "block_lstm_grad")
"""The ops that also have files in float16."""
QUICK = (
    *("lstm_cell_plain", "block_lstm_peephole_short", "block_lstm_v2_full", "gru_cell_plain"),
    *("gru_bi_l2", "lstm_bi_l2_len_proj", "canonical_lstm_bi_l2", "params_size"),
)
"""The files that a quick run reads."""
Run = Callable[[], Finding]
Job = tuple[Cell, str, Run]


def comparisons(devices: Mapping[str, str | None], folder: Path) -> Iterator[Comparison]:
    """All comparisons with stored values. A cell fails if its file is missing."""
    for device, absent in devices.items():
        found: dict[Cell, list[Comparison]] = {cell: [] for cell in cells(device)}
        for cell, case, run in jobs(folder, device) if not absent else ():
            found.setdefault(cell, []).append(Comparison(cell, case, run, quick=case in QUICK))
        for cell, listed in found.items():
            none = Comparison(cell, "", None if absent else no_file, absent or "", quick=True)
            yield from listed or [none]


def no_file() -> Finding:
    raise FileNotFoundError("tests/golden has no file for this cell")


def cells(device: str) -> Iterator[Cell]:
    """The cells that stored values fill."""
    for forward, backward, *_ in FAMILIES.values():
        for op in (forward, backward):
            for dtype in ("float32", "float16") if op in HALF else ("float32",):
                yield Cell(op, TENSORFLOW, dtype, device, "stored")
    for mode in cudnn.ELEMENTWISE:
        for dtype in ("float64", "float32"):
            for op in ("cudnn_rnn", "cudnn_rnn_v2", "cudnn_rnn_v3"):
                yield Cell(op, f"{TORCH}, {mode}", dtype, device, "stored")
                backprop = op.replace("cudnn_rnn", "cudnn_rnn_backprop")
                yield Cell(backprop, f"{TORCH}, {mode}", dtype, device, "stored")
        for version in ("", "_v2"):
            for op in ("cudnn_rnn_params_to_canonical", "cudnn_rnn_canonical_to_params"):
                yield Cell(f"{op}{version}", f"{TORCH}, {mode}", "float64", device, "stored")
    if device == "cpu":  # a number, computed on no device
        yield Cell("cudnn_rnn_params_size", "stored sizes", "int", device, "stored")


def jobs(folder: Path, device: str) -> Iterator[Job]:
    """For each comparison with a file: its cell, the name of the file, and the function that compares."""
    for path in sorted((folder / "block_ops").glob("*.npz")):
        case = load(path)
        forward, backward, *_ = FAMILIES[str(case["meta_grad_op"])]
        dtype = case["x"].dtype.name
        if str(case["meta_op"]):
            cell = Cell(forward, TENSORFLOW, dtype, device, "stored")
            yield cell, path.stem, partial(block_forward, case, device)
        yield Cell(backward, TENSORFLOW, dtype, device, "stored"), path.stem, partial(block_backward, case, device)
    for path in sorted((folder / "cudnn_rnn").glob("*.npz")):
        case = load(path)
        if path.stem == "params_size":
            if device == "cpu":
                cell = Cell("cudnn_rnn_params_size", "stored sizes", "int", device, "stored")
                yield cell, path.stem, partial(params_size, case)
            continue
        attributes = json.loads(str(case.pop("attributes")))
        variant = f"{TORCH}, {attributes['rnn_mode']}"
        make = canonical_jobs if path.stem.startswith("canonical") else network_jobs
        for op, dtype, run in make(case, attributes, device):
            yield Cell(op, variant, dtype, device, "stored"), path.stem, run


def load(path: Path) -> Arrays:
    """The arrays of a stored case, which are read-only because all devices share them."""
    about = path.stat()
    return dict(_read(path, about.st_size, about.st_mtime_ns))


@lru_cache(maxsize=256)
def _read(path: Path, *_: int) -> Arrays:
    """The contents of a file; the numbers change when the file is rewritten."""
    with np.load(path, allow_pickle=False) as z:
        found = dict(z)
    for a in found.values():
        a.flags.writeable = False
    return found


# ---- block ops


def block_count(case: Arrays) -> tuple[Count, Count]:
    """Roundings on the way to outputs and to gradients."""
    I, H = case["x"].shape[-1], case["h_prev"].shape[1]
    T, B = case["x"].shape[:2] if "seq_len_max" in case else (1, len(case["x"]))
    T = max(T, 1)
    if str(case["meta_grad_op"]).startswith("GRU"):
        forward = block.gru_count(I, H)
        backward = block.gru_count_grad(B, H)
    else:
        forward = block.product_count(T, I, H, block.LSTM_STEP)
        backward = block.backward_count(T, B, 4, H, block.LSTM_STEP_GRAD)
    return forward, forward + backward


def block_forward(case: Arrays, device: str) -> Finding:
    """Outputs, and gradients through the tape."""
    forward, _, names, outputs, _, upstream = FAMILIES[str(case["meta_grad_op"])]
    inputs = [tensor(case[name], True, device) for name in names]
    lead = [case["seq_len_max"]] if "seq_len_max" in case else []
    kinds: dict[str, Callable[[Any], Any]] = {"forget_bias": float, "cell_clip": float, "use_peephole": bool}
    attributes = {name: cast(case[name]) for name, cast in kinds.items() if name in case}
    y = getattr(ops, forward)(*lead, *inputs, **attributes)
    found = {name: getattr(y, name) for name in outputs}
    ends = [y.h] if upstream == ("d_h",) else [y.cs, y.h]
    gradients = grad(ends, inputs, [tensor(case[name], device=device) for name in upstream])
    keys = [f"d_{name}" if upstream == ("d_h",) else f"{name}_grad" for name in names]
    return beside(case, found, dict(zip(keys, gradients, strict=True)), *block_count(case))


def block_backward(case: Arrays, device: str) -> Finding:
    """The raw Grad op, from the stored outputs."""
    _, backward, names, outputs, saved, upstream = FAMILIES[str(case["meta_grad_op"])]
    arguments = [tensor(case[name], device=device) for name in (*names, *outputs[:saved], *upstream)]
    lead = [case["seq_len_max"]] if "seq_len_max" in case else []
    options = {"use_peephole": bool(case["use_peephole"])} if "use_peephole" in case else {}
    found = getattr(ops, backward)(*lead, *arguments, **options)._asdict()
    return beside(case, {}, found, *block_count(case))


def beside(
    case: Arrays, outputs: dict[str, Any], gradients: dict[str, Any], forward: Count, backward: Count
) -> Finding:
    """The worst of all results, each compared with the stored value of its name, which was rounded as often."""
    groups = ((outputs, forward.twice()), (gradients, backward.twice()))
    return worst(
        compare_arrays(name, t.numpy(), case[name], of(t.dtype.name, count))
        for group, count in groups
        for name, t in group.items()
    )


# ---- networks


def network_jobs(case: Arrays, attributes: dict[str, Any], device: str) -> Iterator[tuple[str, str, Run]]:
    """V3 for every file, older versions for the features they have; for training calls also their Backprop ops."""
    for version in ("", "_v2", "_v3") if attributes["op"] == "CudnnRNN" else ("_v3",):
        for dtype in ("float64", "float32"):
            yield f"cudnn_rnn{version}", dtype, partial(network, case, attributes, device, dtype, version, True)
            if attributes["is_training"]:
                op = f"cudnn_rnn_backprop{version}"
                yield op, dtype, partial(network, case, attributes, device, dtype, version, False)


def network(case: Arrays, attributes: dict[str, Any], device: str, dtype: str, version: str, tape: bool) -> Finding:
    """Outputs and gradients through the tape, or those of the raw Backprop op."""
    names = ["input", "input_h", "input_c", "params"]
    inputs = [tensor(case[name].astype(dtype), True, device) for name in names]
    chosen = ["rnn_mode", "input_mode", "direction", "dropout", "seed", "seed2"]
    T, B = case["input"].shape[:2] if attributes["time_major"] else case["input"].shape[1::-1]
    steps: list[Any] = []
    if version == "_v3":
        chosen += ["num_proj", "time_major"]
        steps = [case.get("sequence_lengths", np.full(B, T, np.int32))]
    options = {name: attributes[name] for name in chosen}
    more = {"dropout_masks": case["dropout_masks"]} if "dropout_masks" in case else {}
    y = getattr(ops, f"cudnn_rnn{version}")(*inputs, *steps, **options, **more, is_training=attributes["is_training"])
    lstm = attributes["rnn_mode"] == "lstm"
    ends = cudnn.OUTPUTS[: 3 if lstm else 2]
    arriving = [case[f"{name}_backprop"].astype(dtype) for name in ends] if attributes["is_training"] else []
    upstream = [tensor(a, device=device) for a in arriving]
    net = network_of(attributes)
    forward = cudnn.forward_count(net, T)
    backward = forward + cudnn.backward_count(net, T, B)
    used = [k for k in range(4) if lstm or k != 2]
    outputs = {name: getattr(y, name) for name in cudnn.OUTPUTS}
    gradients: dict[str, Any] = {}
    if not tape:
        dc = upstream[2] if lstm else tensor(np.zeros(0, dtype), device=device)
        op = getattr(ops, f"cudnn_rnn_backprop{version}")
        gradients = op(*inputs, *steps, *y[:3], *upstream[:2], dc, *y[3:], **options)._asdict()
        outputs = {}
    elif upstream:
        found = grad(list(y[: len(ends)]), [inputs[k] for k in used], upstream)
        gradients = {f"{names[k]}_backprop": g for k, g in zip(used, found, strict=True)}
    return beside(case, outputs, gradients, forward, backward)


def network_of(attributes: dict[str, Any]) -> Network:
    """The network of a stored case."""
    names = ("rnn_mode", "num_layers", "num_units", "input_size", "direction", "input_mode", "num_proj")
    return Network(*[attributes[name] for name in names])


# ---- the parameter buffer


def canonical_jobs(case: Arrays, attributes: dict[str, Any], device: str) -> Iterator[tuple[str, str, Run]]:
    """Cutting and joining; the first version has no projection."""
    net = network_of(attributes)
    for version in ("_v2",) if net.num_proj else ("", "_v2"):
        for op in ("cudnn_rnn_params_to_canonical", "cudnn_rnn_canonical_to_params"):
            yield f"{op}{version}", "float64", partial(canonical, case, net, f"{op}{version}", device)


def canonical(case: Arrays, net: Network, op: str, device: str) -> Finding:
    """The buffer cut into the stored pieces, or joined from them."""
    pieces = {
        name: [case[f"{name}_{k}"].astype("f8") for k in range(sum(key.startswith(f"{name}_") for key in case))]
        for name in ("weights", "biases")
    }
    sizes, options = (net.L, net.H, net.I), options_of(op, net)
    if "to_canonical" in op:
        y = getattr(ops, op)(*sizes, tensor(case["params"].astype("f8"), device=device), **options)
        pairs = [*zip(y.weights, pieces["weights"], strict=True), *zip(y.biases, pieces["biases"], strict=True)]
    else:
        given = [[tensor(a, device=device) for a in pieces[name]] for name in ("weights", "biases")]
        pairs = [(getattr(ops, op)(*sizes, *given, **options), case["params"].astype("f8"))]
    return worst(compare_arrays(gradient_of("params"), t.numpy(), a, EXACT) for t, a in pairs)


def params_size(case: Arrays) -> Finding:
    """All rows of the stored table of sizes."""
    columns = [str(c) for c in case["columns"]]
    modes = [str(mode) for mode in case["modes"]]
    wrong = 0
    for row in case["table"].tolist():
        r = dict(zip(columns, row, strict=True))
        found = ops.cudnn_rnn_params_size(
            r["num_layers"], r["num_units"], r["input_size"],
            rnn_mode=modes[row[0]], direction=("unidirectional", "bidirectional")[r["num_directions"] - 1],
            input_mode="skip_input" if r["skip"] else "linear_input", num_proj=r["num_proj"],
        )  # fmt: skip
        wrong += found != row[-1]
    return Finding(float(wrong), 0.0, EXACT.reason, f"{wrong} of {len(case['table'])} sizes")
