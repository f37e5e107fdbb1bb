"""bugs.cu: for each planted bug the simulator must give the right kind of report, with line, thread and block.

Tests `minirnn/devices/cuda/sim/runtime/` and `minirnn/devices/cuda/sim/report.py`.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minirnn.devices.cuda.sim.driver import SimDriver
from minirnn.devices.cuda.sim.launch import SimModule
from minirnn.devices.cuda.sim.options import SimOptions
from minirnn.devices.cuda.sim.report import SimError
from tests.devices.cuda.sim.process import say
from tests.devices.cuda.sim.run import put, take
from tests.each import each
from tests.slow import slow_unless

SOURCE = (Path(__file__).parent / "bugs.cu").read_text(encoding="utf-8")
THREAD = r"thread \((\d+),0,0\) of block \((\d+),0,0\)"


def marked_lines(kernel: str) -> set[int]:
    """The marked lines of `kernel`."""
    lines = SOURCE.splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith(f"KERNEL {kernel}("))
    end = lines.index("}", start)
    return {k + 1 for k in range(start, end) if lines[k].endswith("// BUG")}


@dataclass(frozen=True)
class Bug:
    """A kernel of bugs.cu, how to launch it, and what the report must say."""

    kernel: str
    says: str
    thread: tuple[int, int] | None = None  # thread and block that must be named, where only one can be at fault
    grid: int = 2
    block: int = 32
    shared: int = 0
    both: bool = False  # a race: both accesses must be named
    elements: int = 63  # of each array


BUGS = [
    Bug("write_past_the_end", r"write past the end of device allocation #\d+ \(252 bytes\), at byte 252", (31, 1)),
    Bug("read_past_the_end", r"read past the end of device allocation #\d+ \(252 bytes\), at byte 252", (31, 1)),
    Bug("before_the_start", r"write 4 bytes before device allocation #\d+ \(252 bytes\)", (0, 0)),
    Bug("far_away", r"write past the end of device allocation #\d+ \(252 bytes\)", (9, 1)),
    Bug("half_outside", r"write past the end of device allocation #\d+ \(252 bytes\)", (3, 0)),
    Bug("add_past_the_end", r"write past the end of device allocation #\d+ \(252 bytes\), at byte 252", (31, 1)),
    Bug("race_between_two_statements", r"race: .* of shared memory `s`", grid=1, block=48, both=True),
    Bug("race_in_a_warp", r"race: .* of shared memory `s`", grid=1, both=True),
    Bug("race_in_a_loop", r"race: .* of shared memory `s`", grid=1, block=31, both=True),
    Bug("race_after_a_warp_has_met", r"race: .* of shared memory `s`", grid=1, block=48, both=True),
    Bug("race_in_a_tree", r"race: .* of shared memory `s`", grid=1, both=True),
    Bug("lost_additions", r"race: .* byte 0 of device allocation", grid=1, both=True),
    Bug("lost_counts", r"race: .* of device allocation", grid=1, both=True),
    Bug("plain_write_beside_atomics", r"race: .* byte 4 of device allocation", grid=1, both=True),
    Bug("never_written", r"never written, byte 48 of shared memory `s` \(128 bytes\)", (3, 0), grid=1),
    Bug("into_the_next_array", r"read outside of shared memory: byte 128 of shared memory `a`", (2, 0), grid=1),
    Bug("past_the_dynamic_array", r"write outside of shared memory: byte 124 of dynamic", (31, 0), grid=1, shared=124),
    Bug("divergent_barrier", r"divergent barrier: .*block \(0,0,0\)", grid=1),
    Bug("return_before_the_barrier", r"reached by 20 of 32 threads of block \(0,0,0\)", grid=1),
    Bug("lane_without_a_part", r"lane 15 reads lane 16, which takes no part", (15, 0), grid=1),
    Bug("shuffle_of_half_a_warp", r"deadlock: .* waits in a warp operation", grid=1),
    Bug("mask_without_the_caller", r"lane 8 .* mask 000000ff, which leaves it out", (8, 0), grid=1),
    Bug("two_warp_operations", r"divergent warp operation", grid=1),
    Bug("divide_by_zero", r"integer division by zero", (6, 0), grid=1),
    Bug("trap", r"__trap\(\)", (5, 0), grid=1),
    Bug("assertion", r"assert", (5, 0), grid=1),
]
MODES = {
    "seed 0": SimOptions(check=True),
    "seed 3": SimOptions(check=True, seed=3),
    "seed 11": SimOptions(check=True, seed=11),
    # If two threads read on different lines, one is named without its line; this order has no such pair.
    "preempt": SimOptions(check=True, seed=1, preempt=4),
}
SEEN_WITHOUT_CHECKS = [
    # Arrays of an unusual size get new memory that is not next to freed memory.
    Bug("far_away", r"write past the end of device allocation", (9, 1), elements=1001),
    *(bug for bug in BUGS if bug.kernel in ("divergent_barrier", "shuffle_of_half_a_warp", "mask_without_the_caller")),
    *BUGS[-4:],
]


@pytest.fixture(scope="module", params=slow_unless(["seed 3", "preempt"], MODES))
def checked(request: pytest.FixtureRequest) -> SimModule:
    return SimDriver(MODES[request.param]).module(SOURCE, "bugs.cu")


@pytest.fixture(scope="module", params=[0, 3], ids=["fast", "fast, seed 3"])
def fast(request: pytest.FixtureRequest) -> SimModule:
    return SimDriver(SimOptions(seed=request.param, watchdog_ms=300)).module(SOURCE, "bugs.cu")


def works(module: SimModule) -> bool:
    """Whether the driver still runs a kernel that has no bug."""
    x = put(module.driver, np.zeros(32, "f4"))
    module.function("right")(x, grid=(1,), block=(32,))
    module.driver.synchronize()
    return bool((take(module.driver, x, 32, "f4") == 2 * np.arange(32)).all())


def failing(
    module: SimModule, kernel: str, *arguments: Any, grid: int = 1, block: int = 32, shared: int = 0
) -> SimError:
    """The error of a launch that must fail and leave a working driver."""
    with pytest.raises(SimError) as caught:
        module.function(kernel)(*arguments, grid=(grid,), block=(block,), shared=shared)
    assert works(module)
    assert caught.value.kernel == kernel
    assert str(caught.value).startswith(f"{kernel}: {caught.value.reason}")
    return caught.value


def run_bug(module: SimModule, bug: Bug) -> SimError:
    """The error of `bug`, which names the marked line and the thread."""
    arrays = [put(module.driver, np.zeros(bug.elements, "i4")) for _ in range(2)]
    count = len(module.function(bug.kernel).signature)
    error = failing(module, bug.kernel, *arrays[:count], grid=bug.grid, block=bug.block, shared=bug.shared)
    text, marked = str(error), marked_lines(bug.kernel)
    assert re.search(bug.says, error.reason), text
    named = {int(number) for number in re.findall(r"\bbugs\.cu:(\d+)", text)}
    assert named == marked, text
    for line in marked:
        assert SOURCE.splitlines()[line - 1].strip() in text
    if bug.thread:
        thread, block = bug.thread
        assert f"thread ({thread},0,0) of block ({block},0,0)" in error.reason
    return error


@each("bug", BUGS, ids=lambda bug: bug.kernel)
def test_check_mode_names_the_line_the_thread_and_the_block(checked: SimModule, bug: Bug) -> None:
    error = run_bug(checked, bug)
    if bug.both:
        assert [place.file for place in error.places] == ["bugs.cu"] * 2
        assert {place.line for place in error.places} == marked_lines(bug.kernel)
        found = re.search(rf"{THREAD} after thread \((\d+),0,0\)", error.reason)
        assert found is not None
        assert found.group(1) != found.group(3)


@each("bug", SEEN_WITHOUT_CHECKS, ids=lambda bug: bug.kernel)
def test_bugs_that_are_found_without_check_mode(fast: SimModule, bug: Bug) -> None:
    run_bug(fast, bug)


def test_use_after_free(checked: SimModule) -> None:
    gone = put(checked.driver, np.zeros(63, "f4"))
    address = gone.ptr
    del gone
    error = failing(checked, "touch", address, grid=2)
    assert re.search(r"write in freed device memory \(allocation #\d+ of 252 bytes\), thread \(4,0,0\)", error.reason)
    assert {place.line for place in error.places} == marked_lines("touch")


def test_use_after_free_of_a_large_array_without_check_mode(fast: SimModule) -> None:
    gone = fast.driver.alloc(70 << 20)  # larger than the block that is kept for the next array of its size
    address = gone.ptr
    del gone
    error = failing(fast, "touch", address, grid=2)
    assert "in freed device memory" in error.reason
    assert {place.line for place in error.places} == marked_lines("touch")


def test_use_after_free_of_a_large_array_among_thousands() -> None:
    """Uses a separate process: only the first 12,000 small arrays have a guard page, while a large one always does."""
    said = say(f"""
