"""Layers from programs, and loops from graphs, give the same bits as single launches, are nearly always reused in
training, and never use wrong arrays.

Tests `minirnn/devices/cuda/recordings.py` and `minirnn/devices/cuda/program.py`.
"""

import gc
from itertools import count
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.cuda import recordings
from minirnn.devices.cuda.debug import DebugDriver
from minirnn.devices.cuda.device import Cuda
from minirnn.devices.cuda.driver import LaunchError, RefusedLaunch
from minirnn.devices.cuda.free_blocks import FreeBlocks
from minirnn.devices.cuda.launch.copies import copy
from minirnn.devices.cuda.program import in_one_block
from minirnn.devices.cuda.recordings import KEPT, Recordings, from_environment
from minirnn.devices.cuda.sim.driver import SimDriver
from minirnn.devices.cuda.sim.options import SimOptions
from tests.devices.cuda.launch.sequence.ladder_cases import MODES, random_case

pytestmark = pytest.mark.skipif(
    mr.devices.available()["cuda-sim"] is not None, reason=f"cuda-sim: {mr.devices.available()['cuda-sim']}"
)


def recording_device() -> Cuda:
    """Not in check mode, where no address is reused."""
    device = Cuda(SimDriver(SimOptions()))
    device.recordings.enabled = True
    return device


@pytest.mark.parametrize("mode", MODES)
def test_a_layer_from_recordings_is_the_same_layer_bit_for_bit(mode: str, rng: np.random.Generator) -> None:
    """The same sizes with other numbers, lengths and directions, none of which a recording may depend on."""
    plain, device = Cuda(SimDriver(SimOptions())), recording_device()
    for k in range(12):
        case = random_case(rng, mode, 6, 4, 5, 7, D=1 + k % 2, dtype="f4", ragged=k % 3 > 0)
        expected = case.run(plain)
        for name, value in case.run(device).items():
            np.testing.assert_array_equal(value, expected[name], err_msg=f"{name}, run {k}")
    counts = device.recordings.counts
    assert counts["replayed"] > counts["plain"] > 0 and counts["recorded"] > 0, counts
    assert counts["loops"] > counts["graphs"] > 0, counts


