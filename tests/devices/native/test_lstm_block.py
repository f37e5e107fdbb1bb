"""The LSTM block ops in C++ against loops over NumPy's cell in float64, at sizes that leave a vector half empty."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.devices.cpu.lstm_block.lstm_cases import CELL_GRADIENTS, GRADIENTS, OUTPUTS, draw, inputs

import minirnn as mr
from tests.devices.cpu.lstm_block import lstm_cases as cases
from tests.each import each

TOLERANCE = {"float32": 2e-6, "float64": 1e-14}
SIZES = [(1, 1, 1, 1), (4, 1, 3, 7), (3, 7, 20, 15), (5, 2, 5, 17), (3, 13, 9, 33), (2, 9, 70, 66)]
ATTRIBUTES: list[dict[str, Any]] = [
    {"forget_bias": 1.0, "cell_clip": 0.4, "use_peephole": True},
    {"forget_bias": 0.0, "cell_clip": -1.0, "use_peephole": False},
]


def kernel(name: str) -> Any:
    return cases.as_the_op_calls_it(getattr(mr.devices.get("native"), name))


def wide(arrays: Any) -> list[np.ndarray]:
    return [np.asarray(a, np.float64) for a in arrays]


def assert_near(names: Any, values: Any, expected: Any, dtype: str) -> None:
    size = {name: np.abs(right).max(initial=0) for name, right in zip(names, expected, strict=True)}
    for name, value, right in zip(names, values, expected, strict=True):
        assert value.dtype == dtype
        # A single number may be the result of summands that cancel, so its error is relative to their size.
        largest = max(size.values()) if right.size == 1 else size[name]
        error = np.abs(value - right).max(initial=0) / (largest or 1)
        assert error <= TOLERANCE[dtype], f"{name}: {error:.1e}"


@each("size", SIZES, ids=[",".join(map(str, size)) for size in SIZES])
@each("attributes", ATTRIBUTES, ids=["peepholes, clip", "plain"])
@each("dtype", ["float32", "float64"])
def test_a_sequence_equals_the_loop_over_cells(
    rng: Any, dtype: str, attributes: dict[str, Any], size: tuple[int, ...]
) -> None:
    T, B, I, H = size
    given = inputs(rng, (T, B), I, H, dtype)
    for L in (T, T - 1, 0):
        options = {"seq_len_max": L, **attributes}
        values = kernel("block_lstm")(*given, **options)
        expected = cases.block_lstm_reference(*wide(given), **options)
        assert_near(OUTPUTS, values, expected, dtype)
        cs_grad, h_grad = draw(rng, 2, (T, B, H), dtype)
        options = {"seq_len_max": L, "use_peephole": attributes["use_peephole"]}
        saved = [np.ascontiguousarray(a) for a in values]  # and, below, the views themselves
        got = kernel("block_lstm_grad")(*given, *saved, cs_grad, h_grad, **options)
        same = kernel("block_lstm_grad")(*given, *values, cs_grad, h_grad, **options)
        expected = cases.block_lstm_grad_reference(*wide([*given, *values, cs_grad, h_grad]), **options)
        assert_near(GRADIENTS, got, expected, dtype)
        for a, b in zip(got, same, strict=True):
            np.testing.assert_array_equal(a, b)


@each("H", [1, 7, 15, 17, 33])
@each("attributes", ATTRIBUTES, ids=["peepholes, clip", "plain"])
@each("dtype", ["float32", "float64"])
def test_a_cell_equals_numpys(rng: Any, dtype: str, attributes: dict[str, Any], H: int) -> None:
    given = inputs(rng, (3,), 4, H, dtype)
    values = kernel("lstm_block_cell")(*given, **attributes)
    expected = cases.lstm_block_cell(*wide(given), **attributes)
    assert_near(OUTPUTS, values, expected, dtype)
    cs_grad, h_grad = draw(rng, 2, (3, H), dtype)
    options = {"use_peephole": attributes["use_peephole"]}
    got = kernel("lstm_block_cell_grad")(*given, *values[:6], cs_grad, h_grad, **options)
    expected = cases.lstm_block_cell_grad(*wide([*given, *values[:6], cs_grad, h_grad]), **options)
    assert_near(CELL_GRADIENTS, got, expected, dtype)


def test_nothing_is_read_from_seq_len_max_on(rng: Any) -> None:
    given = inputs(rng, (5, 3), 4, 17, "float32")
    options: dict[str, Any] = {"seq_len_max": 3, "forget_bias": 1.0, "cell_clip": 3.0, "use_peephole": True}
    clean = kernel("block_lstm")(*given, **options)
    given[0][3:] = np.nan
    for a, b in zip(kernel("block_lstm")(*given, **options), clean, strict=True):
        np.testing.assert_array_equal(a, b)
        assert not a[3:].any()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("attributes", ATTRIBUTES, ids=["peepholes, clip", "plain"])
def test_nan_and_infinity_stay_with_their_sample(rng: Any, attributes: dict[str, Any], value: float) -> None:
    given = inputs(rng, (5, 7), 4, 17, "float32")
    options = {"seq_len_max": 5, **attributes}
    right = kernel("block_lstm")(*given, **options)
    given[0][3, 2, 1] = value
    with np.errstate(invalid="ignore"):
        numpys = cases.block_lstm(*given, **options)
    others = np.arange(7) != 2
    for a, b, expected in zip(kernel("block_lstm")(*given, **options), right, numpys, strict=True):
        np.testing.assert_array_equal(a[:, others], b[:, others])
        np.testing.assert_array_equal(a[:3], b[:3])
        np.testing.assert_allclose(a[:, 2], expected[:, 2], rtol=1e-4, atol=1e-5)
