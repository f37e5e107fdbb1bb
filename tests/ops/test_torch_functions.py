"""Functions of torch that are one line over other ops: values of NumPy or of the definition, and gradients.

Tests `minirnn/ops/primitives/combined.py` and `minirnn/ops/primitives/selection.py`.
"""

import numpy as np
import pytest

import minirnn as mr


def test_values(rng: np.random.Generator, device: mr.devices.Device) -> None:
    a, b, c = rng.normal(size=(3, 4)), rng.normal(size=(4,)), rng.normal(size=(4, 2))
    d = rng.normal(size=(3, 2))
    x, y, z, w = (mr.tensor(v, device=device) for v in (a, b, c, d))
    for found, right in (
        (mr.logaddexp(x, y), np.logaddexp(a, b)),
        (mr.logaddexp(x * 1000, y * 1000), np.logaddexp(a * 1000, b * 1000)),
        (mr.lerp(x, y, 0.25), a + 0.25 * (b - a)),
        (mr.addmm(w, x, z, beta=2, alpha=3), 2 * d + 3 * a @ c),
        (mr.isclose(x, x + 1e-9), np.ones((3, 4), bool)),
        (x.isclose(y, rtol=0.5), np.isclose(a, b, rtol=0.5)),
        (x.diagonal(), np.diagonal(a)),
        (mr.diagonal(x, offset=-1), np.diagonal(a, -1)),
        (mr.diagonal(x, 2), np.diagonal(a, 2)),
        (mr.diagonal(x, 9), np.diagonal(a, 9)),
        (mr.diagonal(mr.stack([x, x]), 1, -1, 1), np.diagonal(np.stack([a, a]), 1, -1, 1)),
    ):
        assert found.device == device and found.shape == right.shape
        np.testing.assert_allclose(found.numpy(), right, rtol=1e-12)
    right = a.copy()
    np.add.at(right, (slice(None), [1, 1, 3]), 2 * a[:, :3])
    np.testing.assert_allclose(mr.index_add(x, 1, mr.tensor([1, 1, 3]), x[:, :3], alpha=2).numpy(), right)
    assert mr.logaddexp(mr.tensor(-np.inf), mr.tensor(-np.inf)).item() == -np.inf


def test_gradients(rng: np.random.Generator) -> None:
    a, b, c, d = (rng.normal(size=s) for s in ((3, 4), (3, 4), (4, 2), (3, 2)))
    assert mr.gradcheck(mr.logaddexp, [a, b], order=2)
    assert mr.gradcheck(mr.lerp, [a, b, b * 2], order=2)
    assert mr.gradcheck(lambda w, x, z: mr.addmm(w, x, z, beta=2, alpha=3), [d, a, c], order=2)
    assert mr.gradcheck(lambda x: mr.diagonal(x, 1), [a])
    assert mr.gradcheck(lambda x, s: mr.index_add(x, 1, [1, 1], s), [a, b[:, :2]])


def test_lerp_ends_exactly_at_its_ends() -> None:
    start, end = mr.tensor([1e8, 1.0]), mr.tensor([1.0, 1e8])  # whose difference is rounded
    assert mr.lerp(start, end, 1.0).tolist() == end.tolist()
    assert mr.lerp(start, end, mr.tensor([1.0, 0.0])).tolist() == [1.0, 1.0]


def test_addmm_without_its_first_argument() -> None:
    x = mr.tensor([np.nan, np.inf], requires_grad=True)
    y = mr.addmm(x, mr.ones(3, 2), mr.ones(2, 2), beta=0)
    assert y.tolist() == [[2.0, 2.0]] * 3
    assert mr.grad(y.sum(), x).tolist() == [0.0, 0.0]


def test_bits_are_shifted() -> None:
    a = np.array([5, -3, 2**40])
    for found, right in (
        (mr.tensor(a) << 2, a << 2),
        (mr.tensor(a) >> mr.tensor([1, 1, 20]), a >> np.array([1, 1, 20])),
        (1 << mr.tensor([1, 40]), np.array([2, 2**40])),
        (64 >> mr.tensor([1, 7]), np.array([32, 0])),
    ):
        assert found.dtype == "int64" and found.tolist() == right.tolist()
    with pytest.raises(TypeError, match=r"a << b: got dtype float32\n  expected integers; a \* 2 \*\* b"):
        mr.ones(2) << 1


def test_draws_of_bernoulli_follow_their_probabilities() -> None:
    mr.manual_seed(0)
    p = mr.tensor(np.repeat([0.0, 0.25, 1.0], 4000))
    y = mr.bernoulli(p)
    assert y.dtype == "float64" and set(y.tolist()) == {0.0, 1.0}
    means = y.reshape(3, 4000).mean(1).tolist()
    assert means[0] == 0.0 and means[2] == 1.0 and abs(means[1] - 0.25) < 5 * (0.25 * 0.75 / 4000) ** 0.5
    assert mr.bernoulli(p, generator=mr.Generator()).shape == p.shape
