"""NVIDIA's compiler accepts every kernel file as the driver hands it over, and spills no register to memory.

Tests `minirnn/devices/cuda/kernels/` and `minirnn/devices/cuda/launch/sources.py`.
"""

from __future__ import annotations

import functools
import importlib
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from minirnn.devices import cells
from minirnn.devices.cuda.driver import CompileError
from minirnn.devices.cuda.gpu.compiler import KERNELS, for_nvcc
from tests.devices.cuda.machine_code.compiled import ARCHITECTURES, Compiled, compiled
from tests.devices.cuda.machine_code.variants import VARIANTS

FILES = sorted(path.relative_to(KERNELS).as_posix() for path in KERNELS.rglob("*.cu"))
OF_MANY_TYPES = ("primitives/", "losses.cu", "adam.cu")
"""Files of small kernels, whose variants differ by the type of an element alone."""

Compile = Callable[[str, str, tuple[str, ...], str], "tuple[int, str]"]


def by_nvcc(text: str, name: str, options: tuple[str, ...], arch: str) -> tuple[int, str]:
    """Exit status and all that the compiler and its assembler say. What was compiled before is on the disk."""
    try:
        return 0, compiled(name, options, arch, text).said
    except CompileError as error:
        return 1, str(error)


def by_nvrtc(text: str, name: str, options: tuple[str, ...], arch: str) -> tuple[int, str]:
    """As `by_nvcc`, with the compiler library of the wheel nvidia-cuda-nvrtc; it does not tell of registers."""
    nvrtc = importlib.import_module("cuda.bindings.nvrtc")
    text, flags = for_nvcc(text, name, options)
    headers = [f"-I{path}" for path in cuda_headers()]
    _, program = nvrtc.nvrtcCreateProgram(text.encode(), name.encode(), 0, [], [])
    arguments = [a.encode() for a in (f"-arch={arch}", *flags, f"-I{KERNELS}", f"-I{cells.INCLUDE}", *headers)]
    (status,) = nvrtc.nvrtcCompileProgram(program, len(arguments), arguments)
    _, size = nvrtc.nvrtcGetProgramLogSize(program)
    log = b" " * size
    nvrtc.nvrtcGetProgramLog(program, log)
    return int(status), log.decode(errors="replace").rstrip("\0")


def cuda_headers() -> list[str]:
    """Folders of the wheel nvidia-cuda-runtime that have cuda_fp16.h."""
    nvidia: Any = importlib.import_module("nvidia")
    return [str(path.parent) for root in nvidia.__path__ for path in Path(root).rglob("cuda_fp16.h")]


@functools.cache
def compiler() -> Compile | str:
    """NVIDIA's compiler, or why there is none."""
    if shutil.which("nvcc"):
        return by_nvcc
    try:
        nvrtc = importlib.import_module("cuda.bindings.nvrtc")
        nvrtc.nvrtcVersion()
        if cuda_headers():
            return by_nvrtc
        return "no nvcc; NVRTC is there, but not the headers (wheel nvidia-cuda-runtime)"
    except Exception as error:
        return f"no nvcc on the PATH, and no NVRTC: {error}"


@pytest.fixture
def compile() -> Compile:
    found = compiler()
    if isinstance(found, str):
        pytest.skip(found)
    return found


@functools.cache
def is_known(arch: str) -> bool:
    """Whether this nvcc compiles for it: an old one does not know new GPUs, and a new one not the oldest."""
    if compiler() is by_nvcc:
        said = subprocess.run(["nvcc", "--list-gpu-code"], capture_output=True, text=True).stdout
        return arch in said.split()
    nvrtc = importlib.import_module("cuda.bindings.nvrtc")
    _, count = nvrtc.nvrtcGetNumSupportedArchs()
    _, numbers = nvrtc.nvrtcGetSupportedArchs()
    return int(arch.removeprefix("sm_")) in numbers[:count]


def variants_for(name: str, arch: str) -> list[tuple[str, ...]]:
    """What of a file is compiled for an architecture: each kernel for each, and each variant for one of them in turn.

    Compiling is a tenth of all that the tests do. So of the kernels that keep weights in registers, the plan that needs
    the most of them, which is listed first, is compiled for every architecture, and of small kernels just one type.
    """
    variants, turn, n = VARIANTS[name], ARCHITECTURES.index(arch), len(ARCHITECTURES)
    always = turn % len(variants) if name.startswith(OF_MANY_TYPES) else 0
    return [v for k, v in enumerate(variants) if k % n == turn or k == always]


def test_every_kernel_file_is_listed_with_its_variants() -> None:
    assert sorted(name for name in VARIANTS if (KERNELS / name).exists()) == FILES
    assert all(VARIANTS.values())
    for name in FILES:
        of_each = [variants_for(name, arch) for arch in ARCHITECTURES]
        assert all(of_each)
        assert {v for some in of_each for v in some} == set(VARIANTS[name])


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", FILES)
@pytest.mark.slow
def test_it_compiles_without_spills(name: str, arch: str, compile: Compile) -> None:
    if not is_known(arch):
        pytest.skip(f"this compiler does not know {arch}")
    text = (KERNELS / name).read_text(encoding="utf-8")
    for options in variants_for(name, arch):
        status, said = compile(text, name, options, arch)
        assert status == 0, f"{name} {' '.join(options)} {arch}\n{said}"
        assert "warning" not in said, f"{name} {' '.join(options)} {arch}\n{said}"
        kernels = Compiled(b"", said).resources
        if compile is by_nvcc:
            assert 1 <= len(kernels) == said.count("Compiling entry function"), said
        for kernel, used in kernels.items():
            assert used.spill_stores == used.spill_loads == 0, f"{kernel} {' '.join(options)} {arch} spills: {used}"
            print(f"{arch} {name:16} {' '.join(options):36} {kernel:28} {used.registers:4} registers")


def test_an_error_names_the_file_and_its_line(compile: Compile) -> None:
    text = 'extern "C" __global__ void k(int *a) {\n    a[0] = 1;\n    a[1] = nothing;\n}\n'
    status, said = compile(text, "some_name.cu", (), "sm_80")
    assert status != 0
    assert "some_name.cu(3)" in said


def test_spills_would_be_noticed(compile: Compile) -> None:
    if compile is not by_nvcc:
        pytest.skip("NVRTC does not tell of registers")
    lines = "\n".join(f"    float x{k} = a[threadIdx.x + {k}];" for k in range(80))
    total = "".join(f" + x{k} * x{79 - k}" for k in range(80))
    bound = "__launch_bounds__(1024, 2)"  # leaves a thread 32 registers
    barrier = '    asm volatile("" ::: "memory");\n'
    sum_of = f'extern "C" __global__ void {bound} k(const volatile float *a, float *b) {{\n{lines}\n{barrier}    b[threadIdx.x] = 0{total};\n}}\n'  # noqa: E501
    status, said = compile(sum_of, "k.cu", (), "sm_80")
    assert status == 0, said
    assert Compiled(b"", said).resources["k"].spill_stores > 0, said
