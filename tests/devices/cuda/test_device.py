"""The CUDA devices beyond the contract: views, layouts, clear errors, memory, one compilation per kernel."""

import gc
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.base import Weights
from minirnn.devices.cuda.array import CudaArray, c_strides, is_contiguous
from minirnn.devices.cuda.launch.primitives import products
from minirnn.devices.cuda.launch.primitives.elementwise import broadcast, views
from minirnn.devices.cuda.launch.primitives.reduce import threads_for
from minirnn.devices.cuda.launch.sources import C_TYPES, accumulator, options, text
from minirnn.devices.cuda.launch.threads import cells
from minirnn.ops.gru_block.cells import gru_block
from minirnn.ops.lstm_block.cells import lstm_block


@pytest.fixture
def on(cuda_device: Any) -> Any:
    return cuda_device


def test_views_share_memory_and_nothing_is_launched_for_them(on: Any) -> None:
    a = on.asarray(np.arange(24.0).reshape(2, 3, 4))
    before = on.driver.launches
    seen = [
        on.transpose(a, (2, 0, 1)),
        on.reshape(a, (6, 4)),
        on.broadcast_to(a, (5, 2, 3, 4)),
        on.getitem(a, (1, slice(None, None, -2), None, Ellipsis)),
        on.reshape(on.getitem(on.reshape(a, (24,)), (slice(3, 13),)), (2, 5)),
    ]
    assert on.driver.launches == before
    assert all(v.buffer is a.buffer for v in seen)
    assert seen[0].element_strides == (1, 12, 4) and seen[0].strides == (8, 96, 32)
    assert seen[2].element_strides == (0, 12, 4, 1)
    assert seen[3].element_strides[0] == -8 and seen[3].ptr == a.ptr + 8 * (12 + 8)
    assert not on.transpose(a, (2, 0, 1)).contiguous and on.reshape(a, (6, 4)).contiguous


def test_contiguity_does_not_depend_on_axes_of_length_one_or_zero() -> None:
    assert c_strides((2, 3, 4)) == (12, 4, 1)
    assert is_contiguous((1, 3), (77, 1)) and is_contiguous((0, 3), (5, 9)) and is_contiguous((), ())
    assert not is_contiguous((2, 3), (1, 2)) and not is_contiguous((2,), (-1,))


def test_views_merge_axes_that_lie_behind_each_other_in_every_array() -> None:
    def axes(*arguments: Any) -> tuple[Any, ...]:
        found = views(*arguments)
        n = int(found["axes"])
        return int(found["size"]), tuple(found["shape"][:n]), tuple(tuple(s[:n]) for s in found["stride"])

    assert axes((2, 3, 4), (12, 4, 1), (12, 4, 1)) == (24, (24,), ((1,), (1,), (0,), (0,)))
    assert axes((2, 3, 4), (12, 4, 1), (0, 4, 1)) == (24, (2, 12), ((12, 1), (0, 1), (0, 0), (0, 0)))
    assert axes((2, 3), (3, 1), (1, 2))[1] == (2, 3)
    assert axes((1, 1), (1, 1), (1, 1)) == (1, (1,), ((0,), (0,), (0,), (0,)))
    shape, found = broadcast(((2, 1, 4), (4, 4, 1)), ((3, 1), (1, 1)))
    assert shape == (2, 3, 4) and int(found["axes"]) == 3


def test_an_array_of_too_many_separate_axes_is_refused_by_its_shape(on: Any) -> None:
    turned = on.transpose(on.full((2,) * 9, 1, np.float32), tuple(reversed(range(9))))
    with pytest.raises(ValueError, match=r"too many axes.*\n  expected at most 8, got 9"):
        on.negative(turned)
    assert on.negative(on.full((2,) * 9, 1, np.float32)).shape == (2,) * 9


def test_one_block_a_row_of_cells_and_never_more_than_256_threads() -> None:
    for B, H in ((1, 1), (3, 5), (7, 64), (2, 300), (70_000, 256), (100_000, 1000)):
        threads = cells(B, H)
        (blocks_of_rows, blocks_of_units, _), (units, rows, _) = threads["grid"], threads["block"]
        assert units * rows <= 256 and blocks_of_units <= 65535
        assert (blocks_of_rows - 1) * rows < B <= blocks_of_rows * rows
        assert (blocks_of_units - 1) * units < H <= blocks_of_units * units


@pytest.mark.parametrize("operands", [1, 2, 3, 31, 32, 65, 100, 1000, 10**6])
def test_a_reduction_starts_a_power_of_two_of_threads_and_no_idle_ones(operands: int) -> None:
    threads = threads_for(operands)
    assert threads & (threads - 1) == 0 and 1 <= threads <= min(256, operands)


