"""A Python of its own for tests that need one: to press Ctrl-C, to fork, to have no compiler or little memory."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

_BEGIN = """
import gc, os, signal, sys, threading, time
import numpy as np
import minirnn as mr
from minirnn.devices.cuda.driver import OutOfDeviceMemory
from minirnn.devices.cuda.sim.driver import SimDriver
from minirnn.devices.cuda.sim.options import SimOptions
from minirnn.devices import DeviceUnavailable

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts its background jobs with Ctrl-C ignored

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


def say(code: str, before: Callable[[], None] | None = None, timeout: float = 280, **env: str | None) -> str:
    """What a new Python prints that runs `code`, which must end well and leave stderr empty.

    `code` may use what stands above. Environment variables that are None are taken away.
    """
    full = {name: value for name, value in (os.environ | env).items() if value is not None}
    done = subprocess.run(
        [sys.executable, "-c", _BEGIN + code], env=full, capture_output=True, text=True, preexec_fn=before,
        timeout=timeout,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout
