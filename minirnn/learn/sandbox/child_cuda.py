"""The part of an answer's process that runs CUDA kernels: in the simulator, with every access checked, or on a GPU."""

from __future__ import annotations

import contextlib
import math
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from minirnn.devices.base import DeviceUnavailable
from minirnn.devices.cuda.driver import CompileError, CudaError, LaunchError
from minirnn.devices.cuda.sim import build, compiler, library, report
from minirnn.devices.cuda.sim.driver import SimDriver
from minirnn.devices.cuda.sim.launch import SimModule
from minirnn.devices.cuda.sim.options import SimOptions
from minirnn.devices.cuda.sim.trace import SECTOR, Trace

from . import kernel_changes

WATCHDOG = 6.0
"""Seconds of processor time without progress after which a launch counts as endless. A deadlock is found sooner."""
REFUSED = (UnicodeDecodeError, SyntaxError, LookupError)
"""The exceptions that reading the file can raise."""


def prepare() -> None:
    """Find the compiler and load the simulator, once for all CUDA kernels that run in this process."""
    from . import tools  # noqa: F401

    with contextlib.suppress(DeviceUnavailable, CompileError):  # each kernel is told this again
        library.load(build.runtime_library(compiler.find()))


def on_gpu(answer: Any, protocol: Any, lock: Callable[..., None]) -> None:
    """Compile the CUDA kernel and run each call on the GPU.

    There are no locks, because nvcc is a separate process and a CUDA context exceeds any limit of address space. This
    is only for a student's own machine and never for grading.
    """
    from minirnn.devices.cuda.gpu.driver import PyCudaDriver

    try:
        answer.read()
        module = PyCudaDriver().module(answer.source, os.path.basename(answer.job["file"]))
        kernel = module.function(answer.job["function"])
        answer.reply(kernels=[answer.job["function"]])
    except (CudaError, *REFUSED, KeyError, RuntimeError) as error:
        answer.reply(error=answer.describe(error))
        return
    serve(answer, protocol, lambda order, name: kernel)


def in_simulator(answer: Any, protocol: Any, lock: Callable[..., None]) -> None:
    """Compile the CUDA kernel, lock this process, then run each call in the requested order of threads.

    Each order has its own copy of the library, so that variables start afresh. The copies are made first, because the
    locks forbid it later.
    """
    # imported here because it needs locks, which a system may lack; `prepare` has already imported it
    from . import tools
    from .locks import limits

    name = os.path.basename(answer.job["file"])
    options = SimOptions(check=True, memory_mb=256, watchdog_ms=math.ceil(1000 * min(answer.job["seconds"], WATCHDOG)))
    # also ends the process that reads the text here
    limits.limit_softly(int(answer.job["together"]) + 1, tools.MEGABYTES)
    source, told = "", {}
    try:
        answer.read()
        drivers = {order: SimDriver(replace(options, seed=order)) for order in answer.job["orders"]}
        source = answer.source
        if kind := answer.job["changes"]:
            source, rows = kernel_changes.together(source, answer.job["function"], kind)
            told = {"changes": rows}
        made = tools.compiled(source, name, options, answer.job)
        copies = {order: copied(made, Path(answer.job["folder"]) / "kernel" / str(order)) for order in drivers}
        report.ask = tools.line_finder(made, answer.job)
        # Loading the compiled file may already run code of the student, so lock first.
        lock(answer.job, readable=[str(path) for path in copies.values()])
        answer.reply(ready=True, compiled=tools.used())  # time counts from here
        modules = {o: SimModule(drivers[o], path, name, source) for o, path in copies.items()}
        answer.reply(kernels=modules[0].kernels, **told)
    except (CompileError, *REFUSED) as error:
        answer.reply(error=answer.describe(error))
        return
    serve(answer, protocol, lambda order, name: modules[order].function(name))


def copied(library: Path, folder: Path) -> Path:
    """A copy of a library under another name, which includes the name of the source."""
    folder.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(library, folder))


