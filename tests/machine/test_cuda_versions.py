"""Toolkits, drivers and cards that fit are distinguished from those that do not, and one line says what to install.

Tests `minirnn/machine/cuda_versions.py`. `tests/devices/cuda/gpu/test_combinations.py` has the same table on the
stand-in GPU.
"""

import pytest

from minirnn.machine import cuda_versions, toolchain
from minirnn.machine.cuda_versions import Gpu, nvcc_unfit, pycuda_unfit, toolkit_for, version_in
from minirnn.machine.toolchain import Driver, Tool
from tests.devices.cuda.gpu.combinations import COMBINATIONS, H100, RTX_5090, T4, Combination


@pytest.fixture(autouse=True)
def on_ubuntu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_versions.shutil, "which", lambda name: name if name == "apt-get" else None)


@pytest.mark.parametrize("given", COMBINATIONS, ids=str)
def test_each_combination_fits_or_one_line_says_what_to_install(given: Combination) -> None:
    unfit = nvcc_unfit(given.nvcc, given.driver, given.gpu) or pycuda_unfit(
        "2026.1", given.pycuda, given.driver, "pip install pycuda"
    )
    if not given.says:
        assert unfit is None
        return
    assert unfit is not None
    assert given.says in unfit.reason and unfit.fix.endswith(given.install)
    assert "\n" not in unfit.reason + unfit.fix


@pytest.mark.parametrize("given", COMBINATIONS, ids=str)
def test_what_is_advised_fits(given: Combination) -> None:
    advised = toolkit_for(given.gpu, given.driver)
    assert nvcc_unfit(advised, given.driver, given.gpu) is None
    assert advised <= given.driver  # so that PyCUDA asks the driver for nothing that it lacks


def test_without_a_known_package_manager_the_archive_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_versions.shutil, "which", lambda name: None)
    unfit = nvcc_unfit((12, 4), (12, 8), RTX_5090)
    assert unfit is not None and unfit.fix == f"install the CUDA toolkit 12.8 from {cuda_versions.ARCHIVE}"


def test_a_gpu_that_nobody_knows_yet_is_left_to_nvcc() -> None:
    assert nvcc_unfit((13, 5), (13, 5), Gpu("a new one", (14, 0))) is None


@pytest.mark.parametrize(("nvcc", "fits"), [((11, 8), False), ((12, 0), True)])
def test_the_oldest_toolkit(nvcc: tuple[int, int], fits: bool) -> None:
    assert (nvcc_unfit(nvcc, (12, 4), T4) is None) == fits


@pytest.mark.parametrize(
    ("version", "fits"),
    [("2024.1.2", False), ("2025.1", False), ("2025.1.1", False), ("2025.1.2", True), ("2026.1", True)],
)
def test_a_pycuda_that_cuda_13_cannot_build_is_too_old(version: str, fits: bool) -> None:
    assert (pycuda_unfit(version, None, (12, 4), "pip") is None) == fits


def test_a_cublas_that_is_newer_than_the_driver_does_not_fit() -> None:
    assert cuda_versions.cublas_unfit("12.9.1.4", (12, 4), "pip") is None
    assert cuda_versions.cublas_unfit("13.0.0.19", (13, 0), "pip") is None
    unfit = cuda_versions.cublas_unfit("13.0.0.19", (12, 4), "pip install 'minirnn[cuda12]'")
    assert unfit is not None and "driver, which is for CUDA 12.4" in unfit.reason


def test_versions_in_texts() -> None:
    assert version_in("12.4  /usr/local/cuda/bin/nvcc") == (12, 4) == version_in("for CUDA 12.4, Tesla T4")
    assert version_in(None) is None is version_in("none")


def test_the_tools_are_held_against_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = Driver("NVIDIA driver", "for CUDA 12.4, H100", cuda=(12, 4), gpus=(H100,))
    installed = {"pycuda": "2026.1", "cuda-pathfinder": "1.2", "nvidia-cublas": "13.0.0.19", "minirnn": "1"}
    monkeypatch.setattr(toolchain.sys, "platform", "linux")
    monkeypatch.setattr(toolchain, "nvidia_driver", lambda: driver)
    monkeypatch.setattr(toolchain, "find_nvcc", lambda: Tool("nvcc", "13.0  /x/nvcc"))
    monkeypatch.setattr(toolchain, "installed_version", installed.get)
    tools = {tool.name: tool for tool in toolchain.for_a_gpu()}
    assert [tool.works for tool in tools.values()] == [True, False, True, False]
    assert toolchain.missing(tools["nvcc"]) == (
        "nvcc 13.0 is newer than the driver, which runs code of CUDA 12.x and older."
        " To get one that fits: sudo apt-get install cuda-toolkit-12-4"
    )
    assert toolchain.missing(tools["cuBLAS"]).endswith(" -m pip install 'minirnn[cuda12]'")


def test_a_missing_nvcc_is_advised_in_the_version_that_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = Driver("NVIDIA driver", "for CUDA 12.8, RTX 5090", cuda=(12, 8), gpus=(RTX_5090,))
    for fix in (toolchain.NO_PACKAGE, toolchain.INSTALL["apt-get"][1]):
        monkeypatch.setattr(toolchain, "find_nvcc", lambda fix=fix: Tool("nvcc", None, fix))
        assert toolchain.fitting_nvcc(driver).fix == "sudo apt-get install cuda-toolkit-12-8"
    monkeypatch.setattr(toolchain, "find_nvcc", lambda: Tool("nvcc", None, "export PATH=/x:$PATH"))
    assert toolchain.fitting_nvcc(driver).fix == "export PATH=/x:$PATH"  # it is already installed
