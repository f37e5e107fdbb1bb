"""F.batch_norm: derivatives and float16. `tests/peers` compares values, gradients and running statistics with torch."""

from __future__ import annotations

import numpy as np

import minirnn as mr
from minirnn.nn import functional as F
from tests.compare import assert_close


def test_its_derivatives_are_right_to_second_order(rng: np.random.Generator) -> None:
    x, w, b = (mr.tensor(rng.normal(size=shape), requires_grad=True) for shape in ((4, 2, 3), (2,), (2,)))
    assert mr.gradcheck(lambda *a: F.batch_norm(a[0], None, None, a[1], a[2], True), [x, w, b], order=2)


def test_float16_is_computed_in_float32(rng: np.random.Generator) -> None:
    x = (100 + rng.normal(size=(64, 2))).astype(np.float16)
    y = F.batch_norm(mr.tensor(x), None, None, training=True)
    wide = F.batch_norm(mr.tensor(x.astype(np.float64)), None, None, training=True)
    assert y.dtype == np.float16
    assert_close(y.numpy().astype(np.float64), wide, 2e-3, "float16: half the spacing of numbers around 3")
