"""Facts about this machine and its Python: the processor, installed packages, and how the user calls a program here."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shlex
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np


def describe(threads: int) -> dict[str, Any]:
    """The facts about the machine that are stored with a measurement, as JSON types."""
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "threads": threads,
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": {package: installed_version(package) for package in ("minirnn", "numpy", "torch")},
        "date": time.strftime("%Y-%m-%d"),
    }


def processor() -> str:
    """The name of the processor, if the system reports it."""
    return reported("model name").partition(":")[2].strip() or platform.processor() or platform.machine()


def instructions() -> str:
    """The features of this processor, as the system reports them. They are equal on equivalent machines."""
    return f"{platform.machine()} {reported('flags', 'Features') or platform.processor() + platform.version()}"


def reported(*names: str) -> str:
    """The first line with one of these names in what Linux reports about the processor, or ""."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return ""
    return next((line for line in lines if line.startswith(names)), "")


def blas() -> str:
    """The library that NumPy uses to multiply matrices."""
    config: Any = np.show_config(mode="dicts")
    found = config["Build Dependencies"]["blas"]
    return f"{found['name']} {found.get('version', '')}".strip()


def installed_version(distribution: str) -> str | None:
    """The version of an installed package, without importing it."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def python() -> str:
    """The command that starts this Python from the current folder."""
    return shlex.quote(short(sys.executable))


def this_program(folder: str | Path = os.curdir) -> str:
    """The command that starts `minirnn` from a folder."""
    script = Path(sys.argv[0])
    if script.name != "minirnn":
        return f"{shlex.quote(short(sys.executable, folder))} -m minirnn"
    on_path = shutil.which("minirnn")
    same = on_path is not None and Path(on_path).absolute() == script.absolute()
    return "minirnn" if same else shlex.quote(short(str(script.absolute()), folder))


def short(path: str, folder: str | Path = os.curdir) -> str:
    """`path` as a user in a folder, the current one by default, would type it."""
    try:
        inside = os.path.relpath(path, folder)
    except ValueError:  # another drive
        return path
    if inside.startswith(os.pardir):
        return path
    return inside if os.sep in inside else os.path.join(os.curdir, inside)
