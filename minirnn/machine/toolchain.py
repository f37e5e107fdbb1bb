"""The requirements of the compiled devices: the tools found on this machine, and a command that installs each missing
one.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from ctypes.util import find_library
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from minirnn.machine import cuda_versions
from minirnn.machine.computer import installed_version, python
from minirnn.machine.cuda_versions import Gpu, Unfit, Version, in_words, version_in

# package manager -> the command that brings a C++ compiler, and nvcc
INSTALL = {
    "apt-get": ("sudo apt-get install g++", "sudo apt-get install nvidia-cuda-toolkit"),
    "dnf": ("sudo dnf install gcc-c++", "sudo dnf install cuda-toolkit"),
    "pacman": ("sudo pacman -S gcc", "sudo pacman -S cuda"),
    "zypper": ("sudo zypper install gcc-c++", "sudo zypper install cuda-toolkit"),
    "apk": ("sudo apk add g++", ""),
}
NO_MACOS = "NVIDIA offers none for macOS; cuda-sim needs none"
CUDA_HOMES = ("/usr/local/cuda/bin", "/opt/cuda/bin")
CUDA_ERROR_NO_DEVICE = 100
COMPUTE_CAPABILITY_MAJOR, COMPUTE_CAPABILITY_MINOR = 75, 76  # CUdevice_attribute
WHEELS = "'cuda-toolkit[nvcc,crt,nvvm,cudart,cccl,profiler]==13.*'"
"""nvcc and the headers with which PyCUDA is built, in the package index. The wheels of CUDA 12 are not complete."""
NO_PACKAGE = "install the CUDA toolkit with the system's package manager"
PATIENCE = 20.0
"""The time limit in seconds for a program to print its version."""


@dataclass(frozen=True)
class Tool:
    """Something that a device needs. `found` describes it. If `found` is None, the tool is missing, and `fix` is the
    command that installs it, or `why_not` says why no command can. If something was found, `why_not` says why it does
    not fit the driver or the GPU, and `fix` installs what fits.
    """

    name: str
    found: str | None
    fix: str | None = None
    why_not: str | None = None
    trouble: str = ""
    """The problem with a tool that exists but does not work."""

    @property
    def works(self) -> bool:
        """Whether it exists and fits."""
        return self.found is not None and self.why_not is None


@dataclass(frozen=True)
class Driver(Tool):
    """NVIDIA's driver: the newest CUDA that it supports, and the GPUs that it finds."""

    cuda: Version | None = None
    gpus: tuple[Gpu, ...] = ()


def find_all() -> list[Tool]:
    """What `cuda-sim` and `native` (the compiler) and `cuda` (everything) need, in the order in which to install it."""
    return [host_compiler(), *for_a_gpu()]


def for_a_gpu() -> Iterator[Tool]:
    """The requirements of the device `cuda` in addition to the C++ compiler. Each tool is searched for when it is
    needed. `minirnn/machine/cuda_versions.py` then checks whether it fits the driver and its first GPU.
    """
    yield (driver := nvidia_driver())
    yield (nvcc := fitting_nvcc(driver))
    wanted = extra(driver, nvcc)
    yield fitting_pycuda(driver, wanted)
    yield cublas(wanted, driver)


def extra(driver: Tool | None = None, nvcc: Tool | None = None) -> str:
    """The one of minirnn's extras that fits this machine: cuBLAS must not be newer than the driver."""
    # Without a driver the toolkit decides.
    generation = version_in((driver or nvidia_driver()).found or (nvcc or find_nvcc()).found)
    return "cuda12" if generation and generation < (13, 0) else "cuda"


def missing(tool: Tool) -> str:
    """The line about a tool that is missing, does not work, or does not fit."""
    if tool.found is not None:
        return f"{tool.why_not}. To get one that fits: {tool.fix}"
    found = f"not working: {tool.trouble}" if tool.trouble else "missing"
    return f"{found}. To get it: {tool.fix}" if tool.fix else f"{found}: {tool.why_not}"


def judged(tool: Tool, unfit: Unfit | None) -> Tool:
    """The tool, with the reason why it does not fit, if there is one."""
    return tool if unfit is None else replace(tool, why_not=unfit.reason, fix=unfit.fix)


