"""Wrong arguments of the CudnnRNN ops that are not a single row of `tests/hostile/calls_cudnn.py`."""

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