driver = SimDriver()
many = [driver.alloc(4) for _ in range(12_001)]
gone = driver.alloc(70 << 20)
address = gone.ptr
del gone
try:
    driver.module({SOURCE!r}, "bugs.cu").function("touch")(address, grid=(2,), block=(32,))
    driver.synchronize()
except RuntimeError as error:
    print(error.reason)
""")
    assert "in freed device memory" in said


def test_null(fast: SimModule, checked: SimModule) -> None:
    for module in (fast, checked):
        error = failing(module, "touch", None, grid=2)
        assert re.search(r"write at 0x8, .*null pointer.*thread \(4,0,0\) of block \(1,0,0\)", error.reason)
        assert {place.line for place in error.places} == marked_lines("touch")


def test_a_pointer_to_host_memory(checked: SimModule) -> None:
    host = np.zeros(8, "f4")
    error = failing(checked, "touch", host.ctypes.data, grid=2)
    assert "address of the host" in error.reason
    assert {place.line for place in error.places} == marked_lines("touch")
    assert not host.any()


def test_endless_recursion() -> None:
    """Uses a separate process: only the first 8192 stacks of a process have a guard page."""
    said = say(f"""
for options in SimOptions(), SimOptions(check=True, seed=3):
    driver = SimDriver(options)
    x = driver.alloc(4 * 32)
    try:
        driver.module({SOURCE!r}, "bugs.cu").function("endless_recursion")(x, grid=(1,), block=(32,))
    except RuntimeError as error:
        print(error.reason, works(driver))
