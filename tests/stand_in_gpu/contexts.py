"""The driver API: the device, the primary context, errors in words."""

import ctypes

from tests.stand_in_gpu import machine as m
from tests.stand_in_gpu.machine import Failed, u32, write32, write64

NAME = b"stand-in GPU\0"
DRIVER = 13000  # CUDA 13.0
ATTRIBUTES = {  # by CUdevice_attribute
    1: 1024,  # threads per block
    8: m.DEFAULT_SHARED,
    10: 32,  # threads per warp
    12: 65536,  # registers per block
    16: m.MULTIPROCESSORS,
    38: 50 << 20,  # L2 cache
    39: 2048,  # threads per multiprocessor
    75: 9,  # compute capability, major
    76: 0,  # and minor
    81: 228 << 10,  # shared memory per multiprocessor
    82: 65536,  # registers per multiprocessor
    95: 1,  # cooperative launch
    97: m.MOST_SHARED,
}
_words: dict[int, ctypes.Array[ctypes.c_char]] = {}  # C strings given out


def cuInit(flags: int) -> None:
    if u32(flags):
        raise Failed(m.INVALID_VALUE)


def cuDriverGetVersion(result: int) -> None:
    write32(result, DRIVER)


def cuDeviceGetCount(result: int) -> None:
    write32(result, 1)


def cuDeviceGet(result: int, number: int) -> None:
    if u32(number):
        raise Failed(m.INVALID_DEVICE)
    write32(result, 0)


def cuDeviceGetName(result: int, nbytes: int, device: int) -> None:
    name = NAME[: u32(nbytes)]
    ctypes.memmove(result, name, len(name))


def cuDeviceComputeCapability(major: int, minor: int, device: int) -> None:
    write32(major, ATTRIBUTES[75])
    write32(minor, ATTRIBUTES[76])


def cuDeviceTotalMem_v2(result: int, device: int) -> None:
    write64(result, m.machine.sim.limits.memory_bytes)


def cuDeviceGetAttribute(result: int, attribute: int, device: int) -> None:
    if u32(attribute) not in ATTRIBUTES:
        m.problems.append(f"device attribute {u32(attribute)} is not written in the stand-in")
        raise Failed(m.INVALID_VALUE)
    write32(result, ATTRIBUTES[u32(attribute)])


def cuDevicePrimaryCtxRetain(result: int, device: int) -> None:
    m.machine.primary.references += 1
    write64(result, m.machine.primary_handle)


def cuDevicePrimaryCtxRelease_v2(device: int) -> None:
    if m.machine.primary.references <= 0:
        raise Failed(m.INVALID_CONTEXT)
    m.machine.primary.references -= 1


def cuCtxPushCurrent_v2(context: int) -> None:
    if context != m.machine.primary_handle or m.machine.primary.references <= 0:
        raise Failed(m.INVALID_CONTEXT)
    m.machine.thread.contexts.append(context)


def cuCtxPopCurrent_v2(result: int) -> None:
    contexts = m.machine.thread.contexts
    if not contexts:
        raise Failed(m.INVALID_CONTEXT)
    context = contexts.pop()
    if result:
        write64(result, context)


def cuCtxSetCurrent(context: int) -> None:
    contexts = m.machine.thread.contexts
    if contexts:
        contexts.pop()
    if context:
        cuCtxPushCurrent_v2(context)


def cuCtxGetCurrent(result: int) -> None:
    contexts = m.machine.thread.contexts
    write64(result, contexts[-1] if contexts else 0)


def cuCtxGetDevice(result: int) -> None:
    m.machine.need_context()
    write32(result, 0)


def cuCtxSynchronize() -> None:
    m.machine.need_context()
    m.machine.queues.finish_all()
    m.machine.need_no_fault()


def cuGetErrorString(status: int, result: int) -> None:
    status = u32(status)
    if status not in _words:
        _words[status] = ctypes.create_string_buffer(m.WORDS.get(status, f"error {status}").encode())
    write64(result, ctypes.addressof(_words[status]))


cuGetErrorName = cuGetErrorString
