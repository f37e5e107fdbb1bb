"""Kernel files compiled by nvcc for a GPU that need not be there. Results are cached on disk."""

import functools
import hashlib
import json
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from minirnn.devices import cells
from minirnn.devices.cuda.driver import CompileError
from minirnn.devices.cuda.gpu.compiler import KERNELS, for_nvcc, headers_of
from minirnn.devices.host_cpp.cache import cache_folder

ARCHITECTURES = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")
"""Turing, Ampere, Hopper, and the two Blackwells: one of each generation that nvcc 13 compiles for."""
INCLUDE = (KERNELS, cells.INCLUDE)
KEPT_DAYS = 30
"""The age of unused files that are deleted."""


@dataclass(frozen=True)
class Resources:
    """The resources of one kernel on a multiprocessor: registers per thread, and bytes.

    Spills are registers that did not fit, written to memory and read back: bytes a thread, as the stack is. `shared`
    are the bytes a block of what is declared with its size.
    """

    registers: int
    stack: int
    spill_stores: int
    spill_loads: int
    shared: int


@dataclass(frozen=True)
class Compiled:
    """Machine code of one file with one set of options: `cubin`, and all that nvcc and its assembler `said`."""

    cubin: bytes
    said: str

    @property
    def resources(self) -> dict[str, Resources]:
        """Kernel -> its resources, as reported by ``ptxas -v``."""
        pattern = (
            r"Compiling entry function '(\w+)'.*?(\d+) bytes stack frame, (\d+) bytes spill stores,"
            r" (\d+) bytes spill loads.*?Used (\d+) registers([^\n]*)"
        )
        found = {}
        for name, stack, stores, loads, registers, rest in re.findall(pattern, self.said, re.DOTALL):
            shared = re.search(r"(\d+) bytes smem", rest)
            found[name] = Resources(
                int(registers), int(stack), int(stores), int(loads), int(shared[1]) if shared else 0
            )
        return found


def compiled(name: str, options: Sequence[str], arch: str, text: str | None = None, to: str = "cubin") -> Compiled:
    """The result of nvcc for ``kernels/<name>``, with exactly the input of the driver of a GPU of this architecture.

    A text need not be a file of ``kernels/``; `variants.VARIANTS` has the options of each file. `to` is ``"cubin"``,
    machine code, or ``"ptx"``, the text that it is made of, in its place. Raises `CompileError` with what nvcc said.
    """
    source = (KERNELS / name).read_text(encoding="utf-8") if text is None else text
    text, flags = for_nvcc(source, name, options)
    parts = nvcc_version(), text, sorted(headers_of(source).items()), flags, arch, *([to] if to != "cubin" else [])
    key = hashlib.sha256(repr(parts).encode()).hexdigest()[:32]
    folder = cache_folder("machine-code")
    found = _kept(folder, key)
    if found is None:
        found = _compile(text, name, flags, arch, to)
        _keep(folder, key, found)
    return found


@functools.cache
def nvcc_version() -> str:
    """The version of the nvcc on the PATH, as ``"13.0.88"``, or an empty string if there is none."""
    try:
        said = subprocess.run(["nvcc", "--version"], capture_output=True, text=True, timeout=60).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
    version = re.search(r"V(\d+\.\d+\.\d+)", said)
    return version[1] if version else ""


def _compile(text: str, name: str, flags: Sequence[str], arch: str, to: str) -> Compiled:
    with tempfile.TemporaryDirectory(prefix="minirnn-") as work:
        source, made = Path(work, "kernel.cu"), Path(work, f"kernel.{to}")
        source.write_text(text, encoding="utf-8")
        include = [f"-I{folder}" for folder in INCLUDE]
        more = ["-Xptxas", "-v"] if to == "cubin" else []
        command = ["nvcc", f"-{to}", *more, "-arch", arch, *flags, *include, "-o", made.name]
        try:
            done = subprocess.run([*command, source.name], cwd=work, capture_output=True, text=True, errors="replace")
        except OSError as error:
            raise CompileError(f"{name}: nvcc cannot be run: {error}\n  try: minirnn doctor") from error
        if done.returncode:
            raise CompileError(f"{name} does not compile for {arch}\n{done.stdout}{done.stderr}")
        return Compiled(made.read_bytes(), done.stdout + done.stderr)


def _kept(folder: Path, key: str) -> Compiled | None:
    """The cached entry: a line of JSON with the length of the machine code, and the machine code."""
    path = folder / key
    try:
        head, _, cubin = path.read_bytes().partition(b"\n")
        said = json.loads(head)
        os.utime(path)
    except (OSError, ValueError):
        return None
    return Compiled(cubin, said["said"]) if len(cubin) == said["bytes"] else None  # a truncated file


def _keep(folder: Path, key: str, what: Compiled) -> None:
    """Cache it, if the folder is writable."""
    head = json.dumps({"bytes": len(what.cubin), "said": what.said}).encode()
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            file.write(head + b"\n" + what.cubin)
        os.replace(file.name, folder / key)
        for path in folder.iterdir():
            with suppress(OSError):  # another process may also prune
                if time.time() - path.stat().st_mtime > KEPT_DAYS * 86400:
                    path.unlink()