""")
    lines = [line for line in said.splitlines() if "stack overflow" in line]
    expected = r"stack overflow of a simulated thread.*thread \(1,0,0\) of block \(0,0,0\).* True"
    assert len(lines) == 2 and all(re.search(expected, line) for line in lines), said


def test_more_shared_memory_than_a_block_has(fast: SimModule, checked: SimModule) -> None:
    for module in (fast, checked):
        x = put(module.driver, np.zeros(32, "f4"))
        error = failing(module, "large_shared_memory", x)
        assert error.reason == "too much shared memory: 52000 bytes used, limit 49152"
        error = failing(module, "past_the_dynamic_array", x, shared=49153)
        assert "49153 bytes of dynamic shared memory, limit 49152" in error.reason


def test_damage_just_outside_an_array_is_found_afterwards_without_check_mode(fast: SimModule) -> None:
    x = put(fast.driver, np.zeros(63, "f4"))
    for kernel in ("write_past_the_end", "before_the_start"):
        fast.function(kernel)(x, grid=(2,), block=(32,))
        with pytest.raises(
            RuntimeError, match=rf"just outside array number {x.number} of 252 bytes\n.*MINIRNN_SIM=check"
        ):
            fast.driver.synchronize()
        fast.driver.synchronize()  # reported once
        assert works(fast)


def test_blocks_that_wait_for_one_that_finds_no_room() -> None:
    driver = SimDriver(SimOptions(resident=4, watchdog_ms=50))
    module = driver.module(SOURCE, "bugs.cu")
    error = failing(module, "waits_for_a_block_that_never_runs", put(driver, np.zeros(1, "i4")), grid=6)
    assert re.search(r"deadlock: .*blocks that are not resident \(grid of 6 blocks, only 4 fit", error.reason)
    module.function("waits_for_a_block_that_never_runs")(put(driver, np.zeros(1, "i4")), grid=(4,), block=(32,))


def test_a_loop_that_never_ends(fast: SimModule) -> None:
    error = failing(fast, "never_ends", put(fast.driver, np.zeros(1, "i4")))
    assert re.search(r"watchdog: no progress for 300 ms of processor time; thread \(\d+,0,0\)", error.reason)


def test_a_loop_that_never_ends_in_check_mode() -> None:
    driver = SimDriver(SimOptions(check=True, watchdog_ms=300))
    error = failing(driver.module(SOURCE, "bugs.cu"), "never_ends", put(driver, np.zeros(1, "i4")))
    assert re.search(r"deadlock: all .*resident blocks.* spin", error.reason)


@pytest.mark.parametrize(
    "grid, block, says",
    [
        ((1,), (0,), "is empty"),
        ((0,), (1,), "is empty"),
        ((1,), (1025,), "at most 1024 threads"),
        ((1,), (1, 1, 65), "64 along z"),
        ((1, 65536), (1,), "65535 along y and z"),
        ((-1,), (32,), "expected positive integers"),
        ((1,), (1.5,), "expected positive integers"),
    ],
)
def test_grids_and_blocks_no_gpu_takes(fast: SimModule, grid: Any, block: Any, says: str) -> None:
    with pytest.raises(RuntimeError, match=says):
        fast.function("right")(put(fast.driver, np.zeros(32, "f4")), grid=grid, block=block)
    assert works(fast)


@pytest.mark.parametrize(
    "arguments, says",
    [
        ((), "numbers: got 0 arguments\n  expected 3: numpy.int32, pointer, numpy.float64"),
        ((1, None, np.float64(1)), "argument 0 is int\n  expected numpy.int32\n  a GPU would read wrong bytes"),
        ((np.int64(1), None, np.float64(1)), "argument 0 is numpy.int64\n  expected numpy.int32"),
        ((np.int32(1), None, np.float32(1)), "argument 2 is numpy.float32\n  expected numpy.float64"),
        ((np.int32(1), np.zeros(3, "f4"), np.float64(1)), "argument 1 is ndarray\n.*\n  it is in host memory"),
        ((np.int32(1), np.float32(1), np.float64(1)), "argument 1 is numpy.float32\n  expected a device array"),
    ],
)
def test_arguments_of_the_wrong_type_or_number(fast: SimModule, arguments: Any, says: str) -> None:
    with pytest.raises(TypeError, match=says):
        fast.function("numbers")(*arguments, grid=(1,), block=(32,))
    assert works(fast)
