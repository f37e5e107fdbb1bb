"""Jacobians from state to state.

Tests `minirnn/viz/steps.py`.
"""

from __future__ import annotations

import numpy as np

import minirnn as mr
from minirnn.viz import state_jacobians

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
