"""Names for code that tests of the simulator run in a separate Python."""

from collections.abc import Callable

from tests.devices import process

_BEGIN = """
from minirnn.devices.cuda.driver import OutOfDeviceMemory
from minirnn.devices.cuda.sim.driver import SimDriver
from minirnn.devices.cuda.sim.options import SimOptions

SOURCE = '''
extern "C" __global__ void right(float *x) { x[threadIdx.x] = 2.f * threadIdx.x; }
extern "C" __global__ void says_so_and_never_ends(volatile int *x) { x[1] = 1; while (x[0] >= 0); }
extern "C" __global__ void long_one(float *x) {
    for (int k = 0; k < 1000; k++) { __syncthreads(); x[threadIdx.x] += 1; }
}
extern "C" __global__ void diverges() {
    if (threadIdx.x) { __syncthreads(); } else {
        __syncthreads(); }
}
extern "C" __global__ void null(int *x) { if (threadIdx.x == 3) x[threadIdx.x] = 1; }
'''

def works(driver):
    x, host = driver.alloc(128), np.empty(32, "f4")
    driver.module(SOURCE, "surroundings.cu").function("right")(x, grid=(1,), block=(32,))
    driver.d2h(host, x.ptr)
    return bool((host == 2 * np.arange(32)).all())

def run(driver, name, *arguments, block=32):
    driver.module(SOURCE, "surroundings.cu").function(name)(*arguments, grid=(1,), block=(block,))
"""


def say(code: str, before: Callable[[], None] | None = None, **env: str | None) -> str:
    """The output of a new Python that runs `code` after the code above."""
    return process.say(_BEGIN + code, before, **env)
