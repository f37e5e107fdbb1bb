"""The text about a failed launch: the file and line of an instruction, and the text of that line."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from minirnn.devices.cuda.driver import LaunchError
from minirnn.devices.cuda.sim.build import KERNELS, name_of


@dataclass(frozen=True)
class Place:
    """A line of a source file; line 0 is unknown."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else f"{self.file} (line unknown: install binutils)"


class SimError(LaunchError):
    """A launch that the simulator stopped.

    Attributes
    ----------
    kernel : str
    reason : str
        The error, with the thread and the block.
    places : tuple of Place
        The place of the failed access and, for a race, of the earlier access that it conflicts with.
    """

    def __init__(self, kernel: str, reason: str, places: tuple[Place, ...], sources: dict[str, list[str]]) -> None:
        self.kernel, self.reason, self.places = kernel, reason, places
        lines = [f"{kernel}: {reason}"]
        named = [(place, "at" if n == 0 else "and at") for n, place in enumerate(dict.fromkeys(places))]
        mentioned = [(Place(file, int(line)), "") for file, line in re.findall(r"([\w./-]+\.cuh?):(\d+)", reason)]
        for place, where in [*named, *dict.fromkeys(mentioned)]:
            text = sources.get(place.file, [])
            quoted = text[place.line - 1].strip() if 0 < place.line <= len(text) else ""
            if where or quoted:
                lines.append("  " + f"{where} {place}".strip() + (f":  {quoted}" if quoted else ""))
        super().__init__("\n".join(lines))


class _DlInfo(ctypes.Structure):
    _fields_ = [
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    ]


def output_of(command: list[str]) -> str:
    """The output of a program; empty if it does not run."""
    try:
        return subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", timeout=20).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


ask: Callable[[list[str]], str] = output_of
"""The program that finds source lines. A process that may not start one lets another process run it."""


def place_of(pc: int, library: Path) -> Place:
    """The source line of an instruction of a loaded `library`."""
    own = name_of(library)
    unknown = Place(own, 0)
    info = _DlInfo()
    dladdr = ctypes.CDLL(None).dladdr
    dladdr.argtypes = [ctypes.c_void_p, ctypes.POINTER(_DlInfo)]
    if not dladdr(pc, ctypes.byref(info)):
        return unknown
    at = pc - 1  # pc is the return address of the call
    if sys.platform == "darwin":
        command = ["atos", "-o", str(library), "-l", hex(info.base), hex(at)]
    else:
        command = ["addr2line", "-e", str(library), hex(at - info.base)]
    found = re.search(r"([^\s(]+):(\d+)", ask(command))
    if not found:
        return unknown
    path = found.group(1)
    known = (own, path.partition(f"{KERNELS}{os.sep}")[2])
    name = next((name for name in known if name and path.endswith(name)), path.rpartition("/")[2])
    return Place(name, int(found.group(2)))
