"""Wrong arguments of the block ops: the exception, and a message with what was got, what was expected, and why.

Tests `minirnn/arguments/check.py`, `minirnn/engine/operands.py` and `minirnn/ops/lstm_block/check.py`.
"""

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from minirnn.arguments import check
from minirnn.engine import operands
from tests.ops.block_cases import GRU_INPUTS, LSTM_INPUTS, gru_inputs, lstm_inputs

T, B, I, H = 4, 2, 3, 5


def arguments(op: str, rng: np.random.Generator) -> dict[str, Any]:
    """Good arguments of an op by name."""
    if op.startswith("gru"):
        v: dict[str, Any] = gru_inputs(rng, B, I, H)
        if op.endswith("grad"):
            v |= {name: rng.standard_normal((B, H)) for name in ("r", "u", "c", "d_h")}
        return v
    sequence = op.startswith("block")
    lead = (T, B) if sequence else (B,)
    v = {"seq_len_max": 3} if sequence else {}
    v |= lstm_inputs(rng, lead, I, H)
    if "grad" in op:
        names = ("i", "cs", "f", "o", "ci", "co", *(("h",) if sequence else ()), "cs_grad", "h_grad")
        v |= {name: rng.standard_normal((*lead, H)) for name in names} | {"use_peephole": True}
    return v


OPS = [
    "lstm_block_cell",
    "lstm_block_cell_grad",
    "block_lstm",
    "block_lstm_v2",
    "block_lstm_grad",
    "block_lstm_grad_v2",
    "gru_block_cell",
    "gru_block_cell_grad",
]


@pytest.mark.parametrize("op", OPS)
def test_every_axis_of_every_array_is_checked(op: str, rng: np.random.Generator) -> None:
    good = arguments(op, rng)
    tried = 0
    for name, value in good.items():
        if not isinstance(value, np.ndarray):
            continue
        free = name == "x" and op.startswith("block") and "grad" not in op  # T comes from x itself
        axes = range(1 if free else 0, value.ndim)
        wrong = [np.concatenate([value, value.take([0], axis)], axis) for axis in axes]
        wrong += [value.take(range(1, value.shape[axis]), axis) for axis in axes]
        wrong += [value[None], value[0]]
        for array in wrong:
            with pytest.raises(ValueError) as caught:
                getattr(ops, op)(**(good | {name: array}))
            text = str(caught.value)
            assert text.startswith(f"{op}: ") and "expected" in text and len(text.splitlines()) in (2, 3), text
            tried += 1
    assert tried >= 6 * len(GRU_INPUTS if op.startswith("gru") else LSTM_INPUTS) - 8


@pytest.mark.parametrize("op", OPS)
def test_other_and_mixed_dtypes_are_refused(op: str, rng: np.random.Generator) -> None:
    good = arguments(op, rng)
    for name, value in good.items():
        if not isinstance(value, np.ndarray):
            continue
        for dtype in ("f4", "i8"):
            with pytest.raises(TypeError, match=rf"^{op}: .*\n  expected"):
                getattr(ops, op)(**(good | {name: value.astype(dtype)}))
        with pytest.raises(TypeError, match=rf"^{op}: {name} is None"):
            getattr(ops, op)(**(good | {name: None} | ({"use_peephole": True} if not op.startswith("gru") else {})))


def test_without_peepholes_their_weights_may_be_left_out(rng: np.random.Generator) -> None:
    good = arguments("block_lstm", rng)
    none = good | {"wci": None, "wcf": None, "wco": None}
    for a, b in zip(ops.block_lstm(**good), ops.block_lstm(**none), strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_what_was_found_is_remembered_but_nothing_that_may_change() -> None:
    asked: list[Any] = []

    @operands.remembered
    def doubled(number: Any) -> Any:
        asked.append(number)
        if isinstance(number, str):
            raise TypeError("no number")
        return int(number if not isinstance(number, list) else number[0]) * 2

    assert [doubled(3), doubled(3), doubled(3.0), doubled(True), doubled(1)] == [6, 6, 6, 2, 2]
    assert asked == [3, 3.0, True, 1] and [type(a) for a in asked] == [int, float, bool, int]
    for changing in (mr.tensor(3), np.array(3), [3]):
        asked.clear()
        assert [doubled(changing), doubled(changing)] == [6, 6] and len(asked) == 2
    tensor = mr.tensor(3)
    assert doubled(tensor) == 6 and doubled(tensor.assign(4)) == 8
    asked.clear()
    for _ in range(2):
        with pytest.raises(TypeError, match="no number"):
            doubled("three")
    assert "three" in asked


@pytest.mark.parametrize(
    ("value", "low", "high", "says"),
    [
        (-0.5, 0, None, "f: p is -0.5\n  expected 0 or more, a share"),
        (1.5, 0, 1, "f: p is 1.5\n  expected 0 .. 1, a share"),
        (2, 0, 1, "f: p is 2.0\n  expected 0 .. 1, a share"),
        (float("nan"), 0, 1, "f: p is nan\n  expected a finite number"),
    ],
)
def test_a_number_is_held_within_its_limits(value: float, low: float, high: float | None, says: str) -> None:
    with pytest.raises(ValueError) as caught:
        check.number("f", "p", value, low, high, ", a share")
    assert str(caught.value) == says
    assert [check.number("f", "p", n, 0, 1) for n in (0, 1)] == [0, 1]
