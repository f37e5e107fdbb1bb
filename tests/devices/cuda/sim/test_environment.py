"""The simulator in difficult environments: little memory, launches that fail.

Tests `minirnn/devices/cuda/sim/compiler.py`, `minirnn/devices/cuda/sim/memory.py` and
`minirnn/devices/cuda/sim/driver.py`.
"""

import sys
from pathlib import Path

import pytest

from minirnn.devices.cuda.sim.driver import SimDriver
from minirnn.devices.cuda.sim.memory import POOL_BLOCKS
from minirnn.devices.cuda.sim.options import SimOptions
from tests.devices.cuda.sim.process import say

resource = pytest.importorskip("resource", reason="limits of memory are set the POSIX way")


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS does not limit the address space")
def test_little_address_space() -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (2_500_000 << 10,) * 2)

    code = "for check in (False, True): print(works(SimDriver(SimOptions(check=check))))"
    assert say(code, before=limit, OPENBLAS_NUM_THREADS="1") == "True\nTrue\n"


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads /proc/self/statm")
@pytest.mark.parametrize("check", [False, True], ids=["fast", "check"])
def test_launches_that_fail_keep_no_memory(check: bool) -> None:
    said = say(f"""
def pages():
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1])
driver = SimDriver(SimOptions(check={check}))
def fail(times):
    for _ in range(times):
        x = driver.alloc(100_000)
        try:
            run(driver, "diverges", block=256)
        except RuntimeError:
            continue
        raise SystemExit("no error")
fail(300)
before = pages()
fail(3000)
print((pages() - before) * os.sysconf("SC_PAGESIZE") >> 20, works(driver))
""")
    grown, right = said.split()
    assert int(grown) < 8
    assert right == "True"


@pytest.mark.parametrize("check", [False, True], ids=["fast", "check"])
def test_more_memory_than_the_device_has(check: bool) -> None:
    assert (
        say(f"""
driver = SimDriver(SimOptions(check={check}, memory_mb=8))
M = 1 << 20
for _ in range(3):  # the second time, all of it must be free again
    a, b = driver.alloc(3 * M), driver.alloc(3 * M)
    try:
        driver.alloc(2 * M + 1)
    except OutOfDeviceMemory as error:
        assert isinstance(error, MemoryError)
        assert (error.asked, error.held, error.free) == (2 * M + 1, 6 * M, 2 * M), error.args
    else:
        raise SystemExit("no error")
    c = driver.alloc(2 * M)
    del a, b, c
    all_of_it = driver.alloc(8 * M)
    del all_of_it
print(works(driver))
""")
        == "True\n"
    )


def test_a_device_too_small_for_a_tensor_names_the_sizes() -> None:
    said = say(
        """
try:
    mr.tensor(np.zeros(3 << 20, "f4"), device="cuda-sim")
except OutOfDeviceMemory as error:
    print(error)
""",
        MINIRNN_SIM="memory_mb=8",
    )
    assert said.startswith("cuda-sim: out of memory: asked for 12.0 MiB, minirnn holds 0 bytes, 8.0 MiB are free\n")


def test_the_pool_keeps_a_limited_number_of_small_arrays() -> None:
    """Each array has its own pages, and only the first 12,000 of a process have guard pages."""
    driver = SimDriver(SimOptions())
    buffers = [driver.alloc(4) for _ in range(POOL_BLOCKS + 500)]
    before = driver.memory.held()
    del buffers
    driver.alloc(100)  # another size, so that dead arrays are returned first
    assert driver.memory.free.count == POOL_BLOCKS
    assert driver.memory.held() <= before - 500 * 4 + 100
    driver.memory.empty_pool()
    assert driver.memory.free.count == driver.memory.free.nbytes == 0
