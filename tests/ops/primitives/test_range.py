"""Sums of squares of float32 keep the range of float64; the gradient of a norm at 0 hides no NaN and no infinity.

Tests `minirnn/ops/primitives/statistics.py`, `minirnn/ops/primitives/norms.py`,
`minirnn/nn/functional/normalization.py` and `minirnn/nn/utils/clip_grad.py`.
"""

import math
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from tests.each import each

F = mr.nn.functional
SCALES = [1e25, 1e-23, 1e-30, 3e19, 1e-11, 1.0]
FUNCTIONS: dict[str, Any] = {
    "std": lambda x: x.std(),
    "std of rows": lambda x: x.std(1, correction=0),
    "norm": lambda x: x.norm(),
    "norm of rows": lambda x: x.norm(dim=1),
    "norm of order 3": lambda x: x.norm(3.0, dim=1),
    "layer_norm": lambda x: F.layer_norm(x, (3,), eps=0.0),
    "rms_norm": lambda x: F.rms_norm(x, (3,), eps=0.0),
    "normalize": lambda x: F.normalize(x, eps=0.0),
    "cosine_similarity": lambda x: F.cosine_similarity(x, x[:, [1, 2, 0]], eps=0.0),
}


@each("scale", SCALES)
@each("name", FUNCTIONS)
def test_float32_gives_the_values_and_gradients_of_float64(name: str, scale: float, device: Any) -> None:
    rng = np.random.default_rng(1)
    values = (rng.normal(size=(2, 3)) * scale).astype(np.float32)
    found, right = [], []
    for results, dtype in ((found, np.float32), (right, np.float64)):
        x = mr.tensor(values, requires_grad=True, device=device, dtype=dtype)
        y = FUNCTIONS[name](x)
        assert y.dtype == dtype
        (y * mr.tensor(np.linspace(-1, 2, y.size).reshape(y.shape), dtype=dtype, device=device)).sum().backward()
        results += [y.detach().numpy(), x.grad.numpy() * scale]
    for k, (a, b) in enumerate(zip(found, right, strict=True)):
        assert np.isfinite(a).all()
        np.testing.assert_allclose(
            a, b, rtol=2e-4, atol=2e-5 * (k or np.abs(b).max())
        )  # gradients times scale: about 1


@each("values", [[1e-30, 1e-30], [1e-22] * 4, [1e25, 1e25], [3.0, 4.0]])
def test_total_norms_neither_overflow_nor_underflow(values: list[float], device: Any) -> None:
    p = mr.nn.Parameter(mr.zeros(len(values), device=device))
    right = float(np.linalg.norm(np.float64(np.float32(values))))
    p.grad = mr.tensor(np.float32(values), device=device)
    assert mr.nn.utils.clip_grad_norm_([p], 1e30).item() == pytest.approx(right)


@each("p", [1.0, 2.0, math.inf, 0.5, 3.0])
def test_the_gradient_of_a_norm_at_zero_is_zero_times_what_arrives(p: float, device: Any) -> None:
    for function, expected in (
        (lambda y: y * 2.0, 0.0),
        (lambda y: y * math.nan, math.nan),
        (lambda y: y.sqrt(), math.nan),
        (lambda y: y.log(), math.nan),
    ):
        x = mr.tensor(np.zeros(3), requires_grad=True, device=device)
        with np.errstate(all="ignore"):
            function(x.norm(p)).backward()
        np.testing.assert_array_equal(x.grad.numpy(), np.full(3, expected), err_msg=str(p))
