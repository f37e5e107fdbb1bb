"""The checks of ``minirnn bench --check``: stored values of other libraries and gradients of every op."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import minirnn as mr
from minirnn import ops
from minirnn.gradcheck import gradcheck

BLOCK_OPS = {
    # op of TensorFlow that made the gradients -> ours, its Grad op, inputs, outputs, upstream gradients
    "LSTMBlockCellGrad": ("lstm_block_cell", "lstm_block_cell_grad", "lstm", 6),
    "BlockLSTMGrad": ("block_lstm", "block_lstm_grad", "lstm", 7),
    "BlockLSTMGradV2": ("block_lstm_v2", "block_lstm_grad_v2", "lstm", 7),
    "GRUBlockCellGrad": ("gru_block_cell", "gru_block_cell_grad", "gru", 3),
}
INPUTS = {
    "lstm": ("x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b"),
    "gru": ("x", "h_prev", "w_ru", "w_c", "b_ru", "b_c"),
}
UPSTREAM = {"lstm": ("cs_grad", "h_grad"), "gru": ("d_h",)}
TOLERANCES = {"float16": 2e-2, "float32": 3e-5, "float64": 1e-11}
"""Of the largest expected value, at least of 1; sums of up to a hundred products."""


@dataclass(frozen=True)
class Check:
    """One check: the largest difference found, what was allowed, and, if it failed, why."""

    name: str
    ok: bool
    difference: float | None = None
    allowed: float | None = None
    why: str = ""


def golden(folder: Path, device: str, quick: bool) -> Iterator[Check]:
    """All files of a clone's ``tests/golden``; `quick`: every eighth."""
    block = sorted((folder / "block_ops").glob("*.npz"))
    cudnn = sorted((folder / "cudnn_rnn").glob("*.npz"))
    cudnn = [path for path in cudnn if not path.stem.startswith(("canonical", "params_size"))]
    step = 8 if quick else 1
    for path in block[::step]:
        yield attempt(f"golden {path.stem}", block_values, path, device)
    for path in cudnn[::step]:
        for dtype in ("float64", "float32"):
            yield attempt(f"golden {path.stem} {dtype}", cudnn_values, path, device, dtype)


def gradients(device: str, quick: bool) -> Iterator[Check]:
    """Finite differences of every op that has gradients; equality with `cpu` for those that have none."""
    for name, (fn, inputs) in gradient_cases(np.random.default_rng(0)).items():
        yield attempt(f"gradcheck {name}", gradient, fn, inputs, device, quick)
    for name, (fn, inputs) in value_cases(np.random.default_rng(1)).items():
        yield attempt(f"values {name}", same_as_cpu, fn, inputs, device)


def attempt(name: str, check: Callable[..., tuple[float, float]], *args: Any) -> Check:
    """Run a check; whatever it raises is its result."""
    try:
        difference, allowed = check(*args)
    except Exception as error:
        return Check(name, False, why=f"{type(error).__name__}: {error}")
    return Check(name, difference <= allowed, difference, allowed)


def worst(pairs: Iterator[tuple[Any, np.ndarray]]) -> tuple[float, float]:
    """The largest difference of (found, expected), as a part of what is allowed."""
    most = 0.0
    for found, expected in pairs:
        found, wide = np.asarray(found), np.asarray(expected, np.float64)
        if found.shape != wide.shape:
            raise ValueError(f"got shape {found.shape}, expected {wide.shape}")
        scale = TOLERANCES[found.dtype.name] * max(1.0, float(np.abs(wide).max(initial=0)))
        difference = float(np.abs(found.astype(np.float64) - wide).max(initial=0)) / scale
        most = max(most, difference) if difference == difference else np.inf  # NaN never passes
    return most, 1.0


def block_values(path: Path, device: str) -> tuple[float, float]:
    """One file of ``golden/block_ops``: the forward op and the raw Grad op."""
    with np.load(path, allow_pickle=False) as z:
        case = dict(z)
    forward, grad, kind, saved = BLOCK_OPS[str(case["meta_grad_op"])]
    put = lambda name: mr.tensor(case[name], device=device)  # noqa: E731
    inputs = [case["seq_len_max"]] if "seq_len_max" in case else []
    inputs += [put(name) for name in INPUTS[kind]]
    kinds: dict[str, Callable[[Any], Any]] = {"forget_bias": float, "cell_clip": float, "use_peephole": bool}
    attributes = {name: cast(case[name]) for name, cast in kinds.items() if name in case}
    fields = ("i", "cs", "f", "o", "ci", "co", "h") if kind == "lstm" else ("r", "u", "c", "h")

    def pairs() -> Iterator[tuple[Any, np.ndarray]]:
        if str(case["meta_op"]):
            outputs = getattr(ops, forward)(*inputs, **attributes)
            yield from ((getattr(outputs, name), case[name]) for name in fields)
        only = {"use_peephole": attributes["use_peephole"]} if kind == "lstm" else {}
        rest = [put(name) for name in (*fields[:saved], *UPSTREAM[kind])]
        found = getattr(ops, grad)(*inputs, *rest, **only)
        yield from ((getattr(found, name), case[name]) for name in found._fields)

    return worst(pairs())


