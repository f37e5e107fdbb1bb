"""The entry point that the generated libraries call."""

import _thread
import ctypes
import os
import re
import traceback
from collections.abc import Callable
from typing import Any

from minirnn.devices.cuda.sim.options import SimOptions
from tests.stand_in_gpu import blas, contexts, graphs, machine, memory, modules, streams
from tests.stand_in_gpu.machine import Failed

FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: thing
    for module in (blas, contexts, graphs, memory, modules, streams)
    for name, thing in vars(module).items()
    if re.match("cu[A-Z]|cublas[A-Z]", name)
}
LIBRARIES = {"libcuda.so.1": "stand_in_cuda_hook", "libcublas.so.13": "stand_in_cublas_hook"}
AFTER_A_FORK = {"cuGetErrorString", "cuGetErrorName", "cuDriverGetVersion"}
_kept: list[Any] = []  # callbacks and libraries, which must outlive the calls


def answer(name: bytes, arguments: Any) -> int:
    """The status of a call."""
    called = name.decode()
    machine.log[called] += 1
    function = FUNCTIONS.get(called)
    if function is None:
        machine.problems.append(f"not written in the stand-in: {called}")
        return machine.NOT_SUPPORTED
    if machine.machine.process != os.getpid() and called not in AFTER_A_FORK:
        return machine.NOT_INITIALIZED  # a child of a process that has used CUDA cannot use it
    with machine.machine.lock:
        try:
            return function(*arguments[: function.__code__.co_argcount]) or 0
        except Failed as failed:
            return failed.status
        except KeyboardInterrupt:
            _thread.interrupt_main()  # the error is raised when the call is over, as with a real library
            return 0
        except BaseException:
            machine.problems.append(traceback.format_exc())
            return machine.UNKNOWN


def lost(error: BaseException) -> None:
    """A piece of work failed, so from now on every call fails."""
    if not isinstance(error, Failed):
        machine.problems.append("".join(traceback.format_exception(error)))
    machine.machine.sticky = error.status if isinstance(error, Failed) else machine.UNKNOWN
    machine.machine.queues.forget()


def install(options: SimOptions | None = None) -> None:
    """Create the GPU, and let the generated libraries call `answer`."""
    if hasattr(machine, "machine"):
        return
    machine.machine = machine.Machine(options)
    machine.machine.queues.failed = lost
    callback = ctypes.CFUNCTYPE(ctypes.c_longlong, ctypes.c_char_p, ctypes.POINTER(ctypes.c_uint64))(answer)
    for name, hook in LIBRARIES.items():
        library = ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)
        getattr(library, hook)(callback)
        _kept.extend((callback, library))
