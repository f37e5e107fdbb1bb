"""The same function of minirnn and of torch: values and all gradients for a random cotangent."""

from __future__ import annotations

from typing import Any

import numpy as np

import minirnn as mr
from tests.compare import assert_close


def alike(ours: Any, theirs: Any, rng: np.random.Generator, *arrays: np.ndarray, device: str = "cpu") -> None:
    """Fail unless both return the same values and gradients for `arrays` (float64)."""
    import torch

    xs = [mr.tensor(a, requires_grad=True, device=device) for a in arrays]
    ts = [torch.tensor(a, requires_grad=True) for a in arrays]
    y, expected = ours(*xs), theirs(*ts)
    assert_close(y, expected.detach().numpy(), 1e-11, "sums of 100 products, divided")
    g = rng.normal(size=tuple(expected.shape))
    y.backward(g)
    expected.backward(torch.tensor(g))
    for k, (x, t) in enumerate(zip(xs, ts, strict=True)):
        assert_close(x.grad, t.grad.numpy(), 1e-10, "the same, and their gradients", what=f"gradient {k}")
