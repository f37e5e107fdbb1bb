"""Compiling a .cu file to machine code for a GPU with nvcc. The results are cached on disk.

nvcc is used and not NVRTC, although NVRTC comes as a wheel. The toolkit would still be needed, because PyCUDA comes as
source, and building it needs CUDA's headers and nvcc. NVRTC is also a different compiler: it lacks headers and the host
compiler's builtins that the cells use (`__builtin_popcount`), and everything that is counted and proven here is nvcc's
code.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from minirnn.devices import cells
from minirnn.devices.cuda.driver import CompileError
from minirnn.devices.host_cpp import cache
from minirnn.machine import terminal, toolchain

KERNELS = Path(__file__).parents[1] / "kernels"
FLAGS = ("-std=c++17", "-lineinfo", "-diag-suppress=186")
"""The flags of every compilation. 186: "pointless comparison of unsigned integer with zero", which occurs in files for
all number types."""


class Compiler:
    """Compiles for one GPU.

    Parameters
    ----------
    arch : str
        nvcc's name of the GPU, such as ``"sm_90"``.
    nvcc : str
        The version of nvcc with its build, such as ``"13.0.88"``. Another one compiles again, wherever it is.
    load : callable
        Loads machine code into the driver, and returns the module.
    refused : type
        The error that `load` raises for machine code that the driver rejects.
    """

    def __init__(self, arch: str, nvcc: str, load: Callable[[bytes], Any], refused: type[Exception]) -> None:
        self._arch, self._nvcc, self._load, self._refused = arch, nvcc, load, refused
        self._what, self._count = f"CUDA kernels for {arch} with nvcc {nvcc}".rstrip(), 0

    def load(self, source: str, name: str, options: Sequence[str]) -> tuple[bytes, Any]:
        """Machine code, and the module loaded from it. Raises `CompileError`, which names the file and line of `name`.

        The GPU's context must be current.
        """
        binary = self.binary(source, name, options)
        try:
            return binary, self._load(binary)
        except self._refused as error:
            raise CompileError(f"{name}: the driver rejects the code that nvcc made: {error}") from error

    def binary(self, source: str, name: str, options: Sequence[str]) -> bytes:
        """Machine code, from the cache if it was compiled before: by the same nvcc, from the same text and headers."""
        text, flags = for_nvcc(source, name, options)
        key = cache.fingerprint(text, flags, sorted(headers_of(source).items()), self._arch, self._nvcc)

        def make(path: Path) -> None:
            with self._compiling(name):
                path.write_bytes(cubin_of(text, name, flags, self._arch))

        return cache.built(cache.folder("cuda"), key, make, ".cubin").read_bytes()

    def _compiling(self, name: str) -> AbstractContextManager[None]:
        """Print a line to stderr at the first file, because compiling takes seconds. On a terminal, a temporary line
        shows the current file.
        """
        self._count += 1
        if self._count == 1:
            terminal.say(f"minirnn: compiling {self._what}, once each")
        return terminal.while_working(f"  number {self._count}: {name}")


def cubin_of(text: str, name: str, flags: Sequence[str], arch: str) -> bytes:
    """The machine code of a text. Raises `CompileError` with nvcc's message."""
    with tempfile.TemporaryDirectory(prefix="minirnn-") as work:
        source, made = Path(work, "kernel.cu"), Path(work, "kernel.cubin")
        source.write_text(text, encoding="utf-8")
        include = [f"-I{folder}" for folder in (KERNELS, cells.INCLUDE)]
        command = [toolchain.nvcc_command(), "-cubin", "-arch", arch, *flags, *include, "-o", made.name, source.name]
        try:
            done = subprocess.run(command, cwd=work, capture_output=True, encoding="utf-8", errors="replace")
        except OSError as error:
            raise CompileError(f"{name}: nvcc cannot be run: {error}\n  try: minirnn doctor") from error
        if done.returncode:
            said = "\n".join(text.strip() for text in (done.stdout, done.stderr) if text)
            chosen = " ".join(flag for flag in flags if flag.startswith("-D")) or "no options"
            raise CompileError(f"{name} does not compile with {chosen}\n{said}")
        return made.read_bytes()


def headers_of(source: str) -> dict[str, str]:
    """The name and text of every file of minirnn that this text includes, directly or by another one."""
    found: dict[str, str] = {}
    open_ = [source]
    while open_:
        for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', open_.pop(), re.MULTILINE):
            file = next((folder / name for folder in (KERNELS, cells.INCLUDE) if (folder / name).exists()), None)
            if name not in found and file is not None:
                found[name] = file.read_text(encoding="utf-8")
                open_.append(found[name])
    return found


def for_nvcc(source: str, name: str, options: Sequence[str]) -> tuple[str, list[str]]:
    """The text and the flags with which a kernel file is compiled."""
    return f'#line 1 "{name}"\n{source}', [*FLAGS, *options]
