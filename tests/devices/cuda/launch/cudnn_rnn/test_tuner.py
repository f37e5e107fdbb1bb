"""The rung that was the fastest is taken, once it has computed what the lowest computes; others are dropped.

Tests `minirnn/devices/cuda/launch/cudnn_rnn/tuner.py`, `minirnn/devices/cuda/launch/cudnn_rnn/trial.py` and
`minirnn/devices/cuda/launch/cudnn_rnn/passes.py`, on a simulated GPU with a clock that the test sets.
"""

from __future__ import annotations

import threading
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.cuda.driver import CompileError, LaunchError, OutOfDeviceMemory
from minirnn.devices.cuda.launch.cudnn_rnn import one_launch, trial
from minirnn.devices.cuda.launch.cudnn_rnn.choice import H200
from minirnn.devices.cuda.launch.cudnn_rnn.plan import GATES, Sizes
from minirnn.devices.cuda.launch.cudnn_rnn.timings import ENDED
from minirnn.devices.cuda.launch.cudnn_rnn.trial import CANDIDATES, RECORDED, Trial, candidates, difference, shortened
from minirnn.devices.cuda.launch.cudnn_rnn.tuner import VARIABLE, from_environment
from tests.devices.cuda.launch.cudnn_rnn.ladder_cases import MODES, assert_close, planted, random_case, with_fault
from tests.devices.cuda.launch.cudnn_rnn.priced import priced_device
from tests.devices.cuda.launch.cudnn_rnn.test_persistent import OneBlockLess

