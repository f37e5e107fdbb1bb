"""The host's C++ compiler: finding it, asking its version, running it."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from minirnn.devices.base import DeviceUnavailable
from minirnn.machine import toolchain


class CompileError(RuntimeError):
    """Raised if the compiler rejects a source file. The text is the compiler's message, with file and line."""


def first_error(said: str) -> str:
    """The most informative line of a compiler's message."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return next((line for line in lines if "error" in line or "fatal" in line), lines[0] if lines else "")


@dataclass(frozen=True)
class Compiler:
    """A command that compiles C++, and its version text."""

    command: tuple[str, ...]
    version: str

    @property
    def is_clang(self) -> bool:
        return "clang" in self.version.lower()

    @property
    def name(self) -> str:
        """The program and its version, such as ``g++ 12.2.0``."""
        numbers = [word for word in self.version.split() if word[:1].isdigit()]
        programs = [word for word in self.command if not word.startswith("-")]
        return " ".join([os.path.basename(programs[-1]), *numbers[-1:]])

    @property
    def major(self) -> int:
        """The first number of the version."""
        return int(self.name.rpartition(" ")[2].partition(".")[0])

    def run(self, *arguments: str) -> str:
        """Run the compiler and return its output. Raises `CompileError` with its error message."""
        try:
            done = subprocess.run([*self.command, *arguments], capture_output=True, encoding="utf-8", errors="replace")
        except OSError as error:
            raise CompileError(f"cannot run {shlex.join(self.command)}: {error}") from None
        if done.returncode:
            raise CompileError(done.stderr.strip() or f"{self.name} failed with status {done.returncode}")
        return done.stdout

    def library(self, flags: Sequence[str], sources: Sequence[Path], made: Path, link: Sequence[str] = ()) -> None:
        """Make the library `made` from C++ files, which are compiled in parallel; `link` are flags of the linker."""
        objects = [str(made.with_name(f"{source.stem}.o")) for source in sources]

        def compile_one(source: Path, object_file: str) -> None:
            self.run(*flags, "-c", str(source), "-o", object_file)

        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            for done in [pool.submit(compile_one, *one) for one in zip(sources, objects, strict=True)]:
                done.result()
        self.run(*objects, *link, "-o", str(made))


def find(device: str) -> Compiler:
    """The compiler to use for a device. Raises `DeviceUnavailable`, with the command that installs one."""
    if sys.platform == "win32":
        raise DeviceUnavailable(
            f"{device} runs on Linux and macOS, not on Windows itself\n  install the Linux subsystem: wsl --install"
        )
    return _find(device, os.environ.get("CXX", ""), os.environ.get("PATH", ""))


@lru_cache(maxsize=8)
def _find(device: str, named: str, path: str) -> Compiler:
    tool = toolchain.host_compiler()
    if tool.found is None:
        why = tool.trouble or "found none"
        raise DeviceUnavailable(
            f"{device} needs a C++ compiler (g++ or clang++) and {why}; the cpu device needs none\n"
            f"  to get it: {tool.fix}"
        )
    command, _, version = tool.found.partition(": ")
    return Compiler(tuple(shlex.split(command)), version)
