"""Check mode and messages between blocks: exactly the unordered accesses are reported.

Tests `minirnn/devices/cuda/sim/runtime/stale.cpp`, `minirnn/devices/cuda/sim/runtime/order.cpp` and
`minirnn/devices/cuda/sim/runtime/races.cpp`.
"""

import numpy as np
import pytest

import minirnn as mr
from minirnn.devices.cuda.sim.driver import SimDriver
from minirnn.devices.cuda.sim.options import SimOptions
from minirnn.devices.cuda.sim.report import SimError
from tests.devices.cuda.sim.run import put, take
from tests.each import each

pytestmark = pytest.mark.skipif(
    mr.devices.available()["cuda-sim"] is not None, reason=f"cuda-sim: {mr.devices.available()['cuda-sim']}"
)

# Block 1 sends `data` and then `flag`. Block 0 waits for the flag and reads. The names say which accesses are volatile.
SEND = """
extern "C" __global__ void NAME(int *memory, int *result) {
    int *data = memory, *flag = memory + 64;
    volatile int *vdata = data, *vflag = flag;
    if (threadIdx.x) return;
    if (blockIdx.x == 1) { WRITER } else { READER }
}
"""
ORDERS = (SimOptions(check=True), SimOptions(check=True, seed=1), SimOptions(check=True, seed=2, preempt=3))
WAIT = "while (!*vflag) __nanosleep(1);"
FENCE = "__threadfence();"

RIGHT = {
    "plain data, two fences": (f"*data = 7; {FENCE} *vflag = 1;", f"{WAIT} {FENCE} *result = *data;"),
    "volatile data, two fences": (f"*vdata = 7; {FENCE} *vflag = 1;", f"{WAIT} {FENCE} *result = *vdata;"),
    "volatile data, the writer's fence": (f"*vdata = 7; {FENCE} *vflag = 1;", f"{WAIT} *result = *vdata;"),
    "plain data, the writer's fence, volatile read": (f"*data = 7; {FENCE} *vflag = 1;", f"{WAIT} *result = *vdata;"),
    "a flag by atomics": (
        f"*data = 7; {FENCE} atomicExch(flag, 1);",
        f"while (!atomicAdd(flag, 0)) __nanosleep(1); {FENCE} *result = *data;",
    ),
    "the data is the flag": (
        "*vdata = 7; *vflag = 1;",
        "while (!*vflag) __nanosleep(1); while (!*vdata) __nanosleep(1); *result = *vdata;",
    ),
    "whether an atomic is worth while": ("atomicMax(data, 3);", "*result = 7; if (*data < 7) atomicMax(data, 7);"),
}
WRONG = {
    "plain data, no fence": ("*data = 7; *vflag = 1;", f"{WAIT} *result = *data;", "race: read after write"),
    "the reader's fence alone": (
        "*data = 7; *vflag = 1;", f"{WAIT} {FENCE} *result = *data;", "race: read after write",
    ),
    "the writer's fence alone": (
        f"*data = 7; {FENCE} *vflag = 1;", f"{WAIT} *result = *data;",
        "what this one found changed counts only after a __threadfence",
    ),
    "the reader's fence before it looks": (
        f"*data = 7; {FENCE} *vflag = 1;", f"{FENCE} {WAIT} *result = *data;",
        "what this one found changed counts only after a __threadfence",
    ),
    "volatile data, no fence": ("*vdata = 7; *vflag = 1;", f"{WAIT} *result = *vdata;", "message without a fence"),
    "volatile data, the reader's fence": (
        "*vdata = 7; *vflag = 1;", f"{WAIT} {FENCE} *result = *vdata;", "message without a fence",
    ),
    "volatile data, a flag by an atomic": (
        "*vdata = 7; atomicExch(flag, 1);", f"{WAIT} *result = *vdata;", "message without a fence",
    ),
    "the fence comes too late": (
        f"*vdata = 7; *vflag = 1; {FENCE}", f"{WAIT} *result = *vdata;", "message without a fence",
    ),
    "a fence of the block": (
        "*vdata = 7; __threadfence_block(); *vflag = 1;", f"{WAIT} *result = *vdata;", "message without a fence",
    ),
    "a plain flag": (f"*data = 7; {FENCE} *flag = 1;", f"{WAIT} {FENCE} *result = *data;", "volatile"),
    "a plain look at a volatile flag": ("*vflag = 1;", "if (*flag) *result = 7;", "volatile write|plain"),
    "a plain write of what is read volatile": ("*data = 7;", "*result = *vdata;", "volatile"),
}  # fmt: skip


def kernel(writer: str, reader: str, name: str = "send") -> str:
    return SEND.replace("NAME", name).replace("WRITER", writer).replace("READER", reader)


NAMES = {name: f"send_{k}" for k, name in enumerate([*RIGHT, *WRONG])}
ALL = "".join(kernel(*{**RIGHT, **WRONG}[name][:2], called) for name, called in NAMES.items())
"""All kernels are in one text, which is compiled once."""


def sent(options: SimOptions, name: str, text: str = ALL) -> int:
    """The value that block 0 has read."""
    driver = SimDriver(options)
    memory, result = put(driver, np.zeros(128, "i4")), put(driver, np.full(1, 7, "i4"))
    driver.module(text, "send.cu").function(name)(memory, result, grid=(2,), block=(32,))
    return int(take(driver, result, 1, "i4")[0])


@each("options", ORDERS, ids=lambda o: f"seed{o.seed}")
@each("name", RIGHT)
def test_a_message_with_its_fences_arrives_without_an_alarm(name: str, options: SimOptions) -> None:
    assert sent(options, NAMES[name]) == 7


@each("options", ORDERS, ids=lambda o: f"seed{o.seed}")
@each("name", WRONG)
def test_a_message_that_nothing_orders_is_reported(name: str, options: SimOptions) -> None:
    with pytest.raises(SimError, match=WRONG[name][2]):
        sent(options, NAMES[name])


def test_the_report_names_the_read_and_the_write() -> None:
    with pytest.raises(SimError) as caught:
        sent(ORDERS[0], "send", kernel("*vdata = 7;\n*vflag = 1;", f"{WAIT}\n*result = *vdata;"))
    assert [place.line for place in caught.value.places] == [8, 6]
    assert "thread (0,0,0) of block (0,0,0)" in str(caught.value) and "thread 0 of block 1" in str(caught.value)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_fresh_memory_is_a_nan_that_is_not_a_signal(dtype: str) -> None:
    driver = SimDriver(SimOptions())
    fresh = take(driver, driver.alloc(8 * 7), 8 * 7 // np.dtype(dtype).itemsize, dtype)
    assert np.isnan(fresh).all()
    assert not (fresh.view("u1") == 0xFF).all()
    with np.errstate(invalid="raise"):
        assert np.isnan(fresh + fresh.dtype.type(1)).all()  # a NaN that is not signaling
