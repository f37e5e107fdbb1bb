"""The kernels of cross_entropy in NumPy: values beyond what exp can hold. `tests/ops/table.py` has all others."""

from __future__ import annotations

import numpy as np
import pytest

from minirnn.devices.cpu.losses import cross_entropy, cross_entropy_grad


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_large_scores_do_not_overflow(dtype: str) -> None:
    x = np.array([[6e4, 0.0, -6e4], [6e4, 6e4, 6e4]], dtype)
    with np.errstate(all="raise", under="ignore"):
        (y,) = cross_entropy(x, target=np.array([1, 2]))
        (dx,) = cross_entropy_grad(x, np.ones(2, dtype), target=np.array([1, 2]))
    assert y.dtype == dx.dtype == np.dtype(dtype)
    np.testing.assert_allclose(y, np.array([6e4, np.log(3)], dtype), 1e-3)
    np.testing.assert_allclose(dx, [[1, -1, 0], [1 / 3, 1 / 3, -2 / 3]], 1e-3)
