"""The cluster rung of CudnnRNN in the simulator: against stored values, the CPU, other orders; and its controls.

Tests `minirnn/devices/cuda/launch/cudnn_rnn/one_launch.py` and `minirnn/devices/cuda/kernels/cudnn_rnn/`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.cuda.driver import LaunchError
from minirnn.devices.cuda.sim.options import SimOptions
from tests.devices.cuda.launch.cudnn_rnn.ladder_cases import (
    CHECKS,
    LONG_CHECKS,
    MODES,
    assert_close,
    device_on,
    planted,
    random_case,
    shared_device_on,
    stored_outputs,
    with_fault,
)
from tests.ops.cudnn_rnn.cudnn_cases import FILES, load

pytestmark = pytest.mark.skipif(
    mr.devices.available()["cuda-sim"] is not None, reason=f"cuda-sim: {mr.devices.available()['cuda-sim']}"
)

# As for the lowest rung: float64 1e-11 of sums of up to T * B = 30 rows; float32 the same with 2^-24 an operation.
TOLERANCES = {"f8": 1e-11, "f4": 3e-5}


@pytest.mark.parametrize("options", LONG_CHECKS, ids=lambda o: f"seed{o.seed}")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_stored_values_of_torch_in_check_mode(path: Path, options: SimOptions) -> None:
    attributes, case = load(path)
    name = shared_device_on("cluster", options)
    device = mr.devices.get(name)
    device.rungs.clear()
    dtype = "f8" if options.seed else "f4"
    for output, value in stored_outputs(attributes, case, name, dtype).items():
        np.testing.assert_allclose(
            np.asarray(value), case[output], rtol=TOLERANCES[dtype], atol=TOLERANCES[dtype], err_msg=output
        )
    assert {key.split()[0] for key in device.rungs} == {"cluster"}


@pytest.mark.parametrize(
    "T, B, H, D, dtype",
    [
        (1, 1, 1, 1, "f8"),  # seven blocks of the cluster have no unit
        (1, 3, 9, 2, "f8"),
        (4, 5, 33, 2, "f8"),
        (3, 40, 7, 2, "f4"),  # several rows of the batch a cluster
        pytest.param(2, 2, 128, 1, "f8", marks=pytest.mark.slow),  # two chunks
        (3, 3, 131, 1, "f4"),  # two units a warp, of which the last warp has one
    ],
)
def test_odd_sizes(T: int, B: int, H: int, D: int, dtype: str, rng: np.random.Generator) -> None:
    for mode in MODES:
        case = random_case(rng, mode, T, B, 3, H, D, dtype)
        device = device_on("cluster")
        # sums of H products of size 0.4 * 0.4, or of T * B rows
        assert_close(case.run(device), case.run(mr.devices.get("cpu")), {"f8": 1e-12, "f4": 1e-4}[dtype])
        assert device.rungs == {"cluster forward": 1, "cluster backward": 1}


@pytest.mark.parametrize("mode", MODES)
def test_the_order_of_threads_changes_no_bit(mode: str, rng: np.random.Generator) -> None:
    case = random_case(rng, mode, T=4, B=17, I=3, H=11, dtype="f4")
    results = [case.run(device_on("cluster", options)) for options in (SimOptions(), *CHECKS)]
    for other in results[1:]:
        for name, value in results[0].items():
            np.testing.assert_array_equal(value, other[name], err_msg=name)


def test_a_device_without_room_for_a_cluster_takes_the_next_lower_rung(rng: np.random.Generator) -> None:
    case = random_case(rng, "lstm", T=3, B=2, I=3, H=6)
    device = device_on("cluster", SimOptions(resident=7))
    assert_close(case.run(device), case.run(mr.devices.get("cpu")), 1e-12)
    assert device.rungs == {"persistent forward": 1, "persistent backward": 1}


# ---- controls: kernels with a fault

WAIT = "        if (step > 0) fills.wait(step);"
WAIT_GRAD = "            fills.wait(step);\n            real sum"
FIRST_BARRIER = "    cluster_barrier();  // all blocks run, and their meetings are open; the first"
FIRST_BARRIER_GRAD = "    cluster_barrier();  // all blocks run, and their meetings are open; their"
FAULTS = {
    "no waiting": (WAIT, ""),
    "no waiting, backward": (WAIT_GRAD, "            real sum"),
    "no first barrier": (FIRST_BARRIER, "//"),
    "no first barrier, backward": (FIRST_BARRIER_GRAD, "//"),
    "a number fewer is waited for": ("/ UNITS) * sizeof(Piece))}", "/ UNITS) * sizeof(Piece) - sizeof(Piece))}"),
    "a number fewer, backward": ("* G * H * sizeof(real))}", "* G * H * sizeof(real) - sizeof(real))}"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("options", (CHECKS[0], *(pytest.param(o, marks=pytest.mark.slow) for o in CHECKS[1:])))
def test_control_who_does_not_wait_for_all_check_mode_objects(
    fault: str, options: SimOptions, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_fault(monkeypatch, FAULTS[fault])
    case = random_case(rng, "lstm", T=4, B=3, I=3, H=16)
    said = "race: .*no barrier between them|never written|may not have started|that meeting_init has not made|deadlock"
    with pytest.raises(LaunchError, match=said):
        case.run(device_on("cluster", options))
    assert planted() == []


@pytest.mark.parametrize(
    "change",
    [
        (
            "(real *)tiles[(step + 1) % 2] + slice.tile_row * LENGTH + slice.units",
            "(real *)tiles[step % 2] + slice.units",
        ),
        (
            "(real *)tiles[(step + 1) % 2] + slice.tile_row * LENGTH;",
            "(real *)tiles[step % 2] + slice.tile_row * LENGTH;",
        ),
    ],
    ids=["forward", "backward"],
)
def test_control_with_one_place_check_mode_names_the_race(
    change: tuple[str, str], rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_fault(monkeypatch, change)
    case = random_case(rng, "lstm", T=4, B=3, I=3, H=16)
    with pytest.raises(LaunchError, match="race: .*shared"):
        case.run(device_on("cluster"))
    assert planted() == []


def test_control_a_block_that_leaves_too_early_is_named(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No barrier at the end is needed, because every fill is waited for: one that nobody waits for finds nobody."""
    with_fault(monkeypatch, ("if (step + 1 < T) {  // what the others", "if (true) {  //"))
    case = random_case(rng, "lstm", T=4, B=3, I=3, H=16)
    with pytest.raises(LaunchError, match="in the shared memory of a block that has returned"):
        case.run(device_on("cluster"), backward=False)
    assert planted() == []
