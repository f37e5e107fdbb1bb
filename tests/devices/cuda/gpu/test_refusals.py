"""PyCudaDriver against made-up PyCUDA and cuBLAS: cases that a stand-in GPU cannot show, or that need no PyCUDA.

These are missing or failing tools, the order of calls, waits, and a GPU with 1 MiB of memory. How the driver works is
tested with the real PyCUDA, in `test_driver.py`.

Tests `minirnn/devices/cuda/gpu/driver.py` and `minirnn/devices/cuda/gpu/cublas.py`.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from minirnn.devices import DeviceUnavailable
from minirnn.devices.cuda.driver import CompileError, LaunchError, Matrix
from minirnn.devices.cuda.gpu import compiler, libcublas, libcuda
from minirnn.devices.cuda.gpu import driver as pycuda_driver
from minirnn.devices.cuda.gpu import memory as pycuda_memory
from minirnn.devices.cuda.gpu.driver import PyCudaDriver
from minirnn.devices.precision import use_precision
from minirnn.machine import toolchain
from minirnn.machine.toolchain import Tool
from tests.devices.cuda.gpu import fake_cublas, fake_pycuda


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> fake_pycuda.Machine:
    """A GPU with 1 MiB of memory, and PyCUDA to talk to it."""
    machine = fake_pycuda.Machine()
    for name, module in fake_pycuda.make(machine).items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(toolchain, "for_a_gpu", lambda: iter([Tool("PyCUDA", "2026.1")]))
    monkeypatch.delenv("MINIRNN_TF32", raising=False)
    return machine


@pytest.fixture
def cublas(monkeypatch: pytest.MonkeyPatch) -> fake_cublas.Cublas:
    cublas = fake_cublas.Cublas()
    monkeypatch.setattr(libcublas, "library", lambda: cublas)
    monkeypatch.setattr("minirnn.devices.cuda.gpu.cublas.WORKSPACE", {9: 4096})
    return cublas


@pytest.fixture
def driver(machine: fake_pycuda.Machine) -> Iterator[PyCudaDriver]:
    driver = PyCudaDriver()
    yield driver
    machine.late = None
    driver.close()
    assert machine.stacks.contexts == []
    assert machine.lost == []


def put(driver: PyCudaDriver, array: np.ndarray) -> Any:
    buffer = driver.alloc(array.nbytes)
    driver.h2d(buffer.ptr, array)
    return buffer


# What is missing, and how to get it


def test_the_module_can_be_imported_without_pycuda() -> None:
    code = "import sys; sys.modules['pycuda'] = sys.modules['cuda'] = None; import minirnn.devices.cuda.gpu.driver"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("number", range(4))
def test_the_first_missing_tool_is_named_with_one_command(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    names = ["NVIDIA driver", "nvcc", "PyCUDA", "cuBLAS binding"]
    tools = [Tool(n, "1.0" if k < number else None, f"bring {n}") for k, n in enumerate(names)]
    monkeypatch.setattr(toolchain, "for_a_gpu", lambda: iter(tools))
    with pytest.raises(DeviceUnavailable) as caught:
        PyCudaDriver()
    assert str(caught.value) == f"cuda: {names[number]} missing. To get it: bring {names[number]}"


def test_a_pycuda_that_cannot_be_imported_is_a_reason_with_a_command(
    monkeypatch: pytest.MonkeyPatch, machine: fake_pycuda.Machine
) -> None:
    monkeypatch.setitem(sys.modules, "pycuda.driver", None)
    with pytest.raises(DeviceUnavailable, match=r"(?s)cannot be imported.*pip install .*pycuda"):
        PyCudaDriver()


def test_an_error_of_cuinit_is_a_reason(monkeypatch: pytest.MonkeyPatch, machine: fake_pycuda.Machine) -> None:
    def init() -> None:
        raise fake_pycuda.LogicError("cuInit failed: unknown error")

    monkeypatch.setattr(sys.modules["pycuda.driver"], "init", init)
    with pytest.raises(DeviceUnavailable, match="cuInit failed: unknown error"):
        PyCudaDriver()


# Memory


def test_a_small_h2d_does_not_wait_and_what_it_keeps_is_dropped(driver: PyCudaDriver) -> None:
    buffer, stream = driver.alloc(64), driver._stream
    for _ in range(5):
        driver.h2d(buffer.ptr, np.ones(8))
    assert stream.synchronized == 0
    assert len(driver._flying) == 1  # the others have arrived
    driver.synchronize()
    assert len(driver._flying) == 0


def test_a_large_h2d_waits_instead_of_copying(monkeypatch: pytest.MonkeyPatch, driver: PyCudaDriver) -> None:
    monkeypatch.setattr(pycuda_driver, "COPIED", 63)
    put(driver, np.ones(8))
    assert driver._stream.synchronized == 1 and not driver._flying  # type: ignore[attr-defined]


def test_blocks_are_at_most_an_eighth_larger_than_what_they_are_for() -> None:
    for nbytes in [0, 1, 255, 256, 257, *range(1000, 70_000, 333), 2**30 + 1]:
        size = pycuda_memory.rounded_up(nbytes)
        assert size % 256 == 0 and nbytes <= size <= max(256, nbytes + 255, nbytes * 9 / 8)


# Modules


def test_only_what_includes_a_changed_header_is_compiled_anew(
    driver: PyCudaDriver, monkeypatch: pytest.MonkeyPatch, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    compiled: list[str] = []

    def cubin_of(text: str, name: str, flags: Any, arch: str) -> bytes:
        compiled.append(name)
        return b"\x7fELF"

    (tmp_path / "kernels").mkdir()
    monkeypatch.setenv("MINIRNN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(compiler, "KERNELS", tmp_path / "kernels")
    monkeypatch.setattr(compiler, "cubin_of", cubin_of)
    (tmp_path / "kernels" / "b.cuh").write_text('#include "a.cuh"')
    for text in ("int x;", "int x;", "int y;"):
        (tmp_path / "kernels" / "a.cuh").write_text(text)
        with driver._current:
            driver._compiler.load('#include "b.cuh"', "a.cu", ())
            driver._compiler.load("", "without.cu", ())
    assert compiled == ["a.cu", "without.cu", "a.cu"]
    # the user reads one line, however many there are
    assert capsys.readouterr().err == "minirnn: compiling CUDA kernels for sm_90 with nvcc, once each\n"


def test_who_wants_to_read_nothing_reads_nothing(
    driver: PyCudaDriver,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Any,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("MINIRNN_CACHE", str(tmp_path))
    monkeypatch.setenv("MINIRNN_QUIET", "1")
    monkeypatch.setattr(compiler, "cubin_of", lambda *given: b"\x7fELF")
    driver.module("", "a.cu")
    assert capsys.readouterr().err == ""


def test_an_nvcc_that_went_away_is_an_error_of_compiling(
    driver: PyCudaDriver, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("MINIRNN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CompileError, match=r"a\.cu: nvcc cannot be run.*\n  try: minirnn doctor"):
        driver.module("int x;", "a.cu")


def test_machine_code_that_the_driver_does_not_take_is_an_error_of_compiling(
    driver: PyCudaDriver, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("MINIRNN_CACHE", str(tmp_path))
    monkeypatch.setattr(compiler, "cubin_of", lambda *given: b"something else")
    with pytest.raises(CompileError, match=r"a\.cu: the driver rejects the code that nvcc made: .*image is invalid"):
        driver.module("int x;", "a.cu")


# Errors


def test_an_error_that_shows_late_is_a_launch_error_with_advice(
    driver: PyCudaDriver, machine: fake_pycuda.Machine
) -> None:
    machine.late = fake_pycuda.LogicError("cuStreamSynchronize failed: an illegal memory access was encountered")
    with pytest.raises(LaunchError, match=r"(?s)illegal memory access.*MINIRNN_DEBUG=1"):
        driver.synchronize()
    with pytest.raises(LaunchError, match="illegal memory access"):
        driver.d2h(np.empty(1), driver.alloc(8).ptr)


# Products


def test_the_handle_is_bound_to_the_drivers_stream_before_it_gets_a_workspace(
    driver: PyCudaDriver, cublas: fake_cublas.Cublas
) -> None:
    f4 = np.dtype("f4")
    x = put(driver, np.ones(1, f4))
    one = Matrix(x.ptr, 1, 1, 1, f4)
    driver.gemm(one, one, one)
    driver.gemm(one, one, one)
    assert cublas.asked == [f"stream {driver.stream_handle}", "workspace 4096", "math 16"]
    assert driver.stream_handle == 4711
    driver.close()
    assert cublas.destroyed == 1


@pytest.mark.parametrize(
    ("dtype", "tf32", "compute"),
    [("f4", False, 68), ("f4", True, 77), ("f2", False, 68), ("f2", True, 68), ("f8", False, 70), ("f8", True, 70)],
)
def test_tf32_is_used_only_for_float32_and_only_on_request(
    machine: fake_pycuda.Machine,
    cublas: fake_cublas.Cublas,
    dtype: str,
    tf32: bool,
    compute: int,
) -> None:
    driver = PyCudaDriver()
    x = put(driver, np.ones(1, dtype))
    one = Matrix(x.ptr, 1, 1, 1, np.dtype(dtype))
    with use_precision("tf32" if tf32 else "ieee"):
        driver.gemm(one, one, one)
    with use_precision("ieee" if tf32 else "tf32"):
        driver.gemm(one, one, one)
    assert cublas.compute[0] == compute
    assert (cublas.compute[1] == compute) == (dtype != "f4")
    driver.close()


def test_matrices_that_do_not_fit_are_refused(driver: PyCudaDriver, cublas: fake_cublas.Cublas) -> None:
    f4, f8, i4 = np.dtype("f4"), np.dtype("f8"), np.dtype("i4")
    x = put(driver, np.ones(100, f8)).ptr
    with pytest.raises(ValueError, match=r"\(2, 3\) and \(4, 5\) into \(2, 5\)\n  expected"):
        driver.gemm(Matrix(x, 2, 3, 3, f4), Matrix(x, 4, 5, 5, f4), Matrix(x, 2, 5, 5, f4))
    with pytest.raises(TypeError, match="float32 and float32 into float64"):
        driver.gemm(Matrix(x, 2, 3, 3, f4), Matrix(x, 3, 5, 5, f4), Matrix(x, 2, 5, 5, f8))
    with pytest.raises(TypeError, match="int32 and int32"):
        driver.gemm(Matrix(x, 2, 3, 3, i4), Matrix(x, 3, 5, 5, i4), Matrix(x, 2, 5, 5, i4))
    with pytest.raises(ValueError, match=r"matrix \(2, 3\) with ld 2"):
        driver.gemm(Matrix(x, 2, 3, 2, f4), Matrix(x, 3, 5, 5, f4), Matrix(x, 2, 5, 5, f4))


def test_without_cublas_the_extra_is_named(driver: PyCudaDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    libcublas.library.cache_clear()
    monkeypatch.setitem(sys.modules, "cuda.pathfinder", None)
    monkeypatch.setattr(toolchain, "extra", lambda: "cuda12")
    one = Matrix(0, 1, 1, 1, np.dtype("f4"))
    with pytest.raises(DeviceUnavailable, match=r"(?s)cuBLAS cannot be used.*pip install .*cuda12"):
        driver.gemm(one, one, one)


# Recordings


@pytest.fixture
def library(
    monkeypatch: pytest.MonkeyPatch, machine: fake_pycuda.Machine, cublas: fake_cublas.Cublas
) -> fake_pycuda.Libcuda:
    library = fake_pycuda.Libcuda(machine)
    monkeypatch.setattr(libcuda, "library", lambda: library)
    return library


@pytest.mark.parametrize("name", ["cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphInstantiateWithFlags"])
def test_a_driver_that_refuses_to_record_says_why(
    name: str, driver: PyCudaDriver, machine: fake_pycuda.Machine, library: fake_pycuda.Libcuda
) -> None:
    library.refused = name
    with pytest.raises(LaunchError, match=rf"{name} failed: operation not permitted .* \(error 900\)"):
        driver.record(lambda: None)
    assert library.graphs == {}
    machine.captured.clear()
