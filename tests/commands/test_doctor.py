"""`minirnn doctor`: the report is true, also on machines unlike this one."""

from __future__ import annotations

import json
import platform
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minirnn as mr
from minirnn import cli, toolchain
from minirnn._version import __version__
from minirnn.commands import doctor
from minirnn.devices.cuda.driver import CompileError
from minirnn.toolchain import Tool


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str, str], Path]:
    """Makes an executable shell script in a folder of its own."""

    def make(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path

    return make


def test_the_json_report_tells_versions_devices_and_the_next_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["minirnn"] == __version__
    assert report["python"] == {"version": platform.python_version(), "executable": sys.executable}
    assert report["packages"]["numpy"] == np.__version__
    assert report["devices"]["cpu"] is None
    assert set(report["devices"]) >= {"cpu", "cuda-sim", "cuda"}
    assert report["next"].endswith(" train")


def test_the_text_report_ends_with_one_command_to_try(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith("Next, try: ")
    assert ["cpu", "works", "(default)"] in [line.split() for line in lines]


def test_the_command_to_try_next_can_be_run() -> None:
    command = doctor.next_command({"cpu": None}).removesuffix(" train")
    done = subprocess.run([*shlex.split(command), "--version"], capture_output=True, text=True)
    assert done.stdout == f"minirnn {__version__}\n"


def test_torch_is_not_imported() -> None:
    code = "import sys; from minirnn.cli import main; main(['doctor']); assert 'torch' not in sys.modules, 'torch'"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_broken_cpu_device_is_reported_with_status_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(mr.devices, "available", lambda: {"cpu": "no BLAS\n  install one"})
    assert cli.main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert "no BLAS; install one" in out
    assert "pip install" in out.splitlines()[-1]


def test_a_device_with_wrong_gradients_does_not_count_as_working(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu = mr.devices.get("cpu")
    monkeypatch.setattr(cpu, "asarray", lambda host: np.zeros_like(host), raising=False)
    reason = doctor.try_device("cpu")
    assert reason is not None
    assert "wrong gradients" in reason


def test_a_device_that_raises_does_not_end_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> mr.devices.Device:
        raise RuntimeError("out of order")

    monkeypatch.setattr(mr.devices, "available", lambda: {"cpu": None, "odd": None})
    monkeypatch.setattr(mr.devices.registry, "_factories", {"cpu": None, "odd": broken})
    assert doctor.examine_devices()["odd"] == "RuntimeError: out of order"


def test_a_simulator_that_cannot_compile_is_told_in_a_few_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Broken(type(mr.devices.get("cpu"))):  # type: ignore[misc]
        name = "cuda-sim"

        def asarray(self, host: np.ndarray) -> np.ndarray:
            raise CompileError("arithmetic.cu does not compile\n" + "\n".join(f"line {k}" for k in range(50)))

    monkeypatch.setattr(mr.devices, "available", lambda: {"cpu": None, "cuda-sim": None})
    monkeypatch.setattr(mr.devices.registry, "_made", {**mr.devices.registry._made, "cuda-sim": Broken()})
    assert cli.main(["doctor"]) == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.split()[:1] == ["cuda-sim"])
    assert "CompileError: arithmetic.cu does not compile; line 0" in line
    assert "line 20" not in line


def test_the_debug_switch_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*doctor.SLOWS_NUMPY, "MINIRNN_DEVICE"):
        monkeypatch.delenv(name, raising=False)
    for value, count in (("1", 1), ("0", 0), ("", 0)):
        monkeypatch.setenv("MINIRNN_DEBUG", value)
        assert len(doctor.warnings({"cpu": None})) == count


@pytest.mark.parametrize("name", doctor.SLOWS_NUMPY)
def test_a_variable_that_slows_numpy_down_is_warned_of(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for other in doctor.SLOWS_NUMPY:
        monkeypatch.delenv(other, raising=False)
    assert doctor.warnings({"cpu": None}) == []
    monkeypatch.setenv(name, "Haswell")
    (warning,) = doctor.warnings({"cpu": None})
    assert warning.endswith(f"unset {name}")


@pytest.mark.parametrize("default", ["tpu", "cuda"])
def test_a_default_device_that_cannot_be_used_is_warned_of(monkeypatch: pytest.MonkeyPatch, default: str) -> None:
    for name in doctor.SLOWS_NUMPY:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MINIRNN_DEVICE", default)
    (warning,) = doctor.warnings({"cpu": None, "cuda": "no driver"})
    assert warning.startswith(f"MINIRNN_DEVICE is {default}")


def test_a_missing_tool_is_shown_with_the_command_that_brings_it_or_the_reason_why_none_can() -> None:
    assert doctor.tool_line(vars(Tool("g++", None, fix="apt g++"))) == "missing. To get it: apt g++"
    assert doctor.tool_line(vars(Tool("nvcc", None, why_not="no GPU"))) == "missing: no GPU"
    assert doctor.tool_line(vars(Tool("nvcc", "13.0"))) == "13.0"


# A machine with nothing on its PATH, then with one thing after another.


def test_every_missing_tool_has_a_command_or_a_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    for tool in toolchain.find_all():
        assert tool.found or tool.fix or tool.why_not, tool


@pytest.mark.parametrize(
    ("manager", "compiler", "nvcc"),
    [
        ("apt-get", "sudo apt-get install g++", "sudo apt-get install nvidia-cuda-toolkit"),
        ("dnf", "sudo dnf install gcc-c++", "sudo dnf install cuda-toolkit"),
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="Linux package managers")
def test_the_command_that_brings_a_tool_is_that_of_the_systems_package_manager(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    script: Callable[[str, str], Path],
    manager: str,
    compiler: str,
    nvcc: str,
) -> None:
    script(manager, "")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(toolchain, "CUDA_HOMES", ())
    assert toolchain.host_compiler().fix == compiler
    assert toolchain.find_nvcc().fix == nvcc


class Libcuda:
    """An NVIDIA driver that answers cuInit with a status and then counts its GPUs."""

    def __init__(self, status: int, count: int) -> None:
        self.status, self.count = status, count

    def cuInit(self, flags: int) -> int:
        return self.status

    def cuDriverGetVersion(self, version: Any) -> int:
        version._obj.value = 12080
        return 0

    def cuDeviceGetCount(self, count: Any) -> int:
        count._obj.value = self.count
        return 0

    def cuDeviceGetName(self, text: Any, size: int, number: int) -> int:
        text.value = f"GPU {number}".encode()
        return 0


@pytest.mark.parametrize(
    ("status", "count", "hidden", "expected"),
    [
        (0, 2, False, ("for CUDA 12.8, GPU 0, GPU 1", None, None)),
        (100, 0, False, (None, None, "it sees no NVIDIA GPU; cuda-sim needs none")),
        (0, 0, True, (None, "unset CUDA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES hides all GPUs")),
        (804, 0, False, (None, "restart the machine  (driver for CUDA 12.8: cuInit returned error 804)", None)),
    ],
)
def test_a_driver_without_a_gpu_does_not_count_as_found(
    monkeypatch: pytest.MonkeyPatch, status: int, count: int, hidden: bool, expected: tuple[str | None, ...]
) -> None:
    monkeypatch.setattr(toolchain.ctypes, "CDLL", lambda name: Libcuda(status, count))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if hidden:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert toolchain.nvidia_driver() == Tool("NVIDIA driver", *expected)


@pytest.mark.skipif(sys.platform != "linux", reason="shell scripts stand in for the tools")
def test_nvcc_beside_the_path_is_brought_by_a_longer_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: Callable[[str, str], Path]
) -> None:
    script("nvcc", "echo 'Cuda compilation tools, release 12.4, V12.4.131'")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(toolchain, "CUDA_HOMES", (str(tmp_path),))
    assert toolchain.find_nvcc() == Tool("nvcc", None, f"export PATH={tmp_path}:$PATH")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert toolchain.find_nvcc() == Tool("nvcc", f"12.4  {tmp_path}/nvcc")


@pytest.mark.skipif(sys.platform != "linux", reason="shell scripts stand in for the tools")
def test_cxx_chooses_the_compiler_and_a_broken_one_is_not_replaced_silently(
    monkeypatch: pytest.MonkeyPatch, script: Callable[[str, str], Path]
) -> None:
    good, bad = script("good++", "echo good++ 1.2"), script("bad++", "exit 1")
    monkeypatch.setenv("CXX", str(good))
    assert toolchain.host_compiler() == Tool("C++ compiler", f"{good}: good++ 1.2")
    monkeypatch.setenv("CXX", str(bad))
    broken = toolchain.host_compiler()
    assert broken.found is None
    assert broken.fix is not None
    assert broken.fix.startswith("unset CXX")


@pytest.mark.parametrize(
    ("driver", "nvcc", "extra"),
    [
        ("for CUDA 12.8, NVIDIA T4", "13.0  /x/nvcc", "cuda12"),
        ("for CUDA 13.0, NVIDIA H200", "12.4  /x/nvcc", "cuda"),
        (None, "11.8  /x/nvcc", "cuda12"),
        (None, "13.0  /x/nvcc", "cuda"),
        (None, None, "cuda"),
    ],
)
def test_cublas_comes_in_the_generation_of_the_driver_or_else_of_the_toolkit(
    monkeypatch: pytest.MonkeyPatch, driver: str | None, nvcc: str | None, extra: str
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(toolchain, "nvidia_driver", lambda: Tool("NVIDIA driver", driver))
    monkeypatch.setattr(toolchain, "find_nvcc", lambda: Tool("nvcc", nvcc))
    monkeypatch.setattr(toolchain, "installed_version", lambda name: "0.1.0" if name == "minirnn" else None)
    fixes = {tool.name: tool.fix for tool in toolchain.find_all()}
    assert fixes["PyCUDA"] is not None
    assert fixes["PyCUDA"].endswith(f" -m pip install 'minirnn[{extra}]'")


def test_a_minirnn_that_is_not_installed_is_not_looked_for_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchain, "installed_version", lambda name: None)
    assert toolchain.pip_install("cuda").endswith("-m pip install -e '.[cuda]'")


def test_paths_are_shown_as_a_user_in_this_folder_would_type_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert toolchain.short(str(tmp_path / ".venv" / "bin" / "python")) == ".venv/bin/python"
    assert toolchain.short(str(tmp_path / "minirnn")) == "./minirnn"
    assert toolchain.short("/usr/bin/python3") == "/usr/bin/python3"
