"""From CUDA C++ to a library of the host: nvcc makes PTX, `translate` makes C++, the host's compiler makes the library.

Each result is kept on disk under a fingerprint of all that it depends on.
"""

import functools
import platform
from collections.abc import Sequence
from pathlib import Path

from minirnn.devices.cuda.sim import compiler
from minirnn.devices.host_cpp import cache
from minirnn.devices.host_cpp.cache import fingerprint
from tests.devices.cuda.machine_code.compiled import compiled, nvcc_version
from tests.ptx_machine.parse import Program, parse
from tests.ptx_machine.translate import Translation, translate

RUNTIME = Path(__file__).parent / "runtime"
FLAGS = ("-std=c++17", "-fPIC", "-w", "-fno-strict-aliasing", "-ffp-contract=off")


def reason_against() -> str | None:
    """The reason why the machine cannot run here, or None."""
    return None if nvcc_version() else "no nvcc on the PATH, and so no PTX"


def ptx_of(source: str, name: str, options: Sequence[str], arch: str) -> str:
    """The PTX that nvcc generates from a CUDA text. Raises `CompileError`."""
    return compiled(name, options, arch, source, to="ptx").cubin.decode()


@functools.lru_cache(maxsize=32)
def program_of(ptx: str) -> Program:
    return parse(ptx)


def runtime_library() -> Path:
    """The machine itself."""
    cxx = compiler.find()
    sources = sorted(RUNTIME.glob("*.cpp"))
    texts = [(path.name, path.read_bytes()) for path in sorted(RUNTIME.iterdir())]

    def make(path: Path) -> None:
        cxx.library([*FLAGS, "-O2"], sources, path, ["-shared"])

    return cache.built(cache.folder("ptx-machine"), f"runtime-{fingerprint(cxx, FLAGS, texts)}", make)


def kernel_library(translation: Translation) -> Path:
    """A kernel, compiled."""
    cxx = compiler.find()
    headers = [(RUNTIME / name).read_bytes() for name in ("ptx.h", "values.h")]
    flags = [*FLAGS, "-O1", "-fno-var-tracking" if not cxx.is_clang else "-g0", *_fused(), f"-I{RUNTIME}"]

    def make(path: Path) -> None:
        source = path.with_suffix(".cpp")
        source.write_text(translation.code, encoding="utf-8")
        cxx.run(*flags, "-shared", str(source), "-o", str(path))

    return cache.built(
        cache.folder("ptx-machine"), f"kernel-{fingerprint(cxx, flags, headers, translation.code)}", make
    )


@functools.lru_cache(maxsize=256)
def translated(ptx: str, kernel: str) -> Translation:
    """Raises `NotUnderstood`."""
    return translate(program_of(ptx), kernel)


@functools.cache
def _fused() -> tuple[str, ...]:
    """The flag with which this processor multiplies and adds in one instruction. Otherwise a slow function does it."""
    if platform.machine() != "x86_64":
        return ()
    try:
        return ("-mfma",) if " fma " in Path("/proc/cpuinfo").read_text() else ()
    except OSError:
        return ()
