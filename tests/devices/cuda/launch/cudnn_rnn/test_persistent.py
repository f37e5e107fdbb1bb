"""The persistent rung of CudnnRNN in the simulator: against stored values, the CPU, the lowest rung; its controls.

Tests `minirnn/devices/cuda/launch/cudnn_rnn/persistent.py` and `minirnn/devices/cuda/kernels/cudnn_rnn/`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.cuda.driver import LaunchError
from minirnn.devices.cuda.launch.cudnn_rnn import persistent
from minirnn.devices.cuda.sim.options import SimOptions
from tests.devices.cuda.launch.cudnn_rnn.ladder_cases import (
    CHECKS,
    FILES,
    MODES,
    assert_close,
    assert_stored,
    device_on,
    planted,
    random_case,
    shared_device_on,
    tiny_layouts,
    with_fault,
)
from tests.slow import slow_unless

pytestmark = pytest.mark.skipif(
    mr.devices.available()["cuda-sim"] is not None, reason=f"cuda-sim: {mr.devices.available()['cuda-sim']}"
)


@pytest.mark.parametrize(
    ("path", "options"),
    [  # a plain run has every second network with one order of the threads
        pytest.param(path, options, id=f"{path.stem}-seed{options.seed}", marks=[pytest.mark.slow] * (k % 6 != 2 * n))
        for k, path in enumerate(FILES)
        for n, options in enumerate(CHECKS)
    ],
)
def test_stored_values_of_torch_in_check_mode(path: Path, options: SimOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny_layouts(monkeypatch)
    name = shared_device_on("persistent", options)
    device = mr.devices.get(name)
    device.rungs.clear()
    assert_stored(path, name, "float64" if options.seed else "float32")
    assert {key.split()[0] for key in device.rungs} == {"steps" if "proj" in path.stem else "persistent"}


@pytest.mark.parametrize("kept", [1, pytest.param(8, marks=pytest.mark.slow)])
@pytest.mark.parametrize("dtype", ["f8", pytest.param("f4", marks=pytest.mark.slow)])
@pytest.mark.parametrize("mode", slow_unless(["lstm", "gru"], MODES))
def test_several_chunks_tiles_and_blocks(
    mode: str, dtype: str, kept: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H two or three chunks, the last one not full; B no multiple of the tile; weights in shared memory, or none."""
    tiny_layouts(monkeypatch, groups=3, parts=kept // 4 or 1, slices=2, rows=4, kept=kept)
    case = random_case(rng, mode, T=3, B=6, I=2, H=131, dtype=dtype)
    device = device_on("persistent", SimOptions(check=True, shared_limit=100 << 10))
    found = case.run(device)
    assert device.rungs == {"persistent forward": 1, "persistent backward": 1}
    # sums of H = 131 products of size 0.4 * 0.4, or of T * B rows
    assert_close(found, case.run(mr.devices.get("cpu")), {"f8": 1e-12, "f4": 1e-4}[dtype])


@pytest.mark.parametrize(
    "T, B, H, D",
    [
        *(
            pytest.param(*sizes, marks=pytest.mark.slow)
            for sizes in ((1, 1, 1, 1), (4, 1, 9, 1), (2, 9, 4, 2), (7, 5, 33, 2))
        ),
        (1, 3, 7, 2),
    ],
)
def test_odd_sizes_with_the_layouts_of_a_gpu(T: int, B: int, H: int, D: int, rng: np.random.Generator) -> None:
    for mode in MODES:
        case = random_case(rng, mode, T, B, 3, H, D)
        device = device_on("persistent")
        assert_close(case.run(device), case.run(mr.devices.get("cpu")), 1e-12)
        assert device.rungs == {"persistent forward": 1, "persistent backward": 1}


@pytest.mark.slow
@pytest.mark.parametrize(
    "mode, T, B, H, D, dtype, check",
    [
        ("lstm", 2, 2, 333, 2, "f4", True),
        ("lstm", 3, 9, 1024, 1, "f4", False),  # all multiprocessors, all registers
        ("lstm", 2, 2, 1250, 1, "f4", False),  # blocks of ten warps, weights in shared memory
        ("rnn_tanh", 2, 3, 2048, 1, "f4", False),  # blocks of sixteen warps
        ("gru", 3, 3, 512, 2, "f8", False),
        ("lstm", 2, 2, 777, 1, "f8", False),
    ],
)
def test_large_layers_with_the_layouts_of_a_gpu(
    mode: str, T: int, B: int, H: int, D: int, dtype: str, check: bool, rng: np.random.Generator
) -> None:
    case = random_case(rng, mode, T, B, 5, H, D, dtype)
    device = device_on("persistent", SimOptions(check=check, shared_limit=227 << 10))
    # sums of H products of size 1 / sqrt(H), through T steps and back
    assert_close(case.run(device), case.run(mr.devices.get("cpu")), {"f8": 1e-12, "f4": 2e-4}[dtype])
    assert device.rungs == {"persistent forward": 1, "persistent backward": 1}


@pytest.mark.parametrize("batch_groups", [2, 3])
@pytest.mark.parametrize("options", CHECKS, ids=lambda o: f"seed{o.seed}")
def test_groups_of_the_batch_compute_their_rows_and_nobody_elses(
    batch_groups: int, options: SimOptions, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_layouts(monkeypatch, batch_groups=batch_groups)  # the last group has fewer rows
    for mode, D in (("lstm", 2), ("gru", 1)):
        case = random_case(rng, mode, T=4, B=7, I=3, H=11, D=D)
        device = device_on("persistent", options)
        assert_close(case.run(device), case.run(mr.devices.get("cpu")), 1e-12)
        assert device.rungs == {"persistent forward": 1, "persistent backward": 1}


@pytest.mark.parametrize("mode", MODES)
def test_the_order_of_threads_changes_no_bit(
    mode: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_layouts(monkeypatch)
    case = random_case(rng, mode, T=4, B=5, I=3, H=11, dtype="f4")
    results = [case.run(device_on("persistent", options)) for options in (SimOptions(), *CHECKS)]
    for other in results[1:]:
        for name, value in results[0].items():
            np.testing.assert_array_equal(value, other[name], err_msg=name)


def test_nan_is_a_number_like_others_and_stays_in_its_row(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_layouts(monkeypatch)
    case = random_case(rng, "lstm", T=4, B=5, I=3, H=6, ragged=False)
    case.x[1, 2, 0] = np.nan
    found = case.run(device_on("persistent"), backward=False)
    assert np.isnan(found["y"][1:, 2, :6]).all() and np.isnan(found["h_n"][:, 2]).all()
    others = np.delete(found["y"], 2, axis=1)
    assert np.isfinite(others).all()


@pytest.mark.parametrize("fault", slow_unless([False], [False, True]))
def test_a_nan_of_all_bits_is_sent_as_another_one(
    fault: bool, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who waits could not tell it from a number that was not sent yet; the control does send it."""
    tiny_layouts(monkeypatch)
    if fault:
        with_fault(monkeypatch, ("word == NOT_SENT ? NOT_SENT >> 1 : word", "word"))
    case = random_case(rng, "rnn_tanh", T=3, B=2, I=3, H=6, dtype="f4", ragged=False)
    case.h0[:] = np.full(case.h0.shape, 0xFFFFFFFF, np.uint32).view(np.float32)
    device = device_on("persistent")
    if not fault:
        assert np.isnan(case.run(device)["dh0"]).all()
        return
    with pytest.raises(LaunchError, match="gave up waiting"):
        case.run(device)
    assert planted() == []


# ---- when it cannot be


def test_blocks_that_do_not_fit_at_once_take_the_lowest_rung(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_layouts(monkeypatch)
    case = random_case(rng, "lstm", T=3, B=2, I=3, H=6)
    device = device_on("persistent", SimOptions(check=True, resident=5))  # of 2 * 3 blocks
    assert_close(case.run(device), case.run(mr.devices.get("cpu")), 1e-12)
    assert device.rungs == {"steps forward": 1, "steps backward": 1}


class OneBlockLess:
    """A kernel of whose grid the last block is left out."""

    def __init__(self, kernel: Any) -> None:
        self.kernel, self.name, self.max_resident_blocks = kernel, kernel.name, kernel.max_resident_blocks

    def __call__(self, *args: Any, grid: Any, **more: Any) -> None:
        self.kernel(*args, grid=(grid[0] - 1, *grid[1:]), **more)


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("options", CHECKS, ids=lambda o: f"seed{o.seed}")
def test_a_missing_block_is_an_error_and_no_hang(
    backward: bool, options: SimOptions, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_layouts(monkeypatch)
    kernel_of, file = persistent.kernel_of, "cudnn_rnn/persistent_grad.cu" if backward else "cudnn_rnn/persistent.cu"
    monkeypatch.setattr(
        persistent,
        "kernel_of",
        lambda device, name, *more: (OneBlockLess if name == file else lambda k: k)(kernel_of(device, name, *more)),
    )
    case = random_case(rng, "gru", T=4, B=2, I=3, H=8)
    with pytest.raises(
        LaunchError, match=r"gave up waiting for the messages of step [12] .*\n.*\n.*MINIRNN_CUDNN_RNN=steps"
    ):
        case.run(device_on("persistent", options))


# ---- controls: kernels with a fault, which the tests above would not let pass

WAIT = "!watch.lost && !complete()"
TILE_BARRIER = "if (__syncthreads_or(watch.lost)) return;"


def run_both(case: Any, options: SimOptions) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    return case.run(device_on("persistent", options)), case.run(mr.devices.get("cpu"))


@pytest.mark.slow
@pytest.mark.parametrize("options", CHECKS, ids=lambda o: f"seed{o.seed}")
def test_control_without_waiting_the_results_are_wrong(
    options: SimOptions, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_layouts(monkeypatch)
    with_fault(monkeypatch, (WAIT, "false"))
    case = random_case(rng, "lstm", T=4, B=3, I=3, H=8)
    try:
        found, expected = run_both(case, options)
    except LaunchError as error:  # an old word, which the simulator hands out once, was taken for a new one
        assert "message without a fence" in str(error)
        return
    finally:
        assert planted() == []
    for name in ("y", "dx"):
        with pytest.raises(AssertionError):
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("backward", slow_unless([False], [False, True]))
def test_control_without_the_barrier_between_gathering_and_multiplying_check_mode_objects(
    backward: bool, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_layouts(monkeypatch)
    follows = "if (first + ROWS < end_row) begin(" if backward else "s.before[I] = has_cell ? state"
    after = f"\n            {follows}"
    with_fault(monkeypatch, (TILE_BARRIER + after, after))
    case = random_case(rng, "lstm", T=4, B=3, I=3, H=8)
    with pytest.raises(LaunchError, match="race|divergent"):
        case.run(device_on("persistent", CHECKS[0]))
    assert planted() == []


@pytest.mark.slow
def test_control_of_one_phase_only_old_shares_are_taken_for_new_ones(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_layouts(monkeypatch, slices=4)
    with_fault(monkeypatch, ("const u32 phase = (step - 1) / SLOTS & 1;", "const u32 phase = 0;"))
    case = random_case(rng, "lstm", T=9, B=2, I=3, H=16, D=1, dtype="f4", ragged=False)
    with pytest.raises(LaunchError, match="message without a fence"):
        case.run(device_on("persistent"))
    found, expected = (
        case.run(device)["dx"] for device in (device_on("persistent", SimOptions()), mr.devices.get("cpu"))
    )
    assert planted() == []
    assert not np.allclose(found, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.slow
def test_control_with_one_slot_a_starved_block_misses_its_share(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_layouts(monkeypatch, slices=8)
    with_fault(monkeypatch, ("#define SLOTS 2", "#define SLOTS 1"))
    case = random_case(rng, "lstm", T=12, B=1, I=3, H=32, D=1, ragged=False)  # a single tile: a second one hides it
    outcomes = []
    for seed in range(4):
        try:
            case.run(device_on("persistent", SimOptions(seed=seed)))
            outcomes.append("passed")
        except LaunchError as error:
            assert "gave up waiting" in str(error)
            outcomes.append("gave up")
    assert planted() == []
    assert "gave up" in outcomes, outcomes
