"""The step of Adam in NumPy: the numbers of the formula, to the last bit, also across blocks."""

from __future__ import annotations

import math

import numpy as np
import pytest

from minirnn.devices.cpu import adam as module
from minirnn.devices.cpu.adam import adam

SETTINGS = {"lr": 0.03, "beta1": 0.8, "beta2": 0.95, "eps": 1e-3}


def formula(p, g, m, v, *, step, lr, beta1, beta2, eps):  # type: ignore[no-untyped-def]
    m = (1 - beta1) * g if m is None else beta1 * m + (1 - beta1) * g
    v = (1 - beta2) * (g * g) if v is None else beta2 * v + (1 - beta2) * (g * g)
    return p - lr / (1 - beta1**step) * m / (np.sqrt(v) * (1 / math.sqrt(1 - beta2**step)) + eps), m, v


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("shape", [(), (1,), (3, 5), (7, 3), (0, 4)], ids=str)
def test_it_is_the_formula(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...], dtype: str
) -> None:
    monkeypatch.setattr(module, "BLOCK", 4)  # 3 x 5 and 7 x 3 end in the middle of a block
    draw = lambda: np.asarray(rng.standard_normal(shape), dtype)  # noqa: E731
    p, m, v = draw(), None, None
    for step in range(1, 4):
        g = np.asarray(draw(), order="F")
        before = [None if a is None else a.copy() for a in (p, g, m, v)]
        got = adam(p, g, m, v, step=step, **SETTINGS)
        for a, b in zip(got, formula(p, g, m, v, step=step, **SETTINGS), strict=True):
            assert a.dtype == np.dtype(dtype) and a.shape == shape
            np.testing.assert_array_equal(a, b)
        for a, b in zip((p, g, m, v), before, strict=True):
            assert (a is None and b is None) or np.array_equal(a, b)  # type: ignore[arg-type]
        p, m, v = got
