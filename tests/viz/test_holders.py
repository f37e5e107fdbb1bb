"""Who holds which weight: what is drawn is what the kernels do, as the simulator runs them."""

from __future__ import annotations

import numpy as np
import pytest

import minirnn as mr
from minirnn import viz
from minirnn.devices.cuda.sim.driver import SimDriver
from minirnn.devices.cuda.sim.options import SimOptions

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
@pytest.mark.parametrize(("dtype", "itemsize", "chunks"), [("float", 4, 1), ("float", 4, 2), ("double", 8, 2)])
def test_a_lane_keeps_what_the_kernels_give_to_it(dtype: str, itemsize: int, chunks: int) -> None:
    """`Weights` of warp_product.cuh, which all upper rungs keep R with, is asked which element lies where."""
    H, gates, units = chunks * 512 // itemsize - 5, 3, 2
    text = """#include "warp_product.cuh"
constexpr int N = 6;
extern "C" __global__ void k(int *held) {
    Weights<N> weights;
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

    data = viz.weight_holders("persistent", H, gates=gates, warps=2, units=units, itemsize=itemsize).data
    of_first = (data["block"] == 0) & (data["warp"] == 0)
    rows = np.flatnonzero(of_first.any(axis=1))
    assert len(rows) == N
    for n, (unit, gate) in enumerate((u, g) for u in range(units) for g in range(gates)):
        row = gate * H + unit
        assert row in rows
        for k in range(H):
            assert held[data["lane"][row, k], data["register"][row, k]] == 1000 * n + k


def test_every_unit_has_one_warp_and_all_its_gates_lie_there() -> None:
    data = viz.weight_holders("persistent", 20, gates=4, warps=3, units=2).data
    warp = data["block"] * 3 + data["warp"]
    assert (warp == warp[:, :1]).all()
    by_gate = warp[:, 0].reshape(4, 20)
    assert (by_gate == by_gate[0]).all()
    np.testing.assert_array_equal(by_gate[0], np.arange(20) // 2)
    # No two elements share a place.
    places = np.stack([warp, data["lane"], data["register"]], axis=-1).reshape(-1, 3)
    assert len(np.unique(places, axis=0)) == len(places)


def test_in_a_plain_product_a_thread_reads_a_row_and_keeps_nothing() -> None:
    picture = viz.weight_holders("plain", 48, gates=4, warps=2)
    data = picture.data
    assert (data["register"] == -1).all()
    np.testing.assert_array_equal(
        (data["block"] * 2 + data["warp"]) * 32 + data["lane"], np.arange(192)[:, None] + np.zeros(48)
    )  # noqa: E501
    assert "read at every step" in picture.ax[1].get_title()
    np.testing.assert_array_equal(picture.artists["blocks"].get_array(), data["block"])


@pytest.mark.parametrize("kind", ["f16", "tf32"])
def test_fragments_cover_each_matrix_once(kind: str) -> None:
    data = viz.mma_fragments(kind).data
    for name, registers in (("A", 4), ("B", 2), ("D", 4)):
        lane, register = data[f"{name} lane"], data[f"{name} register"]
        each = 2 if kind == "f16" and name != "D" else 1
        pairs, counts = np.unique(np.stack([lane, register], axis=-1).reshape(-1, 2), axis=0, return_counts=True)
        assert len(pairs) == 32 * registers
        assert (counts == each).all()


@needs_simulator
@pytest.mark.parametrize("kind", ["f16", "tf32"])
def test_a_product_of_fragments_dealt_out_as_drawn_is_the_product(kind: str, rng: np.random.Generator) -> None:
    data = viz.mma_fragments(kind).data
    K = 16 if kind == "f16" else 8
    numbers = np.float16 if kind == "f16" else np.float32
    A, B = (rng.integers(-8, 9, shape).astype(numbers) for shape in ((16, K), (K, 8)))

    def dealt(name: str, matrix: np.ndarray, registers: int) -> np.ndarray:
        held: dict[tuple[int, int], list[np.ndarray]] = {}
        order = matrix if name == "A" else matrix.T  # along K: the first of a pair is in the lower half
        lane, register = data[f"{name} lane"], data[f"{name} register"]
        lane, register = (lane, register) if name == "A" else (lane.T, register.T)
        for place in np.ndindex(order.shape):
            held.setdefault((lane[place], register[place]), []).append(order[place])
        flat = [held[lane, register] for lane in range(32) for register in range(registers)]
        return np.array(flat, numbers).view(np.uint32).reshape(32, registers)

    text = f"""#include "mma.cuh"
extern "C" __global__ void k(const unsigned *a, const unsigned *b, float *d) {{
    unsigned own_a[4], own_b[2];
    float own_d[4] = {{}};
    for (int k = 0; k < 4; k++) own_a[k] = a[4 * threadIdx.x + k];
    for (int k = 0; k < 2; k++) own_b[k] = b[2 * threadIdx.x + k];
    mma_{kind}(own_d, own_a, own_b);
    for (int k = 0; k < 4; k++) d[4 * threadIdx.x + k] = own_d[k];
}}
"""
    _, _, d = ran(text, (), [dealt("A", A, 4), dealt("B", B, 2), np.zeros((32, 4), np.float32)], 32)
    np.testing.assert_array_equal(d[data["D lane"], data["D register"]], A.astype("f4") @ B.astype("f4"))


def test_they_draw_where_they_are_told_and_every_cell_can_be_read() -> None:
    from matplotlib.figure import Figure

    axes = Figure().subplots(1, 2)
    assert (viz.weight_holders("plain", 8, axes=axes).ax == axes).all()
    three = Figure().subplots(1, 3)
    picture = viz.mma_fragments("tf32", axes=three)
    assert (picture.ax == three).all()
    assert [t.get_text() for t in three[0].texts][:5] == ["0:0", "1:0", "2:0", "3:0", "0:2"]
    for way in ("plain", "persistent"):
        mr.viz.weight_holders(way, 1, gates=1, warps=1, units=1)  # type: ignore[arg-type]
