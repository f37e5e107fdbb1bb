"""The persistent rung of CudnnRNN in the simulator: its layouts against the CPU, and kernels with a planted fault.

Tests `minirnn/devices/cuda/launch/sequence/layout.py` and `minirnn/devices/cuda/kernels/sequence/`. What it
shares with the other rung of one launch: `tests/devices/cuda/launch/sequence/test_one_launch.py`. Many more faults:
`tests/ptx_machine/mistakes.py`.
"""

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.cuda.driver import LaunchError
from minirnn.devices.cuda.sim.options import SimOptions
from tests.devices.cuda.launch.sequence.ladder_cases import (
    CHECKS,
    MODES,
    assert_close,
    device_on,
    planted,
    random_case,
    tiny_layouts,
    with_fault,
)
from tests.slow import slow_unless

pytestmark = pytest.mark.skipif(
    mr.devices.available()["cuda-sim"] is not None, reason=f"cuda-sim: {mr.devices.available()['cuda-sim']}"
)


@pytest.mark.parametrize(("kept", "dtype"), [(1, "f8"), pytest.param(8, "f4", marks=pytest.mark.slow)])
@pytest.mark.parametrize("mode", slow_unless(["lstm", "gru"], MODES))
def test_several_chunks_tiles_and_blocks(
    mode: str, dtype: str, kept: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H fills two or three chunks, the last one partly; B is not a multiple of the tile; weights in shared memory, or
    none.
    """
    tiny_layouts(monkeypatch, groups=3, parts=kept // 4 or 1, slices=2, rows=2 if kept == 1 else 4, kept=kept)
    case = random_case(rng, mode, T=3, B=7, I=2, H=131, dtype=dtype)
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
        (1, 2, 7, 2),  # the forward pass has a layout that other tests compile
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


@pytest.mark.parametrize("batch_groups", slow_unless([3], [2, 3]))
@pytest.mark.parametrize("options", CHECKS, ids=lambda o: f"seed{o.seed}")
def test_groups_of_the_batch_compute_only_their_rows(
    batch_groups: int, options: SimOptions, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_layouts(monkeypatch, batch_groups=batch_groups)  # the last group has fewer rows
    for mode, D in (("lstm", 2), ("gru", 1)):
        case = random_case(rng, mode, T=4, B=7, I=3, H=11, D=D)
        device = device_on("persistent", options)
        assert_close(case.run(device), case.run(mr.devices.get("cpu")), 1e-12)
        assert device.rungs == {"persistent forward": 1, "persistent backward": 1}


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
    """A waiting block could not distinguish it from a number that has not been sent. The control does send it."""
    tiny_layouts(monkeypatch)
    if fault:
        with_fault(monkeypatch, ("word == NOT_SENT ? NOT_SENT >> 1 : word", "word"))
    case = random_case(rng, "rnn_tanh", T=3, B=2, I=3, H=6, dtype="f4", ragged=False)
    case.h0[:] = np.full(case.h0.shape, 0xFFFFFFFF, np.uint32).view(np.float32)
    device = device_on("persistent")
    if not fault:
        assert np.isnan(case.run(device)["dh0"]).all()
        return
    assert planted(device, case) == []
    with pytest.raises(LaunchError, match="gave up waiting"):
        case.run(device)


@pytest.mark.parametrize("fault", [False, True])
def test_a_tile_of_the_batch_is_gathered_while_other_warps_multiply_the_last_one(
    fault: bool, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They therefore need two places in turn. Check mode objects to the control, which has only one."""
    tiny_layouts(monkeypatch, warps=2)
    if fault:
        with_fault(monkeypatch, ("tile ^= 1", "tile ^= 0"))
    case, device = random_case(rng, "lstm", T=4, B=5, I=3, H=13, D=1), device_on("persistent", CHECKS[1])
    if not fault:
        assert_close(case.run(device), case.run(mr.devices.get("cpu")), 1e-12)
        return
    assert planted(device, case) == []
    with pytest.raises(LaunchError, match="race"):
        case.run(device)
