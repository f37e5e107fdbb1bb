"""NVIDIA's compiler accepts every kernel file as the driver hands it over, and spills no register to memory.

Tests `minirnn/devices/cuda/kernels/` and `minirnn/devices/cuda/launch/sources.py`.
"""

from __future__ import annotations

import functools
import importlib
import re
import shutil
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from minirnn.devices.cuda.gpu.compiler import KERNELS, for_nvcc
from minirnn.devices.cuda.launch import sources

ARCHITECTURES = ("sm_75", "sm_80", "sm_90")  # Turing, Ampere, Hopper
FILES = sorted(path.relative_to(KERNELS).as_posix() for path in KERNELS.rglob("*.cu"))

Compile = Callable[[str, str, tuple[str, ...], str, Path], "tuple[int, str]"]


def by_nvcc(text: str, name: str, options: tuple[str, ...], arch: str, folder: Path) -> tuple[int, str]:
    """Exit status and all that the compiler and its assembler say."""
    source = folder / "kernel.cu"
    text, flags = for_nvcc(text, name, options)
    source.write_text(text)
    command = [
        "nvcc",
        "-cubin",
        "-Xptxas",
        "-v",
        "-arch",
        arch,
        *flags,
        f"-I{KERNELS}",
        "-o",
        "kernel.cubin",
        source.name,
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=200)
    return done.returncode, done.stdout + done.stderr


def by_nvrtc(text: str, name: str, options: tuple[str, ...], arch: str, folder: Path) -> tuple[int, str]:
    """As `by_nvcc`, with the compiler library of the wheel nvidia-cuda-nvrtc; it does not tell of registers."""
    nvrtc = importlib.import_module("cuda.bindings.nvrtc")
    text, flags = for_nvcc(text, name, options)
    headers = [f"-I{path}" for path in cuda_headers()]
    _, program = nvrtc.nvrtcCreateProgram(text.encode(), name.encode(), 0, [], [])
    arguments = [a.encode() for a in (f"-arch={arch}", *flags, f"-I{KERNELS}", *headers)]
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


def kernels_in(said: str) -> dict[str, dict[str, int]]:
    """Kernel -> registers, bytes of stack, spill stores and loads, of what ``ptxas -v`` prints."""
    found = {}
    pattern = (
        r"Compiling entry function '(\w+)'.*?(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads"
        r".*?Used (\d+) registers"
    )
    for name, stack, stores, loads, registers in re.findall(pattern, said, re.DOTALL):
        found[name] = dict(registers=int(registers), stack=int(stack), stores=int(stores), loads=int(loads))
    return found


def test_every_kernel_file_is_listed_with_its_variants() -> None:
    assert sorted(name for name in sources.VARIANTS if (KERNELS / name).exists()) == FILES
    assert all(sources.VARIANTS.values())


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", FILES)
@pytest.mark.slow
def test_it_compiles_without_spills(name: str, arch: str, compile: Compile, tmp_path: Path) -> None:
    if sources.CAPABILITY.get(name, (0, 0)) > (int(arch[3:-1]), int(arch[-1])):
        pytest.skip(f"{name} needs compute capability {sources.CAPABILITY[name]}")
    text = (KERNELS / name).read_text(encoding="utf-8")

    def one(k: int, options: tuple[str, ...]) -> tuple[int, str]:
        folder = tmp_path / str(k)
        folder.mkdir()
        return compile(text, name, options, arch, folder)

    variants = sources.VARIANTS[name]
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(one, range(len(variants)), variants))
    for options, (status, said) in zip(variants, results, strict=True):
        assert status == 0, f"{name} {' '.join(options)} {arch}\n{said}"
        assert "warning" not in said, f"{name} {' '.join(options)} {arch}\n{said}"
        kernels = kernels_in(said)
        if compile is by_nvcc:
            assert 1 <= len(kernels) == said.count("Compiling entry function"), said
        for kernel, used in kernels.items():
            assert used["stores"] == used["loads"] == 0, f"{kernel} {' '.join(options)} {arch} spills: {used}"
            print(f"{arch} {name:16} {' '.join(options):36} {kernel:28} {used['registers']:4} registers")


def test_an_error_names_the_file_and_its_line(compile: Compile, tmp_path: Path) -> None:
    text = 'extern "C" __global__ void k(int *a) {\n    a[0] = 1;\n    a[1] = nothing;\n}\n'
    status, said = compile(text, "some_name.cu", (), "sm_80", tmp_path)
    assert status != 0
    assert "some_name.cu(3)" in said


def test_spills_would_be_noticed(compile: Compile, tmp_path: Path) -> None:
    if compile is not by_nvcc:
        pytest.skip("NVRTC does not tell of registers")
    lines = "\n".join(f"    float x{k} = a[threadIdx.x + {k}];" for k in range(80))
    total = "".join(f" + x{k} * x{79 - k}" for k in range(80))
    bound = "__launch_bounds__(1024, 2)"  # leaves a thread 32 registers
    barrier = '    asm volatile("" ::: "memory");\n'
    sum_of = f'extern "C" __global__ void {bound} k(const volatile float *a, float *b) {{\n{lines}\n{barrier}    b[threadIdx.x] = 0{total};\n}}\n'  # noqa: E501
    status, said = compile(sum_of, "k.cu", (), "sm_80", tmp_path)
    assert status == 0, said
    assert kernels_in(said)["k"]["stores"] > 0, said
