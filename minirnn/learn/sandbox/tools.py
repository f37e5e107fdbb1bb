"""Compilers and other programs for a student's kernel, with their own locks.

A student's kernel may be hostile and make a compiler read any file, run forever or fill the disk. The compiler
therefore sees only the kernel and the headers, writes into one folder, and has limits.
"""

from __future__ import annotations

import functools
import os
import resource
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from minirnn.devices.cuda.driver import CompileError
from minirnn.devices.cuda.sim import build, compiler
from minirnn.devices.cuda.sim.options import SimOptions
from minirnn.devices.host_cpp.cache import fingerprint
from minirnn.devices.host_cpp.compiler import Compiler

from . import kernel_text, symbols
from .clock import BUDGET
from .locks import landlock, limits, privileges, seccomp

MEGABYTES, FILE_BYTES, MOST_EXPANDED, MOST_SAID = 4096, 64 << 20, 2 << 20, 1 << 20
"""The limits of each run of a compiler: address space, written bytes, size of the preprocessed kernel, and size of the
messages.
"""
LOOPS = "-fno-tree-loop-distribute-patterns"
PARTS = ("bin", "lib", "lib32", "lib64", "libx32", "libexec", "include", "local/include", "x86_64-linux-gnu",
         "aarch64-linux-gnu", "share/mingw-w64")  # fmt: skip
"""Subfolders of a compiler's prefix that contain its programs, headers and libraries."""
RULES = fingerprint(*(Path(file).read_bytes() for file in (__file__, str(kernel_text.__file__), str(symbols.__file__))))


@dataclass(frozen=True)
class LockedCompiler(Compiler):
    """The compiler with locks. Its libraries are kept apart from those of the user's own kernels.

    Attributes
    ----------
    ways, secret : tuple of str
        The locks to use, and the folders that they make unreadable. Relative paths begin at the current folder.
    rules : str
        A fingerprint of the rules. A kernel that passed under other rules is checked and compiled again.
    until : float
        The limit of the processor time of this process and its compilers, in seconds.
    """

    ways: tuple[str, ...] = ()
    secret: tuple[str, ...] = ()
    rules: str = ""
    until: float = field(default_factory=lambda: used() + BUDGET, repr=False, compare=False)

    def run(self, *arguments: str) -> str:
        """The compiler's output. Raises `CompileError` with the compiler's message, or with the forbidden construct."""
        made = Path(arguments[arguments.index("-o") + 1] if "-o" in arguments else arguments[-1])
        # Accesses are counted in the source, so no loop may become a call of memcpy.
        loops = [] if "-c" not in arguments else ["-fno-builtin"] if self.is_clang else [LOOPS]
        command, left = [*self.command, *loops, *arguments], self.until - used()
        done = locked(command, str(made.parent), self.ways, self.secret, left) if left > 0 else None
        if done is None or used() > self.until or -done.returncode in (signal.SIGXCPU, signal.SIGKILL):
            raise CompileError(f"compiling this takes too much: more than {BUDGET:g} s or {MEGABYTES} MB")
        if done.returncode:
            raise CompileError(done.stderr.strip() or f"{self.name} ended with status {done.returncode}")
        if "-E" in arguments:
            kernel_text.refuse_expanded(done.stdout, str(build.INCLUDE), MOST_EXPANDED)
        if "-c" in arguments:
            symbols.refuse_calls(made)
        return done.stdout


def locked(
    command: list[str], folder: str, ways: tuple[str, ...], secret: tuple[str, ...], seconds: float = BUDGET
) -> subprocess.CompletedProcess[str]:
    """Run a program that can read what it needs and write only below `folder`.

    Its output goes to files, because they have the same size limit as other files.
    """
    environment = {**os.environ, "TMPDIR": folder, "CCACHE_DISABLE": "1", "LC_ALL": "C"}
    folder = os.path.abspath(folder)
    secret = tuple(map(os.path.abspath, secret))  # the program starts in another folder
    try:
        with tempfile.TemporaryFile(dir=folder) as out, tempfile.TemporaryFile(dir=folder) as err:
            locks = functools.partial(lock, command[0], [folder], ways, secret, seconds=seconds)
            done = subprocess.run(
                command, stdout=out, stderr=err, cwd=folder, env=environment, stdin=subprocess.DEVNULL, preexec_fn=locks
            )
            texts = []
            for file, most in ((out, FILE_BYTES), (err, MOST_SAID)):
                file.seek(0)
                texts.append(file.read(most).decode(errors="replace"))
            return subprocess.CompletedProcess(command, done.returncode, *texts)
    except OSError as error:
        raise CompileError(f"cannot run {command[0]}: {error}") from None


def used() -> float:
    """Seconds of processor time used by this process and the children that it has waited for."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in both)


def lock(
    program: str, writable: list[str], ways: tuple[str, ...], secret: tuple[str, ...], *readable: str,
    seconds: float = BUDGET,
) -> None:  # fmt: skip
    """Lock this process as a tool that is about to become `program`."""
    limits.limit(seconds, MEGABYTES, FILE_BYTES, processes=None, more=1)
    privileges.drop()
    if "landlock" in ways:
        headers = [str(build.INCLUDE), str(build.KERNELS), "/etc/ld.so.cache", "/dev/urandom", *readable]
        landlock.lock(headers, writable, folders_of(program), secret)
    if "seccomp" in ways:
        seccomp.lock(starts_programs=True)


@functools.cache
def folders_of(program: str) -> tuple[str, ...]:
    """The folders of a program, its libraries and headers, and those of the system."""
    found = shutil.which(program) or program
    prefixes = {os.path.dirname(os.path.dirname(path)) for path in (found, os.path.realpath(found))}
    parts = [os.path.join(prefix, part) for prefix in sorted({*prefixes, "/usr", "/"}) for part in PARTS]
    return tuple(dict.fromkeys(os.path.realpath(part) for part in parts if os.path.isdir(part)))


def compiled(source: str, name: str, options: SimOptions, job: dict[str, Any]) -> Path:
    """The library of a student's kernel. Raises `CompileError`, with the line, for forbidden constructs."""
    until = used() + job.get("together", BUDGET)
    kernel_text.refuse(source)
    plain = compiler.find()
    locks = LockedCompiler(plain.command, plain.version, tuple(job["ways"]), tuple(job["secret"]), RULES, until)
    return build.module_library(locks, options, source, name, ())


def line_finder(library: Path, job: dict[str, Any]) -> Callable[[list[str]], str]:
    """A function that returns the source line of an instruction, for a process that may not start programs.

    The program that finds the line is started now, with its own locks, and waits.
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
