"""Products over all steps on tensor cores: as good as float32, in every layout, and taken only where they may be.

Tests `minirnn/devices/cuda/launch/cudnn_rnn/products.py` and `minirnn/devices/cuda/kernels/cudnn_rnn/product.cu`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.cuda.array import CudaArray
from minirnn.devices.cuda.device import Cuda
from minirnn.devices.cuda.driver import CompileError
from minirnn.devices.cuda.launch.cudnn_rnn import products
from minirnn.devices.cuda.launch.cudnn_rnn.products import LIBRARY, TF32X3, VARIABLE, from_environment
from minirnn.devices.cuda.sim.driver import SimDriver
from minirnn.devices.cuda.sim.options import SimOptions
from minirnn.devices.precision import to_tf32
from tests.devices.cuda.launch.cudnn_rnn.ladder_cases import (
    CHECKS,
    MODES,
    assert_close,
    device_on,
    planted,
    random_case,
    with_fault,
)
from tests.devices.cuda.launch.cudnn_rnn.priced import priced_device

pytestmark = pytest.mark.skipif(
    mr.devices.available()["cuda-sim"] is not None, reason=f"cuda-sim: {mr.devices.available()['cuda-sim']}"
)

LAST = 2.0**-24
"""Half of the last place of a float32 of size 1."""


def device_with(way: str | None = TF32X3, options: SimOptions = CHECKS[0]) -> Cuda:
    device = Cuda(SimDriver(options), "cuda-sim-products")
    device.products.wanted = way
    return device


def on(device: Cuda, a: np.ndarray, along: bool, odd: bool = False) -> CudaArray:
    """`a` on the device: its rows lie together, or (not `along`) its columns; `odd`: at an address of no vector."""
    lines = a if along else a.T
    memory = device.asarray(np.concatenate([np.zeros(1 if odd else 0, a.dtype), lines.ravel()]))
    found = memory.seen_as(lines.shape, (lines.shape[1], 1), 1 if odd else 0)
    return found if along else device.transpose(found, (1, 0))


def product_of(
    device: Cuda, a: np.ndarray, b: np.ndarray, along: tuple[bool, bool] = (True, False), odd: bool = False
) -> np.ndarray:
    """`a @ b`; `along`: whether rows of a, and columns of b, lie together."""
    c = device.empty((a.shape[0], b.shape[1]), a.dtype)
    device.products.multiply(on(device, a, along[0], odd), on(device, b, not along[1]), c)
    device.synchronize()
    return device.to_numpy(c)


LAYOUTS = [(True, True), (True, False), (False, False), (False, True)]
SIZES = [(1, 1, 1), (5, 3, 7), (16, 16, 8), (129, 33, 65), (130, 52, 68), (40, 200, 36)]


@pytest.mark.parametrize("along", LAYOUTS)
@pytest.mark.parametrize("M, K, N", SIZES)
def test_every_size_in_every_layout_in_check_mode(
    M: int, K: int, N: int, along: tuple[bool, bool], rng: np.random.Generator
) -> None:
    """Three orders of the threads, the same bits."""
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((M, K), (K, N)))
    bound = (K + 4) * LAST * (np.abs(a).astype("f8") @ np.abs(b))  # as for plain float32: an addition each
    found = [product_of(device_with(options=options), a, b, along) for options in CHECKS]
    assert (np.abs(found[0] - a.astype("f8") @ b) <= bound).all()
    assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()
    device = device_with()
    assert product_of(device, a, b, along, odd=True).tobytes() == found[0].tobytes()
    assert device.products.counts == {TF32X3: 1}
    assert all("-DPIECE=1" in constants for file, *_, constants in device._compiled if "product" in file)


def test_vectors_are_copied_only_where_lines_are_whole_ones(rng: np.random.Generator) -> None:
    def pieces(K: int, N: int) -> set[str]:
        device = device_with()
        product_of(device, np.ones((8, K), np.float32), np.ones((K, N), np.float32))
        return {constants[2] for file, *_, constants in device._compiled if file == "cudnn_rnn/product.cu"}

    assert pieces(8, 12) == {"-DPIECE=4"}
    assert pieces(9, 12) == pieces(8, 13) == {"-DPIECE=1"}


def test_beta_adds_to_what_is_there_and_without_it_nothing_is_read(rng: np.random.Generator) -> None:
    a, b, c = (rng.standard_normal(shape).astype(np.float32) for shape in ((20, 9), (9, 12), (20, 12)))
    device = device_with()
    there = device.asarray(c)
    device.products.multiply(device.asarray(a), device.asarray(b), there, beta=1.0)
    np.testing.assert_allclose(device.to_numpy(there), c + a.astype("f8") @ b, rtol=0, atol=1e-5)
    there = device.asarray(np.full((20, 12), np.nan, np.float32))
    device.products.multiply(device.asarray(a), device.asarray(b), there)
    np.testing.assert_allclose(device.to_numpy(there), a.astype("f8") @ b, rtol=0, atol=1e-5)


# ---- the error


def truncated(x: np.ndarray) -> np.ndarray:
    """Toward zero, to float32: what a tensor core does with a sum, as far as is known."""
    near = x.astype(np.float32)
    return np.where(np.abs(near.astype("f8")) > np.abs(x), np.nextafter(near, np.float32(0)), near).astype(np.float32)


def on_tensor_cores(a: np.ndarray, b: np.ndarray, together: int) -> np.ndarray:
    """a @ b by three products of TF32, of which a tensor core, which drops digits, sums up `together` numbers of K."""
    (high_a, low_a), (high_b, low_b) = [(high := to_tf32(x), to_tf32(x - high)) for x in (a, b)]
    total = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for first in range(0, a.shape[1], together):
        sum_ = np.zeros_like(total)
        for pairs in (((low_a, high_b), (high_a, low_b)), ((high_a, high_b),)):
            for k in range(first, first + together, 8):
                for x, y in pairs:
                    sum_ = truncated(sum_ + x[:, k : k + 8].astype("f8") @ y[k : k + 8].astype("f8"))
        total += sum_
    return total


def plainly(a: np.ndarray, b: np.ndarray, together: int) -> np.ndarray:
    """a @ b in float32, multiplications and additions one by one; sums of `together` numbers of K are added up."""
    total = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for first in range(0, a.shape[1], together):
        sum_ = np.zeros_like(total)
        for k in range(first, first + together):
            sum_ += a[:, k : k + 1] * b[k]
        total += sum_
    return total


@pytest.mark.parametrize("positive", [False, True], ids=["any sign", "positive"])
@pytest.mark.parametrize("K", [64, 512, 4096])
def test_the_error_is_that_of_float32_which_the_library_called_three_times_would_not_keep(
    K: int, positive: bool, rng: np.random.Generator
) -> None:
    """Against float64, with the digits dropped that a GPU drops and the simulator does not."""
    a, b = rng.standard_normal((24, K)).astype(np.float32), rng.standard_normal((K, 24)).astype(np.float32)
    if positive:  # the sums grow: what is dropped has always the same sign
        a, b = np.abs(a), np.abs(b)
    exact, scale = a.astype("f8") @ b, np.abs(a).astype("f8") @ np.abs(b)

    def errors(found: np.ndarray) -> tuple[float, float]:
        error = np.abs(found - exact) / scale / LAST
        return float(error.max()), float(error.mean())

    plain, pieces = errors(plainly(a, b, K)), errors(plainly(a, b, 16))
    kernel, library = errors(on_tensor_cores(a, b, 16)), errors(on_tensor_cores(a, b, K))
    rounded = errors((to_tf32(a).astype("f8") @ to_tf32(b)).astype(np.float32))
    print(f"K = {K}{' positive' if positive else ''}, largest and mean error in 2^-24 |a| |b|: plain float32 {plain},"
          f" in pieces {pieces}, kernel {kernel}, cuBLAS three times {library}, TF32 {rounded}")  # fmt: skip
    for k in range(2):
        assert kernel[k] <= 4 * plain[k] and kernel[k] <= 4 * pieces[k]
    assert rounded[0] > 20 * kernel[0]
    if positive and K == 4096:
        assert library[1] > 4 * plain[1]  # why it is a kernel of our own
    if K == 64:  # and this is what the kernel does, with sums that are rounded
        assert errors(product_of(device_with(), a, b))[0] <= 4 * plain[0]


def test_nan_and_infinity_stay_in_their_rows_and_columns(rng: np.random.Generator) -> None:
    a, b = rng.standard_normal((18, 20)).astype(np.float32), rng.standard_normal((20, 10)).astype(np.float32)
    a[3, 7], a[5, 2] = np.nan, np.inf
    a[9, 1] = np.uint32(0x7FFFFFFF).view(np.float32)  # the NaN that a GPU makes
    b[4, 6] = -np.inf
    found = product_of(device_with(), a, b)
    with np.errstate(invalid="ignore"):
        expected = a @ b
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(expected))
    assert np.isnan(found[[3, 9]]).all()


# ---- a layer


@pytest.mark.parametrize("mode", MODES)
def test_a_layer_computes_the_same(mode: str, rng: np.random.Generator) -> None:
    for ragged in (False, True):
        case = random_case(rng, mode, T=4, B=5, I=6, H=12, dtype="f4", ragged=ragged)
        device = device_on("steps")
        device.products.wanted = TF32X3
        assert_close(case.run(device), case.run(mr.devices.get("cpu")), 3e-5)
        assert set(device.products.counts) == {TF32X3}
        backward = 8 if mode == "gru" else 5  # dW dR dx and the biases; of gru dR and the biases in two parts
        assert device.products.counts[TF32X3] == 2 * (1 + backward)


def test_a_projected_layer_in_one_launch_computes_the_same(rng: np.random.Generator) -> None:
    case = random_case(rng, "lstm", T=4, B=5, I=6, H=12, dtype="f4", P=7)
    device = device_on("persistent")
    device.products.wanted = TF32X3
    assert_close(case.run(device), case.run(mr.devices.get("cpu")), 3e-5)
    assert device.rungs == {"persistent forward": 1, "persistent backward": 1}
    assert set(device.products.counts) == {TF32X3} and device.products.counts[TF32X3] > 2 * 6


def test_float64_float16_tf32_and_old_gpus_are_left_to_the_library(rng: np.random.Generator) -> None:
    for dtype, precision in (("f8", "ieee"), ("f2", "ieee"), ("f4", "tf32")):
        device = device_with()
        device.cudnn_rnn_rung = "steps"
        with mr.use_precision(precision):
            random_case(rng, "lstm", T=2, B=3, I=3, H=4, D=1, dtype=dtype).run(device)
        assert set(device.products.counts) == {LIBRARY}, (dtype, precision)
    device = device_with()
    device.driver.limits = replace(device.driver.limits, compute_capability=(7, 5))
    product_of(device, np.ones((2, 3), np.float32), np.ones((3, 2), np.float32))
    assert device.products.counts == {LIBRARY: 1}


# ---- the choice


def test_in_the_simulator_it_is_the_library() -> None:
    device = device_with(None)
    big = np.ones((512, 512), np.float32)
    product_of(device, big, big)
    assert device.products.counts == {LIBRARY: 1}


@pytest.fixture
def small_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "SMALLEST", 1000)


@pytest.mark.parametrize("gemm, expected", [(5.0, TF32X3), (1.01, LIBRARY), (0.5, LIBRARY)])
def test_the_faster_way_is_taken_and_each_class_timed_once(
    gemm: float, expected: str, tmp_path: Path, small_ones: None, rng: np.random.Generator
) -> None:
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((20, 9), (9, 12)))
    device = priced_device(tmp_path, gemm=gemm, product=1.0)
    for _ in range(3):
        np.testing.assert_allclose(product_of(device, a, b), a.astype("f8") @ b, rtol=0, atol=1e-5)
    assert device.products.counts == {expected: 3}
    timed = device.driver.timed
    product_of(device, a[:17], b)  # of the same class
    assert device.driver.timed == timed
    product_of(device, a[:16], b)
    assert device.driver.timed == 2 * timed
    other = priced_device(tmp_path, gemm=9.0, product=1.0)
    product_of(other, a, b)
    assert other.products.counts == {expected: 1} and other.driver.timed == 0
    assert product_of(device, a[:2], b).shape == (2, 12) and device.driver.timed == 2 * timed  # too small


def test_nothing_is_timed_where_it_is_forbidden_or_a_rung_is_asked_for(tmp_path: Path, small_ones: None) -> None:
    big = np.ones((32, 32), np.float32)
    for forbid in ("enabled", "rung"):
        device = priced_device(tmp_path, gemm=9.0, product=1.0)
        if forbid == "enabled":
            device.tuner.enabled = False
        else:
            device.cudnn_rnn_rung = "steps"
        product_of(device, big, big)
        assert device.products.counts == {LIBRARY: 1} and device.driver.timed == 0


def test_a_kernel_that_is_wrong_or_does_not_compile_is_dropped_with_a_warning(
    tmp_path: Path, small_ones: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    big = np.ones((32, 32), np.float32)
    with_fault(monkeypatch, ("*to = sum[m][n][j]", "*to = 1.01f * sum[m][n][j]"))
    device = priced_device(tmp_path / "wrong", gemm=9.0, product=1.0)
    with pytest.warns(RuntimeWarning, match="'tf32x3' is not used for product .*differ from the library's by"):
        product_of(device, big, big)
    assert planted() == []
    assert device.products.counts == {LIBRARY: 1}

    def broken(*args: object) -> None:
        raise CompileError("product.cu does not compile")

    monkeypatch.setattr(products, "launch", broken)
    device = priced_device(tmp_path / "broken", gemm=9.0, product=1.0)
    with pytest.warns(RuntimeWarning, match="does not compile"):
        product_of(device, big, big)
    product_of(device, big, big)
    assert device.products.counts == {LIBRARY: 2}


def test_the_environment_names_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    for said, expected in (("", None), ("auto", None), ("library", LIBRARY), ("tf32x3", TF32X3)):
        monkeypatch.setenv(VARIABLE, said)
        assert from_environment() == expected
    monkeypatch.setenv(VARIABLE, "library")
    device = device_with("bf16x9")
    with pytest.raises(ValueError, match="products.wanted"):
        product_of(device, np.ones((2, 2), np.float32), np.ones((2, 2), np.float32))
    monkeypatch.setenv(VARIABLE, "bf16x9")
    with pytest.raises(ValueError, match=r"there is no way 'bf16x9'(.|\n)*library, tf32x3, auto(.|\n)*" + VARIABLE):
        from_environment()