def host_compiler() -> Tool:
    """The C++ compiler: `CXX` if set, else the first of g++, clang++, c++."""
    name = "C++ compiler"
    if sys.platform == "darwin":
        fix = "xcode-select --install"
    else:
        fix = _install_commands()[0] or "install g++ with the system's package manager"
    named = os.environ.get("CXX")
    troubles = []
    for command in [named] if named else ["g++", "clang++", "c++"]:
        text, trouble = _answer([*shlex.split(command), "--version"])
        if first_line := text.partition("\n")[0]:
            return Tool(name, f"{command}: {first_line}")
        if trouble:
            troubles.append(f"{command} --version {trouble}")
    fix = f"unset CXX  (it names {named}, which does not run)" if named else fix
    return Tool(name, None, fix, trouble="; ".join(troubles))


def find_nvcc() -> Tool:
    if sys.platform == "darwin":
        return Tool("nvcc", None, why_not=NO_MACOS)
    command = nvcc_command()
    version = re.search(r"release \d+\.\d+, V(\d+\.\d+\.\d+)", _output([command, "--version"]))
    if version:
        return Tool("nvcc", f"{version[1]}  {shutil.which(command)}")
    for folder in CUDA_HOMES:
        if Path(folder, "nvcc").exists():
            return Tool("nvcc", None, f"export PATH={folder}:$PATH")
    return Tool("nvcc", None, _install_commands()[1] or NO_PACKAGE)


def nvcc_command() -> str:
    """The nvcc on the PATH, otherwise the one that came as a wheel (``nvidia-cuda-nvcc``, by minirnn's extra)."""
    if shutil.which("nvcc") is None and (wheels := find_spec("nvidia")) is not None:
        for folder in wheels.submodule_search_locations or ():
            for found in sorted(Path(folder).glob("cu*/bin/nvcc")):
                return str(found)
    return "nvcc"


def fitting_nvcc(driver: Tool) -> Tool:
    """nvcc, compared with the driver and its first GPU."""
    nvcc = find_nvcc()
    if not isinstance(driver, Driver) or driver.cuda is None or not driver.gpus:
        return nvcc
    version = version_in(nvcc.found)
    if version is not None:
        return judged(nvcc, cuda_versions.nvcc_unfit(version, driver.cuda, driver.gpus[0]))
    if nvcc.fix not in (_install_commands()[1], NO_PACKAGE):
        return nvcc
    # The system's own package may be of any version.
    if driver.cuda >= (13, 0) and driver.gpus[0].capability >= cuda_versions.FIRST_OF_13:
        return replace(nvcc, fix=f"{pip()} install {WHEELS}")
    return replace(nvcc, fix=cuda_versions.install_toolkit(driver.gpus[0], driver.cuda))


def nvidia_driver() -> Tool:
    """The driver and its GPUs, asked through the driver library itself."""
    name = "NVIDIA driver"
    try:
        cuda = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        if sys.platform == "darwin":
            return Tool(name, None, why_not=NO_MACOS)
        if not _has_nvidia_card():
            return Tool(name, None, why_not="no NVIDIA GPU in this machine, so cuda cannot work; cuda-sim needs none")
        return Tool(name, None, _driver_command())
    status = cuda.cuInit(0)
    version, count = ctypes.c_int(), ctypes.c_int()
    cuda.cuDriverGetVersion(ctypes.byref(version))
    runs = version.value // 1000, version.value % 1000 // 10
    for_cuda = f"for CUDA {in_words(runs)}"
    if status not in (0, CUDA_ERROR_NO_DEVICE):
        return Tool(name, None, f"restart the machine  (driver {for_cuda}: cuInit returned error {status})")
    if status == 0:
        cuda.cuDeviceGetCount(ctypes.byref(count))
    if count.value == 0:
        hidden = "CUDA_VISIBLE_DEVICES" in os.environ
        why = "CUDA_VISIBLE_DEVICES hides all GPUs" if hidden else "it sees no NVIDIA GPU; cuda-sim needs none"
        return Tool(name, None, "unset CUDA_VISIBLE_DEVICES" if hidden else None, why)
    gpus = tuple(_gpu(cuda, index) for index in range(count.value))
    return Driver(name, f"{for_cuda}, {', '.join(gpu.name for gpu in gpus)}", cuda=runs, gpus=gpus)


def _gpu(cuda: ctypes.CDLL, index: int) -> Gpu:
    text, major, minor = ctypes.create_string_buffer(256), ctypes.c_int(), ctypes.c_int()
    cuda.cuDeviceGetName(text, len(text), index)
    for number, attribute in ((major, COMPUTE_CAPABILITY_MAJOR), (minor, COMPUTE_CAPABILITY_MINOR)):
        cuda.cuDeviceGetAttribute(ctypes.byref(number), attribute, index)
    return Gpu(text.value.decode(errors="replace"), (major.value, minor.value))


