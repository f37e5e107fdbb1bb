"""The driver API: memory. Copies access host memory when they run, so reusing a buffer too early has a
visible effect.
"""

import ctypes
import os

from minirnn.devices.cuda.driver import OutOfDeviceMemory
from tests.stand_in_gpu import machine as m
from tests.stand_in_gpu.machine import Failed, write64
from tests.stand_in_gpu.streams import enqueue, must_not_capture, wait_for


class _Stretch(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]  # noqa: RUF012


_libc = ctypes.CDLL(None, use_errno=True)


def _move(name: str, host: int, device: int, nbytes: int) -> None:
    """Copy between host and device through the kernel, which reports missing host memory instead of crashing."""
    ours, theirs = _Stretch(device, nbytes), _Stretch(host, nbytes)
    call = getattr(_libc, name)
    call.restype = ctypes.c_ssize_t
    done = call(os.getpid(), ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0)
    if done != nbytes:
        m.problems.append(f"a copy of {nbytes} bytes ran when its host memory was gone")
        raise Failed(m.ILLEGAL_ADDRESS)


def cuMemAlloc_v2(result: int, nbytes: int) -> None:
    m.machine.need_context()
    if nbytes == 0:
        raise Failed(m.INVALID_VALUE)
    try:
        buffer = m.machine.sim.alloc(nbytes)
    except OutOfDeviceMemory:
        raise Failed(m.OUT_OF_MEMORY) from None
    ctypes.memset(buffer.ptr, 0xCD, nbytes)  # a GPU does not clear memory
    m.machine.allocations[buffer.ptr] = buffer
    write64(result, buffer.ptr)


def cuMemFree_v2(address: int) -> None:
    m.machine.need_context()
    if address not in m.machine.allocations:
        raise Failed(m.INVALID_VALUE)
    if m.machine.queues.using(address):
        m.problems.append("memory was freed while work that needs it was not done")
        m.machine.queues.finish_all()
    del m.machine.allocations[address]


def cuPointerGetAttribute(result: int, attribute: int, address: int) -> None:
    m.machine.need_context()
    if attribute != 9 or not any(p <= address <= p + b.nbytes for p, b in m.machine.allocations.items()):
        raise Failed(m.INVALID_VALUE)
    ctypes.c_int.from_address(result).value = 0  # the number of the GPU


def cuMemGetInfo_v2(free: int, total: int) -> None:
    m.machine.need_context()
    used = sum(buffer.nbytes for buffer in m.machine.allocations.values())
    write64(free, max(0, m.machine.sim.limits.memory_bytes - used))
    write64(total, m.machine.sim.limits.memory_bytes)


def cuMemcpyHtoDAsync_v2(to: int, source: int, nbytes: int, stream: int) -> None:
    start = m.machine.must_hold(to, nbytes)
    if m.machine.stream(stream).captured is not None:
        m.problems.append("a copy of pageable memory is captured")
    enqueue(stream, lambda: _move("process_vm_readv", source, to, nbytes), frozenset({start}))


def cuMemcpyDtoHAsync_v2(to: int, source: int, nbytes: int, stream: int) -> None:
    start = m.machine.must_hold(source, nbytes)
    if m.machine.stream(stream).captured is not None:
        m.problems.append("a copy to pageable memory is captured")
    enqueue(stream, lambda: _move("process_vm_writev", to, source, nbytes), frozenset({start}))


def cuMemcpyHtoD_v2(to: int, source: int, nbytes: int) -> None:
    must_not_capture(0)
    cuMemcpyHtoDAsync_v2(to, source, nbytes, 0)
    wait_for(0)


def cuMemcpyDtoH_v2(to: int, source: int, nbytes: int) -> None:
    must_not_capture(0)
    cuMemcpyDtoHAsync_v2(to, source, nbytes, 0)
    wait_for(0)


def cuMemcpyDtoDAsync_v2(to: int, source: int, nbytes: int, stream: int) -> None:
    memory = frozenset({m.machine.must_hold(to, nbytes), m.machine.must_hold(source, nbytes)})
    enqueue(stream, lambda: ctypes.memmove(to, source, nbytes), memory)


def cuMemcpyDtoD_v2(to: int, source: int, nbytes: int) -> None:
    cuMemcpyDtoDAsync_v2(to, source, nbytes, 0)


def cuMemsetD8Async(to: int, byte: int, nbytes: int, stream: int) -> None:
    start = m.machine.must_hold(to, nbytes)
    enqueue(stream, lambda: ctypes.memset(to, byte & 0xFF, nbytes), frozenset({start}))


def cuMemsetD8_v2(to: int, byte: int, nbytes: int) -> None:
    cuMemsetD8Async(to, byte, nbytes, 0)
