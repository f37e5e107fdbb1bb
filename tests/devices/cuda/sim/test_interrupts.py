"""Ctrl-C while a kernel runs, forks, and several threads at a time.

Tests `minirnn/devices/cuda/sim/library.py` and `minirnn/devices/cuda/sim/runtime/`.
"""

import threading

import numpy as np
import pytest

from minirnn.devices.cuda.sim.driver import SimDriver
from minirnn.devices.cuda.sim.options import SimOptions
from tests.devices.cuda.sim.process import say
from tests.devices.cuda.sim.run import put, take


@pytest.mark.parametrize("check", [False, True], ids=["fast", "check"])
def test_ctrl_c_ends_an_endless_kernel(check: bool) -> None:
    said = say(f"""
driver = SimDriver(SimOptions(check={check}, watchdog_ms=600_000))
assert works(driver)
zero, started = driver.alloc(8), np.zeros(1, "i4")
driver.memset(zero.ptr, 0, 8)
def press():
    while not started[0]:
        time.sleep(0.001)
        driver.d2h(started, zero.ptr + 4)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=press, daemon=True).start()
try:
    run(driver, "says_so_and_never_ends", zero)
except KeyboardInterrupt:
    print("interrupted", works(driver))
""")
    assert said == "interrupted True\n"


@pytest.mark.slow
def test_ctrl_c_at_any_time_leaves_a_driver_that_works() -> None:
    said = say("""
driver = SimDriver(SimOptions(seed=3))
assert works(driver)
wanted, seen, ready, lost = 200, 0, False, []
def note(unraisable):
    if unraisable.exc_type is KeyboardInterrupt:
        lost.append(unraisable)  # it came inside a __del__: Python says so, and goes on
    else:
        sys.__unraisablehook__(unraisable)
sys.unraisablehook = note
def press():
    global ready
    moments = np.random.default_rng(0).uniform(0, 0.008, wanted)
    for moment in moments:
        while not ready:
            time.sleep(0.0005)
        time.sleep(moment)
        ready = False
        os.kill(os.getpid(), signal.SIGINT)
presser = threading.Thread(target=press, daemon=True)
presser.start()
while seen < wanted:
    try:
        ready = True  # said inside the try: however busy the machine is, no Ctrl-C comes outside of it
        while not lost:
            x = driver.alloc(4 * 256)
            run(driver, "long_one", x, block=256)
            del x
    except KeyboardInterrupt:
        pass
    lost.clear()
    seen += 1
presser.join()
gc.collect()
print(works(driver))
driver.synchronize()
""")
    assert said == "True\n"


def test_ctrl_c_ends_a_launch_of_another_thread() -> None:
    said = say("""
driver, seen = SimDriver(SimOptions(watchdog_ms=600_000)), []
assert works(driver)
zero, started = driver.alloc(8), np.zeros(1, "i4")
driver.memset(zero.ptr, 0, 8)
def launch():
    try:
        run(driver, "says_so_and_never_ends", zero)
    except KeyboardInterrupt:
        seen.append("interrupted")
launcher = threading.Thread(target=launch, daemon=True)
launcher.start()
while not started[0]:
    time.sleep(0.001)
    driver.d2h(started, zero.ptr + 4)
os.kill(os.getpid(), signal.SIGINT)
launcher.join()
print(seen, works(driver))
""")
    assert said == "['interrupted'] True\n"


def test_a_forked_child_goes_on() -> None:
    said = say("""
driver = SimDriver(SimOptions(check=True))
x, host = driver.alloc(4), np.zeros(1, "f4")
driver.h2d(x.ptr, np.array([5], "f4"))
assert works(driver)
child = os.fork()
if not child:
    driver.d2h(host, x.ptr)
    assert host[0] == 5 and works(driver)
    driver.h2d(x.ptr, np.array([6], "f4"))
    print("child", flush=True)
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
driver.d2h(host, x.ptr)
print(host[0], works(driver))
""")
    assert said == "child\n0\n5.0 True\n"


@pytest.mark.slow
def test_a_child_forked_in_the_middle_of_a_launch_goes_on() -> None:
    said = say("""
import warnings
warnings.simplefilter("ignore")  # of forking beside threads
driver, stop = SimDriver(SimOptions()), threading.Event()
assert works(driver)
def launch():
    x = driver.alloc(4 * 256)
    while not stop.is_set():
        run(driver, "long_one", x, block=256)
launcher = threading.Thread(target=launch)
launcher.start()
codes = []
for _ in range(10):
    time.sleep(0.003)
    child = os.fork()
    if not child:
        signal.alarm(60)
        os._exit(0 if works(driver) else 1)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
stop.set()
launcher.join()
print(codes == [0] * 10, works(driver))
""")
    assert said == "True True\n"


def test_threads_launch_and_allocate_at_the_same_time() -> None:
    driver, wrong = SimDriver(SimOptions()), []
    module = driver.module(
        'extern "C" __global__ void add(float *x, float a) { x[blockIdx.x * blockDim.x + threadIdx.x] += a; }', "add.cu"
    )

    def work(number: int) -> None:
        rng = np.random.default_rng(number)
        for k in range(100):
            host = rng.standard_normal(32 * (1 + (number + k) % 5)).astype("f4")
            x = put(driver, host)
            for _ in range(3):
                module.function("add")(x, np.float32(number), grid=(len(host) // 32,), block=(32,))
            if not np.allclose(take(driver, x, len(host), "f4"), host + 3 * number, atol=1e-5):
                wrong.append((number, k))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    driver.synchronize()
