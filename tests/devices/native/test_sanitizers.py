"""The kernels under the compiler's sanitizers: every access inside its array, no race, nothing undefined.

What is compiled is driver.cpp with the headers of some cells. It calls the kernels without Python.

Tests `minirnn/devices/native/kernels/tile.cpp` and all files next to it.
"""

import os
import platform
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest

from minirnn import cell
from minirnn.devices.cells.header import header
from minirnn.devices.cells.keyed import keyed_header
from minirnn.devices.host_cpp import compiler
from minirnn.devices.host_cpp.compiler import CompileError
from minirnn.devices.native import library
from minirnn.ops.cudnn_rnn import cells
from minirnn.ops.lstm_block.cells import lstm_block_peephole
from tests.cells.with_torch import gallery
from tests.devices.cells.own_layers import three_stages

DRIVER = Path(__file__).with_name("driver.cpp")
PLANS = [
    cells.lstm.plan(), cells.gru.plan(), cells.rnn_tanh.plan(), lstm_block_peephole.plan(), three_stages.plan(),
    cells.lstm_zoned_c.plan(True),
]  # fmt: skip
KEYS = {"deltanet": 5, "mlstm": 16, "s6": 9}
# AVX-512's masked loads are not checked, so on x86 the kernels are compiled for narrower vectors.
MACHINE = ["-march=x86-64-v3"] if platform.machine() in ("x86_64", "AMD64") else []
SANITIZERS = {
    "address and undefined": ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
    "thread": ["-fsanitize=thread"],
}


def runs_avx2() -> bool:
    return not MACHINE or " avx2 " in library.computer.instructions()


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[str]]:
    """The kernels under a sanitizer, compiled once."""

    @cache
    def made(name: str) -> list[str]:
        return objects(sorted(library.KERNELS.glob("*.cpp")), tmp_path_factory.mktemp("kernels"), SANITIZERS[name])

    return made


def objects(sources: list[Path], folder: Path, flags: list[str]) -> list[str]:
    if not runs_avx2():
        pytest.skip("this processor has no AVX2")
    used = compiler.find("native")
    common = [*library.FLAGS, "-O1", "-g1", *MACHINE, *flags, *library.INCLUDE, "-I", str(folder)]
    texts = {p.name: header(p).replace("#pragma once", "") for p in PLANS}
    for n, keys in KEYS.items():
        step = gallery(n).step
        texts[n] = keyed_header(cell(step.user_states, output=step.output, keys=keys)(step.function).keyed_plan()).text
    made = [f"namespace {n} {{\n{text}\n}}\n" for n, text in texts.items()]
    (folder / "made_cells.h").write_text("\n".join(made))
    to = [str(folder / f"{source.stem}.o") for source in sources]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda s, o: used.run(*common, "-c", str(s), "-o", o), sources, to))
    return to


def run(driver: Path, folder: Path, kernels: list[str], name: str) -> subprocess.CompletedProcess[str]:
    """The driver as a program, with kernels under the sanitizer `name`."""
    flags = SANITIZERS[name]
    try:
        program = str(folder / "driver")
        compiler.find("native").run(*library.FLAGS, *flags, *objects([driver], folder, flags), *kernels, "-o", program)
    except CompileError as error:
        if "cannot find" in str(error):
            pytest.skip(f"the compiler has no sanitizer: {compiler.first_error(str(error))}")
        raise
    # The driver forks, and its children start threads. Clang's thread sanitizer ends them unless an option allows it.
    environment = os.environ | {"ASAN_OPTIONS": "detect_leaks=0", "TSAN_OPTIONS": "die_after_fork=0"}
    return subprocess.run([program], capture_output=True, text=True, timeout=500, env=environment)


@pytest.mark.slow
@pytest.mark.parametrize("name", SANITIZERS)
def test_nothing_is_found(kernels: Callable[[str], list[str]], tmp_path: Path, name: str) -> None:
    done = run(DRIVER, tmp_path, kernels(name), name)
    assert done.returncode == 0 and done.stdout == "right\n", done.stdout + done.stderr[:4000]


@pytest.mark.slow
def test_a_read_past_the_end_is_found(kernels: Callable[[str], list[str]], tmp_path: Path) -> None:
    """The control: the same driver with an array that is one number short."""
    text = DRIVER.read_text().replace("d.x = {array(T * B * I), I}", "d.x = {array(T * B * I - 1), I}")
    assert text != DRIVER.read_text()
    short = tmp_path / "short.cpp"
    short.write_text(text)
    name = next(iter(SANITIZERS))
    done = run(short, tmp_path, kernels(name), name)
    assert done.returncode != 0 and "heap-buffer-overflow" in done.stderr
