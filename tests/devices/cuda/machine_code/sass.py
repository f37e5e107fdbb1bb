"""Machine code as text, by NVIDIA's disassembler: the instructions of each kernel, and their lines."""

from __future__ import annotations

import re
import shutil
import subprocess
import sysconfig
import tempfile
from dataclasses import dataclass
from pathlib import Path

INSTALL = "pip install nvidia-cuda-nvdisasm"
SIZES = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16, "256": 32}
"""The parts of an opcode that determine how many bytes a thread reads or writes; four if there is none."""


@dataclass(frozen=True)
class Instruction:
    """One instruction. It is written as ``@P0 LDS.128 R4, [R2] ;``.

    The opcode includes its modifiers, the predicate is ``"P0"`` or ``"!P0"`` if only some threads execute it, and
    `lines` are the file and line that it comes from, and where this was inlined, the kernel itself last.
    """

    opcode: str
    operands: str
    predicate: str
    lines: tuple[tuple[str, int], ...]

    @property
    def name(self) -> str:
        """The opcode without modifiers: ``"LDS"``."""
        return self.opcode.partition(".")[0]

    @property
    def size(self) -> int:
        """The bytes that a thread reads or writes with it, if any."""
        return next((SIZES[part] for part in self.opcode.split(".")[1:] if part in SIZES), 4)

    @property
    def target(self) -> str:
        """The label of its jump, or an empty string."""
        found = re.search(r"`\((\.L\w+)\)", self.operands)
        return found[1] if found else ""


@dataclass(frozen=True)
class Function:
    """The machine code of a kernel: instructions in the order of their addresses, and the label before some of them."""

    name: str
    instructions: tuple[Instruction, ...]
    labels: dict[str, int]


def find_nvdisasm() -> str | None:
    """NVIDIA's disassembler: on the PATH, next to nvcc, or in the wheel nvidia-cuda-nvdisasm."""
    if found := shutil.which("nvdisasm"):
        return found
    nvcc = shutil.which("nvcc")
    folders = [Path(nvcc).resolve().parent] if nvcc else []
    folders += sorted(Path(sysconfig.get_path("purelib"), "nvidia").glob("*/bin"))
    return next((str(folder / "nvdisasm") for folder in folders if (folder / "nvdisasm").exists()), None)


def functions(cubin: bytes) -> dict[str, Function]:
    """Kernel -> its machine code. Raises FileNotFoundError if there is no disassembler."""
    nvdisasm = find_nvdisasm()
    if nvdisasm is None:
        raise FileNotFoundError(f"no nvdisasm on the PATH, beside nvcc or in a wheel\n  try: {INSTALL}")
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        done = subprocess.run([nvdisasm, "-c", "-gi", file.name], capture_output=True, text=True, check=True)
    return parsed(done.stdout)


def parsed(text: str) -> dict[str, Function]:
    """Kernel -> its machine code, of what nvdisasm prints with the options ``-c -gi``."""
    found: dict[str, Function] = {}
    instructions: list[Instruction] = []
    labels: dict[str, int] = {}
    lines: list[tuple[str, int]] = []
    fresh = False  # whether the next remark on lines begins a new stack of them
    name = ""

    def finish() -> None:
        if name and instructions:
            found[name] = Function(name, tuple(instructions), dict(labels))
        instructions.clear()
        labels.clear()
        lines.clear()

    for line in text.splitlines():
        if section := re.match(r"\s*\.section\s+([^,\s]+)", line):
            finish()
            name = section[1].removeprefix(".text.") if section[1].startswith(".text.") else ""
        elif where := re.match(r'\s*//## File "([^"]*)", line (\d+)', line):
            if fresh:
                lines.clear()
            lines.append((where[1], int(where[2])))
            fresh = False
        elif label := re.match(r"(\.L\w+):", line):
            labels[label[1]] = len(instructions)
        elif code := re.match(r"\s*/\*[0-9a-f]+\*/\s+(?:@(!?U?P\w+)\s+)?([A-Z][\w.]*)\s*([^;]*);", line):
            instructions.append(Instruction(code[2], code[3].strip(), code[1] or "", tuple(lines)))
            fresh = True
    finish()
    return found
