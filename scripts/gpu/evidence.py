"""What a run on a GPU found: a line of JSON for each result, appended at once to the file named by ``EVIDENCE``.

``python -m scripts.gpu.evidence`` appends the machine. ``DEVICE`` names another device, ``QUICK`` asks for tiny
sizes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import minirnn as mr
from minirnn.machine import computer, toolchain

DEVICE, QUICK = os.environ.get("DEVICE", "cuda"), bool(os.environ.get("QUICK"))
NOT_HERE = 69
"""The exit status of a step that needs something which this machine does not have."""
PACKAGES = ("numpy", "pycuda", "nvidia-cublas", "torch")


def device() -> Any:
    """The device that is examined."""
    return mr.devices.get(DEVICE)


def note(step: str, **row: Any) -> None:
    """Print a result and append it to the evidence. It is kept if this process is ended afterwards."""
    line = json.dumps({"step": step, **row})
    print(line[:300], flush=True)
    if path := os.environ.get("EVIDENCE"):
        with open(path, "a", encoding="utf-8") as file:
            file.write(line + "\n")


def rows(path: str | Path, step: str | None = None) -> list[dict[str, Any]]:
    """The results of one step, or of all. A last line that was not written to its end is dropped."""
    found = []
    if Path(path).exists():
        for line in Path(path).read_text(encoding="utf-8").splitlines():
            try:
                found.append(json.loads(line))
            except ValueError:
                continue
    return [row for row in found if step in (None, row["step"])]


def noted(step: str) -> list[dict[str, Any]]:
    """The results of a step so far, those of an earlier run included."""
    return rows(os.environ.get("EVIDENCE", "/dev/null"), step)


def side_by_side(commands: Mapping[str, Sequence[str]], seconds: float) -> dict[str, tuple[int, str]]:
    """The status and the last words of processes that run at the same time; 124 for one that was ended."""
    until, running, found = time.monotonic() + seconds, {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for k, (name, command) in enumerate(commands.items()):
            said = Path(folder, str(k))
            with said.open("wb") as file:
                running[name] = said, subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT)
        for name, (said, process) in running.items():
            try:
                status = process.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                status = 124
            found[name] = status, said.read_text(encoding="utf-8", errors="replace")[-2000:]
    return found


def main() -> int:
    """The machine, its limits, and all versions."""
    versions = {d.metadata["Name"].lower(): d.version for d in distributions() if d.metadata["Name"]}
    about = computer.describe(os.cpu_count() or 1) | {"time": time.strftime("%Y-%m-%d %H:%M:%S"), "quick": QUICK}
    about["versions"] = {name: versions.get(name) for name in PACKAGES} | {"minirnn": mr.__version__}
    limits = asdict(device().driver.limits)
    note("machine", **about, device=DEVICE, limits=limits, tools={t.name: t.found for t in toolchain.find_all()})
    return 0


if __name__ == "__main__":
    sys.exit(main())
