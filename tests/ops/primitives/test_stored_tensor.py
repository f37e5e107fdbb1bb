"""Views, pieces and masks against torch's results in `tests/golden/tensor`, without torch.

Tests `minirnn/ops/primitives/views.py`, `minirnn/ops/primitives/pieces.py`, `minirnn/ops/primitives/triangles.py`,
`minirnn/ops/primitives/shapes.py`, `minirnn/ops/primitives/logic.py` and `minirnn/ops/primitives/division.py`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import minirnn as mr
from tests.compare import assert_close, listed
from tests.each import each
from tests.ops.primitives import test_pieces, test_shapes, test_views

FOLDER = Path(__file__).parents[2] / "golden" / "tensor"

OTHERS: dict[str, tuple[Any, Any]] = {
    "masked_fill": (lambda t: t.masked_fill(t > 0.1, -7.0), lambda t: t.masked_fill(t > 0.1, -7.0)),
    "remainder": (lambda t: t % 0.3, lambda t: t % 0.3),
    "remainder of two": (lambda t: t[0] % t[1], lambda t: t[0] % t[1]),
    "floor_divide": (lambda t: t // 0.3 + 0 * t, lambda t: (t.detach() // 0.3) + 0 * t),
    "and": (lambda t: t * ((t > -0.2) & (t < 0.2)), lambda t: t * ((t > -0.2) & (t < 0.2))),
    "or": (lambda t: t * ((t < -0.2) | (t > 0.2)), lambda t: t * ((t < -0.2) | (t > 0.2))),
    "xor": (lambda t: t * ((t < 0.2) ^ (t > -0.2)), lambda t: t * ((t < 0.2) ^ (t > -0.2))),
    "not": (lambda t: t * ~(t < 0.2), lambda t: t * ~(t < 0.2)),
    "logical_and": (lambda t: t * t.logical_and(t > 0), lambda t: t * t.logical_and(t > 0)),
    "sum of dims": (lambda t: t.sum(dim=(0, 2), keepdim=True), lambda t: t.sum(dim=(0, 2), keepdim=True)),
    "mean of a dim": (lambda t: t.mean(dim=-2), lambda t: t.mean(dim=-2)),
    "softmax of a dim": (lambda t: t.softmax(dim=1), lambda t: t.softmax(dim=1)),
}
GROUPS: dict[str, dict[str, tuple[Any, Any]]] = {
    "views": test_views.CASES,
    "shapes": test_shapes.ONE,
    "pieces": test_pieces.CASES,
    "others": OTHERS,
}
CASES = [(group, name) for group, cases in GROUPS.items() for name in cases]


def sample(group: str) -> np.ndarray:
    """The input of a group of cases."""
    shape = (2, 3, 5) if group == "pieces" else (2, 3, 4)
    return np.sin(3.7 * np.arange(1, np.prod(shape) + 1)).reshape(shape)


def cotangent(k: int, shape: tuple[int, ...]) -> np.ndarray:
    """The gradient that arrives at output `k`."""
    return np.cos(1.3 * np.arange(int(np.prod(shape))) + k).reshape(shape)


@each(("group", "name"), CASES, ids=[f"{g}: {n}" for g, n in CASES])
def test_values_and_gradients_are_those_that_torch_gave(device: str, group: str, name: str) -> None:
    with np.load(FOLDER / f"{group}.npz") as stored:
        for dtype in (np.float64, np.float32):
            x = mr.tensor(sample(group).astype(dtype), requires_grad=True, device=device)
            ys = listed(GROUPS[group][name][0](x))
            assert f"{name}|{len(ys)}" not in stored and f"{name}|{len(ys) - 1}" in stored
            for k, y in enumerate(ys):
                assert y.dtype == dtype
                assert_close(y.numpy(), stored[f"{name}|{k}"], what=f"output {k}")
            dx = mr.grad(ys, [x], [cotangent(k, y.shape).astype(dtype) for k, y in enumerate(ys)])[0]
            assert_close(dx.numpy(), stored[f"{name}|dx"], what="dx")