def test_projection_and_half_precision(rng: np.random.Generator) -> None:
    T, B, I, H, P = 5, 3, 4, 6, 2
    device, plain = recording_device(), Cuda(SimDriver(SimOptions()))
    for dtype in ("f4", "f2"):
        for _ in range(6):
            x, h0, c0 = (rng.standard_normal(shape).astype(dtype) for shape in ((T, B, I), (2, B, P), (2, B, H)))
            size = mr.ops.cudnn_rnn_params_size(1, H, I, num_proj=P, direction="bidirectional")
            params, dy = rng.standard_normal(size).astype(dtype), rng.standard_normal((T, B, 2 * P)).astype(dtype)
            found = []
            for on in (plain, device):
                leaves = [mr.tensor(a, requires_grad=True, device=on) for a in (x, h0, c0, params)]
                y = mr.ops.cudnn_rnn_v3(*leaves, np.full(B, T, np.int32), num_proj=P, direction="bidirectional").output
                found.append([y.numpy(), *(g.numpy() for g in mr.grad([y], leaves, [mr.tensor(dy, device=on)]))])
            for got, expected in zip(*found, strict=True):
                np.testing.assert_array_equal(got, expected)
    assert device.recordings.counts["replayed"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_a_training_loop_comes_to_be_nothing_but_recordings(kind: str, rng: np.random.Generator) -> None:
    T, loops = 20, 2 * 2 * 2  # layers, directions, passes
    batches = rng.standard_normal((25, T, 4, 8)).astype("f4")
    losses, launches = {}, {}
    for enabled in (False, True):
        device = recording_device()
        device.recordings.enabled = enabled
        mr.manual_seed(0)
        model = getattr(mr.nn, kind)(8, 16, num_layers=2, bidirectional=True).to(device)
        optimizer = mr.optim.Adam(list(model.parameters()), lr=1e-2)
        for k, batch in enumerate(batches):
            before, plain = device.driver.launches, device.recordings.counts["plain"]
            loss = (model(mr.tensor(batch, device=device))[0] ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses[enabled, k], launches[enabled, k] = loss.item(), device.driver.launches - before
            assert k < 20 or device.recordings.counts["plain"] == plain, "a loop was not found again"
    for k in range(len(batches)):
        assert losses[True, k] == losses[False, k]
    # two launches per step have become one per loop
    assert launches[False, 24] - launches[True, 24] == loops * (2 * T - 1)


def test_the_oldest_graph_goes_when_there_are_too_many() -> None:
    closed: list[int] = []

    class Recorder:
        limits = SimpleNamespace(simulated=True)

        def record(self, work: Any) -> Any:
            class Recording:
                __call__ = staticmethod(work)

                def close(self) -> None:
                    closed.append(work())

            return Recording()

    kept = Recordings(Recorder(), enabled=True)  # type: ignore[arg-type]
    for number in [0, 0, 1, 1, 0, *range(2, KEPT + 1)]:  # 1 is unused for longest
        kept.loop(number, lambda number=number: number)  # type: ignore[misc]
    assert closed == [1]
    kept.loop(0, lambda: 0)  # type: ignore[arg-type, return-value]
    assert kept.counts == {"graphs": 2, "loops": 4}
    kept.clear()
    assert closed == [1, 0]


def test_work_that_does_more_than_launches_runs_launch_by_launch() -> None:
    device = recording_device()

    def work(device: Any, numbers: Any, arrays: Any) -> list[Any]:
        return [device.asarray(np.ones(3, "f4"))]

    for _ in range(4):
        (found,) = device.recordings.run(device, work, (), ())
        np.testing.assert_array_equal(device.to_numpy(found), np.ones(3))
    assert device.recordings.counts == {"plain": 4}


@pytest.mark.parametrize(("name", "most"), [("PROGRAMS", 4), ("LAUNCHES", 8)])
def test_the_program_that_is_unused_for_longest_goes(monkeypatch: pytest.MonkeyPatch, name: str, most: int) -> None:
    monkeypatch.setattr(recordings, name, most)
    device, calls = recording_device(), []

    def work(device: Any, numbers: Any, arrays: Any) -> Any:
        calls.append(numbers)
        return [device.add(arrays[0], arrays[0])]

    x = device.asarray(np.ones((3, 2), "f4"))
    for n in range(3, 13):  # the key of x comes at every step, each other one comes twice
        for a in (x, device.asarray(np.ones((n, 5), "f4")), x, device.asarray(np.ones((n, 5), "f4"))):
            (found,) = device.recordings.run(device, work, "sum", (a,))
            np.testing.assert_array_equal(device.to_numpy(found), 2)
    assert device.recordings.counts["recorded"] == 11
    assert len(device.recordings._programs) <= most


def test_a_program_reads_the_arrays_of_each_call_whatever_memory_they_share(rng: np.random.Generator) -> None:
    """The arrays of the call that was written down are one array twice, and parts of one array."""
    device = recording_device()

    def work(device: Any, numbers: Any, arrays: Any) -> dict[str, Any]:
        a, (b, nothing) = arrays
        assert nothing is None
        y = device.empty((2, *a.shape), a.dtype)
        for k in range(2):  # whose memory may be used again
            between = device.matmul(a, device.transpose(b, (1, 0)))
            copy(device, y[k], device.matmul(between, b))
        return {"last": y[1], "a": a, "none": None, "rest": [device.reshape(y[0], (6,))]}

    one, parts = rng.standard_normal((3, 2)), rng.standard_normal((2, 3, 2))
    other = rng.standard_normal((3, 2))
    for first, second in ((one, one), (one, one), (one, other), (other, one), (parts[1], parts[0]), (one, one)):
        a = device.asarray(first)
        b = a if second is first else device.asarray(second)
        if first.base is not None:
            both = device.asarray(parts)
            a, b = both[1], both[0]
        found = device.recordings.run(device, work, (), (a, [b, None]))
        expected = np.matmul(np.matmul(first, second.T), second)
        assert found["a"].ptr == a.ptr and found["none"] is None
        np.testing.assert_allclose(device.to_numpy(found["last"]), expected, rtol=1e-13)
        np.testing.assert_array_equal(device.to_numpy(found["rest"][0]), device.to_numpy(found["last"]).ravel())
    assert device.recordings.counts == {"plain": 1, "recorded": 1, "replayed": 5}


def test_memory_that_was_freed_is_used_again_in_one_block() -> None:
    events = [(1, True), (2, True), (1, False), (3, True), (4, True), (2, False), (5, True)]
    place, total = in_one_block(events, {1: 512, 2: 300, 3: 200, 4: 256, 5: 512})
    assert place == {1: 0, 2: 512, 3: 0, 4: 256, 5: 512} and total == 1024


def test_a_refused_launch_of_a_program_is_left_to_the_launching_code() -> None:
    device, refused = recording_device(), []

    def work(device: Any, numbers: Any, arrays: Any) -> list[Any]:
        y = device.empty((4,), "f4")
        device.driver.memset(y.ptr, 0, y.nbytes)
        return [y]

    def refuse(byte: int, nbytes: int) -> Any:
        def run(at: Any) -> None:
            refused.append(at)
            raise RefusedLaunch("error 720")

        return run

    device.driver.prepared_memset = refuse  # type: ignore[method-assign]
    for _ in range(3):
        (found,) = device.recordings.run(device, work, (), ())
        np.testing.assert_array_equal(device.to_numpy(found), np.zeros(4))
    assert len(refused) == 2  # it is written down again, in case the launching code now takes another way


def test_with_debug_nothing_is_recorded(rng: np.random.Generator) -> None:
    device = Cuda(DebugDriver(SimDriver(SimOptions())))
    device.recordings.enabled = True
    case = random_case(rng, "gru", 3, 2, 4, 5, 1)
    results = [case.run(device) for _ in range(3)]
    np.testing.assert_array_equal(results[2]["dx"], results[0]["dx"])
    assert set(device.recordings.counts) == {"plain"}


class Refusing:
    """A driver that cannot record."""

    limits = SimpleNamespace(simulated=True)

    def record(self, work: Any) -> Any:
        raise LaunchError("cuStreamEndCapture failed: no (error 900)")


def test_a_driver_that_refuses_is_an_error_that_says_how_to_do_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(recordings.VARIABLE, "1")
    loops = Recordings(Refusing(), enabled=True)  # type: ignore[arg-type]
    loops.loop("key", lambda: None)
    with pytest.raises(LaunchError, match=r"a loop cannot be recorded: .*no .*\n.*MINIRNN_CUDA_GRAPHS=0"):
        loops.loop("key", lambda: None)


def test_an_unrequested_recording_that_fails_turns_recordings_off_with_a_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(recordings.VARIABLE, raising=False)
    loops, done = Recordings(Refusing(), enabled=True), []  # type: ignore[arg-type]
    loops.loop("key", lambda: done.append(1))
    with pytest.warns(UserWarning, match="CUDA graphs are off from here on: a loop cannot be recorded: .*no"):
        loops.loop("key", lambda: done.append(2))
    for k in (3, 4):
        loops.loop("key", lambda k=k: done.append(k))  # type: ignore[misc]
    assert done == [1, 2, 3, 4] and not loops.enabled


def test_they_are_on_where_they_are_safe_and_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for text, gpu, simulator in (("1", True, True), ("0", False, False), ("", True, False)):
        monkeypatch.setenv(recordings.VARIABLE, text)
        assert from_environment(simulated=False) is gpu
        assert from_environment(simulated=True) is simulator
    monkeypatch.setenv(recordings.VARIABLE, "yes")
    with pytest.raises(ValueError, match=r"MINIRNN_CUDA_GRAPHS is 'yes'\n  expected 1 or 0"):
        from_environment(simulated=False)


def test_an_error_in_a_recorded_kernel_is_reported_as_in_a_launched_one() -> None:
    driver = SimDriver(SimOptions(check=True))
    source = 'extern "C" __global__ void far(float *x, int n) { x[threadIdx.x + n] = 1.0f; }'
    kernel, x = driver.module(source, "far.cu").function("far"), driver.alloc(4 * 8)
    recording = driver.record(lambda: kernel(x, np.int32(4), grid=(1,), block=(8,)))
    with pytest.raises(LaunchError, match="far"):
        recording()


def test_the_lowest_free_address_is_taken_whatever_the_order_of_freeing(rng: np.random.Generator) -> None:
    free = FreeBlocks()
    assert free.take(64) is None
    for ptr in rng.permutation(20):
        free.put(64, int(ptr), f"block {ptr}")
    free.put(32, 5)
    assert free.nbytes == 20 * 64 + 32
    assert [free.take(64) for _ in range(3)] == [(k, f"block {k}") for k in range(3)]
    assert free.take(32) == (5, None) and free.take(32) is None
    assert sorted(free.take_all()) == [(64, k, f"block {k}") for k in range(3, 20)]
    assert free.nbytes == 0 and free.take_all() == []


def test_blocks_that_the_garbage_collector_brings_meanwhile_are_not_lost() -> None:
    free, addresses = FreeBlocks(), count(2)

    class Owner:
        def __init__(self) -> None:
            self.me = self  # only a collection frees it

        def __del__(self) -> None:
            free.put(64, next(addresses))

    found: list[int] = []
    for _ in range(500):
        for _ in range(5):
            Owner()
        free.put(64, 1)
        found += [ptr for _, ptr, _ in free.take_all()]
    gc.collect()
    found += [ptr for _, ptr, _ in free.take_all()]
    assert free.nbytes == 0
    assert sorted(found) == [1] * 500 + list(range(2, 2502))
