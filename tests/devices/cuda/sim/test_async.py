"""async.cuh in the simulator: copies, barriers that count, stores into other blocks; what is forgotten is found.

Tests `minirnn/devices/cuda/sim/include/cusim_async.h`, `minirnn/devices/cuda/sim/runtime/` and
`minirnn/devices/cuda/kernels/async.cuh`.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from minirnn.devices.cuda.driver import LaunchError
from minirnn.devices.cuda.sim.driver import SimDriver
from minirnn.devices.cuda.sim.launch import SimModule
from minirnn.devices.cuda.sim.options import SimOptions
from tests.devices.cuda.sim.run import put, take
from tests.devices.cuda.test_nvcc import by_nvcc

SOURCE = (Path(__file__).parent / "async.cu").read_text(encoding="utf-8")
CHECKED = [SimOptions(check=True), SimOptions(check=True, seed=3), SimOptions(check=True, seed=5, preempt=4)]
NAMES = ["fast", "fast, seed 2", "check", "check, seed 3", "check, preempt"]
ORDERS = [SimOptions(), SimOptions(seed=2), *CHECKED]


@pytest.fixture(scope="module", params=ORDERS, ids=NAMES)
def module(request: pytest.FixtureRequest) -> SimModule:
    return SimDriver(request.param).module(SOURCE, "async.cu")


def pipeline(module: SimModule, x: np.ndarray) -> np.ndarray:
    y = module.driver.alloc(x.nbytes)
    module.function("pipeline")(put(module.driver, x), y, np.int32(len(x)), grid=(1,), block=(64,))
    return take(module.driver, y, x.shape, "f4")


def test_copies_go_on_while_the_kernel_computes(module: SimModule, rng: np.random.Generator) -> None:
    x = rng.standard_normal((5, 64)).astype("f4")
    np.testing.assert_array_equal(pipeline(module, x), x + x[:, ::-1])


def test_copies_of_8_and_16_bytes(module: SimModule, rng: np.random.Generator) -> None:
    x, u, driver = rng.standard_normal((32, 4)).astype("f4"), rng.standard_normal(32), module.driver
    y, v = driver.alloc(x.nbytes), driver.alloc(u.nbytes)
    module.function("wide")(put(driver, x), y, put(driver, u), v, grid=(1,), block=(32,))
    np.testing.assert_array_equal(take(driver, y, (32, 4), "f4"), x[::-1])
    np.testing.assert_array_equal(take(driver, v, 32, "f8"), u[::-1])


@pytest.mark.parametrize("missing", ["WAIT", "SYNC"])
def test_a_copy_that_is_not_waited_for_is_found(missing: str) -> None:
    for options in CHECKED:
        module = SimDriver(options).module(SOURCE, "async.cu", (f"-D{missing}=",))
        with pytest.raises(LaunchError, match=r"race: .* of shared memory `tile`|never written.*`tile`"):
            pipeline(module, np.zeros((5, 64), "f4"))
    wrong = SimDriver(SimOptions()).module(SOURCE, "async.cu", ("-DWAIT=",))
    assert np.isnan(pipeline(wrong, np.zeros((5, 64), "f4"))).any()  # in fast mode, the result tells


def produce(module: SimModule, x: np.ndarray) -> np.ndarray:
    y = module.driver.alloc(x.nbytes)
    module.function("producer")(put(module.driver, x), y, np.int32(len(x)), grid=(1,), block=(64,))
    return take(module.driver, y, x.shape, "i4")


def test_a_warp_makes_and_another_one_uses(module: SimModule) -> None:
    x = np.arange(7 * 32, dtype="i4").reshape(7, 32)
    np.testing.assert_array_equal(produce(module, x), 10 * x[:, ::-1])


@pytest.mark.parametrize("missing", ["MEET", "INIT"])
def test_a_barrier_that_is_not_waited_for_or_not_made_in_time_is_found(missing: str) -> None:
    for options in CHECKED:
        module = SimDriver(options).module(SOURCE, "async.cu", (f"-D{missing}=",))
        with pytest.raises(LaunchError, match=r"race: |never written|has not made|an arrival too many|deadlock"):
            produce(module, np.zeros((7, 32), "i4"))


def ring(module: SimModule, steps: int) -> np.ndarray:
    y = module.driver.alloc(8 * 32 * 4)
    module.function("ring")(y, np.int32(steps), grid=(8,), block=(32,))
    return take(module.driver, y, (2, 4, 32), "i4")


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_blocks_store_into_each_other_without_a_barrier_of_the_cluster(module: SimModule, steps: int) -> None:
    own = (100 * np.arange(8)[:, None] + np.arange(32)).reshape(2, 4, 32)
    np.testing.assert_array_equal(ring(module, steps), np.roll(own, steps, axis=1) + steps)


def test_a_store_that_is_not_waited_for_is_found() -> None:
    for options in CHECKED:
        module = SimDriver(options).module(SOURCE, "async.cu", ("-DARRIVED=",))
        with pytest.raises(
            LaunchError, match=r"race: .* of shared memory `hand`|never written|nobody expects|too many"
        ):
            ring(module, 5)


def test_stores_of_8_and_16_bytes(module: SimModule) -> None:
    y, z = module.driver.alloc(16), module.driver.alloc(32)
    module.function("stores")(y, z, grid=(2,), block=(32,))
    np.testing.assert_array_equal(take(module.driver, y, 2, "f8"), [2.5, 1.5])
    np.testing.assert_array_equal(take(module.driver, z, (2, 4), "f4"), [[1, 2, 3, 4], [0, 2, 3, 4]])


@pytest.mark.parametrize(
    "body, says",
    [
        ("copy_async<8>(s + 1, x);", r"copy_async<8> of addresses that are no multiples of 8 bytes"),
        ("copy_async<4>(x, x);", r"copy_async to an address that is not in shared memory"),
        ("meeting_init(&m, 1); meeting_arrive(&m); meeting_arrive(&m, 0); meeting_init(&m, 0);", r"meeting_init for 0"),
        ("s[0] = s[1] = 0; meeting_arrive((Meeting *)s);", r"a Meeting that meeting_init has not made"),
        ("meeting_init(&m, 1); meeting_wait(&m, 0);", r"deadlock"),
        (
            "meeting_init(&m, 1); meeting_expect(&m, 4); meeting_arrive(&m);",
            r"an arrival too many: all 1 of this phase",
        ),
    ],
)
def test_wrong_calls_are_named(body: str, says: str) -> None:
    source = f"""#include "async.cuh"
    extern "C" __global__ void k(float *x) {{
        __shared__ __align__(16) float s[64];
        __shared__ Meeting m;
        {body}
    }}"""
    for options in (SimOptions(watchdog_ms=300), SimOptions(check=True, watchdog_ms=300)):
        driver = SimDriver(options)
        with pytest.raises(LaunchError, match=says):
            driver.module(source, "wrong.cu").function("k")(put(driver, np.zeros(32, "f4")), grid=(1,), block=(1,))


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("nvcc"), reason="no nvcc on the PATH")
def test_nvcc_takes_the_same_text() -> None:
    status, said = by_nvcc(SOURCE, "async.cu", (), "sm_90")
    assert status == 0, said
