"""Jacobians from state to state, and the share of each step in the gradient of a weight."""

import numpy as np

import minirnn as mr
from minirnn.viz import gradient_shares, per_step_gradients, state_jacobians

T, B, I, H = 6, 3, 2, 4


def test_jacobians_agree_with_differences(rng):
    W, x = rng.normal(size=(H, H)), rng.normal(size=(T, H))

    def last(h, t):
        for k in range(t, T):
            h = np.tanh(h @ W + x[k])
        return h

    h = [rng.normal(size=H)]
    found = state_jacobians(lambda t, h: mr.ops.tanh(h @ W + x[t]), mr.tensor(h[0]), T)
    assert found.shape == (T + 1, H, H)
    np.testing.assert_array_equal(found[T], np.eye(H))
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


def test_the_shares_of_an_lstms_weight_add_up_to_the_fused_ops_gradient(rng):
    x = rng.normal(size=(T, B, I))
    w = mr.tensor(rng.normal(size=(I + H, 4 * H)), requires_grad=True)
    zero, peephole, b = np.zeros((B, H)), np.zeros(H), rng.normal(size=4 * H)
    loss_weights = rng.normal(size=(B, H))

    def step(t, w, state):
        y = mr.ops.lstm_block_cell(x[t], *state, w, peephole, peephole, peephole, b)
        return y.cs, y.h

    shares = per_step_gradients(step, w, (zero, zero), T, lambda state: (state[1] * loss_weights).sum())
    assert shares.shape == (T, *w.shape)
    h = mr.ops.block_lstm(T, x, zero, zero, w, peephole, peephole, peephole, b).h
    (h[-1] * loss_weights).sum().backward()
    np.testing.assert_allclose(shares.sum(axis=0), w.grad.numpy(), rtol=0, atol=1e-12)
    assert (np.abs(shares).max(axis=(1, 2)) > 0).all()


def test_bars_are_norms_and_the_line_adds_up_to_the_norm_of_the_whole(rng):
    shares = rng.normal(size=(T, 3, 2))
    picture = gradient_shares(shares, name="R")
    np.testing.assert_allclose(picture.data["norm"], np.linalg.norm(shares.reshape(T, -1), axis=1))
    np.testing.assert_allclose(picture.data["along"].sum(), np.linalg.norm(shares.sum(axis=0)))
    np.testing.assert_allclose([bar.get_height() for bar in picture.artists["bars"]], picture.data["norm"])
    np.testing.assert_allclose(picture.artists["line"].get_ydata(), picture.data["along"])
    np.testing.assert_array_equal(picture.artists["line"].get_xdata(), np.arange(1, T + 1))
    assert "dR" in picture.ax.get_title() and picture.ax.get_xlabel() == "time step t"
    assert "the total has norm" in picture.ax.get_ylabel()


def test_shares_that_cancel_leave_nothing_along():
    picture = gradient_shares([[1.0, 0.0], [-1.0, 0.0]])
    assert picture.data["total"] == 0 and (picture.data["along"] == 0).all()


def test_what_works_against_the_others_is_marked():
    labels = [text.get_text() for text in gradient_shares([[3.0], [-1.0], [2.0]]).ax.get_legend().get_texts()]
    assert "works against the others" in labels
    assert len(gradient_shares([[3.0], [2.0]]).ax.get_legend().get_texts()) == 2


def test_one_step_has_the_whole_gradient():
    w = mr.tensor([2.0, 3.0], requires_grad=True)
    shares = per_step_gradients(lambda t, w, s: s * w, w, mr.tensor([5.0, 7.0]), 1, lambda s: s.sum())
    np.testing.assert_array_equal(shares, [[5, 7]])
