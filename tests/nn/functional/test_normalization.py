"""layer_norm: float16, no rows, sizes that do not fit."""

import numpy as np
import pytest

import minirnn as mr
from minirnn.nn import functional as F
from tests.compare import assert_close


def test_layer_norm_of_float16_is_computed_in_float32(device: str, rng: np.random.Generator) -> None:
    x = (rng.normal(size=(3, 200)) * 300 + 1000).astype(np.float16)  # squares are beyond float16
    y = F.layer_norm(mr.tensor(x, device=device), (200,))
    assert y.dtype == np.float16
    exact = F.layer_norm(x.astype(np.float64), 200).numpy()
    np.testing.assert_allclose(y.numpy(), exact, rtol=1e-3, atol=1e-5)


def test_the_variance_is_the_biased_one() -> None:
    assert_close(F.layer_norm(np.array([[1.0, 3.0]]), 2, eps=0.0), [[-1, 1]])


def test_no_rows(device: str) -> None:
    x = mr.tensor(np.zeros((0, 3)), device=device)
    for y in (F.layer_norm(x, 3), F.softmax(x, 1)):
        assert y.shape == (0, 3)


def test_the_smallest_divisor_is_torchs() -> None:
    assert F.layer_norm(np.array([[-1e-5, 1e-5]]), 2).tolist()[0][1] == pytest.approx(1e-5 / np.sqrt(1e-10 + 1e-5))


@pytest.mark.parametrize("name", ["weight", "bias"])
def test_parameters_elsewhere_are_refused_in_the_name_of_the_function(name: str, composed_device: str) -> None:
    with pytest.raises(ValueError, match="^layer_norm: "):
        F.layer_norm(mr.tensor(np.ones((2, 3))), 3, **{name: mr.tensor(np.ones(3), device=composed_device)})


def test_a_single_row_needs_no_other_axes(rng: np.random.Generator) -> None:
    x = rng.normal(size=(3, 4))
    assert_close(F.layer_norm(x, (3, 4)), F.layer_norm(x[None], (3, 4)).numpy()[0])
    for shape in ((2, 3, 4), (1, 3, 4), (3, 5), (4, 3), 3):
        with pytest.raises(ValueError, match=r"layer_norm: input has shape \(3, 4\)"):
            F.layer_norm(x, shape)


def test_sizes_that_make_no_sense_are_refused() -> None:
    assert not F.layer_norm(np.ones((2, 1)), 1).numpy().any()
    for shape in (0, (3, 0), (0, 3), ()):
        with pytest.raises(ValueError, match="expected sizes of 1 or more"):
            F.layer_norm(np.ones((2, 3)), shape)
