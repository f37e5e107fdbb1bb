"""The rung of CudnnRNN on tensor cores in the simulator: against stored values, the CPU, its own controls.

Tests `minirnn/devices/cuda/launch/cudnn_rnn/tensor.py` and `minirnn/devices/cuda/kernels/cudnn_rnn/`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.cuda.driver import LaunchError
from minirnn.devices.cuda.launch.cudnn_rnn import one_launch, tensor_plan
from minirnn.devices.cuda.sim.options import SimOptions
from minirnn.devices.precision import to_tf32
from tests.devices.cuda.launch.cudnn_rnn.ladder_cases import (
    CHECKS,
    MODES,
    assert_close,
    device_on,
    in_float64,
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

BOTH = {"tensor forward": 1, "tensor backward": 1}
# Operand -> dtype, precision, tolerance: float32 as for the lowest rung (2^-24 an operation); 11 bits, a rounding of h
# or of the gradients a step and of every result, the sums of up to 30 products of size 1: 2^-11 * 8 * 2
OPERANDS = {"tf32x3": ("f4", "ieee", 3e-5), "tf32": ("f4", "tf32", 8e-3), "float16": ("f2", "ieee", 8e-3)}


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles of eight rows of the batch, so that there are several; four slices; weights of one piece in registers."""
    monkeypatch.setattr(tensor_plan, "ROWS", (8,))
    monkeypatch.setattr(tensor_plan, "HELD", 8)
    monkeypatch.setattr(tensor_plan, "SLICES", 2)


def run(case: Any, device: Any, precision: str = "ieee", backward: bool = True) -> dict[str, np.ndarray]:
    with mr.use_precision(precision):
        return dict(case.run(device, backward))


@pytest.mark.parametrize("options", [CHECKS[0], *(pytest.param(o, marks=pytest.mark.slow) for o in CHECKS[1:])])
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_stored_values_of_torch_in_check_mode(path: Path, options: SimOptions) -> None:
    attributes, case = load(path)
    name = shared_device_on("tensor", options)
    device = mr.devices.get(name)
    device.rungs.clear()
    for output, value in stored_outputs(attributes, case, name, "f4").items():
        np.testing.assert_allclose(np.asarray(value), case[output], rtol=3e-5, atol=3e-5, err_msg=output)
    assert {key.split()[0] for key in device.rungs} == {"tensor"}


QUICK = {("lstm", "float16"), ("gru", "float16"), ("lstm", "tf32x3"), ("rnn_tanh", "tf32")}
EVERY = [
    pytest.param(mode, operand, marks=[] if (mode, operand) in QUICK else pytest.mark.slow)
    for mode in MODES
    for operand in OPERANDS
]


@pytest.mark.parametrize("mode, operand", EVERY)
def test_several_tiles_slices_and_blocks_of_both_directions(
    mode: str, operand: str, small_blocks: None, rng: np.random.Generator
) -> None:
    """H odd, no multiple of any tile; B no multiple of a tile; lengths; three orders of threads, the same bits."""
    dtype, precision, tolerance = OPERANDS[operand]
    case = random_case(rng, mode, T=3, B=11, I=2, H=137, dtype=dtype)
    device = device_on("tensor", CHECKS[0])
    backward = mode != "rnn_relu" or operand == "tf32x3"  # its slope jumps at 0, where 11 bits may differ in sign
    found = run(case, device, precision, backward)
    assert device.rungs == (BOTH if backward else {"tensor forward": 1})
    assert_close(found, in_float64(case, backward), tolerance)
    for options in CHECKS[1:] if (mode, operand) == ("lstm", "float16") else CHECKS[2:]:
        again = run(case, device_on("tensor", options), precision, backward)
        for name in found:
            np.testing.assert_array_equal(again[name], found[name], err_msg=name)


@pytest.mark.parametrize("T, B, H, D", [(1, 1, 1, 1), (2, 3, 7, 2), (4, 1, 9, 1)])
def test_odd_sizes_and_no_lengths(T: int, B: int, H: int, D: int, rng: np.random.Generator) -> None:
    for mode in ("lstm", "gru", "rnn_relu"):
        case = random_case(rng, mode, T, B, 3, H, D, "f4", ragged=False)
        device = device_on("tensor")
        assert_close(case.run(device), case.run(mr.devices.get("cpu")), 3e-5)
        assert device.rungs == BOTH


@pytest.mark.slow
@pytest.mark.parametrize(
    "mode, T, B, H, D, operand",
    [
        ("lstm", 2, 17, 512, 1, "float16"),  # all multiprocessors
        ("lstm", 2, 3, 1024, 1, "tf32x3"),  # weights in shared memory, too
        ("gru", 2, 3, 600, 2, "tf32"),  # 16 units a block
        ("rnn_tanh", 2, 3, 2048, 1, "float16"),
    ],
)
def test_large_layers_with_the_layouts_of_a_gpu(
    mode: str, T: int, B: int, H: int, D: int, operand: str, rng: np.random.Generator
) -> None:
    dtype, precision, tolerance = OPERANDS[operand]
    case = random_case(rng, mode, T, B, 5, H, D, dtype)
    device = device_on("tensor", SimOptions(shared_limit=227 << 10))
    found = run(case, device, precision, backward=H < 2048)
    assert_close(found, case.run(mr.devices.get("cpu"), H < 2048), 4 * tolerance)  # sums of size 4
    assert device.rungs["tensor forward"] == 1