def fitting_pycuda(driver: Tool, extra: str) -> Tool:
    """PyCUDA, compared with the driver. The CUDA version it was built with is only known after importing it
    (`gpu/driver.py`).
    """
    found = package("PyCUDA", "pycuda", extra)
    if not found.works or not isinstance(driver, Driver) or driver.cuda is None:
        return found
    return judged(found, cuda_versions.pycuda_unfit(str(found.found), None, driver.cuda, rebuild_pycuda()))


def rebuild_pycuda() -> str:
    """The command that rebuilds PyCUDA."""
    oldest = ".".join(map(str, cuda_versions.OLDEST_PYCUDA))
    return with_nvcc(f"{pip()} install --force-reinstall --no-cache-dir --no-deps 'pycuda>={oldest}'")


def with_nvcc(command: str) -> str:
    """A command that builds PyCUDA, which looks for nvcc on the PATH only."""
    nvcc = nvcc_command()
    return command if nvcc == "nvcc" else f"PATH={Path(nvcc).parent}:$PATH {command}"


def package(name: str, distribution: str, extra: str) -> Tool:
    if sys.platform == "darwin":
        return Tool(name, None, why_not=NO_MACOS)
    version = installed_version(distribution)
    return Tool(name, version, None if version else with_nvcc(pip_install(extra)))


def cublas(extra: str, driver: Tool | None = None) -> Tool:
    """NVIDIA's library of matrix products, from a wheel or from the system."""
    name = "cuBLAS"
    if sys.platform == "darwin":
        return Tool(name, None, why_not=NO_MACOS)
    finder = installed_version("cuda-pathfinder")
    wheels = ("nvidia-cublas-cu12", "nvidia-cublas") if extra == "cuda12" else ("nvidia-cublas", "nvidia-cublas-cu12")
    for distribution in wheels:
        if finder and (version := installed_version(distribution)):
            tool, runs = Tool(name, version), getattr(driver, "cuda", None)
            return judged(tool, runs and cuda_versions.cublas_unfit(version, runs, pip_install(extra)))
    for folder in filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)):
        if any(Path(folder).glob("libcublas.so*")):
            return Tool(name, f"in {folder}")
    known = find_library("cublas")
    return Tool(name, known, None if known else pip_install(extra))


def pip_install(extra: str) -> str:
    """The command that installs one of minirnn's extras into this Python."""
    # Pip reads the extra off the installed minirnn; if none is installed, it must not look for one by its name.
    what = f"'minirnn[{extra}]'" if installed_version("minirnn") else f"-e '.[{extra}]'"
    return f"{pip()} install {what}"


def pip() -> str:
    """The command that starts the pip of this Python."""
    return f"{python()} -m pip"


def _install_commands() -> tuple[str, str]:
    return next((commands for manager, commands in INSTALL.items() if shutil.which(manager)), ("", ""))


def _driver_command() -> str:
    if shutil.which("ubuntu-drivers"):
        return "sudo ubuntu-drivers install"
    if shutil.which("apt-get"):
        return "sudo apt-get install nvidia-driver"
    return "install NVIDIA's driver with the system's package manager"


def _has_nvidia_card() -> bool:
    nvidia = "0x10de"
    vendors = Path("/sys/bus/pci/devices").glob("*/vendor")
    return any(vendor.read_text("ascii").strip() == nvidia for vendor in vendors)


def _output(command: list[str]) -> str:
    """What `command` prints, or "" if it does not run."""
    return _answer(command)[0]


def _answer(command: list[str]) -> tuple[str, str]:
    """The output of `command`, and what is wrong with it; both are empty if the program does not exist."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        # Files, because reading a pipe would wait for every program that holds it open.
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=os.name == "posix"
            )
        except FileNotFoundError:
            return "", ""
        except OSError as error:
            return "", f"cannot be run: {error.strerror or error}"
        try:
            status = process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL) if os.name == "posix" else process.kill()
            process.wait()
            return "", f"does not answer within {PATIENCE:g} s"
        out.seek(0)
        err.seek(0)
        if status:
            said = err.read(2000).decode(errors="replace").strip().splitlines()
            return "", f"ended with status {status}" + (f": {said[-1]}" if said else "")
        return out.read(1 << 20).decode(errors="replace"), ""
