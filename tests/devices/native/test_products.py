"""Matrix products in C++ against NumPy's, and which products the device computes itself.

Tests `minirnn/devices/native/device.py`, `minirnn/devices/native/blas.py` and `minirnn/devices/native/threads.py`.
"""

import threading
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.native import blas, threads
from minirnn.devices.native import device as module


@pytest.mark.parametrize("size", [(1, 1, 1), (7, 3, 5), (6, 193, 64), (97, 400, 65), (130, 200, 530), (5, 64, 1100)])
@pytest.mark.parametrize("layout", ["plain", "a transposed", "b transposed", "both transposed", "rows apart"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_product_equals_numpys(
    rng: Any, monkeypatch: pytest.MonkeyPatch, dtype: str, layout: str, size: tuple[int, int, int]
) -> None:
    M, K, N = size
    monkeypatch.setattr(module, "WORTH_IT", 0)
    device: Any = mr.devices.get("native")
    a, b = rng.standard_normal((M, K)).astype(dtype), rng.standard_normal((K, N)).astype(dtype)
    if layout in ("a transposed", "both transposed"):
        a = np.asfortranarray(a)
    if layout in ("b transposed", "both transposed"):
        b = np.asfortranarray(b)
    if layout == "rows apart":
        a, b = np.repeat(a, 2, 0)[::2], np.repeat(b, 3, 1)[:, ::3]
    expected = a.astype("f8") @ b.astype("f8")
    tolerance = {"float32": 1e-7, "float64": 2e-16}[dtype] * K * np.abs(a).max() * np.abs(b).max() + 1e-30
    found = []
    for count in ("1", "2", "5"):
        monkeypatch.setenv("MINIRNN_NUM_THREADS", count)
        found.append(device.matmul(a, b))
    assert found[0].dtype == dtype and np.abs(found[0] - expected).max() <= tolerance
    assert all(np.array_equal(c, found[0]) for c in found), "the number of threads changes the result"


def test_large_products_go_to_the_kernel_and_the_rest_to_numpy(rng: Any) -> None:
    large = rng.standard_normal((128, 128)).astype("f4")
    assert module.large(large, large)
    assert module.large(large.reshape(4, 32, 128), large)
    assert not module.large(large[:10], large)
    assert not module.large(large, large.astype("f8"))
    assert not module.large(large.astype("f2"), large.astype("f2"))
    assert not module.large(large, large[0])
    assert not module.large(large.reshape(4, 32, 128), large.reshape(4, 128, 32))
    device: Any = mr.devices.get("native")
    batch = rng.standard_normal((4, 64, 128)).astype("f4")
    np.testing.assert_allclose(device.matmul(batch, large), batch @ large, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(device.matmul(batch, batch[0].T), batch @ batch[0].T, rtol=1e-4, atol=1e-4)
    few = batch[:, :4]
    assert not module.large(few, large)
    np.testing.assert_array_equal(device.matmul(few, large), few @ large)  # too small for BLAS to use a second thread
    with pytest.raises(ValueError, match="matmul"):
        device.matmul(large, large[:5])


# ---- the threads of BLAS


class Library:
    """A BLAS as threadpoolctl shows it."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.heard: list[int] = []

    def get_num_threads(self) -> int:
        return self.count

    def set_num_threads(self, count: int) -> None:
        self.count = count
        self.heard.append(count)


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    found = Library(4)
    monkeypatch.setattr(blas, "_libraries", lambda: [found])
    return found


def test_blas_has_one_thread_while_the_device_is_the_default_and_gets_its_own_back(library: Library) -> None:
    with pytest.raises(ZeroDivisionError), mr.use_device("native"):
        with mr.use_device("native"):
            assert library.count == 1
        with mr.use_device("cpu"):
            assert library.count == 4
        assert library.count == 1
        raise ZeroDivisionError
    assert library.count == 4


def test_blas_has_one_thread_for_products_of_tensors_on_the_device(library: Library) -> None:
    x = mr.tensor(np.ones((3, 3)), device="native")
    assert (x @ x).numpy()[0, 0] == 3
    assert library.heard == [1, 4]


def test_the_last_of_several_threads_gives_blas_its_threads_back(library: Library) -> None:
    inside, leave = threading.Barrier(3), threading.Event()

    def use() -> None:
        with mr.use_device("native"):
            inside.wait()
            leave.wait()

    users = [threading.Thread(target=use) for _ in range(2)]
    for user in users:
        user.start()
    inside.wait()
    assert library.count == 1
    leave.set()
    for user in users:
        user.join()
    assert library.count == 4 and library.heard == [1, 4]


def test_a_blas_that_has_one_thread_already_is_left_alone(library: Library) -> None:
    library.count = 1
    with blas.one_thread():
        pass
    assert library.heard == []


def test_numpys_own_blas_is_found() -> None:
    controller = pytest.importorskip("threadpoolctl").ThreadpoolController().select(user_api="blas")
    assert len(blas._libraries()) == len(controller.lib_controllers)
    assert blas.available()


# ---- the number of threads


def test_the_number_of_threads_is_what_the_variable_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIRNN_NUM_THREADS", "3")
    assert threads.count() == 3
    monkeypatch.delenv("MINIRNN_NUM_THREADS")
    assert threads.count() == threads.usable_cores() >= 1
    for wrong in ("0", "-1", "two", "1.5", "1000000"):
        monkeypatch.setenv("MINIRNN_NUM_THREADS", wrong)
        with pytest.raises(ValueError, match=rf"MINIRNN_NUM_THREADS is '{wrong}'\n  expected a number of threads"):
            threads.count()


def test_only_the_main_thread_may_be_interrupted() -> None:
    found = []
    other = threading.Thread(target=lambda: found.append(threads.may_be_interrupted()))
    other.start()
    other.join()
    assert found == [False]


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_nan_and_infinity_reach_their_row_and_no_other(rng: Any, value: float) -> None:
    a, b = rng.standard_normal((131, 130)).astype("f4"), rng.standard_normal((130, 129)).astype("f4")
    device: Any = mr.devices.get("native")
    right = device.matmul(a, b)
    a[5, 7] = value
    got = device.matmul(a, b)
    others = np.arange(131) != 5
    np.testing.assert_array_equal(got[others], right[others])
    assert not np.isfinite(got[5]).any()
