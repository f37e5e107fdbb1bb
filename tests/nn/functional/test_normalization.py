"""layer_norm, rms_norm, normalize, cosine_similarity: float16, zeros."""

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
    assert F.rms_norm(mr.tensor(x, device=device), (200,)).dtype == np.float16


def test_the_variance_is_the_biased_one() -> None:
    assert_close(F.layer_norm(np.array([[1.0, 3.0]]), 2, eps=0.0), [[-1, 1]])


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0])
def test_a_vector_of_zeros_stays_zero_with_a_finite_gradient(p: float, device: str) -> None:
    x = mr.tensor(np.zeros((2, 3)), requires_grad=True, device=device)
    y = F.normalize(x, p, dim=1, eps=0.25)
    assert not y.numpy().any()
    assert_close(mr.grad(y, x, np.ones((2, 3))), np.full((2, 3), 4.0))


def test_the_largest_of_equal_elements_share_the_gradient(device: str) -> None:
    x = mr.tensor(np.array([[2.0, -2.0, 1.0]]), requires_grad=True, device=device)
    y = F.normalize(x, np.inf)
    assert y.tolist() == [[1, -1, 0.5]]
    # dy = (1, 0, 0): d(x_0 / n) with dn = (1/2, -1/2, 0)
    assert_close(mr.grad(y, x, np.array([[1.0, 0, 0]])), [[0.25, 0.25, 0]])
    assert np.isnan(F.normalize(np.array([[np.nan, 1.0]]), np.inf).numpy()).all()


def test_no_rows(device: str) -> None:
    x = mr.tensor(np.zeros((0, 3)), device=device)
    for y in (F.layer_norm(x, 3), F.rms_norm(x, 3), F.normalize(x), F.softmax(x, 1)):
        assert y.shape == (0, 3)
    assert F.cosine_similarity(x, x).shape == (0,)


def test_axis_is_another_word_for_dim(rng: np.random.Generator) -> None:
    x, y = rng.normal(size=(2, 3)), rng.normal(size=(2, 3))
    assert_close(F.normalize(x, axis=0), F.normalize(x, dim=0))
    assert_close(F.cosine_similarity(x, y, axis=0), F.cosine_similarity(x, y, dim=0))


def test_the_smallest_divisors_are_torchs() -> None:
    assert F.normalize(np.array([[1e-13]])).item() == pytest.approx(0.1)
    assert F.cosine_similarity(np.array([[1e-9]]), np.array([[1.0]])).item() == pytest.approx(0.1)
    assert F.layer_norm(np.array([[-1e-5, 1e-5]]), 2).tolist()[0][1] == pytest.approx(1e-5 / np.sqrt(1e-10 + 1e-5))


@pytest.mark.parametrize("name", ["weight", "bias"])
def test_parameters_elsewhere_are_refused_in_the_name_of_the_function(name: str, composed_device: str) -> None:
    with pytest.raises(ValueError, match="^layer_norm: "):
        F.layer_norm(mr.tensor(np.ones((2, 3))), 3, **{name: mr.tensor(np.ones(3), device=composed_device)})


def test_a_single_row_needs_no_other_axes(rng: np.random.Generator) -> None:
    x = rng.normal(size=(3, 4))
    for function in (F.layer_norm, F.rms_norm):
        assert_close(function(x, (3, 4)), function(x[None], (3, 4)).numpy()[0])
        for shape in ((2, 3, 4), (1, 3, 4), (3, 5), (4, 3), 3):
            with pytest.raises(ValueError, match=rf"{function.__name__}: input has shape \(3, 4\)"):
                function(x, shape)


def test_sizes_and_norms_that_make_no_sense_are_refused() -> None:
    assert not F.layer_norm(np.ones((2, 1)), 1).numpy().any()
    for shape in (0, (3, 0), (0, 3), ()):
        with pytest.raises(ValueError, match="expected sizes of 1 or more"):
            F.layer_norm(np.ones((2, 3)), shape)
    with pytest.raises(ValueError, match="expected 0.* or more"):
        F.normalize(np.ones((2, 3)), -1.0)
    assert_close(F.normalize(np.array([[4.0, 0.0, 9.0]]), 0), np.array([[2, 0, 4.5]]))
    assert_close(F.normalize(np.array([[4.0, 9.0]]), 0.5), np.array([[4.0, 9.0]]) / 25)
