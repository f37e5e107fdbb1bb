"""From a .cu text to a library: the cache on disk, and the translation of the compiler's complaints."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minirnn.devices.cuda.driver import CompileError
from minirnn.devices.cuda.sim import build, compiler
from minirnn.devices.cuda.sim.compiler import Compiler
from minirnn.devices.cuda.sim.driver import SimDriver
from minirnn.devices.cuda.sim.options import SimOptions
from minirnn.devices.host_cpp import cache as libraries
from tests.devices.cuda.sim.run import put, take

SOURCE = """#include "real.cuh"
__device__ int counter = 40;
extern "C" __global__ void count(real *y) {
    counter += 1;
    y[0] = counter;
}
"""
REAL = "-DREAL=float", "-DACC=float"


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """An empty cache folder for this test only."""
    monkeypatch.setenv("MINIRNN_CACHE", str(tmp_path / "cache"))
    build.cache_folder.cache_clear()
    yield tmp_path / "cache" / "cuda-sim"
    build.cache_folder.cache_clear()
    build._texts.cache_clear()


class Counting(Compiler):
    """A compiler that instantly makes an empty library, and counts its calls."""

    calls = 0

    def run(self, *arguments: str) -> str:
        type(self).calls += 1
        if "-o" in arguments:
            Path(arguments[arguments.index("-o") + 1]).write_bytes(bytes(5000))
        return ""

    def build(
        self, source: str = SOURCE, name: str = "count.cu", defines: tuple[str, ...] = REAL, **options: Any
    ) -> Path:
        return build.module_library(self, SimOptions(**options), source, name, defines)


@pytest.fixture
def counting(cache: Path) -> Counting:
    return Counting(("g++",), "g++ 12.2.0")


def test_what_was_built_before_needs_no_compiler(counting: Counting, cache: Path) -> None:
    path = counting.build()
    calls = counting.calls
    assert calls > 0
    assert path.parent == cache
    assert path.name.startswith("count-")
    assert counting.build() == path
    assert counting.calls == calls
    assert [p.name for p in cache.iterdir()] == [path.name]  # nothing temporary is left


@pytest.mark.parametrize(
    "changed",
    [
        {"source": SOURCE.replace("+= 1", "+= 2")},
        {"name": "other.cu"},
        {"defines": ("-DREAL=double", "-DACC=double")},
        {"check": True},
        {"opt": "-O1"},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_what_changes_the_library_makes_a_new_one(counting: Counting, changed: dict[str, Any]) -> None:
    assert counting.build() != counting.build(**changed)


def test_what_does_not_change_the_library_makes_none(counting: Counting) -> None:
    assert counting.build() == counting.build(seed=3, resident=2, watchdog_ms=70)


def test_a_changed_header_makes_a_new_library(
    counting: Counting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = counting.build()
    copied = tmp_path / "kernels"
    shutil.copytree(build.KERNELS, copied, ignore=shutil.ignore_patterns("__pycache__"))
    with (copied / "real.cuh").open("a") as header:
        header.write("// another line\n")
    monkeypatch.setattr(build, "KERNELS", copied)
    assert counting.build() != before


def test_the_libraries_not_used_for_longest_are_deleted(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def make(path: Path) -> None:
        path.write_bytes(bytes(1000))

    monkeypatch.setattr(libraries, "CACHE_BYTES", 3500)
    for age, name in enumerate(["new", "middle", "old", "oldest"]):
        path = build.built(name, make)
        os.utime(path, (1e9 - age, 1e9 - age))
    build.built("oldest", make)  # used again
    build.built("another", make)
    assert sorted(p.name.split(".")[0] for p in cache.iterdir()) == ["another", "new", "oldest"]


def test_a_build_that_fails_leaves_nothing(cache: Path) -> None:
    with pytest.raises(CompileError):
        build.module_library(compiler.find(), SimOptions(), "int f( {", "wrong.cu", REAL)
    assert list(cache.iterdir()) == []


@pytest.mark.slow
def test_two_processes_build_at_the_same_time(cache: Path) -> None:
    code = f"""
from minirnn.devices.cuda.sim import build, compiler
from minirnn.devices.cuda.sim.options import SimOptions
from minirnn.devices.host_cpp import cache as libraries
print(build.module_library(compiler.find(), SimOptions(), {SOURCE!r}, "count.cu", {REAL!r}))
"""
    both = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    paths = [Path(process.communicate()[0].strip()) for process in both]
    assert [process.returncode for process in both] == [0, 0]
    for path in paths:
        assert path.name == f"{path.name.partition('.')[0]}.{libraries.checksum(path)}.so"
    assert set(cache.iterdir()) == set(paths)


def test_modules_of_equal_text_have_variables_of_their_own() -> None:
    modules = [SimDriver(SimOptions()).module(SOURCE, "count.cu", REAL) for _ in range(3)]
    got = []
    for module, times in zip(modules, (1, 2, 3), strict=True):
        y = put(module.driver, np.zeros(1, "f4"))
        for _ in range(times):
            module.function("count")(y, grid=(1,), block=(1,))
        got.append(float(take(module.driver, y, 1, "f4")[0]))
    assert got == [41, 42, 43]
    driver = modules[0].driver
    assert driver.module(SOURCE, "count.cu", REAL) is modules[0]


def test_an_error_comes_with_the_line_of_the_cu_file() -> None:
    source = (
        'extern "C" __global__ void k(int *x) {\n    __shared__ int s[4],\n        t;\n    x[0] = t + missing;\n}\n'
    )
    with pytest.raises(CompileError) as error:
        SimDriver(SimOptions()).module(source, "wrong.cu")
    first, second, third = str(error.value).splitlines()[:3]
    assert first == "wrong.cu does not compile:"
    assert second.startswith("wrong.cu:4:")
    assert "missing" in second
    assert third == "    x[0] = t + missing;"


def test_of_many_errors_the_first_are_shown() -> None:
    with pytest.raises(CompileError) as error:
        SimDriver(SimOptions()).module("".join(f"int a{k} = none{k};\n" for k in range(9)), "many.cu")
    text = str(error.value)
    assert [line for line in range(1, 10) if f"many.cu:{line}:" in text] == [1, 2, 3]
    assert text.endswith("... and 6 more errors")


@pytest.mark.parametrize(
    "text, says",
    [
        ('#include "missing.cuh"\n', "wrong.cu:2:"),
        (
            "extern __shared__ int s;",
            "wrong.cu:2: extern __shared__ int s\n    extern __shared__ int s;\n  expected an array of unknown size",
        ),
    ],
)
def test_an_error_before_the_compiler_also_has_its_line(text: str, says: str) -> None:
    source = 'extern "C" __global__ void k(int *x) {\n' + text + "\n}\n"
    with pytest.raises(CompileError) as error:
        SimDriver(SimOptions()).module(source, "wrong.cu")
    assert says in str(error.value)


def test_unknown_kernels_and_variables_are_refused_with_the_known_ones() -> None:
    module = SimDriver(SimOptions()).module(SOURCE, "count.cu", REAL)
    with pytest.raises(RuntimeError, match="count.cu has no kernel 'cuont'\n  its kernels: count"):
        module.function("cuont")
    with pytest.raises(RuntimeError, match="count.cu has no variable 'count'\n  its variables: counter"):
        module.variable("count")
