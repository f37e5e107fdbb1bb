"""Pictures of the lane that holds each weight agree with the kernels, as the simulator runs them.

Tests `docs/drawings/weight_owners.py`.
"""

import numpy as np
import pytest

import minirnn as mr
from docs.drawings.weight_owners import weight_holders
from minirnn.devices.cuda.sim.driver import SimDriver
from minirnn.devices.cuda.sim.options import SimOptions
from tests.slow import slow_unless

needs_simulator = pytest.mark.skipif(bool(mr.devices.available()["cuda-sim"]), reason="no simulator here")


def ran(text: str, options: tuple[str, ...], arrays: list[np.ndarray], block: int, grid: int = 1) -> list[np.ndarray]:
    """The arrays after a launch in the simulator."""
    driver = SimDriver(SimOptions())
    kernel = driver.module(text, "holders.cu", options).function("k")
    memory = [driver.alloc(a.nbytes) for a in arrays]
    for m, a in zip(memory, arrays, strict=True):
        driver.h2d(m.ptr, a)
    kernel(*memory, grid=(grid,), block=(block,))
    for m, a in zip(memory, arrays, strict=True):
        driver.d2h(a, m.ptr)
    return arrays


@needs_simulator
@pytest.mark.parametrize(
    ("dtype", "itemsize", "chunks"),
    slow_unless([("double", 8, 2)], [("float", 4, 1), ("float", 4, 2), ("double", 8, 2)]),
)
def test_a_lane_keeps_what_the_kernels_give_to_it(dtype: str, itemsize: int, chunks: int) -> None:
    """`RowsOfWeights` of warp_product.cuh, with which the persistent kernels keep R, reports where each element is."""
    H, gates, units = chunks * 512 // itemsize - 5, 3, 2
    text = """#include "warp_product.cuh"
constexpr int N = 6;
extern "C" __global__ void k(int *held) {
    RowsOfWeights<N> weights;
    weights.load([&](int n, int k) { return real(1000 * n + k); });
    for (int chunk = 0; chunk < CHUNKS; chunk++)
        for (int n = 0; n < N; n++)
            for (int e = 0; e < WIDTH; e++)
                held[((threadIdx.x * CHUNKS + chunk) * N + n) * WIDTH + e] = (int)weights.kept[chunk][n].element[e];
}
"""
    N, width = gates * units, 16 // itemsize
    held = np.zeros((32, chunks * N * width), np.int32)
    options = (f"-DREAL={dtype}", f"-DACC={dtype}", f"-DCHUNKS={chunks}", "-DROWS=1")
    ran(text, options, [held], 32)

    data = weight_holders(H, gates=gates, warps=2, units=units, itemsize=itemsize).data
    of_first = (data["block"] == 0) & (data["warp"] == 0)
    rows = np.flatnonzero(of_first.any(axis=1))
    assert len(rows) == N
    for n, (unit, gate) in enumerate((u, g) for u in range(units) for g in range(gates)):
        row = gate * H + unit
        assert row in rows
        for k in range(H):
            assert held[data["lane"][row, k], data["register"][row, k]] == 1000 * n + k


def test_every_unit_has_one_warp_and_all_its_gates_lie_there() -> None:
    data = weight_holders(20, gates=4, warps=3, units=2).data
    warp = data["block"] * 3 + data["warp"]
    assert (warp == warp[:, :1]).all()
    by_gate = warp[:, 0].reshape(4, 20)
    assert (by_gate == by_gate[0]).all()
    np.testing.assert_array_equal(by_gate[0], np.arange(20) // 2)
    # No two elements share a place.
    places = np.stack([warp, data["lane"], data["register"]], axis=-1).reshape(-1, 3)
    assert len(np.unique(places, axis=0)) == len(places)
