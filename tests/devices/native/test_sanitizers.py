"""The kernels under the compiler's sanitizers: every access inside its array, no race, nothing undefined.

What is compiled is driver.cpp, which calls them without Python.

Tests `minirnn/devices/native/kernels/tile.cpp` and all that lies beside it.
"""

from __future__ import annotations

import os
import platform
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from minirnn.devices.host_cpp import compiler
from minirnn.devices.host_cpp.compiler import CompileError
from minirnn.devices.native import library

DRIVER = Path(__file__).with_name("driver.cpp")
# AVX-512's masked loads are not watched, so on x86 the kernels are compiled for narrower vectors.
MACHINE = ["-march=x86-64-v3"] if platform.machine() in ("x86_64", "AMD64") else []
SANITIZERS = {
    "address and undefined": ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
    "thread": ["-fsanitize=thread"],
}


def runs_avx2() -> bool:
    return not MACHINE or " avx2 " in library.machine.instructions()


def compiled(folder: Path, flags: list[str]) -> Path:
    """The driver and the kernels as a program."""
    used = compiler.find("native")
    sources = [DRIVER, *sorted(library.KERNELS.glob("*.cpp"))]
    common = [*library.FLAGS, "-O1", "-g1", *MACHINE, *flags, "-I", str(library.KERNELS)]
    objects = [folder / f"{source.stem}.o" for source in sources]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda s, o: used.run(*common, "-c", str(s), "-o", str(o)), sources, objects))
    program = folder / "driver"
    used.run(*common, *map(str, objects), "-o", str(program))
    return program


@pytest.mark.slow
@pytest.mark.parametrize("name", SANITIZERS)
def test_nothing_is_found(tmp_path: Path, name: str) -> None:
    if not runs_avx2():
        pytest.skip("this processor has no AVX2")
    try:
        program = compiled(tmp_path, SANITIZERS[name])
    except CompileError as error:
        if "cannot find" in str(error):
            pytest.skip(f"the compiler has no sanitizer: {library.first_error(str(error))}")
        raise
    done = subprocess.run(
        [str(program)], capture_output=True, text=True, timeout=500, env=os.environ | {"ASAN_OPTIONS": "detect_leaks=0"}
    )
    assert done.returncode == 0 and done.stdout == "right\n", done.stdout + done.stderr[:4000]


@pytest.mark.slow
def test_a_read_past_the_end_is_found(tmp_path: Path) -> None:
    """The control: the same driver with an array that is one number short."""
    if not runs_avx2():
        pytest.skip("this processor has no AVX2")
    text = DRIVER.read_text().replace("d.x = {array(T * B * I), I}", "d.x = {array(T * B * I - 1), I}")
    assert text != DRIVER.read_text()
    short = tmp_path / "short.cpp"
    short.write_text(text)
    used = compiler.find("native")
    flags = [*library.FLAGS, "-O1", *MACHINE, "-fsanitize=address", "-I", str(library.KERNELS)]
    try:
        used.run(*flags, str(short), *map(str, library.KERNELS.glob("*.cpp")), "-o", str(tmp_path / "short"))
    except CompileError as error:
        if "cannot find" in str(error):
            pytest.skip(f"the compiler has no sanitizer: {library.first_error(str(error))}")
        raise
    done = subprocess.run([str(tmp_path / "short")], capture_output=True, text=True, timeout=500)
    assert done.returncode != 0 and "heap-buffer-overflow" in done.stderr
