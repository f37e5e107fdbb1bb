"""The kernels of `kernels/`, compiled by the host's C++ compiler on first use, and called by ctypes.

A library belongs to one version of the sources, one compiler and one processor, whose vectors it uses; so its name
in the cache folder has a fingerprint of all three. ctypes releases Python's global lock while C++ computes.
"""

from __future__ import annotations

import ctypes
import os
import platform
import shlex
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from minirnn.devices import cells
from minirnn.devices.base import DeviceUnavailable
from minirnn.devices.host_cpp import cache, compiler
from minirnn.devices.host_cpp.compiler import CompileError, Compiler, first_error
from minirnn.devices.native import arguments
from minirnn.machine import computer

KERNELS = Path(__file__).parent / "kernels"
INCLUDE = ("-I", str(KERNELS), "-I", str(cells.INCLUDE))
# Not -ffast-math: it assumes that there is no NaN, and a library linked with it may switch the whole process to
# flushing small numbers to 0.
FLAGS = ("-std=c++17", "-O3", "-ffp-contract=fast", "-fPIC", "-fvisibility=hidden", "-Wno-psabi", "-pthread")
SHARED = ("-shared", "-pthread")


def flags() -> tuple[str, ...]:
    """Flags of the compiler: `FLAGS`, this processor, and what ``MINIRNN_NATIVE_FLAGS`` adds."""
    mine = "-mcpu=native" if platform.machine() in ("arm64", "aarch64") else "-march=native"
    return (*FLAGS, mine, *shlex.split(os.environ.get("MINIRNN_NATIVE_FLAGS", "")))


@lru_cache(maxsize=4)
def load(more_flags: str | None = None) -> ctypes.CDLL:
    """The library, its functions typed. `more_flags` is what ``MINIRNN_NATIVE_FLAGS`` holds.

    Raises DeviceUnavailable if there is no compiler, or it rejects the sources, or the library cannot be loaded.
    """
    used = compiler.find("native")
    try:
        path = library(used)
        try:
            loaded = ctypes.CDLL(str(path))
        except OSError:  # damaged after it was written
            path.unlink(missing_ok=True)
            loaded = ctypes.CDLL(str(library(used)))
    except CompileError as error:
        raise DeviceUnavailable(
            f"native: {used.name} does not compile the kernels; the cpu device needs no compiler\n"
            f"  it says: {first_error(str(error))}\n"
            f"  to try another compiler: CXX=clang++ (now {shlex.join(used.command)})"
        ) from None
    except OSError as error:
        raise DeviceUnavailable(
            f"native: cannot load the compiled kernels; the cpu device needs none\n  {error}\n"
            f"  compiled by {shlex.join(used.command)}; to try another C++ compiler: CXX=g++ or CXX=clang++"
        ) from None
    arguments.declare(loaded)
    return loaded


def library(used: Compiler) -> Path:
    """The library's file; compiled unless the cache has it."""
    sources = sorted(KERNELS.rglob("*.cpp"))
    files = [path for path in sorted(KERNELS.rglob("*")) if path.is_file()]
    texts = [(path.name, path.read_bytes()) for path in (*files, *cells.headers())]
    key = f"native-{cache.fingerprint(used, flags(), computer.instructions(), texts)}"

    def make(path: Path) -> None:
        used.library([*flags(), *INCLUDE], sources, path, [*flags(), *SHARED])

    return cache.built(cache.folder("native"), key, make)


def of_one_cell(used: Compiler, text: str, passes: Sequence[str], announce: Callable[[], None]) -> Path:
    """The file of a library with these passes of a single cell, which takes the rest from `library`.

    `text` is C++ with an ``#if`` for each pass, so that they are compiled in parallel. `announce` is called before.
    """
    whole = library(used)
    key = f"cell-{cache.fingerprint(whole.name, text, passes)}"

    def make(path: Path) -> None:
        announce()
        sources = [path.with_name(f"{name}.cpp") for name in passes]
        for source in sources:
            source.write_text(f"#define {source.stem.upper()}\n{text}", encoding="utf-8")
        used.library([*flags(), *INCLUDE], sources, path, [str(whole), *flags(), *SHARED])

    return cache.built(cache.folder("native"), key, make)


def about(loaded: ctypes.CDLL) -> dict[str, Any]:
    """The sizes for which the kernels were compiled: bytes of a vector, and rows and vectors of a tile."""
    numbers = [loaded.native_about(k) for k in range(4)]
    return dict(zip(("vector_bytes", "gate_rows", "rows", "columns"), numbers, strict=True))
