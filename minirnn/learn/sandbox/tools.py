"""Compilers and other programs for a student's kernel, below locks of their own.

What a compiler reads of a student is hostile text: it can ask for any file, loop and fill the disk. So it sees the
kernel and the headers alone, writes into one folder, and has limits.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minirnn.devices.cuda.driver import CompileError
from minirnn.devices.cuda.sim import build, compiler
from minirnn.devices.cuda.sim.options import SimOptions
from minirnn.devices.host_cpp.cache import fingerprint
from minirnn.devices.host_cpp.compiler import Compiler

from . import kernel_text, symbols
from .locks import landlock, limits, privileges, seccomp

SECONDS, MEGABYTES, FILE_BYTES = 60.0, 4096, 64 << 20
"""What each run of a compiler may use: processor time, addresses, the size of what it writes."""
TOO_MUCH = f"does it need more than {SECONDS:g} s or {MEGABYTES} MB?"
LOOPS = "-fno-tree-loop-distribute-patterns"
PARTS = ("bin", "lib", "lib32", "lib64", "libx32", "libexec", "include", "local/include", "x86_64-linux-gnu",
         "aarch64-linux-gnu", "share/mingw-w64")  # fmt: skip
"""Folders below a compiler's prefix that hold its programs, headers and libraries."""
RULES = fingerprint(*(Path(str(module.__file__)).read_bytes() for module in (kernel_text, symbols)))


@dataclass(frozen=True)
class LockedCompiler(Compiler):
    """The compiler below locks. A library that it makes is kept apart from those of the user's own kernels.

    Attributes
    ----------
    ways, secret : tuple of str
        The locks to use, and the folders of which they let nothing be read; relative ones begin at the current folder.
    rules : str
        A fingerprint of what is refused: a kernel that other rules let pass is compiled anew, and looked at again.
    """

    ways: tuple[str, ...] = ()
    secret: tuple[str, ...] = ()
    rules: str = ""

    def run(self, *arguments: str) -> str:
        """What the compiler prints. Raises `CompileError` with what it complains about, or what a kernel may not do."""
        made = Path(arguments[arguments.index("-o") + 1] if "-o" in arguments else arguments[-1])
        # Accesses are counted where they are written: no loop becomes a call of memcpy.
        loops = [] if "-c" not in arguments else ["-fno-builtin"] if self.is_clang else [LOOPS]
        done = locked([*self.command, *loops, *arguments], str(made.parent), self.ways, self.secret)
        if done.returncode:
            raise CompileError(done.stderr.strip() or f"{self.name} ended with status {done.returncode}: {TOO_MUCH}")
        if "-E" in arguments:
            kernel_text.refuse_expanded(done.stdout, str(build.INCLUDE))
        if "-c" in arguments:
            symbols.refuse_calls(made)
        return done.stdout


def locked(
    command: list[str], folder: str, ways: tuple[str, ...], secret: tuple[str, ...]
) -> subprocess.CompletedProcess[str]:
    """Run a program that can read what it needs and write below `folder` alone."""
    environment = {**os.environ, "TMPDIR": folder, "CCACHE_DISABLE": "1", "LC_ALL": "C"}
    folder = os.path.abspath(folder)
    secret = tuple(map(os.path.abspath, secret))  # the program begins in another folder
    try:
        return subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", cwd=folder, env=environment,
            stdin=subprocess.DEVNULL, preexec_fn=functools.partial(lock, command[0], [folder], ways, secret),
        )  # fmt: skip
    except OSError as error:
        raise CompileError(f"cannot run {command[0]}: {error}") from None


def lock(program: str, writable: list[str], ways: tuple[str, ...], secret: tuple[str, ...], *readable: str) -> None:
    """Put the locks of a tool on this process, which is about to become `program`."""
    limits.limit(SECONDS, MEGABYTES, FILE_BYTES, processes=None)
    privileges.drop()
    if "landlock" in ways:
        headers = [str(build.INCLUDE), str(build.KERNELS), "/etc/ld.so.cache", "/dev/urandom", *readable]
        landlock.lock(headers, writable, folders_of(program), secret)
    if "seccomp" in ways:
        seccomp.lock(starts_programs=True)


@functools.cache
def folders_of(program: str) -> tuple[str, ...]:
    """The folders of a program, its libraries and headers; and those of the system."""
    found = shutil.which(program) or program
    prefixes = {os.path.dirname(os.path.dirname(path)) for path in (found, os.path.realpath(found))}
    parts = [os.path.join(prefix, part) for prefix in sorted({*prefixes, "/usr", "/"}) for part in PARTS]
    return tuple(dict.fromkeys(os.path.realpath(part) for part in parts if os.path.isdir(part)))


def compiled(source: str, name: str, options: SimOptions, job: dict[str, Any]) -> Path:
    """The library of a student's kernel. Raises `CompileError`, with the line, for what a kernel may not hold."""
    kernel_text.refuse(source)
    plain = compiler.find()
    locks = LockedCompiler(plain.command, plain.version, tuple(job["ways"]), tuple(job["secret"]), RULES)
    return build.module_library(locks, options, source, name, ())


def line_finder(library: Path, job: dict[str, Any]) -> Callable[[list[str]], str]:
    """What asks for the source line of an instruction, from a process that may start none.

    The program that knows is started now, below its own locks, and waits.
    """
    program = shutil.which("addr2line")
    if program is None:
        return lambda command: ""
    locks = functools.partial(lock, program, [], tuple(job["ways"]), tuple(job["secret"]), str(library))
    process = subprocess.Popen(
        [program, "-e", str(library)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        encoding="utf-8", errors="replace", bufsize=1, preexec_fn=locks,
    )  # fmt: skip

    def ask(command: list[str]) -> str:
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(f"{command[-1]}\n")
            return process.stdout.readline()
        except (OSError, ValueError):
            return ""

    return ask
