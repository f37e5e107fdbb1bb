"""Messages between blocks: numbers arrive correctly, and old ones are not mistaken for new ones.

Tests `minirnn/devices/cuda/kernels/grid.cuh`.
"""

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.cuda.launch.sources import options
from minirnn.devices.cuda.sim.options import SimOptions
from tests.devices.cuda.launch.sequence.ladder_cases import (
    CHECKS,
    assert_close,
    device_on,
    in_float64,
    random_case,
    tiny_layouts,
)
from tests.slow import slow_unless

pytestmark = pytest.mark.skipif(
    mr.devices.available()["cuda-sim"] is not None, reason=f"cuda-sim: {mr.devices.available()['cuda-sim']}"
)

SENT_AND_LOOKED_AT = """
#include "grid.cuh"
extern "C" __global__ void words(const real *x, real *memory, real *y) {
    send(memory + threadIdx.x, x[threadIdx.x]);
    const Words<1> found = look((const Words<1> *)memory + threadIdx.x);
    y[threadIdx.x] = found.has(1) ? ((const real *)found.word)[0] : real(-1);
}
extern "C" __global__ void phased(const real *x, Phased *memory, real *y, int phase, int *was_there) {
    const Phased before = look(memory + threadIdx.x);
    was_there[threadIdx.x] = before.has(phase);
    send(memory + threadIdx.x, phase, x[threadIdx.x]);
    const Phased found = look(memory + threadIdx.x);
    y[threadIdx.x] = found.has(phase) && !found.has(1 - phase) ? found.number() : real(-1);
}
"""


def specials(dtype: str) -> np.ndarray:
    """Zeros, infinities, NaN of several bits, the smallest and largest numbers, and random ones: 64 numbers."""
    bits = np.dtype(f"u{np.dtype(dtype).itemsize}").type
    all_set = ~bits(0)
    info = np.finfo(dtype)
    infinity = np.array([np.inf], dtype).view(bits)[0]
    of_bits = np.array([0, 1, 2, 3, all_set, all_set >> bits(1), all_set - bits(1), infinity + bits(1)], bits).view(
        dtype
    )
    numbers = np.array([-0.0, np.inf, -np.inf, info.max, info.min, info.tiny, 1, -1, 1 + info.eps, -1 / 3], dtype)
    rest = np.random.default_rng(0).standard_normal(64 - 18).astype(dtype)
    return np.concatenate([of_bits, numbers, rest])


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_every_number_arrives_and_is_never_taken_for_one_that_was_not_sent(dtype: str) -> None:
    device = device_on("steps", SimOptions())
    module = device.driver.module(SENT_AND_LOOKED_AT, "words", options(np.dtype(dtype)))
    x = specials(dtype)
    bits = np.dtype(f"u{x.itemsize}")
    memory, result = device.empty(x.shape, x.dtype), device.empty(x.shape, x.dtype)

    device.driver.memset(memory.ptr, 0xFF, memory.nbytes)
    module.function("words")(device.asarray(x), memory, result, grid=(1,), block=(x.size,))
    found = device.to_numpy(result)
    np.testing.assert_array_equal(found, x)  # NaN equals NaN
    assert (np.signbit(found) == np.signbit(x))[~np.isnan(x)].all()

    # Several turns, because the memory is first cleared and later holds the words of the previous turn, which have the
    # other phase.
    device.driver.memset(memory.ptr, 0xFF, memory.nbytes)
    flags = device.empty(x.shape, np.int32)
    for turn in range(4):
        x = np.roll(x, turn)
        module.function("phased")(
            device.asarray(x), memory, result, np.int32(turn % 2), flags, grid=(1,), block=(x.size,)
        )
        found, was_there = device.to_numpy(result), device.to_numpy(flags)
        assert not was_there.any()
        np.testing.assert_array_equal(np.isnan(found), np.isnan(x))
        exact = ~np.isnan(x) & (x.view(bits) % 2 == 0)
        np.testing.assert_array_equal(found.view(bits)[exact], x.view(bits)[exact])
        rounded = ~np.isnan(x) & ~exact
        nearest = x.view(bits)[rounded] + np.where(x.view(bits)[rounded] % 4 == 3, 1, -1).astype(bits)
        np.testing.assert_array_equal(found.view(bits)[rounded], nearest)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, "all bits"])
def test_gradients_that_are_no_numbers_arrive_and_stay_in_their_row(
    bad: float | str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny_layouts(monkeypatch)
    case = random_case(rng, "lstm", T=5, B=4, I=3, H=9, dtype="f4", ragged=False)
    expected = case.run(device_on("steps"))
    case.dy[4, 2] = np.uint32(0xFFFFFFFF).view("f4") if bad == "all bits" else bad
    with np.errstate(invalid="ignore"):  # in the products around the kernel
        found, spoiled = case.run(device_on("persistent")), case.run(device_on("steps"))
    for name in ("dx", "dh0"):
        axis = found[name].ndim - 2
        np.testing.assert_array_equal(np.isfinite(found[name]), np.isfinite(spoiled[name]), err_msg=name)
        assert not np.isfinite(np.take(found[name], 2, axis)).all()
        others = [np.delete(a[name], 2, axis) for a in (found, expected)]
        np.testing.assert_allclose(*others, rtol=3e-5, atol=3e-5, err_msg=name)


@pytest.mark.slow
def test_a_share_of_one_bit_less_costs_no_accuracy(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is as exact as the lowest rung, which has no shares."""
    tiny_layouts(monkeypatch, slices=8)
    case = random_case(rng, "lstm", T=12, B=8, I=3, H=48, D=1, dtype="f4", ragged=False)
    exact, found, plain = in_float64(case), case.run(device_on("persistent")), case.run(device_on("steps"))
    for name in ("dx", "dh0", "dc0", "dR[0]"):
        ours, theirs = (np.abs(a[name] - exact[name]) for a in (found, plain))
        print(f"{name}: mean {ours.mean() / theirs.mean():.2f}, largest {ours.max() / theirs.max():.2f} times")
        assert ours.mean() <= 2 * theirs.mean() and ours.max() <= 3 * theirs.max(), name


ORDERS = [*CHECKS, *(SimOptions(check=True, seed=seed, preempt=7 * seed) for seed in (3, 4))]


@pytest.mark.parametrize("options", slow_unless(3, ORDERS), ids=lambda o: f"seed{o.seed}")
@pytest.mark.parametrize("mode", slow_unless(["gru"], ["gru", "rnn_tanh"]))
def test_slots_are_used_again_and_again_in_any_order_of_the_threads(
    mode: str, options: SimOptions, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A share from four steps earlier has the same phase as the awaited one."""
    tiny_layouts(monkeypatch, slices=4)
    case = random_case(rng, mode, T=13, B=3, I=2, H=13, D=1)
    device = device_on("persistent", options)
    for _ in range(2):  # another launch, in used memory
        assert_close(case.run(device), case.run(mr.devices.get("cpu")), 1e-11)


def test_a_recording_that_is_replayed_begins_with_cleared_memory(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each launch has other numbers. Their shares must not be mistaken for those of the previous launch."""
    tiny_layouts(monkeypatch)
    device = device_on("persistent", SimOptions())  # check mode does not reuse addresses
    device.recordings.enabled = True
    case = random_case(rng, "lstm", T=6, B=3, I=2, H=9, dtype="f4")
    for _ in range(6):
        case.x[:], case.dy[:] = (rng.standard_normal(a.shape).astype("f4") for a in (case.x, case.dy))
        assert_close(case.run(device), case.run(mr.devices.get("cpu")), 1e-4)
    assert device.recordings.counts["replayed"] >= 4
