"""A block that missed a message is found before a result or a gradient is used, and not at each launch."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.counting import Counting
from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.device import Cuda
from minirnn.devices.cuda.driver import LaunchError
from minirnn.devices.cuda.missed import WORDS
from minirnn.devices.cuda.sim.driver import SimDriver
from minirnn.devices.cuda.sim.options import SimOptions
from tests.devices.cuda.launch.sequence.ladder_cases import device_on, random_case, tiny_layouts
from tests.devices.cuda.launch.sequence.test_one_launch import leave_out_a_block

pytestmark = pytest.mark.skipif(
    mr.devices.available()["cuda-sim"] is not None, reason=f"cuda-sim: {mr.devices.available()['cuda-sim']}"
)
GAVE_UP = "gave up waiting for the messages of step"


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A device that waits for messages, and counts how often the host waits for it."""
    tiny_layouts(monkeypatch)
    made: Any = device_on("persistent", SimOptions())
    made.reads = 0
    d2h = made.driver.d2h

    def counted(host: np.ndarray, ptr: int) -> None:
        made.reads += 1
        d2h(host, ptr)

    monkeypatch.setattr(made.driver, "d2h", counted)
    yield made


@pytest.fixture
def broken(waiting: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The same with a block left out of the forward pass."""
    leave_out_a_block(monkeypatch, lambda name: "grad" not in name)
    return waiting


def layer(device: Any) -> tuple[Any, Any]:
    model = mr.nn.LSTM(3, 7).to(device)
    return model, mr.tensor(np.ones((4, 2, 3), np.float32), device=device)


def test_a_training_step_is_looked_at_once_in_the_backward_pass(waiting: Any) -> None:
    model, x = layer(waiting)
    waiting.reads = 0
    for number in range(1, 4):
        loss = (model(x)[0] ** 2).sum()
        assert waiting.reads == number - 1
        loss.backward()
        assert waiting.reads == number
    assert waiting.rungs == {"persistent forward": 3, "persistent backward": 3}
    waiting.synchronize()
    assert waiting.reads == 3  # no launches since


def test_a_result_that_leaves_the_device_is_looked_at(broken: Any) -> None:
    model, x = layer(broken)
    y = model(x)[0]
    with pytest.raises(LaunchError, match=f"lstm: cell_persistent of . blocks, 1 directions: a block {GAVE_UP}"):
        y.numpy()
    assert np.isfinite(mr.ones(3, device=broken).numpy()).all()  # it was reported once


def test_it_is_raised_at_synchronize(broken: Any) -> None:
    model, x = layer(broken)
    model(x)
    with pytest.raises(LaunchError, match=GAVE_UP):
        broken.synchronize()
    broken.synchronize()


def test_it_is_raised_before_an_optimizer_has_the_gradients(broken: Any) -> None:
    model, x = layer(broken)
    before = {name: p.numpy().copy() for name, p in model.named_parameters()}
    optimizer = mr.optim.SGD(list(model.parameters()), lr=1.0)
    with pytest.raises(LaunchError, match=GAVE_UP):
        model(x)[0].sum().backward()
        optimizer.step()
    for name, p in model.named_parameters():
        np.testing.assert_array_equal(p.numpy(), before[name])


def test_a_wrapped_device_also_checks(broken: Any) -> None:
    wrapped = Counting(broken)
    model, x = layer(wrapped)
    y = model(x)[0]
    with pytest.raises(LaunchError, match=GAVE_UP):
        wrapped.end_of_backward()
    assert y.shape == (4, 2, 7)


def test_another_library_does_not_get_it(broken: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    model, x = layer(broken)
    y = model(x)[0]
    monkeypatch.setattr(broken.driver, "limits", replace(broken.driver.limits, simulated=False))
    with pytest.raises(LaunchError, match=GAVE_UP):
        _ = y.array.__cuda_array_interface__
    assert y.array.__cuda_array_interface__["shape"] == (4, 2, 7)


def test_such_a_launch_can_be_recorded_and_still_says_what_it_missed(
    waiting: Any, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    waiting.recordings.enabled = True
    case = random_case(rng, "gru", 6, 4, 5, 8, 2, "f4")
    expected = case.run(waiting)
    for _ in range(5):
        for name, value in case.run(waiting).items():
            np.testing.assert_array_equal(value, expected[name], err_msg=name)
    assert waiting.recordings.counts["recorded"] >= 2 and waiting.recordings.counts["replayed"] >= 6
    leave_out_a_block(monkeypatch)
    waiting.recordings.clear()
    for _ in range(3):  # plain, recorded, replayed
        with pytest.raises(LaunchError, match=GAVE_UP):
            case.run(waiting, backward=False)
    assert waiting.recordings.counts["replayed"] >= 7


def test_many_kernels_share_the_last_word() -> None:
    device = Cuda(SimDriver(SimOptions()))
    words: list[CudaArray] = [device.missed.word_of(f"kernel {k}") for k in range(WORDS + 3)]
    assert len({word.ptr for word in words}) == WORDS
    assert device.missed.word_of("kernel 5").ptr == words[5].ptr
    assert not device.to_numpy(words[0]).any()
    for k, said in ((5, "^kernel 5: "), (WORDS + 1, f"kernel {WORDS - 1} or .* or kernel {WORDS + 2}: ")):
        device.driver.h2d(words[k].ptr, np.array([1], np.uint32))
        device.missed.launched()
        with pytest.raises(LaunchError, match=said):
            device.missed.look()