def test_float32_is_never_rounded_to_tf32_unasked(rng: np.random.Generator) -> None:
    """Sums of H = 64 products: an error of 2^-11 would show in the first run, none below 2^-11 in the second."""
    case = random_case(rng, "rnn_relu", T=4, B=3, I=3, H=64, D=1, dtype="f4")
    exact = in_float64(case)
    errors = {p: np.abs(run(case, device_on("tensor"), p)["y"] - exact["y"]).max() for p in ("ieee", "tf32")}
    assert errors["ieee"] < 2e-6 and errors["tf32"] > 2e-4


def test_nan_and_infinity_are_numbers_like_others_and_stay_in_their_rows(rng: np.random.Generator) -> None:
    for dtype in ("f4", "f2"):
        case = random_case(rng, "lstm", T=4, B=5, I=3, H=6, ragged=False, dtype=dtype)
        case.x[1, 2, 0] = np.nan
        case.h0[:, 4] = np.uint32(0xFFFFFFFF).view("f4")  # the bits that stand for "not there yet"
        found = case.run(device_on("tensor"), backward=False)
        assert np.isnan(found["y"][1:, 2, :6]).all() and np.isnan(found["h_n"][:, 2]).all()
        assert np.isnan(found["y"][:, 4]).all()
        assert np.isfinite(np.delete(found["y"], [2, 4], axis=1)).all()
        case = random_case(rng, "rnn_relu", T=3, B=2, I=3, H=6, D=1, ragged=False, dtype=dtype)
        case.h0[0, 1, 3] = np.inf  # 0 * inf and the sum of both infinities are NaN
        case.weights[0][1][:] = np.abs(case.weights[0][1]) + 1
        found = case.run(device_on("tensor"), backward=False)
        assert not np.isfinite(found["y"][:, 1]).any()
        assert np.isfinite(found["y"][:, 0]).all()


def test_float64_takes_another_rung(rng: np.random.Generator) -> None:
    case = random_case(rng, "gru", T=3, B=2, I=3, H=6)
    device = device_on("tensor")
    assert_close(case.run(device), case.run(mr.devices.get("cpu")), 1e-12)
    assert device.rungs == {"cluster forward": 1, "cluster backward": 1}


# ---- three products of TF32 for one of float32


def truncated(x: np.ndarray) -> np.ndarray:
    """Toward zero, to float32: what a tensor core does with a sum, as far as is known."""
    near = x.astype(np.float32)
    return np.where(np.abs(near.astype("f8")) > np.abs(x), np.nextafter(near, np.float32(0)), near).astype(np.float32)


def three_products(a: np.ndarray, b: np.ndarray, warps: int = 8) -> np.ndarray:
    """a @ b as `cudnn_rnn/fragments.cuh` computes it, with a tensor core that drops digits: pieces of 16, by warps."""
    halves = [(high := to_tf32(x), to_tf32(x - high)) for x in (a, b)]
    (high_a, low_a), (high_b, low_b) = halves
    total = np.zeros((a.shape[0], b.shape[1]), np.float32)
    each = a.shape[1] // warps
    for warp in range(warps):
        part = np.zeros_like(total)
        for first in range(warp * each, (warp + 1) * each, 16):
            parts = [slice(first, first + 8), slice(first + 8, first + 16)]
            sum_ = np.zeros_like(total)
            for k in parts:
                for x, y in ((low_a, high_b), (high_a, low_b)):
                    sum_ = truncated(sum_.astype("f8") + x[:, k].astype("f8") @ y[k])
            for k in parts:
                sum_ = truncated(sum_.astype("f8") + high_a[:, k].astype("f8") @ high_b[k])
            part += sum_
        total += part
    return total


