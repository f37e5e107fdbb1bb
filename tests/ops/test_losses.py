"""cross_entropy: its kernels and its composition, one row by hand, targets. `tests/peers` has torch's values."""

import numpy as np
import pytest

import minirnn as mr
from minirnn import ops
from tests.compare import assert_close


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_the_kernels_compute_the_composition(device: str, rng: np.random.Generator, dtype: str) -> None:
    """Also in float16, whose sums are those of float32, and for rows of one class, of many, and none at all."""
    tolerance = {"f2": 1e-3, "f4": 1e-6, "f8": 1e-14}[dtype]
    for shape in ((4, 1), (3, 2, 7), (2, 300), (0, 5), (9,)):
        target = rng.integers(0, shape[-1], shape[:-1])
        x, dy = (rng.standard_normal(s).astype(dtype) for s in (shape, shape[:-1]))
        ours = [mr.tensor(a, device=device, requires_grad=True) for a in (x, dy)]
        plain = [mr.tensor(a, device="cpu-composed", requires_grad=True) for a in (x, dy)]
        got, want = (ops.cross_entropy(t[0], target, "none") for t in (ours, plain))
        assert got.dtype == want.dtype == np.dtype(dtype) and got.shape == want.shape == shape[:-1]
        np.testing.assert_allclose(got.numpy(), want.numpy(), tolerance, tolerance)
        first, expected = (mr.grad(y, t[0], t[1], create_graph=True) for y, t in ((got, ours), (want, plain)))
        np.testing.assert_allclose(first.numpy(), expected.numpy(), tolerance, tolerance)
        v = rng.standard_normal(shape).astype(dtype)
        for a, b in zip(mr.grad(first, ours, v), mr.grad(expected, plain, v), strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), tolerance, 4 * tolerance)


def test_one_row_by_hand() -> None:
    """e^0, e^1 and e^2 share 1: the loss is minus the logarithm of a share, its gradient the shares, minus 1 at it."""
    x = mr.tensor(np.array([[0.0, 1.0, 2.0]]), requires_grad=True)
    shares = np.exp([0.0, 1.0, 2.0]) / np.exp([0.0, 1.0, 2.0]).sum()
    loss = ops.cross_entropy(x, [1], "sum")
    assert loss.item() == pytest.approx(-np.log(shares[1]), rel=1e-14)
    assert_close(mr.grad(loss * 3, x), 3 * (shares - [0, 1, 0])[None])


def test_cross_entropy_does_not_see_targets_that_change_later() -> None:
    x, target = mr.tensor(np.zeros((1, 2)), requires_grad=True), np.array([0])
    loss = ops.cross_entropy(x, target)
    target[0] = 1
    assert mr.grad(loss, x).tolist() == [[-0.5, 0.5]]
