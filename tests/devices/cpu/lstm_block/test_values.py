"""LSTMBlockCell and BlockLSTM in NumPy give TensorFlow's values; their gradients equal finite differences.

Tests `minirnn/devices/cpu/lstm_block/cell.py`, `minirnn/devices/cpu/lstm_block/sequence.py` and
`minirnn/devices/cpu/lstm_block/reference.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.devices.cpu.kernel_checks import assert_all_close, assert_close, differences, golden, load
from tests.devices.cpu.lstm_block.lstm_cases import (
    CELL_GRADIENTS,
    GRADIENTS,
    INPUTS,
    ORDERS,
    OUTPUTS,
    VERSIONS,
    B,
    H,
    I,
    T,
    draw,
    inputs,
    lstm_block_cell,
    lstm_block_cell_grad,
)


def golden_attributes(case: dict[str, np.ndarray]) -> dict[str, Any]:
    return {
        "forget_bias": float(case.get("forget_bias", 0.0)),
        "cell_clip": float(case["cell_clip"]),
        "use_peephole": bool(case["use_peephole"]),
    }


def test_all_golden_files_are_there() -> None:
    assert len(golden("lstm_cell")) == 6
    assert len(golden("block_lstm")) == 12


@pytest.mark.parametrize("path", golden("lstm_cell"))
def test_cell_equals_tensorflow(path: Path) -> None:
    case = load(path)
    args = [case[name] for name in INPUTS]
    if str(case["meta_op"]):
        assert_all_close(OUTPUTS, lstm_block_cell(*args, **golden_attributes(case)), case)
    saved = [case[name] for name in OUTPUTS[:-1]]
    upstream = case["cs_grad"], case["h_grad"]
    got = lstm_block_cell_grad(*args, *saved, *upstream, use_peephole=bool(case["use_peephole"]))
    assert_all_close(CELL_GRADIENTS, got, case)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("path", golden("block_lstm"))
def test_sequence_equals_tensorflow(path: Path, version: str) -> None:
    forward, backward = VERSIONS[version]
    case = load(path)
    args = [case[name] for name in INPUTS]
    where = {
        "seq_len_max": int(case["seq_len_max"]),
        "gate_order": "ifco" if str(case["meta_grad_op"]) == "BlockLSTMGradV2" else "icfo",
    }
    if str(case["meta_op"]):
        assert_all_close(OUTPUTS, forward(*args, **where, **golden_attributes(case)), case)
    saved = [case[name] for name in OUTPUTS]
    upstream = case["cs_grad"], case["h_grad"]
    got = backward(*args, *saved, *upstream, **where, use_peephole=bool(case["use_peephole"]))
    assert_all_close(GRADIENTS, got, case)


@pytest.mark.parametrize("use_peephole", [False, True])
def test_cell_gradient_equals_finite_differences(rng: np.random.Generator, use_peephole: bool) -> None:
    args = inputs(rng, (B,))
    cs_grad, h_grad = draw(rng, 2, (B, H))
    attributes = {"forget_bias": 0.7, "cell_clip": 0.0, "use_peephole": use_peephole}  # the clip has no derivative

    def loss() -> float:
        _, cs, _, _, _, _, h = lstm_block_cell(*args, **attributes)
        return float((cs * cs_grad).sum() + (h * h_grad).sum())

    saved = lstm_block_cell(*args, **attributes)[:-1]
    got = lstm_block_cell_grad(*args, *saved, cs_grad, h_grad, use_peephole=use_peephole)
    cs_prev_grad, dicfo, wci_grad, wcf_grad, wco_grad = got
    x, _, h_prev, w, *_ = args
    xh, xh_grad = np.concatenate([x, h_prev], axis=1), dicfo @ w.T
    gradients = [xh_grad[:, :I], cs_prev_grad, xh_grad[:, I:], xh.T @ dicfo]
    gradients += [wci_grad, wcf_grad, wco_grad, dicfo.sum(axis=0)]
    for name, a, gradient in zip(GRADIENTS, args, gradients, strict=True):
        assert_close(name, gradient, differences(loss, a), tolerance=1e-8)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("gate_order", ORDERS)
@pytest.mark.parametrize("use_peephole", [False, True])
def test_sequence_gradient_equals_finite_differences(
    rng: np.random.Generator, small_chunks: None, version: str, gate_order: str, use_peephole: bool
) -> None:
    forward, backward = VERSIONS[version]
    args = inputs(rng, (T, B))
    cs_grad, h_grad = draw(rng, 2, (T, B, H))
    where = {"seq_len_max": 5, "gate_order": gate_order, "use_peephole": use_peephole}

    def run() -> tuple[np.ndarray, ...]:
        return forward(*args, **where, forget_bias=0.7, cell_clip=-1.0)  # the clip has no derivative

    def loss() -> float:
        _, cs, _, _, _, _, h = run()
        return float((cs * cs_grad).sum() + (h * h_grad).sum())

    got = backward(*args, *run(), cs_grad, h_grad, **where)
    for name, a, gradient in zip(GRADIENTS, args, got, strict=True):
        assert_close(name, gradient, differences(loss, a), tolerance=1e-8)