def one_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a @ b as `warp_product.cuh` computes it in float32: 32 lanes, then pairs of lanes."""
    sums = np.zeros((32, a.shape[0], b.shape[1]), np.float32)
    for k in range(a.shape[1]):
        lane = k // 4 % 32
        sums[lane] = (sums[lane].astype("f8") + np.outer(a[:, k].astype("f8"), b[k])).astype(np.float32)  # fma
    while len(sums) > 1:
        sums = sums[: len(sums) // 2] + sums[len(sums) // 2 :]
    return sums[0]


@pytest.mark.parametrize("K", [128, 512, 1024])
def test_three_products_of_tf32_are_as_good_as_one_of_float32(K: int, rng: np.random.Generator) -> None:
    """At most four times the error of plain float32, the largest and the mean, though a tensor core does not round."""
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((48, K), (K, 16)))
    exact = a.astype("f8") @ b.astype("f8")
    size = np.abs(a).astype("f8") @ np.abs(b)
    ours, plain, tf32 = (np.abs(found - exact) / size for found in (
        three_products(a, b), one_product(a, b), to_tf32(a).astype("f8") @ to_tf32(b)))  # fmt: skip
    print(f"K {K}: in 2^-24: {2**24 * ours.max():.2f} {2**24 * ours.mean():.2f}, float32 {2**24 * plain.max():.2f} "
          f"{2**24 * plain.mean():.2f}, TF32 {2**24 * tf32.max():.0f} {2**24 * tf32.mean():.0f}")  # fmt: skip
    assert ours.max() <= 4 * plain.max() and ours.mean() <= 4 * plain.mean()
    assert tf32.mean() > 100 * plain.mean()


def test_a_layer_of_three_products_is_as_good_as_one_of_the_persistent_rung(rng: np.random.Generator) -> None:
    case = random_case(rng, "lstm", T=6, B=8, I=3, H=64, D=1, dtype="f4", ragged=False)
    exact = in_float64(case)
    found = {rung: case.run(device_on(rung)) for rung in ("tensor", "persistent")}
    for name in ("y", "dx", "dh0", "dR[0]"):
        ours, plain = (np.abs(found[rung][name] - exact[name]) for rung in ("tensor", "persistent"))
        assert ours.mean() <= 4 * plain.mean() and ours.max() <= 4 * plain.max(), name


# ---- when it cannot be, and kernels with a fault, which the tests above would not let pass


def test_blocks_that_do_not_fit_at_once_take_the_lowest_rung(rng: np.random.Generator) -> None:
    case = random_case(rng, "lstm", T=3, B=2, I=3, H=40, D=1, dtype="f2")
    device = device_on("tensor", SimOptions(resident=3))
    found = case.run(device)
    assert_close(found, case.run(mr.devices.get("cpu")), 8e-3)
    assert not {rung.split()[0] for rung in device.rungs} & {"tensor", "persistent"}


class OneBlockLess:
    """A kernel of whose grid the last block is left out."""

    def __init__(self, kernel: Any) -> None:
        self.kernel, self.name, self.max_resident_blocks = kernel, kernel.name, kernel.max_resident_blocks

    def __call__(self, *args: Any, grid: Any, block: Any, shared: int) -> None:
        self.kernel(*args, grid=(grid[0] - 1, *grid[1:]), block=block, shared=shared)


@pytest.mark.parametrize("backward", [False, True])
def test_a_missing_block_is_an_error_and_no_hang(
    backward: bool, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel_of, file = one_launch.kernel_of, f"cudnn_rnn/tensor{'_grad' if backward else ''}.cu"
    monkeypatch.setattr(
        one_launch,
        "kernel_of",
        lambda device, name, *more: (OneBlockLess if name == file else lambda k: k)(kernel_of(device, name, *more)),
    )
    case = random_case(rng, "gru", T=4, B=2, I=3, H=8, dtype="f4")
    with pytest.raises(
        LaunchError, match=r"gave up waiting for the messages of step [12] .*\n.*\n.*MINIRNN_CUDNN_RNN=steps"
    ):
        case.run(device_on("tensor", CHECKS[1]))


def test_control_without_waiting_the_results_are_wrong(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = random_case(rng, "lstm", T=4, B=3, I=3, H=8, dtype="f4")
    expected = case.run(mr.devices.get("cpu"))
    device = device_on("tensor", SimOptions(seed=1))
    with_fault(monkeypatch, ("!found.has(sign) && !watch.lost", "false"))
    found = case.run(device, backward=False)
    assert planted() == []
    assert not np.allclose(found["y"], expected["y"], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("which", [0, 1])
def test_control_without_a_barrier_check_mode_objects(
    backward: bool, which: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = "vectors" if backward else "states"
    product = f"            weights.multiply({states}, parts);\n"
    before, after = "            if (__syncthreads_or(watch.lost)) return;\n", "            __syncthreads();\n"
    with_fault(monkeypatch, (before + product, product) if which == 0 else (product + after, product))
    case = random_case(rng, "lstm", T=4, B=3, I=3, H=70, D=1, dtype="f4")
    with pytest.raises(LaunchError, match="race|divergent|never written"):
        case.run(device_on("tensor", CHECKS[0]))
    assert planted() == []


def test_control_with_one_slot_a_starved_block_misses_its_share(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_fault(monkeypatch, ("#define SLOTS 2  // of shares", "#define SLOTS 1  // of shares"))
    case = random_case(rng, "lstm", T=8, B=2, I=3, H=16, D=1, ragged=False, dtype="f4")
    outcomes = []
    for seed in range(6):
        try:
            case.run(device_on("tensor", SimOptions(seed=seed)))
            outcomes.append("passed")
        except LaunchError as error:
            assert "gave up waiting" in str(error)
            outcomes.append("gave up")
    assert planted() == []
    assert "gave up" in outcomes, outcomes
