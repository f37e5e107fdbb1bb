"""Anomaly mode names the line of the forward pass whose gradient has the first NaN."""

import numpy as np
import pytest

import minirnn as mr
from minirnn.engine import tape
from minirnn.engine.tensor import next_seq

pytestmark = pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")


def broken(x: mr.Tensor) -> mr.Tensor:
    y = (x * 0).unbind()[0]
    z = mr.sqrt(y)  # this line
    return (z * 0).sum() + x.sum()


def test_the_first_nan_names_the_op_and_the_line() -> None:
    x = mr.tensor([4.0, 1.0], requires_grad=True)
    with (
        mr.autograd.detect_anomaly(),
        pytest.raises(RuntimeError, match=r"backward of Sqrt: .* input 0 .*\n.*test_anomaly.py, line \d+: .*this line"),
    ):
        broken(x).backward()
    broken(x).backward()
    assert np.isnan(x.grad.numpy()[0]) and tape.next_seq is next_seq


def test_the_switch_is_as_it_was_after_a_block_and_may_only_note_lines() -> None:
    x = mr.tensor([4.0, 1.0], requires_grad=True)
    mr.autograd.set_detect_anomaly(True)
    with mr.autograd.detect_anomaly(check_nan=False):
        broken(x).backward()
    with pytest.raises(RuntimeError, match="Sqrt"):
        broken(x).backward()
    with mr.autograd.set_detect_anomaly(False):
        broken(x).backward()
    mr.autograd.set_detect_anomaly(False)
    y = mr.sqrt(x * 0) * 0
    with mr.autograd.detect_anomaly(), pytest.raises(RuntimeError, match="before anomaly detection was on"):
        y.sum().backward()
    assert tape.next_seq is next_seq


def test_gradients_without_nan_are_the_same(rng: np.random.Generator) -> None:
    lstm = mr.nn.LSTM(2, 3)
    x = mr.tensor(rng.normal(size=(4, 1, 2)).astype(np.float32), requires_grad=True)
    lstm(x)[0].sum().backward()
    before = x.grad.numpy().copy()
    x.grad = None
    with mr.autograd.detect_anomaly():
        (g,) = mr.grad(lstm(x)[0].sum(), [x], create_graph=True)
    np.testing.assert_array_equal(g.detach().numpy(), before)
