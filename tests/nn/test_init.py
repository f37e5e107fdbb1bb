"""Initial values: bounds and deviations are torch's, distributions have their moments, matrices their properties.

The stored values are described in tests/golden/modules/README.md.
"""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn
from minirnn.nn import init
from tests.each import each
from tests.nn.twin_programs import rough

SHAPES = ((3, 5), (4, 6, 2), (7, 2, 3, 2))
GAINS = (
    *(("linear", None), ("conv2d", None), ("sigmoid", None), ("tanh", None), ("relu", None), ("selu", None)),
    *(("leaky_relu", None), ("leaky_relu", 0.2), ("leaky_relu", 2)),
)


class Probe(np.random.Generator):
    """Draws the upper bound of uniform numbers, and twos for normal ones, so that the result shows the formula."""

    def __init__(self) -> None:
        super().__init__(np.random.PCG64(0))

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        self.low = low
        return np.full(size, high)

    def standard_normal(self, size: Any = None, *args: Any, **kwargs: Any) -> Any:
        return np.full(size, 2.0)


class Given(np.random.Generator):
    """Draws the numbers that torch used for the stored values."""

    def __init__(self, values: np.ndarray) -> None:
        super().__init__(np.random.PCG64(0))
        self.values = values

    def standard_normal(self, size: Any = None, *args: Any, **kwargs: Any) -> Any:
        assert self.values.shape == size
        return self.values


@pytest.fixture
def stored() -> Iterator[Any]:
    path = Path(__file__).parents[1] / "golden" / "modules" / "init.npz"
    with np.load(path, allow_pickle=False) as found:
        yield found


def leaf(*shape: int, dtype: Any = np.float64, device: str | None = None) -> nn.Parameter:
    return nn.Parameter(np.zeros(shape), dtype=dtype, device=device)


def test_gains_are_those_of_torch(stored: Any) -> None:
    found = [init.calculate_gain(name, param) for name, param in GAINS]
    np.testing.assert_allclose(found, stored["gains"], rtol=1e-15)


@each("k", range(len(SHAPES)))
@each(
    ("name", "arguments"),
    [
        ("xavier_uniform", {"gain": 1.5}),
        ("xavier_normal", {"gain": 1.5}),
        ("kaiming_uniform_fan_in", {"a": 0.3}),
        ("kaiming_uniform_fan_out", {"a": 0.3, "mode": "fan_out"}),
        ("kaiming_normal_fan_in", {"nonlinearity": "relu"}),
        ("kaiming_normal_fan_out", {"mode": "fan_out", "nonlinearity": "relu"}),
    ],
)
def test_bounds_and_deviations_are_those_of_torch(
    k: int, name: str, arguments: dict[str, Any], stored: Any, device: str
) -> None:
    tensor, probe = leaf(*SHAPES[k], device=device), Probe()
    function = getattr(init, "_".join(name.split("_")[:2]) + "_")
    assert function(tensor, **arguments, generator=probe) is tensor
    low, high = stored[f"{name}_{k}"]
    np.testing.assert_allclose(tensor, np.full(SHAPES[k], high if "uniform" in name else 2 * high), rtol=1e-14)
    if "uniform" in name:
        np.testing.assert_allclose(probe.low, low, rtol=1e-14)


@pytest.mark.parametrize(("rows", "columns"), [(5, 3), (3, 5), (4, 4)])
def test_orthogonal_matrices_are_those_of_torch(rows: int, columns: int, stored: Any) -> None:
    tensor = leaf(rows, columns)
    numbers = rough(rows, columns)
    init.orthogonal_(tensor, gain=1.5, generator=Given(numbers.T if rows < columns else numbers))
    np.testing.assert_allclose(tensor, stored[f"orthogonal_{rows}_{columns}"], rtol=0, atol=1e-13)


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4), (3, 2, 4), (1, 1)])
def test_orthogonal_rows_or_columns_have_the_length_gain(shape: tuple[int, ...], device: str) -> None:
    w = init.orthogonal_(leaf(*shape, device=device), gain=0.5).numpy().reshape(shape[0], -1)
    product = w @ w.T if w.shape[0] <= w.shape[1] else w.T @ w
    np.testing.assert_allclose(product, 0.25 * np.eye(min(w.shape)), atol=1e-14)


def test_orthogonal_matrices_have_both_signs() -> None:
    mr.manual_seed(3)
    signs = {math.copysign(1, init.orthogonal_(leaf(2, 2)).numpy()[0, 0]) for _ in range(20)}
    assert signs == {-1.0, 1.0}


def test_eye_is_that_of_torch_and_constants_are_constant_in_floats_and_integers(stored: Any) -> None:
    np.testing.assert_array_equal(init.eye_(leaf(3, 5)), stored["eye"])
    for shape in ((3,), (2, 2, 2)):
        with pytest.raises(ValueError, match="expected two axes"):
            init.eye_(leaf(*shape))
    for t in (leaf(2, 2), mr.tensor([[5, 6], [7, 8]])):
        assert init.constant_(t, 3.0).tolist() == [[3, 3], [3, 3]]
        assert init.ones_(t).tolist() == [[1, 1], [1, 1]]
        assert init.zeros_(t).tolist() == [[0, 0], [0, 0]]
        assert init.eye_(t).tolist() == [[1, 0], [0, 1]]
    assert np.isnan(init.constant_(leaf(2), math.nan).numpy()).all()
    assert init.constant_(leaf(2), math.inf).tolist() == [math.inf] * 2
    assert init.normal_(leaf(2), 3.0, 0.0).tolist() == init.uniform_(leaf(2), 3.0, 3.0).tolist() == [3, 3]


DRAWING: Any = (
    init.uniform_,
    init.normal_,
    init.xavier_uniform_,
    init.xavier_normal_,
    init.kaiming_uniform_,
    init.kaiming_normal_,
    init.orthogonal_,
)


@each("function", DRAWING)
def test_one_seed_gives_the_same_values_everywhere_and_a_generator_leaves_the_stream_alone(
    function: Any, device: str
) -> None:
    found = []
    for dtype, place in ((np.float64, "cpu"), (np.float64, device), (np.float32, device)):
        mr.manual_seed(11)
        t = function(leaf(4, 6, dtype=dtype, device=place))
        assert t.dtype == dtype and t.device == place
        found.append(t.numpy())
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0].astype(np.float32), found[2])
    after = mr.random.generator().random()
    mr.manual_seed(11)
    own = mr.manual_seed(11).spawn(1)[0]
    first = function(leaf(4, 6), generator=own).numpy()
    assert not np.array_equal(first, found[0])
    function(leaf(4, 6))
    assert mr.random.generator().random() == after


def test_the_tape_notices_new_values() -> None:
    w = leaf(2, 2)
    loss = (w * w).sum()
    init.ones_(w)
    with pytest.raises(RuntimeError, match="changed by assign"):
        loss.backward()


@pytest.mark.parametrize("function", DRAWING)
def test_empty_tensors_stay_empty(function: Any) -> None:
    assert function(leaf(0, 3)).shape == (0, 3)
    assert function(leaf(3, 0)).shape == (3, 0)


def test_what_is_drawn_is_scaled_and_shifted() -> None:
    probe = Probe()
    assert init.uniform_(leaf(2), -1.0, 3.0, generator=probe).tolist() == [3, 3]
    assert probe.low == -1
    assert init.normal_(leaf(2), 2.0, 3.0, generator=probe).tolist() == [8, 8]
    assert init.kaiming_normal_(leaf(3, 1), generator=probe).tolist() == [[2 * math.sqrt(2)]] * 3  # a fan of one