pytestmark = [
    pytest.mark.skipif(
        mr.devices.available()["cuda-sim"] is not None, reason=f"cuda-sim: {mr.devices.available()['cuda-sim']}"
    ),
]
SMALL = Sizes("lstm", T=4, B=3, H=8, P=8, D=2, itemsize=4, operand="tf32x3")


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU looks for seconds, which are hours in the simulator."""
    monkeypatch.setattr(one_launch, "PATIENCE", one_launch.PATIENCE_SIMULATED)


def small_case(mode: str = "lstm", T: int = 4, dtype: str = "f4", D: int = 2) -> Any:
    return random_case(np.random.default_rng(5), mode, T, 3, 5, 8, D, dtype)


WINNERS = {
    "steps": {"step": 0.001, "graph": 50.0, "persistent": 40.0, "cluster": 30.0, "tensor": 60.0},
    RECORDED: {"step": 10.0, "graph": 1.0, "persistent": 40.0, "cluster": 30.0, "tensor": 60.0},
    "persistent": {"step": 1.0, "graph": 50.0, "persistent": 2.0, "cluster": 30.0, "tensor": 60.0},
    "cluster": {"step": 1.0, "graph": 50.0, "persistent": 40.0, "cluster": 3.0, "tensor": 60.0},
    "tensor": {"step": 1.0, "graph": 50.0, "persistent": 40.0, "cluster": 30.0, "tensor": 2.0},
}


@pytest.mark.parametrize("winner", CANDIDATES)
@pytest.mark.parametrize("mode", ["lstm", pytest.param("rnn_tanh", marks=pytest.mark.slow)])
def test_the_fastest_is_taken_and_computes_the_same(winner: str, mode: str, tmp_path: Path) -> None:
    device, case = priced_device(tmp_path, **WINNERS[winner]), small_case(mode)
    expected = case.run(mr.devices.get("cpu"))
    for _ in range(4):
        assert_close(case.run(device), expected, 3e-5)
    rung = "steps" if winner == RECORDED else winner
    assert set(device.rungs) == {f"{rung} forward", f"{rung} backward"}
    sizes = replace(SMALL, mode=mode)
    for backward in (False, True):
        timing = device.tuner.timing(sizes, backward)
        assert timing is not None and set(timing.seconds) == set(CANDIDATES) and timing.dropped == {}
        assert min(timing.seconds, key=timing.seconds.__getitem__) == winner
        choice = device.tuner.choice(sizes, backward)
        assert choice.rung == rung and choice.recorded == (winner != "steps")
        assert "of 5 that were timed" in choice.reason
    assert bool(device.recordings.counts["replayed"]) == (winner != "steps")  # one launch is recorded, too


@pytest.mark.parametrize(
    ("mode", "dtype"),
    [
        pytest.param(mode, dtype, marks=[] if (mode, dtype) == ("lstm", "f4") else pytest.mark.slow)
        for mode in MODES
        for dtype in ("f4", "f8")
    ],
)
def test_no_rung_is_dropped_without_a_fault(mode: str, dtype: str, tmp_path: Path) -> None:
    device = priced_device(tmp_path)
    case = random_case(np.random.default_rng(5), mode, 9, 5, 4, 33, 2, dtype)
    case.run(device)
    case.run(device)
    number = 5 if dtype == "f4" else 4  # tensor cores have no float64
    assert device.driver.timed == 2 * number * trial.ROUNDS  # two passes
    sizes = Sizes(mode, 9, 5, 33, 33, 2, np.dtype(dtype).itemsize)
    for backward in (False, True):
        timing = device.tuner.timing(sizes, backward)
        assert timing is not None and len(timing.seconds) == number and timing.dropped == {} and timing.steps == 16


def test_a_projection_has_all_candidates_and_a_single_step_none(tmp_path: Path) -> None:
    device = priced_device(tmp_path)
    projected = replace(SMALL, P=5)
    for backward in (False, True):
        assert device.tuner.choice(projected, backward).rung == device.tuner.choice(SMALL, backward).rung != "steps"
        timing = device.tuner.timing(projected, backward)
        assert timing is not None and timing.seconds.keys() == device.tuner.timing(SMALL, backward).seconds.keys()
        assert timing.dropped == {}
    before = device.driver.timed
    assert "one step" in device.tuner.choice(replace(SMALL, T=1), False).reason
    assert device.driver.timed == before


def test_a_plainer_one_is_taken_if_the_others_are_hardly_faster(tmp_path: Path) -> None:
    for price, expected in ((0.99, "persistent"), (0.9, "cluster")):
        device = priced_device(tmp_path / str(price), step=10.0, graph=50.0, persistent=1.0, cluster=price)
        assert device.tuner.choice(replace(SMALL, T=8), False).rung == expected


def test_each_class_is_timed_once_and_known_to_other_devices_and_processes(tmp_path: Path) -> None:
    first = priced_device(tmp_path, **WINNERS["cluster"])
    first.tuner.choice(SMALL, False)
    timed = first.driver.timed
    for same in (replace(SMALL, T=3), replace(SMALL, B=4), replace(SMALL, H=32, P=32), SMALL):
        assert first.tuner.choice(same, False).rung == "cluster"
    assert first.driver.timed == timed
    others = [replace(SMALL, T=5), replace(SMALL, B=5), replace(SMALL, H=33, P=33), replace(SMALL, D=1)]
    others += [replace(SMALL, itemsize=8), replace(SMALL, mode="gru"), replace(SMALL, P=7)]
    names = {first.tuner.class_of(sizes, way) for sizes in (SMALL, *others) for way in (False, True)}
    assert len(names) == 16
    first.recordings.enabled = False
    assert first.tuner.class_of(SMALL, False) not in names
    second = priced_device(tmp_path, **WINNERS["persistent"])
    assert second.tuner.choice(SMALL, False).rung == "cluster"
    assert second.driver.timed == 0
    assert first.tuner.class_of(replace(SMALL, T=64), False) == first.tuner.class_of(replace(SMALL, T=5000), False)


def test_a_layer_for_which_the_winner_has_no_plan_takes_the_next(tmp_path: Path) -> None:
    device = priced_device(tmp_path, **WINNERS["cluster"])
    fits, too_many = replace(SMALL, H=250, P=250, D=1, T=2, B=1), replace(SMALL, H=256, P=256, D=1, T=2, B=1)
    assert device.tuner.class_of(fits, False) == device.tuner.class_of(too_many, False)
    timing = trial.Timing(2, {"steps": 3.0, "persistent": 2.0, "cluster": 1.0})
    device.tuner._known[device.tuner.class_of(fits, False)] = timing
    assert device.tuner.choice(fits, False).rung == "cluster"
    device.driver.limits = replace(device.driver.limits, compute_capability=(8, 0))
    assert device.tuner.choice(too_many, False).rung == "persistent"
    device.driver.limits = replace(device.driver.limits, multiprocessors=1)
    assert device.tuner.choice(replace(too_many, B=2), True).rung == "steps"


# ---- who must not be used


@pytest.mark.parametrize("backward", [False, True])
def test_a_rung_that_computes_something_else_is_dropped_and_never_used(
    backward: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forward_fault = "has_cell ? state[tile_row", "has_cell ? 1.01f * state[tile_row"
    with_fault(
        monkeypatch, ("send(shares + ((i64)", "if (step != 1) send(shares + ((i64)") if backward else forward_fault
    )
    device, case = priced_device(tmp_path, **WINNERS["persistent"]), small_case("gru")
    expected = case.run(mr.devices.get("cpu"))
    with pytest.warns(RuntimeWarning, match="'persistent' of CudnnRNN is not used for gru .*: ") as said:
        found = case.run(device)
    assert planted() == []
    assert_close(found, expected, 3e-5)
    way = "backward" if backward else "forward"
    assert f"persistent {way}" not in device.rungs and len(said) == 1
    timing = device.tuner.timing(replace(SMALL, mode="gru"), backward)
    assert timing is not None and set(timing.dropped) == {"persistent"} and "persistent" not in timing.seconds
    again = priced_device(tmp_path, **WINNERS["persistent"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the next process knows
        again.tuner.choice(replace(SMALL, mode="gru"), backward)


def changed_kernel(monkeypatch: pytest.MonkeyPatch, file: str, change: Any) -> None:
    kernel_of = one_launch.kernel_of
    monkeypatch.setattr(
        one_launch,
        "kernel_of",
        lambda device, name, *more: (change if name == file else lambda k: k)(kernel_of(device, name, *more)),
    )


def test_a_rung_whose_blocks_wait_in_vain_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changed_kernel(monkeypatch, "cudnn_rnn/persistent.cu", OneBlockLess)
    device = priced_device(tmp_path, **WINNERS["persistent"])
    # enough units for several blocks
    sizes = replace(SMALL, H=40, P=40)
    with pytest.warns(RuntimeWarning, match="gave up waiting"):
        assert device.tuner.choice(sizes, False).rung != "persistent"
    device.synchronize()  # nothing is left of it


def test_a_rung_that_does_not_compile_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(kernel: Any) -> Any:
        raise CompileError("cluster.cu does not compile")

    changed_kernel(monkeypatch, "cudnn_rnn/cluster.cu", refused)
    device = priced_device(tmp_path, **WINNERS["cluster"])
    with pytest.warns(RuntimeWarning, match="'cluster' .* does not compile"):
        assert device.tuner.choice(SMALL, False).rung == "steps"


class Refused:
    """A kernel of which not one block is resident at once."""

    def __init__(self, kernel: Any) -> None:
        self.name = kernel.name

    def max_resident_blocks(self, *args: Any) -> int:
        return 0


def test_a_rung_that_the_device_refuses_is_no_candidate_and_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed_kernel(monkeypatch, "cudnn_rnn/cluster.cu", Refused)
    device = priced_device(tmp_path, **WINNERS["cluster"])
    assert device.tuner.choice(SMALL, False).rung == "steps"
    timing = device.tuner.timing(SMALL, False)
    assert timing is not None and not timing.dropped
    assert set(timing.seconds) == {"steps", RECORDED, "persistent", "tensor"}
    # refused only later, by a layer of the same class: the next lower one
    device = priced_device(tmp_path / "other", **WINNERS["persistent"])
    device.tuner.choice(SMALL, False)
    changed_kernel(monkeypatch, "cudnn_rnn/persistent.cu", Refused)
    case = small_case()
    assert_close(case.run(device, False), case.run(mr.devices.get("cpu"), False), 3e-5)
    assert device.rungs == {"steps forward": 1}


def test_a_rung_that_brings_the_context_down_is_marked_for_the_next_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost: list[bool] = []

    def faulty(kernel: Any) -> Any:
        lost.append(True)
        raise LaunchError("an illegal memory access was encountered")

    device = priced_device(tmp_path, **WINNERS["cluster"])
    synchronize = device.driver.synchronize

    def sticky() -> None:
        if lost:
            raise LaunchError("an illegal memory access was encountered")
        synchronize()

    with monkeypatch.context() as patched:
        patched.setattr(device.driver, "synchronize", sticky)
        changed_kernel(patched, "cudnn_rnn/cluster.cu", faulty)
        with pytest.raises(LaunchError, match=r"'cluster'.*context is lost.*\n.*start Python anew: it is noted"):
            device.tuner.choice(SMALL, False)
    second = priced_device(tmp_path, **WINNERS["cluster"])
    with pytest.warns(RuntimeWarning, match=f"'cluster' .*: {ENDED}"):
        assert second.tuner.choice(SMALL, False).rung == "steps"
    assert second.tuner.choice(SMALL, True).rung == "cluster"  # the other pass is another matter


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_interrupted_trial_leaves_no_mark(
    error: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(kernel: Any) -> Any:
        raise error

    device = priced_device(tmp_path, **WINNERS["cluster"])
    with monkeypatch.context() as patched:
        changed_kernel(patched, "cudnn_rnn/cluster.cu", interrupted)
        with pytest.raises(error):
            device.tuner.choice(SMALL, False)
    assert device.tuner.timing(SMALL, False) is None
    assert device.tuner.choice(SMALL, False).rung == "cluster"


def test_without_room_for_a_trial_the_rule_chooses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[Any] = []

    def no_room(self: Trial, device: Any, sizes: Sizes, backward: bool) -> None:
        tried.append(sizes)
        raise OutOfDeviceMemory("priced", 1, 1, 1)

    monkeypatch.setattr(Trial, "__init__", no_room)
    device = priced_device(tmp_path)
    for _ in range(3):
        assert "clusters run at once" in device.tuner.choice(SMALL, False).reason
    assert len(tried) == 1 and device.tuner.timing(SMALL, False) is None


def test_an_earlier_fault_is_not_blamed_on_a_rung(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device = priced_device(tmp_path)
    word = device.missed.word_of("earlier kernel")
    device.driver.h2d(word.ptr, np.array([3], np.uint32))
    device.missed.launched()
    with pytest.raises(LaunchError, match="earlier kernel: a block gave up waiting for the messages of step 3"):
        device.tuner.choice(SMALL, False)
    assert device.tuner.choice(SMALL, False).rung in ("steps", "persistent", "cluster")


# ---- when nothing is timed


def test_what_is_asked_for_is_taken_untimed(tmp_path: Path) -> None:
    device = priced_device(tmp_path, **WINNERS["cluster"])
    for rung in ("steps", "persistent"):
        device.cudnn_rnn_rung = rung
        assert device.tuner.choice(SMALL, False).rung == rung
    device.cudnn_rnn_rung = None
    device.tuner.enabled = False
    assert "clusters run at once" in device.tuner.choice(SMALL, False).reason  # by rule
    assert device.driver.timed == 0 and not device.tuner.timings.path.exists()
    device.tuner.enabled = True
    assert "timed" in device.tuner.choice(SMALL, False).reason


def test_nothing_is_timed_inside_a_recording_or_without_a_clock(tmp_path: Path) -> None:
    device = priced_device(tmp_path, **WINNERS["persistent"])
    device.driver.record(lambda: asked.append(device.tuner.choice(SMALL, False)) if not asked else None)
    assert "clusters run at once" in asked.pop().reason and device.driver.timed == 0
    device.driver.seconds = None
    assert "clusters run at once" in device.tuner.choice(SMALL, False).reason
    device.driver.seconds = device.driver._seconds
    assert device.tuner.choice(replace(SMALL, B=4), False).rung == "persistent"
    device.driver.record(lambda: asked.append(device.tuner.choice(SMALL, False)))
    assert asked.pop().rung == "persistent"  # known


asked: list[Any] = []


def test_the_simulator_chooses_by_rule() -> None:
    from minirnn.devices.cuda.device import Cuda
    from minirnn.devices.cuda.sim.driver import SimDriver

    device = Cuda(SimDriver())
    assert device.tuner.timings is None and device.tuner.timing(SMALL, False) is None
    assert "simulator" in device.tuner.choice(SMALL, False).reason


def test_explaining_times_nothing(tmp_path: Path) -> None:
    device = priced_device(tmp_path, **WINNERS["persistent"])
    assert "clusters run at once" in device.tuner.choice(SMALL, False, may_time=False).reason
    assert device.driver.timed == 0
    device.tuner.choice(SMALL, False)
    assert device.tuner.choice(SMALL, False, may_time=False).rung == "persistent"


def test_the_variable_forbids_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for text, expected in (("", True), ("1", True), ("0", False)):
        monkeypatch.setenv(VARIABLE, text)
        assert from_environment() is expected
    monkeypatch.setenv(VARIABLE, "no")
    with pytest.raises(ValueError, match="MINIRNN_TUNE is 'no'\n.*1 or 0"):
        from_environment()


# ---- what a trial leaves alone


def test_a_trial_changes_no_bit_of_what_the_user_computes(tmp_path: Path) -> None:
    case, found = small_case(dtype="f8"), []
    for tune in (False, True):
        device = priced_device(tmp_path / str(tune), **WINNERS["steps"])
        device.tuner.enabled = tune
        device.recordings.enabled = False
        if not tune:
            device.cudnn_rnn_rung = "steps"
        mr.manual_seed(3)
        np.random.seed(3)
        results = case.run(device)
        results["ours"] = mr.random.generator().random(2)
        results["numpys"] = np.random.random(2)
        found.append(results)
    for name, value in found[0].items():
        np.testing.assert_array_equal(value, found[1][name], err_msg=name)


def test_threads_that_meet_a_class_at_once_time_it_once(tmp_path: Path) -> None:
    device, found = priced_device(tmp_path, **WINNERS["persistent"]), []
    start = threading.Barrier(4)

    def ask() -> None:
        start.wait()
        found.append(device.tuner.choice(SMALL, False).rung)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["persistent"] * 4 and device.driver.timed == 5 * trial.ROUNDS


def test_a_trial_is_short_however_long_the_sequences() -> None:
    for mode in GATES:
        for B, H, T in ((1, 16, 5000), (16, 512, 5000), (4096, 2048, 300), (2, 3, 4)):
            sizes = Sizes(mode, T, B, H, H, 2, 4)
            short = shortened(sizes)
            assert 2 <= short.T <= min(T, 64) and replace(short, T=T) == sizes
            assert short.T == 2 or 5 * short.T * B * H * 2 <= trial.NUMBERS


def test_candidates_are_those_with_a_plan_the_plainest_first() -> None:
    assert [c.name for c in candidates(SMALL, H200, False, True)] == list(CANDIDATES)
    large = candidates(replace(SMALL, H=300, P=300), H200, True, False)
    assert [c.name for c in large] == ["steps", "persistent", "tensor"]
    assert [c.recorded for c in candidates(SMALL, H200, False, True)] == [False, True, False, False, False]


def test_a_difference_is_beside_the_largest_number_and_sees_nan() -> None:
    assert difference(np.array([1.0, 100.0]), np.array([2.0, 100.0])) == 0.01
    assert difference(np.array([0.0]), np.array([0.5])) == 0.5
    assert not difference(np.array([np.nan]), np.array([0.5])) <= 1
    assert not difference(np.array([0.5]), np.array([np.inf])) <= 1
    assert difference(np.zeros((0, 3)), np.zeros((0, 3))) == 0
