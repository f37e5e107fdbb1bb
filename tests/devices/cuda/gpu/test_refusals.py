"""What the driver of a GPU says if a tool is missing or fails, the order of its calls, and when it waits.

PyCUDA and the libraries of NVIDIA are made up here. How the driver works is tested with the real PyCUDA, in
`test_driver.py`.

Tests `minirnn/devices/cuda/gpu/`.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest

from minirnn.devices import DeviceUnavailable
from minirnn.devices.cuda.driver import CompileError, LaunchError, Matrix
from minirnn.devices.cuda.gpu import compiler, cublas, libcublas, libcuda
from minirnn.devices.cuda.gpu import driver as pycuda_driver
from minirnn.devices.cuda.gpu.driver import PyCudaDriver
from minirnn.devices.cuda.gpu.graph import Graph
from minirnn.devices.cuda.gpu.memory import rounded_up
from minirnn.devices.precision import use_precision
from minirnn.machine import toolchain
from minirnn.machine.toolchain import Tool

F4, F8, I4 = (np.dtype(name) for name in ("f4", "f8", "i4"))


class Refused(Exception):
    """An error of PyCUDA."""


@pytest.fixture
def pycuda(monkeypatch: pytest.MonkeyPatch) -> MagicMock:
    """A `pycuda.driver` that does nothing and notes its calls."""
    drv = MagicMock(Error=Refused, LogicError=Refused, MemoryError=Refused)
    drv.Device.return_value.compute_capability.return_value = (9, 0)
    monkeypatch.setitem(sys.modules, "pycuda", MagicMock(driver=drv))
    monkeypatch.setitem(sys.modules, "pycuda.driver", drv)
    monkeypatch.setattr(toolchain, "for_a_gpu", lambda: iter([Tool("PyCUDA", "2026.1")]))
    return drv


@pytest.fixture
def driver(pycuda: MagicMock) -> Iterator[PyCudaDriver]:
    driver = PyCudaDriver()
    yield driver
    driver.close()


# ---- what is missing, and how to get it


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
    pycuda: MagicMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pycuda.driver", None)
    with pytest.raises(DeviceUnavailable, match=r"(?s)cannot be imported.*pip install .*pycuda"):
        PyCudaDriver()


def test_an_error_of_cuinit_is_a_reason(pycuda: MagicMock) -> None:
    pycuda.init.side_effect = Refused("cuInit failed: unknown error")
    with pytest.raises(DeviceUnavailable, match="cuInit failed: unknown error"):
        PyCudaDriver()


def test_without_cublas_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    libcublas.library.cache_clear()
    monkeypatch.setitem(sys.modules, "cuda.pathfinder", None)
    monkeypatch.setattr(toolchain, "extra", lambda: "cuda12")
    with pytest.raises(DeviceUnavailable, match=r"(?s)cuBLAS cannot be used.*pip install .*cuda12"):
        cublas.Cublas(0, MagicMock(), (9, 0))


# ---- copies and errors


def test_a_small_h2d_does_not_wait_and_what_it_keeps_is_dropped(driver: PyCudaDriver, pycuda: MagicMock) -> None:
    for _ in range(5):
        driver.h2d(256, np.ones(8))
    assert not pycuda.Stream.return_value.synchronize.called
    assert len(driver._flying) == 1  # the others have arrived
    driver.synchronize()
    assert len(driver._flying) == 0


def test_a_large_h2d_waits_instead_of_copying(
    driver: PyCudaDriver, pycuda: MagicMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pycuda_driver, "COPIED", 63)
    driver.h2d(256, np.ones(8))
    pycuda.Stream.return_value.synchronize.assert_called_once()
    assert not driver._flying


def test_blocks_are_at_most_an_eighth_larger_than_what_they_are_for() -> None:
    for nbytes in [0, 1, 255, 256, 257, *range(1000, 70_000, 333), 2**30 + 1]:
        size = rounded_up(nbytes)
        assert size % 256 == 0 and nbytes <= size <= max(256, nbytes + 255, nbytes * 9 / 8)


def test_an_error_that_shows_late_is_a_launch_error_with_advice(driver: PyCudaDriver, pycuda: MagicMock) -> None:
    pycuda.Stream.return_value.synchronize.side_effect = Refused("an illegal memory access was encountered")
    for call in (driver.synchronize, lambda: driver.d2h(np.empty(1), 256)):
        with pytest.raises(LaunchError, match=r"(?s)illegal memory access.*MINIRNN_DEBUG=1"):
            call()


@pytest.mark.parametrize("name", ["cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphInstantiateWithFlags"])
def test_a_driver_that_refuses_to_record_says_why_and_no_graph_is_left(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs: set[int] = set()

    def answer(called: str, *args: Any) -> int:
        if called == "cuGetErrorString":
            args[1]._obj.value = b"operation not permitted"
        elif called == "cuStreamEndCapture" != name:
            args[1]._obj.value = 5
            graphs.add(5)
        elif called == "cuGraphDestroy":
            graphs.remove(args[0].value)
        return 900 if called == name else 0

    class Library:
        def __getattr__(self, called: str) -> Callable[..., int]:
            return partial(answer, called)

    monkeypatch.setattr(libcuda, "library", Library)
    with pytest.raises(LaunchError, match=rf"{name} failed: operation not permitted \(error 900\)"):
        Graph(MagicMock(), 7, lambda: None)
    assert not graphs


# ---- compiling


@pytest.fixture
def cubins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The names of the files for which nvcc was asked. Their machine code is made up, and the cache is empty."""
    asked: list[str] = []

    def cubin_of(text: str, name: str, flags: Any, arch: str) -> bytes:
        asked.append(name)
        return b"no code"

    monkeypatch.setenv("MINIRNN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(compiler, "cubin_of", cubin_of)
    return asked


def test_only_what_includes_a_changed_header_is_compiled_anew(
    cubins: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(compiler, "KERNELS", tmp_path)
    made = compiler.Compiler("sm_90", "13.0.88", len, Refused)
    (tmp_path / "b.cuh").write_text('#include "a.cuh"')
    for text in ("int x;", "int x;", "int y;"):
        (tmp_path / "a.cuh").write_text(text)
        made.load('#include "b.cuh"', "a.cu", ())
        assert made.load("", "without.cu", ()) == (b"no code", 7)
    assert cubins == ["a.cu", "without.cu", "a.cu"]
    # the user reads one line, however many files there are
    assert capsys.readouterr().err == "minirnn: compiling CUDA kernels for sm_90 with nvcc 13.0.88, once each\n"


def test_compiling_is_silent_on_request(
    cubins: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MINIRNN_QUIET", "1")
    compiler.Compiler("sm_90", "", len, Refused).load("", "a.cu", ())
    assert cubins == ["a.cu"] and capsys.readouterr().err == ""


def test_machine_code_that_the_driver_does_not_take_is_an_error_of_compiling(cubins: list[str]) -> None:
    def load(binary: bytes) -> None:
        raise Refused("image is invalid")

    with pytest.raises(CompileError, match=r"a\.cu: the driver rejects the code that nvcc made: image is invalid"):
        compiler.Compiler("sm_90", "", load, Refused).load("int x;", "a.cu", ())


def test_an_nvcc_that_went_away_is_an_error_of_compiling(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MINIRNN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CompileError, match=r"a\.cu: nvcc cannot be run.*\n  try: minirnn doctor"):
        compiler.Compiler("sm_90", "", len, Refused).load("int x;", "a.cu", ())


# ---- products


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The calls of cuBLAS: the name, and the arguments."""
    calls: list[Any] = []
    monkeypatch.setattr(libcublas, "call", lambda *call: calls.append(call))
    return calls


def test_the_handle_is_bound_to_the_drivers_stream_before_it_gets_a_workspace(
    driver: PyCudaDriver, asked: list[Any]
) -> None:
    one = Matrix(256, 1, 1, 1, F4)
    driver.gemm(one, one, one)
    driver.gemm(one, one, one)
    driver.close()
    names = ["Create_v2", "SetStream_v2", "SetWorkspace_v2", "SetMathMode", "GemmEx", "GemmEx", "Destroy_v2"]
    assert [name for name, *_ in asked] == [f"cublas{name}" for name in names]
    assert asked[1][2] == driver.stream_handle and asked[2][3] == 32 << 20 and asked[3][2] == 16


@pytest.mark.parametrize(
    ("dtype", "tf32", "compute"),
    [("f4", False, 68), ("f4", True, 77), ("f2", False, 68), ("f2", True, 68), ("f8", False, 70), ("f8", True, 70)],
)
def test_tf32_is_used_only_for_float32_and_only_on_request(
    driver: PyCudaDriver, asked: list[Any], dtype: str, tf32: bool, compute: int
) -> None:
    one = Matrix(256, 1, 1, 1, np.dtype(dtype))
    with use_precision("tf32" if tf32 else "ieee"):
        driver.gemm(one, one, one)
    assert asked[-1][-2] == compute


def test_matrices_that_do_not_fit_are_refused() -> None:
    for error, message, matrices in (
        (ValueError, r"\(2, 3\) and \(4, 5\) into \(2, 5\)\n  expected", [(2, 3, 3, F4), (4, 5, 5, F4), (2, 5, 5, F4)]),
        (TypeError, "float32 and float32 into float64", [(2, 3, 3, F4), (3, 5, 5, F4), (2, 5, 5, F8)]),
        (TypeError, "int32 and int32", [(2, 3, 3, I4), (3, 5, 5, I4), (2, 5, 5, I4)]),
        (ValueError, r"matrix \(2, 3\) with ld 2", [(2, 3, 2, F4), (3, 5, 5, F4), (2, 5, 5, F4)]),
    ):
        with pytest.raises(error, match=message):
            cublas.check(*[Matrix(256, *matrix) for matrix in matrices])
