"""Identity, Flatten and Unflatten."""

from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn
from tests.each import each

SHAPE = (2, 3, 4, 5)


@each(
    ("module", "expected"),
    [
        (nn.Flatten(), (2, 60)),
        (nn.Flatten(0), (120,)),
        (nn.Flatten(1, 2), (2, 12, 5)),
        (nn.Flatten(-2), (2, 3, 20)),
        (nn.Flatten(2, 2), SHAPE),
        (nn.Unflatten(2, (2, 2)), (2, 3, 2, 2, 5)),
        (nn.Unflatten(-1, [1, -1]), (2, 3, 4, 1, 5)),
        (nn.Identity(3, a=4), SHAPE),
    ],
)
def test_only_the_shape_changes(module: Any, expected: tuple[int, ...], device: str, rng: np.random.Generator) -> None:
    values = rng.normal(size=SHAPE)
    x = mr.tensor(values, requires_grad=True, device=device)
    y = module(x)
    np.testing.assert_array_equal(y, values.reshape(expected))
    dy = rng.normal(size=expected)
    np.testing.assert_array_equal(mr.grad(y, x, dy), dy.reshape(SHAPE))


def test_a_number_is_flattened_to_one_element_and_an_empty_batch_stays_empty() -> None:
    assert nn.Flatten(0)(mr.tensor(3.0)).shape == (1,)
    assert nn.Flatten()(mr.tensor(np.ones((0, 3, 2)))).shape == (0, 6)
    assert nn.Unflatten(0, (0, 3))(mr.tensor(np.ones((0, 2)))).shape == (0, 3, 2)


def test_axes_and_sizes_that_no_array_has_are_refused() -> None:
    nn.Flatten(-64, -64)
    nn.Unflatten(-64, (1,))
    for make in (lambda: nn.Flatten(-65), lambda: nn.Flatten(0, -65), lambda: nn.Unflatten(-65, (1,))):
        with pytest.raises(ValueError, match="expected"):
            make()
    with pytest.raises(ValueError, match="start_dim is 1, input has shape"):
        nn.Flatten()(mr.tensor(3.0))
    for sizes in ((-2, 1), (-1, -1)):
        with pytest.raises(ValueError, match="unflattened_size is"):
            nn.Unflatten(0, sizes)
    for sizes in ((5,), (4, -1), (0, -1), (3, 3)):
        with pytest.raises(ValueError, match="expected the product of unflattened_size"):
            nn.Unflatten(0, sizes)(mr.tensor(np.ones((6, 2))))
    assert nn.Unflatten(0, (2, -1))(mr.tensor(np.ones((0, 2)))).shape == (2, 0, 2)
