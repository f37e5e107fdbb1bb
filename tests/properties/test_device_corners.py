"""Corners of the devices that were untested according to branch coverage: arrays, the simulator, the tools."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices import DeviceUnavailable
from minirnn.devices.counting import Counting
from minirnn.devices.cuda.driver import CompileError, LaunchError, Matrix
from minirnn.devices.cuda.sim import build, compiler, report
from minirnn.devices.cuda.sim import library as runtime
from minirnn.machine import toolchain

# ---- arrays of the CUDA devices


@pytest.fixture
def simulated() -> Any:
    reason = mr.devices.available()["cuda-sim"]
    if reason is not None:
        pytest.skip(reason)
    return mr.devices.get("cuda-sim")


def test_an_array_on_a_device_says_what_it_is_and_iterates(simulated: Any) -> None:
    a = simulated.asarray(np.arange(6.0).reshape(2, 3))
    assert repr(a) == "<CudaArray (2, 3) float64 on cuda-sim>"
    assert len(a) == 2
    np.testing.assert_array_equal(simulated.to_numpy(a[1]), [3, 4, 5])
    with pytest.raises(TypeError, match="without axes"):
        len(simulated.asarray(np.float32(1)))


def test_an_array_of_the_device_itself_is_copied_too(simulated: Any) -> None:
    a = simulated.asarray(np.arange(3.0))
    b = simulated.asarray(a)
    assert b.ptr != a.ptr
    np.testing.assert_array_equal(simulated.to_numpy(b), np.arange(3.0))


def test_an_array_of_another_device_of_the_kind_is_copied(simulated: Any) -> None:
    twin = type(simulated)(simulated.driver)
    a = simulated.asarray(np.arange(3.0))
    b = twin.asarray(a)
    assert b.device is twin
    np.testing.assert_array_equal(twin.to_numpy(b), np.arange(3.0))


def test_numbers_are_kept_on_the_device_but_not_forever(simulated: Any) -> None:
    a = simulated.asarray(np.arange(3.0))
    for k in range(3000):
        simulated._operand(float(k), np.dtype("f8"))
    assert len(simulated._constants) < 3000
    np.testing.assert_array_equal(simulated.to_numpy(simulated.multiply(a, 2.0)), [0, 2, 4])


def test_shapes_that_do_not_fit_are_refused_by_the_device_too(simulated: Any) -> None:
    a = simulated.asarray(np.zeros((2, 3)))
    assert simulated.reshape(a, (3, -1)).shape == (3, 2)
    assert simulated.broadcast_to(a, (2, 3)) is a
    for call in (
        lambda: simulated.reshape(a, (4,)),
        lambda: simulated.broadcast_to(a, (3, 2)),
        lambda: simulated.concatenate([a, simulated.asarray(np.zeros((2, 4)))], 0),
        lambda: simulated.scatter_add((3,), (np.array([0, 1]),), simulated.asarray(np.zeros((2, 2)))),
        lambda: simulated.matmul(a, a),
        lambda: simulated.power(simulated.asarray(np.arange(3)), -1),
    ):
        with pytest.raises(ValueError):
            call()
    with pytest.raises(TypeError, match="booleans"):
        simulated.subtract(simulated.asarray(np.array([True])), simulated.asarray(np.array([False])))


def test_a_product_that_would_read_outside_an_array_is_refused(simulated: Any) -> None:
    a, c = simulated.asarray(np.zeros((2, 3))), simulated.asarray(np.zeros((2, 3)))
    too_wide = Matrix(a.ptr, 4, 3, 3, a.dtype, keep=a)
    with pytest.raises(LaunchError, match="leaves its array of 48 bytes"):
        simulated.driver.gemm(
            too_wide, Matrix(a.ptr, 3, 1, 1, a.dtype, keep=a), Matrix(c.ptr, 4, 1, 1, c.dtype, keep=c)
        )


def test_a_buffer_says_its_size(simulated: Any) -> None:
    assert repr(simulated.asarray(np.zeros(3)).buffer).startswith("<SimBuffer ")


# ---- the simulator itself


def test_compiled_kernels_are_kept_in_the_users_cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    find = build.cache_folder.__wrapped__
    monkeypatch.delenv("MINIRNN_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setattr(sys, "platform", "linux")
    assert find() == tmp_path / "cache" / "minirnn" / "cuda-sim"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert find() == tmp_path / ".cache" / "minirnn" / "cuda-sim"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert find() == tmp_path / "Library" / "Caches" / "minirnn" / "cuda-sim"


def test_a_compiler_that_does_not_run_is_named() -> None:
    with pytest.raises(CompileError, match="cannot run /no/such/compiler"):
        compiler.Compiler(("/no/such/compiler",), "1.0").run("--version")


def test_on_windows_itself_the_simulator_names_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(DeviceUnavailable, match="wsl --install"):
        compiler.find()


def test_a_runtime_that_cannot_be_loaded_makes_the_device_unavailable(tmp_path: Path) -> None:
    with pytest.raises(DeviceUnavailable, match="cannot load its runtime library"):
        runtime.load.__wrapped__(tmp_path / "no-such-library.so")


@pytest.mark.skipif(sys.platform == "win32", reason="the simulator does not run there")
def test_an_instruction_of_no_library_has_no_line() -> None:
    assert report.place_of(0, Path("lstm_block@cell-1234.so")) == report.Place("lstm_block/cell.cu", 0)


# ---- the tools


@pytest.mark.parametrize(
    ("program", "command"),
    [
        ("ubuntu-drivers", "sudo ubuntu-drivers install"),
        ("apt-get", "sudo apt-get install nvidia-driver"),
        ("", "install NVIDIA's driver with the system's package manager"),
    ],
)
def test_a_card_without_a_driver_gets_the_command_that_installs_one(
    program: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> Any:
        raise OSError(name)

    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(toolchain.ctypes, "CDLL", missing)
    monkeypatch.setattr(toolchain, "_has_nvidia_card", lambda: True)
    monkeypatch.setattr(toolchain.shutil, "which", lambda name: name if name == program else None)
    assert toolchain.nvidia_driver().fix == command


def test_on_a_mac_nvidias_tools_are_not_to_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise OSError(name)

    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(toolchain.ctypes, "CDLL", missing)
    tools = [toolchain.find_nvcc(), toolchain.nvidia_driver(), toolchain.package("PyCUDA", "pycuda", "cuda")]
    assert all(tool.found is None and tool.why_not == toolchain.NO_MACOS for tool in tools)
    monkeypatch.setattr(toolchain, "_answer", lambda command: ("", ""))
    monkeypatch.delenv("CXX", raising=False)
    assert toolchain.host_compiler().fix == "xcode-select --install"


# ---- the counting device


def test_a_counting_device_counts_every_kind_of_primitive_and_hands_on_the_rest() -> None:
    device = Counting("cpu")
    x = mr.tensor(np.linspace(0.1, 0.9, 6).reshape(2, 3), True, device)
    y = x.sigmoid().clip(0.2, 0.8).softmax(-1) + x.log_softmax(-1) + x.max(axis=1, keepdims=True)
    y.sum().backward()
    device.synchronize()
    names = device.counts[""]
    assert names["sigmoid"]["functions"] == 6 and names["clip"]["flops"] == 12
    assert names["softmax"]["flops"] == names["log_softmax"]["flops"] == 24
    assert names["max"]["flops"] == 6


def test_a_copy_of_a_tensor_on_a_counting_device_stays_on_such_a_device() -> None:
    device = Counting("cpu")
    made, arguments = device.__reduce__()
    assert isinstance(made(*arguments), Counting)