def test_host_arrays_and_arrays_of_other_devices_are_refused_with_what_to_do(on: Any) -> None:
    a = on.asarray(np.ones(3, np.float32))
    with pytest.raises(TypeError, match=r"numpy.ndarray in host memory\n  expected an array on .*\n  copy it there"):
        on.add(a, np.ones(3, np.float32))
    with pytest.raises(TypeError, match="in host memory"):
        on.matmul(np.ones((2, 3)), a)
    other = CudaArray(object(), a.buffer, (3,), a.dtype)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"got an array on .*\n  expected one on"):
        on.add(a, other)
    with pytest.raises(TypeError, match=r"needed\n  expected a NumPy array\n  copy it to the host first"):
        np.add(np.ones(3), np.asarray(a))
    with pytest.raises(TypeError, match="in host memory"):
        np.ones(3, np.float32) + a
    with pytest.raises(ValueError, match="different devices"):
        mr.tensor([1.0], device=on) + mr.tensor([1.0], device="cpu")


def test_dtypes_that_no_kernel_has_are_refused(on: Any) -> None:
    for dtype in (np.complex64, np.longdouble, "datetime64[s]", "S3"):
        with pytest.raises(TypeError, match=r"dtype .*\n  expected one of bool, int8"):
            on.asarray(np.zeros(3, dtype))
    swapped = np.arange(3, dtype=">f4")
    np.testing.assert_array_equal(on.to_numpy(on.asarray(swapped)), [0, 1, 2])


def test_memory_comes_back_when_arrays_die(on: Any) -> None:
    if not on.driver.limits.simulated:
        pytest.skip("counts the simulator's memory")
    memory = on.driver.memory
    gc.collect()
    memory.empty_pool()
    before = memory.held()
    arrays = [on.full((1000,), k, np.float64) for k in range(50)]
    assert memory.held() - before >= 50 * 8000
    total = on.sum(on.concatenate(arrays, 0), None, False)
    assert float(on.to_numpy(total)) == 1000 * sum(range(50))
    del arrays, total
    gc.collect()
    memory.empty_pool()
    assert memory.held() - before < 8000, "constants may stay, arrays may not"


def test_each_kernel_is_compiled_once(on: Any) -> None:
    f32 = np.dtype(np.float32)
    first = on.kernel_of("primitives/arithmetic.cu", "add", f32)
    assert on.kernel_of("primitives/arithmetic.cu", "add", f32) is first
    assert on.driver.module(text("primitives/arithmetic.cu"), "primitives/arithmetic.cu", options(f32)).function("add")


def test_every_dtype_has_a_c_type_and_a_type_to_compute_in() -> None:
    for name in C_TYPES:
        wide = accumulator(np.dtype(name))
        assert wide.name in C_TYPES
        assert np.can_cast(np.dtype(name), wide) and wide.itemsize >= 4


def test_the_memory_of_a_gpu_is_offered_to_other_libraries_and_that_of_the_simulator_is_not(on: Any) -> None:
    a = on.transpose(on.asarray(np.arange(6, dtype=np.float32).reshape(2, 3)), (1, 0))
    if on.driver.limits.simulated:
        assert not hasattr(a, "__cuda_array_interface__")
        with pytest.raises(TypeError, match="simulator cannot read"):
            on.asarray(type("GPUArray", (), {"__cuda_array_interface__": {}})())
        return
    described = a.__cuda_array_interface__
    assert described["shape"] == (3, 2) and described["strides"] == (4, 12) and described["typestr"] == "<f4"
    np.testing.assert_array_equal(
        on.to_numpy(on.asarray(type("G", (), {"__cuda_array_interface__": described})())), on.to_numpy(a)
    )


def test_arrays_of_another_gpu_are_refused_in_one_sentence(on: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel of this GPU that reads them may fail, and end the context."""
    if on.driver.limits.simulated:
        pytest.skip("no GPU's memory is read")
    described = on.asarray(np.ones(3)).__cuda_array_interface__
    monkeypatch.setattr(on.driver, "gpu_of", lambda ptr: 1)
    with pytest.raises(ValueError, match=r"got a G in the memory of GPU 1\n  expected one in that of GPU 0\n  copy it"):
        on.asarray(type("G", (), {"__cuda_array_interface__": described})())


def test_products_of_integers_may_have_more_rows_and_more_matrices_than_a_grid(
    on: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(products, "MOST", 2)
    rng = np.random.default_rng(0)
    for a, b in (((5, 20, 3), (5, 3, 18)), ((3, 70, 2), (3, 2, 5)), ((1, 32, 4), (1, 4, 3))):
        left, right = rng.integers(-9, 9, a), rng.integers(-9, 9, b)
        np.testing.assert_array_equal(on.to_numpy(on.matmul(on.asarray(left), on.asarray(right))), left @ right)


def test_one_step_of_a_cell_has_a_launch_for_each_stage_and_its_products(on: Any) -> None:
    rng = np.random.default_rng(0)
    B, H = 3, 5
    draw = lambda *shape: on.asarray(rng.standard_normal(shape).astype(np.float32))  # noqa: E731
    for plan, U, launches in ((lstm_block.plan(), (), 1), (gru_block.plan(), (draw(H, H),), 3)):
        gates, states = draw(B, len(plan.gate_names) * H), [draw(B, H) for _ in range(plan.states)]
        before = on.driver.launches
        after, values = on.cell_step(gates, states, Weights(None, None, U=U), plan=plan)
        assert on.driver.launches - before == launches
        before = on.driver.launches
        on.cell_step_grad(states, after, values, after, Weights(None, None, U=U), plan=plan)
        assert on.driver.launches - before == launches