def cudnn_values(path: Path, device: str, dtype: str) -> tuple[float, float]:
    """One file of ``golden/cudnn_rnn``: outputs, and gradients through the tape."""
    with np.load(path, allow_pickle=False) as z:
        case = dict(z)
    attributes = json.loads(str(case.pop("attributes")))
    names, outs = ["input", "input_h", "input_c", "params"], ["output", "output_h", "output_c"]
    training = attributes["is_training"]
    inputs = [mr.tensor(case[name].astype(dtype), training, device) for name in names]
    T, B = case["input"].shape[:2] if attributes["time_major"] else case["input"].shape[1::-1]
    chosen = (
        "rnn_mode",
        "input_mode",
        "direction",
        "dropout",
        "seed",
        "seed2",
        "is_training",
        "num_proj",
        "time_major",
    )
    options = {name: attributes[name] for name in chosen}
    if "dropout_masks" in case:
        options["dropout_masks"] = case["dropout_masks"]
    lengths = case.get("sequence_lengths", np.full(B, T, np.int32))
    x, h, c, params = inputs
    y = ops.cudnn_rnn_v3(x, h, c, params, lengths, **options)

    def pairs() -> Iterator[tuple[Any, np.ndarray]]:
        yield from ((getattr(y, name), case[name]) for name in outs)
        if training:
            used = [k for k in range(4) if k != 2 or attributes["rnn_mode"] == "lstm"]
            count = 3 if attributes["rnn_mode"] == "lstm" else 2
            upstream = [mr.tensor(case[f"{n}_backprop"].astype(dtype), device=device) for n in outs[:count]]
            found = mr.grad(list(y[:count]), [inputs[k] for k in used], upstream)
            yield from ((g, case[f"{names[k]}_backprop"]) for k, g in zip(used, found, strict=True))

    return worst(pairs())


def gradient(fn: Callable[..., Any], inputs: list[Any], device: str, quick: bool) -> tuple[float, float]:
    """Difference over what is allowed, of the worst input. Raises `GradcheckError` if a gradient is off."""
    placed = [mr.tensor(x, True, device) if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x for x in inputs]
    report = gradcheck(fn, placed, max_entries=6 if quick else 60, directions=2 if quick else 8)
    return max(report.errors.values(), default=0.0), np.inf


def same_as_cpu(fn: Callable[..., Any], inputs: list[Any], device: str) -> tuple[float, float]:
    """Ops of whole numbers and truth values: exactly what `cpu` gives."""
    found, expected = (
        np.asarray(fn(*(mr.tensor(x, device=where) if isinstance(x, np.ndarray) else x for x in inputs)))
        for where in (device, "cpu")
    )
    same = found.dtype == expected.dtype and np.array_equal(found, expected)
    return (0.0 if same else np.inf), 0.0


Cases = dict[str, tuple[Callable[..., Any], list[Any]]]


