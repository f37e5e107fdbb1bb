"""The product of a step: NumPy's for any number of columns, and what `left_matrix` promises of the weights' memory.

Tests `minirnn/devices/cpu/sequence/forward.py`.
"""

from __future__ import annotations

import numpy as np
import pytest

from minirnn.devices.cpu.sequence.forward import UNPACKED, left_matrix, product_of_step
from minirnn.devices.cpu.workspace import ALIGNMENT
from tests.compare import assert_close

SHAPES = [(12, 5, 1), (12, 5, 3), (7, 16, 2), (130, 321, 8), (130, 321, 32), (130, 321, 1)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("rows", "columns", "B"), SHAPES)
def test_the_product_is_that_of_plain_sums_and_fills_the_array_given(
    rng: np.random.Generator, rows: int, columns: int, B: int, dtype: type
) -> None:
    R = left_matrix(rows, columns, B, np.dtype(dtype))
    R[...] = rng.standard_normal((rows, columns)) / columns**0.5
    h = rng.standard_normal((columns, B)).astype(dtype)
    out = np.full((rows, B), np.nan, dtype)  # earlier contents must not matter
    product_of_step(rows, columns, B)(R, h, out)
    assert_close(out, (R.astype(np.float64)[:, :, None] * h.astype(np.float64)).sum(1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("rows", "columns", "B"), SHAPES)
def test_rows_of_small_products_lie_whole_cache_lines_apart(rows: int, columns: int, B: int, dtype: type) -> None:
    R = left_matrix(rows, columns, B, np.dtype(dtype))
    assert R.shape == (rows, columns) and R.strides[1] == R.itemsize and R.flags.writeable
    if product_of_step(rows, columns, B) is np.dot or rows * columns * B > UNPACKED:
        assert (
            R.flags.c_contiguous
        )  # np.dot, which takes one column and small products, would copy any other one at every step
    else:
        assert R.strides[0] % ALIGNMENT == 0 and R.strides[0] < columns * R.itemsize + ALIGNMENT
