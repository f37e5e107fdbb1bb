"""Wrong arguments of the CudnnRNN ops: nothing is computed from garbage, and the message says what was expected."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from minirnn.ops.cudnn_rnn.params import Network
from tests.each import each

T, B, I, H, L = 5, 3, 4, 6, 2
D = 2
NET = Network("lstm", L, H, I, "bidirectional")
GRU = Network("gru", L, H, I, "bidirectional")
INT = np.int64


def a(*shape: int) -> np.ndarray:
    """Some numbers."""
    return np.cos(np.arange(np.prod(shape, dtype=int))).reshape(shape)


def good(**change: Any) -> dict[str, Any]:
    """A valid call of cudnn_rnn_v3, with some arguments changed."""
    return {
        "input": a(T, B, I),
        "input_h": a(L * D, B, H),
        "input_c": a(L * D, B, H),
        "params": a(NET.size) / 5,
        "sequence_lengths": np.array([2, 5, 3]),
        "direction": "bidirectional",
    } | change


FORWARD: list[Any] = [
    # ranks
    ({"input": a(T, B)}, ValueError, r"input has shape \(5, 3\), 2 axes\n  expected \(T, B, I\)"),
    ({"input": a(1, T, B, I)}, ValueError, r"input has shape .* 4 axes\n  expected \(T, B, I\)"),
    ({"input_h": a(B, H)}, ValueError, r"input_h has shape \(3, 6\), 2 axes\n  expected \(L\*D, B, P\)"),
    ({"input_c": a(B, H)}, ValueError, r"input_c has shape \(3, 6\), 2 axes\n  expected \(L\*D, B, H\)"),
    ({"params": a(1, NET.size)}, ValueError, r"params has shape \(1, \d+\)\n  expected \(n,\) = "),
    (
        {"sequence_lengths": np.array([[2, 5, 3]])},
        ValueError,
        r"sequence_lengths has shape \(1, 3\)\n  expected \(B,\)",
    ),
    # sizes
    ({"input": a(0, B, I)}, ValueError, r"T is 0"),
    ({"input": a(T, 0, I)}, ValueError, r"input_h has shape .*\n  expected \(L\*D, B, P\) = \(4, 0, 6\)"),
    ({"input": a(T, B, 0)}, ValueError, r"I is 0"),
    (
        {"input_h": a(L * D, B + 1, H)},
        ValueError,
        r"input_h has shape \(4, 4, 6\)\n  expected \(L\*D, B, P\) = \(4, 3, 6\)",
    ),
    ({"input_h": a(3, B, H), "input_c": a(3, B, H)}, ValueError, r"input_h has 3 pseudo-layers.*\n.*multiple of 2"),
    ({"input_h": a(0, B, H), "input_c": a(0, B, H)}, ValueError, r"input_h has 0 pseudo-layers"),
    ({"input_c": a(L * D, B, H + 1)}, ValueError, r"input_h has width 6, input_c has width 7\n.*\n  likely num_proj"),
    ({"input_c": a(L * D + 2, B, H)}, ValueError, r"input_c has shape \(6, 3, 6\)\n  expected \(L\*D, B, H\)"),
    ({"input_h": a(B, L * D, H), "input_c": a(B, L * D, H)}, ValueError, r"input_h has shape \(3, 4, 6\)"),
    ({"params": a(NET.size - 1)}, ValueError, r"params has shape \(\d+,\)\n  expected \(n,\) = "),
    ({"params": a(NET.size + 1)}, ValueError, r"params has shape \(\d+,\)\n  expected \(n,\) = "),
    ({"input": a(B, T, I)}, ValueError, r"input_h has shape .*\n.*\n  likely batch-first: pass time_major=False"),
    # lengths
    (
        {"sequence_lengths": np.array([2, 5])},
        ValueError,
        r"sequence_lengths has shape \(2,\)\n  expected \(B,\) = \(3,\)",
    ),
    ({"sequence_lengths": np.array([2, 0, 3])}, ValueError, r"sequence_lengths\[1\] is 0\n  expected 1 .. 5 \(T\)"),
    ({"sequence_lengths": np.array([2, 5, -1])}, ValueError, r"sequence_lengths\[2\] is -1\n  expected 1 .. 5"),
    ({"sequence_lengths": np.array([6, 5, 3])}, ValueError, r"sequence_lengths\[0\] is 6\n  expected 1 .. 5"),
    ({"sequence_lengths": np.array([2.0, 5.0, 3.0])}, TypeError, r"sequence_lengths has dtype float64\n  expected int"),
    ({"sequence_lengths": None}, TypeError, r"sequence_lengths is None\n  expected integers \(B,\)"),
    # strings
    ({"rnn_mode": "LSTM"}, ValueError, r"rnn_mode is 'LSTM'\n  expected one of .*\n  likely 'lstm'"),
    ({"rnn_mode": 3}, TypeError, r"rnn_mode is 3\n  expected one of"),
    ({"direction": "forward"}, ValueError, r"direction is 'forward'\n  expected one of"),
    ({"input_mode": "linear"}, ValueError, r"input_mode is 'linear'\n  expected one of .*\n  likely 'linear_input'"),
    ({"input_mode": "skip_input"}, ValueError, r"input_mode is 'skip_input', input_size is 4, num_units is 6\n.*I = H"),
    # numbers
    ({"dropout": 1.5}, ValueError, r"dropout is 1.5\n  expected 0 .. 1"),
    ({"dropout": -0.1}, ValueError, r"dropout is -0.1\n  expected 0 .. 1"),
    ({"dropout": float("nan")}, ValueError, r"dropout is nan\n  expected a finite number"),
    ({"dropout": "0.5"}, TypeError, r"dropout is '0.5'\n  expected a number"),
    ({"seed": 1.5}, TypeError, r"seed is 1.5\n  expected an integer"),
    ({"num_proj": H}, ValueError, r"num_proj is 6, num_units is 6\n  expected num_proj < num_units"),
    ({"num_proj": H + 1}, ValueError, r"num_proj is 7, num_units is 6\n  expected num_proj < num_units"),
    ({"num_proj": -1}, ValueError, r"num_proj is -1\n  expected 0 or more"),
    ({"num_proj": 3}, ValueError, r"input_h has width 6\n  expected P = num_proj = 3"),
    ({"rnn_mode": "gru", "params": a(GRU.size), "num_proj": 3}, ValueError, r"num_proj is 3 with rnn_mode 'gru'"),
    ({"is_training": 1}, TypeError, r"is_training is 1\n  expected True or False"),
    ({"time_major": None}, TypeError, r"time_major is None\n  expected True or False"),
    # masks
    (
        {"dropout_masks": a(L, T, B, D * H)},
        ValueError,
        r"dropout_masks has shape .*\n  expected \(L-1, T, B, D\*P\) = \(1, 5",
    ),
    ({"dropout_masks": np.ones((1, T, B, D * H), INT)}, TypeError, r"dropout_masks has dtype int64"),
    # dtypes
    (
        {"input": a(T, B, I).astype("f4")},
        TypeError,
        r"input_h has dtype float64, input has float32\n  expected one dtype",
    ),
    ({"params": a(NET.size).astype("f2")}, TypeError, r"params has dtype float16, input has float64"),
    ({"input": np.ones((T, B, I), INT)}, TypeError, r"input has dtype int64\n  expected float16, float32 or float64"),
    ({"input": None}, TypeError, r"input is None\n  expected an array"),
    ({"input": "text"}, TypeError, r"input: .*dtype"),
]


def test_the_good_call_is_good() -> None:
    ops.cudnn_rnn_v3(**good())


@each(("change", "kind", "text"), FORWARD)
def test_bad_arguments_raise_and_say_what_was_expected(
    change: dict[str, Any], kind: type[Exception], text: str
) -> None:
    with pytest.raises(kind, match=rf"^cudnn_rnn_v3: {text}"):
        ops.cudnn_rnn_v3(**good(**change))


@pytest.mark.parametrize("version", [1, 2])
def test_older_versions_have_neither_lengths_nor_projections_nor_batch_major(version: int) -> None:
    op = ops.cudnn_rnn if version == 1 else ops.cudnn_rnn_v2
    arguments = {k: v for k, v in good().items() if k != "sequence_lengths"}
    op(**arguments)
    for name, value in (("sequence_lengths", [2, 5, 3]), ("num_proj", 3), ("time_major", True)):
        with pytest.raises(TypeError, match=name):
            op(**arguments, **{name: value})


def backprop_arguments(**change: Any) -> dict[str, Any]:
    """A valid call of cudnn_rnn_backprop_v3, with some arguments changed."""
    arguments = good(dropout=0.3)
    y = ops.cudnn_rnn_v3(**arguments)
    arguments |= {
        "output": y.output,
        "output_h": y.output_h,
        "output_c": y.output_c,
        "output_backprop": a(T, B, D * H),
        "output_h_backprop": a(L * D, B, H),
        "output_c_backprop": a(L * D, B, H),
        "reserve_space": y.reserve_space,
        "host_reserved": y.host_reserved,
    }
    return arguments | change


BACKWARD: list[Any] = [
    ({"output": a(T, B, H)}, r"output has shape \(5, 3, 6\)\n  expected \(T, B, D\*P\) = \(5, 3, 12\)"),
    ({"output_h": a(L, B, H)}, r"output_h has shape .*\n  expected \(L\*D, B, P\) = \(4, 3, 6\)"),
    ({"output_c": a(L * D, B, 1)}, r"output_c has shape .*\n  expected \(L\*D, B, H\) = \(4, 3, 6\)"),
    ({"output_backprop": a(T - 1, B, D * H)}, r"output_backprop has shape .*\n  expected \(T, B, D\*P\)"),
    ({"output_h_backprop": a(B, H)}, r"output_h_backprop has shape \(3, 6\), 2 axes\n  expected \(L\*D, B, P\)"),
    ({"output_c_backprop": a(L * D, B + 1, H)}, r"output_c_backprop has shape .*\n  expected \(L\*D, B, H\)"),
    ({"reserve_space": a(7)}, r"reserve_space has shape \(7,\)\n  expected .*\n  likely that of another call"),
    ({"reserve_space": a(7, 1)}, r"reserve_space has shape \(7, 1\), 2 axes\n  expected \(n\)"),
    ({"params": a(3)}, r"params has shape \(3,\)\n  expected \(n,\)"),
]


def test_the_good_backprop_call_is_good() -> None:
    ops.cudnn_rnn_backprop_v3(**backprop_arguments())


@pytest.mark.parametrize(("change", "text"), BACKWARD)
def test_bad_arguments_of_backprop_raise(change: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=rf"^cudnn_rnn_backprop_v3: {text}"):
        ops.cudnn_rnn_backprop_v3(**backprop_arguments(**change))


def test_gradients_of_another_dtype_are_refused() -> None:
    with pytest.raises(TypeError, match="output_backprop has dtype float32"):
        ops.cudnn_rnn_backprop_v3(**backprop_arguments(output_backprop=a(T, B, D * H).astype("f4")))


@pytest.mark.parametrize("change", [{"input": a(T, B, I) + 1}, {"params": a(NET.size) / 4}, {"seed": 1}])
def test_a_stale_reserve_space_is_noticed(change: dict[str, Any]) -> None:
    stale = ops.cudnn_rnn_v3(**good(dropout=0.3, **change)).reserve_space
    with pytest.raises(ValueError, match="was not made by the call that returned this output"):
        ops.cudnn_rnn_backprop_v3(**backprop_arguments(reserve_space=stale))


@each("mode", ["lstm", "gru", "rnn_relu"])
@each("layers", [1, 2])
def test_a_reserve_space_with_too_little_or_too_much_saved_is_refused(device: str, mode: str, layers: int) -> None:
    def t(*shape: int) -> mr.Tensor:
        return mr.tensor(np.ones(shape, "f4"), device=device)

    inputs = t(T, B, I), t(layers, B, H), t(layers, B, H), t(ops.cudnn_rnn_params_size(layers, H, I, rnn_mode=mode))
    outputs = ops.cudnn_rnn(*inputs, rnn_mode=mode)
    space = outputs.reserve_space.numpy()
    wrong = [np.concatenate([np.zeros(4 * layers, "f4"), space])]
    if mode != "rnn_relu":  # which saves nothing
        wrong += [space[-16:], space[4 * layers :]]
    for one in wrong:
        with pytest.raises(ValueError, match="^cudnn_rnn_backprop: reserve_space has shape .*\n.*\n  likely that of"):
            ops.cudnn_rnn_backprop(*inputs, *outputs[:3], *outputs[:3], mr.tensor(one, device=device), rnn_mode=mode)


def test_an_error_leaves_the_tape_usable() -> None:
    x = mr.tensor(a(T, B, I), True)
    with pytest.raises(ValueError):
        ops.cudnn_rnn_v3(**good(input=x, params=a(3)))
    y = ops.cudnn_rnn_v3(**good(input=x))
    assert np.abs(mr.grad(y.output.sum(), x).numpy()).max() > 0
