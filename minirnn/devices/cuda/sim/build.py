"""Compiling a .cu file to a library with the host's compiler. Libraries are cached on disk."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from pathlib import Path

from minirnn.devices import cells
from minirnn.devices.cuda.driver import CompileError
from minirnn.devices.cuda.sim import refused, rewrite
from minirnn.devices.cuda.sim.compiler import Compiler
from minirnn.devices.cuda.sim.options import SimOptions
from minirnn.devices.host_cpp import cache as libraries
from minirnn.devices.host_cpp.cache import fingerprint

HERE = Path(__file__).parent
INCLUDE, RUNTIME, KERNELS = HERE / "include", HERE / "runtime", HERE.parent / "kernels"
ERRORS_SHOWN = 3

SHARED_LIBRARY = ["-fPIC", "-shared", *(["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else [])]
MODULE = ["-std=c++17", "-g1", "-gdwarf-4", "-w", "-fvisibility=hidden", "-fno-strict-aliasing", "-ffp-contract=off"]


@cache
def cache_folder() -> Path:
    """The folder of compiled kernels, `minirnn.devices.host_cpp.cache.folder`."""
    return libraries.folder("cuda-sim")


def built(key: str, make: Callable[[Path], None]) -> Path:
    """The library called `key`, made by ``make(path)`` unless it exists."""
    return libraries.built(cache_folder(), key, make)


@lru_cache(maxsize=64)
def _texts(folder: Path, pattern: str) -> str:
    return fingerprint(*[(p.name, p.read_bytes()) for p in sorted(folder.rglob(pattern))])


def runtime_library(compiler: Compiler) -> Path:
    """The simulator's runtime library."""
    key = f"runtime-{fingerprint(compiler, _texts(RUNTIME, '*'), _texts(INCLUDE, 'cusim_agreed.h'), SHARED_LIBRARY)}"
    sources = sorted(RUNTIME.glob("*.cpp"))

    def make(path: Path) -> None:
        flags = ["-O2", "-std=c++17", "-w", "-fvisibility=hidden", "-fPIC"]
        system = ["-ldl", "-pthread"] if sys.platform != "darwin" else []
        compiler.library(flags, sources, path, [*SHARED_LIBRARY, *system])

    return built(key, make)


def flags_of(compiler: Compiler, options: SimOptions) -> tuple[list[str], list[str]]:
    """Flags for the preprocessor and for the compiler."""
    for_preprocessor = ["-DCUSIM_CHECK"] if options.check else []
    for_compiler = [options.opt or ("-O1" if options.check else "-O2"), *MODULE]
    if not compiler.is_clang:
        for_compiler.append("-fno-var-tracking")  # only line numbers are needed; this takes a sixth of the time
    if sys.platform != "darwin":
        for_compiler.append("-fstack-clash-protection")  # large locals must not skip a stack's guard page
    if options.check:
        if compiler.is_clang or compiler.major >= 12:
            for_compiler.append("-ftrivial-auto-var-init=pattern")  # a local that nobody set is about -1e38
        if compiler.is_clang:
            # Clang omits a read that the same thread overwrites at once, but in `x += 1` this read is part of the race.
            for_compiler += ["-fsanitize=thread", "-mllvm", "-tsan-distinguish-volatile"]
            for_compiler += ["-mllvm", "-tsan-instrument-read-before-write"]
        else:
            # Without "scalar replacement" a struct is copied as a whole: 16 bytes are one access, as on a GPU, and not
            # four.
            for_compiler += ["-fsanitize=thread", "--param=tsan-distinguish-volatile=1", "-fno-tree-sra"]
    return for_preprocessor, for_compiler


def stem_of(name: str) -> str:
    """The name of a source's libraries in the cache folder without the fingerprint; a slash becomes ``@``."""
    return str(Path(name).with_suffix("")).strip("/").replace("/", "@")


def name_of(library: Path) -> str:
    """The source that a library of the cache was compiled from: the inverse of `stem_of`."""
    return library.name.rpartition("-")[0].replace("@", "/") + ".cu"


def module_library(compiler: Compiler, options: SimOptions, source: str, name: str, defines: Sequence[str]) -> Path:
    """Compile a .cu text into a library. Raises `CompileError` with file and line."""
    before, flags = flags_of(compiler, options)
    own = [
        _texts(INCLUDE, "*.h"),
        _texts(KERNELS, "*.cuh"),
        _texts(cells.FOLDER, "*.h"),
        *(_texts(HERE, f"{name}.py") for name in ("rewrite", "refused", "markers")),
        _texts(RUNTIME, "api.h"),
    ]
    key = f"{stem_of(name)}-{fingerprint(compiler, source, name, list(defines), before, flags, own)}"

    def make(path: Path) -> None:
        cu, cpp, object_file = (path.with_suffix(suffix) for suffix in (".cu", ".cpp", ".o"))
        plain = source.removeprefix("\ufeff")  # the byte order mark of an editor
        cu.write_text(f'#line 1 "{name}"\n{plain}', encoding="utf-8")
        try:
            include = ["-include", "cusim.h", "-I", str(INCLUDE), "-I", str(KERNELS), "-I", str(cells.INCLUDE)]
            try:
                text = compiler.run("-E", "-x", "c++", "-std=c++17", *include, *before, *defines, str(cu))
            except CompileError as error:
                raise refused.missing_header(str(error)) or error from None
            done = rewrite.rewrite(text, str(INCLUDE))
            exports = " ".join(done.kernels) + "|" + " ".join(done.variables)
            cpp.write_text(
                done.text + f'{rewrite.EXPORT} const char cusim_exports[] = "{exports}";\n', encoding="utf-8"
            )
            # Linked without -fsanitize=thread, because the simulator itself defines the functions that instrumented
            # code calls.
            compiler.run(*flags, "-fPIC", "-c", str(cpp), "-o", str(object_file))
            compiler.run(*SHARED_LIBRARY, str(object_file), "-o", str(path))
        except CompileError as error:
            raise CompileError(explain(str(error), name, source, str(cu.parent))) from None

    return built(key, make)


def explain(complaint: str, name: str, source: str, folder: str) -> str:
    """The compiler's first errors, with the lines of the .cu file."""
    lines = complaint.replace(f"{folder}{os.sep}", "").splitlines()
    errors = [line for line in lines if re.search(r"\berror\b", line)] or lines
    shown = list(dict.fromkeys(errors))[:ERRORS_SHOWN]
    for line in list(shown):
        found = re.match(rf"{re.escape(name)}:(\d+)", line)
        texts = source.splitlines()
        if found and int(found.group(1)) <= len(texts):
            shown[shown.index(line)] = f"{line}\n    {texts[int(found.group(1)) - 1].strip()}"
    if len(errors) > ERRORS_SHOWN:
        shown.append(f"... and {len(errors) - ERRORS_SHOWN} more errors")
    return "\n".join([f"{name} does not compile:", *shown])
