"""The mathematical functions against torch's results in `tests/golden/maths`, without torch.

Tests `minirnn/ops/primitives/elementwise.py`, `minirnn/ops/primitives/rounding.py`, `minirnn/ops/primitives/bounds.py`,
`minirnn/ops/primitives/extremes.py`, `minirnn/ops/primitives/sorting.py`, `minirnn/ops/primitives/scans.py`,
`minirnn/ops/primitives/statistics.py`, `minirnn/ops/primitives/norms.py`, `minirnn/ops/primitives/gathering.py`,
`minirnn/ops/primitives/einstein.py`, `minirnn/ops/primitives/truths.py` and `minirnn/ops/primitives/products.py`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import minirnn as mr
from tests.compare import assert_close, listed
from tests.each import each
from tests.ops.primitives.maths_cases import CASES, Case

FILE = Path(__file__).parents[2] / "golden" / "maths" / "maths.npz"


def cotangent(k: int, shape: tuple[int, ...]) -> np.ndarray:
    """The gradient that arrives at output `k`."""
    return np.cos(1.3 * np.arange(int(np.prod(shape))) + k).reshape(shape)


@pytest.fixture(scope="module")
def stored() -> dict[str, np.ndarray]:
    with np.load(FILE) as arrays:
        return dict(arrays)


@each(("name", "case"), CASES.items(), ids=list(CASES))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of NumPy: inf - inf and relatives are wanted here
def test_values_and_gradients_are_those_that_torch_gave(
    device: str, name: str, case: Case, stored: dict[str, np.ndarray]
) -> None:
    xs = [mr.tensor(x, x.dtype.kind == "f", device) for x in case.inputs]
    ys = listed(case.ours(*xs))
    assert f"{name}|{len(ys)}" not in stored and f"{name}|{len(ys) - 1}" in stored
    for k, y in enumerate(ys):
        expected = stored[f"{name}|{k}"]
        assert y.dtype == expected.dtype
        tolerance = 1e-12 if y.dtype == np.float64 else 1e-6 if y.dtype.kind == "f" else 0.0
        assert_close(y, expected, tolerance, "the same formula in another library", what=f"output {k}")
    recorded = [k for k, y in enumerate(ys) if y.requires_grad]
    assert recorded or not any(key.startswith(f"{name}|d") for key in stored)
    if not recorded:
        return
    leaves = [k for k, x in enumerate(xs) if x.requires_grad]
    weights = [cotangent(k, ys[k].shape) for k in recorded]
    for k, g in zip(leaves, mr.grad([ys[k] for k in recorded], [xs[k] for k in leaves], weights), strict=True):
        assert_close(g, stored[f"{name}|d{k}"], 1e-11, "float64: sums of a few products", what=f"gradient {k}")


def test_nothing_is_stored_that_no_case_looks_at(stored: dict[str, np.ndarray]) -> None:
    assert {key.rsplit("|", 1)[0] for key in stored} == set(CASES)