def serve(answer: Any, protocol: Any, kernel: Callable[[int, str], Any]) -> None:
    """Run the CUDA kernel for each call. `kernel` returns it for an order of threads, under another name if
    requested.
    """
    while (call := protocol.receive(answer.requests)) is not None:
        try:
            launch(answer, kernel(call["order"], call.get("function", answer.job["function"])), call)
        except (CudaError, CompileError, TypeError, ValueError) as error:
            answer.reply(error={"type": type(error).__name__, "text": str(error), "line": line_of(error), "code": ""})


def line_of(error: Exception) -> int | None:
    """The line of the CUDA kernel in which a launch failed, if the simulator knows it."""
    places = getattr(error, "places", ()) if isinstance(error, LaunchError) else ()
    return int(places[0].line) if places else None


def launch(answer: Any, kernel: Any, call: dict[str, Any]) -> None:
    """Run the CUDA kernel once, and send back its outputs and counts."""
    buffers: dict[str, Any] = {}
    arguments: list[Any] = []
    driver = kernel.driver
    for name, value in call["arguments"].items():
        if isinstance(value, np.ndarray):
            buffers[name] = driver.alloc(value.nbytes)
            driver.h2d(buffers[name].ptr, value)
        arguments.append(buffers.get(name, value))
    run = kernel.traced if call["counted"] else kernel
    try:
        trace = run(*arguments, grid=tuple(call["grid"]), block=tuple(call["block"]))
        driver.synchronize()
    except LaunchError as error:
        error.args = (by_name(str(error), buffers, call["arguments"]),)
        raise
    values = []
    for name in call["outputs"]:
        values.append(np.empty_like(call["arguments"][name]))
        driver.d2h(values[-1], buffers[name].ptr)
    answer.reply(value={"values": values}, counts=counts(trace, int(np.prod(call["grid"]))) if call["counted"] else {})


def by_name(text: str, buffers: dict[str, Any], arguments: dict[str, Any]) -> str:
    """The simulator's message, with names of arrays and elements in place of allocation numbers and bytes."""
    named = {f"#{buffer.number}": name for name, buffer in buffers.items() if hasattr(buffer, "number")}

    def element(found: re.Match[str]) -> str:
        name = named.get(found[2])
        size = arguments[name].itemsize if name else 1
        index = f"{name}[{int(found[1]) // size}]"
        return index if name and int(found[1]) % size == 0 else found[0]

    text = re.sub(r"byte (\d+) of device allocation (#\d+) \(\d+ bytes\)", element, text)

    def whole(found: re.Match[str]) -> str:
        name = named.get(found[1])
        return f"`{name}` ({arguments[name].size} numbers)" if name else found[0]

    text = re.sub(r"device allocation (#\d+) \(\d+ bytes\)", whole, text)
    return re.sub(r"at byte (\d+)(?=,)", lambda found: f"at index {int(found[1]) // 4}", text) if named else text


def counts(trace: Trace, blocks: int) -> dict[str, int]:
    """The numbers read from device memory by all threads, the most read by one thread, the 32-byte sectors moved, and
    the blocks that store nothing. The result of an atomic operation also counts as read.

    Raises
    ------
    ValueError
        If numbers are stored in a variable of the module, because reads from it are not counted.
    """
    if (trace.accesses["allocation"] == -2).any():
        raise ValueError(
            "numbers are kept in a static or __device__ variable, which is also in device memory\n"
            "  keep what a block uses again in __shared__ memory"
        )
    accesses = trace.accesses[trace.accesses["allocation"] >= 0]
    sectors = 0
    for group in trace.warp_accesses(accesses):
        address, allocation = group["address"].astype(np.int64), group["allocation"].tolist()
        ends = address + group["size"].astype(np.int64) - 1
        touched = set(zip(allocation, (address // SECTOR).tolist(), strict=True))
        sectors += len(touched | set(zip(allocation, (ends // SECTOR).tolist(), strict=True)))
    wrote, atomic = accesses["write"].astype(bool), accesses["atomic"].astype(bool)
    storing = np.unique(accesses["block"][wrote & ~atomic])
    readers = accesses[["block", "thread"]][~wrote | atomic]
    most = int(np.unique(readers, return_counts=True)[1].max(initial=0))
    return {"reads": len(readers), "thread": most, "sectors": sectors, "idle": blocks - len(storing)}
