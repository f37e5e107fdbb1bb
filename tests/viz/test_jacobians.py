from __future__ import annotations

import numpy as np
import pytest

import minirnn as mr
from minirnn.viz import jacobian_spectrum, state_jacobians

T, H = 5, 3


def test_jacobians_agree_with_differences(rng):
    W, x = rng.normal(size=(H, H)), rng.normal(size=(T, H))
    found = state_jacobians(lambda t, h: mr.ops.tanh(h @ W + x[t]), mr.tensor(rng.normal(size=H)), T)
    assert found.shape == (T + 1, H, H)
    np.testing.assert_array_equal(found[T], np.eye(H))

    def last(h, t):
        for k in range(t, T):
            h = np.tanh(h @ W + x[k])
        return h

    h = [rng.normal(size=H)]
    h[0] = rng.normal(size=H)
    found = state_jacobians(lambda t, h: mr.ops.tanh(h @ W + x[t]), mr.tensor(h[0]), T)
    for k in range(T):
        h.append(np.tanh(h[-1] @ W + x[k]))
    eps = 1e-6
    for t in range(T + 1):
        for k in range(H):
            e = np.eye(H)[k] * eps
            difference = (last(h[t] + e, t) - last(h[t] - e, t)) / (2 * eps)
            np.testing.assert_allclose(found[t, :, k], difference, atol=1e-8)


def test_a_linear_step_multiplies_by_its_matrix_every_time():
    W = np.diag([0.5, 2.0])
    found = state_jacobians(lambda t, h: h @ W, mr.tensor(np.ones(2)), 3)
    np.testing.assert_allclose(found, [np.diag([0.5**k, 2.0**k]) for k in (3, 2, 1, 0)])


def test_a_state_of_any_shape_counts_as_its_numbers(rng):
    found = state_jacobians(lambda t, s: s * 2.0, mr.tensor(rng.normal(size=(2, 3))), 2)
    np.testing.assert_allclose(found[0], 4 * np.eye(6))


def test_the_curves_are_singular_values_on_a_log_axis():
    picture = jacobian_spectrum([np.diag([0.25, 4.0]), np.diag([0.5, 2.0]), np.eye(2)], label="h")
    np.testing.assert_allclose(picture.data["singular_values"], [[4, 0.25], [2, 0.5], [1, 1]])
    np.testing.assert_allclose(picture.artists["largest"].get_ydata(), [4, 2, 1])
    np.testing.assert_allclose(picture.artists["median"].get_ydata(), [2.125, 1.25, 1])
    assert picture.ax.get_yscale() == "log"
    assert picture.ax.get_title() == "What survives on the way back from step 2?"
    assert "d h_T / d h_t" in picture.ax.get_ylabel()


def test_a_direction_that_dies_stays_on_the_picture():
    picture = jacobian_spectrum([np.zeros((2, 2)), np.eye(2)])
    assert (picture.artists["largest"].get_ydata() > 0).all()


def test_steps_must_keep_the_shape():
    with pytest.raises(ValueError, match="step 0 returned shape"):
        state_jacobians(lambda t, h: h[:1], mr.tensor(np.ones(2)), 1)
    with pytest.raises(ValueError, match="T is 0"):
        state_jacobians(lambda t, h: h, mr.tensor(np.ones(2)), 0)


def test_a_step_may_change_the_dtype_of_the_state():
    found = state_jacobians(lambda t, h: (h * 3.0).to(np.float32 if t else np.float64), mr.tensor(np.ones(2)), 2)
    np.testing.assert_array_equal(found, [9 * np.eye(2), 3 * np.eye(2), np.eye(2)])
