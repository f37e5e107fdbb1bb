"""The common part of all tests: the fixtures `rng` and `device`, a clean state around each test, Hypothesis'
settings.
"""

import os
import signal
import sys
import zlib
from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import numpy as np
import pytest

# The tests set what they need, independently of the shell in which they run.
os.environ["MPLBACKEND"] = "Agg"
os.environ.pop("MINIRNN_DEVICE", None)
# Hundreds of programs are started, and each would compile all its imports again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# a shell sets it for a background job, and programs would inherit it
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

import minirnn as mr  # noqa: E402
from minirnn.devices.base import Device  # noqa: E402
from minirnn.devices.cpu.primitives import Primitives  # noqa: E402
from minirnn.engine.tape import mode  # noqa: E402
from tests.examples import register_profiles  # noqa: E402
from tests.run import (  # noqa: E402, F401
    pytest_collection,
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_sessionfinish,
    pytest_terminal_summary,
    pytest_testnodedown,
    pytest_xdist_auto_num_workers,
)

# Every test with the fixture `device` runs once for each of these, for "cuda" only where a GPU works; `--devices`
# names others, such as your own.
DEVICES = ("cpu", "native", "cuda-sim", "cuda")
# Others that `--devices` may name: the CUDA kernels as nvcc's PTX, for the default and for other architectures.
PTX_DEVICES = ("ptx", "ptx-sm_75", "ptx-sm_80", "ptx-sm_90", "ptx-sm_120")

# The variables that minirnn reads, in addition to those that begin with its name.
READ = {
    "PATH",
    "HOME",
    "CXX",
    "XDG_CACHE_HOME",
    "TMPDIR",
    "CUDA_VISIBLE_DEVICES",
    "NO_COLOR",
    "COLUMNS",
    "TERM",
    "LANG",
}

register_profiles()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed", type=int, default=0, help="another draw of the random inputs of all tests (default 0)")
    parser.addoption("--shuffle", type=int, metavar="SEED", help="run the tests in a random order, file by file")
    parser.addoption("--restless", action="store_true", help="let threads and the garbage collector interrupt anything")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    names = devices_of(metafunc.config)
    # Devices that were requested are never left out.
    slow = "cpu" in names and metafunc.definition.get_closest_marker("slow_elsewhere") is not None
    if "device" in metafunc.fixturenames:
        marked = [pytest.param(name, marks=marks_of(name, slow)) for name in names]
        metafunc.parametrize("device", marked, indirect=True)
    if "cuda_device" in metafunc.fixturenames:
        marked = [pytest.param(name, marks=marks_of(name, False)) for name in names if name.startswith(("cuda", "ptx"))]
        metafunc.parametrize("cuda_device", marked, indirect=True)


def devices_of(config: pytest.Config) -> list[str]:
    """The devices that ``--devices`` names, or all that should work here."""
    if config.option.devices:
        return config.option.devices.split(",")
    return [name for name in DEVICES if name != "cuda" or reason_against(name) is None]


def marks_of(name: str, slow_elsewhere: bool) -> list[pytest.MarkDecorator]:
    return [pytest.mark.cuda] * (name == "cuda") + [pytest.mark.slow] * (slow_elsewhere and name != "cpu")


@pytest.fixture
def device(request: pytest.FixtureRequest) -> str:
    """The name of a device that works here; others are skipped with the reason that `minirnn doctor` gives."""
    name: str = request.param
    if (reason := reason_against(name)) is not None:
        pytest.skip(f"{name}: {reason}")
    return name


@pytest.fixture
def cuda_device(request: pytest.FixtureRequest) -> Any:
    """Like `device`, but the device itself, and only those that run the CUDA kernels: simulator, GPU, PTX machine."""
    if (reason := reason_against(request.param)) is not None:
        pytest.skip(f"{request.param}: {reason}")
    return mr.devices.get(request.param)


@cache
def reason_against(name: str) -> str | None:
    """Why a device does not work here, looked up once for thousands of tests."""
    return mr.devices.available()[name]


class ComposedCPU(Primitives, Device):
    """NumPy without a single fused kernel: every op is computed by its composition from primitives."""

    name = "cpu-composed"


mr.devices.register("cpu-composed", ComposedCPU)


def ptx_device(name: str) -> Device:
    """nvcc's PTX on the machine of `tests/ptx_machine`; ``ptx-sm_75`` is what it compiles for that architecture."""
    from tests.ptx_machine import driver

    _, _, arch = name.partition("-")
    return driver.device_of(driver.PtxOptions(arch=arch) if arch else None, name=name)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Register the PTX machine only if ``--devices`` names it, or tests of all devices would wait for nvcc."""
    for one in {*PTX_DEVICES}.intersection(devices_of(session.config)):
        mr.devices.register(one, partial(ptx_device, one))


@pytest.fixture
def composed_device() -> str:
    """The name of a device on which every fused op is its composition from primitives, the reference for the
    kernels.
    """
    return "cpu-composed"


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Random numbers of this test: the same in every run and order. A failing test shows the seed."""
    seed = [request.config.getoption("--seed"), zlib.crc32(request.node.nodeid.encode())]
    print(f"rng: np.random.default_rng({seed})")
    return np.random.default_rng(seed)


def surroundings() -> dict[str, object]:
    """The state that all tests of a process share, which a test must not change."""
    # Not all variables: torch sets some of its own when it is imported.
    variables = {name: os.environ[name] for name in os.environ if name in READ or name.startswith("MINIRNN_")}
    found = {"environment": variables, "default device": mr.devices.get().name, "recording": mode.enabled}
    return found | {"current folder": os.getcwd(), "errors of NumPy": np.geterr()}


@pytest.fixture(autouse=True)
def clean_state() -> Iterator[None]:
    """Each test starts a new public random stream, leaves no Matplotlib figure open, and restores everything else."""
    mr.manual_seed(0)
    before = surroundings()
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
    after = surroundings()
    mode.enabled = True  # so that the test that left it off fails, not thousands of later tests
    changed = {name: (value, after[name]) for name, value in before.items() if value != after[name]}
    assert not changed, f"the test has changed what it shares with others: {changed}"
