"""mma.cuh in the simulator against NumPy, for the layout of every fragment; nvcc takes the same text.

The layouts stand here once more, as the PTX manual has them.

Tests `minirnn/devices/cuda/sim/include/cusim_mma.h` and
`minirnn/devices/cuda/kernels/mma.cuh`.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minirnn.devices.cuda.driver import LaunchError
from minirnn.devices.cuda.sim.driver import SimDriver
from minirnn.devices.cuda.sim.launch import SimModule
from minirnn.devices.cuda.sim.options import SimOptions
from tests.devices.cuda.sim.run import put, take
from tests.devices.cuda.test_nvcc import by_nvcc

SOURCE = (Path(__file__).parent / "mma.cu").read_text(encoding="utf-8")
ORDERS = [SimOptions(), SimOptions(check=True), SimOptions(check=True, seed=3, preempt=4)]
LANES = range(32)


@pytest.fixture(scope="module", params=ORDERS, ids=["fast", "check", "check, preempt"])
def module(request: pytest.FixtureRequest) -> SimModule:
    return SimDriver(request.param).module(SOURCE, "mma.cu")


def place_of_a(lane: int, i: int, depth: int) -> tuple[int, int]:
    """Row and column of element a_i of a lane: of 8 with two bytes each (depth 16), or of 4 (depth 8)."""
    group, thread = lane >> 2, lane % 4
    if depth == 16:
        row = group if i in (0, 1, 4, 5) else group + 8
        return row, thread * 2 + (i & 1) + (8 if i >= 4 else 0)
    return (group if i in (0, 2) else group + 8), thread + (4 if i >= 2 else 0)


def place_of_b(lane: int, i: int, depth: int) -> tuple[int, int]:
    group, thread = lane >> 2, lane % 4
    if depth == 16:
        return thread * 2 + (i & 1) + (8 if i >= 2 else 0), group
    return thread + 4 * i, group


def place_of_c(lane: int, i: int) -> tuple[int, int]:
    return (lane >> 2) + (8 if i >= 2 else 0), lane % 4 * 2 + (i & 1)


def bits_of(kind: str, x: np.ndarray) -> np.ndarray:
    """Numbers of that type, as unsigned integers."""
    if kind == "f16":
        return x.astype("f2").view("u2")
    bits = x.astype("f4").view("u4")
    return (bits >> 16).astype("u2") if kind == "bf16" else bits & ~np.uint32(0x1FFF)


def numbers_of(kind: str, bits: np.ndarray) -> np.ndarray:
    if kind == "f16":
        return bits.view("f2").astype("f8")
    wide = bits.astype("u4") << np.uint32(16) if kind == "bf16" else bits
    return wide.view("f4").astype("f8")


def fragments(bits: np.ndarray, place: Any, count: int, depth: int) -> np.ndarray:
    """What each lane holds of a matrix, packed in registers. (32, registers)"""
    own = np.array([[bits[place(lane, i, depth)] for i in range(count)] for lane in LANES])
    return own.astype("u2").view("u4") if bits.dtype == np.uint16 else own.astype("u4")


@pytest.mark.parametrize("kind, depth", [("f16", 16), ("bf16", 16), ("tf32", 8)])
def test_a_product_of_fragments(module: SimModule, kind: str, depth: int, rng: np.random.Generator) -> None:
    driver = module.driver
    a, b = bits_of(kind, rng.standard_normal((16, depth))), bits_of(kind, rng.standard_normal((depth, 8)))
    c = rng.standard_normal((16, 8)).astype("f4")
    own = np.array([[c[place_of_c(lane, i)] for i in range(4)] for lane in LANES])
    d = put(driver, own)
    count = 2 if depth == 16 else 1
    arguments = [fragments(a, place_of_a, 4 * count, depth), fragments(b, place_of_b, 2 * count, depth)]
    module.function(f"mma_{kind}_fragments")(*[put(driver, x) for x in arguments], d, grid=(1,), block=(32,))
    got, result = take(driver, d, (32, 4), "f4"), np.zeros((16, 8))
    for lane in LANES:
        for i in range(4):
            result[place_of_c(lane, i)] = got[lane, i]
    expected = numbers_of(kind, a) @ numbers_of(kind, b) + c
    np.testing.assert_array_equal(result.astype("f4"), expected.astype("f4"))


@pytest.mark.parametrize("kind, depth", [("f16", 16), ("bf16", 16), ("tf32", 8)])
def test_each_element_of_a_and_b_is_found(module: SimModule, kind: str, depth: int) -> None:
    """A one in A at (r, k) and a one in B at (k, c) give a one at (r, c) alone: for each k, and all r and c in turn."""
    driver, count = module.driver, 2 if depth == 16 else 1
    kernel = module.function(f"mma_{kind}_fragments")
    for k in range(depth):
        row, column = (5 * k + 3) % 16, (3 * k + 1) % 8
        a, b = np.zeros((16, depth)), np.zeros((depth, 8))
        a[row, k] = b[k, column] = 1
        registers = [
            fragments(bits_of(kind, a), place_of_a, 4 * count, depth),
            fragments(bits_of(kind, b), place_of_b, 2 * count, depth),
        ]
        d = put(driver, np.zeros((32, 4), "f4"))
        kernel(*[put(driver, x) for x in registers], d, grid=(1,), block=(32,))
        got = take(driver, d, (32, 4), "f4")
        found = [place_of_c(int(lane), int(i)) for lane, i in zip(*np.nonzero(got), strict=True)]
        assert found == [(row, column)] and got.sum() == 1


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_matrices_are_loaded(module: SimModule, count: int, transposed: bool, rng: np.random.Generator) -> None:
    x = rng.integers(0, 1 << 16, (count, 8, 8), dtype="u2")
    y = module.driver.alloc(32 * count * 4)
    module.function(f"load_{count}" + "_transposed" * transposed)(put(module.driver, x), y, grid=(1,), block=(32,))
    got = take(module.driver, y, (32, count), "u4").view("u2").reshape(32, count, 2)
    for lane in LANES:
        group, thread = lane // 4, lane % 4
        for k in range(count):
            matrix = x[k].T if transposed else x[k]
            np.testing.assert_array_equal(got[lane, k], matrix[group, 2 * thread : 2 * thread + 2])


def test_a_product_out_of_shared_memory(module: SimModule, rng: np.random.Generator) -> None:
    a, b = rng.standard_normal((16, 48)).astype("f2"), rng.standard_normal((48, 8)).astype("f2")
    c = module.driver.alloc(16 * 8 * 4)
    arguments = put(module.driver, a), put(module.driver, b), c, np.int32(48)
    module.function("product")(*arguments, grid=(1,), block=(32,))
    got = take(module.driver, c, (16, 8), "f4")
    np.testing.assert_allclose(got, a.astype("f8") @ b.astype("f8"), rtol=1e-5, atol=1e-5)


def test_rounding_to_tf32_is_to_nearest_and_ties_away(module: SimModule) -> None:
    one = np.float32(1).view("u4")
    bits = one + np.arange(32, dtype="u4") * np.uint32(0x400)
    y = module.driver.alloc(128)
    module.function("rounded")(put(module.driver, bits.view("f4")), y, grid=(1,), block=(32,))
    units = np.floor(np.arange(32) * 0x400 / 0x2000 + 0.5).astype("u4")
    np.testing.assert_array_equal(take(module.driver, y, 32, "u4"), one + units * np.uint32(0x2000))


@pytest.mark.parametrize("options", ORDERS[1:], ids=["check", "check, preempt"])
def test_a_missing_barrier_before_a_load_is_found(options: SimOptions) -> None:
    driver = SimDriver(options)
    kernel = driver.module(SOURCE, "mma.cu", ("-DMARK=",)).function("product")
    arguments = [put(driver, np.zeros(256, "f2")), put(driver, np.zeros(128, "f2")), driver.alloc(512), np.int32(16)]
    with pytest.raises(LaunchError, match=r"race: .* of shared memory `a, b`|never written") as error:
        kernel(*arguments, grid=(1,), block=(32,))
    assert "mma.cu:" in str(error.value)


@pytest.mark.parametrize(
    "body, block, says",
    [
        ("mma_f16(d, a, b);", 20, r"mma_f16 at .*:\d+ needs all 32 lanes of a warp, of which 20 are here"),
        ("if (threadIdx.x < 16) mma_f16(d, a, b);", 32, r"mma_f16 at .*:\d+ needs all 32 lanes of a warp, of which 16"),
        (
            "if (threadIdx.x < 16) mma_f16(d, a, b);\nelse mma_bf16(d, a, b);",
            32,
            r"divergent warp operation: .*mma_f16|divergent warp operation",
        ),
        ("load_matrices(a, s + 1);", 32, r"load_matrices: a row that begins at no multiple of 16 bytes"),
    ],
)
def test_wrong_calls_are_named(body: str, block: int, says: str) -> None:
    source = f"""#include "mma.cuh"
    extern "C" __global__ void k(float *y) {{
        __shared__ __align__(16) float s[64];
        unsigned a[4] = {{}}, b[2] = {{}};
        float d[4] = {{}};
        for (int k = threadIdx.x; k < 64; k += blockDim.x) s[k] = 0;
        __syncthreads();
        {body}
        y[threadIdx.x] = d[0] + a[0];
    }}"""
    for options in ORDERS:
        driver = SimDriver(options)
        with pytest.raises(LaunchError, match=says):
            driver.module(source, "wrong.cu").function("k")(put(driver, np.zeros(32, "f4")), grid=(1,), block=(block,))


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("nvcc"), reason="no nvcc on the PATH")
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_nvcc_takes_the_same_text(arch: str) -> None:
    status, said = by_nvcc(SOURCE, "mma.cu", (), arch)
    assert status == 0, said
