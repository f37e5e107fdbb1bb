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
    try:
        for text in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
            if text.startswith("model name"):
                return text.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def instructions() -> str:
    """The features of this processor, as the system reports them. They are equal on equivalent machines."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        known = [text for text in lines if text.startswith(("flags", "Features"))]
    except OSError:
        known = []
    return f"{platform.machine()} {known[0] if known else platform.processor() + platform.version()}"


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
