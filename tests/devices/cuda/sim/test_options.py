"""SimOptions, and the words of MINIRNN_SIM."""

import os
import subprocess
import sys
from typing import Any

import pytest

from minirnn.devices.cuda.sim import build, options
from minirnn.devices.cuda.sim.compiler import Compiler
from minirnn.devices.cuda.sim.options import SimOptions


@pytest.mark.parametrize(
    "text, expected",
    [
        ("", SimOptions()),
        ("check", SimOptions(check=True)),
        ("check=1", SimOptions(check=True)),
        ("check=0", SimOptions()),
        ("check=0,check", SimOptions(check=True)),
        ("seed=3", SimOptions(seed=3)),
        (" check , seed=3,, preempt=16,", SimOptions(check=True, seed=3, preempt=16)),
        ("opt=-O1", SimOptions(opt="-O1")),
        (
            "resident=2,shared_limit=1024,memory_mb=7,stack_kb=32,watchdog_ms=99",
            SimOptions(resident=2, shared_limit=1024, memory_mb=7, stack_kb=32, watchdog_ms=99),
        ),
    ],
)
def test_words_and_their_meaning(text: str, expected: SimOptions) -> None:
    assert options.parse(text) == expected


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("chekc", "there is no option 'chekc'\n  known: check, seed, preempt, resident,"),
        ("check,=3", "there is no option ''\n"),
        ("seed", "got 'seed'\n  expected something like seed=3"),
        ("seed=", "got 'seed='\n  expected something like seed=3"),
        ("seed=two", "got 'seed=two'\n  expected something like seed=3"),
        ("seed=1.5", "got 'seed=1.5'\n  expected something like seed=3"),
        ("check=yes", "got 'check=yes'\n  expected something like check"),
        ("opt", "got 'opt'\n  expected something like opt=-O1"),
        ("opt=-O9", "opt is '-O9'\n  expected -O0, -O1, -O2 or -O3"),
        ("seed=-1", "seed is -1\n  expected 0 .. 4294967295"),
        ("resident=0", "resident is 0\n  expected 1 .. "),
        ("shared_limit=300000", "shared_limit is 300000\n  expected 1 .. 232448"),
        ("watchdog_ms=5", "watchdog_ms is 5\n  expected 10 .. "),
        ("preempt=8", "preempt without check\n  expected both"),
    ],
)
def test_words_without_a_meaning(text: str, complaint: str) -> None:
    with pytest.raises(ValueError) as error:
        options.parse(text)
    assert complaint in str(error.value)


@pytest.mark.parametrize("name", ["seed", "preempt", "resident", "memory_mb", "stack_kb", "watchdog_ms"])
def test_numbers_too_large_for_the_runtime_are_refused(name: str) -> None:
    given: dict[str, Any] = {"check": True, name: 1 << 40}
    with pytest.raises(ValueError, match=f"{name} is {1 << 40}"):
        SimOptions(**given)


def test_the_variable_reaches_the_device() -> None:
    code = "import minirnn as mr; print(mr.devices.get('cuda-sim').driver.options)"
    words = "check,seed=5,preempt=9,memory_mb=77"
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"MINIRNN_SIM": words}, capture_output=True, text=True
    )
    assert done.stdout.strip() == repr(options.parse(words)), done.stderr


def test_a_wrong_word_stops_the_device_only() -> None:
    code = """
import minirnn as mr
assert "there is no option 'fast'" in mr.devices.available()["cuda-sim"]
assert mr.tensor([1.0]).numpy() == 1
mr.devices.get("cuda-sim")
"""
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"MINIRNN_SIM": "fast"}, capture_output=True, text=True
    )
    assert done.stderr.rstrip().splitlines()[-2].startswith("ValueError: MINIRNN_SIM: there is no option 'fast'")


@pytest.mark.parametrize(
    ("text", "expected"), [("", "-O2"), ("check", "-O1"), ("check,opt=-O3", "-O3"), ("opt=-O0", "-O0")]
)
def test_how_much_the_compiler_optimizes(text: str, expected: str) -> None:
    _, flags = build.flags_of(Compiler(("g++",), "g++ 12.2.0"), options.parse(text))
    assert [flag for flag in flags if flag.startswith("-O")] == [expected]
