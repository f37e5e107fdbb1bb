"""A batch of 0 rows goes through every recurrent op: empty outputs, and gradients of 0 for weights, to second order.

Tests `minirnn/ops/lstm_block/`, `minirnn/ops/gru_block/cell.py` and `minirnn/ops/cudnn_rnn/`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops

T, I, H, L = 3, 5, 4, 2
FEW = 2  # steps of the networks, whose second derivatives take longest
DTYPES = ["float16", "float64"]


@pytest.fixture(params=["cpu", "cpu-composed", "cuda-sim"])
def place(request: pytest.FixtureRequest) -> str:
    """Includes the device without kernels, because compositions also accept empty arrays."""
    reason = mr.devices.available()[request.param]
    if reason is not None:
        pytest.skip(reason)
    return str(request.param)


def ones(place: str, dtype: str, *shapes: tuple[int, ...]) -> list[mr.Tensor]:
    return [mr.tensor(np.ones(shape), True, place, dtype) for shape in shapes]


def check(outputs: Sequence[mr.Tensor], inputs: list[mr.Tensor], dtype: str) -> None:
    """Empty outputs, and zeros as first and second derivatives of the sum of all of them."""
    assert all(o.dtype == dtype for o in outputs)
    total = mr.ops.concat([o.reshape(-1) for o in outputs]).sum()
    if not total.requires_grad:  # a composition of no steps is a constant
        return
    first = mr.grad(total, inputs, create_graph=True)
    again = mr.ops.concat([(g * g + g).reshape(-1) for g in first]).sum()
    for gradients in (first, *([mr.grad(again, inputs)] if again.requires_grad else [])):
        for g, t in zip(gradients, inputs, strict=True):
            assert (g.shape, g.dtype) == (t.shape, t.dtype)
            assert not g.numpy().any()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("use_peephole", [False, True])
def test_lstm_block_cell_takes_no_rows(dtype: str, use_peephole: bool, place: str) -> None:
    inputs = ones(place, dtype, (0, I), (0, H), (0, H), (I + H, 4 * H), (H,), (H,), (H,), (4 * H,))
    outputs = ops.lstm_block_cell(*inputs, use_peephole=use_peephole)
    assert [o.shape for o in outputs] == [(0, H)] * 7
    check(outputs, inputs, dtype)
    inputs += ones(place, dtype, *[(0, H)] * 8)
    found = ops.lstm_block_cell_grad(*inputs, use_peephole=use_peephole)
    assert [o.shape for o in found] == [(0, H), (0, 4 * H), (H,), (H,), (H,)]
    assert not np.concatenate([g.numpy() for g in found[2:]]).any()
    check(found, inputs, dtype)


@pytest.mark.parametrize(("steps", "version", "dtype"), [(0, "", "float64"), (2, "", "float16"), (T, "_v2", "float32")])
def test_block_lstm_takes_no_rows(steps: int, version: str, dtype: str, place: str) -> None:
    inputs = ones(place, dtype, (T, 0, I), (0, H), (0, H), (I + H, 4 * H), (H,), (H,), (H,), (4 * H,))
    for use_peephole in (False, True):
        outputs = getattr(ops, f"block_lstm{version}")(steps, *inputs, use_peephole=use_peephole)
        assert [o.shape for o in outputs] == [(T, 0, H)] * 7
        check(outputs, inputs, dtype)
        more = [*inputs, *ones(place, dtype, *[(T, 0, H)] * 9)]
        found = getattr(ops, f"block_lstm_grad{version}")(steps, *more, use_peephole=use_peephole)
        assert [g.shape for g in found] == [t.shape for t in inputs]
        assert not any(g.numpy().any() for g in found)
        check(found, more, dtype)


@pytest.mark.parametrize("rows", [0, 2])
def test_block_lstm_takes_no_steps(rows: int, place: str) -> None:
    inputs = ones(place, "float64", (0, rows, I), (rows, H), (rows, H), (I + H, 4 * H), (H,), (H,), (H,), (4 * H,))
    outputs = ops.block_lstm(0, *inputs)
    assert [o.shape for o in outputs] == [(0, rows, H)] * 7
    check(outputs, inputs, "float64")


@pytest.mark.parametrize("dtype", DTYPES)
def test_gru_block_cell_takes_no_rows(dtype: str, place: str) -> None:
    inputs = ones(place, dtype, (0, I), (0, H), (I + H, 2 * H), (I + H, H), (2 * H,), (H,))
    outputs = ops.gru_block_cell(*inputs)
    assert [o.shape for o in outputs] == [(0, H)] * 4
    check(outputs, inputs, dtype)
    inputs += ones(place, dtype, *[(0, H)] * 4)
    found = ops.gru_block_cell_grad(*inputs)
    assert [o.shape for o in found] == [(0, I), (0, H), (0, H), (0, 2 * H)]
    check(found, inputs, dtype)


@pytest.mark.parametrize(
    ("version", "rnn_mode", "is_training", "dtype"),
    [(1, "rnn_relu", True, "float16"), (2, "gru", False, "float32"), (2, "lstm", True, "float64"),
     (3, "gru", True, "float64"), (3, "lstm", False, "float16")],
)  # fmt: skip
def test_cudnn_rnn_takes_no_rows(version: int, rnn_mode: str, is_training: bool, dtype: str, place: str) -> None:
    end = "" if version == 1 else f"_v{version}"
    settings: dict[str, Any] = {"rnn_mode": rnn_mode, "direction": "bidirectional", "dropout": 0.5}
    P = H
    if version == 3 and rnn_mode == "lstm":
        P = settings["num_proj"] = 2
    size = ops.cudnn_rnn_params_size(
        L, H, I, rnn_mode=rnn_mode, input_mode="linear_input", direction="bidirectional", num_proj=P if P < H else 0
    )
    inputs = ones(place, dtype, (FEW, 0, I), (2 * L, 0, P), (2 * L, 0, H), (size,))
    lengths: list[Any] = [[]] if version == 3 else []
    y = getattr(ops, f"cudnn_rnn{end}")(*inputs, *lengths, is_training=is_training, **settings)
    cell = [(2 * L, 0, H)] if rnn_mode == "lstm" else []
    assert [o.shape for o in y[:2]] == [(FEW, 0, 2 * P), (2 * L, 0, P)]
    if cell:
        assert y.output_c.shape == cell[0]
    used = inputs if cell else [inputs[0], inputs[1], inputs[3]]
    check(y[:3], used, dtype)

    kept = [y.reserve_space.detach(), *([y.host_reserved] if version > 1 else [])]
    more = ones(place, dtype, *[tuple(o.shape) for o in y[:3]])
    backprop = getattr(ops, f"cudnn_rnn_backprop{end}")
    found = backprop(*inputs, *lengths, *[o.detach() for o in y[:3]], *more, *kept, **settings)
    assert [g.shape for g in found][:2] == [(FEW, 0, I), (2 * L, 0, P)]
    assert found.params_backprop.shape == (size,)
    assert not found.params_backprop.numpy().any()
    check(found, [*used, *more[:2]], dtype)