def gradient_cases(rng: np.random.Generator) -> Cases:
    """Name of an op -> a call of it and float64 inputs away from its kinks."""
    T, B, I, H = 3, 2, 3, 4
    normal = lambda *shape: rng.standard_normal(shape)  # noqa: E731
    away = lambda *shape: np.sign(normal(*shape)) * rng.uniform(0.3, 1.5, shape)  # noqa: E731
    positive = lambda *shape: rng.uniform(0.5, 2, shape)  # noqa: E731
    a, b, row = normal(2, 3, 4), normal(2, 3, 4), normal(4)
    distinct = rng.permutation(24).reshape(2, 3, 4) * 0.1
    index = np.array([[0, 2], [1, 1]])
    condition = rng.random((2, 3, 4)) < 0.5
    cases: Cases = {
        "add": (ops.add, [a, row]),
        "subtract": (ops.subtract, [a, row]),
        "multiply": (ops.multiply, [a, row]),
        "divide": (ops.divide, [a, positive(3, 1)]),
        "power": (ops.power, [positive(2, 3), normal(3)]),
        "maximum": (ops.maximum, [distinct, distinct + away(2, 3, 4)]),
        "minimum": (ops.minimum, [distinct, distinct + away(2, 3, 4)]),
        "where": (lambda x, y: ops.where(condition, x, y), [a, row]),
        "clip": (lambda x: ops.clip(x, -0.2, 0.2), [away(2, 3)]),
        **{n: (getattr(ops, n), [a]) for n in ("negative", "exp", "tanh", "sigmoid", "identity", "sum", "mean")},
        **{n: (getattr(ops, n), [away(2, 3)]) for n in ("absolute", "relu")},
        **{n: (getattr(ops, n), [positive(2, 3)]) for n in ("log", "sqrt")},
        "max": (lambda x: ops.max(x, axis=1), [distinct]),
        "matmul": (ops.matmul, [normal(2, 3, 4), normal(4, 5)]),
        "softmax": (ops.softmax, [a]),
        "log_softmax": (ops.log_softmax, [a]),
        "cross_entropy": (lambda x: ops.cross_entropy(x, np.array([1, 0, 3])), [normal(3, 4)]),
        "reshape": (lambda x: ops.reshape(x, (4, 6)), [a]),
        "transpose": (lambda x: ops.transpose(x, (2, 0, 1)), [a]),
        "broadcast_to": (lambda x: ops.broadcast_to(x, (2, 3, 4)), [normal(3, 1)]),
        "expand_dims": (lambda x: ops.expand_dims(x, 1), [a]),
        "squeeze": (lambda x: ops.squeeze(x, 1), [normal(3, 1, 2)]),
        "flip": (lambda x: ops.flip(x, 0), [a]),
        "concat": (lambda x, y: ops.concat([x, y], 1), [a, normal(2, 2, 4)]),
        "stack": (lambda x, y: ops.stack([x, y], 1), [a, b]),
        "split": (lambda x: ops.split(x, 2, 2), [a]),
        "getitem": (lambda x: x[:, 1:, ::2], [a]),
        "getitem, array": (lambda x: x[index], [normal(3, 4)]),
        "embedding": (lambda x: ops.embedding(x, index), [normal(4, 3)]),
        "scatter_add": (lambda x: ops.scatter_add((3, 4), (index,), x), [normal(2, 2, 4)]),
        "astype": (lambda x: ops.astype(x, np.float64), [a]),
    }
    lstm = [normal(B, H), 0.5 * normal(B, H), 0.6 * normal(I + H, 4 * H)]
    lstm += [0.7 * normal(H) for _ in range(3)] + [0.5 * normal(4 * H)]
    cell, sequence = [normal(B, I), *lstm], [normal(T, B, I), *lstm]
    gru = [normal(B, I), normal(B, H), 0.6 * normal(I + H, 2 * H), 0.6 * normal(I + H, H), normal(2 * H), normal(H)]
    for peephole in (False, True):
        more = {"use_peephole": peephole, "cell_clip": 0.0}
        label = " with peepholes" if peephole else ""
        cases |= {
            f"lstm_block_cell{label}": (lambda *x, more=more: ops.lstm_block_cell(*x, **more), cell),
            f"block_lstm{label}": (lambda *x, more=more: ops.block_lstm(T, *x, **more), sequence),
            f"block_lstm_v2{label}": (
                lambda *x, more=more: ops.block_lstm_v2(T - 1, *x, use_peephole=more["use_peephole"]),
                sequence,
            ),
        }
    cases["gru_block_cell"] = (ops.gru_block_cell, gru)
    for mode in ("lstm", "gru", "rnn_tanh"):
        size = ops.cudnn_rnn_params_size(2, H, I, rnn_mode=mode, direction="bidirectional")
        inputs = [normal(T, B, I), normal(4, B, H), normal(4, B, H), 0.4 * normal(size)]
        cases[f"cudnn_rnn_v3 {mode}"] = (partial(two_layers, mode), inputs)
    return cases


def two_layers(mode: str, x: Any, h: Any, c: Any, params: Any) -> Any:
    """Two layers, two directions, lengths T and T - 1; the outputs that the mode has."""
    T = x.shape[0]
    options: dict[str, Any] = {"rnn_mode": mode, "direction": "bidirectional"}
    y = ops.cudnn_rnn_v3(x, h, c, params, np.array([T, T - 1], np.int32), **options)
    return y[: 3 if mode == "lstm" else 2]


def value_cases(rng: np.random.Generator) -> Cases:
    """Ops whose results are compared with those of `cpu`."""
    a, b = rng.integers(-2, 3, (2, 3, 4)).astype("f8"), rng.integers(-2, 3, 4).astype("f8")
    names = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
    cases: Cases = {name: (getattr(ops, name), [a, b]) for name in names}
    cases["sign"] = (ops.sign, [a])
    cases["argmax"] = (lambda x: ops.argmax(x, axis=1), [a])
    cases["astype"] = (lambda x: ops.astype(x, np.int64), [a])
    cases["sum of whole numbers"] = (ops.sum, [rng.integers(-9, 9, (5, 7))])
    return cases
