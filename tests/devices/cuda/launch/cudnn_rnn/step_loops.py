"""The machine code of a kernel's loop over the steps: what the GPU does again and again. Needs nvcc and nvdisasm."""

from __future__ import annotations

import re
import shutil
import subprocess
import sysconfig
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from minirnn.devices.cuda.gpu.compiler import KERNELS, for_nvcc


def disassembler() -> str | None:
    """NVIDIA's disassembler: on the PATH, or in the wheel nvidia-cuda-nvdisasm."""
    wheels = sorted(Path(sysconfig.get_path("purelib"), "nvidia").glob("*/bin/nvdisasm"))
    return shutil.which("nvdisasm") or (str(wheels[0]) if wheels else None)


def needs_machine_code() -> str:
    """Why machine code cannot be looked at here; empty if it can."""
    if not shutil.which("nvcc"):
        return "no nvcc on the PATH"
    return "" if disassembler() else "no nvdisasm: pip install nvidia-cuda-nvdisasm"


def step_loops(name: str, options: tuple[str, ...], arch: str, folder: Path) -> dict[str, list[str]]:
    """Kernel -> the instructions of its longest loop in the order of their addresses, without predicates."""
    if reason := needs_machine_code():
        pytest.skip(reason)
    return _step_loops(name, options, arch, folder)


@cache
def _step_loops(name: str, options: tuple[str, ...], arch: str, folder: Path) -> dict[str, list[str]]:
    text, flags = for_nvcc((KERNELS / name).read_text(encoding="utf-8"), name, options)
    (folder / "kernel.cu").write_text(text)
    command = ["nvcc", "-cubin", "-arch", arch, *flags, f"-I{KERNELS}", "-o", "kernel.cubin", "kernel.cu"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=200)
    found = disassembler()
    assert found is not None
    said = subprocess.run([found, "-c", "kernel.cubin"], cwd=folder, check=True, capture_output=True, text=True).stdout
    parts = re.split(r"\n\s*\.section\s+\.text\.(\w+)", said)
    return {kernel: longest_loop(body) for kernel, body in zip(parts[1::2], parts[2::2], strict=True)}


def longest_loop(body: str) -> list[str]:
    """The instructions between the jump back that goes the farthest and where it goes. `body`: of one kernel."""
    labels: dict[str, int] = {}
    code: list[str] = []
    for line in body.splitlines():
        if label := re.match(r"\s*(\.L_x_\d+):", line):
            labels[label[1]] = len(code)
        elif instruction := re.match(r"\s*/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?([A-Z].*?)\s*;", line):
            code.append(instruction[1])
    jumps = [
        (k, labels.get(to[1], k)) for k, line in enumerate(code) if (to := re.search(r"BRA.*`\((\.L_x_\d+)\)", line))
    ]
    last, first = max(jumps, key=lambda jump: jump[0] - jump[1])
    return code[first : last + 1]


def opcodes(loop: list[str]) -> Counter[str]:
    """How often each instruction occurs, by its name without what qualifies it."""
    return Counter(re.split(r"[.\s]", line)[0] for line in loop)
