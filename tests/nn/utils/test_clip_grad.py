"""Clipping of gradients, against torch and its stored values."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn, optim
from minirnn.nn import utils
from tests.each import each
from tests.nn.twin_programs import wave


@pytest.fixture
def stored() -> Iterator[Any]:
    path = Path(__file__).parents[2] / "golden" / "modules" / "clip.npz"
    with np.load(path, allow_pickle=False) as found:
        yield found


def owners(device: str = "cpu") -> list[nn.Parameter]:
    """A float64 matrix, a float32 vector, and one without a gradient."""
    ps = [
        nn.Parameter(np.zeros((3, 2)), device=device),
        nn.Parameter(np.zeros(4, np.float32), device=device),
        nn.Parameter(np.zeros(5), device=device),
    ]
    for p in ps[:2]:
        p.grad = mr.tensor(wave(*p.shape) * 3, device=device, dtype=p.dtype)
    return ps


@each("norm_type", [2.0, 1.0, 3.0, math.inf, 0.5])
@each("max_norm", [0.7, 1000.0])
def test_gradients_are_clipped_by_their_norm_as_in_torch(
    norm_type: float, max_norm: float, stored: Any, device: str
) -> None:
    ps = owners(device)
    norm = utils.clip_grad_norm_(iter(ps), max_norm, norm_type)
    # torch computes the norm of the float32 vector in float32
    np.testing.assert_allclose(norm, stored[f"norm_{norm_type}_{max_norm}"], rtol=2e-7)
    np.testing.assert_allclose(ps[0].grad, stored[f"gradient_{norm_type}_{max_norm}"], rtol=2e-7)
    assert isinstance(norm, mr.Tensor) and norm.shape == () and norm.device == device
    assert ps[1].grad.dtype == np.float32 and ps[2].grad is None


def test_values_are_clipped_as_in_torch(stored: Any, device: str) -> None:
    p = nn.Parameter(np.zeros((3, 2)), device=device)
    p.grad = mr.tensor(wave(3, 2), device=device)
    utils.clip_grad_value_(p, 0.4)
    np.testing.assert_array_equal(p.grad, stored["value"])
    assert p.grad.device == device and p.dtype == np.float64


def with_gradient(*numbers: float) -> nn.Parameter:
    p = nn.Parameter(np.zeros(len(numbers)))
    p.grad = mr.tensor(np.array(numbers))
    return p


@pytest.mark.parametrize("name", ["clip_grad_norm_", "clip_grad_value_"])
def test_optim_has_the_same_functions(name: str) -> None:
    assert getattr(optim, name) is getattr(utils, name)


@pytest.mark.parametrize("norm_type", [2, 1.5, math.inf])
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_norm_that_is_not_finite_is_raised_or_does_to_the_gradients_what_it_does_in_torch(
    bad: float, norm_type: float
) -> None:
    torch = pytest.importorskip("torch")
    p, theirs = with_gradient(bad, 1.0), torch.zeros(2, requires_grad=True)
    theirs.grad = torch.tensor([bad, 1.0])
    with pytest.raises(RuntimeError, match=f"clip_grad_norm_: the norm of 1 gradients is {bad}"):
        utils.clip_grad_norm_(p, 1.0, norm_type, error_if_nonfinite=True)
    np.testing.assert_array_equal(p.grad, [bad, 1])
    np.testing.assert_array_equal(utils.clip_grad_norm_(p, 1.0, norm_type), bad)
    torch.nn.utils.clip_grad_norm_(theirs, 1.0, norm_type)
    np.testing.assert_array_equal(p.grad, theirs.grad.numpy())


def norm_of(*gradients: mr.Tensor, **options: Any) -> float:
    ps = [nn.Parameter(mr.zeros_like(g)) for g in gradients]
    for p, g in zip(ps, gradients, strict=True):
        p.grad = g
    return float(utils.clip_grad_norm_(ps, math.inf, **options).item())


def test_float16_gradients_do_not_overflow() -> None:
    p = nn.Parameter(np.zeros(4, np.float16))
    p.grad = mr.tensor(np.full(4, 300.0, np.float16))
    assert utils.clip_grad_norm_(p, 6.0).item() == 600
    np.testing.assert_allclose(p.grad, np.full(4, 3.0), rtol=1e-3)


@pytest.mark.parametrize(("size", "norm_type"), [(1e25, 2), (1e25, 1.5), (0.25, 90)])
def test_powers_that_float32_cannot_hold_are_computed_in_float64(size: float, norm_type: float) -> None:
    t = mr.tensor(np.full(16, size, np.float32))
    assert norm_of(t, norm_type=norm_type) == pytest.approx(size * 16 ** (1 / norm_type), rel=1e-6)


def test_no_gradients_have_the_norm_zero() -> None:
    assert utils.clip_grad_norm_([nn.Parameter([1.0])], 1.0).item() == 0
    assert utils.clip_grad_norm_([], 1.0).item() == 0
    p = nn.Parameter([3.0])
    p.grad = mr.tensor([-4.0])
    assert utils.clip_grad_norm_(p, math.inf).item() == 4
    assert p.grad.tolist() == [-4]


@pytest.mark.parametrize(
    ("norm_type", "norm"), [(0, 2), (1, 11), (2, 7), (3, 251 ** (1 / 3)), (math.inf, 6), (-math.inf, 0)]
)
def test_norms_of_all_kinds_are_worked_out_over_all_gradients(norm_type: float, norm: float) -> None:
    assert norm_of(mr.tensor([2.0, 0.0]), mr.tensor([-3.0, 6.0]), norm_type=norm_type) == pytest.approx(norm)
    assert norm_of(mr.tensor([-3.0, 6.0]), norm_type=-math.inf) == 3
    assert norm_of(mr.tensor([1.0]), mr.tensor([0.0, 0.0]), norm_type=0) == 1  # a norm of norms, as in torch


def test_the_factor_is_torchs_with_its_small_number() -> None:
    p = with_gradient(3e-6, 4e-6)
    assert utils.clip_grad_norm_(p, 3e-6).item() == pytest.approx(5e-6)
    np.testing.assert_allclose(p.grad, [1.5e-6, 2e-6], rtol=1e-12)  # times 3 / (5 + 1)
    p = with_gradient(3.0, 4.0)
    utils.clip_grad_norm_(p, 2.0)
    np.testing.assert_allclose(p.grad, np.array([3, 4]) * 2 / (5 + 1e-6), rtol=1e-14)


def test_the_limit_may_be_zero_or_infinite_but_not_negative() -> None:
    for clip in (utils.clip_grad_norm_, utils.clip_grad_value_):
        p = with_gradient(3.0, -4.0)
        clip(p, math.inf)
        assert p.grad.tolist() == [3, -4]
        clip(p, 0.0)
        assert p.grad.tolist() == [0, 0]
        with pytest.raises(ValueError, match="expected 0 or more"):
            clip(p, -0.1)
    p = with_gradient(3.0, -0.4)
    utils.clip_grad_value_(p, 0.5)
    assert p.grad.tolist() == [0.5, -0.4]


def test_empty_gradients_and_several_norms() -> None:
    assert norm_of() == norm_of(mr.tensor(np.zeros(0))) == 0
    assert norm_of(mr.tensor(np.zeros((2, 0))), mr.tensor([-3.0]).double(), norm_type="inf") == 3
    assert math.isnan(norm_of(mr.tensor([math.nan])))  # without a warning
    assert norm_of(mr.tensor([3.0]), error_if_nonfinite=True) == 3
