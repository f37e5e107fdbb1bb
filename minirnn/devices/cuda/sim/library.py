"""The runtime library through ctypes: a mirror of `runtime/api.h`, and the one lock around it."""

from __future__ import annotations

import ctypes
import os
import threading
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from minirnn.devices.base import DeviceUnavailable

OK, FAILED, INTERRUPTED = range(3)


class Options(ctypes.Structure):
    """The `CusimOptions` of the header."""

    _fields_ = [
        (name, ctypes.c_uint32)
        for name in (
            "seed", "check", "preempt", "resident", "stack_bytes", "shared_limit", "watchdog_ms", "trace_capacity",
        )
    ]  # fmt: skip


class Stats(ctypes.Structure):
    """The `CusimStats` of the header."""

    _fields_ = [
        (name, ctypes.c_uint64)
        for name in (
            "switches", "barriers", "warp_operations", "atomics", "resident_blocks", "shared_bytes", "traced",
            "accesses", "bytes_read", "bytes_written", "bytes_looked_at", "bytes_sent",
        )
    ]  # fmt: skip


ACCESS = np.dtype(
    [
        ("address", "u8"),
        ("pc", "u8"),
        ("order", "u8"),
        ("allocation", "i4"),
        ("block", "u4"),
        ("thread", "u4"),
        ("size", "u2"),
        ("write", "u1"),
        ("atomic", "u1"),
    ]
)
"""A `CusimAccess` of the header."""

# One process has one simulated device memory, and runs one launch at a time. Reentrant: the garbage collector may free
# an array in the middle of anything.
lock = threading.RLock()


def _new_lock() -> None:
    global lock
    lock = threading.RLock()  # a forked child must not wait for a thread that only its parent has


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock)


@lru_cache(maxsize=1)
def load(path: Path) -> Any:
    """The library, its functions typed. Modules find its symbols because they are global."""
    try:
        library = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
    except OSError as error:
        raise DeviceUnavailable(f"cuda-sim: cannot load its runtime library\n  {error}") from None
    number, address, bytes_ = ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t
    signatures: dict[str, tuple[Any, list[Any]]] = {
        "cusim_alloc": (address, [bytes_]),
        "cusim_free": (ctypes.c_int, [address]),
        "cusim_live_bytes": (bytes_, []),
        "cusim_damaged": (ctypes.c_int64, [ctypes.POINTER(bytes_)]),
        "cusim_allocation": (ctypes.c_int64, [address]),
        "cusim_range": (ctypes.c_int, [address, ctypes.POINTER(address), ctypes.POINTER(bytes_)]),
        "cusim_name_variable": (None, [address, bytes_, ctypes.c_char_p]),
        "cusim_launch": (
            ctypes.c_int,
            [address, address, bytes_, address, address, number, address, address, address],
        ),
        "cusim_error": (ctypes.c_char_p, []),
        "cusim_error_pcs": (None, [address]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library
