"""Parameter: a leaf that can be moved, copied and frozen."""

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn
from minirnn.devices.cpu.device import CPU


class SecondDevice(CPU):
    """The cpu under another name, so that arrays of the two must not be mixed."""

    name = "second"


@pytest.fixture
def second() -> SecondDevice:
    return SecondDevice()


def test_values_are_copied(rng: np.random.Generator) -> None:
    values = rng.normal(size=5)
    before = values.copy()
    p = nn.Parameter(values)
    values[:] = 0
    np.testing.assert_array_equal(p, before)


def test_whole_numbers_are_no_parameter() -> None:
    with pytest.raises(TypeError, match=r"Parameter: got dtype int64\n  expected float16"):
        nn.Parameter([1, 2])


def test_moving_keeps_identity_values_and_gradient(second: SecondDevice, rng: np.random.Generator) -> None:
    p = nn.Parameter(rng.normal(size=(3, 5)))
    (p * p).sum().backward()
    values, gradient = p.numpy().copy(), p.grad.numpy().copy()
    assert p.move(second) is p
    assert p.device is second
    assert p.grad.device is second
    np.testing.assert_array_equal(p, values)
    np.testing.assert_array_equal(p.grad, gradient)


def test_a_backward_pass_that_needs_the_values_before_a_move_fails(second: SecondDevice) -> None:
    p = nn.Parameter([1.0, 2.0])
    loss = (p * p).sum()
    p.move(second)
    with pytest.raises(RuntimeError, match="was changed"):
        loss.backward()


def test_repr_says_what_it_is() -> None:
    assert repr(nn.Parameter([0.5])) == "Parameter(tensor([0.5], requires_grad=True))"


def test_another_dtype_takes_the_gradient_along_and_the_same_one_changes_nothing() -> None:
    p = nn.Parameter([1.0, 2.0])
    array, seq = p.array, p.seq
    assert p.move() is p and p.move("cpu", np.float32) is p
    assert p.array is array and p.seq == seq
    assert p.move(dtype=np.float64).grad is None
    p.grad = mr.tensor(np.array([3.0, 4.0]))
    p.move(dtype=np.float16)
    assert (p.dtype, p.grad.dtype, p.grad.tolist()) == (np.float16, np.float16, [3, 4])
    assert nn.Parameter([1.0, 2.0], dtype=np.float64).dtype == np.float64
