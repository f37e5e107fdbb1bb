"""The requirements of the CUDA devices are found, or the command that installs them is named, also on other
machines.
"""

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from minirnn.devices.base import DeviceUnavailable
from minirnn.devices.host_cpp.compiler import find
from minirnn.machine import toolchain
from minirnn.machine.toolchain import Tool


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str, str], Path]:
    """Makes an executable shell script in a separate folder."""

    def make(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path

    return make


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

    def cuDeviceGetAttribute(self, number: Any, attribute: int, gpu: int) -> int:
        number._obj.value = {75: 8, 76: 9}[attribute]
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
    driver = toolchain.nvidia_driver()
    assert (driver.found, driver.fix, driver.why_not) == expected
    if isinstance(driver, toolchain.Driver):
        assert (driver.cuda, driver.gpus) == ((12, 8), (("GPU 0", (8, 9)), ("GPU 1", (8, 9))))


@pytest.mark.skipif(sys.platform != "linux", reason="shell scripts stand in for the tools")
def test_nvcc_beside_the_path_is_brought_by_a_longer_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: Callable[[str, str], Path]
) -> None:
    script("nvcc", "echo 'Cuda compilation tools, release 12.4, V12.4.131'")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(toolchain, "CUDA_HOMES", (str(tmp_path),))
    assert toolchain.find_nvcc() == Tool("nvcc", None, f"export PATH={tmp_path}:$PATH")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert toolchain.find_nvcc() == Tool("nvcc", f"12.4.131  {tmp_path}/nvcc")


@pytest.mark.parametrize(
    ("cuda", "capability", "expected"),
    [((13, 0), (9, 0), "pip install 'cuda-toolkit[nvcc,"), ((12, 8), (9, 0), "12"), ((13, 0), (7, 0), "12")],
)
def test_wheels_bring_nvcc_where_cuda_13_fits(
    monkeypatch: pytest.MonkeyPatch, cuda: tuple[int, int], capability: tuple[int, int], expected: str
) -> None:
    monkeypatch.setattr(toolchain, "find_nvcc", lambda: Tool("nvcc", None, toolchain.NO_PACKAGE))
    gpu = toolchain.Gpu("GPU", capability)
    fix = toolchain.fitting_nvcc(toolchain.Driver("NVIDIA driver", "for CUDA", cuda=cuda, gpus=(gpu,))).fix
    assert fix is not None and expected in fix


@pytest.mark.skipif(sys.platform != "linux", reason="shell scripts stand in for the tools")
def test_an_nvcc_from_a_wheel_is_found_behind_one_on_the_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: Callable[[str, str], Path]
) -> None:
    wheel, path = tmp_path / "site" / "nvidia" / "cu13" / "bin", tmp_path / "path"
    for folder, build in ((wheel, 37), (path, 88)):
        folder.mkdir(parents=True)
        script("nvcc", f"echo 'Cuda compilation tools, release 13.5, V13.5.{build}'").rename(folder / "nvcc")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(toolchain, "find_spec", lambda name: None)
    assert toolchain.find_nvcc().found is None
    monkeypatch.setattr(toolchain, "find_spec", importlib.util.find_spec)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.delitem(sys.modules, "nvidia", raising=False)
    assert toolchain.find_nvcc().found == f"13.5.37  {wheel}/nvcc"
    for command in (toolchain.rebuild_pycuda(), toolchain.package("PyCUDA", "no_such_package", "cuda").fix):
        assert command is not None and command.startswith(f"PATH={wheel}:$PATH ") and " -m pip install " in command
    monkeypatch.setenv("PATH", str(path))
    assert toolchain.find_nvcc().found == f"13.5.88  {path}/nvcc"


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
    assert broken.trouble == f"{bad} --version ended with status 1"


@pytest.mark.skipif(sys.platform != "linux", reason="shell scripts stand in for the tools")
def test_a_compiler_that_hangs_or_fails_is_said_to(
    monkeypatch: pytest.MonkeyPatch, script: Callable[[str, str], Path]
) -> None:
    """Also one whose own children hold its output open."""
    monkeypatch.setattr(toolchain, "PATIENCE", 0.2)
    hangs, fails = script("hangs++", "sleep 1000 & sleep 1000"), script("fails++", "echo 'no cc1plus' >&2; exit 3")
    for compiler, said in ((hangs, "does not answer within 0.2 s"), (fails, "ended with status 3: no cc1plus")):
        monkeypatch.setenv("CXX", str(compiler))
        found = toolchain.host_compiler()
        assert found.trouble == f"{compiler} --version {said}" and said in toolchain.missing(found)
        with pytest.raises(DeviceUnavailable, match=said) as caught:
            find("native")
        assert "found none" not in str(caught.value)


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


def test_a_missing_tool_is_shown_with_the_command_that_brings_it_or_the_reason_why_none_can() -> None:
    assert toolchain.missing(Tool("g++", None, fix="apt g++")) == "missing. To get it: apt g++"
    assert toolchain.missing(Tool("nvcc", None, why_not="no GPU")) == "missing: no GPU"
