"""The tape: when it records, in which thread, how it notices changed values, and its order."""

import threading
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.engine.tape import Op, record
from tests.compare import assert_close
from tests.each import each
from tests.engine.small_ops import NEEDS_INPUT, NEEDS_NONE, leaves


def test_a_graph_may_be_walked_by_reading_parents() -> None:
    a, b = leaves(2.0, 3.0)
    y = (a * b).tanh()
    assert y.op.name == "Tanh" and y.parents[0].op.name == "Multiply"
    assert y.parents[0].parents == (a, b)
    assert a.is_leaf and a.parents == () and a.op is None
    assert y.seq > y.parents[0].seq > b.seq > a.seq


def test_detach_cuts_the_tape_and_shares_the_values() -> None:
    (a,) = leaves(3.0)
    y = a * a
    d = y.detach()
    assert d.is_leaf and not d.requires_grad and d.array is y.array
    assert mr.grad(y * d, a).item() == 54
    (d.requires_grad_() * 2.0).backward()
    assert a.grad is None


def test_no_grad_and_enable_grad_nest() -> None:
    (a,) = leaves(3.0)
    with mr.no_grad():
        assert not (a * a).requires_grad
        with mr.enable_grad():
            assert (a * a).requires_grad
            with mr.no_grad():
                assert not (a * a).requires_grad
            assert (a * a).requires_grad
        assert not (a * a).requires_grad
    assert (a * a).requires_grad
    off = mr.no_grad()
    with pytest.raises(KeyError), off:
        with off:
            pass
        assert not (a * a).requires_grad
        raise KeyError
    assert (a * a).requires_grad


def test_no_grad_and_enable_grad_decorate_functions() -> None:
    (a,) = leaves(3.0)

    @mr.no_grad()
    def square(x: mr.Tensor, times: int = 1) -> mr.Tensor:
        """A square."""
        if times > 1:
            return square(x, times - 1)
        return x * x

    @mr.enable_grad()
    def recorded(x: mr.Tensor) -> mr.Tensor:
        return x * x

    assert not square(a).requires_grad
    assert not square(a, times=3).requires_grad
    assert (square.__name__, square.__doc__) == ("square", "A square.")
    with mr.no_grad():
        assert recorded(a).requires_grad
    assert (a * a).requires_grad


def test_a_failing_backward_leaves_recording_as_it_was() -> None:
    class Broken(Op):
        def backward(self, dy: Any, y: Any, a: Any) -> Any:
            raise KeyError("broken")

    (a,) = leaves(3.0)
    with pytest.raises(KeyError):
        record(Broken(), a.device, a.array, (a,)).backward()
    assert a.grad is None
    assert (a * a).requires_grad


def test_switches_belong_to_their_thread() -> None:
    (a,) = leaves(3.0)
    seen: list[bool] = []
    with mr.no_grad():
        thread = threading.Thread(target=lambda: seen.append((a * a).requires_grad))
        thread.start()
        thread.join()
        assert not (a * a).requires_grad
    assert seen == [True]


@pytest.mark.parametrize("name", NEEDS_INPUT)
def test_a_needed_value_that_changed_is_an_error_and_not_a_wrong_gradient(name: str) -> None:
    a, w = leaves([[0.5, 0.8], [0.3, 0.7]], [[0.4, 0.3], [0.2, 0.9]])
    y = NEEDS_INPUT[name](a, w)
    w.assign(w.numpy() + 1)
    with pytest.raises(RuntimeError, match=r"backward: an input of \w+ \(shape \(2, 2\)\) was changed by assign\(\)"):
        mr.grad(y.sum(), w)
    other = mr.tensor(a.numpy(), requires_grad=True)
    total = y.sum() + other.sum()
    assert mr.grad(total, other).tolist() == [[1, 1], [1, 1]]  # does not lead through y
    mr.grad(NEEDS_INPUT[name](a, w).sum(), w)


@each("name", NEEDS_NONE)
def test_a_value_that_backward_does_not_need_may_change(name: str) -> None:
    a, w = leaves([[0.5, -0.2], [0.3, 0.7]], [[0.4, 0.3], [0.2, 0.9]])
    y = NEEDS_NONE[name](a, w)
    seed = np.random.default_rng(0).standard_normal(y.shape)
    expected = mr.grad(y, w, seed, retain_graph=True).numpy()
    w.assign(w.numpy() + 1)
    assert_close(mr.grad(y, w, seed), expected, 0.0, "the same computation")


def test_a_constant_that_changed_is_noticed_as_well() -> None:
    (a,) = leaves(2.0)
    x = mr.tensor(3.0)
    y = a * x
    x.assign(5.0)
    with pytest.raises(RuntimeError, match="changed by assign"):
        y.backward()


def test_a_change_between_first_and_second_derivative_is_noticed() -> None:
    a, w = leaves(2.0, 3.0)
    d = mr.grad((a * w).tanh(), a, create_graph=True)  # w * (1 - tanh(a * w)^2)
    w.assign(5.0)
    with pytest.raises(RuntimeError, match="changed by assign"):
        mr.grad(d, a)
