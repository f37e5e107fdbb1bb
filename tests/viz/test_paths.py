import numpy as np
import pytest

import minirnn as mr
from minirnn.viz import cell_paths, path_strengths

T, I, H = 5, 2, 3


def an_lstm(rng, v2):
    x, w, b = rng.normal(size=(T, 1, I)), rng.normal(size=(I + H, 4 * H)), rng.normal(size=4 * H)
    zero, none = np.zeros((1, H)), np.zeros(H)
    if v2:
        y = mr.ops.block_lstm_v2(T, x, zero, zero, w, none, none, none, b)
    else:
        y = mr.ops.block_lstm(T, x, zero, zero, w, none, none, none, b, cell_clip=0.0)
    return x, w, b, y


@pytest.mark.parametrize("v2", [False, True])
def test_the_paths_add_up_to_the_jacobian_of_one_step(rng, v2):
    x, w, b, y = an_lstm(rng, v2)
    row = [np.asarray(a)[:, 0] for a in (y.i, y.cs, y.f, y.o, y.ci)]
    paths = cell_paths(*row, w, gate_order="ifco" if v2 else "icfo")
    total = sum(paths.values())
    assert total.shape == (T - 1, H, H)
    none = np.zeros(H)
    for t in range(1, T):
        c = mr.tensor(y.cs.numpy()[t - 1], requires_grad=True)
        h = mr.ops.tanh(c) * y.o.numpy()[t - 1]  # o of the previous step does not depend on its c
        op = mr.ops.block_lstm_v2 if v2 else mr.ops.block_lstm
        after = op(1, x[t : t + 1], c, h, w, none, none, none, b, cell_clip=0.0).cs[0, 0]
        for j in range(H):
            row = mr.grad(after[j], c, retain_graph=True).numpy()[0]
            np.testing.assert_allclose(total[t - 1, :, j], row, atol=1e-10)


def test_strengths_are_root_mean_squares_of_rows(rng):
    *_, y = an_lstm(rng, False)
    paths = {"forget path f": np.array([np.diag([3.0, 4.0])]), "other": np.ones((1, 2, 2))}
    picture = path_strengths(paths)
    np.testing.assert_allclose(picture.data["forget path f"], [np.sqrt(25 / 2)])
    np.testing.assert_allclose(picture.data["other"], [np.sqrt(2)])
    np.testing.assert_array_equal(picture.data["step"], [1])
    assert picture.artists["other"].get_label() == "other"
    assert picture.ax.get_xlabel() == "time step t" and picture.ax.get_ylabel()


def test_two_steps_and_a_network_without_inputs_are_enough():
    a = np.full((2, 1), 0.5)
    found = cell_paths(a, 0 * a, a, a, a, np.array([[8.0, 4.0, 2.0, 1.0]]))  # R_i, R_ci, R_f, R_o; no rows of x
    # dh/dc = o (1 - tanh(0)^2) = 1/2 times R times the slope: ci i (1 - i), i (1 - ci^2), c f (1 - f)
    assert {name: path.tolist() for name, path in found.items()} == {
        "forget path f": [[[0.5]]],
        "input gate": [[[0.5 * 8 * 0.125]]],
        "candidate": [[[0.5 * 4 * 0.375]]],
        "forget gate": [[[0.0]]],
    }


@pytest.mark.parametrize("shape", [(5, 11), (2, 12), (12,), (5, 12, 1)])
def test_weights_of_another_shape_are_not_called_transposed(shape):
    a = np.ones((4, 3))
    with pytest.raises(ValueError, match=r"expected \(I\+H, 4H\) with H = 3$"):
        cell_paths(a, a, a, a, a, np.ones(shape))
