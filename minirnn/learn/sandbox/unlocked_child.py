"""The process of an answer on systems without fork, such as Windows. It has no locks.

Messages go through its standard input and output. What the answer prints goes to what was standard error.
"""

from __future__ import annotations

import faulthandler
import os
import sys
from typing import Any

from . import child, protocol
from .locks import hook


def main(arguments: list[str]) -> None:
    """Serve the judge, which first sends the job."""
    requests, replies = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    job = protocol.receive(requests)
    if job is None:
        return
    child.prepare("gpu" if job["kind"] == "cuda" else "python", job["root"])
    try:
        child.main(job, requests, replies, lock)
        sys.stdout.flush()
    finally:
        os._exit(0)


def lock(job: dict[str, Any], watched: Any = None) -> None:
    """Report actions that no exercise may take. When the time is over, write down the position of the answer."""
    sys.dont_write_bytecode = True
    stack = open(job["stack"], "w", encoding="utf-8")  # noqa: SIM115  it is open until the process ends
    faulthandler.dump_traceback_later(job["seconds"], file=stack)
    if watched is not None and "hook" in job["ways"]:
        hook.watch(watched.violation, [])
