"""NVIDIA's compiler accepts every kernel file in the form that the driver passes to it, and spills no registers.

Tests `minirnn/devices/cuda/kernels/` and `minirnn/devices/cuda/launch/sources.py`.
"""

import functools
import itertools
import shutil
import subprocess

import pytest

from minirnn.devices.cuda.driver import CompileError
from minirnn.devices.cuda.gpu.compiler import KERNELS
from minirnn.devices.cuda.launch import sources
from tests.devices.cuda.machine_code.compiled import ARCHITECTURES, Compiled, compiled
from tests.devices.cuda.machine_code.variants import VARIANTS, as_planned, cells_of

FILES = sorted(path.relative_to(KERNELS).as_posix() for path in KERNELS.rglob("*.cu"))
OF_MANY_TYPES = ("primitives/", "losses.cu", "adam.cu")
"""Files of small kernels, whose variants differ only by the type of an element."""

needs_nvcc = pytest.mark.skipif(not shutil.which("nvcc"), reason="no nvcc on the PATH")


def by_nvcc(text: str, name: str, options: tuple[str, ...], arch: str) -> tuple[int, str]:
    """The exit status and all messages of the compiler and its assembler. Earlier results are cached on disk."""
    try:
        return 0, compiled(name, options, arch, text).said
    except CompileError as error:
        return 1, str(error)


@functools.cache
def is_known(arch: str) -> bool:
    """Whether this nvcc compiles for it. Old versions do not support new GPUs, and new ones drop the oldest."""
    said = subprocess.run(["nvcc", "--list-gpu-code"], capture_output=True, text=True).stdout
    return arch in said.split()


def variants_for(name: str, arch: str) -> list[tuple[tuple[str, ...], str]]:
    """The variants of a file that are compiled for an architecture, each with a cell: all pairs in turn.

    Compiling is a tenth of all that the tests do. So of the kernels that keep weights in registers, the layout that
    needs the most of them, which is listed first, is compiled for every architecture with one cell, and of small
    kernels one type.
    """
    variants, turn, n = VARIANTS[name], ARCHITECTURES.index(arch), len(ARCHITECTURES)
    always = turn % len(variants) if name.startswith(OF_MANY_TYPES) else 0
    pairs = itertools.product(enumerate(variants), enumerate(cells_of(name)))
    return [(v, cell) for (k, v), (c, cell) in pairs if (k + c) % n == turn or (k, c) == (always, 0)]


def test_every_kernel_file_is_listed_with_its_variants() -> None:
    assert sorted(name for name in VARIANTS if (KERNELS / name).exists()) == FILES
    assert all(VARIANTS.values())
    for name in FILES:
        of_each = [variants_for(name, arch) for arch in ARCHITECTURES]
        assert all(of_each)
        assert {pair for some in of_each for pair in some} == set(itertools.product(VARIANTS[name], cells_of(name)))


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", FILES)
@pytest.mark.slow
@needs_nvcc
def test_it_compiles_without_spills(name: str, arch: str) -> None:
    if not is_known(arch):
        pytest.skip(f"this compiler does not know {arch}")
    for variant, cell in variants_for(name, arch):
        plan, options = cells_of(name)[cell], as_planned(name, variant, arch)
        what = f"{name} {cell} {' '.join(options)} {arch}"
        status, said = by_nvcc(sources.text(name, plan), name if plan is None else f"{plan.name}.cu", options, arch)
        assert status == 0, f"{what}\n{said}"
        assert "warning" not in said, f"{what}\n{said}"
        kernels = Compiled(b"", said).resources
        assert 1 <= len(kernels) == said.count("Compiling entry function"), said
        for kernel, used in kernels.items():
            assert used.spill_stores == used.spill_loads == 0, f"{what}: {kernel} spills: {used}"
            print(f"{what}: {kernel} has {used.registers} registers")


@needs_nvcc
def test_an_error_names_the_file_and_its_line() -> None:
    text = 'extern "C" __global__ void k(int *a) {\n    a[0] = 1;\n    a[1] = nothing;\n}\n'
    status, said = by_nvcc(text, "some_name.cu", (), "sm_80")
    assert status != 0
    assert "some_name.cu(3)" in said


@needs_nvcc
def test_spills_would_be_noticed() -> None:
    lines = "\n".join(f"    float x{k} = a[threadIdx.x + {k}];" for k in range(80))
    total = "".join(f" + x{k} * x{79 - k}" for k in range(80))
    bound = "__launch_bounds__(1024, 2)"  # leaves 32 registers per thread
    barrier = '    asm volatile("" ::: "memory");\n'
    sum_of = f'extern "C" __global__ void {bound} k(const volatile float *a, float *b) {{\n{lines}\n{barrier}    b[threadIdx.x] = 0{total};\n}}\n'  # noqa: E501
    status, said = by_nvcc(sum_of, "k.cu", (), "sm_80")
    assert status == 0, said
    assert Compiled(b"", said).resources["k"].spill_stores > 0, said
