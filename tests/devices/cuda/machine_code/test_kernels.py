"""The reported properties of a kernel's machine code are right, and statements planted into a loop are found in it.

Tests `tests/devices/cuda/machine_code/kernels.py`, `tests/devices/cuda/machine_code/compiled.py` and
`tests/devices/cuda/machine_code/sass.py`.
"""

import shutil
from pathlib import Path

import pytest

from minirnn.devices.cuda.driver import CompileError
from minirnn.devices.cuda.gpu.compiler import KERNELS
from tests.devices.cuda.machine_code.compiled import Resources, compiled, nvcc_version
from tests.devices.cuda.machine_code.kernels import MachineCode, machine_code
from tests.devices.cuda.machine_code.loops import Loop
from tests.devices.cuda.machine_code.sass import Function, Instruction, find_nvdisasm

needs_nvcc = pytest.mark.skipif(not shutil.which("nvcc"), reason="no nvcc on the PATH")
needs_nvdisasm = pytest.mark.skipif(find_nvdisasm() is None, reason="no nvdisasm: the wheel nvidia-cuda-nvdisasm")

DOT = """#include "real.cuh"
extern "C" __global__ void dot(int n, const float4 *a, float *sum) {
    __shared__ float4 tile[64];
    float s = 0;
    for (int k = 0; k < n; k++) {  // rounds
        __syncthreads();
        tile[threadIdx.x] = a[k * 64 + threadIdx.x];
        __syncthreads();
        INSIDE;
        const float4 other = tile[63 - threadIdx.x];
        s += other.x * other.y + other.z * other.w;
    }
    BEHIND;
    sum[threadIdx.x] = s;
}
"""


def dot(inside: str = "", behind: str = "") -> MachineCode:
    text = DOT.replace("INSIDE", inside).replace("BEHIND", behind)
    return machine_code("dot.cu", ("-DREAL=float", "-DACC=float"), "sm_90", text)["dot"]


@needs_nvcc
@needs_nvdisasm
def test_a_loop_has_its_reads_its_barriers_and_its_statement() -> None:
    code = dot()
    loop = max(code.loops, key=lambda loop: loop.count("BAR"))  # unrolled by four, with a rest
    turns = loop.count("BAR") // 2
    assert turns >= 1
    assert loop.count("LDG.E.128.CONSTANT", "LDG.E.128") == loop.count("LDS.128") == loop.count("STS.128") == turns
    assert loop.count("FFMA", "FMUL", "FADD") >= 2 * turns
    assert code.statement(loop) == ("dot.cu", "for (int k = 0; k < n; k++)")
    assert code.resources.shared == 64 * 16
    assert 0 < code.resources.registers <= 64
    assert len(code.main_loop.instructions) == max(len(loop.instructions) for loop in code.loops)


@needs_nvcc
@needs_nvdisasm
def test_a_fence_in_the_loop_is_told_from_one_behind_it() -> None:
    plain, behind, inside = dot(), dot(behind="__threadfence()"), dot(inside="__threadfence()")

    def fences(code: MachineCode) -> tuple[bool, bool]:
        in_loops = any(loop.count("MEMBAR") for loop in code.loops)
        return in_loops, any(i.name == "MEMBAR" for i in code.function.instructions)

    assert fences(plain) == (False, False)
    assert fences(behind) == (False, True)
    assert fences(inside) == (True, True)


@needs_nvcc
def test_an_error_names_file_line_and_architecture() -> None:
    with pytest.raises(CompileError, match=r"(?s)wrong\.cu does not compile for sm_90.*wrong\.cu\(2\)"):
        compiled("wrong.cu", (), "sm_90", "\nint a = nothing;\n")


def test_without_nvcc_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINIRNN_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    nvcc_version.cache_clear()
    try:
        assert nvcc_version() == ""
        with pytest.raises(CompileError, match=r"k\.cu: nvcc cannot be run"):
            compiled("k.cu", (), "sm_80", "")
    finally:
        nvcc_version.cache_clear()


def code_of(name: str, text: str, *lines: tuple[str, int]) -> tuple[str, str]:
    jump = Instruction("BRA", "`(.L_x_1)", "P0", lines)
    code = MachineCode(name, text, Resources(8, 0, 0, 0, 0), Function("k", (), {}), [])
    return code.statement(Loop(jump, ()))


def test_the_statement_is_found_on_the_line_around_it_or_around_the_call() -> None:
    lines = ["void k() {", "    while (true) {  // on and on", "        if (a) {", "#pragma unroll", "            b();"]
    text = "\n".join([*lines, "        }", "    }", "}"])
    assert code_of("k.cu", text, ("/src/k.cu", 2)) == ("k.cu", "while (true)")
    assert code_of("k.cu", text, ("/src/k.cu", 5)) == ("k.cu", "while (true)")
    assert code_of("k.cu", text, ("/usr/include/sm_90_rt.hpp", 5), ("/src/k.cu", 5)) == ("k.cu", "while (true)")
    assert code_of("k.cu", text, ("/src/k.cu", 1)) == ("", "")
    assert code_of("k.cu", text, ("/src/k.cu", 999)) == code_of("k.cu", text) == ("", "")


def test_a_header_is_known_though_another_checkout_compiled_and_kept_it() -> None:
    lines = (KERNELS / "row_sums.cuh").read_text(encoding="utf-8").splitlines()
    number = next(k for k, line in enumerate(lines, 1) if line.strip().startswith("for"))
    for folder in (KERNELS, "/elsewhere/minirnn/devices/cuda/kernels"):
        file, statement = code_of("k.cu", "", (f"{folder}/row_sums.cuh", number))
        assert file == "row_sums.cuh" and statement.startswith("for (")
    assert code_of("k.cu", "", ("/elsewhere/cuda/kernels/none.cuh", number)) == ("", "")
