"""The driver API: modules, kernels, launches."""

import ctypes
import json
import struct
from typing import Any

from minirnn.devices.cuda.driver import LaunchError
from tests.stand_in_gpu import contexts
from tests.stand_in_gpu import machine as m
from tests.stand_in_gpu.machine import Failed, u32, write32, write64
from tests.stand_in_gpu.nvcc import MAGIC, sim_arguments
from tests.stand_in_gpu.streams import enqueue

MAX_DYNAMIC_SHARED_SIZE = 8  # CUfunction_attribute
COOPERATIVE = 2  # CUlaunchAttributeID
POINTER, SIZE = 1, 2  # CU_LAUNCH_PARAM_BUFFER_...
ALIGNMENT = {"P": 8, "?": 1, "i": 4, "I": 4, "q": 8, "Q": 8, "e": 2, "f": 4, "d": 8}


class Module:
    def __init__(self, sim_module: Any) -> None:
        self.sim_module = sim_module


class Function:
    def __init__(self, kernel: Any) -> None:
        self.kernel, self.dynamic_shared = kernel, m.DEFAULT_SHARED


def cuModuleLoadData(result: int, image: int) -> None:
    """The "cubin" is the file written by nvcc.py. Its source is compiled for the simulator."""
    m.machine.need_context()
    if ctypes.string_at(image, 8) != MAGIC:
        raise Failed(m.INVALID_IMAGE)
    length = int.from_bytes(ctypes.string_at(image + 8, 8), "little")
    try:
        told = json.loads(ctypes.string_at(image + 16, length))
    except ValueError:
        raise Failed(m.INVALID_IMAGE) from None
    if told["arch"] != f"sm_{contexts.ATTRIBUTES[75]}{contexts.ATTRIBUTES[76]}":
        raise Failed(m.NO_BINARY_FOR_GPU)
    if told["release"][0] > contexts.DRIVER // 1000:
        raise Failed(m.INVALID_IMAGE)
    write64(result, m.machine.handle(Module(m.machine.sim.module(*sim_arguments(told)))))


def cuModuleLoadDataEx(result: int, image: int, count: int, options: int, values: int) -> None:
    cuModuleLoadData(result, image)


def cuModuleUnload(module: int) -> None:
    m.machine.need_context()
    m.machine.drop(module, Module)


def cuModuleGetFunction(result: int, module: int, name: int) -> None:
    m.machine.need_context()
    wanted, sim_module = ctypes.string_at(name).decode(), m.machine.get(module, Module).sim_module
    if wanted not in sim_module.kernels:
        raise Failed(m.NOT_FOUND)
    write64(result, m.machine.handle(Function(sim_module.function(wanted))))


def cuFuncSetAttribute(function: int, attribute: int, value: int) -> None:
    m.machine.need_context()
    if u32(attribute) != MAX_DYNAMIC_SHARED_SIZE:
        m.problems.append(f"function attribute {u32(attribute)} is not written in the stand-in")
        return
    if u32(value) > m.MOST_SHARED:
        raise Failed(m.INVALID_VALUE)
    m.machine.get(function, Function).dynamic_shared = max(m.DEFAULT_SHARED, u32(value))


def cuOccupancyMaxActiveBlocksPerMultiprocessor(result: int, function: int, threads: int, shared: int) -> None:
    m.machine.need_context()
    blocks = m.machine.get(function, Function).kernel.max_resident_blocks((u32(threads), 1, 1), shared)
    write32(result, blocks // m.MULTIPROCESSORS)


def parameters_of(kernel: Any, extra: int) -> list[Any]:
    """The kernel's arguments, unpacked from PyCUDA's buffer into the simulator's form."""
    pointer_key, pointer, size_key, size, _ = (ctypes.c_uint64 * 5).from_address(extra)
    if (pointer_key, size_key) != (POINTER, SIZE):
        m.problems.append(f"{kernel.name}: parameters that come in another way than PyCUDA's")
        raise Failed(m.NOT_SUPPORTED)
    buffer = ctypes.string_at(pointer, ctypes.c_uint64.from_address(size).value)
    values: list[Any] = []
    at = 0
    for letter, nbytes in zip(kernel.signature, kernel._sizes, strict=True):
        at += -at % (ALIGNMENT[letter] if letter != "s" else min(nbytes & -nbytes, 8))  # of a struct: as its size lets
        raw = buffer[at : at + nbytes]
        at += nbytes
        if len(raw) == nbytes:
            form = "<" + ("Q" if letter == "P" else letter)
            values.append(raw if letter == "s" else struct.unpack(form, raw)[0])
    if at != len(buffer):
        m.problems.append(f"{kernel.name}: parameters of {len(buffer)} bytes, the kernel takes {at}")
        raise Failed(m.INVALID_VALUE)
    return values


def cuLaunchKernel(
    function: int, gx: int, gy: int, gz: int, bx: int, by: int, bz: int, shared: int, stream: int, parameters: int,
    extra: int,
) -> None:  # fmt: skip
    launch(function, (gx, gy, gz), (bx, by, bz), shared, stream, extra, cooperative=False)


def cuLaunchKernelEx(config: int, function: int, parameters: int, extra: int) -> None:
    numbers, (stream, attributes) = (
        (ctypes.c_uint32 * 7).from_address(config),
        (ctypes.c_uint64 * 2).from_address(config + 32),
    )
    cooperative = False
    for k in range(ctypes.c_uint32.from_address(config + 48).value):
        number = ctypes.c_uint32.from_address(attributes + 72 * k).value
        if number != COOPERATIVE:
            m.problems.append(f"launch attribute {number} is not written in the stand-in")
            raise Failed(m.NOT_SUPPORTED)
        cooperative = ctypes.c_int32.from_address(attributes + 72 * k + 8).value != 0
    launch(function, tuple(numbers[:3]), tuple(numbers[3:6]), numbers[6], stream, extra, cooperative)


def launch(
    function: int,
    grid: tuple[int, ...],
    block: tuple[int, ...],
    shared: int,
    stream: int,
    extra: int,
    cooperative: bool,
) -> None:
    """Add a launch to the stream. The blocks of a plain launch run one after another, those of a cooperative one at
    once.
    """
    m.machine.need_context()
    asked = m.machine.get(function, Function)
    kernel = asked.kernel
    (gx, gy, gz), (bx, by, bz), shared = map(u32, grid), map(u32, block), u32(shared)
    if not (0 < gx < 2**31 and 0 < gy < 2**16 and 0 < gz < 2**16):
        raise Failed(m.INVALID_VALUE)
    if not (0 < bx * by * bz <= kernel.most_threads and bz <= 64) or shared > asked.dynamic_shared:
        raise Failed(m.INVALID_VALUE)
    if cooperative and gx * gy * gz > kernel.max_resident_blocks((bx, by, bz), shared):
        raise Failed(m.COOPERATIVE_LAUNCH_TOO_LARGE)
    values = parameters_of(kernel, extra)
    pointers = [v for letter, v in zip(kernel.signature, values, strict=True) if letter == "P" and v]
    options = m.machine.sim.run_options if cooperative else ctypes.addressof(m.machine.one_by_one)

    def run() -> None:
        try:
            kernel._launch(values, (gx, gy, gz), (bx, by, bz), shared, options, 0)
        except LaunchError as error:
            m.problems.append(str(error))
            raise Failed(m.ILLEGAL_ADDRESS) from None

    enqueue(stream, run, m.machine.touched(pointers))
