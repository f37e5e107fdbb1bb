"""TensorFlow's ``name=`` is accepted by every op of TensorFlow and by its cells, and changes nothing.

Tests `minirnn/ops/lstm_block/`, `minirnn/ops/gru_block/cell.py`, `minirnn/ops/cudnn_rnn/` and
`minirnn/nn/lstm_block.py`.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn, ops
from minirnn.ops.primitives import __all__ as primitives
from tests.each import each

TENSORFLOWS = sorted(set(ops.__all__) - set(primitives) - {"cross_entropy"})
B, I, H, T = 2, 3, 4, 5


def call(op: str, /, **more: Any) -> Any:
    """A right call of an op of TensorFlow."""
    a = {n: np.ones(s) for n, s in {"BI": (B, I), "BH": (B, H), "TBI": (T, B, I), "TBH": (T, B, H), "H": (H,)}.items()}
    w = np.ones((I + H, 4 * H))
    lstm = (a["BH"], a["BH"], w, a["H"], a["H"], a["H"], np.ones(4 * H))
    gru = (a["BI"], a["BH"], np.ones((I + H, 2 * H)), np.ones((I + H, H)), np.ones(2 * H), a["H"])
    sizes = (1, H, I)
    n = ops.cudnn_rnn_params_size(*sizes)
    inputs = (a["TBI"], np.ones((1, B, H)), np.ones((1, B, H)), np.ones(n))
    lengths = [[T] * B] if op.endswith("_v3") else []
    if op.startswith("cudnn_rnn_backprop"):
        y = getattr(ops, op.replace("_backprop", ""))(*inputs, *lengths)
        kept = y[3:]
        return getattr(ops, op)(*inputs, *lengths, *y[:3], *y[:3], *kept, **more)
    pieces = ops.cudnn_rnn_params_to_canonical(*sizes, inputs[3])
    arguments: dict[str, tuple[Any, ...]] = {
        "lstm_block_cell": (a["BI"], *lstm),
        "lstm_block_cell_grad": (a["BI"], *lstm, *[a["BH"]] * 8),
        "block_lstm": (T, a["TBI"], *lstm),
        "block_lstm_grad": (T, a["TBI"], *lstm, *[a["TBH"]] * 9),
        "gru_block_cell": gru,
        "gru_block_cell_grad": (*gru, *[a["BH"]] * 4),
        "cudnn_rnn_params_size": sizes,
        "cudnn_rnn_params_to_canonical": (*sizes, inputs[3]),
        "cudnn_rnn_canonical_to_params": (*sizes, *pieces),
        "cudnn_rnn": (*inputs, *lengths),
    }
    plain = op.removesuffix("_v2").removesuffix("_v3")
    if op in ("lstm_block_cell_grad", "block_lstm_grad", "block_lstm_grad_v2"):
        more = {"use_peephole": False, **more}
    return getattr(ops, op)(*arguments[plain], **more)


def flat(found: Any) -> list[np.ndarray]:
    if isinstance(found, (tuple, list)):
        return [array for part in found for array in flat(part)]
    return [np.asarray(found)]


def test_there_are_nineteen_ops_of_tensorflow() -> None:
    assert len(TENSORFLOWS) == 19


@each("name", TENSORFLOWS)
def test_an_op_takes_a_name_and_ignores_it(name: str) -> None:
    parameter = inspect.signature(getattr(ops, name)).parameters["name"]
    assert (parameter.kind, parameter.default) == (inspect.Parameter.KEYWORD_ONLY, None)
    for with_name, without in zip(flat(call(name, name="a/node")), flat(call(name)), strict=True):
        np.testing.assert_array_equal(with_name, without)
    with pytest.raises(TypeError, match="title"):
        call(name, title="a/node")


@pytest.mark.parametrize("make", [nn.LSTMBlockCell, nn.LSTMBlockFusedCell, nn.GRUBlockCell])
def test_a_cell_of_tensorflow_takes_a_name_and_ignores_it(make: Any) -> None:
    mr.manual_seed(1)
    named = make(H, I, name="cell").state_dict()
    mr.manual_seed(1)
    for key, value in make(H, I).state_dict().items():
        np.testing.assert_array_equal(named[key], value)
